package results

import (
	"fmt"
	"math"
)

// RefusedError says why a file's figures can't be used.
type RefusedError struct {
	File, Reason string
}

func (e *RefusedError) Error() string {
	if e.File == "" {
		return e.Reason
	}
	return e.File + ": " + e.Reason
}

func refuse(format string, args ...any) error {
	return &RefusedError{Reason: fmt.Sprintf(format, args...)}
}

// check runs the plausibility rules over a run that has been read. repairable says that the tool is known to write a wrong TPOT,
// so that TPOT may be taken from E2E, TTFT and the output length instead.
func (r *Run) check(repairable bool) error {
	r.dropZeros()
	if err := r.checkFinite(); err != nil {
		return err
	}
	if err := r.checkOrder(); err != nil {
		return err
	}
	if err := r.checkUnits(); err != nil {
		return err
	}
	if err := r.checkIdentity(repairable); err != nil {
		return err
	}
	if err := r.checkThroughput(); err != nil {
		return err
	}
	r.checkLittle()
	r.checkChunks()
	r.checkSize()
	return nil
}

// dropZeros treats the zeros a tool writes for "nothing measured" as missing.
func (r *Run) dropZeros() {
	for _, d := range []**Distribution{&r.Printed.TTFT, &r.Printed.TPOT, &r.Printed.ITL, &r.Printed.E2E, &r.Printed.ClientQueue, &r.Printed.E2EScheduled, &r.Latency.ClientQueue, &r.Latency.E2EScheduled} {
		if *d != nil && !(*d).finite() {
			*d = nil
		}
	}
	for _, l := range []*Latency{&r.Latency, &r.Printed} {
		for _, d := range []**Distribution{&l.TTFT, &l.TPOT, &l.ITL, &l.E2E} {
			if *d != nil && !(*d).Known() {
				*d = nil
			}
		}
	}
	if r.Completed == 0 && r.Requests > 0 {
		r.warn("no request succeeded: there are no latencies to import")
		r.Latency = Latency{}
	}
}

func (d *Distribution) finite() bool {
	sum := d.Mean + d.Std + d.Min + d.Max
	for _, q := range d.Quantiles {
		sum += q.Value
	}
	return !math.IsNaN(sum) && !math.IsInf(sum, 0)
}

func (r *Run) distributions() []named {
	l := &r.Latency
	return []named{{"TTFT", l.TTFT}, {"TPOT", l.TPOT}, {"ITL", l.ITL}, {"E2E", l.E2E}}
}

type named struct {
	name string
	*Distribution
}

func (r *Run) checkFinite() error {
	bad := func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) || x < 0 }
	for _, v := range []struct {
		name string
		x    float64
	}{{"duration", r.DurationSeconds}, {"requests per second", r.RequestsPerSecond}, {"output tokens per second", r.OutputTokensPerSecond},
		{"total tokens per second", r.TotalTokensPerSecond}, {"mean input tokens", r.MeanInputTokens}, {"mean output tokens", r.MeanOutputTokens}} {
		if bad(v.x) {
			return refuse("%s is %g", v.name, v.x)
		}
	}
	for _, d := range r.distributions() {
		if d.Distribution == nil {
			continue
		}
		for _, x := range []float64{d.Mean, d.Std, d.Min, d.Max} {
			if bad(x) {
				return refuse("%s holds %g", d.name, x)
			}
		}
		for _, q := range d.Quantiles {
			if bad(q.Value) {
				return refuse("%s p%g is %g", d.name, 100*q.P, q.Value)
			}
		}
	}
	if r.Completed < 0 || r.Failed < 0 || r.Requests < 0 || r.InputTokens < 0 || r.OutputTokens < 0 {
		return refuse("a negative count: %d requests, %d completed, %d failed, %d input and %d output tokens", r.Requests, r.Completed, r.Failed, r.InputTokens, r.OutputTokens)
	}
	return nil
}

