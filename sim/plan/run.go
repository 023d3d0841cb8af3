package plan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sort"

	"scoville/model/sla"
	"scoville/profiles"
	"scoville/sim"
	"scoville/sim/capacity"
)

// Options rule a run of a plan.
type Options struct {
	Seed     uint64
	Version  string
	Command  string
	Progress func(stage string, done, total int)
}

// Defaults of the search section.
const (
	defaultRequests     = 20_000 // of one run
	defaultReplications = 6
	defaultPrecision    = 0.02
	fleetReplications   = 3
	settleSeconds       = 300 // a fleet run lasts at least this long, so that a few seconds of calm are not taken for an answer
	maxFleetRequests    = 3_000_000
	defaultMaxReplicas  = 20_000
)

// planner is a plan being answered.
type planner struct {
	file    *File
	options Options
	traffic *traffic
	model   *served
	limits  sla.Limits
	pricing *pricing
	scores  *profiles.Accuracy // of the shipped profiles
}

// Run answers a plan. Candidates that can't serve it stay in the result with the reason; when none can, the error is
// *NoAnswer and the result is still returned.
func Run(ctx context.Context, f *File, o Options) (*Result, error) {
	p := &planner{file: f, options: o}
	if err := p.resolve(); err != nil {
		return nil, err
	}
	out := p.header()
	deployments := make([]*deployment, len(f.Candidates))
	for i := range f.Candidates {
		d, err := p.deploy(i)
		if err != nil {
			return nil, err
		}
		deployments[i] = d
	}
	if f.Explore != nil {
		explored, chosen, err := p.explore(ctx)
		if err != nil {
			return nil, err
		}
		out.Explored = explored
		for i := range chosen {
			d, err := p.deploySection(&chosen[i])
			if err != nil {
				return nil, err
			}
			deployments = append(deployments, d)
		}
	}
	for i, d := range deployments {
		p.progress(d.name, i, len(deployments))
		c, err := p.answer(ctx, d)
		if err != nil {
			if ctx.Err() != nil {
				return p.interrupted(out, deployments[:i]), ctx.Err()
			}
			return nil, err
		}
		d.answered = c
	}
	if len(deployments) == 0 {
		out.Answer = "None of the deployments explored holds any load within the SLA."
		return out, noAnswer(out)
	}
	if err := p.finish(ctx, out, deployments); err != nil {
		if ctx.Err() != nil {
			return p.interrupted(out, deployments), ctx.Err()
		}
		return nil, err
	}
	p.progress("done", len(deployments), len(deployments))
	if len(out.Candidates) > 0 && !out.Candidates[0].Feasible {
		return out, noAnswer(out)
	}
	return out, nil
}

// interrupted is the result of a plan broken off: the candidates answered so far, ranked, marked as a part.
func (p *planner) interrupted(out *Result, answered []*deployment) *Result {
	out.Partial, out.Candidates = true, nil
	sort.SliceStable(answered, func(i, j int) bool { return better(answered[i].answered, answered[j].answered) })
	for i, d := range answered {
		d.answered.Rank = i + 1
		out.Candidates = append(out.Candidates, *d.answered)
	}
	out.Answer = fmt.Sprintf("Interrupted: %s answered, no comparison.", plural(len(answered), "candidate"))
	return out
}

func (p *planner) progress(stage string, done, total int) {
	if p.options.Progress != nil {
		p.options.Progress(stage, done, total)
	}
}

func (p *planner) resolve() (err error) {
	f := p.file
	if p.limits, err = f.limits(); err != nil {
		return err
	}
	if p.traffic, err = f.traffic(); err != nil {
		return err
	}
	if p.model, err = f.model(); err != nil {
		return err
	}
	if p.pricing, err = f.pricing(); err != nil {
		return err
	}
	p.scores, err = profiles.LoadAccuracy()
	return err
}

func (f *File) limits() (sla.Limits, error) {
	limits, err := sla.Parse(f.SLA)
	var key *sla.KeyError
	if errors.As(err, &key) {
		at := "sla"
		if key.Key != "" {
			at = "sla." + key.Key
		}
		return limits, f.errorAt(at, "%s", key.Problem)
	}
	return limits, err
}

// NoAnswer says that no candidate can serve the plan. Limited is true when a limit of the plan, such as max_replicas, is the reason for
// one of them: a wider limit may have an answer.
type NoAnswer struct {
	Reasons []string
	Limited bool
}

