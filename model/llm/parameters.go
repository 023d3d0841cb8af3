package llm

// Parameters is a model's parameter count by part.
type Parameters struct {
	Embedding     float64 `json:"embedding"` // token and learned position embeddings
	Head          float64 `json:"head"`      // output projection; 0 when tied to the embedding
	Attention     float64 `json:"attention"` // softmax-attention projections
	Linear        float64 `json:"linear"`    // state-space and linear-attention mixers
	DenseFFN      float64 `json:"dense_ffn"`
	Experts       float64 `json:"experts"` // all routed experts
	SharedExperts float64 `json:"shared_experts"`
	Router        float64 `json:"router"`
	Norms         float64 `json:"norms"`
	Extra         float64 `json:"extra"`          // resident, idle in a text step
	ActiveExperts float64 `json:"active_experts"` // routed experts that one token visits; part of Experts
}

// Total is every resident parameter.
func (p Parameters) Total() float64 { return p.Text() + p.Extra }

// Text is every parameter of the text model.
func (p Parameters) Text() float64 {
	return p.Embedding + p.Head + p.Attention + p.Linear + p.DenseFFN + p.Experts + p.SharedExperts + p.Router + p.Norms
}

// Active is what one token visits, embeddings included, as publishers count it.
func (p Parameters) Active() float64 { return p.Text() - p.Experts + p.ActiveExperts }

// Parameters counts the parameters by part.
func (a Architecture) Parameters() Parameters {
	h, v := float64(a.Hidden), float64(a.Vocabulary)
	p := Parameters{
		Embedding: v*h + float64(a.PositionRows)*h,
		Attention: float64(a.AttentionLayers()) * a.attentionParameters(),
		Linear:    float64(a.Linear.Layers) * a.Linear.LayerParameters,
		DenseFFN:  float64(a.DenseFFNLayers()) * a.ffnMatrices() * h * float64(a.Intermediate),
		Norms:     float64(2*a.Layers+1) * h,
		Extra:     a.ExtraParameters,
	}
	if !a.TiedEmbeddings {
		p.Head = v * h
	}
	if m := a.MoE; m.Experts > 0 {
		layers := float64(a.MoELayers())
		one := a.ExpertParameters()
		p.Experts = layers * float64(m.Experts) * one
		p.ActiveExperts = layers * float64(m.ActiveExperts) * one
		p.SharedExperts = layers * a.ffnMatrices() * h * float64(m.SharedIntermediate)
		p.Router = layers * h * float64(m.Experts)
		if m.ExpertHidden > 0 {
			p.SharedExperts += layers * 2 * h * float64(m.ExpertHidden) // down to the latent width and up again
		}
	}
	return p
}

// ExpertParameters is the size of one routed expert in one layer.
func (a Architecture) ExpertParameters() float64 {
	width := a.Hidden
	if a.MoE.ExpertHidden > 0 {
		width = a.MoE.ExpertHidden
	}
	return a.ffnMatrices() * float64(width) * float64(a.MoE.ExpertIntermediate)
}

// AttentionLayers is the number of layers with softmax attention, each of which has a KV cache.
func (a Architecture) AttentionLayers() int {
	if a.AttentionLayer > 0 {
		return a.AttentionLayer
	}
	return a.Layers - a.Linear.Layers
}

// MoELayers is the number of layers with routed experts.
func (a Architecture) MoELayers() int {
	if a.MoE.Experts == 0 {
		return 0
	}
	return a.ffnLayers() - a.MoE.DenseLayers
}

// DenseFFNLayers is the number of layers with a dense feed-forward part.
func (a Architecture) DenseFFNLayers() int {
	if a.MoE.Experts == 0 || a.MoE.DenseBesideExperts {
		return a.ffnLayers()
	}
	return a.MoE.DenseLayers
}

func (a Architecture) ffnLayers() int {
	if a.FFNLayers > 0 {
		return a.FFNLayers
	}
	return a.Layers
}

func (a Architecture) ffnMatrices() float64 {
	if a.GatedFFN {
		return 3
	}
	return 2
}

// attentionParameters is the size of one layer's attention.
// Grouped-query: q and o are hidden x heads x d, k and v hidden x kv x d. Latent: DeepSeek-V2 (arXiv 2405.04434), section 2.1.
func (a Architecture) attentionParameters() float64 {
	s, r := a.attentionSplit()
	return s + r
}

// attentionSplit divides one layer's attention parameters into those that tensor parallelism shards over heads and those that
// every rank holds whole (the latent down-projections). Key and value projections count as sharded.
func (a Architecture) attentionSplit() (sharded, replicated float64) {
	h, heads, d := float64(a.Hidden), float64(a.Heads), float64(a.HeadDim)
	if m := a.MLA; m.KVRank > 0 {
		qk := float64(m.NopeDim + m.RopeDim)
		rank := float64(m.KVRank)
		replicated = h * float64(m.KVRank+m.RopeDim)
		sharded = rank*heads*float64(m.NopeDim+m.ValueDim) + heads*float64(m.ValueDim)*h
		if m.QRank > 0 {
			replicated += h * float64(m.QRank)
			sharded += float64(m.QRank) * heads * qk
		} else {
			sharded += h * heads * qk
		}
		if m.IndexHeads > 0 { // queries, one shared key, and head weights (DeepSeek-V3.2)
			from := h
			if m.QRank > 0 {
				from = float64(m.QRank)
			}
			replicated += from*float64(m.IndexHeads*m.IndexDim) + h*float64(m.IndexDim+m.IndexHeads)
		}
		return sharded, replicated
	}
	q, kv := heads*d, 2*float64(a.KVHeads)*d
	sharded = h*(q+kv) + q*h
	if a.AttentionBias {
		sharded += q + kv
	}
	if a.AttentionGate {
		sharded += h * q
	}
	return sharded, 0
}
