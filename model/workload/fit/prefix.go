package fit

import (
	"fmt"
	"math"

	"scoville/model/workload"
	"scoville/model/workload/describe"
	"scoville/model/workload/trace"
)

// prefix models what prompts share: a head that nearly all have, then documents of which each request holds a share.
// The shares are read off the second half of the trace, when the cache is warm; the number of documents is searched so
// that generated traffic has the trace's hit rate with an endless cache. Shares are weighted by tokens: long prompts share
// more than short ones, and it is the tokens that have to come out right.
func (r *Result) prefix(s *trace.Set, d *describe.Trace) error {
	p := &workload.Prefix{SystemTokens: commonHead(s), DocumentChunks: chunk(s)}
	var shares []weighted
	seen := map[uint64]bool{}
	for i := range s.Len() {
		hit := hitTokens(seen, s.BlocksOf(i))
		if left := s.Input[i] - int32(p.SystemTokens); i >= s.Len()/2 && left > 0 {
			shares = append(shares, weighted{min(1, max(0, float64(hit-int32(p.SystemTokens))/float64(left))), float64(left)})
		}
	}
	const bands = 20
	reuse := &workload.Distribution{Kind: "empirical"}
	quantiles := weightedQuantiles(shares, bands)
	for _, x := range quantiles {
		reuse.Values = append(reuse.Values, math.Round(1000*x)/1000)
	}
	r.Workload.Prefix = p
	if reuse.Values[bands] == 0 {
		return nil
	}
	p.Reuse = reuse
	const fewest, most = 8, 16384
	best, bestHit := 0, 0.0
	for documents := fewest; documents <= most; documents *= 2 {
		p.Documents = documents
		hit, err := r.generatedHit(s.Len())
		if err != nil {
			return err
		}
		if best == 0 || math.Abs(hit-d.Prefix.TokenHit) < math.Abs(bestHit-d.Prefix.TokenHit) {
			best, bestHit = documents, hit
		}
	}
	p.Documents = best
	r.say(fmt.Sprintf("prefixes: a head of %d tokens in common and %d documents; an endless cache hits %.1f %% of the tokens, the trace's %.1f %%. Replay the trace where cache sizes matter: how often each document comes back is not fitted", p.SystemTokens, p.Documents, 100*bestHit, 100*d.Prefix.TokenHit))
	return nil
}

// generatedHit is the hit rate of an endless cache over so many generated requests.
func (r *Result) generatedHit(n int) (float64, error) {
	s, err := r.Workload.Source(workload.SourceOptions{RequestsPerSecond: 1, Seed: 1, MaxRequests: int64(n)})
	if err != nil {
		return 0, err
	}
	seen := map[uint64]bool{}
	var q workload.Request
	var blocks []trace.Block
	hits, input := 0.0, 0.0
	for s.Next(&q) {
		blocks = blocks[:0]
		for _, b := range q.Blocks {
			blocks = append(blocks, trace.Block(b))
		}
		hits += float64(hitTokens(seen, blocks))
		input += float64(q.InputTokens)
	}
	return hits / input, s.Err()
}

// hitTokens is how many head tokens are known, and makes all heads known.
func hitTokens(seen map[uint64]bool, blocks []trace.Block) int32 {
	hit, unbroken, head := int32(0), true, uint64(0)
	for _, b := range blocks {
		head = (head ^ b.Key) * 0x9e3779b97f4a7c15
		head ^= head >> 29
		if unbroken = unbroken && seen[head]; unbroken {
			hit += b.Tokens
		}
		seen[head] = true
	}
	return hit
}

// chunk is the size in which documents are shared: the trace's hash block, or a small one where it has none.
func chunk(s *trace.Set) int {
	const small = 64
	if s.Report.BlockTokens > 0 {
		return int(s.Report.BlockTokens)
	}
	return small
}

// commonHead is the length of the head that at least 90 % of the requests begin with.
func commonHead(s *trace.Set) int {
	type head struct {
		key    uint64
		tokens int32
	}
	total := 0
	for depth := 0; ; depth++ {
		count := map[head]int{}
		for i := range s.Len() {
			if b := s.BlocksOf(i); len(b) > depth {
				count[head{b[depth].Key, b[depth].Tokens}]++
			}
		}
		best, most := head{}, 0
		for h, n := range count {
			if n > most || (n == most && h.key < best.key) {
				best, most = h, n
			}
		}
		if float64(most) < 0.9*float64(s.Len()) {
			return total
		}
		total += int(best.tokens)
	}
}
