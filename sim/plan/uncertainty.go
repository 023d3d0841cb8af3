package plan

import (
	"context"
	"fmt"
	"math"

	"scoville/hardware"
	"scoville/model/cost"
	"scoville/model/cost/breakeven"
	"scoville/model/cost/uncertainty"
	"scoville/sim"
	"scoville/sim/capacity"
)

// Defaults of the uncertainty study.
const (
	defaultDraws = 2000
	// speedSpread is the standard deviation of a profile's speed where no score on measured runs is at hand.
	speedSpread = 0.15
)

// speeds are the hardware speeds, over the profile's, at which capacity is simulated for the surface.
func speeds() []float64 { return []float64{0.8, 1, 1.2} }

// faster is a step model whose steps take 1/k of the time for the same work.
type faster struct {
	hardware.StepModel
	k float64
}

func (f faster) Step(b hardware.Batch) hardware.Work { return f.quicken(f.StepModel.Step(b)) }

func (f faster) Decode(n int) hardware.DecodeWork {
	w := f.StepModel.Decode(n)
	return hardware.DecodeWork{Base: f.quicken(w.Base), PerKV: f.quicken(w.PerKV), PerKVWin: f.quicken(w.PerKVWin)}
}

func (f faster) quicken(w hardware.Work) hardware.Work {
	w.Seconds /= f.k
	return w
}

// surface simulates the capacity of a replica at other hardware speeds, on the draws of the first replication.
func (p *planner) surface(ctx context.Context, d *deployment, c *Candidate) (*uncertainty.Grid, error) {
	g := &uncertainty.Grid{
		Speed: speeds(), Output: []float64{1}, Base: d.input, PeakPerSecond: p.traffic.peakQPS,
		ReplicaChips: c.ChipsPerReplica, SpareReplicas: c.Fleet.SpareReplicas,
		SizingLossShare: 1 - p.perReplica(c)/c.Capacity.Low,
	}
	for _, k := range g.Speed {
		at := c.Capacity.Low
		if k != 1 {
			quick := d.config
			quick.Steps = faster{d.steps, k}
			a, err := capacity.Find(ctx, capacity.Search{
				Probe: func(ctx context.Context, rate float64, r int) (*sim.Result, error) {
					return p.replica(ctx, quick, rate, r, p.requests(0))
				},
				Start: c.Capacity.RequestsPerSecond * k, Replications: 1,
			})
			if err != nil {
				return nil, fmt.Errorf("capacity of %s at %g x its speed: %w", c.Name, k, err)
			}
			at = a.Mean * c.Capacity.Low / c.Capacity.RequestsPerSecond
		}
		g.Capacity = append(g.Capacity, []float64{at})
	}
	return g, nil
}

// study fills tornado, Monte Carlo and the comparison for the feasible candidates.
func (p *planner) study(ctx context.Context, out *Result, deployments []*deployment) error {
	draws := orDefault(p.file.Search.MonteCarlo, defaultDraws)
	if draws < 0 {
		return nil
	}
	var candidates []uncertainty.Candidate
	var feasible []*deployment
	variables := append([]uncertainty.Variable(nil), p.file.Uncertainty...)
	for i, d := range deployments {
		if !d.answered.Feasible || d.answered.Cost == nil {
			continue
		}
		p.progress("uncertainty of "+d.name, i, len(deployments))
		grid, err := p.surface(ctx, d, d.answered)
		if err != nil {
			return err
		}
		candidates = append(candidates, uncertainty.Candidate{Name: d.name, Surface: grid, Assumptions: d.costs})
		feasible = append(feasible, d)
		if len(p.file.Uncertainty) == 0 {
			variables = append(variables, d.usualSpreads()...)
		}
	}
	if len(feasible) == 0 {
		return nil
	}
	if len(p.file.Uncertainty) == 0 {
		variables = append(variables, uncertainty.Usual(feasible[0].costs)...)
	}
	r, err := uncertainty.MonteCarlo(candidates, variables, draws, p.options.Seed)
	if err != nil {
		return p.file.errorAt("uncertainty", "%v", err)
	}
	for i, d := range feasible {
		d.answered.Cost.MonteCarlo = monteCarlo(r.Draws, r.Candidates[i])
		bars, _, err := uncertainty.Tornado(candidates[i], variables)
		if err != nil {
			return err
		}
		for _, b := range bars {
			d.answered.Cost.Tornado = append(d.answered.Cost.Tornado, TornadoBar{
				Name: b.Name, LowLabel: label(b.LowValue, b.Unit), HighLabel: label(b.HighValue, b.Unit), Low: b.Low, High: b.High})
		}
	}
	out.Comparison = compare(feasible, r)
	return nil
}

