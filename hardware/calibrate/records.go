package calibrate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"

	"scoville/hardware"
	"scoville/hardware/results"
	"scoville/model/workload"
)

// tooManyFailures is the share of failed requests from which a stage isn't used: those requests took time on the server that
// nobody recorded.
const tooManyFailures = 0.05

// LoadsOf turns the stages of a run into loads: those to fit and those kept back. Stages of kind warm-up are dropped; stages of
// kind held-out are kept back. notes say what was left out and why.
func LoadsOf(run *results.Run, d *Deployment) (fit, heldOut []Load, notes []string, err error) {
	if run.Client != nil && run.Client.Bottleneck != "" {
		return nil, nil, nil, fmt.Errorf("%s: the client was the bottleneck (%s); its latencies aren't the server's", run.File, run.Client.Bottleneck)
	}
	if len(run.Records) == 0 {
		l, err := summaryLoad(run, d)
		if err != nil {
			return nil, nil, nil, err
		}
		return []Load{*l}, nil, nil, nil
	}
	for i, s := range run.Stages {
		if s.Kind == results.KindWarmup {
			continue
		}
		l, err := stageLoad(run, i, d)
		if err != nil {
			notes = append(notes, fmt.Sprintf("stage %q left out: %v", s.Name, err))
			continue
		}
		if s.Kind == results.KindHeldOut {
			heldOut = append(heldOut, *l)
		} else {
			fit = append(fit, *l)
		}
	}
	return fit, heldOut, notes, nil
}

func stageLoad(run *results.Run, stage int, d *Deployment) (*Load, error) {
	s := run.Stages[stage]
	samples, failed, cached := samplesOf(run, stage)
	if len(samples) == 0 {
		return nil, errors.New("no request succeeded")
	}
	if n := failed + len(samples); float64(failed) > tooManyFailures*float64(n) {
		return nil, fmt.Errorf("%d of %d requests failed", failed, n)
	}
	if cached > 0.05 {
		return nil, fmt.Errorf("%.0f %% of the prompt tokens came from the server's prefix cache", 100*cached)
	}
	clocked := true
	for i := range run.Records {
		if q := &run.Records[i]; q.Stage == stage && !q.Clocked {
			clocked = false
		}
	}
	if !clocked && s.Concurrency == 0 {
		return nil, errors.New("neither send times nor the concurrency are known")
	}
	clients := s.Concurrency
	if s.RatePerSecond > 0 {
		clients = 0
	}
	name := s.Name
	if run.Label != "" && len(run.Stages) == 1 {
		name = run.Label
	}
	return d.load(name, samples, clients, clocked), nil
}

// samplesOf are a stage's answered requests in the order sent.
func samplesOf(run *results.Run, stage int) (out []sample, failed int, cachedShare float64) {
	var input, cached float64
	for i := range run.Records {
		q := &run.Records[i]
		if q.Stage != stage {
			continue
		}
		if !q.OK() || q.E2ESeconds <= 0 || q.InputTokens < 1 || q.OutputTokens < 1 {
			failed++
			continue
		}
		s := sample{input: q.InputTokens, output: q.OutputTokens, sent: q.SentSeconds, ttft: q.TTFTSeconds, e2e: q.E2ESeconds}
		if t, ok := q.TPOT(); ok {
			s.tpot = t
		}
		input, cached = input+float64(q.InputTokens), cached+float64(q.CachedTokens)
		out = append(out, s)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].sent < out[j].sent })
	if input > 0 {
		cachedShare = cached / input
	}
	return out, failed, cachedShare
}

