package llm

import "math"

// KVLayout is the cache of one tensor-parallel rank.
type KVLayout struct {
	FullLayers   int     `json:"full_layers"`   // layers that keep every token
	WindowLayers int     `json:"window_layers"` // layers that need the last WindowTokens only
	WindowTokens int     `json:"window_tokens"`
	Chunked      bool    `json:"chunked"`
	LayerBytes   float64 `json:"layer_bytes"` // for one token in one layer
	StateBytes   float64 `json:"state_bytes"` // for one sequence, whatever its length
}

// KV lays the cache out for one of tp ranks. A rank holds max(1, kvHeads/tp) heads, rounded up: when there are more ranks than
// KV heads, heads are replicated. A latent (MLA) cache is replicated on every rank; recurrent state is split.
func (a Architecture) KV(d DType, tp int) KVLayout {
	tp = max(1, tp)
	l := KVLayout{
		FullLayers:   a.AttentionLayers() - a.Window.Layers,
		WindowLayers: a.Window.Layers,
		WindowTokens: a.Window.Tokens,
		Chunked:      a.Window.Chunked,
		StateBytes:   a.Linear.StateBytes / float64(tp),
	}
	if m := a.MLA; m.KVRank > 0 {
		l.LayerBytes = float64(m.KVRank+m.RopeDim) * d.KVBytes()
		if m.IndexHeads > 0 {
			l.LayerBytes += float64(m.IndexDim) + 4 // FP8 index key and its scale
		}
		return l
	}
	heads := max(1, (a.KVHeads+tp-1)/tp)
	l.LayerBytes = 2 * float64(heads) * float64(a.HeadDim) * d.KVBytes()
	return l
}

// KVBytesPerToken is what one token takes on one of tp ranks while it is inside every layer's window.
func (a Architecture) KVBytesPerToken(d DType, tp int) float64 { return a.KV(d, tp).TokenBytes() }

// TokenBytes is what one token takes in all layers.
func (l KVLayout) TokenBytes() float64 { return float64(l.FullLayers+l.WindowLayers) * l.LayerBytes }

// SequenceBytes is what a sequence of a given length takes: window layers stop growing at their window.
func (l KVLayout) SequenceBytes(tokens float64) float64 {
	return l.LayerBytes*(float64(l.FullLayers)*tokens+float64(l.WindowLayers)*math.Min(tokens, float64(l.WindowTokens))) + l.StateBytes
}
