// Package sim is the discrete-event simulator: an event loop, a replica with continuous batching, its KV cache, and the
// measurement of a run.
package sim
