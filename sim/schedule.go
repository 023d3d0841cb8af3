package sim

import (
	"errors"

	"scoville/hardware"
)

var errBlocked = errors.New("sim: internal error: a request waits at an empty replica and can't be admitted")

// schedule plans what follows a step boundary: running sequences first, then waiting ones from what budget and blocks remain.
func (r *Replica) schedule() {
	r.receive.look(r)
	taken, preempted := r.scheduleOnce()
	if preempted && r.running == 0 && r.err == nil {
		taken, preempted = r.scheduleOnce() // the only sequence preempted itself
	}
	switch {
	case r.err != nil:
	case len(r.chunks) > 0:
		r.planPrefill(taken)
	case r.decode.n > 0:
		limit := int64(never)
		switch {
		case r.walk || preempted || r.held: // waiting requests are tried again at the next step
			limit = 1
		case r.unseen:
			limit = r.receive.left()
		}
		r.planLeap(taken, limit)
	case r.waitingLive > 0:
		r.err = errBlocked
	}
	r.taken = taken
}

// scheduleOnce fills r.chunks for one step. It returns the weight of the blocks taken for the step's decode tokens and whether
// anybody was preempted.
func (r *Replica) scheduleOnce() (taken int64, preempted bool) {
	r.chunks, r.held, r.unseen = r.chunks[:0], false, false
	preempted = r.makeRoom()
	budget := r.engine.MaxBatchedTokens - int(r.decode.n)*r.tokensEach
	var rest int32
	if r.partial != none {
		s := &r.slots[r.partial]
		rest = min(s.target-s.computed, int32(budget))
		for r.partial != none && r.need(s, int64(s.computed+rest)) > r.pool.free-r.growth(1) {
			preempted = true
			r.preempt(r.victim())
		}
	}
	taken = r.growth(1)
	r.pool.take(taken)
	if r.partial != none && rest > 0 {
		r.addChunk(r.partial, rest)
		budget -= int(rest)
	}
	if !preempted {
		r.admit(budget)
	}
	return taken, preempted
}

// need is the weight of the further blocks with which a sequence in prefill holds so many tokens.
func (r *Replica) need(s *slot, tokens int64) int64 {
	return max(0, r.pool.weights.ofTokens(tokens+int64(r.engine.Speculative.Draft))-s.held)
}

// addChunk lets a running sequence compute n more prompt tokens in this step.
func (r *Replica) addChunk(i, n int32) {
	s := &r.slots[i]
	if !r.policy.reserves() {
		w := r.need(s, int64(s.computed+n))
		r.pool.take(w)
		s.private += w
		s.held += w
	}
	r.chunks = append(r.chunks, chunk{idx: i, past: s.computed, n: n})
	s.computed += n
	if s.runs != none {
		r.register(s, s.computed/int32(r.engine.BlockTokens))
	}
	if s.computed < s.target {
		r.partial = i
	} else if r.partial == i {
		r.partial = none
	}
}

// admit moves waiting requests to the running list while budget, slots and blocks last.
func (r *Replica) admit(budget int) {
	busy := r.running > 0
	for budget > 0 && r.running < r.maxSequences {
		i := r.peekWaiting()
		if i == none || !r.policy.open(r) {
			return
		}
		if !r.receive.seen(&r.slots[i]) {
			r.unseen = true
			return
		}
		if r.engine.AsyncScheduling && busy && r.now.ns <= r.slots[i].planned {
			r.held = true
			return
		}
		n := r.admitOne(i, budget)
		if n == 0 {
			r.forming = 0
			return
		}
		budget -= int(n)
		r.forming--
	}
}

// peekWaiting returns the first waiting slot, freeing those that gave up.
func (r *Replica) peekWaiting() int32 {
	for {
		i := r.waiting.peek()
		if i == none || !r.slots[i].dead {
			return i
		}
		r.waiting.pop()
		r.releaseSlot(i)
	}
}

// admitOne admits the first waiting request with its first chunk and returns the chunk's tokens, 0 if it must wait.
func (r *Replica) admitOne(i int32, budget int) int32 {
	s, w := &r.slots[i], r.pool.weights
	var hit, pinned int64
	var hits int
	if s.runs != none && !s.alone {
		hit, hits, pinned = r.lookup(s.runs, int64(s.target-1)/w.block) // one token at least is computed
	}
	cached := max(int32(hit*w.block), s.arrived)
	n := s.target - cached
	if int(n) > budget && !r.engine.ChunkedPrefill {
		r.pinRuns(s.runs, hits, false)
		return 0
	}
	n = min(n, int32(budget))
	s.held = w.ofBlocks(hit)
	tokens := int64(cached + n)
	if r.policy.reserves() {
		tokens = r.tokensToEnd(s.target, s.out-s.generated) - int64(r.engine.Speculative.Draft)
	}
	need := r.need(s, tokens)
	if need+pinned > r.pool.free {
		r.pinRuns(s.runs, hits, false)
		if r.running == 0 && hits > 0 { // whole runs are pinned: without their hits it fits
			s.alone = true
			return r.admitOne(i, budget)
		}
		return 0
	}
	r.pinRuns(s.runs, hits, true)
	r.waiting.pop()
	r.waitingLive--
	r.link(i)
	r.rec.move(r.now.ns, -1, 1)
	if r.policy.reserves() {
		r.pool.take(need)
		s.private, s.held = need, s.held+need
	}
	s.computed = cached
	if s.start < 0 {
		s.start = r.now.ns
		s.cached = cached
	}
	r.addChunk(i, n)
	return n
}

