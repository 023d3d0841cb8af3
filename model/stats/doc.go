// Package stats holds the few statistics every figure rests on: quantiles with one definition, a log-bucket histogram with a
// stated error, intervals for means and quantiles over replications, and a test for growth.
package stats
