// Package realengine holds a test that calibrates against a real engine: llama.cpp on a CPU, through a pinned npm package, serving a
// small model with random weights that WriteModel makes. The text it generates is noise; its step times are real.
package realengine