// checkOrder refuses distributions whose own figures contradict each other.
func (r *Run) checkOrder() error {
	const slack = 1e-3 // files round
	for _, d := range r.distributions() {
		if d.Distribution == nil {
			continue
		}
		if d.Max > 0 && (d.Mean > d.Max*(1+slack) || d.Mean < d.Min*(1-slack)) {
			return refuse("%s mean %.4g s lies outside its own range %.4g to %.4g s", d.name, d.Mean, d.Min, d.Max)
		}
		for i, q := range d.Quantiles {
			if i > 0 && q.P > d.Quantiles[i-1].P && q.Value < d.Quantiles[i-1].Value*(1-slack) {
				return refuse("%s p%g is %.4g s, below p%g at %.4g s", d.name, 100*q.P, q.Value, 100*d.Quantiles[i-1].P, d.Quantiles[i-1].Value)
			}
			if d.Max > 0 && q.Value > d.Max*(1+slack) {
				return refuse("%s p%g is %.4g s, above its own maximum %.4g s", d.name, 100*q.P, q.Value, d.Max)
			}
		}
	}
	if l := r.Latency; l.E2E.Known() && l.TTFT.Known() && l.E2E.Mean < l.TTFT.Mean*(1-slack) {
		return refuse("mean E2E %.4g s is shorter than mean TTFT %.4g s", l.E2E.Mean, l.TTFT.Mean)
	}
	return nil
}

// checkUnits warns where a figure looks a thousand times off.
func (r *Run) checkUnits() error {
	if t := r.Latency.TTFT; t.Known() && (t.Mean < 1e-4 || t.Mean > 3600) {
		return refuse("mean TTFT is %.4g s: not a time to first token in any unit this format uses", t.Mean)
	}
	if t := r.Latency.TPOT; t.Known() && (t.Mean < 5e-6 || t.Mean > 60) {
		return refuse("mean TPOT is %.4g s: not a time per token in any unit this format uses", t.Mean)
	}
	if t := r.Latency.TTFT; t.Known() && t.Mean > 600 {
		r.warn("mean TTFT is %.0f s; check the unit", t.Mean)
	}
	if t := r.Latency.TPOT; t.Known() && (t.Mean < 2e-4 || t.Mean > 5) {
		r.warn("mean TPOT is %.4g s; check the unit", t.Mean)
	}
	return nil
}

// identityTolerance is the share of E2E by which TTFT + TPOT (N-1) may miss it. The mean of a product differs from the product of means
// by a covariance, which is at most the product of the standard deviations.
func (r *Run) identityTolerance() float64 {
	l, stdN := r.Latency, r.StdOutputTokens
	if !r.StdKnown {
		stdN = r.MeanOutputTokens // lengths spread as an exponential: wider than most
	}
	std := l.TPOT.Std
	if std == 0 && len(l.TPOT.Quantiles) > 0 && l.TPOT.Max == 0 {
		std = 0.1 * l.TPOT.Mean
	}
	return 0.05 + std*stdN/l.E2E.Mean
}

// checkIdentity holds TTFT + TPOT (N-1) against E2E on the means.
func (r *Run) checkIdentity(repairable bool) error {
	l := &r.Latency
	if !l.E2E.Known() || !l.TTFT.Known() || !l.TPOT.Known() || r.MeanOutputTokens <= 1 {
		return nil
	}
	sum := l.TTFT.Mean + l.TPOT.Mean*(r.MeanOutputTokens-1)
	miss := math.Abs(sum-l.E2E.Mean) / l.E2E.Mean
	if miss <= r.identityTolerance() {
		return nil
	}
	implied := (l.E2E.Mean - l.TTFT.Mean) / (r.MeanOutputTokens - 1)
	if !repairable {
		return refuse("the figures contradict each other: TTFT %.4g s + TPOT %.4g s x (%.1f - 1) tokens = %.4g s, but E2E is %.4g s (a TPOT of %.4g s would fit)",
			l.TTFT.Mean, l.TPOT.Mean, r.MeanOutputTokens, sum, l.E2E.Mean, implied)
	}
	r.warn("the tool's time per output token, %.4g s, contradicts its own E2E; TPOT is taken as (E2E - TTFT)/(N - 1) = %.4g s, and its ITL is dropped", l.TPOT.Mean, implied)
	l.TPOT = &Distribution{Count: l.TPOT.Count, Mean: implied, Definition: "from the means of E2E, TTFT and output length"}
	l.ITL = nil
	return nil
}

