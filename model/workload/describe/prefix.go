package describe

import "scoville/model/workload/trace"

// Prefix describes what prompts share. A block is a hit if it extends an unbroken head of blocks seen before.
type Prefix struct {
	Blocks     int64   `json:"blocks"`
	Distinct   int64   `json:"distinct"`
	BlockHit   float64 `json:"block_hit"`
	TokenHit   float64 `json:"token_hit"`   // hit tokens over input tokens: what an endless cache saves
	AnyHit     float64 `json:"any_hit"`     // the same wherever in the prompt a block stands
	NoHit      float64 `json:"no_hit"`      // share of requests without a hit
	HalfHit    float64 `json:"half_hit"`    // share of requests with at least half of the blocks hit
	MeanHit    float64 `json:"mean_hit"`    // mean over requests of the share of blocks hit
	NewPerCall float64 `json:"new_input"`   // input tokens of a request that are not hit, mean
	LRU        []LRU   `json:"lru"`         // with caches of bounded size
	Truncated  bool    `json:"truncated"`   // more distinct blocks than are kept: hits are a lower bound
	InBlocks   float64 `json:"block_share"` // share of input tokens that blocks cover
}

// LRU is the hit rate of a cache of so many blocks that evicts the least recently used one.
type LRU struct {
	Blocks   int     `json:"blocks"`
	TokenHit float64 `json:"token_hit"`
}

var lruBlocks = []int{1_000, 5_000, 10_000, 30_000, 50_000, 100_000}

// maxDistinct bounds the memory for blocks seen, to about 1 GB.
const maxDistinct = 1 << 25

// prefixes accumulates over requests in order of arrival.
type prefixes struct {
	seen                      map[uint64]struct{} // heads: hashes of all blocks up to one
	anywhere                  map[uint64]struct{} // blocks by themselves
	blocks, hits              int64
	requests, noHit, halfHit  int64
	input, covered            float64
	hitTokens, anyTokens, sum float64
	caches                    []lru
	lruTokens                 []float64
	truncated                 bool
	heads                     []uint64 // of the request at hand
}

func newPrefixes() *prefixes {
	p := &prefixes{seen: map[uint64]struct{}{}, anywhere: map[uint64]struct{}{}, lruTokens: make([]float64, len(lruBlocks))}
	for _, n := range lruBlocks {
		p.caches = append(p.caches, newLRU(n))
	}
	return p
}

func (p *prefixes) add(input int32, blocks []trace.Block) {
	p.requests++
	p.input += float64(input)
	hit, hitBlocks, unbroken, head := int64(0), 0, true, uint64(0)
	p.heads = p.heads[:0]
	for _, b := range blocks {
		p.blocks++
		p.covered += float64(b.Tokens)
		head = chain(head, b.Key)
		p.heads = append(p.heads, head)
		if p.remember(p.anywhere, b.Key) {
			p.anyTokens += float64(b.Tokens)
		}
		if unbroken = p.remember(p.seen, head) && unbroken; unbroken {
			hitBlocks++
			hit += int64(b.Tokens)
		}
	}
	p.hits += int64(hitBlocks)
	p.hitTokens += float64(hit)
	if hit == 0 {
		p.noHit++
	}
	if len(blocks) > 0 {
		share := float64(hitBlocks) / float64(len(blocks))
		p.sum += share
		if share >= 0.5 {
			p.halfHit++
		}
	}
	for k := range p.caches {
		unbroken := true
		for i, h := range p.heads {
			if unbroken = p.caches[k].touch(h) && unbroken; unbroken {
				p.lruTokens[k] += float64(blocks[i].Tokens)
			}
		}
	}
}

// remember adds a key and reports whether it was known.
func (p *prefixes) remember(set map[uint64]struct{}, key uint64) bool {
	if _, ok := set[key]; ok {
		return true
	}
	if len(set) < maxDistinct {
		set[key] = struct{}{}
	} else {
		p.truncated = true
	}
	return false
}

// chain hashes a block onto the head before it: a block's content can be reused only after the same head.
func chain(head, key uint64) uint64 {
	x := head*0x9e3779b97f4a7c15 ^ key
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}

func (p *prefixes) describe() *Prefix {
	if p.blocks == 0 {
		return nil
	}
	n := float64(p.requests)
	out := &Prefix{Blocks: p.blocks, Distinct: int64(len(p.anywhere)), BlockHit: float64(p.hits) / float64(p.blocks), TokenHit: p.hitTokens / p.input,
		AnyHit: p.anyTokens / p.input, NoHit: float64(p.noHit) / n, HalfHit: float64(p.halfHit) / n, MeanHit: p.sum / n,
		NewPerCall: (p.input - p.hitTokens) / n, Truncated: p.truncated, InBlocks: p.covered / p.input}
	for k, b := range lruBlocks {
		out.LRU = append(out.LRU, LRU{b, p.lruTokens[k] / p.input})
	}
	return out
}

// lru is a set of bounded size as a doubly linked list over a slab.
type lru struct {
	at   map[uint64]int32
	node []lruNode // node 0 is the ring's head: next is most recent, previous least recent
}

type lruNode struct {
	key        uint64
	next, prev int32
}

func newLRU(capacity int) lru {
	return lru{at: make(map[uint64]int32), node: make([]lruNode, 1, capacity+1)}
}

// touch makes a key the most recent and reports whether it was there.
func (l *lru) touch(key uint64) bool {
	i, ok := l.at[key]
	switch {
	case ok:
		l.unlink(i)
	case len(l.node) < cap(l.node):
		i = int32(len(l.node))
		l.node = append(l.node, lruNode{key: key})
	default:
		i = l.node[0].prev
		l.unlink(i)
		delete(l.at, l.node[i].key)
		l.node[i].key = key
	}
	l.at[key] = i
	first := l.node[0].next
	l.node[i].next, l.node[i].prev = first, 0
	l.node[first].prev = i
	l.node[0].next = i
	return ok
}

func (l *lru) unlink(i int32) {
	n := l.node[i]
	l.node[n.prev].next = n.next
	l.node[n.next].prev = n.prev
}
