// Package servermetrics reads what a serving engine tells Prometheus (vLLM, SGLang, TGI, Triton, Dynamo; old and new
// names), from a metrics page or from a Prometheus server, into a workload and observed latencies.
package servermetrics

import (
	"fmt"
	"math"
	"sort"

	"scoville/model/fact"
	"scoville/model/workload"
)

// Observed is what a server saw: over a window, or since its start where a single page was read.
type Observed struct {
	Source            string        `json:"source"`
	Server            string        `json:"server"`
	Model             string        `json:"model,omitempty"`
	WindowSeconds     float64       `json:"window_seconds,omitempty"` // 0: not known, so there are no rates
	Requests          float64       `json:"requests"`
	RequestsPerSecond float64       `json:"requests_per_second,omitempty"`
	PeakPerSecond     float64       `json:"peak_requests_per_second,omitempty"` // fullest minute, from a Prometheus server
	Hourly            []float64     `json:"hourly,omitempty"`                   // 24 multipliers by hour UTC, from a window of a day or more
	MeanInput         float64       `json:"mean_input_tokens,omitempty"`
	MeanOutput        float64       `json:"mean_output_tokens,omitempty"`
	CachedShare       *float64      `json:"cached_share,omitempty"` // of the input tokens, from the prefix cache
	Running           *float64      `json:"running,omitempty"`
	Waiting           *float64      `json:"waiting,omitempty"`
	Input             *Distribution `json:"input_tokens,omitempty"`
	Output            *Distribution `json:"output_tokens,omitempty"`
	TTFT              *Distribution `json:"ttft_seconds,omitempty"`
	ITL               *Distribution `json:"itl_seconds,omitempty"`
	TPOT              *Distribution `json:"tpot_seconds,omitempty"`
	E2E               *Distribution `json:"e2e_seconds,omitempty"`
	Queue             *Distribution `json:"queue_seconds,omitempty"`
	Names             []string      `json:"names"` // metrics read
	Notes             []string      `json:"notes,omitempty"`
}

// Distribution is a histogram with fixed bounds. Quantiles interpolate within a bucket, so they are as coarse as it.
type Distribution struct {
	Count  float64   `json:"count"`
	Mean   float64   `json:"mean"`
	P50    float64   `json:"p50"`
	P90    float64   `json:"p90"`
	P95    float64   `json:"p95"`
	P99    float64   `json:"p99"`
	Beyond float64   `json:"beyond_last_bound"` // share above the last finite bound; quantiles in it are that bound
	Bounds []float64 `json:"bounds"`
	Shares []float64 `json:"shares"` // of the values, cumulative, at each bound
}

// newDistribution sums up cumulative counts at ascending bounds, the last of which may be +Inf.
func newDistribution(bounds, cumulative []float64, sum, count float64) *Distribution {
	if !(count > 0) || len(bounds) == 0 {
		return nil
	}
	d := &Distribution{Count: count, Mean: sum / count}
	top := 0.0
	for i, b := range bounds {
		if math.IsInf(b, 1) {
			break
		}
		top = max(top, min(1, cumulative[i]/count)) // counts of several processes may be read at slightly different times
		d.Bounds, d.Shares = append(d.Bounds, b), append(d.Shares, top)
	}
	d.Beyond = 1 - top
	d.P50, d.P90, d.P95, d.P99 = d.quantile(0.5), d.quantile(0.9), d.quantile(0.95), d.quantile(0.99)
	return d
}

func (d *Distribution) quantile(q float64) float64 {
	i := sort.SearchFloat64s(d.Shares, q)
	if i == len(d.Shares) {
		return d.last()
	}
	low, below := 0.0, 0.0
	if i > 0 {
		low, below = d.Bounds[i-1], d.Shares[i-1]
	}
	if d.Shares[i] == below {
		return d.Bounds[i]
	}
	return low + (d.Bounds[i]-low)*(q-below)/(d.Shares[i]-below)
}

func (d *Distribution) last() float64 {
	if len(d.Bounds) == 0 {
		return 0
	}
	return d.Bounds[len(d.Bounds)-1]
}