// load prepares samples for fit and score.
func (d *Deployment) load(name string, samples []sample, clients int, clocked bool) *Load {
	r := newReplay(requestsOf(samples), clients, 0)
	if clocked && clients > 0 {
		r.think = turnaround(samples, clients)
	}
	if !clocked {
		for i := range r.requests {
			r.requests[i].ArrivalNanoseconds = 0
		}
	}
	l := &Load{Name: name, Requests: len(samples), Measured: figuresOf(samples), Targets: targetsOf(samples), Range: rangeOf(samples, clients)}
	if !clocked {
		delete(l.Measured, Throughput)
	}
	l.Predict = func(ctx context.Context, f hardware.Factors) (Figures, error) {
		_, figures, err := d.simulate(ctx, f, r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return figures, nil
	}
	return l
}

func requestsOf(samples []sample) []workload.Request {
	out := make([]workload.Request, len(samples))
	for i, s := range samples {
		at := int64(math.Round((s.sent - samples[0].sent) * 1e9))
		out[i] = workload.Request{ID: int64(i) + 1, ArrivalNanoseconds: at, InputTokens: int32(s.input), OutputTokens: int32(s.output)}
	}
	return out
}

// turnaround is the median time from an answer to the request that took its place, in nanoseconds.
func turnaround(samples []sample, clients int) int64 {
	ends := make([]float64, len(samples))
	for i, s := range samples {
		ends[i] = s.sent + s.e2e
	}
	sort.Float64s(ends)
	var gaps []float64
	for i := clients; i < len(samples); i++ {
		gaps = append(gaps, math.Max(0, samples[i].sent-ends[i-clients]))
	}
	if len(gaps) == 0 {
		return 0
	}
	sort.Float64s(gaps)
	return int64(gaps[len(gaps)/2] * 1e9)
}

// targetsOf are the means of TTFT and TPOT, weighed by how well so many requests tell them. Medians are no targets: clients of a
// closed loop move in lockstep, which makes TTFT bimodal, and the median jumps from one mode to the other.
func targetsOf(samples []sample) []Target {
	var ttft, tpot []float64
	for _, s := range samples {
		if s.ttft > 0 {
			ttft = append(ttft, s.ttft)
		}
		if s.tpot > 0 {
			tpot = append(tpot, s.tpot)
		}
	}
	var out []Target
	add := func(m Metric, v []float64, value float64) {
		if len(v) > 0 && value > 0 {
			out = append(out, Target{m, value, relativeError(v)})
		}
	}
	if len(ttft) > 0 {
		add(TTFTMean, ttft, meanOf(ttft))
	}
	if len(tpot) > 0 {
		add(TPOTMean, tpot, meanOf(tpot))
	}
	return out
}

func rangeOf(samples []sample, clients int) Range {
	r := Range{MinInputTokens: math.MaxInt, MinOutputTokens: math.MaxInt, MaxConcurrency: clients}
	type change struct {
		at    float64
		delta int
	}
	var changes []change
	for _, s := range samples {
		r.MinInputTokens, r.MaxInputTokens = min(r.MinInputTokens, s.input), max(r.MaxInputTokens, s.input)
		r.MinOutputTokens, r.MaxOutputTokens = min(r.MinOutputTokens, s.output), max(r.MaxOutputTokens, s.output)
		changes = append(changes, change{s.sent, 1}, change{s.sent + s.e2e, -1})
	}
	if clients == 0 {
		sort.Slice(changes, func(i, j int) bool {
			return changes[i].at < changes[j].at || changes[i].at == changes[j].at && changes[i].delta < changes[j].delta
		})
		running := 0
		for _, c := range changes {
			running += c.delta
			r.MaxConcurrency = max(r.MaxConcurrency, running)
		}
	}
	return r
}

// summaryLoad is a run of which only a summary is known: its requests are taken as equal.
func summaryLoad(run *results.Run, d *Deployment) (*Load, error) {
	s := results.Stage{}
	if len(run.Stages) > 0 {
		s = run.Stages[len(run.Stages)-1]
	}
	if s.Concurrency == 0 && s.RatePerSecond == 0 {
		return nil, fmt.Errorf("%s: holds no requests, and neither concurrency nor rate is known", run.File)
	}
	input, output := int(math.Round(run.MeanInputTokens)), int(math.Round(run.MeanOutputTokens))
	if input < 1 || output < 1 {
		return nil, fmt.Errorf("%s: holds no requests, and mean lengths aren't known", run.File)
	}
	n := min(max(run.Completed, 4*s.Concurrency, 20), 2000)
	samples := make([]sample, n)
	for i := range samples {
		samples[i] = sample{input: input, output: output}
		if s.RatePerSecond > 0 {
			samples[i].sent = float64(i) / s.RatePerSecond
		}
	}
	l := d.load(run.Label, samples, s.Concurrency, true)
	if l.Name == "" {
		l.Name = run.File
	}
	l.Targets, l.Measured = nil, Figures{}
	for _, m := range []struct {
		metric Metric
		d      *results.Distribution
	}{{TTFTMean, run.Latency.TTFT}, {TPOTMean, run.Latency.TPOT}} {
		if !m.d.Known() {
			continue
		}
		l.Measured[m.metric] = m.d.Mean
		l.Targets = append(l.Targets, Target{m.metric, m.d.Mean, 0.03})
	}
	if len(l.Targets) == 0 {
		return nil, fmt.Errorf("%s: holds neither requests nor mean TTFT or TPOT", run.File)
	}
	if run.OutputTokensPerSecond > 0 {
		l.Measured[Throughput] = run.OutputTokensPerSecond
	}
	return l, nil
}
