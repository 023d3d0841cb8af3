package workload

import (
	"math"
	"sort"
)

// compiledPrefix is a Prefix made ready.
type compiledPrefix struct {
	system    int32
	prompts   int
	perSystem int
	reuse     *quantile
	documents int
	chunk     int32
	systems   []float64 // cumulative Zipf popularity; nil: uniform
	documentP []float64
}

func compilePrefix(field string, p *Prefix) (*compiledPrefix, error) {
	out := &compiledPrefix{system: int32(p.SystemTokens), prompts: max(p.SystemPrompts, 1), perSystem: p.PromptsPer, documents: p.Documents, chunk: int32(p.DocumentChunks)}
	switch {
	case p.SystemTokens < 0 || p.SystemTokens > maxTokens:
		return nil, fieldError(field+"system_tokens", "%d is not between 0 and %d", p.SystemTokens, maxTokens)
	case p.SystemPrompts < 0 || p.SystemPrompts > maxPrompts:
		return nil, fieldError(field+"system_prompts", "%d is not between 0 and %d", p.SystemPrompts, maxPrompts)
	case p.PromptsPer < 0 || p.PromptsPer*out.prompts > maxPrompts:
		return nil, fieldError(field+"prompts_per_system", "%d makes more than %d distinct prompts", p.PromptsPer, maxPrompts)
	case p.Documents < 0 || p.Documents > maxPrompts:
		return nil, fieldError(field+"documents", "%d is not between 0 and %d", p.Documents, maxPrompts)
	case p.DocumentChunks < 0 || p.DocumentChunks > maxTokens:
		return nil, fieldError(field+"chunk_tokens", "%d is not between 0 and %d", p.DocumentChunks, maxTokens)
	case !(p.Skew >= 0 && p.Skew <= 10):
		return nil, fieldError(field+"skew", "%g is not between 0 and 10", p.Skew)
	}
	if out.documents == 0 {
		out.documents = defaultDocuments
	}
	if out.chunk == 0 {
		out.chunk = defaultChunk
	}
	if p.Reuse != nil {
		var err error
		if out.reuse, err = p.Reuse.compile(field+"reuse", 1); err != nil {
			return nil, err
		}
	}
	if p.Skew > 0 {
		out.systems = zipf(out.prompts, p.Skew)
		out.documentP = zipf(out.documents, p.Skew)
	}
	return out, nil
}

// zipf returns cumulative probabilities proportional to 1/rank^s.
func zipf(n int, s float64) []float64 {
	c := make([]float64, n)
	sum := 0.0
	for i := range c {
		sum += math.Pow(float64(i+1), -s)
		c[i] = sum
	}
	for i := range c {
		c[i] /= sum
	}
	c[n-1] = 1
	return c
}

func pick(cumulative []float64, n int, u float64) int {
	if cumulative == nil {
		return min(int(u*float64(n)), n-1)
	}
	return sort.SearchFloat64s(cumulative, u)
}

// key mixes a purpose and two numbers into a block key (splitmix64 finaliser over an odd-multiplied sum).
func key(purpose, a, b uint64) uint64 {
	x := purpose*0x9e3779b97f4a7c15 + a*0xbf58476d1ce4e5b9 + b*0x94d049bb133111eb + 1
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// Purposes of block keys.
const (
	keySystem = iota + 1
	keyPrompt
	keyDocument
	keyTurnInput
	keyTurnOutput
	keyTrace
)

// head appends the shared head of a prompt of that many tokens and returns how much of it is covered. At least one token
// of a prompt that is not wholly shared stays unique. uSystem, uDocument and uShare are uniform.
func (p *compiledPrefix) head(blocks []PrefixBlock, class uint64, input int32, uSystem, uDocument, uShare float64) []PrefixBlock {
	left := input - 1
	if p.system > 0 && left > 0 {
		n := min(p.system, left)
		system := uint64(pick(p.systems, p.prompts, uSystem))
		blocks = append(blocks, PrefixBlock{key(keySystem, class, system), n})
		left -= n
	}
	if p.reuse == nil {
		return blocks
	}
	document := uint64(pick(p.documentP, p.documents, uDocument))
	// Rounded to whole chunks, so that the mean share is kept.
	shared := min((int32(p.reuse.at(uShare)*float64(left))+p.chunk/2)/p.chunk, left/p.chunk)
	for i := range shared {
		blocks = append(blocks, PrefixBlock{key(keyDocument, class<<32|document, uint64(i)), p.chunk})
	}
	return blocks
}

// whole appends the two blocks of prompt number n of the repeated prompts: its system prompt, and the rest, which equal
// numbers share as well.
func (p *compiledPrefix) whole(blocks []PrefixBlock, class uint64, n int, input int32) []PrefixBlock {
	system := min(p.system, input)
	if system > 0 {
		blocks = append(blocks, PrefixBlock{key(keySystem, class, uint64(n/p.perSystem)), system})
	}
	if rest := input - system; rest > 0 {
		blocks = append(blocks, PrefixBlock{key(keyPrompt, class, uint64(n)), rest})
	}
	return blocks
}
