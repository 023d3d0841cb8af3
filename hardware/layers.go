package hardware

import (
	"math"

	"scoville/model/llm"
)

// walker times the layers of a model on one rank of a pipeline stage.
type walker struct {
	kernels
	model        llm.Architecture
	precision    llm.Precision
	tensor, data float64 // tensor-parallel degree, attention replicas
	expertRanks  float64
	kv           llm.KVLayout
	heads        float64 // query heads of a rank
}

func newWalker(d Deployment) walker {
	s := d.Split.Normal()
	w := walker{kernels: newKernels(d.Chip, d.Engine.Kernels, d.factors), model: d.Model, precision: d.Precision, tensor: float64(s.Tensor), data: float64(s.Data), expertRanks: float64(s.Expert)}
	w.kv = d.Model.KV(d.Precision.KV, s.Tensor)
	w.heads = math.Ceil(float64(d.Model.Heads) / w.tensor)
	return w
}

// load is the tokens of a step on one rank, attention replicas apart.
type load struct {
	decode, decodeKV, decodeKVWindow float64 // sequences and cache tokens
	verified                         float64 // decode tokens: sequences x speculative width
	prefill, prefillSequences        float64
	pairs, pairsWindow, prefillKV    float64
}

// of a batch: its share on one attention replica and one of pp microbatches.
func loadOf(b Batch, shares float64) load {
	spec := math.Max(1, float64(b.Speculative))
	n := float64(b.DecodeSequences) / shares
	return load{
		decode: n, verified: n * spec, decodeKV: b.DecodeKVTokens / shares, decodeKVWindow: b.DecodeKVWindow / shares,
		prefill: float64(b.PrefillTokens) / shares, prefillSequences: float64(b.PrefillSequences) / shares,
		pairs: b.PrefillPairs / shares, pairsWindow: b.PrefillPairsWin / shares, prefillKV: b.PrefillKVTokens / shares,
	}
}

func (l load) tokens() float64 { return l.verified + l.prefill }

// indexerSeconds is what the token indexer of sparse attention adds to a layer beyond its projections: index logits, top-k
// selection and the gather of the chosen tokens, some ten small kernels of which the selection is the slowest. An estimate.
const indexerSeconds = 40e-6

// attentionProjections are the matrix products of one attention layer.
func (w walker) attentionProjections(m float64) piece {
	a, d := w.model, w.precision.AttentionType()
	h := float64(a.Hidden)
	if q := a.MLA; q.KVRank > 0 {
		rank, rope, nope, value := float64(q.KVRank), float64(q.RopeDim), float64(q.NopeDim), float64(q.ValueDim)
		p := w.gemm(m, rank+rope+float64(q.QRank), h, d)
		from := h
		if q.QRank > 0 {
			from = float64(q.QRank)
		}
		p = p.plus(w.gemm(m, w.heads*(nope+rope), from, d))
		// up-projection of the latent vectors: absorbed into queries and outputs in decode, expanded in prefill, one size either way
		p = p.plus(w.gemm(m, w.heads*(nope+value), rank, llm.BF16))
		if q.IndexHeads > 0 {
			p = p.plus(w.gemm(m, float64(q.IndexHeads*q.IndexDim+q.IndexDim), from, d))
			p.seconds += indexerSeconds
		}
		return p.plus(w.gemm(m, h, w.heads*value, d))
	}
	dim := float64(a.HeadDim)
	kvHeads := math.Max(1, math.Ceil(float64(a.KVHeads)/w.tensor))
	wide := (w.heads + 2*kvHeads) * dim
	if a.AttentionGate {
		wide += w.heads * dim
	}
	return w.gemm(m, wide, h, d).plus(w.gemm(m, h, w.heads*dim, d))
}

// smallKernels are the element-wise kernels of a layer: two norms with the residual, rotary embedding, cache write, activation,
// the quantisation of inputs being part of the measured matrix products. width is the feed-forward width on this rank.
func (w walker) smallKernels(m, width float64) piece {
	h := float64(w.model.Hidden)
	qkv := (w.heads + 2*math.Max(1, float64(w.model.KVHeads)/w.tensor)) * float64(w.model.HeadDim)
	p := w.elementwise(2 * 8 * m * h) // two norms: read and write the residual and the output, 2 bytes each
	p.seconds += w.scaled(smallKernelSeconds, 0, w.factors.Bandwidth)
	p = p.plus(w.elementwise(4 * m * qkv)).plus(w.elementwise(4 * m * qkv))
	p = p.plus(w.elementwise(6 * m * width))
	return p
}

// feedForward is the dense feed-forward part of a layer.
func (w walker) feedForward(m float64) piece {
	a, d := w.model, w.precision.DenseType()
	h, width := float64(a.Hidden), float64(a.Intermediate)/w.tensor
	up := width
	if a.GatedFFN {
		up *= 2
	}
	return w.gemm(m, up, h, d).plus(w.gemm(m, h, width, d))
}

