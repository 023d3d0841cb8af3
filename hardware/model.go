package hardware

import (
	"math"
)

// representativeContext is the context of a sequence at which what isn't linear in the cache tokens (the power limit) is taken.
const representativeContext = 1024

// stepModel is the step model of DESIGN: curves of a chip, layers of a model, overheads of an engine.
type stepModel struct {
	walker
	power      powerModel
	host       HostOverhead
	layers     float64
	eager      float64 // least seconds of a step outside CUDA graphs
	microBatch float64 // pipeline stages, each with a share of the batch in flight
	chips      float64
	decode     []DecodeWork  // by sequences
	context    []decodeTerms // by sequences, without speculation, data parallelism or pipeline
	tokens     tabulated     // tokenWork
	heads      tabulated     // head
}

// NewStepModel prepares the step times of a deployment. Decode steps are tabulated up to the engine's max_num_seqs.
func NewStepModel(d Deployment) (StepModel, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	s := d.Split.Normal()
	m := &stepModel{
		walker: newWalker(d), power: newPowerModel(d.Chip, d.PowerLimitWatts), host: d.Engine.Host,
		layers: float64(d.Model.Layers), microBatch: float64(s.Pipeline), chips: float64(s.Chips()),
	}
	m.eager = d.Engine.Host.EagerLayerSeconds.Value * m.layers
	if d.Model.MoE.Experts > 0 {
		m.eager *= 3 // routing, permutation and grouped products: three times the launches of a dense layer
	}
	if d.Model.MLA.KVRank > 0 || d.Model.Linear.Layers > 0 {
		m.eager *= 1.5
	}
	m.decode = make([]DecodeWork, d.Engine.Scheduler.MaxSequences+1)
	for n := range m.decode {
		m.decode[n] = m.decodeWork(n, 1)
	}
	most := float64(d.Engine.Scheduler.MaxBatchedTokens + d.Engine.Scheduler.MaxSequences)
	m.tokens, m.heads = tabulate(m.tokenWork, most), tabulate(m.head, float64(d.Engine.Scheduler.MaxSequences))
	if m.data*m.microBatch == 1 {
		for n := range m.decode {
			base, perKV, perWindow := m.decodeContext(float64(n), float64(n))
			m.context = append(m.context, decodeTerms{base, perKV, perWindow})
		}
	}
	return d.factors.finish(m), nil
}

// IdleWatts is the draw of the replica's chips when no step runs.
func (m *stepModel) IdleWatts() float64 { return m.power.idle * m.chips }

// Decode is the work of a decode step of n sequences.
func (m *stepModel) Decode(n int) DecodeWork {
	if n >= 0 && n < len(m.decode) {
		return m.decode[n]
	}
	return m.decodeWork(max(n, 0), 1)
}

// Step is the work of any step.
func (m *stepModel) Step(b Batch) Work {
	if b.PrefillTokens <= 0 && b.PrefillSequences <= 0 {
		d := m.Decode(b.DecodeSequences)
		if b.Speculative > 1 {
			d = m.decodeWork(b.DecodeSequences, float64(b.Speculative))
		}
		return d.Base.Plus(d.PerKV.Times(b.DecodeKVTokens)).Plus(d.PerKVWin.Times(b.DecodeKVWindow))
	}
	l := loadOf(b, m.data*m.microBatch)
	kernels := m.tokens.at(l.tokens()).plus(m.heads.at(l.verified + l.prefillSequences)).plus(m.promptContext(l))
	t := m.decodeTerms(b, l)
	kernels = kernels.plus(t.base).plus(t.perKV.times(l.decodeKV)).plus(t.perWindow.times(l.decodeKVWindow))
	// outside CUDA graphs the host launches every kernel: a layer takes at least that long
	if l.tokens() > float64(m.host.GraphTokens) {
		kernels.seconds = math.Max(kernels.seconds, m.eager)
	}
	overhead := m.overhead(l.decode+l.prefillSequences, l.prefill, l.prefillSequences)
	w := m.work(kernels, overhead, m.power.stretch(kernels, kernels.seconds+overhead))
	return m.waitUntil(w, m.host.FrontendTokenSeconds.Value*float64(b.DecodeSequences+b.PrefillSequences))
}

// decodeTerms is decode attention: at no context, and for each cache token.
type decodeTerms struct{ base, perKV, perWindow piece }

func (m *stepModel) decodeTerms(b Batch, l load) decodeTerms {
	if b.DecodeSequences < len(m.context) && l.verified == l.decode {
		return m.context[b.DecodeSequences]
	}
	base, perKV, perWindow := m.decodeContext(l.decode, l.verified)
	return decodeTerms{base, perKV, perWindow}
}

// waitUntil lengthens work to at least some seconds, in which the chips idle.
func (m *stepModel) waitUntil(w Work, seconds float64) Work {
	if wait := seconds - w.Seconds; wait > 0 {
		w.Seconds += wait
		w.Joules += wait * m.power.idle * m.chips
	}
	return w
}

// decodeWork is a pure decode step: base plus a term for each cache token.
func (m *stepModel) decodeWork(n int, speculative float64) DecodeWork {
	if n <= 0 {
		return DecodeWork{}
	}
	sequences := float64(n) / (m.data * m.microBatch)
	base, perKV, perWindow := m.decodeContext(sequences, sequences*speculative)
	kernels := m.tokenWork(sequences * speculative).plus(m.head(sequences * speculative)).plus(base)
	overhead := m.overhead(sequences, 0, 0)
	window := math.Min(representativeContext, math.Max(1, float64(m.kv.WindowTokens)))
	typical := kernels.plus(perKV.times(sequences * representativeContext)).plus(perWindow.times(sequences * window))
	stretch := math.Max(m.power.stretch(typical, typical.seconds+overhead), m.power.stretch(kernels, kernels.seconds+overhead))
	share := 1 / (m.data * m.microBatch) // a cache token lies on one replica, in one microbatch
	d := DecodeWork{
		Base:     m.work(kernels, overhead, stretch),
		PerKV:    m.work(perKV.times(share), 0, math.Max(stretch, m.power.stretch(perKV, perKV.seconds))),
		PerKVWin: m.work(perWindow.times(share), 0, math.Max(stretch, m.power.stretch(perWindow, perWindow.seconds))),
	}
	attention := (d.PerKV.Seconds*representativeContext + d.PerKVWin.Seconds*window) * float64(n)
	d.Base = m.waitUntil(d.Base, m.host.FrontendTokenSeconds.Value*float64(n)-attention)
	return d
}

// overhead is the host's part of a step.
func (m *stepModel) overhead(sequences, promptTokens, promptSequences float64) float64 {
	h := m.host
	return h.StepSeconds.Value + h.LayerSeconds.Value*m.layers + h.SequenceSeconds.Value*sequences +
		h.TokenSeconds.Value*promptTokens + h.PrefillRequestSeconds.Value*promptSequences
}

// work turns a rank's kernels into the replica's work. With a pipeline of p stages the batch is in flight in p parts: a part goes
// through all stages in the time of all its layers divided by p a stage, and every sequence yields its token once in p stage
// times, hence p x (layers / p) = the kernels of all layers at one part's size; the hand-over adds p - 1 transfers.
func (m *stepModel) work(k piece, overhead, stretch float64) Work {
	seconds := k.seconds*stretch + overhead
	joules := m.power.joules(k, k.seconds, overhead, stretch)
	return Work{Seconds: seconds, FLOPs: k.flops * m.chips, Bytes: k.bytes * m.chips, Joules: joules * m.chips}
}
