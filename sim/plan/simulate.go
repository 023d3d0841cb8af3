package plan

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"scoville/model/tomlfile"
	"scoville/sim"
	"scoville/sim/capacity"
)

// SimulateOptions choose what Simulate runs.
type SimulateOptions struct {
	Seed              uint64
	Candidate         string // number from 0, or name
	Replicas          int
	RequestsPerSecond float64 // 0: the plan's peak
	KeepRequests      bool
}

// Simulation is a fleet under a load: the same runs that a plan sizes its fleet with.
type Simulation struct {
	Candidate         string        `json:"candidate"`
	Replicas          int           `json:"replicas"`
	Chips             int           `json:"chips"`
	RequestsPerSecond float64       `json:"requests_per_second"`
	Met               bool          `json:"met"` // on every replication
	Why               string        `json:"why,omitempty"`
	Runs              []*sim.Result `json:"runs"` // one a replication
}

// Simulate runs one candidate's fleet at a size and a rate.
func Simulate(ctx context.Context, f *File, o SimulateOptions) (*Simulation, error) {
	p := &planner{file: f, options: Options{Seed: o.Seed}}
	if err := p.resolve(); err != nil {
		return nil, err
	}
	if o.Replicas < 1 {
		return nil, fmt.Errorf("replicas is %d; at least 1 is needed", o.Replicas)
	}
	if o.RequestsPerSecond < 0 {
		return nil, fmt.Errorf("rate is %g; a positive number is expected", o.RequestsPerSecond)
	}
	d, err := p.pick(o.Candidate)
	if err != nil {
		return nil, err
	}
	if d.refusal != "" {
		return nil, fmt.Errorf("%s: %s", d.name, d.refusal)
	}
	if o.RequestsPerSecond > 0 {
		p.traffic.peakQPS = o.RequestsPerSecond
	}
	d.config.Options.KeepRequests = o.KeepRequests
	out := &Simulation{Candidate: d.name, Replicas: o.Replicas, Chips: o.Replicas * d.hw.Split.Chips(), RequestsPerSecond: p.traffic.peakQPS, Met: true}
	for r := range p.fleetReplications() {
		run, err := p.fleetOnce(ctx, d, o.Replicas, r)
		if err != nil {
			return nil, err
		}
		out.Runs = append(out.Runs, run)
		if out.Met && !capacity.Passes(run) {
			out.Met, out.Why = false, strings.Join(append([]string{string(run.Verdict)}, run.Violations...), "; ")
		}
	}
	return out, nil
}

// pick resolves one candidate by number or name.
func (p *planner) pick(which string) (*deployment, error) {
	if i, err := strconv.Atoi(which); err == nil {
		if i < 0 || i >= len(p.file.Candidates) {
			return nil, fmt.Errorf("candidate %d is not between 0 and %d", i, len(p.file.Candidates)-1)
		}
		return p.deploy(i)
	}
	var names []string
	for i := range p.file.Candidates {
		d, err := p.deploy(i)
		if err != nil {
			return nil, err
		}
		if d.name == which || d.chip.Name == which {
			return d, nil
		}
		names = append(names, d.name)
	}
	if near := tomlfile.Nearest(which, names); near != "" {
		return nil, fmt.Errorf("no candidate %q (did you mean %q?)", which, near)
	}
	return nil, fmt.Errorf("no candidate %q; the candidates are %s", which, strings.Join(names, ", "))
}
