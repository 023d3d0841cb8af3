package plan

import (
	"context"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"scoville/hardware"
	"scoville/model/fact"
	"scoville/model/sla"
	"scoville/profiles"
	"scoville/sim"
	"scoville/sim/capacity"
)

// header fills what the result says before any candidate is simulated.
func (p *planner) header() *Result {
	f, t, m := p.file, p.traffic, p.model
	out := &Result{Schema: Schema, Version: p.options.Version, Title: f.Title, Command: p.options.Command, Seed: p.options.Seed, PlanText: string(f.text), AsOf: f.AsOf}
	if out.Title == "" {
		out.Title = "Capacity plan"
	}
	out.Workload = Workload{
		Name: t.workload.Name, Source: t.workload.From, PeakQPS: t.peakQPS, PeakFrom: t.peakFrom, MeanQPS: t.meanQPS, Arrivals: t.arrivals(),
		MeanInputTokens: t.summary.MeanInput, MeanOutputTokens: t.summary.MeanOutput, P99InputTokens: t.summary.P99Input, P99OutputTokens: t.summary.P99Output,
		PrefixShare: t.summary.PrefixShare, HourlyMultipliers: t.workload.Arrivals.Hourly,
	}
	params := m.arch.Parameters()
	out.Model = Model{
		Name: m.arch.Name, Parameters: params.Total(), ActiveParameters: params.Active(), WeightBytes: m.arch.WeightBytes(m.precision),
		KVBytesPerToken: m.arch.KVBytesPerToken(m.precision.KV, 1), Weights: string(m.precision.Weights), KV: string(m.precision.KV),
		Activations: string(m.precision.Activations), Source: m.arch.Source,
	}
	for _, l := range p.limits.Percentiles {
		out.SLA = append(out.SLA, Limit{l.Key(false), l.Seconds, "s"})
	}
	for _, l := range p.limits.PerRequest {
		out.SLA = append(out.SLA, Limit{l.Key(true), l.Seconds, "s"})
	}
	if p.limits.Attainment > 0 {
		out.SLA = append(out.SLA, Limit{"attainment", p.limits.Attainment, "share"})
	}
	out.SLA = append(out.SLA, Limit{"error_budget", p.limits.ErrorBudget, "share"})
	out.Warnings = append(out.Warnings, p.limits.Lint(t.summary.MeanOutput)...)
	out.Assumptions = p.sharedAssumptions()
	return out
}

// sharedAssumptions echoes every input that all candidates share, defaults included.
func (p *planner) sharedAssumptions() []Assumption {
	t, m, s := p.traffic, p.model, p.file.Search
	traffic := func(name, value string) Assumption {
		return Assumption{Group: "traffic", Name: name, Value: value, Kind: t.workload.Kind, Source: t.workload.From, Date: t.workload.Date}
	}
	run := func(name, value string) Assumption {
		return Assumption{Group: "simulation", Name: name, Value: value}
	}
	out := []Assumption{
		{Group: "traffic", Name: "peak", Value: fmt.Sprintf("%.4g requests/s", t.peakQPS), Source: t.peakFrom},
		{Group: "traffic", Name: "mean over the day", Value: fmt.Sprintf("%.4g requests/s", t.meanQPS)},
		traffic("arrivals", t.arrivals()),
		traffic("input tokens", fmt.Sprintf("mean %.1f, p99 %.0f", t.summary.MeanInput, t.summary.P99Input)),
		traffic("output tokens", fmt.Sprintf("mean %.1f, p99 %.0f", t.summary.MeanOutput, t.summary.P99Output)),
		{Group: "model", Name: m.arch.Name, Value: fmt.Sprintf("%.4g parameters, weights %s, KV %s, compute %s", m.arch.Parameters().Total(), m.precision.Weights, m.precision.KV, m.precision.Activations), Source: m.arch.Source},
		run("replications of the capacity search", strconv.Itoa(orDefault(s.Replications, defaultReplications))),
		run("requests of one run", fmt.Sprint(p.requests(0))),
		run("requests of one fleet run", fmt.Sprint(p.requests(p.traffic.peakQPS))),
		run("warm-up left out", "5 % of the run and at least three of the longest requests"),
		run("seed", fmt.Sprint(p.options.Seed)),
		{Group: "fleet", Name: "routing", Value: string(p.routing())},
	}
	if f := p.file.Fleet; f.Availability > 0 {
		out = append(out, Assumption{Group: "fleet", Name: "availability asked for", Value: fmt.Sprintf("%g", f.Availability)})
	} else {
		out = append(out, Assumption{Group: "fleet", Name: "spare replicas", Value: strconv.Itoa(f.Spares)})
	}
	return out
}

