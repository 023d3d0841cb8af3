package sim

// pool is the paged KV cache of a replica. It counts blocks in weights (see blockWeights) and never looks at single blocks.
//
// Free blocks stand in a queue, least recently freed first, as in vLLM: a block taken comes from its head, and what was cached in it
// is forgotten then. The queue holds elements, each a number of blocks freed together: either anonymous (content that no other
// request can name) or the resident part of a run of shared prompt tokens.
type pool struct {
	unbounded      bool
	capacity, free int64
	caching        bool
	weights        blockWeights
	elements       []element
	unused         int32 // head of the list of free elements, linked by next
	head, tail     int32 // the queue
	index          map[uint64]int32
}

// element is a run of shared tokens that is resident in whole or in its head, or an anonymous entry of the free queue. A run is
// pinned whole while any request uses a part of it (vLLM pins block by block).
type element struct {
	hash       uint64 // of the run and all before it; 0: anonymous
	weight     int64
	refs       int32
	from       int32 // first block of the run in a sequence
	resident   int32 // blocks held
	prev, next int32
}

const none int32 = -1

// blockWeights says what a block weighs: with a sliding window of share s, (1-s) for the full-attention layers, and s for the window
// layers while the sequence is shorter than the window, in 1/1024 of a block.
type blockWeights struct {
	block        int64 // tokens in a block
	full, window int64 // weights; 1 and 0 without a window
	windowBlocks int64 // blocks that weigh full + window
}

const windowedBlock = 1024

func newBlockWeights(e *Engine) blockWeights {
	w := blockWeights{block: int64(e.BlockTokens), full: 1}
	if e.WindowTokens > 0 && e.WindowShare > 0 {
		w.window = int64(e.WindowShare*windowedBlock + 0.5)
		w.full = windowedBlock - w.window
		w.windowBlocks = (int64(e.WindowTokens) + w.block - 1) / w.block
	}
	return w
}

// ofBlocks is the weight of the first n blocks of a sequence.
func (w blockWeights) ofBlocks(n int64) int64 { return w.full*n + w.window*min(n, w.windowBlocks) }

// ofTokens is the weight of the blocks that so many tokens need.
func (w blockWeights) ofTokens(tokens int64) int64 {
	return w.ofBlocks((tokens + w.block - 1) / w.block)
}

func newPool(e *Engine, w blockWeights) pool {
	p := pool{unbounded: e.KVBlocks <= 0, caching: e.PrefixCaching, weights: w, unused: none, head: none, tail: none}
	p.capacity = e.KVBlocks * (w.full + w.window)
	if p.unbounded {
		p.capacity = 1 << 62
	}
	p.free = p.capacity
	if p.caching {
		p.index = make(map[uint64]int32)
		p.appendAnonymous(p.capacity)
	}
	return p
}

// used returns the weight held by requests.
func (p *pool) used() int64 { return p.capacity - p.free }

// take removes weight from the free blocks; the caller has checked that it is there.
func (p *pool) take(weight int64) {
	p.free -= weight
	if p.caching {
		p.evict(weight)
	}
}

// give frees anonymous blocks.
func (p *pool) give(weight int64) {
	p.free += weight
	if p.caching && weight > 0 {
		p.appendAnonymous(weight)
	}
}

// evict takes weight from the head of the queue; runs lose their tail blocks first.
func (p *pool) evict(weight int64) {
	for weight > 0 {
		i := p.head
		e := &p.elements[i]
		if e.hash == 0 {
			k := min(weight, e.weight)
			e.weight -= k
			weight -= k
			if e.weight == 0 {
				p.unlink(i)
				p.release(i)
			}
			continue
		}
		e.resident--
		w := p.weights.ofBlocks(int64(e.from+e.resident+1)) - p.weights.ofBlocks(int64(e.from+e.resident))
		e.weight -= w
		surplus := max(0, w-weight)
		weight -= w - surplus
		if e.resident == 0 {
			p.unlink(i)
			delete(p.index, e.hash)
			p.release(i)
		}
		if surplus > 0 { // stays first in line, so that two takes evict what one of both does
			p.prependAnonymous(surplus)
		}
	}
}

func (p *pool) appendAnonymous(weight int64) {
	if p.tail != none {
		if e := &p.elements[p.tail]; e.hash == 0 {
			e.weight += weight
			return
		}
	}
	i := p.newElement()
	p.elements[i] = element{weight: weight}
	p.link(i)
}

func (p *pool) prependAnonymous(weight int64) {
	i := p.newElement()
	p.elements[i] = element{weight: weight, prev: none, next: p.head}
	if p.head == none {
		p.tail = i
	} else {
		p.elements[p.head].prev = i
	}
	p.head = i
}

func (p *pool) newElement() int32 {
	if p.unused == none {
		p.elements = append(p.elements, element{})
		return int32(len(p.elements) - 1)
	}
	i := p.unused
	p.unused = p.elements[i].next
	return i
}

func (p *pool) release(i int32) {
	p.elements[i] = element{next: p.unused}
	p.unused = i
}

// link appends an element to the queue.
func (p *pool) link(i int32) {
	e := &p.elements[i]
	e.prev, e.next = p.tail, none
	if p.tail == none {
		p.head = i
	} else {
		p.elements[p.tail].next = i
	}
	p.tail = i
}

func (p *pool) unlink(i int32) {
	e := &p.elements[i]
	if e.prev == none {
		p.head = e.next
	} else {
		p.elements[e.prev].next = e.next
	}
	if e.next == none {
		p.tail = e.prev
	} else {
		p.elements[e.next].prev = e.prev
	}
}

// pin marks a run as in use, taking it out of the free blocks if it stood there.
func (p *pool) pin(i int32) {
	e := &p.elements[i]
	if e.refs == 0 {
		p.free -= e.weight
		p.unlink(i)
	}
	e.refs++
}

// unpin undoes pin; the last user leaves the run at the end of the free queue.
func (p *pool) unpin(i int32) {
	e := &p.elements[i]
	e.refs--
	if e.refs == 0 {
		p.free += e.weight
		p.link(i)
	}
}

// create makes a pinned, empty run.
func (p *pool) create(hash uint64, from int32) int32 {
	i := p.newElement()
	p.elements[i] = element{hash: hash, from: from, refs: 1, prev: none, next: none}
	p.index[hash] = i
	return i
}

// extend makes the run hold its first n blocks and returns the weight that moved into it from the caller's own blocks.
func (p *pool) extend(i, n int32) int64 {
	e := &p.elements[i]
	if n <= e.resident {
		return 0
	}
	w := p.weights.ofBlocks(int64(e.from+n)) - p.weights.ofBlocks(int64(e.from+e.resident))
	e.resident = n
	e.weight += w
	return w
}