// empirical is the distribution as quantiles of a workload. The mass of each bucket lies evenly over the upper or the
// lower part of it, the same share everywhere, such that the mean comes out as counted; what lies beyond the last bound is
// taken to reach as far as the mean asks, at most 4 times that bound.
func (d *Distribution) empirical() workload.Distribution {
	out := workload.Distribution{Kind: "empirical"}
	const jump = 1e-9 // over what holds no mass; probabilities have to ascend
	spread := func(from, to, below, share float64) {
		at := below
		if n := len(out.Values); n > 0 {
			at += jump
			from = max(from, out.Values[n-1])
		}
		out.Values = append(out.Values, from, max(from, to))
		out.Probabilities = append(out.Probabilities, at, share)
	}
	middle, far := d.middle()
	low, below := 0.0, 0.0
	for i, b := range d.Bounds {
		if d.Shares[i]-below > 2*jump {
			from, to := low, low+2*middle*(b-low)
			if middle > 0.5 {
				from, to = low+(2*middle-1)*(b-low), b
			}
			spread(from, to, below, d.Shares[i])
			below = d.Shares[i]
		}
		low = b
	}
	if 1-below > 2*jump {
		spread(low, far, below, 1)
	}
	out.Probabilities[len(out.Probabilities)-1] = 1
	return out
}

// middle finds where the mean of a bucket's mass lies, as a share of its width, and how far the mass beyond the last bound
// reaches, so that the mean of all is as counted.
func (d *Distribution) middle() (middle, far float64) {
	base, width := 0.0, 0.0 // mean = base + middle * width
	low, below := 0.0, 0.0
	for i, b := range d.Bounds {
		p := d.Shares[i] - below
		base += p * low
		width += p * (b - low)
		low, below = b, d.Shares[i]
	}
	far = low * 2
	base += (1 - below) * (low + far) / 2
	if width == 0 {
		return 0.5, far
	}
	middle = (d.Mean - base) / width
	const farthest = 4
	if middle > 1 && below < 1 {
		far = min(far+2*(middle-1)*width/(1-below), low*farthest)
	}
	return min(max(middle, 0), 1), far
}

// Workload turns what was observed into a workload.
func (o *Observed) Workload(name string) (*workload.Workload, error) {
	if o.Requests == 0 {
		return nil, fmt.Errorf("%s: no requests have been counted; a workload can't be made of it", o.Source)
	}
	w := &workload.Workload{Name: name, Description: fmt.Sprintf("traffic of a %s server as its metrics tell it", o.Server), From: o.Source, Kind: fact.Measured}
	w.Arrivals = workload.Arrivals{Process: "poisson", RequestsPerSecond: o.RequestsPerSecond, Hourly: o.Hourly}
	if len(o.Hourly) == 0 && o.PeakPerSecond > o.RequestsPerSecond && o.RequestsPerSecond > 0 {
		w.Arrivals.PeakToMean = o.PeakPerSecond / o.RequestsPerSecond
		w.Arrivals.PeakSource = "fullest minute over the mean of " + o.Source
	}
	w.Note = "Metrics don't show how arrivals cluster within a scrape interval, nor how input and output lengths go together: Poisson and independent are assumed."
	var err error
	if w.Lengths.Input, err = lengths(o.Input, o.MeanInput, "input"); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Source, err)
	}
	if w.Lengths.Output, err = lengths(o.Output, o.MeanOutput, "output"); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Source, err)
	}
	if o.Input == nil || o.Output == nil {
		w.Note += " Only the means of the lengths are known, so all requests are given these."
	}
	if c := o.CachedShare; c != nil && *c > 0.01 {
		w.Prefix = &workload.Prefix{Reuse: &workload.Distribution{Kind: "fixed", Value: math.Round(1000**c) / 1000}, DocumentChunks: chunk(w.Lengths.Input)}
		w.Note += fmt.Sprintf(" The server's prefix cache gave %.1f %% of the input tokens: prompts are taken to share that much of themselves.", 100**c)
	}
	return w, w.Validate()
}

// chunk is the block of the engines, 16 tokens, or more where prompts can be so long that these would be too many.
func chunk(d workload.Distribution) int {
	const block, most = 16, 8192
	longest := d.Value
	if n := len(d.Values); n > 0 {
		longest = d.Values[n-1]
	}
	return max(block, int(longest/most))
}

func lengths(d *Distribution, mean float64, what string) (workload.Distribution, error) {
	switch {
	case d != nil:
		return d.empirical(), nil
	case mean >= 1:
		return workload.Distribution{Kind: "fixed", Value: math.Round(mean)}, nil
	}
	return workload.Distribution{}, fmt.Errorf("the server does not expose %s lengths, neither as a histogram nor as a count of tokens", what)
}