// checkThroughput holds rates against counts over duration.
func (r *Run) checkThroughput() error {
	if r.DurationSeconds <= 0 {
		return nil
	}
	for _, v := range []struct {
		name         string
		rate, amount float64
	}{{"requests", r.RequestsPerSecond, float64(r.Completed)}, {"output tokens", r.OutputTokensPerSecond, float64(r.OutputTokens)}} {
		if v.rate <= 0 || v.amount <= 0 {
			continue
		}
		switch ratio := v.rate * r.DurationSeconds / v.amount; {
		case ratio < 0.5 || ratio > 2:
			return refuse("the figures contradict each other: %.4g %s a second for %.4g s, but %.0f %s in all", v.rate, v.name, r.DurationSeconds, v.amount, v.name)
		case ratio < 0.95 || ratio > 1.05:
			r.warn("%.4g %s a second for %.4g s make %.0f, but the file counts %.0f", v.rate, v.name, r.DurationSeconds, v.rate*r.DurationSeconds, v.amount)
		}
	}
	return nil
}

// checkLittle applies Little's law: requests in flight = rate x time in system.
func (r *Run) checkLittle() {
	if len(r.Stages) != 1 {
		return
	}
	s := r.Stages[0]
	if r.Latency.E2E.Known() && s.Concurrency > 0 && r.RequestsPerSecond > 0 {
		if in := r.RequestsPerSecond * r.Latency.E2E.Mean; in > 1.05*float64(s.Concurrency) {
			r.warn("by Little's law %.1f requests were in flight, above the limit of %d", in, s.Concurrency)
		}
	}
	if s.RatePerSecond > 0 && r.RequestsPerSecond > 0 && r.RequestsPerSecond < 0.95*s.RatePerSecond {
		r.warn("completed %.4g requests a second of %.4g offered: saturated or held back by the client; a capacity point, not a latency point", r.RequestsPerSecond, s.RatePerSecond)
	}
}

// checkChunks looks for chunks that aren't tokens.
func (r *Run) checkChunks() {
	gaps, tiny, odd, seen := 0, 0, 0, 0
	for i := range r.Records {
		q := &r.Records[i]
		if !q.OK() || len(q.GapsSeconds) == 0 {
			continue
		}
		seen++
		if len(q.ChunkTokens) == 0 && len(q.GapsSeconds)+1 != q.OutputTokens {
			odd++
		}
		for _, g := range q.GapsSeconds {
			gaps++
			if g < 1e-4 {
				tiny++
			}
		}
	}
	if seen > 0 && odd*20 > seen {
		r.warn("in %d of %d requests the number of chunks differs from the number of tokens: ITL is over chunks", odd, seen)
		if r.Latency.ITL != nil {
			r.Latency.ITL.Definition = "gaps between chunks, not tokens"
		}
	}
	if gaps > 0 && tiny*10 > gaps {
		r.warn("%.0f %% of the gaps are below 0.1 ms: chunks were joined on the way; ITL percentiles mean little", 100*float64(tiny)/float64(gaps))
	}
}

// checkSize warns where a percentile rests on too few requests, or the run on too little time.
func (r *Run) checkSize() {
	if r.Completed > 0 && r.Completed < 1000 && r.Tool != "llama-bench" {
		r.warn("p99 rests on %d requests; 1000 or more are needed for an honest one", r.Completed)
	}
	if e := r.Latency.E2E; r.DurationSeconds > 0 && (r.DurationSeconds < 30 || e.Known() && r.DurationSeconds < 5*e.Mean) {
		r.warn("the run lasted %.3g s: ramp-up and drain are a large part of it, so rates are biased low", r.DurationSeconds)
	}
	if n := r.Requests; n > 0 && r.Failed > 0 {
		r.warn("%d of %d requests failed (%.1f %%)", r.Failed, n, 100*float64(r.Failed)/float64(n))
	}
}
