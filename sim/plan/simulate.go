package plan

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"scoville/model/tomlfile"
	"scoville/model/workload"
	"scoville/sim"
	"scoville/sim/capacity"
)

// SimulateOptions choose what Simulate runs.
type SimulateOptions struct {
	Seed              uint64
	Candidate         string // number from 0, or name
	Replicas          int
	RequestsPerSecond float64 // 0: the plan's peak
	Concurrency       int     // instead of a rate: so many clients in a closed loop over the whole fleet, as benchmarks do
	KeepRequests      bool
}

// Simulation is a fleet under a load: the same runs that a plan sizes its fleet with.
type Simulation struct {
	Candidate         string        `json:"candidate"`
	Replicas          int           `json:"replicas"`
	Chips             int           `json:"chips"`
	RequestsPerSecond float64       `json:"requests_per_second"` // offered; of a closed loop, what came about
	CeilingPerSecond  float64       `json:"ceiling_per_second"`  // no schedule lets this fleet exceed this rate
	Declared          bool          `json:"declared_unstable"`   // the rate is above the ceiling: known before any run
	Concurrency       *Concurrency  `json:"concurrency,omitempty"`
	Met               bool          `json:"met"` // on every replication
	Why               string        `json:"why,omitempty"`
	Runs              []*sim.Result `json:"runs"` // one a replication
}

// Concurrency sets what a closed loop asks for against what the KV cache and the scheduler admit. By Little's law the requests in flight are
// throughput x time in system, so a benchmark that claims more running requests than Admitted is wrong.
type Concurrency struct {
	Asked     int     `json:"asked"`
	Admitted  float64 `json:"admitted"` // requests of mean length that all replicas together hold at once
	Running   float64 `json:"running"`  // mean, as simulated
	Waiting   float64 `json:"waiting"`
	Reachable bool    `json:"reachable"`
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
	out.CeilingPerSecond = float64(o.Replicas) * d.ceilingQPS(p.traffic)
	if o.Concurrency > 0 {
		if err := p.closeLoop(o.Concurrency); err != nil {
			return nil, err
		}
		admitted := float64(o.Replicas * d.fullBatch(p.traffic.summary.MeanInput+p.traffic.summary.MeanOutput))
		out.Concurrency = &Concurrency{Asked: o.Concurrency, Admitted: admitted, Reachable: float64(o.Concurrency) <= admitted}
	} else if p.traffic.peakQPS > out.CeilingPerSecond {
		out.Declared = true
	}
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
	out.conclude()
	return out, nil
}

// conclude says what the closed loop came to, and what was known beforehand.
func (s *Simulation) conclude() {
	if c := s.Concurrency; c != nil {
		c.Running, c.Waiting = s.Runs[0].MeanRunning, s.Runs[0].MeanWaiting
		s.RequestsPerSecond = s.Runs[0].RequestsPerSecond
		if !c.Reachable {
			s.Met = false
			s.Why = fmt.Sprintf("a concurrency of %d is unreachable: the replicas admit %.0f requests of mean length at once; %.1f run on average", c.Asked, c.Admitted, c.Running)
		}
	}
	if s.Declared {
		s.Met = false
		s.Why = fmt.Sprintf("unstable whatever the schedule: %.4g requests/s are offered, the replicas can't do more than %.4g", s.RequestsPerSecond, s.CeilingPerSecond)
	}
}

// closeLoop turns the traffic into a closed loop of clients.
func (p *planner) closeLoop(clients int) error {
	w := *p.traffic.workload
	if w.Trace != nil || w.Sessions != nil {
		return fmt.Errorf("a concurrency needs drawn traffic without sessions; %s has its own arrivals", p.file.workloadName())
	}
	w.Arrivals = workload.Arrivals{Process: "closed-loop", ClosedLoop: &workload.ClosedLoop{Concurrency: clients, InitialBurst: true}}
	if err := w.Validate(); err != nil {
		return err
	}
	p.traffic.workload, p.traffic.peakQPS = &w, 0
	return nil
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
