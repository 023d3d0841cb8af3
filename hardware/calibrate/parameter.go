package calibrate

import (
	"math"

	"scoville/hardware"
	"scoville/model/fact"
)

// Parameter is one factor of the fit.
type Parameter struct {
	Name    string
	Unit    string // "x": a multiplier of the shipped value; "s": seconds
	Meaning string
	Prior   float64 // the shipped value
	Spread  float64 // standard deviation of the logarithm that the prior allows
	Bound   float64 // the logarithm stays within so much of the prior's
	field   func(*hardware.Factors) *float64
}

// value is the factor at u, see the package comment.
func (p *Parameter) value(u float64) float64 { return p.Prior * math.Exp(p.Bound*math.Tanh(u/p.Bound)) }

// Parameters are the factors that a deployment has. How far each may go depends on what its profile rests on: curves measured on
// the chip itself are trusted within tens of percent, a chip of the user's own making, or one that nobody vouches for, hardly at all.
func Parameters(d hardware.Deployment) []Parameter {
	kernel, host, bound := 0.2, 0.5, math.Log(5)
	switch {
	case Hypothetical(d.Chip):
		kernel, host, bound = 2.5, 2.5, math.Log(1000)
	case len(d.Chip.Curves.Gemm) == 0 || d.Chip.Curves.Chip != d.Chip.Name:
		kernel = 0.4
	}
	wide := math.Max(bound, math.Log(20))
	out := []Parameter{
		{"host_step", "x", "fixed host time of a step", 1, host, wide, func(f *hardware.Factors) *float64 { return &f.HostStep }},
		{"host_sequence", "x", "host time for each sequence in a step", 1, host, wide, func(f *hardware.Factors) *float64 { return &f.HostSequence }},
		{"host_prefill", "x", "launches of steps with prompts", 1, host, wide, func(f *hardware.Factors) *float64 { return &f.HostPrefill }},
		{"host_ttft", "x", "time outside the steps before the first token", 1, math.Max(host, 1), wide, func(f *hardware.Factors) *float64 { return &f.HostTTFT }},
		{"compute", "x", "matrix products bound by arithmetic", 1, kernel, bound, func(f *hardware.Factors) *float64 { return &f.Compute }},
		{"bandwidth", "x", "matrix products and small kernels bound by memory", 1, kernel, bound, func(f *hardware.Factors) *float64 { return &f.Bandwidth }},
		{"prefill_attention", "x", "attention of prompts", 1, 1.5 * kernel, bound, func(f *hardware.Factors) *float64 { return &f.PrefillAttention }},
		{"decode_attention", "x", "attention over the cache while decoding", 1, 1.5 * kernel, bound, func(f *hardware.Factors) *float64 { return &f.DecodeAttention }},
	}
	s := d.Split.Normal()
	if s.Tensor*s.Data > 1 || s.Expert > 1 {
		out = append(out, Parameter{"collective", "x", "all-reduce and all-to-all", 1, math.Max(0.4, kernel), bound, func(f *hardware.Factors) *float64 { return &f.Collective }})
	}
	if d.Engine.Name == "llama.cpp" {
		// Its micro-batches hold tokens of one kind: a mixed step is two of them, and reads the weights twice.
		out = append(out, Parameter{"mixed_step", "x", "a step that decodes and prefills at once, in lone decode steps on top", 1, 0.7, math.Log(20), func(f *hardware.Factors) *float64 { return &f.MixedStep }})
	}
	return out
}

// Hypothetical reports whether nobody vouches for the figures that decide a chip's speed, so that only records can tell them.
func Hypothetical(c hardware.Chip) bool {
	return c.Peak.BF16.Kind == fact.Hypothetical || c.Memory.BytesPerSecond.Kind == fact.Hypothetical
}

func factorsAt(parameters []Parameter, u []float64) hardware.Factors {
	f := hardware.Factors{}.Normal()
	for i := range parameters {
		*parameters[i].field(&f) = parameters[i].value(u[i])
	}
	return f
}
