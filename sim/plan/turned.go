package plan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"

	"scoville/sim"
	"scoville/sim/capacity"
	"scoville/sim/fleet"
)

// Budget is what there is to spend: any of chips, facility watts (PUE included) and dollars over the horizon; zero is no limit.
type Budget struct {
	Chips int     `json:"chips,omitempty"`
	Watts float64 `json:"watts,omitempty"`
	USD   float64 `json:"usd,omitempty"`
}

// Turned answers a plan turned round: not how many chips a load needs but how much load fits a budget.
type Turned struct {
	Schema     string       `json:"schema"`
	Version    string       `json:"version"`
	Command    string       `json:"command"`
	Seed       uint64       `json:"seed"`
	Budget     Budget       `json:"budget"`
	Candidates []Held       `json:"candidates"` // most load first
	Inputs     []Assumption `json:"assumptions"`
}

// TurnedSchema names the layout of Turned.
const TurnedSchema = "scoville.turned/1"

// Held is the load that one candidate's fleet within the budget holds.
type Held struct {
	Name              string  `json:"name"`
	Chip              string  `json:"chip"`
	Replicas          int     `json:"replicas"` // serving
	SpareReplicas     int     `json:"spare_replicas"`
	Chips             int     `json:"chips"` // spares included
	Nodes             int     `json:"nodes"`
	RequestsPerSecond float64 `json:"requests_per_second"` // the peak it holds within the SLA, simulated: mean over replications
	Low               float64 `json:"low"`                 // 95 % interval
	High              float64 `json:"high"`
	FacilityKilowatts float64 `json:"facility_kilowatts"`
	TCO               float64 `json:"tco_usd"`
	PerM              float64 `json:"usd_per_m_tokens"`
	Bound             string  `json:"bound_by"` // the limit of the budget that is used up
	Binding           string  `json:"binding"`
	Reason            string  `json:"reason,omitempty"` // why it holds nothing
}

const (
	maxTurnedReplicas = 100_000
)

// Turn finds the load each candidate holds within a budget. The mean over the day keeps its ratio to the peak.
func Turn(ctx context.Context, f *File, b Budget, o Options) (*Turned, error) {
	if b.Chips < 0 || b.Watts < 0 || b.USD < 0 || b == (Budget{}) {
		return nil, fmt.Errorf("a budget needs a positive number of chips, watts or dollars")
	}
	p := &planner{file: f, options: o}
	if err := p.resolve(); err != nil {
		return nil, err
	}
	out := &Turned{Schema: TurnedSchema, Version: o.Version, Command: o.Command, Seed: o.Seed, Budget: b, Inputs: p.sharedAssumptions()}
	for i := range f.Candidates {
		d, err := p.deploy(i)
		if err != nil {
			return nil, err
		}
		p.progress(d.name, i, len(f.Candidates))
		h, err := p.hold(ctx, d, b)
		if err != nil {
			return nil, err
		}
		out.Candidates = append(out.Candidates, *h)
	}
	sort.SliceStable(out.Candidates, func(i, j int) bool { return out.Candidates[i].Low > out.Candidates[j].Low })
	if len(out.Candidates) == 0 || out.Candidates[0].Low == 0 {
		return out, turnedNoAnswer(out)
	}
	return out, nil
}

func turnedNoAnswer(t *Turned) error {
	e := &NoAnswer{Limited: true}
	for _, h := range t.Candidates {
		e.Reasons = append(e.Reasons, h.Name+": "+h.Reason)
	}
	return e
}

// hold sizes a candidate's fleet to the budget and finds the load it holds.
func (p *planner) hold(ctx context.Context, d *deployment, b Budget) (*Held, error) {
	c := d.describe(p)
	h := &Held{Name: d.name, Chip: d.chip.Name}
	if d.refusal != "" {
		h.Reason = d.refusal
		return h, nil
	}
	if err := p.findCapacity(ctx, d, c); err != nil {
		var none *capacity.ErrNoLoad
		if !errors.As(err, &none) {
			return nil, err
		}
		h.Reason = bestAchievable(p.limits, none)
		return h, nil
	}
	h.Binding = c.Capacity.Binding
	n, bound, err := p.within(d, c, b)
	if err != nil {
		return nil, err
	}
	h.Bound = bound
	if n == 0 {
		h.Reason = "not one replica with its spares fits: " + bound
		return h, nil
	}
	a, err := capacity.Find(ctx, p.fleetSearch(d, n, float64(n)*c.Capacity.Low))
	if err != nil {
		return nil, err
	}
	at := p.at(a.Low)
	at.fill(d, c, n, a.Below)
	if err := at.price(d, c); err != nil {
		return nil, err
	}
	h.RequestsPerSecond, h.Low, h.High = a.Mean, a.Low, a.High
	h.Replicas, h.SpareReplicas, h.Chips, h.Nodes = n, c.Fleet.SpareReplicas, c.Fleet.Chips, c.Fleet.Nodes
	h.FacilityKilowatts = c.Fleet.FacilityKilowatts
	if c.Cost != nil {
		h.TCO, h.PerM = c.Cost.TCO, c.Cost.PerMBoth
	}
	return h, nil
}

