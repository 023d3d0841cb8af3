package results

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// quantilesKept are the points of every distribution this package computes.
var quantilesKept = [...]float64{0.5, 0.9, 0.95, 0.99}

// Describe summarises values: population standard deviation, quantiles by linear interpolation (type 7, as numpy). It sorts v.
func Describe(v []float64) *Distribution {
	if len(v) == 0 {
		return nil
	}
	slices.Sort(v)
	d := &Distribution{Count: len(v), Min: v[0], Max: v[len(v)-1], Estimator: "linear"}
	for _, x := range v {
		d.Mean += x / float64(len(v))
	}
	for _, x := range v {
		d.Std += (x - d.Mean) * (x - d.Mean) / float64(len(v))
	}
	d.Std = math.Sqrt(d.Std)
	for _, p := range quantilesKept {
		d.Quantiles = append(d.Quantiles, Quantile{p, QuantileSorted(v, p)})
	}
	return d
}

// QuantileSorted is the type-7 quantile of a sorted sample.
func QuantileSorted(v []float64, p float64) float64 {
	at := p * float64(len(v)-1)
	i := int(at)
	if i+1 >= len(v) {
		return v[len(v)-1]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}

// Summarise fills counts, token totals, rates and latencies from the records. Records of warm-up stages don't count.
// It leaves figures alone that records can't give. Records that claim success without a token become failures.
func (r *Run) Summarise() {
	r.failEmpty()
	r.Requests, r.Completed, r.Failed, r.InputTokens, r.CachedTokens, r.OutputTokens = 0, 0, 0, 0, 0, 0
	r.ErrorKinds = nil
	var s samples
	clocked, firstSent, lastEnd := true, math.Inf(1), math.Inf(-1)
	var ends []float64
	for i := range r.Records {
		q := &r.Records[i]
		if r.kind(q) == KindWarmup {
			continue
		}
		r.Requests++
		clocked = clocked && q.Clocked
		if q.Clocked {
			firstSent = min(firstSent, q.ScheduledSeconds, q.SentSeconds)
			lastEnd = max(lastEnd, q.SentSeconds+max(q.E2ESeconds, q.DoneSeconds))
		}
		if !q.OK() {
			r.Failed++
			if r.ErrorKinds == nil {
				r.ErrorKinds = map[string]int{}
			}
			r.ErrorKinds[q.Error.kind()]++
			continue
		}
		r.Completed++
		r.InputTokens += int64(q.InputTokens)
		r.CachedTokens += int64(q.CachedTokens)
		r.OutputTokens += int64(q.OutputTokens)
		ends = append(ends, q.SentSeconds+q.E2ESeconds)
		s.add(q)
	}
	if clocked && r.Requests > 0 && r.DurationSeconds == 0 {
		r.DurationSeconds = lastEnd - firstSent
	}
	r.Latency = s.latency()
	if r.Completed > 0 {
		r.MeanInputTokens = float64(r.InputTokens) / float64(r.Completed)
		r.MeanOutputTokens = float64(r.OutputTokens) / float64(r.Completed)
		r.StdOutputTokens, r.StdKnown = s.stdOutput(r.MeanOutputTokens), true
	}
	if r.DurationSeconds > 0 {
		r.RequestsPerSecond = float64(r.Completed) / r.DurationSeconds
		r.OutputTokensPerSecond = float64(r.OutputTokens) / r.DurationSeconds
		r.TotalTokensPerSecond = float64(r.OutputTokens+r.InputTokens) / r.DurationSeconds
	}
	// Sustained rate: the gaps between completions, free of ramp-up and drain.
	if clocked && len(ends) > 1 {
		sort.Float64s(ends)
		if span := ends[len(ends)-1] - ends[0]; span > 0 {
			r.SteadyRequestsPerSecond = float64(len(ends)-1) / span
		}
	}
}

func (f *Failure) kind() string {
	switch {
	case f.HTTP >= 400:
		return fmt.Sprintf("%s: HTTP %d", f.Phase, f.HTTP)
	case f.Code != "":
		return f.Phase + ": " + f.Code
	}
	return f.Phase
}

func (r *Run) kind(q *Record) string {
	if q.Stage >= 0 && q.Stage < len(r.Stages) {
		return r.Stages[q.Stage].Kind
	}
	return KindLoad
}

// failEmpty turns successes without any token into failures and says how many there were.
func (r *Run) failEmpty() {
	n := 0
	for i := range r.Records {
		q := &r.Records[i]
		if q.OK() && q.OutputTokens <= 0 {
			q.Error = &Failure{Phase: "output", Code: "no token", Message: "reported as a success without any generated token"}
			n++
		}
	}
	if n > 0 {
		r.warn("%d of %d requests were reported as successes without any generated token; they count as failures", n, len(r.Records))
	}
}

func (r *Run) warn(format string, args ...any) {
	w := fmt.Sprintf(format, args...)
	if !slices.Contains(r.Warnings, w) {
		r.Warnings = append(r.Warnings, w)
	}
}

// samples collects the values behind the distributions.
type samples struct {
	ttft, tpot, itl, e2e, ttftSched, e2eSched, queue, out []float64
}

func (s *samples) add(q *Record) {
	s.out = append(s.out, float64(q.OutputTokens))
	if q.TTFTSeconds > 0 {
		s.ttft = append(s.ttft, q.TTFTSeconds)
	}
	if q.E2ESeconds > 0 {
		s.e2e = append(s.e2e, q.E2ESeconds)
	}
	if t, ok := q.TPOT(); ok {
		s.tpot = append(s.tpot, t)
	}
	s.itl = q.Gaps(s.itl)
	queue := q.QueueSeconds
	if q.Clocked && queue == 0 {
		queue = max(0, q.SentSeconds-q.ScheduledSeconds)
	}
	if q.Clocked || q.QueueSeconds > 0 {
		s.queue = append(s.queue, queue)
		if q.TTFTSeconds > 0 {
			s.ttftSched = append(s.ttftSched, queue+q.TTFTSeconds)
		}
		if q.E2ESeconds > 0 {
			s.e2eSched = append(s.e2eSched, queue+q.E2ESeconds)
		}
	}
}

func (s *samples) latency() Latency {
	return Latency{TTFT: Describe(s.ttft), TPOT: Describe(s.tpot), ITL: Describe(s.itl), E2E: Describe(s.e2e),
		TTFTScheduled: Describe(s.ttftSched), E2EScheduled: Describe(s.e2eSched), ClientQueue: Describe(s.queue)}
}

func (s *samples) stdOutput(mean float64) float64 {
	sum := 0.0
	for _, n := range s.out {
		sum += (n - mean) * (n - mean)
	}
	return math.Sqrt(sum / float64(len(s.out)))
}

// StageRun is the run cut down to the records of one stage, summarised anew.
func (r *Run) StageRun(stage int) *Run {
	c := *r
	c.Records, c.Warnings, c.Latency, c.Printed, c.Power = nil, nil, Latency{}, Latency{}, nil
	c.Stages = []Stage{r.Stages[stage]}
	c.Label = r.Stages[stage].Name
	c.DurationSeconds = r.Stages[stage].EndSeconds - r.Stages[stage].StartSeconds
	for _, q := range r.Records {
		if q.Stage == stage {
			q.Stage = 0
			c.Records = append(c.Records, q)
		}
	}
	c.Summarise()
	return &c
}
