package breakeven

import (
	"fmt"
	"math"

	"scoville/model/cost"
)

// Analytic prices a chip without a simulation, by the roofline of steady continuous batching. It knows no queues and
// takes every step at the mean context, so it is optimistic; a simulation belongs in its place where there is one.
//
//	step(B)  = overhead + max((weights + B context kv)/(n bandwidth eb), 2 B active/(n FLOPS ef))
//	B        = the most sequences that memory holds and whose step keeps within the TPOT limit
//	request  = 2 active input/(n FLOPS ef) + output step(B)/B        seconds of one replica of n chips
type Analytic struct {
	WeightBytes      float64 // resident, read by a step (mixture of experts: at large batch nearly all are)
	ActiveParameters float64 // a token's FLOPs are twice this
	KVBytesPerToken  float64
	InputTokens      float64 // mean per request
	OutputTokens     float64
	TPOTSeconds      float64 // limit on a step; 0: none
	ChipsPerReplica  int

	BandwidthEfficiency float64 // achieved over peak, for example 0.8
	ComputeEfficiency   float64
	StepOverheadSeconds float64 // host and dispatch
	MemoryShare         float64 // of memory for weights and KV, for example 0.9
	IdleShare           float64 // of Spec.Watts drawn when idle

	Utilisation       float64 // mean load over capacity
	RequestsPerSecond float64 // mean; sets the size of the fleet
	SpareShare        float64 // spares over serving chips
	ChipsPerNode      int
	NodeOverheadWatts float64
	Assumptions       cost.Assumptions
}

// Replica is what one replica of the chip does.
type Replica struct {
	Batch             float64
	StepSeconds       float64
	RequestsPerSecond float64 // at saturation
	PrefillShare      float64 // of its time
}

// Serve works out one replica; the error says what does not fit.
func (m Analytic) Serve(s Spec) (Replica, error) {
	n := float64(max(1, m.ChipsPerReplica))
	bandwidth, compute := n*s.BytesPerSecond*m.BandwidthEfficiency, n*s.FLOPS*m.ComputeEfficiency
	context := m.InputTokens + m.OutputTokens/2
	kv := context * m.KVBytesPerToken
	room := n*s.MemoryBytes*m.MemoryShare - m.WeightBytes
	if room < (m.InputTokens+m.OutputTokens)*m.KVBytesPerToken {
		return Replica{}, fmt.Errorf("%.0f GB of weights and one request do not fit %.0f GB", m.WeightBytes/1e9, n*s.MemoryBytes*m.MemoryShare/1e9)
	}
	step := func(b float64) float64 {
		return m.StepOverheadSeconds + math.Max((m.WeightBytes+b*kv)/bandwidth, 2*b*m.ActiveParameters/compute)
	}
	batch := room / math.Max(kv, 1)
	if m.TPOTSeconds > 0 {
		if step(1) > m.TPOTSeconds {
			return Replica{}, fmt.Errorf("one sequence takes %.1f ms a token, the limit is %.1f ms", 1000*step(1), 1000*m.TPOTSeconds)
		}
		left := m.TPOTSeconds - m.StepOverheadSeconds
		batch = math.Min(batch, math.Min((left*bandwidth-m.WeightBytes)/math.Max(kv, 1), left*compute/(2*m.ActiveParameters)))
	}
	batch = math.Max(1, batch)
	prefill := 2 * m.ActiveParameters * m.InputTokens / compute
	seconds := prefill + m.OutputTokens*step(batch)/batch
	return Replica{batch, step(batch), 1 / seconds, prefill / seconds}, nil
}

// Input is the fleet for the traffic, in fractional chips rounded up to whole replicas.
func (m Analytic) Input(s Spec) (cost.Input, error) {
	r, err := m.Serve(s)
	if err != nil {
		return cost.Input{}, err
	}
	replica := max(1, m.ChipsPerReplica)
	replicas := math.Ceil(m.RequestsPerSecond/(r.RequestsPerSecond*m.Utilisation) - 1e-9)
	if !(replicas >= 1) || replicas > 1e7 {
		return cost.Input{}, fmt.Errorf("%g requests/s at %.0f %% utilisation need %g replicas", m.RequestsPerSecond, 100*m.Utilisation, replicas)
	}
	serving := int(replicas) * replica
	spares := int(math.Ceil(float64(serving)*m.SpareShare - 1e-9))
	load := func(rps float64) cost.Load {
		return cost.Load{RequestsPerSecond: rps, InputTokensPerSecond: rps * m.InputTokens, OutputTokensPerSecond: rps * m.OutputTokens}
	}
	return cost.Input{
		Chips: serving + spares, SpareChips: spares, ChipsPerNode: m.ChipsPerNode,
		Power:             []cost.PowerPoint{{LoadShare: 0, WattsPerChip: m.IdleShare * s.Watts}, {LoadShare: 1, WattsPerChip: s.Watts}},
		NodeOverheadWatts: m.NodeOverheadWatts,
		Mean:              load(m.RequestsPerSecond), Full: load(replicas * r.RequestsPerSecond), PrefillShare: r.PrefillShare,
	}, nil
}

// PerMillion is an Evaluator.
func (m Analytic) PerMillion(s Spec) (float64, error) {
	in, err := m.Input(s)
	if err != nil {
		return 0, err
	}
	a := m.Assumptions.Clone()
	if a.Ownership == cost.Rent {
		a.Renting = []cost.Lease{{Tier: "on-demand", USDPerChipHour: cost.Given(s.PriceUSD)}}
	} else {
		a.Buying.Accelerator.Price = cost.Given(s.PriceUSD)
	}
	d := Deployment{Name: "chip", Input: in, Assumptions: a}
	if err := d.Check(); err != nil {
		return 0, err
	}
	return d.PerMillion(), nil
}