// usualSpreads are what is uncertain of one candidate where the plan says nothing: the profile's speed and the price, over
// the spread of the offers.
func (d *deployment) usualSpreads() []uncertainty.Variable {
	sd := speedSpread
	if e := d.answered.Accuracy.TPOTError; e > 0 {
		sd = e
	}
	out := []uncertainty.Variable{{Name: "speed", Candidate: d.name, Distribution: uncertainty.Distribution{Kind: "lognormal", Mean: 1, SD: sd}}}
	name, planned := "rent", 0.0
	if d.costs.Ownership == cost.Buy {
		name, planned = "accelerator-price", d.costs.Buying.Accelerator.Price.Value
	} else if len(d.costs.Renting) > 0 {
		planned = d.costs.Renting[0].USDPerChipHour.Value
	}
	if d.quote != nil && d.quote.High > d.quote.Low {
		out = append(out, uncertainty.Variable{Name: name, Candidate: d.name,
			Distribution: uncertainty.Distribution{Kind: "triangular", Low: d.quote.Low, Mode: math.Min(math.Max(planned, d.quote.Low), d.quote.High), High: d.quote.High}})
	}
	return out
}

func label(v float64, unit string) string {
	s := fmt.Sprintf("%.4g", v)
	if unit != "" {
		s += " " + unit
	}
	return s
}

func monteCarlo(draws int, s uncertainty.Spread) *MonteCarlo {
	spread := func(p uncertainty.Percentiles) Spread { return Spread{p.P10, p.P50, p.P90} }
	out := &MonteCarlo{Draws: draws, PerM: spread(s.PerM), TCO: spread(s.TCO), Chips: spread(s.Chips)}
	for _, b := range s.Histogram {
		out.Histogram = append(out.Histogram, HistogramBin{b.Low, b.High, b.Count})
	}
	for _, d := range s.Drivers {
		out.Drivers = append(out.Drivers, Driver{d.Name, d.Correlation})
	}
	return out
}

// compare sets the candidates against the cheapest: how likely each is the cheapest, and at what price it would be.
func compare(ranked []*deployment, r *uncertainty.Result) *Comparison {
	out := &Comparison{Winner: ranked[0].name}
	for _, s := range r.Candidates {
		out.ProbabilityCheapest = append(out.ProbabilityCheapest, Share{s.Name, s.Cheapest})
	}
	for _, b := range r.Beats {
		out.Beats = append(out.Beats, Duel{b.First, b.Second, b.Probability})
	}
	winner := ranked[0].side()
	for _, d := range ranked[1:] {
		variable := breakeven.Rental
		if d.costs.Ownership == cost.Buy {
			variable = breakeven.Price
		}
		for _, v := range []breakeven.Variable{variable, breakeven.Efficiency} {
			a, err := breakeven.Solve(d.side(), winner, v)
			if err != nil {
				out.BreakEvens = append(out.BreakEvens, BreakEven{Candidate: d.name, Against: ranked[0].name, Variable: string(v), Note: err.Error()})
				continue
			}
			out.BreakEvens = append(out.BreakEvens, BreakEven{Candidate: d.name, Against: ranked[0].name, Variable: string(v), Unit: a.Unit, Now: a.Now, At: a.At, Exists: a.Exists, Note: a.Note})
		}
	}
	return out
}

func (d *deployment) side() breakeven.Deployment {
	return breakeven.Deployment{Name: d.name, Input: d.input, Assumptions: d.costs, ReplicaChips: d.answered.ChipsPerReplica}
}

// growing is how many months of the horizon are sized one by one: all, where the plan has growth.
func (f *File) growing(horizon int) int {
	if f.Growth.Monthly == 0 {
		return 0
	}
	return horizon
}

// at is the load of a month over that of month 0.
func (g GrowthSection) at(month int) float64 { return math.Pow(1+g.Monthly, float64(month)) }

// growth sizes the first candidate's fleet month by month, in proportion to the fleet simulated at the peak.
func (p *planner) growth(c *Candidate) []GrowthMonth {
	if p.file.Growth.Months == 0 || !c.Feasible {
		return nil
	}
	var out []GrowthMonth
	for m := 0; m <= p.file.Growth.Months; m++ {
		out = append(out, p.growthMonth(c, m))
	}
	return out
}

func (p *planner) growthMonth(c *Candidate, month int) GrowthMonth {
	qps := p.traffic.peakQPS * p.file.Growth.at(month)
	n := max(1, int(math.Ceil(qps/p.perReplica(c)-1e-9)))
	return GrowthMonth{Month: month, PeakQPS: qps, Replicas: n, Chips: (n + c.Fleet.SpareReplicas) * c.ChipsPerReplica}
}

// perReplica is what each replica of the simulated fleet holds: the capacity of one alone, corrected where routing made the
// fleet need more replicas than division says, or pooling fewer.
func (p *planner) perReplica(c *Candidate) float64 {
	n, alone := c.Fleet.Replicas, c.Capacity.Low
	switch need := int(math.Ceil(p.traffic.peakQPS/alone - 1e-9)); {
	case need < n:
		return p.traffic.peakQPS / float64(n-1) * (1 - 1e-6)
	case need > n:
		return p.traffic.peakQPS / float64(n)
	}
	return alone
}
