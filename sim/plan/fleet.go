package plan

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"golang.org/x/sync/errgroup"
	"scoville/model/cost"
	"scoville/model/sla"
	"scoville/sim"
	"scoville/sim/capacity"
	"scoville/sim/fleet"
)

// sizeFleet finds the smallest fleet whose simulation at the peak passes, adds spares and rounds up to whole nodes.
func (p *planner) sizeFleet(ctx context.Context, d *deployment, c *Candidate) error {
	limit := orDefault(p.file.Fleet.MaxReplicas, defaultMaxReplicas)
	if !(c.Capacity.Low > 0) {
		c.Limited = true
		c.Reason = fmt.Sprintf("one replica holds %.4g requests/s give or take %.4g: %d replications are too few to plan on; raise search.replications or search.requests",
			c.Capacity.RequestsPerSecond, c.Capacity.High-c.Capacity.RequestsPerSecond, c.Capacity.Replications)
		return nil
	}
	guess := int(math.Ceil(p.traffic.peakQPS / c.Capacity.Low))
	if guess > limit {
		c.Limited = true
		c.Reason = fmt.Sprintf("about %d replicas are needed, above max_replicas = %d", guess, limit)
		return nil
	}
	sized, err := capacity.Size(ctx, func(ctx context.Context, n int) (*sim.Result, error) { return p.fleetRun(ctx, d, n) }, guess, limit)
	if err != nil {
		return err
	}
	peak := loadPoint(sized.At, p.traffic.peakQPS, sized.Replicas)
	c.Fleet = Fleet{
		Replicas: sized.Replicas, SpareReplicas: p.spares(d, sized.Replicas),
		ReplicasBySaturation: capacity.Replicas(p.traffic.peakQPS, c.Capacity.SaturationPerSecond), ReplicasByMemory: 1, ChipsByMemory: d.minimumChips(),
		ReplicasByKnee: capacity.Replicas(p.traffic.peakQPS, c.Capacity.Low),
		Peak:           peak, PrefixHitRate: sized.At.PrefixHitRate, PrefillShare: sized.At.PrefillShare, Routing: string(p.routing()), Timelines: sized.At.Timelines,
	}
	if sized.OneFewer != nil {
		fewer := loadPoint(sized.OneFewer, p.traffic.peakQPS, sized.Replicas-1)
		c.Fleet.OneFewer = &fewer
	}
	c.Fleet.TTFTQuantiles, c.Fleet.TPOTQuantiles = quantiles(sized.At, sla.TTFT), quantiles(sized.At, sla.TPOT)
	p.countChips(d, c)
	if p.file.Fleet.PrefillShare > 0 {
		c.Fleet.PrefillReplicas = prefillReplicas(p.file.Fleet.PrefillShare, sized.Replicas)
	}
	return p.confirm(ctx, d, c)
}

func (p *planner) routing() fleet.Routing {
	if r := p.file.Fleet.Routing; r != "" {
		return fleet.Routing(r)
	}
	return fleet.LeastOutstanding
}

