package llm

// FLOPsPerToken is the dense work of one token in all layers, the output head apart: two for each weight it meets. State-space
// scans are counted by their projections.
func (a Architecture) FLOPsPerToken() float64 {
	p := a.Parameters()
	return 2 * (p.Attention + p.Linear + p.DenseFFN + p.ActiveExperts + p.SharedExperts + p.Router)
}

// HeadFLOPs is the work of the output head for one token that is sampled; prompt tokens but the last are not.
func (a Architecture) HeadFLOPs() float64 { return 2 * float64(a.Vocabulary) * float64(a.Hidden) }

// AttentionFLOPsPerPair is the work for one query and one key in one attention layer during prefill: 2 d for the score and 2 d
// for the value, in each head. Causality is the caller's: count only the pairs that are computed.
func (a Architecture) AttentionFLOPsPerPair() float64 {
	if m := a.MLA; m.KVRank > 0 {
		return 2 * float64(a.Heads) * float64(m.NopeDim+m.RopeDim+m.ValueDim)
	}
	return 4 * float64(a.Heads) * float64(a.HeadDim)
}

// DecodeFLOPsPerPair is the same in decode. Latent attention then works on the compressed vectors, with the up-projections
// absorbed into queries and outputs: 2 (rank + rope) for the score and 2 rank for the value, in each head.
func (a Architecture) DecodeFLOPsPerPair() float64 {
	if m := a.MLA; m.KVRank > 0 {
		return 2 * float64(a.Heads) * float64(2*m.KVRank+m.RopeDim)
	}
	return a.AttentionFLOPsPerPair()
}

// WeightBytes is what all weights take in memory, before any split: every expert is resident, active or not.
func (a Architecture) WeightBytes(p Precision) float64 {
	n := a.Parameters()
	plain := p.PlainType().Bytes()
	return (n.Embedding+n.Head+n.Router+n.Norms+n.Extra)*plain +
		(n.Attention+n.Linear)*p.AttentionType().Bytes() +
		(n.DenseFFN+n.SharedExperts)*p.DenseType().Bytes() +
		n.Experts*p.Weights.Bytes()
}

// DenseWeightBytes is what a decode step reads whatever its batch: attention, dense feed-forward, shared experts, routers, norms
// and the head; the embedding is only looked up.
func (a Architecture) DenseWeightBytes(p Precision) float64 {
	n := a.Parameters()
	head := float64(a.Vocabulary) * float64(a.Hidden)
	plain := p.PlainType().Bytes()
	return (head+n.Router+n.Norms)*plain + (n.Attention+n.Linear)*p.AttentionType().Bytes() + (n.DenseFFN+n.SharedExperts)*p.DenseType().Bytes()
}

// ExpertBytes is what one routed expert takes in one layer.
func (a Architecture) ExpertBytes(p Precision) float64 {
	return a.ExpertParameters() * p.Weights.Bytes()
}
