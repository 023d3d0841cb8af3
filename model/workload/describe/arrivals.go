package describe

import (
	"math"
	"slices"
)

// Arrivals describes when requests come.
type Arrivals struct {
	Count        int64    `json:"count"`
	SpanSeconds  float64  `json:"span_seconds"`
	MeanRate     float64  `json:"mean_rate"` // (n-1)/span, requests per second
	GapCV        float64  `json:"gap_cv"`
	GapP50       float64  `json:"gap_p50_seconds"`
	GapP99       float64  `json:"gap_p99_seconds"`
	GapMax       float64  `json:"gap_max_seconds"`
	GapsExact    bool     `json:"gaps_exact"` // false: gap quantiles come from a histogram, within 1 %
	Tied         float64  `json:"tied_share"` // of arrivals that share the time of the one before
	SlidingPeak  int      `json:"sliding_peak_1s"`
	Windows      []Window `json:"windows"`
	Lag1         float64  `json:"lag1_autocorrelation_1s"` // of the counts by second
	BusiestHour  float64  `json:"busiest_hour_rate"`       // 0: the trace is shorter than two hours
	BusiestStart float64  `json:"busiest_hour_start_seconds"`
	SilentShare  float64  `json:"silent_share"` // of the span in gaps above 5 s
	Bursts       *Bursts  `json:"bursts,omitempty"`
	Rate         Series   `json:"rate"`
}

// Window is what counts in aligned windows show; the last, incomplete one is left out.
type Window struct {
	Seconds    float64 `json:"seconds"`
	Peak       float64 `json:"peak_rate"` // requests per second in the fullest window
	PeakToMean float64 `json:"peak_to_mean"`
	Dispersion float64 `json:"index_of_dispersion"` // variance over mean of the counts; 1 for Poisson
	InputPeak  float64 `json:"input_tokens_peak_to_mean"`
	OutputPeak float64 `json:"output_tokens_peak_to_mean"`
}

// Series is a rate over time in equal steps, at most 2,048 of them.
type Series struct {
	StepSeconds float64   `json:"step_seconds"`
	PerSecond   []float64 `json:"per_second"`
}

// series counts arrivals in steps that double when there are too many.
type series struct {
	step   int64
	counts []float64
}

const maxSeries = 2048

func (s *series) add(t int64) {
	for t/s.step >= maxSeries {
		for i := 0; i < len(s.counts); i += 2 {
			sum := s.counts[i]
			if i+1 < len(s.counts) {
				sum += s.counts[i+1]
			}
			s.counts[i/2] = sum
		}
		s.counts = s.counts[:(len(s.counts)+1)/2]
		s.step *= 2
	}
	for k := int(t / s.step); len(s.counts) <= k; {
		s.counts = append(s.counts, 0)
	}
	s.counts[t/s.step]++
}

func (s *series) rate() Series {
	out := Series{StepSeconds: float64(s.step) / 1e9}
	for _, n := range s.counts {
		out.PerSecond = append(out.PerSecond, n/out.StepSeconds)
	}
	return out
}

// Bursts are runs of arrivals with no gap above 5 s, reported where at least half of the time is silent
// and a burst has 5 requests or more on average.
type Bursts struct {
	Count        int     `json:"count"`
	MeanRequests float64 `json:"mean_requests"`
	MeanSeconds  float64 `json:"mean_seconds"`
	MeanGap      float64 `json:"mean_gap_seconds"`
	GapCV        float64 `json:"gap_cv"`
	Rate         float64 `json:"rate_inside"`
	InsideCV     float64 `json:"gap_cv_inside"`
}

const burstGapSeconds = 5

var windowSeconds = []float64{1, 10, 60, 600, 3600}

// bins counts requests and tokens in aligned windows of one size.
type bins struct {
	nanos              int64
	index              int64 // of the current window
	now                [3]float64
	n                  int64
	sum, squares, peak [3]float64
	previous, lagged   float64 // count of the window before; sum of products of neighbours
	first              float64 // count of the first window
	peakStart          int64
}