// describe starts a candidate with all that is known before simulating.
func (d *deployment) describe(p *planner) *Candidate {
	s, e := d.hw.Split, d.config.Engine
	c := &Candidate{
		Name: d.name, Chip: d.chip.Name, ChipTitle: d.chip.Title, Vendor: d.chip.Vendor, ProfileKind: d.leastKind(),
		Engine:         d.engine.Name + " " + d.engine.Version,
		Precision:      fmt.Sprintf("%s weights, %s KV", d.model.precision.Weights, d.model.precision.KV),
		TensorParallel: s.Tensor, PipelineParallel: s.Pipeline, ExpertParallel: s.Expert, ChipsPerReplica: s.Chips(),
		Memory:   d.memory(p.traffic.summary.MeanInput + p.traffic.summary.MeanOutput),
		Accuracy: accuracyOf(p.scores, d, p.traffic),
	}
	if d.refusal == "" {
		c.EngineSettings = []Setting{
			{"max_batched_tokens", strconv.Itoa(e.MaxBatchedTokens)}, {"max_sequences", strconv.Itoa(e.MaxSequences)},
			{"chunked_prefill", strconv.FormatBool(e.ChunkedPrefill)}, {"prefix_caching", strconv.FormatBool(e.PrefixCaching)},
			{"block_tokens", strconv.Itoa(e.BlockTokens)}, {"kv_blocks", strconv.FormatInt(e.KVBlocks, 10)}, {"max_model_len", strconv.Itoa(e.MaxModelLen)},
		}
		if e.Speculative.Draft > 0 {
			c.EngineSettings = append(c.EngineSettings, Setting{"draft_tokens", strconv.Itoa(e.Speculative.Draft)}, Setting{"acceptance", fmt.Sprint(e.Speculative.Acceptance)})
		}
	}
	return c
}

// leastKind is the least trustworthy kind among the figures that decide speed.
func (d *deployment) leastKind() fact.Kind {
	order := map[fact.Kind]int{fact.Measured: 0, fact.Datasheet: 1, fact.Estimate: 2, fact.Hypothetical: 3}
	worst := fact.Measured
	if d.chip.Model.CurvesLike != "" || len(d.chip.Curves.Gemm) == 0 {
		worst = fact.Estimate
	}
	for _, f := range []fact.Fact{d.chip.Peak.BF16, d.chip.Memory.Bytes, d.chip.Memory.BytesPerSecond} {
		if order[f.Kind] > max(order[worst], order[fact.Datasheet]) {
			worst = f.Kind
		}
	}
	return worst
}

// assumptions echoes the candidate's figures with their provenance.
func (d *deployment) assumptions() []Assumption {
	chip := d.chip.Name
	add := func(list []Assumption, name, value string, f fact.Fact) []Assumption {
		return append(list, Assumption{Group: "hardware", Name: chip + ": " + name, Value: value, Kind: f.Kind, Source: f.Source, Date: f.Date})
	}
	var out []Assumption
	out = add(out, "dense BF16 peak", fmt.Sprintf("%.0f TFLOPS", d.chip.Peak.BF16.Value/1e12), d.chip.Peak.BF16)
	out = add(out, "memory", fmt.Sprintf("%.1f GiB", d.chip.Memory.Bytes.Value/(1<<30)), d.chip.Memory.Bytes)
	out = add(out, "memory bandwidth", fmt.Sprintf("%.2f TB/s", d.chip.Memory.BytesPerSecond.Value/1e12), d.chip.Memory.BytesPerSecond)
	out = add(out, "power limit", fmt.Sprintf("%.0f W", d.chip.Power.LimitWatts.Value), d.chip.Power.LimitWatts)
	out = add(out, "idle power", fmt.Sprintf("%.0f W", d.chip.Power.IdleWatts.Value), d.chip.Power.IdleWatts)
	if d.answered != nil && d.answered.Feasible {
		out = append(out, costAssumptions(d.costs, d.quote, d.name)...)
	}
	return out
}