// mixture is the mixture-of-experts part of a layer for m tokens on each attention replica.
func (w walker) mixture(m float64) piece {
	a, e := w.model, w.model.MoE
	h := float64(a.Hidden)
	p := w.gemm(m, float64(e.Experts), h, llm.BF16).plus(w.elementwise(8 * m * float64(e.Experts))) // router and top-k
	world := w.tensor * w.data
	ranks := math.Min(w.expertRanks, world)
	inter := float64(e.ExpertIntermediate) / (world / ranks)
	width := h
	if e.ExpertHidden > 0 {
		width = float64(e.ExpertHidden)
		p = p.plus(w.gemm(m, width/w.tensor, h, w.precision.DenseType())).plus(w.gemm(m, h, width/w.tensor, w.precision.DenseType()))
	}
	all := m * w.data
	p = p.plus(w.experts(moeWork(all, width, inter, float64(e.ActiveExperts), float64(e.Experts), ranks, w.precision.Weights, evenRouting), w.precision.Weights))
	if e.SharedIntermediate > 0 {
		d, s := w.precision.DenseType(), float64(e.SharedIntermediate)/w.tensor
		p = p.plus(w.gemm(m, 2*s, h, d)).plus(w.gemm(m, h, s, d)).plus(w.elementwise(6 * m * s))
	}
	if w.data > 1 {
		// dispatch and combine: each token's vector goes to the ranks of its experts and comes back
		spread := math.Min(float64(e.ActiveExperts), world-1)
		message := m / w.tensor * spread * h
		p = p.plus(w.allToAll(int(world), message*math.Min(w.precision.Activations.Bytes(), 2))).plus(w.allToAll(int(world), message*2))
	}
	return p
}

// reduce is one tensor-parallel all-reduce of the residual stream.
func (w walker) reduce(m float64) piece {
	return w.allReduce(int(w.tensor), m*float64(w.model.Hidden)*2)
}

// tokenWork is all that a step does for its tokens but attention over the context and the output head, in all layers.
func (w walker) tokenWork(m float64) piece {
	a := w.model
	attention, linear := float64(a.AttentionLayers()), float64(a.Linear.Layers)
	dense, moe := float64(a.DenseFFNLayers()), float64(a.MoELayers())
	total := w.attentionProjections(m).plus(w.reduce(m)).times(attention)
	if linear > 0 {
		h := float64(a.Hidden)
		n := a.Linear.LayerParameters / h / w.tensor
		mixer := w.gemm(m, n*2/3, h, w.precision.AttentionType()).plus(w.gemm(m, h, n/3, w.precision.AttentionType()))
		mixer = mixer.plus(w.elementwise(4 * m * n)).plus(w.elementwise(4 * m * n))
		total = total.plus(mixer.plus(w.reduce(m)).times(linear))
	}
	if dense > 0 {
		total = total.plus(w.feedForward(m).plus(w.reduce(m)).times(dense))
	}
	if moe > 0 {
		p := w.mixture(m)
		if !a.MoE.DenseBesideExperts {
			p = p.plus(w.reduce(m))
		}
		total = total.plus(p.times(moe))
	}
	width := float64(a.Intermediate) / w.tensor
	if moe > dense {
		width = float64(a.MoE.ExpertIntermediate*a.MoE.ActiveExperts) / w.tensor
	}
	return total.plus(w.smallKernels(m, width).times(float64(a.Layers)))
}

// head is the output projection and sampling for the rows that yield a token.
func (w walker) head(rows float64) piece {
	v := float64(w.model.PaddedVocabulary()) / w.tensor
	return w.gemm(rows, v, float64(w.model.Hidden), w.precision.PlainType()).plus(w.elementwise(12 * rows * v))
}

// decodeContext is decode attention: base at no context, and for each cache token in full and in window layers.
func (w walker) decodeContext(n, verified float64) (base, perKV, perWindow piece) {
	if n <= 0 {
		return
	}
	full, window := float64(w.kv.FullLayers), float64(w.kv.WindowLayers)
	floor, perByte := w.decodeAttention(n, w.precision.KV)
	base = piece{seconds: floor * (full + window)}
	if s := w.kv.StateBytes; s > 0 { // recurrent state is read and written
		bytes := 2 * s * n
		base = base.plus(piece{seconds: bytes / (w.bandwidth * w.stream), bytes: bytes})
	}
	flops := w.model.DecodeFLOPsPerPair() / w.tensor * verified / n
	one := w.piece(math.Max(w.kv.LayerBytes*perByte, max(w.factors.DecodeAttention/0.6, 1)*flops/w.chip.Peak.BF16.Value), flops, w.kv.LayerBytes, llm.BF16)
	return base, one.times(full), one.times(window)
}

// promptContext is prefill attention.
func (w walker) promptContext(l load) piece {
	if l.prefill <= 0 {
		return piece{}
	}
	full, window := float64(w.kv.FullLayers), float64(w.kv.WindowLayers)
	perSequence := l.prefill / math.Max(l.prefillSequences, 1e-9)
	each := w.model.AttentionFLOPsPerPair() / w.tensor
	bytes := l.prefill*float64(w.model.HeadDim)*w.heads*4 + (l.prefill+l.prefillKV)*w.kv.LayerBytes
	p := w.prefillAttention(perSequence, l.pairs*each, bytes, w.precision.KV).times(full)
	if window > 0 {
		p = p.plus(w.prefillAttention(perSequence, l.pairsWindow*each, bytes, w.precision.KV).times(window))
	}
	return p
}
