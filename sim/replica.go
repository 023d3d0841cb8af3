package sim

import (
	"fmt"
	"math"

	"scoville/hardware"
	"scoville/model/workload"
)

// Replica is one engine with continuous batching, driven from outside on an event loop: Submit requests as they come, call Advance at
// the time Next tells. It is not safe for concurrent use.
//
// A leap is planned to the next change that the replica can foresee (a completion, the KV cache filling up, a window reached, a
// client giving up) and cut short when a request is submitted that could be admitted before.
type Replica struct {
	// OnLeave, when set, is told of every request that leaves: finished, failed or rejected. It must not call the replica.
	OnLeave func(q *workload.Request, outcome Outcome, atNanoseconds int64)

	engine       Engine
	policy       policy
	model        hardware.StepModel
	rec          *Recorder
	index        int32
	walk         bool
	maxSequences int
	maxTokens    int64 // input + output accepted
	tokensEach   int   // of the budget, for a decoding sequence
	overhead     int64
	unit         int64 // parts of a token in which contexts are counted
	advance      int64 // units a sequence gains in a step
	window       int64 // units; 0: none

	slots             []slot
	freeSlot          int32
	runs              []run
	freeRun           int32
	scratch           []int32
	waiting           waitQueue
	waitingLive       int
	first, last       int32 // running, in order of admission
	running           int
	forming           int  // places left in a static batch
	held              bool // a waiting request that fits came too late for the step planned, see Engine.AsyncScheduling
	unseen            bool // a waiting request that fits has not been received, see Engine.ReceiveInterval
	receive           receive
	partial           int32 // running sequence whose prompt is not finished, or none
	chunks            []chunk
	serial, joins     int64
	outstandingTokens int64
	deadlines         timers // key: ns
	decode            decodeSet
	pool              pool
	taken             int64 // weight taken ahead for the first decode step planned
	costs             *costTable
	now               instant // of the last step boundary
	plan              plan
	err               error
	request           workload.Request
	received          *Handed // while a request is taken over
	handed            Handed  // while one is handed over
	handing           int32   // while one is submitted that will be
}

// chunk is a piece of prompt computed in the step planned.
type chunk struct {
	idx  int32
	past int32 // tokens before it
	n    int32
}

// plan is what the replica does until its next event.
type plan struct {
	kind  planKind
	steps int64
	progression
	end     instant
	work    hardware.Work // of a mixed step
	prefill int64         // ns of a mixed step that its prompts take
	used    int64         // KV weight at its start
}

type planKind uint8

const (
	idle   planKind = iota
	wake            // a request came while idle; the first step starts at end
	leap            // steps of the decode set alone
	prefil          // one step with prefill
)

// NewReplica returns an idle replica that reports to rec. index names it in records.
func NewReplica(cfg Config, index int, rec *Recorder) (*Replica, error) {
	e := cfg.Engine
	if err := e.Validate(); err != nil {
		return nil, err
	}
	if cfg.Steps == nil {
		return nil, fmt.Errorf("sim: no step model")
	}
	p, err := policyOf(e.Policy)
	if err != nil {
		return nil, err
	}
	r := &Replica{engine: e, policy: p, model: cfg.Steps, rec: rec, index: int32(index), walk: cfg.Options.DisableLeap,
		tokensEach: 1 + e.Speculative.Draft, overhead: int64(math.Round(e.OverheadTTFTSeconds * 1e9)), unit: 1, advance: 1,
		freeSlot: none, freeRun: none, first: none, last: none, partial: none, costs: &costTable{}, receive: receive{every: int64(e.ReceiveInterval), until: -1}}
	r.maxSequences = min(e.MaxSequences, e.MaxBatchedTokens/r.tokensEach)
	r.maxTokens = int64(e.MaxModelLen)
	if r.maxTokens == 0 {
		r.maxTokens = math.MaxInt32
	}
	if e.Speculative.Draft > 0 {
		r.unit = fineUnits
		r.advance = int64(math.Round(e.Speculative.tokensPerStep() * fineUnits))
	}
	r.window = int64(e.WindowTokens) * r.unit
	r.waiting.byPriority = e.PriorityQueue
	r.pool = newPool(&e, newBlockWeights(&e))
	r.decode = newDecodeSet(int64(e.BlockTokens) * r.unit)
	return r, nil
}

// NewReplicas returns n idle replicas of one configuration, indexed from first on, that share a table of decode costs: they must be
// driven from one goroutine.
func NewReplicas(cfg Config, n, first int, rec *Recorder) ([]*Replica, error) {
	replicas, costs := make([]*Replica, n), &costTable{}
	for k := range replicas {
		r, err := NewReplica(cfg, first+k, rec)
		if err != nil {
			return nil, err
		}
		r.costs = costs
		replicas[k] = r
	}
	return replicas, nil
}

// Load is what a router may know of a replica.
type Load struct {
	Waiting, Running int
	Tokens           int64   // prompt tokens of the requests waiting or running: the router knows no output lengths
	KVShare          float64 // KV blocks held over blocks in the pool, at the last event
}

// Load returns the replica's load as of its last event.
func (r *Replica) Load() Load {
	l := Load{r.waitingLive, r.running, r.outstandingTokens, 0}
	if !r.pool.unbounded {
		l.KVShare = float64(r.pool.used()) / float64(r.pool.capacity)
	}
	return l
}

// Outstanding returns the number of requests waiting or running.
func (r *Replica) Outstanding() int { return r.waitingLive + r.running }

// HasRoom reports whether a request submitted now would find a sequence slot free and nobody waiting.
func (r *Replica) HasRoom() bool { return r.waitingLive == 0 && r.running < r.maxSequences }