// fleetRun simulates n replicas at the peak, over several replications of drawn traffic or the one of a trace. The run
// returned is the first that fails, or the first replication when all pass: a fleet must pass on each.
func (p *planner) fleetRun(ctx context.Context, d *deployment, n int) (*sim.Result, error) {
	runs := make([]*sim.Result, p.fleetReplications())
	g, gctx := errgroup.WithContext(ctx)
	for r := range runs {
		g.Go(func() (err error) {
			runs[r], err = p.fleetOnce(gctx, d, n, r)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, r := range runs {
		if !capacity.Passes(r) {
			return r, nil
		}
	}
	return runs[0], nil
}

// fleetReplications is how often a fleet's run is repeated with other draws; a trace has one realisation.
func (p *planner) fleetReplications() int {
	if p.traffic.isTrace {
		return 1
	}
	return fleetReplications
}

func (p *planner) fleetOnce(ctx context.Context, d *deployment, n, replication int) (*sim.Result, error) {
	src, err := p.traffic.source(p.traffic.peakQPS, p.options.Seed, replication, p.requests(p.traffic.peakQPS))
	if err != nil {
		return nil, err
	}
	cfg := d.config
	if replication == 0 {
		cfg.Options.TimelinePoints = timelinePoints
	}
	return fleet.Run(ctx, p.fleetConfig(d, cfg, n, replication), src)
}

const timelinePoints = 240

// Default failure figures of a fleet that asks for availability; docs/plan-file.md gives their sources.
const (
	defaultFailuresPerChipYear = 0.17 // Llama 3 training, 419 unplanned interruptions of 16,384 H100 in 54 days
	defaultRepairHours         = 72   // physical replacement in 3 to 5 days at the Delta system
	maxSpares                  = 1000
)

// spares is how many replicas stand by: as given, or as few as keep enough up with the probability asked for.
func (p *planner) spares(d *deployment, need int) int {
	f := p.file.Fleet
	if f.Availability == 0 {
		return f.Spares
	}
	rate, repair := f.FailuresPerChipYear, f.RepairHours
	if rate == 0 {
		rate = defaultFailuresPerChipYear
	}
	if repair == 0 {
		repair = defaultRepairHours
	}
	up := cost.NodeAvailability(rate, float64(d.hw.Split.Chips()), repair)
	k := 0
	for k < maxSpares && cost.AtLeastUp(need, k, up) < f.Availability {
		k++
	}
	return k
}

// countChips turns replicas into chips, nodes and kilowatts. Nodes are bought whole when a replica shares them evenly.
func (p *planner) countChips(d *deployment, c *Candidate) {
	f := &c.Fleet
	perNode := max(1, d.chip.Node.Chips)
	f.Chips = (f.Replicas + f.SpareReplicas) * c.ChipsPerReplica
	f.Nodes = (f.Chips + perNode - 1) / perNode
	if p.file.Fleet.WholeNodes {
		f.Chips = f.Nodes * perNode
	}
	overhead := d.chip.Node.OverheadWatts.Value * float64(f.Nodes)
	idle := d.steps.IdleWatts() / float64(c.ChipsPerReplica)
	spareWatts := float64(f.Chips-f.Replicas*c.ChipsPerReplica) * idle
	serving := f.Peak.AcceleratorWatts * float64(f.Replicas)
	f.PeakKilowatts = (serving*(1+d.chip.Node.OverheadPerWatt.Value) + overhead + spareWatts) / 1000
	share := 1.0
	if p.traffic.peakQPS > 0 {
		share = p.traffic.meanQPS / p.traffic.peakQPS
	}
	idleServing := idle * float64(f.Replicas*c.ChipsPerReplica)
	f.MeanKilowatts = ((idleServing+(serving-idleServing)*share)*(1+d.chip.Node.OverheadPerWatt.Value) + overhead + spareWatts) / 1000
	limit := d.chip.Power.LimitWatts.Value * float64(f.Chips)
	f.FacilityKilowatts = (limit + overhead) / 1000 * p.file.Cost.Running.PUE.Value
	if rack := p.file.Fleet.RackKilowatts; rack > 0 {
		f.Racks = int(math.Ceil((limit + overhead) / 1000 / rack))
	}
}

// quantiles samples a distribution function at fixed shares, denser in the tail; nil where there is none.
func quantiles(r *sim.Result, m sla.Metric) []Quantile {
	var out []Quantile
	for _, share := range []float64{0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999} {
		v, ok := r.Quantile(m, share)
		if !ok {
			return nil
		}
		out = append(out, Quantile{share, v})
	}
	return out
}

// runAll runs one replica at several rates at once, first replication.
func (p *planner) runAll(ctx context.Context, d *deployment, rates []float64) ([]*sim.Result, error) {
	out := make([]*sim.Result, len(rates))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, rate := range rates {
		g.Go(func() (err error) {
			out[i], err = p.one(gctx, d, rate, 0)
			return err
		})
	}
	return out, g.Wait()
}
