package plan

import (
	"context"
	"math"

	"scoville/hardware"
	"scoville/model/cost"
	"scoville/model/workload"
	"scoville/sim"
	"scoville/sim/fleet"
)

// fleetConfig is a fleet of n replicas as the [fleet] section asks for.
func (p *planner) fleetConfig(d *deployment, cfg sim.Config, n, replication int) fleet.Config {
	f := p.file.Fleet
	out := fleet.Config{Replica: cfg, Replicas: n, Routing: p.routing(), Seed: p.options.Seed, Replication: replication, Shed: f.Shed}
	if f.RetryAttempts > 0 {
		out.Retry = &fleet.Retry{Attempts: f.RetryAttempts, BackoffSeconds: f.RetryBackoffSeconds, Jitter: 0.5}
		if f.RetryBackoffSeconds == 0 {
			out.Retry.BackoffSeconds = defaultBackoffSeconds
		}
	}
	if f.PrefillShare > 0 && n > 1 {
		k := prefillReplicas(f.PrefillShare, n)
		arch := d.model.arch
		out.Replicas = n - k
		out.Disaggregate = &fleet.Disaggregation{Prefill: cfg, Replicas: k, BytesPerToken: arch.KVBytesPerToken(d.model.precision.KV, 1),
			LinkBytesPerSecond: linkBetweenReplicas(d.chip, d.hw.Split.Chips())}
	}
	return out
}

const defaultBackoffSeconds = 1

// prefillReplicas is how many of n replicas only compute prompts: the share rounded, at least one and not all.
func prefillReplicas(share float64, n int) int {
	if n < 2 {
		return 0
	}
	return min(max(1, int(math.Round(share*float64(n)))), n-1)
}

// linkBetweenReplicas is the rate at which a replica sends KV cache to another: each chip its part, over the scale-up link where both
// replicas lie in its domain, else over the network, else over PCIe.
func linkBetweenReplicas(c hardware.Chip, chips int) float64 {
	each := c.Node.NICBytesPerSecond.Value
	if 2*chips <= c.Link.ScaleUpDomain && c.Link.ScaleUpBytesPerSecond.Value > 0 {
		each = c.Link.ScaleUpBytesPerSecond.Value
	}
	if each == 0 {
		each = c.Link.PCIeBytesPerSecond.Value
	}
	if each == 0 {
		each = assumedLink
	}
	return each * float64(chips)
}

// assumedLink is 100 Gbit/s, where a profile tells no link.
const assumedLink = 12.5e9

// confirm sets the availability of a fleet with spares, by formula and by simulating its failures.
func (p *planner) confirm(ctx context.Context, d *deployment, c *Candidate) error {
	f := p.file.Fleet
	if f.Availability == 0 {
		return nil
	}
	rate, repair := orDefaultFloat(f.FailuresPerChipYear, defaultFailuresPerChipYear), orDefaultFloat(f.RepairHours, defaultRepairHours)
	chips := float64(d.hw.Split.Chips())
	c.Fleet.Availability = cost.AtLeastUp(c.Fleet.Replicas, c.Fleet.SpareReplicas, cost.NodeAvailability(rate, chips, repair))
	years := orDefaultFloat(f.ConfirmYears, defaultConfirmYears)
	if years < 0 {
		return nil
	}
	cfg := fleet.Config{Replica: d.config, Replicas: c.Fleet.Replicas + c.Fleet.SpareReplicas, Seed: p.options.Seed, Need: c.Fleet.Replicas,
		Failures: []fleet.FailureLevel{{Replicas: 1, MTBFSeconds: hoursPerYear / (rate * chips) * 3600, MTTRSeconds: repair * 3600}}}
	_, report, err := fleet.RunReport(ctx, cfg, &trickle{left: int64(years * hoursPerYear)})
	if err != nil {
		return err
	}
	c.Fleet.AvailabilitySeen = report.EnoughShare
	return nil
}

const (
	hoursPerYear        = 8766
	defaultConfirmYears = 20
)

func orDefaultFloat(v, otherwise float64) float64 {
	if v == 0 {
		return otherwise
	}
	return v
}

// trickle is a short request an hour: it keeps the clock of a fleet running whose failures are all that matters.
type trickle struct{ left, at int64 }

func (t *trickle) Next(r *workload.Request) bool {
	if t.left == 0 {
		return false
	}
	t.left--
	t.at += 3600e9
	*r = workload.Request{ID: t.at, ArrivalNanoseconds: t.at, InputTokens: 16, OutputTokens: 1}
	return true
}

func (t *trickle) Err() error { return nil }
