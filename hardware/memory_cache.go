package hardware

import (
	"math"

	"scoville/model/llm"
)

// Cache is a paged KV cache as vLLM lays it out. A model whose layers all keep every token has one group of layers. One with window
// layers is cut into groups of equally many layers, full and window ones apart, short groups padded; a block belongs to one group,
// so that all blocks have the same size. Recurrent state takes whole blocks of its own for each sequence.
type Cache struct {
	BlockTokens  int     `json:"block_tokens"`
	BlockBytes   float64 `json:"block_bytes"`
	FullGroups   int     `json:"full_groups"`
	WindowGroups int     `json:"window_groups"`
	WindowTokens int     `json:"window_tokens"` // most tokens a window layer keeps for a request while it is computed
	StateBlocks  float64 `json:"state_blocks"`  // for each sequence
	TokenBytes   float64 `json:"token_bytes"`   // of one token in all layers of this rank, while inside every window
	StateBytes   float64 `json:"state_bytes"`
	extraBlock   int     // a sliding window straddles one block more than it fills
}

// groupSlack is how much longer the longer kind of layers may be for its count to be the group size.
const groupSlack = 1.25

func newCache(a llm.Architecture, kv llm.DType, in MemoryInput) Cache {
	l := a.KV(kv, in.Split.Tensor)
	stage := func(layers int) int { return (layers + in.Split.Pipeline - 1) / in.Split.Pipeline }
	full, window := stage(l.FullLayers), stage(l.WindowLayers)
	if in.KeepWindow {
		full, window = full+window, 0
	}
	c := Cache{BlockTokens: in.BlockTokens, TokenBytes: float64(full+window) * l.LayerBytes, StateBytes: l.StateBytes / float64(in.Split.Pipeline)}
	size := full + window
	switch {
	case size == 0:
		c.BlockBytes = math.Max(1, c.StateBytes)
	case full == 0:
		c.WindowGroups = 1
	case window == 0:
		c.FullGroups = 1
	default:
		few, many := min(full, window), max(full, window)
		size = few
		if float64(many) < groupSlack*float64(few) {
			size = many
		}
		c.FullGroups, c.WindowGroups = (full+size-1)/size, (window+size-1)/size
	}
	if size > 0 {
		c.BlockBytes = float64(size) * float64(in.BlockTokens) * l.LayerBytes
	}
	if c.WindowGroups > 0 {
		c.WindowTokens = l.WindowTokens + in.MaxBatchedTokens
		if !l.Chunked {
			c.WindowTokens--
			c.extraBlock = 1
		}
	}
	if c.StateBytes > 0 {
		c.StateBlocks = math.Ceil(c.StateBytes / c.BlockBytes)
	}
	return c
}

// BlocksFor is what one request of a length takes at its peak.
func (c Cache) BlocksFor(tokens int) float64 {
	blocks := float64(c.FullGroups*ceilDiv(tokens, c.BlockTokens)) + c.StateBlocks
	if c.WindowGroups > 0 {
		blocks += float64(c.WindowGroups * (ceilDiv(min(c.WindowTokens, tokens), c.BlockTokens) + c.extraBlock))
	}
	return blocks
}

// Tokens is the capacity as the engine's log prints it: tokens of requests so short that window layers keep everything.
func (c Cache) Tokens(blocks int) int {
	return blocks / max(1, c.FullGroups+c.WindowGroups) * c.BlockTokens
}

// longest is the longest single request that so many blocks hold, at most limit tokens.
func (c Cache) longest(blocks, limit int) int {
	low, high := 0, limit // low holds, by bisection: BlocksFor does not fall with length
	if c.BlocksFor(1) > float64(blocks) {
		return 0
	}
	for low < high {
		middle := low + (high-low+1)/2
		if c.BlocksFor(middle) <= float64(blocks) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