// add counts an arrival at t nanoseconds since the first.
func (b *bins) add(t int64, input, output float64) {
	for k := t / b.nanos; b.index < k; {
		b.close(b.now)
		b.now = [3]float64{}
		b.index++
		if gap := k - b.index; gap > 0 { // windows without arrivals
			b.close(b.now)
			b.n += gap - 1
			b.index = k
		}
	}
	b.now[0]++
	b.now[1] += input
	b.now[2] += output
}

// close ends a window.
func (b *bins) close(v [3]float64) {
	if b.n == 0 {
		b.first = v[0]
	}
	b.n++
	for k, x := range v {
		b.sum[k] += x
		b.squares[k] += x * x
		if x > b.peak[k] {
			b.peak[k] = x
			if k == 0 {
				b.peakStart = b.index * b.nanos
			}
		}
	}
	b.lagged += b.previous * v[0]
	b.previous = v[0]
}

// lag1 is the correlation of each count with the next.
func (b *bins) lag1() float64 {
	n := float64(b.n - 1)
	x, xx := b.sum[0]-b.previous, b.squares[0]-b.previous*b.previous // without the last
	y, yy := b.sum[0]-b.first, b.squares[0]-b.first*b.first          // without the first
	vx, vy := xx-x*x/n, yy-y*y/n
	if !(vx > 0) || !(vy > 0) {
		return 0
	}
	return (b.lagged - x*y/n) / math.Sqrt(vx*vy)
}

// arrivals accumulates gaps and windows over arrivals in order.
type arrivals struct {
	n                    int64
	first, last          int64
	gapSum, gapSquares   float64
	gaps                 []float64 // exact up to exactRows
	histogram            [gapBuckets]int64
	gapMax               float64
	tied                 int64
	bins                 []bins
	recent               []int64 // arrivals within the last second, a queue
	head                 int
	sliding              int
	silent               float64
	burstStart           int64
	burstRequests        int64
	bursts               []burst
	silences             []float64
	insideSum, insideSqu float64
	inside               int64
	input, output        float64
	series               series
}

type burst struct {
	requests int64
	seconds  float64
}

const (
	exactRows  = 1 << 22
	gapBuckets = 4096
	gapFloor   = 1e-9
	gapBase    = 1.01
	maxBursts  = 1 << 20
)

func newArrivals() *arrivals {
	a := &arrivals{series: series{step: 1e9}}
	for _, s := range windowSeconds {
		a.bins = append(a.bins, bins{nanos: int64(s * 1e9)})
	}
	return a
}

func (a *arrivals) add(nanos int64, input, output int32) {
	if a.n == 0 {
		a.first, a.last, a.burstStart = nanos, nanos, nanos
	}
	if a.n > 0 {
		a.gap(nanos)
	}
	a.n++
	a.burstRequests++
	a.last = nanos
	a.input += float64(input)
	a.output += float64(output)
	for i := range a.bins {
		a.bins[i].add(nanos-a.first, float64(input), float64(output))
	}
	a.series.add(nanos - a.first)
	a.recent = append(a.recent, nanos)
	for a.recent[a.head] < nanos-1e9 {
		a.head++
	}
	a.sliding = max(a.sliding, len(a.recent)-a.head)
	if a.head > 4096 && a.head > len(a.recent)/2 {
		a.recent = a.recent[:copy(a.recent, a.recent[a.head:])]
		a.head = 0
	}
}

func (a *arrivals) gap(nanos int64) {
	g := float64(nanos-a.last) / 1e9
	a.gapSum += g
	a.gapSquares += g * g
	a.gapMax = max(a.gapMax, g)
	if g == 0 {
		a.tied++
	}
	if len(a.gaps) < exactRows {
		a.gaps = append(a.gaps, g)
	}
	k := 0
	if g > gapFloor {
		k = min(1+int(math.Log(g/gapFloor)/math.Log(gapBase)), gapBuckets-1)
	}
	a.histogram[k]++
	if g <= burstGapSeconds {
		a.inside++
		a.insideSum += g
		a.insideSqu += g * g
		return
	}
	a.silent += g
	if len(a.bursts) < maxBursts {
		a.bursts = append(a.bursts, burst{a.burstRequests, float64(a.last-a.burstStart) / 1e9})
		a.silences = append(a.silences, g)
	}
	a.burstStart, a.burstRequests = nanos, 0
}