// makeRoom preempts the youngest until every decoding sequence has a block for its next token. It returns whether anybody was
// preempted. (vLLM hands blocks out in order of admission and preempts the last whenever one is missing, which ends at the same set.)
func (r *Replica) makeRoom() (preempted bool) {
	for r.growth(1) > r.pool.free {
		r.preempt(r.victim())
		preempted = true
	}
	return preempted
}

// victim returns the running sequence to preempt: the youngest, or with a priority queue the least urgent.
func (r *Replica) victim() int32 {
	if !r.waiting.byPriority {
		return r.last
	}
	v := r.first
	for i := v; i != none; i = r.slots[i].next {
		s, t := &r.slots[i], &r.slots[v]
		if s.priority > t.priority || s.priority == t.priority && s.serial > t.serial {
			v = i
		}
	}
	return v
}

// preempt sends a running sequence back to wait; all it computed is lost.
func (r *Replica) preempt(i int32) {
	s := &r.slots[i]
	if s.join >= 0 {
		r.quitDecode(i)
		s.lastToken = r.now.ns
	}
	s.alone = r.running == 1
	r.letGo(i)
	s.target = s.in + s.generated
	s.computed, s.arrived = 0, 0
	s.preemptions++
	r.rec.preempted(r.now.ns)
	r.waiting.pushFront(i, s)
	r.waitingLive++
	r.rec.move(r.now.ns, 1, -1)
}

// letGo takes a sequence off the running list and frees its blocks.
func (r *Replica) letGo(i int32) {
	s := &r.slots[i]
	if r.partial == i {
		r.partial = none
	}
	r.pool.give(s.private)
	r.unpinRuns(s)
	s.private, s.held = 0, 0
	r.unlink(i)
}

// planPrefill plans one step with the chunks scheduled.
func (r *Replica) planPrefill(taken int64) {
	d := &r.decode
	per := 1 / float64(r.unit)
	b := hardware.Batch{DecodeSequences: int(d.n), PrefillSequences: len(r.chunks), Speculative: r.tokensEach}
	b.DecodeKVTokens = float64(d.units+d.n*r.unit) * per
	b.DecodeKVWindow = b.DecodeKVTokens
	if r.window > 0 {
		b.DecodeKVWindow = float64(d.unitsWin+d.growingBlocks.n*r.unit) * per
	}
	for _, c := range r.chunks {
		n, past := float64(c.n), float64(c.past)
		pairs := n * (past + (n+1)/2)
		b.PrefillTokens += int(c.n)
		b.PrefillPairs += pairs
		b.PrefillPairsWin += windowPairs(n, past, float64(r.engine.WindowTokens), pairs)
		b.PrefillKVTokens += past
	}
	w := r.model.Step(b)
	if draft := float64(r.engine.Speculative.Draft) * r.engine.Speculative.DraftCost; draft > 0 && d.n > 0 {
		plain := r.model.Decode(int(d.n))
		w = w.Plus(plain.Base.Plus(plain.PerKV.Times(b.DecodeKVTokens)).Plus(plain.PerKVWin.Times(b.DecodeKVWindow)).Times(draft))
	}
	ticks, err := toTicks(w.Seconds)
	if err != nil {
		r.err = err
		return
	}
	r.plan = plan{kind: prefil, steps: 1, progression: progression{first: ticks}, end: r.now.plus(ticks), work: w,
		prefill: int64(max(0, w.Seconds-r.decodeSeconds(b)) / nanosecond), used: r.pool.used()}
}

// decodeSeconds is what the decode part of a batch would take alone.
func (r *Replica) decodeSeconds(b hardware.Batch) float64 {
	if b.DecodeSequences == 0 {
		return 0
	}
	d := r.model.Decode(b.DecodeSequences)
	return d.Base.Seconds + d.PerKV.Seconds*b.DecodeKVTokens + d.PerKVWin.Seconds*b.DecodeKVWindow
}

// windowPairs is the query-key pairs of a chunk of n tokens after past ones where a token sees the last window tokens, itself
// included; all pairs where there is no window.
func windowPairs(n, past, window, all float64) float64 {
	if window == 0 || past+n <= window {
		return all
	}
	below := max(0, window-past) // tokens that see fewer than a window
	return below*(past+(below+1)/2) + (n-below)*window
}
