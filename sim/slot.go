package sim

import "scoville/model/workload"

// slot is a request in flight: plain data in a slab, linked by index, so that the collector has nothing to follow.
type slot struct {
	id, session      int64
	arrival, timeout int64
	deadline         int64 // engine time at which the client has given up; never if it waits for ever
	start            int64 // of the first step it was in; -1 before
	planned          int64 // with asynchronous scheduling: end of the step it came in, after which the next is planned already; -1 when idle
	submitted        int64
	firstToken       int64 // -1 before
	lastToken        int64 // of a preempted request
	serial           int64 // order of submission; -1 in a free slot, so that timers of it are stale
	join             int64 // order of joining the decode set, or -1 when not in it
	joinStep         int64 // decode step count at joining
	context          int64 // units of context at joining
	private          int64 // weight of the blocks held by this request alone, growth in the decode set excluded
	held             int64 // weight of all blocks held, likewise
	in, out          int32
	target           int32 // tokens to prefill: the prompt, and after a preemption what was generated
	computed         int32 // of these, done or cached
	generated        int32 // tokens given out, those in the decode set excluded
	cached           int32 // prompt tokens found in the prefix cache at first admission
	arrived          int32 // tokens whose KV cache another replica has sent
	handOver         int32 // tokens of the whole answer, where another replica gives the rest
	preemptions      int32
	class, priority  int32
	runs             int32 // shared runs of the prompt
	prev, next       int32 // in order of admission
	running          bool  // on the running list
	growing          bool  // shorter than the window
	dead             bool  // gave up while waiting; freed when met in the queue
	alone            bool  // was preempted with nobody else running: admitted again without cached blocks
}

func (r *Replica) newSlot() int32 {
	if r.freeSlot == none {
		r.slots = append(r.slots, slot{})
		return int32(len(r.slots) - 1)
	}
	i := r.freeSlot
	r.freeSlot = r.slots[i].next
	return i
}

func (r *Replica) releaseSlot(i int32) {
	s := &r.slots[i]
	r.dropRuns(s)
	s.serial, s.join = -1, -1
	s.next = r.freeSlot
	r.freeSlot = i
}

// link appends a slot to the running list.
func (r *Replica) link(i int32) {
	s := &r.slots[i]
	s.prev, s.next = r.last, none
	if r.last == none {
		r.first = i
	} else {
		r.slots[r.last].next = i
	}
	r.last = i
	s.running = true
	r.running++
}

func (r *Replica) unlink(i int32) {
	s := &r.slots[i]
	if s.prev == none {
		r.first = s.next
	} else {
		r.slots[s.prev].next = s.next
	}
	if s.next == none {
		r.last = s.prev
	} else {
		r.slots[s.next].prev = s.prev
	}
	s.running = false
	r.running--
}

// request rebuilds the workload's view of a slot, without its prefix blocks.
func (s *slot) request(q *workload.Request) {
	*q = workload.Request{ID: s.id, ArrivalNanoseconds: s.arrival, InputTokens: s.in, OutputTokens: s.out, Class: s.class,
		Priority: s.priority, Session: s.session, TimeoutNanoseconds: s.timeout}
}