func (e *NoAnswer) Error() string {
	msg := "no candidate serves this plan"
	for _, r := range e.Reasons {
		msg += "; " + r
	}
	return msg
}

func noAnswer(r *Result) error {
	e := &NoAnswer{}
	if x := r.Explored; x != nil && len(r.Candidates) == 0 {
		e.Reasons = append(e.Reasons, fmt.Sprintf("none of the %d combinations explored holds any load", x.Combinations))
		for i := range min(3, len(x.Points)) {
			e.Reasons = append(e.Reasons, x.Points[i].Name+": "+x.Points[i].Left)
		}
	}
	for _, c := range r.Candidates {
		e.Limited = e.Limited || c.Limited
		e.Reasons = append(e.Reasons, c.Name+": "+c.Reason)
	}
	return e
}

// answer simulates one deployment and fills its candidate.
func (p *planner) answer(ctx context.Context, d *deployment) (*Candidate, error) {
	c := d.describe(p)
	c.Questions = p.questions(d)
	if d.refusal != "" {
		c.Reason = d.refusal
		return c, nil
	}
	if err := p.findCapacity(ctx, d, c); err != nil {
		var none *capacity.ErrNoLoad
		if !errors.As(err, &none) {
			return nil, err
		}
		c.Reason = bestAchievable(p.limits, none)
		return c, nil
	}
	if err := p.sizeFleet(ctx, d, c); err != nil {
		return nil, err
	}
	if c.Reason != "" {
		return c, nil
	}
	c.Feasible = true
	p.spreadsheet(c)
	return c, p.price(d, c)
}

// requests is how many requests a run at a rate draws: enough for percentiles, and enough time to settle.
func (p *planner) requests(rate float64) int64 {
	if p.traffic.isTrace {
		return 0 // the whole trace
	}
	n := int64(defaultRequests)
	if p.file.Search.Requests > 0 {
		n = p.file.Search.Requests
	}
	return min(max(n, int64(rate*settleSeconds)), maxFleetRequests)
}

// findCapacity fills c.Capacity: the load one replica holds, the curve around it, what binds.
func (p *planner) findCapacity(ctx context.Context, d *deployment, c *Candidate) error {
	s := p.file.Search
	search := capacity.Search{
		Probe:        func(ctx context.Context, rate float64, r int) (*sim.Result, error) { return p.one(ctx, d, rate, r) },
		Start:        d.guess(p.traffic),
		Replications: orDefault(s.Replications, defaultReplications),
		Precision:    s.Precision,
		Parallel:     runtime.GOMAXPROCS(0),
	}
	if search.Precision == 0 {
		search.Precision = defaultPrecision
	}
	if p.traffic.isTrace {
		search.Replications = 1 // a trace has one realisation
	}
	a, err := capacity.Find(ctx, search)
	if err != nil {
		return err
	}
	c.Capacity = Capacity{RequestsPerSecond: a.Mean, Low: a.Low, High: a.High, Replications: len(a.Roots), Warnings: a.Warnings}
	if a.Above != nil && len(a.Above.Violations) > 0 {
		c.Capacity.BindingLimit = a.Above.Violations[0]
	}
	if err := p.curve(ctx, d, c); err != nil {
		return err
	}
	if c.Capacity.Binding, err = d.binding(ctx, p, c, a); err != nil {
		return err
	}
	c.Capacity.CeilingPerSecond, c.Capacity.Concurrency = d.ceilingQPS(p.traffic), a.Below.MeanRunning
	if a.Low > c.Capacity.CeilingPerSecond {
		c.Capacity.Warnings = append(c.Capacity.Warnings, fmt.Sprintf("the capacity found is above the bound of %.4g requests/s: the run is too short for its SLA", c.Capacity.CeilingPerSecond))
	}
	c.Capacity.OutputTokensPerSecond = c.Capacity.Low * p.traffic.summary.MeanOutput
	return nil
}

func orDefault(v, otherwise int) int {
	if v == 0 {
		return otherwise
	}
	return v
}

// one runs a single replica.
func (p *planner) one(ctx context.Context, d *deployment, rate float64, replication int) (*sim.Result, error) {
	return p.replica(ctx, d.config, rate, replication, p.requests(0))
}

