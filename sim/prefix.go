package sim

import "scoville/model/workload"

// run is a run of shared prompt tokens of a request in flight, in a list by next. It owns the engine blocks whose last token lies
// in it, [from, to) of the sequence.
type run struct {
	hash     uint64
	from, to int32
	held     int32 // pinned element, or none
	next     int32
}

// addRuns copies the shared head of a prompt into the replica's slab and returns the head of the list. Where the whole prompt is named
// and the answer too, the answer is its last run: the next turn of the conversation finds it cached.
func (r *Replica) addRuns(q *workload.Request) int32 {
	if !r.pool.caching || len(q.Blocks) == 0 {
		return none
	}
	first, last := none, none
	hash, tokens := uint64(0), int64(0)
	block := int64(r.engine.BlockTokens)
	for _, b := range q.Blocks {
		if b.Tokens <= 0 {
			continue
		}
		from := tokens / block
		tokens = min(tokens+int64(b.Tokens), int64(q.InputTokens))
		hash = chain(hash, b.Key, uint64(b.Tokens))
		i := r.newRun()
		r.runs[i] = run{hash: hash, from: int32(from), to: int32(tokens / block), held: none, next: none}
		if last == none {
			first = i
		} else {
			r.runs[last].next = i
		}
		last = i
		if tokens == int64(q.InputTokens) {
			break
		}
	}
	if q.OutputKey != 0 && last != none && tokens == int64(q.InputTokens) {
		i := r.newRun()
		r.runs[i] = run{hash: chain(hash, q.OutputKey, uint64(q.OutputTokens)), from: int32(tokens / block), to: int32(computedTokens(q.InputTokens, q.OutputTokens) / block), held: none, next: none}
		r.runs[last].next = i
	}
	return first
}

// computedTokens is how many tokens of a finished request have keys and values: the last one given out was never fed back.
func computedTokens(in, out int32) int64 { return int64(in) + int64(out) - 1 }

// chain hashes a run after the hash of all before it (SplitMix64's finaliser); never 0.
func chain(head, key, tokens uint64) uint64 {
	h := head ^ (key+0x9e3779b97f4a7c15)*0xbf58476d1ce4e5b9 ^ tokens<<48
	h ^= h >> 30
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 27
	h *= 0x94d049bb133111eb
	h ^= h >> 31
	return h | 1
}

func (r *Replica) newRun() int32 {
	if r.freeRun == none {
		r.runs = append(r.runs, run{})
		return int32(len(r.runs) - 1)
	}
	i := r.freeRun
	r.freeRun = r.runs[i].next
	return i
}

// lookup returns how many blocks at the head of a request's prompt are cached, at most limit, how many runs hold them, and what
// pinning these runs takes from the free blocks.
func (r *Replica) lookup(head int32, limit int64) (blocks int64, runs int, weight int64) {
	for i := head; i != none; i = r.runs[i].next {
		u := &r.runs[i]
		if u.from == u.to {
			continue
		}
		e, ok := r.pool.index[u.hash]
		if !ok || int64(u.from) >= limit {
			return blocks, runs, weight
		}
		n := &r.pool.elements[e]
		if n.refs == 0 {
			weight += n.weight
		}
		u.held = e // remembered for pinRuns; dropped there if admission fails
		runs++
		blocks = min(int64(u.from+n.resident), limit)
		if n.resident < u.to-u.from {
			break
		}
	}
	return blocks, runs, weight
}

// pinRuns pins the runs found by lookup, or forgets them.
func (r *Replica) pinRuns(head int32, runs int, pin bool) {
	for i := head; i != none && runs > 0; i = r.runs[i].next {
		u := &r.runs[i]
		if u.from == u.to {
			continue
		}
		if pin {
			r.pool.pin(u.held)
		} else {
			u.held = none
		}
		runs--
	}
}

// register makes the first blocks of a sequence, computed in this step at the latest, known to other requests (vLLM does so when it
// schedules them). A run that another request computes at the same time stays a private copy, and so does what follows it: whoever
// holds a run holds all before it, so a run is never evicted before those that follow it.
func (r *Replica) register(s *slot, blocks int32) {
	for i := s.runs; i != none && r.runs[i].from < blocks; i = r.runs[i].next {
		u := &r.runs[i]
		if u.from == u.to {
			continue
		}
		if u.held == none {
			if _, ok := r.pool.index[u.hash]; ok {
				return
			}
			u.held = r.pool.create(u.hash, u.from)
		}
		s.private -= r.pool.extend(u.held, min(blocks, u.to)-u.from)
	}
}

// unpinRuns lets go of all runs of a request, the last first, so that heads stay cached longest.
func (r *Replica) unpinRuns(s *slot) {
	held := r.scratch[:0]
	for i := s.runs; i != none; i = r.runs[i].next {
		if e := r.runs[i].held; e != none {
			held = append(held, e)
			r.runs[i].held = none
		}
	}
	for k := len(held) - 1; k >= 0; k-- {
		r.pool.unpin(held[k])
	}
	r.scratch = held
}

// dropRuns returns a request's runs to the slab.
func (r *Replica) dropRuns(s *slot) {
	for i := s.runs; i != none; {
		next := r.runs[i].next
		r.runs[i].next = r.freeRun
		r.freeRun = i
		i = next
	}
	s.runs = none
}
