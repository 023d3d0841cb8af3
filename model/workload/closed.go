package workload

import (
	"scoville/model/random"
)

// closedLoop keeps a fixed number of clients. A client sends, waits for the answer, thinks, and sends again.
type closedLoop struct {
	draw    drawer
	limit   limit
	think   *quantile
	thinks  *random.Stream
	pending arrivalHeap
	serial  int64
}

func newClosedLoop(w *Workload, c *compiled, o SourceOptions) *closedLoop {
	spec := w.Arrivals.ClosedLoop
	n := o.Concurrency
	if n == 0 {
		n = spec.Concurrency
	}
	s := &closedLoop{draw: newDrawer(c, o), limit: newLimit(o), think: c.think, thinks: random.New(o.Seed, o.Replication, "think times")}
	for i := range n {
		at := int64(0)
		if !spec.InitialBurst {
			at = int64(spec.RampSeconds * 1e9 * float64(i) / float64(n))
		}
		s.push(at)
	}
	return s
}

func (s *closedLoop) push(at int64) {
	s.serial++
	s.pending.push(arrival{at: at, serial: s.serial})
}

func (s *closedLoop) Err() error { return nil }

func (s *closedLoop) Peek() (int64, bool) {
	if len(s.pending) == 0 || s.limit.issued >= s.limit.requests || s.pending[0].at > s.limit.nanos {
		return 0, false
	}
	return s.pending[0].at, true
}

// Next draws the request when it is sent: the n-th sent is the same whatever the system, which client sends it is not.
func (s *closedLoop) Next(r *Request) bool {
	at, ok := s.Peek()
	if !ok {
		return false
	}
	s.pending.pop()
	s.limit.issued++
	s.draw.request(r)
	r.ID = s.limit.issued
	r.ArrivalNanoseconds = at
	return true
}

func (s *closedLoop) Done(_ *Request, at int64) {
	if s.think != nil {
		at += int64(s.think.at(s.thinks.Open()) * 1e9)
	}
	s.push(at)
}

// arrival is an event to come: a small pointer-free value. Ties break by serial number.
type arrival struct {
	at, serial int64
	slot       int32
}

// arrivalHeap is a binary heap by (at, serial).
type arrivalHeap []arrival

func (h arrivalHeap) less(i, j int) bool {
	return h[i].at < h[j].at || (h[i].at == h[j].at && h[i].serial < h[j].serial)
}

func (h *arrivalHeap) push(a arrival) {
	*h = append(*h, a)
	x := *h
	for i := len(x) - 1; i > 0; {
		parent := (i - 1) / 2
		if !x.less(i, parent) {
			break
		}
		x[i], x[parent] = x[parent], x[i]
		i = parent
	}
}

func (h *arrivalHeap) pop() arrival {
	x := *h
	top, last := x[0], len(x)-1
	x[0] = x[last]
	x = x[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && x.less(child+1, child) {
			child++
		}
		if !x.less(child, i) {
			break
		}
		x[i], x[child] = x[child], x[i]
		i = child
	}
	*h = x
	return top
}