// Next returns the time at which Advance must be called, math.MaxInt64 when the replica is idle.
func (r *Replica) Next() int64 {
	if r.plan.kind == idle {
		return never
	}
	return r.plan.end.ns
}

// Submit hands the replica a request at a time not before its last event and not after Next.
func (r *Replica) Submit(now int64, q *workload.Request) {
	r.rec.arrive(q.ArrivalNanoseconds)
	if reason := r.refuse(q); reason != Accepted {
		r.reject(now, q, reason)
		return
	}
	r.submit(now, q)
}

// submit takes a request that is not refused.
func (r *Replica) submit(now int64, q *workload.Request) {
	i := r.newSlot()
	s := &r.slots[i]
	r.serial++
	*s = slot{id: q.ID, session: q.Session, arrival: q.ArrivalNanoseconds, timeout: q.TimeoutNanoseconds, deadline: never, start: -1, planned: -1,
		firstToken: -1, serial: r.serial, submitted: now, join: -1, in: q.InputTokens, out: q.OutputTokens, target: q.InputTokens, class: q.Class,
		priority: q.Priority, runs: none, prev: none, next: none}
	s.handOver = r.handing
	if h := r.received; h != nil {
		s.start, s.firstToken, s.lastToken, s.cached = h.StartNanos, h.FirstTokenNanos, h.FirstTokenNanos, h.CachedTokens
		s.generated, s.target, s.arrived = 1, s.in+1, s.in
	}
	if s.timeout > 0 {
		s.deadline = s.arrival + s.timeout - r.overhead
		r.deadlines.push(timer{s.deadline, s.serial, i})
	}
	s.runs = r.addRuns(q)
	ahead := r.waitingLive
	r.waiting.push(i, s)
	r.waitingLive++
	r.outstandingTokens += int64(s.in)
	r.rec.move(now, 1, 0)
	switch r.plan.kind {
	case idle:
		r.plan = plan{kind: wake, end: instant{ns: now}}
	case prefil:
		s.planned = r.plan.end.ns
	case leap:
		if r.engine.AsyncScheduling {
			s.planned = r.boundaryAt(now)
		}
		first := ahead == 0 || r.waiting.byPriority && r.waiting.peek() == i
		if first && r.running < r.maxSequences && r.policy.open(r) {
			r.cut(r.firstChance(now, s))
		}
		if s.deadline < never {
			r.cut(max(now, s.deadline+1))
		}
	}
}

// refuse returns why a request can't be taken.
func (r *Replica) refuse(q *workload.Request) Reason {
	total := int64(q.InputTokens) + int64(q.OutputTokens)
	switch {
	case total > r.maxTokens:
		return TooLong
	case !r.engine.ChunkedPrefill && total > int64(r.engine.MaxBatchedTokens):
		return OverBudget
	case !r.pool.unbounded && r.pool.weights.ofTokens(r.tokensToEnd(q.InputTokens, q.OutputTokens)) > r.pool.capacity:
		return OverKVCache
	case r.engine.QueueLimit > 0 && r.waitingLive >= r.engine.QueueLimit:
		return QueueFull
	}
	return Accepted
}

// tokensToEnd is how many tokens need KV blocks when a request ends: what speculation drafts beyond the answer included.
func (r *Replica) tokensToEnd(in, out int32) int64 {
	steps := r.stepsFor(int64(out) - 1)
	return int64(in) + (steps*r.advance+r.unit-1)/r.unit + int64(r.engine.Speculative.Draft)
}

// stepsFor is how many decode steps so many tokens take.
func (r *Replica) stepsFor(tokens int64) int64 { return (tokens*r.unit + r.advance - 1) / r.advance }

func (r *Replica) reject(now int64, q *workload.Request, reason Reason) {
	r.rec.reject(q, r.index, reason, now)
	if r.OnLeave != nil {
		r.request = *q
		r.request.Blocks = nil
		r.OnLeave(&r.request, Rejected, now)
	}
}

// cut shortens a leap to end at its first step boundary at or after a time.
func (r *Replica) cut(at int64) {
	p := &r.plan
	if p.steps <= 1 || p.end.ns <= at {
		return
	}
	p.steps = p.stepsToCover((at-r.now.ns)<<tickBits-r.now.ticks, p.steps)
	p.end = r.now.plus(p.sum(p.steps))
}

// boundaryAt is the first step boundary of the leap planned at or after a time.
func (r *Replica) boundaryAt(at int64) int64 {
	p := &r.plan
	return r.now.plus(p.sum(p.stepsToCover((at-r.now.ns)<<tickBits-r.now.ticks, p.steps))).ns
}

// firstChance is the time at or after which the boundary lies at which a request that comes now can join.
func (r *Replica) firstChance(now int64, s *slot) int64 {
	if r.engine.AsyncScheduling {
		return max(s.planned+1, r.receive.after(r, now))
	}
	return r.receive.after(r, now)
}

// Advance carries out what ends at Next and plans what follows.
func (r *Replica) Advance() error {
	end := r.plan.end
	switch r.plan.kind {
	case idle:
		return nil
	case wake:
		r.now = end
	case leap:
		r.commitLeap(r.plan.steps)
		r.boundary()
	case prefil:
		r.commitPrefill()
		r.boundary()
		r.endChunks()
	}
	r.plan.kind = idle
	r.schedule()
	return r.err
}

// Settle stops the replica at a time before Next: steps that have ended by then count, the one in progress does not.
func (r *Replica) Settle(at int64) {
	if r.plan.kind != leap || r.plan.end.ns <= at {
		return
	}
	done := r.plan.stepsToCover((at-r.now.ns)<<tickBits-r.now.ticks, r.plan.steps)
	for done > 0 && r.now.plus(r.plan.sum(done)).ns > at {
		done--
	}
	if done > 0 {
		r.commitLeap(done)
	}
}
