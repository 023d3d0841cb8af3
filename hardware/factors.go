package hardware

import (
	"fmt"
	"math"

	"scoville/model/fact"
	"scoville/model/llm"
)

// Factors is what a calibration changes of a deployment's step times, in terms of their physical parts. Every multiplier
// lengthens its part: 1 leaves it, 2 makes it take twice as long. A zero multiplier counts as 1. The datasheet's roofline stays
// a lower bound of every kernel, whatever the factors.
type Factors struct {
	HostStep         float64 `toml:"host_step" json:"host_step"`                 // fixed host time of a step: HostOverhead.StepSeconds and LayerSeconds
	HostSequence     float64 `toml:"host_sequence" json:"host_sequence"`         // host time for each sequence: SequenceSeconds and FrontendTokenSeconds
	HostPrefill      float64 `toml:"host_prefill" json:"host_prefill"`           // launches outside CUDA graphs and for each prompt: EagerLayerSeconds, PrefillRequestSeconds
	HostTTFT         float64 `toml:"host_ttft" json:"host_ttft"`                 // outside the steps, before the first token: TTFTSeconds
	Compute          float64 `toml:"compute" json:"compute"`                     // matrix products bound by arithmetic
	Bandwidth        float64 `toml:"bandwidth" json:"bandwidth"`                 // matrix products and small kernels bound by memory
	PrefillAttention float64 `toml:"prefill_attention" json:"prefill_attention"` // attention of prompts
	DecodeAttention  float64 `toml:"decode_attention" json:"decode_attention"`   // attention over the cache while decoding
	Collective       float64 `toml:"collective" json:"collective"`               // all-reduce and all-to-all between chips
	Watts            float64 `toml:"watts" json:"watts"`                         // draw beyond idle
	// MixedStep is what a step that decodes and prefills at once takes on top, in decode steps of one sequence: an engine that runs it as
	// two batches reads the weights twice. 0: nothing.
	MixedStep float64 `toml:"mixed_step" json:"mixed_step"`
}

// Normal replaces zero multipliers by 1.
func (f Factors) Normal() Factors {
	for _, p := range f.multipliers() {
		if *p.value == 0 {
			*p.value = 1
		}
	}
	return f
}

type namedMultiplier struct {
	name  string
	value *float64
}

func (f *Factors) multipliers() []namedMultiplier {
	return []namedMultiplier{
		{"host_step", &f.HostStep}, {"host_sequence", &f.HostSequence}, {"host_prefill", &f.HostPrefill}, {"host_ttft", &f.HostTTFT},
		{"compute", &f.Compute}, {"bandwidth", &f.Bandwidth}, {"prefill_attention", &f.PrefillAttention},
		{"decode_attention", &f.DecodeAttention}, {"collective", &f.Collective}, {"watts", &f.Watts},
	}
}

// Check refuses factors that aren't positive and finite.
func (f Factors) Check() error {
	for _, p := range f.multipliers() {
		if v := *p.value; !(v >= 0) || v > 1e6 {
			return fmt.Errorf("factors.%s is %g; a positive multiplier is expected", p.name, v)
		}
	}
	if v := f.MixedStep; !(v >= 0) || v > 1000 {
		return fmt.Errorf("factors.mixed_step is %g; 0 to 1000 decode steps are expected", v)
	}
	return nil
}

// Adjusted is the deployment with a calibration's factors on it. Factors on top of factors multiply.
func (d Deployment) Adjusted(f Factors) Deployment {
	f = f.Normal()
	h := &d.Engine.Host
	h.StepSeconds.Value *= f.HostStep
	h.LayerSeconds.Value *= f.HostStep
	h.SequenceSeconds.Value *= f.HostSequence
	h.FrontendTokenSeconds.Value *= f.HostSequence
	h.EagerLayerSeconds.Value *= f.HostPrefill
	h.PrefillRequestSeconds.Value *= f.HostPrefill
	h.TTFTSeconds.Value *= f.HostTTFT
	old := d.factors.Normal()
	f.Compute *= old.Compute
	f.Bandwidth *= old.Bandwidth
	f.PrefillAttention *= old.PrefillAttention
	f.DecodeAttention *= old.DecodeAttention
	f.Collective *= old.Collective
	if f.Watts != 1 {
		d.Chip.Power = d.Chip.scaledPower(f.Watts)
	}
	f.Watts *= old.Watts
	f.MixedStep += old.MixedStep
	d.factors = f
	return d
}

// scaledPower multiplies what the chip draws beyond idle.
func (c Chip) scaledPower(by float64) Power {
	p, out := newPowerModel(c, 0), c.Power
	scaled := func(v float64) fact.Fact {
		return fact.Fact{Value: v * by, Kind: fact.Estimate, Source: "calibration", Date: "-"}
	}
	out.ActiveWatts, out.JoulesPerFLOP, out.JoulesPerByte = scaled(p.active), scaled(p.perFLOP), scaled(p.perByte)
	return out
}

// blend is the factor of a kernel that its arithmetic bounds to some seconds and its memory traffic to others: by how much the
// larger of the two grows when each is factored. The larger is taken smoothly, as the 4-norm.
func (f Factors) blend(compute, memory float64) float64 {
	if f.Compute == f.Bandwidth || compute+memory <= 0 {
		return f.Bandwidth
	}
	return norm4(f.Compute*compute, f.Bandwidth*memory) / norm4(compute, memory)
}

func norm4(a, b float64) float64 {
	a, b = a*a, b*b
	return math.Sqrt(math.Sqrt(a*a + b*b))
}

// scaled is a kernel's time with a factor on what it does beyond its launch floor. The floor itself isn't lengthened: on hardware a
// hundred times slower a launch still takes microseconds.
func (k kernels) scaled(floor, beyond, factor float64) float64 {
	return floor*k.launch*math.Min(1, factor) + beyond*factor
}

// dense is the factor of a matrix product.
func (k kernels) dense(flops, bytes float64, d llm.DType) float64 {
	return k.factors.blend(flops/k.chip.Peak.Rate(computeFormat(d)), bytes/k.bandwidth)
}

// finish is the step model with what factors add outside the kernels.
func (f Factors) finish(m StepModel) StepModel {
	if f.MixedStep == 0 {
		return m
	}
	return twoBatches{m, f.MixedStep * m.Decode(1).Base.Seconds}
}

// twoBatches adds to steps that decode and prefill at once what running them as two batches takes.
type twoBatches struct {
	StepModel
	seconds float64
}

func (t twoBatches) Step(b Batch) Work {
	w := t.StepModel.Step(b)
	if b.DecodeSequences > 0 && b.PrefillTokens > 0 {
		w.Seconds += t.seconds
		w.Joules += t.seconds * t.IdleWatts()
	}
	return w
}