// guess is where the capacity search starts: the rate at which a replica would be busy all the time, prefills one by one
// and decodes at half the sequences it may run.
func (d *deployment) guess(t *traffic) float64 {
	return 0.7 / d.secondsPerRequest(t)
}

// secondsPerRequest is a replica's busy time for a mean request, prefill and decode, at a well-filled batch.
func (d *deployment) secondsPerRequest(t *traffic) float64 {
	prefill, decode := d.split(t)
	return prefill + decode
}

// split returns the busy time that a mean request takes in prefill and in decode.
func (d *deployment) split(t *traffic) (prefill, decode float64) {
	in, out := t.summary.MeanInput, t.summary.MeanOutput
	fresh := math.Max(1, in*(1-t.summary.PrefixShare))
	budget := float64(d.config.Engine.MaxBatchedTokens)
	chunks := math.Max(1, math.Ceil(fresh/budget))
	w := d.steps.Step(hardware.Batch{PrefillSequences: 1, PrefillTokens: int(fresh / chunks), PrefillPairs: fresh * in / 2 / chunks})
	n := d.fullBatch(in + out)
	dw := d.steps.Decode(n)
	step := dw.Base.Seconds + dw.PerKV.Seconds*float64(n)*(in+out/2)
	return w.Seconds * chunks, out * step / float64(n)
}

// fullBatch is how many mean requests run at once when the replica is full.
func (d *deployment) fullBatch(tokens float64) int {
	n := float64(d.config.Engine.MaxSequences)
	if held := float64(d.fit.ReplicaKVTokens()); held > 0 {
		n = math.Min(n, held/tokens)
	}
	return max(1, int(n))
}

// binding says in words what keeps the replica from holding more. Memory and the sequence cap bind when the replica would hold 5 % more
// with twice of them; otherwise it is where the time goes.
func (d *deployment) binding(ctx context.Context, p *planner, c *Candidate, a *capacity.Answer) (string, error) {
	r, e := a.Below, d.config.Engine
	limit := c.Capacity.BindingLimit
	if limit == "" {
		limit = "the backlog grows"
	}
	more := func(relax func(*sim.Engine)) (bool, error) {
		other := *d
		relax(&other.config.Engine)
		run, err := p.one(ctx, &other, a.Roots[0]*relaxedLoad, 0)
		return err == nil && capacity.Passes(run), err
	}
	if r.MaxKVShare > 0.9 {
		ok, err := more(func(e *sim.Engine) { e.KVBlocks *= 2 })
		if err != nil {
			return "", err
		}
		if ok || r.MaxKVShare > 0.97 && r.Preemptions > 0 {
			return fmt.Sprintf("KV memory: the cache of %s tokens is full (%s)", grouped(float64(d.fit.ReplicaKVTokens())), limit), nil
		}
	}
	if r.MeanRunning > 0.5*float64(e.MaxSequences) {
		ok, err := more(func(e *sim.Engine) { e.MaxSequences *= 2 })
		if err != nil {
			return "", err
		}
		if ok || r.MeanRunning > 0.9*float64(e.MaxSequences) {
			return fmt.Sprintf("the cap of %d sequences (%s)", e.MaxSequences, limit), nil
		}
	}
	return d.bindingRate(p, r, limit), nil
}

// relaxedLoad is the load, over the capacity, at which a relaxed replica must pass: beyond the precision of the search.
const relaxedLoad = 1.05