// fleetSearch asks for the load that n replicas hold together.
func (p *planner) fleetSearch(d *deployment, n int, start float64) capacity.Search {
	precision := p.file.Search.Precision
	if precision == 0 {
		precision = defaultPrecision
	}
	requests := p.requests(start)
	return capacity.Search{Start: start, Precision: precision, Replications: p.fleetReplications(),
		Probe: func(ctx context.Context, rate float64, r int) (*sim.Result, error) {
			src, err := p.traffic.source(rate, p.options.Seed, r, requests)
			if err != nil {
				return nil, err
			}
			return fleet.Run(ctx, p.fleetConfig(d, d.config, n, r), src)
		}}
}

// at is the planner with the traffic at another peak; the mean follows.
func (p *planner) at(peak float64) *planner {
	other, traffic := *p, *p.traffic
	traffic.meanQPS *= peak / traffic.peakQPS
	traffic.peakQPS = peak
	other.traffic = &traffic
	return &other
}

// fill counts a fleet of n serving replicas, with the power of a run at its load.
func (p *planner) fill(d *deployment, c *Candidate, n int, run *sim.Result) {
	c.Fleet = Fleet{Replicas: n, SpareReplicas: p.spares(d, n), Routing: string(p.routing())}
	if run != nil {
		c.Fleet.Peak = loadPoint(run, p.traffic.peakQPS, n)
		c.Fleet.PrefixHitRate, c.Fleet.PrefillShare = run.PrefixHitRate, run.PrefillShare
	}
	p.countChips(d, c)
}

// within is the largest number of serving replicas whose fleet, spares included, stays within the budget, and what stops one more.
func (p *planner) within(d *deployment, c *Candidate, b Budget) (n int, bound string, err error) {
	over := func(n int) (string, error) {
		try := *c
		at := p.at(float64(n) * c.Capacity.Low)
		at.fill(d, &try, n, nil)
		for _, point := range c.Capacity.Curve { // draw at the load one replica holds
			if point.RequestsPerSecond <= c.Capacity.Low*1.001 {
				try.Fleet.Peak.AcceleratorWatts = point.AcceleratorWatts
			}
		}
		switch {
		case b.Chips > 0 && try.Fleet.Chips > b.Chips:
			return fmt.Sprintf("%d chips", b.Chips), nil
		case b.Watts > 0 && try.Fleet.FacilityKilowatts*1000 > b.Watts:
			return fmt.Sprintf("%.4g kW", b.Watts/1000), nil
		}
		if b.USD > 0 {
			at.countChips(d, &try)
			if err := at.price(d, &try); err != nil {
				return "", err
			}
			if try.Cost == nil {
				return "", fmt.Errorf("%s: a budget needs a price: %s", d.name, strings.Join(try.Warnings, "; "))
			}
			if try.Cost.TCO > b.USD {
				return fmt.Sprintf("%s USD", grouped(math.Round(b.USD))), nil
			}
		}
		return "", nil
	}
	low, high := 0, 1
	for {
		if bound, err = over(high); err != nil {
			return 0, "", err
		}
		if bound != "" {
			break
		}
		if low, high = high, high*2; high > maxTurnedReplicas {
			return 0, "", fmt.Errorf("the budget holds more than %d replicas", maxTurnedReplicas)
		}
	}
	for high-low > 1 {
		middle := (low + high) / 2
		why, err := over(middle)
		if err != nil {
			return 0, "", err
		}
		if why == "" {
			low = middle
		} else {
			high, bound = middle, why
		}
	}
	return low, bound, nil
}