func (a *arrivals) describe() *Arrivals {
	out := &Arrivals{Count: a.n, SpanSeconds: float64(a.last-a.first) / 1e9, SlidingPeak: a.sliding}
	n := float64(a.n - 1)
	if a.n < 2 || out.SpanSeconds == 0 {
		return out
	}
	out.MeanRate = n / out.SpanSeconds
	mean := a.gapSum / n
	out.GapCV = math.Sqrt(max(0, a.gapSquares/n-mean*mean)) / mean
	out.GapMax, out.Tied = a.gapMax, float64(a.tied)/n
	out.GapsExact = a.n-1 <= exactRows
	if out.GapsExact {
		slices.Sort(a.gaps)
		out.GapP50, out.GapP99 = sortedQuantile(a.gaps, 0.5), sortedQuantile(a.gaps, 0.99)
	} else {
		out.GapP50, out.GapP99 = a.gapQuantile(0.5), a.gapQuantile(0.99)
	}
	for i := range a.bins {
		if b := &a.bins[i]; b.n > 0 {
			out.Windows = append(out.Windows, a.window(b, windowSeconds[i], out))
		}
	}
	if len(out.Windows) > 0 && a.bins[0].n > 2 {
		out.Lag1 = a.bins[0].lag1()
	}
	if h := &a.bins[len(a.bins)-1]; h.n >= 2 {
		out.BusiestHour, out.BusiestStart = h.peak[0]/3600, float64(h.peakStart)/1e9
	}
	out.Rate = a.series.rate()
	out.SilentShare = a.silent / out.SpanSeconds
	if out.SilentShare >= 0.5 && len(a.bursts) >= 10 {
		// Few requests a burst are just rare arrivals.
		if b := a.describeBursts(); b.MeanRequests >= 5 {
			out.Bursts = b
		}
	}
	return out
}

func (a *arrivals) window(b *bins, seconds float64, out *Arrivals) Window {
	n := float64(b.n)
	mean := b.sum[0] / n
	w := Window{Seconds: seconds, Peak: b.peak[0] / seconds, Dispersion: (b.squares[0]/n - mean*mean) / mean}
	w.PeakToMean = w.Peak / out.MeanRate
	w.InputPeak = b.peak[1] / seconds / (a.input / out.SpanSeconds)
	if a.output > 0 {
		w.OutputPeak = b.peak[2] / seconds / (a.output / out.SpanSeconds)
	}
	return w
}

func (a *arrivals) describeBursts() *Bursts {
	all := append(slices.Clone(a.bursts), burst{a.burstRequests, float64(a.last-a.burstStart) / 1e9})
	out := &Bursts{Count: len(all)}
	for _, b := range all {
		out.MeanRequests += float64(b.requests)
		out.MeanSeconds += b.seconds
	}
	requests, seconds := out.MeanRequests, out.MeanSeconds
	out.MeanRequests /= float64(len(all))
	out.MeanSeconds /= float64(len(all))
	out.MeanGap, out.GapCV = meanCV(a.silences)
	out.Rate = (requests - float64(len(all))) / seconds
	m := a.insideSum / float64(a.inside)
	out.InsideCV = math.Sqrt(max(0, a.insideSqu/float64(a.inside)-m*m)) / m
	return out
}

// gapQuantile reads the histogram.
func (a *arrivals) gapQuantile(q float64) float64 {
	want := int64(q * float64(a.n-2))
	for k, n := range a.histogram {
		if want -= n; want < 0 {
			if k == 0 {
				return 0
			}
			return gapFloor * math.Pow(gapBase, float64(k)-0.5)
		}
	}
	return a.gapMax
}

func meanCV(v []float64) (mean, cv float64) {
	for _, x := range v {
		mean += x
	}
	mean /= float64(len(v))
	for _, x := range v {
		cv += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(cv/float64(len(v))) / mean
}

func sortedQuantile(v []float64, q float64) float64 {
	x := q * float64(len(v)-1)
	i := int(x)
	if i+1 >= len(v) {
		return v[len(v)-1]
	}
	return v[i] + (x-float64(i))*(v[i+1]-v[i])
}
