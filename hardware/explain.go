package hardware

import "math"

// Term is one part of a step's time.
type Term struct {
	Name    string
	Seconds float64
}

// Explain splits the time of a step into its terms, largest structures first. They add up to Step(b).Seconds where neither the
// power limit nor the launch bound of prefill steps stretches it; what those add is the last term.
func Explain(d Deployment, b Batch) ([]Term, error) {
	s, err := NewStepModel(d)
	if err != nil {
		return nil, err
	}
	if t, ok := s.(twoBatches); ok {
		s = t.StepModel
	}
	m, ok := s.(*stepModel)
	if !ok {
		return nil, err
	}
	a := d.Model
	l := loadOf(b, m.data*m.microBatch)
	t := l.tokens()
	attention, dense, moe := float64(a.AttentionLayers()), float64(a.DenseFFNLayers()), float64(a.MoELayers())
	base, perKV, perWindow := m.decodeContext(l.decode, l.verified)
	terms := []Term{
		{"attention projections", m.attentionProjections(t).seconds * attention},
		{"dense feed-forward", m.feedForward(t).seconds * dense},
		{"experts", 0},
		{"element-wise kernels", m.smallKernels(t, float64(a.Intermediate)/m.tensor).seconds * m.layers},
		{"all-reduce", m.reduce(t).seconds * (attention + float64(a.Linear.Layers) + dense)},
		{"decode attention", base.seconds + perKV.seconds*l.decodeKV + perWindow.seconds*l.decodeKVWindow},
		{"prefill attention", m.promptContext(l).seconds},
		{"output head", m.head(l.verified + l.prefillSequences).seconds},
		{"host", m.overhead(l.decode+l.prefillSequences, l.prefill, l.prefillSequences)},
	}
	if moe > 0 {
		terms[2].Seconds = m.mixture(t).seconds * moe
		if !a.MoE.DenseBesideExperts {
			terms[4].Seconds += m.reduce(t).seconds * moe
		}
	}
	sum := 0.0
	for _, x := range terms {
		sum += x.Seconds
	}
	return append(terms, Term{"power limit, launch bound, other", math.Max(0, m.Step(b).Seconds-sum)}), nil
}
