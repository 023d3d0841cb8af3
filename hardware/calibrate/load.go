package calibrate

import (
	"context"
	"math"
	"sort"

	"scoville/hardware"
)

// Metric names a figure of a load. Latencies are in seconds.
type Metric string

// The metrics.
const (
	TTFTMean   Metric = "ttft_mean"
	TTFTP50    Metric = "ttft_p50"
	TTFTP90    Metric = "ttft_p90"
	TTFTP99    Metric = "ttft_p99"
	TPOTMean   Metric = "tpot_mean"
	TPOTP50    Metric = "tpot_p50"
	TPOTP99    Metric = "tpot_p99"
	E2EMean    Metric = "e2e_mean"
	E2EP50     Metric = "e2e_p50"
	E2EP99     Metric = "e2e_p99"
	Throughput Metric = "output_tokens_per_second"
)

// Metrics lists the metrics in the order of reports.
func Metrics() []Metric {
	return []Metric{Throughput, TTFTMean, TTFTP50, TTFTP90, TTFTP99, TPOTMean, TPOTP50, TPOTP99, E2EMean, E2EP50, E2EP99}
}

// Figures are the metrics of one load; a metric that isn't known is missing.
type Figures map[Metric]float64

// Target is a measured figure to be met. Noise is the standard error of its logarithm, the model's own error apart.
type Target struct {
	Metric Metric
	Value  float64
	Noise  float64
}

// Load is one load that was measured and can be simulated.
type Load struct {
	Name     string
	Targets  []Target // to fit; none: only scored
	Measured Figures  // everything measured, to score
	Requests int
	Range    Range
	// Predict simulates the load on the base deployment with factors. It must be safe for concurrent use, and pure.
	Predict func(ctx context.Context, f hardware.Factors) (Figures, error)
}

// Range is what a set of loads covers.
type Range struct {
	MinInputTokens  int `toml:"min_input_tokens" json:"min_input_tokens"`
	MaxInputTokens  int `toml:"max_input_tokens" json:"max_input_tokens"`
	MinOutputTokens int `toml:"min_output_tokens" json:"min_output_tokens"`
	MaxOutputTokens int `toml:"max_output_tokens" json:"max_output_tokens"`
	MaxConcurrency  int `toml:"max_concurrency" json:"max_concurrency"` // requests in flight at once
}

// with is the range that covers both.
func (r Range) with(s Range) Range {
	if r.MaxInputTokens == 0 {
		return s
	}
	if s.MaxInputTokens == 0 {
		return r
	}
	return Range{
		min(r.MinInputTokens, s.MinInputTokens), max(r.MaxInputTokens, s.MaxInputTokens),
		min(r.MinOutputTokens, s.MinOutputTokens), max(r.MaxOutputTokens, s.MaxOutputTokens),
		max(r.MaxConcurrency, s.MaxConcurrency),
	}
}

// sample is one finished request, measured or simulated. Seconds; tpot is 0 for a single token.
type sample struct {
	input, output         int
	sent, ttft, tpot, e2e float64
}

// figuresOf sums samples up.
func figuresOf(samples []sample) Figures {
	f := Figures{}
	var ttft, tpot, e2e []float64
	first, last, tokens := math.Inf(1), math.Inf(-1), 0.0
	for _, s := range samples {
		tokens += float64(s.output)
		first, last = math.Min(first, s.sent), math.Max(last, s.sent+s.e2e)
		if s.ttft > 0 {
			ttft = append(ttft, s.ttft)
		}
		if s.tpot > 0 {
			tpot = append(tpot, s.tpot)
		}
		e2e = append(e2e, s.e2e)
	}
	if last > first {
		f[Throughput] = tokens / (last - first)
	}
	put := func(v []float64, mean Metric, quantiles map[Metric]float64) {
		if len(v) == 0 {
			return
		}
		sort.Float64s(v)
		f[mean] = meanOf(v)
		for m, q := range quantiles {
			f[m] = quantile(v, q)
		}
	}
	put(ttft, TTFTMean, map[Metric]float64{TTFTP50: 0.5, TTFTP90: 0.9, TTFTP99: 0.99})
	put(tpot, TPOTMean, map[Metric]float64{TPOTP50: 0.5, TPOTP99: 0.99})
	put(e2e, E2EMean, map[Metric]float64{E2EP50: 0.5, E2EP99: 0.99})
	return f
}

func meanOf(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// relativeError is the standard error of the mean over the mean.
func relativeError(v []float64) float64 {
	if len(v) < 2 {
		return 0.1 // one request says little of its spread
	}
	m, sum := meanOf(v), 0.0
	for _, x := range v {
		sum += (x - m) * (x - m)
	}
	n := float64(len(v))
	return math.Sqrt(sum/(n-1)/n) / m
}

// quantile of sorted values, linear between neighbours.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
