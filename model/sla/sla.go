// Package sla says which requests count: latency limits, the share of requests that must meet them, and goodput.
package sla

// Limits is a service-level agreement. A zero field is no limit. Times are in seconds; percentiles are over requests
// (ITL: over gaps between tokens).
//
// Two kinds of limit exist and may be mixed: percentile limits bound the distribution ("p99 of TTFT at most 1 s");
// Attainment asks that at least that share of all offered requests meet every per-request limit at once.
type Limits struct {
	Percentiles []Limit // each must hold
	Attainment  float64 // share of offered requests that meet every limit in PerRequest; 0: not asked
	PerRequest  []Limit // Quantile is ignored
	ErrorBudget float64 // share of offered requests that may fail (rejected, timed out); default 0.001
}

// Metric names a latency.
type Metric string

// The metrics, as defined in docs/glossary.md. TPOT is (E2E - TTFT) / (output tokens - 1).
const (
	TTFT Metric = "ttft"
	TPOT Metric = "tpot"
	ITL  Metric = "itl"
	E2E  Metric = "e2e"
)

// Limit bounds one metric, at a quantile in (0, 1) or on its mean (Quantile 0).
type Limit struct {
	Metric   Metric
	Quantile float64
	Seconds  float64
}