// replica runs one replica of a configuration for so many requests.
func (p *planner) replica(ctx context.Context, cfg sim.Config, rate float64, replication int, requests int64) (*sim.Result, error) {
	src, err := p.traffic.source(rate, p.options.Seed, replication, requests)
	if err != nil {
		return nil, err
	}
	return sim.Run(ctx, cfg, src)
}

// curveShares are the loads of the latency curve, over the capacity found.
func curveShares() []float64 {
	return []float64{0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.9, 0.95, 1, 1.05, 1.15, 1.3}
}

// overload is the offered load, over capacity, at which the saturated completion rate is read.
const overload = 4

func (p *planner) curve(ctx context.Context, d *deployment, c *Candidate) error {
	rates := make([]float64, 0, len(curveShares()))
	for _, s := range curveShares() {
		rates = append(rates, s*c.Capacity.Low)
	}
	points, err := p.runAll(ctx, d, rates)
	if err != nil {
		return err
	}
	full, err := p.saturated(ctx, d, overload*c.Capacity.RequestsPerSecond)
	if err != nil {
		return err
	}
	c.Capacity.SaturationPerSecond = math.Max(full.RequestsPerSecond, c.Capacity.Low)
	for i, r := range points {
		c.Capacity.Curve = append(c.Capacity.Curve, loadPoint(r, rates[i], 1))
	}
	return nil
}

// saturated runs a replica under far more than it can do, for long enough that filling its batch doesn't count.
func (p *planner) saturated(ctx context.Context, d *deployment, rate float64) (*sim.Result, error) {
	n := p.requests(0)
	if n > 0 {
		n = max(n, int64(batchesToSaturate*d.fullBatch(p.traffic.summary.MeanInput+p.traffic.summary.MeanOutput)))
	}
	return p.replica(ctx, d.config, rate, 0, n)
}

// batchesToSaturate is how many full batches of requests a saturated run has at least.
const batchesToSaturate = 20

func loadPoint(r *sim.Result, offered float64, replicas int) LoadPoint {
	pt := LoadPoint{
		RequestsPerSecond: offered, Completed: r.RequestsPerSecond, Goodput: r.GoodputPerSecond, Verdict: r.Verdict,
		TTFT: r.TTFT, TPOT: r.TPOT, ITL: r.ITL, E2E: r.E2E, Utilisation: r.Utilisation, MeanBatch: r.MeanBatch, KVShare: r.MeanKVShare,
		Met: capacity.Passes(r),
	}
	if r.Seconds > 0 {
		pt.AcceleratorWatts = r.Joules / r.Seconds / float64(replicas)
	}
	return pt
}

// finish ranks, studies the uncertainty and says the answer in words.
func (p *planner) finish(ctx context.Context, out *Result, deployments []*deployment) error {
	sort.SliceStable(deployments, func(i, j int) bool { return better(deployments[i].answered, deployments[j].answered) })
	if err := p.study(ctx, out, deployments); err != nil {
		return err
	}
	out.Candidates = nil
	for i, d := range deployments {
		d.answered.Rank = i + 1
		out.Candidates = append(out.Candidates, *d.answered)
		out.Assumptions = append(out.Assumptions, d.assumptions()...)
	}
	out.Growth = p.growth(deployments[0].answered)
	out.Answer = answerSentence(out)
	return nil
}

// better ranks feasible before infeasible, then by cost for a million tokens.
func better(a, b *Candidate) bool {
	if a.Feasible != b.Feasible {
		return a.Feasible
	}
	if !a.Feasible || a.Cost == nil || b.Cost == nil {
		return a.Feasible && a.Cost != nil && b.Cost == nil
	}
	return a.Cost.PerMBoth < b.Cost.PerMBoth
}

func answerSentence(r *Result) string {
	c := r.Candidates[0]
	if !c.Feasible {
		return "No candidate serves this plan within its limits."
	}
	s := fmt.Sprintf("%s %s chips (%d replicas and %d spare, %s, %.1f kW) serve %.3g requests a second within the SLA",
		grouped(float64(c.Fleet.Chips)), c.ChipTitle, c.Fleet.Replicas, c.Fleet.SpareReplicas, plural(c.Fleet.Nodes, "node"), c.Fleet.PeakKilowatts, r.Workload.PeakQPS)
	if c.Cost != nil {
		s += fmt.Sprintf(", at $%.3g per million tokens (input and output together)", c.Cost.PerMBoth)
	}
	return s + fmt.Sprintf("; what binds is %s.", c.Capacity.Binding)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(float64(n)) + " " + noun + "s"
}
