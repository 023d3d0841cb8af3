// Package plan answers a plan file: it simulates each candidate deployment under the plan's traffic, finds the load one
// replica holds within the SLA, sizes the fleet for the peak, prices it and ranks the candidates.
package plan
