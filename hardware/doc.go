// Package hardware is what a model runs on: chips, nodes and links, whether a model fits in their memory, how long an
// engine step takes on them and what power it draws.
package hardware
