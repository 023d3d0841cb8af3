package validate

import "scoville/hardware"

// factorCount is the number of factors, in the order host, dense, attention, prefill, first.
const factorCount = 5

// Factors correct a set-up's step times by what physics leaves open. The zero value corrects nothing.
type Factors struct {
	Host      float64 // added to every step, as a share of the decode step of one sequence
	Dense     float64 // logarithm of a factor on what a decode step takes beside the cache
	Attention float64 // logarithm of a factor on reading the cache
	Prefill   float64 // logarithm of a factor on steps with prefill, cache apart
	First     float64 // added to the time to first token, as a share of a lone first step
}

func (f Factors) values() [factorCount]float64 {
	return [factorCount]float64{f.Host, f.Dense, f.Attention, f.Prefill, f.First}
}

// bounded makes factors of values within their bounds: a host share of -0.5 to 5, factors of a fifth to 5, and a share of 30 at most.
func bounded(v [factorCount]float64) Factors {
	clip := func(x, lo, hi float64) float64 { return max(lo, min(hi, x)) }
	const log5 = 1.6094379124341003
	return Factors{clip(v[0], -0.5, 5), clip(v[1], -log5, log5), clip(v[2], -log5, log5), clip(v[3], -log5, log5), clip(v[4], -0.9, 30)}
}

// tuned is a step model with factors.
type tuned struct {
	hardware.StepModel
	host                      float64 // seconds
	dense, attention, prefill float64
}

func tune(m hardware.StepModel, f Factors) hardware.StepModel {
	if f == (Factors{}) {
		return m
	}
	return &tuned{m, f.Host * m.Decode(1).Base.Seconds, exp(f.Dense), exp(f.Attention), exp(f.Prefill)}
}

// Decode stretches the parts of a decode step. Energy and work stay: only times are calibrated.
func (t *tuned) Decode(sequences int) hardware.DecodeWork {
	w := t.StepModel.Decode(sequences)
	w.Base.Seconds = max(1e-6, t.host+t.dense*w.Base.Seconds)
	w.PerKV.Seconds *= t.attention
	w.PerKVWin.Seconds *= t.attention
	return w
}

// Step stretches a step with prefill; without, it is Decode.
func (t *tuned) Step(b hardware.Batch) hardware.Work {
	w := t.StepModel.Step(b)
	d := t.StepModel.Decode(b.DecodeSequences)
	cache := d.PerKV.Seconds*b.DecodeKVTokens + d.PerKVWin.Seconds*b.DecodeKVWindow
	rest, factor := w.Seconds-cache, t.prefill
	if b.PrefillTokens == 0 {
		factor = t.dense
	}
	w.Seconds = max(1e-6, t.host+factor*rest) + t.attention*cache
	return w
}
