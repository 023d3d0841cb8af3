package sim

import "scoville/model/workload"

// SubmitPrefill hands the replica a request of which it computes the prompt and gives the first token; the rest of the answer is for
// another replica, see SubmitDecode. OnLeave is told Finished when the first token is out, with the whole request; the recorder hears of the
// request's end from the other replica. A request of one token ends here.
func (r *Replica) SubmitPrefill(now int64, q *workload.Request) {
	if q.OutputTokens <= 1 {
		r.Submit(now, q)
		return
	}
	first := *q
	first.OutputTokens = 1
	r.handing = q.OutputTokens
	r.Submit(now, &first)
	r.handing = 0
}

// Handed is a request whose prompt another replica has computed.
type Handed struct {
	workload.Request
	StartNanos, FirstTokenNanos int64 // there, engine time
	CachedTokens                int32
}

// Handed returns what the replica that takes over the request now leaving needs to know; it is valid within OnLeave.
func (r *Replica) Handed() Handed { return r.handed }

// SubmitDecode takes over a request whose prompt and first token are done and whose KV cache has arrived. What has arrived takes blocks
// like any other, and is lost on preemption.
func (r *Replica) SubmitDecode(now int64, h *Handed) {
	if reason := r.refuse(&h.Request); reason != Accepted {
		r.reject(now, &h.Request, reason)
		return
	}
	r.received = h
	r.submit(now, &h.Request)
	r.received = nil
}

// Abandon loses all requests in flight, as a failure does, and tells each of them. The recorder forgets that they came: whoever submits
// them again lets them arrive again. The replica must not be used afterwards.
func (r *Replica) Abandon(now int64, each func(q *workload.Request)) {
	r.rec.move(now, -int64(r.waitingLive), -int64(r.running))
	for i := range r.slots {
		s := &r.slots[i]
		if s.serial < 0 || s.dead {
			continue
		}
		r.rec.withdraw(s.arrival)
		s.request(&r.request)
		if s.handOver > 0 {
			r.request.OutputTokens = s.handOver
		}
		each(&r.request)
	}
	r.waitingLive, r.running, r.outstandingTokens = 0, 0, 0
	r.plan = plan{}
	r.slots = nil
}

// withdraw forgets that a request arrived, because it will be submitted again.
func (c *Recorder) withdraw(arrival int64) {
	c.totals.arrived--
	c.at(arrival).offered--
}

// SetIdleWatts replaces the draw of all replicas together when none works, where they differ.
func (c *Recorder) SetIdleWatts(watts float64) { c.idle = watts }

// NewReplicaLike returns an idle replica in the place of one that failed.
func NewReplicaLike(cfg Config, old *Replica) (*Replica, error) {
	r, err := NewReplica(cfg, int(old.index), old.rec)
	if err == nil {
		r.costs, r.OnLeave = old.costs, old.OnLeave
	}
	return r, err
}
