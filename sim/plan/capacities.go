package plan

import (
	"context"
	"errors"

	"scoville/sim/capacity"
)

// CapacitiesSchema names the layout of Capacities.
const CapacitiesSchema = "scoville.capacity/1"

// Capacities is the load that one replica of each candidate holds, without fleet and cost.
type Capacities struct {
	Schema      string         `json:"schema"`
	Version     string         `json:"version"`
	Command     string         `json:"command"`
	Seed        uint64         `json:"seed"`
	SLA         []Limit        `json:"sla"`
	Candidates  []HeldCapacity `json:"candidates"` // in the order of the plan
	Assumptions []Assumption   `json:"assumptions"`
	Warnings    []string       `json:"warnings,omitempty"`
}

// HeldCapacity is one candidate's.
type HeldCapacity struct {
	Name            string   `json:"name"`
	Chip            string   `json:"chip"`
	ChipsPerReplica int      `json:"chips_per_replica"`
	Memory          Memory   `json:"memory"`
	Capacity        Capacity `json:"capacity"`
	Reason          string   `json:"reason,omitempty"` // why it holds no load
}

// FindCapacities answers the middle of a plan: capacity, interval, curve and what binds, for each candidate.
func FindCapacities(ctx context.Context, f *File, o Options) (*Capacities, error) {
	p := &planner{file: f, options: o}
	if err := p.resolve(); err != nil {
		return nil, err
	}
	h := p.header()
	out := &Capacities{Schema: CapacitiesSchema, Version: o.Version, Command: o.Command, Seed: o.Seed, SLA: h.SLA, Assumptions: h.Assumptions, Warnings: h.Warnings}
	none := &NoAnswer{}
	for i := range f.Candidates {
		d, err := p.deploy(i)
		if err != nil {
			return nil, err
		}
		p.progress(d.name, i, len(f.Candidates))
		c := d.describe(p)
		if c.Reason = d.refusal; d.refusal == "" {
			var noLoad *capacity.ErrNoLoad
			if err := p.findCapacity(ctx, d, c); errors.As(err, &noLoad) {
				c.Reason = bestAchievable(p.limits, noLoad)
			} else if err != nil {
				return nil, err
			}
		}
		if c.Reason != "" {
			none.Reasons = append(none.Reasons, c.Name+": "+c.Reason)
		}
		out.Candidates = append(out.Candidates, HeldCapacity{Name: c.Name, Chip: c.Chip, ChipsPerReplica: c.ChipsPerReplica, Memory: c.Memory, Capacity: c.Capacity, Reason: c.Reason})
	}
	if len(none.Reasons) == len(out.Candidates) {
		return out, none
	}
	return out, nil
}