// bindingRate is what takes a replica's time.
func (d *deployment) bindingRate(p *planner, r *sim.Result, limit string) string {
	prefill, decode := d.split(p.traffic)
	what, share := "decode rate", decode/(prefill+decode)
	if prefill > decode {
		what, share = "prefill rate", prefill/(prefill+decode)
	}
	if host := d.hostShare(p.traffic); host > 0.5 {
		what, share = "host overhead", host
	}
	if r.Utilisation < 0.6 {
		return fmt.Sprintf("latency, at %.0f %% utilisation and before any rate (%s)", r.Utilisation*100, limit)
	}
	return fmt.Sprintf("%s, %.0f %% of a busy replica's time at %.0f %% utilisation (%s)", what, share*100, r.Utilisation*100, limit)
}

// hostShare is the share of a full decode step that is neither moving bytes nor computing at the chip's datasheet rates.
func (d *deployment) hostShare(t *traffic) float64 {
	n := d.fullBatch(t.summary.MeanInput + t.summary.MeanOutput)
	w := d.steps.Decode(n).Base
	chips := float64(d.hw.Split.Chips())
	floor := math.Max(w.Bytes/(d.chip.Memory.BytesPerSecond.Value*chips), w.FLOPs/(d.chip.Peak.Rate(d.model.precision.Activations)*chips))
	return math.Max(0, 1-floor/w.Seconds)
}

// bestAchievable explains an SLA that no load meets.
func bestAchievable(l sla.Limits, e *capacity.ErrNoLoad) string {
	best := ""
	for _, lim := range l.Percentiles {
		if v, ok := e.Best.Quantile(lim.Metric, lim.Quantile); ok && v > lim.Seconds {
			best = fmt.Sprintf("no load meets the SLA: %s is %.4g s even when the replica is almost idle; the limit is %.4g s", lim.Name(), v, lim.Seconds)
			break
		}
	}
	if best == "" {
		best = e.Error()
	}
	if e.Best.Rejected > 0 {
		best += "; " + rejections(e.Best)
	}
	return best
}

func rejections(r *sim.Result) string {
	reasons := make([]string, 0, len(r.RejectedFor))
	for k := range r.RejectedFor {
		reasons = append(reasons, k)
	}
	sort.Strings(reasons)
	text := fmt.Sprintf("%d of %d requests are rejected", r.Rejected, r.Arrived)
	for _, k := range reasons {
		text += fmt.Sprintf(" (%d: %s)", r.RejectedFor[k], k)
	}
	return text
}

// spreadsheet is the answer people get by dividing: it takes the throughput a single replica shows in a saturated benchmark.
func (p *planner) spreadsheet(c *Candidate) {
	out := p.traffic.summary.MeanOutput
	best := c.Capacity.SaturationPerSecond * out
	replicas := math.Ceil(p.traffic.peakQPS * out / best)
	c.Spreadsheet = Spreadsheet{
		Chips: int(replicas) * c.ChipsPerReplica, TokensPerSecond: best,
		Formula: fmt.Sprintf("%.4g requests/s x %.1f output tokens / %.0f output tokens/s of one saturated replica, rounded up, x %d chips", p.traffic.peakQPS, out, best, c.ChipsPerReplica),
	}
}

// accuracyOf says how far predictions of this kind were off on measured runs.
func accuracyOf(scores *profiles.Accuracy, d *deployment, t *traffic) Accuracy {
	if d.calibrated == nil {
		return shippedAccuracy(scores, d, t)
	}
	e := d.calibrated.Errors
	a := Accuracy{Basis: d.calibrated.Basis(), TTFTError: e.TTFT, TPOTError: e.TPOT, ThroughputError: e.Throughput}
	for _, q := range d.calibrated.HeldOut {
		a.Points = append(a.Points, AccuracyPoint{Metric: string(q.Metric), Label: q.Load, Measured: q.Measured, Predicted: q.Predicted})
	}
	outside := append([]string(nil), d.calibrationNotes...)
	for _, x := range [][2]float64{{t.summary.MeanInput, t.summary.MeanOutput}, {t.summary.P99Input, t.summary.P99Output}} {
		if inside, why := d.calibrated.Range.Covers(x[0], x[1]); !inside {
			outside = append(outside, why)
		}
	}
	if a.InsideRange = len(outside) == 0; !a.InsideRange {
		a.Basis += ". Outside what was measured: " + strings.Join(outside, "; ")
	}
	return a
}
