package fleet

import (
	"fmt"

	"scoville/model/random"
	"scoville/model/workload"
)

// Routing names how requests are spread over replicas. No rule knows the length of an answer.
type Routing string

// The routing rules.
const (
	RoundRobin       Routing = "round-robin"
	Random           Routing = "random"
	LeastOutstanding Routing = "least-outstanding" // fewest requests in flight; ties to the one routed to longest ago
	PowerOfTwo       Routing = "power-of-two"      // the less loaded of two drawn at random
	LeastTokens      Routing = "least-tokens"      // join the shortest queue by prompt tokens in flight
	SessionAffinity  Routing = "session-affinity"  // a session stays where it began; without a session as least-outstanding
	PrefixAware      Routing = "prefix-aware"      // where the longest head of the prompt went last, unless that replica is overloaded
	Central          Routing = "central-queue"     // requests wait at the router until a replica has a free sequence slot
)

// router picks replicas. Loads change when a request is routed and when it leaves.
type router interface {
	// pick returns the replica for a request, or -1 when it has to wait at the router.
	pick(q *workload.Request) int
	routed(i int, q *workload.Request)
	left(i int, q *workload.Request)
	// available takes a replica out of the choice, or puts it back.
	available(i int, up bool)
	// blind reports that the rule does not look at loads, so that nobody has to tell it who left.
	blind() bool
}

func newRouter(c *Config) (router, error) {
	n := c.Replicas
	switch c.Routing {
	case RoundRobin, "":
		return &roundRobin{n: n, mask: newMask(n)}, nil
	case Random:
		return &randomRouter{newMask(n), n, random.New(c.Seed, c.Replication, "routing")}, nil
	case LeastOutstanding:
		return &least{heap: newIndexHeap(n, 0), weight: one}, nil
	case LeastTokens:
		return &least{heap: newIndexHeap(n, 0), weight: promptTokens}, nil
	case PowerOfTwo:
		return &powerOfTwo{mask: newMask(n), load: make([]int32, n), stream: random.New(c.Seed, c.Replication, "routing")}, nil
	case SessionAffinity:
		return &affinity{least: least{heap: newIndexHeap(n, 0), weight: one}, mask: newMask(n)}, nil
	case PrefixAware:
		return newPrefixAware(n), nil
	case Central:
		return &least{heap: newIndexHeap(n, 0), weight: one, limit: int64(c.Replica.Engine.MaxSequences)}, nil
	}
	return nil, fmt.Errorf("fleet.routing: %q is none of %s, %s, %s, %s, %s, %s, %s, %s", c.Routing, RoundRobin, Random, LeastOutstanding, PowerOfTwo, LeastTokens, SessionAffinity, PrefixAware, Central)
}

// mask skips replicas that are not available.
type mask struct {
	down []bool
	some int // down
}

func newMask(n int) mask { return mask{down: make([]bool, n)} }

func (m *mask) available(i int, up bool) {
	if m.down[i] == !up {
		return
	}
	m.down[i] = !up
	if up {
		m.some--
	} else {
		m.some++
	}
}

// skip returns i or the next available replica after it, -1 when there is none.
func (m *mask) skip(i int) int {
	if m.some == 0 || !m.down[i] {
		return i
	}
	for k := range m.down {
		if j := (i + k) % len(m.down); !m.down[j] {
			return j
		}
	}
	return -1
}

type roundRobin struct {
	mask
	n, next int
}

func (r *roundRobin) pick(*workload.Request) int {
	i := r.next
	if r.next++; r.next == r.n {
		r.next = 0
	}
	return r.skip(i)
}
func (*roundRobin) routed(int, *workload.Request) {}
func (*roundRobin) left(int, *workload.Request)   {}
func (*roundRobin) blind() bool                   { return true }

type randomRouter struct {
	mask
	n      int
	stream *random.Stream
}

func (r *randomRouter) pick(*workload.Request) int  { return r.skip(r.stream.IntN(r.n)) }
func (*randomRouter) routed(int, *workload.Request) {}
func (*randomRouter) left(int, *workload.Request)   {}
func (*randomRouter) blind() bool                   { return true }

// least picks the replica of least load. With a limit it picks none at or above it.
type least struct {
	heap   *indexHeap
	weight func(*workload.Request) int64
	limit  int64
	turn   int64
}

func one(*workload.Request) int64            { return 1 }
func promptTokens(q *workload.Request) int64 { return int64(q.InputTokens) }

func (l *least) pick(*workload.Request) int {
	i, load := l.heap.first()
	if l.limit > 0 && load >= l.limit || load >= unavailable/2 {
		return -1
	}
	return i
}

// unavailable is added to the load of a replica that must not be picked.
const unavailable = 1 << 50

func (l *least) available(i int, up bool) {
	load, tie := l.heap.of(i)
	switch {
	case up && load >= unavailable/2:
		l.heap.set(i, load-unavailable, tie)
	case !up && load < unavailable/2:
		l.heap.set(i, load+unavailable, tie)
	}
}

func (l *least) routed(i int, q *workload.Request) {
	load, _ := l.heap.of(i)
	l.turn++
	l.heap.set(i, load+l.weight(q), int64(len(l.heap.place))+l.turn)
}

func (l *least) left(i int, q *workload.Request) {
	load, tie := l.heap.of(i)
	l.heap.set(i, load-l.weight(q), tie)
}

type powerOfTwo struct {
	mask
	load   []int32
	stream *random.Stream
}

func (p *powerOfTwo) pick(*workload.Request) int {
	a, b := p.stream.IntN(len(p.load)), p.stream.IntN(len(p.load))
	if p.load[b] < p.load[a] {
		a = b
	}
	return p.skip(a)
}
func (p *powerOfTwo) routed(i int, _ *workload.Request) { p.load[i]++ }
func (p *powerOfTwo) left(i int, _ *workload.Request)   { p.load[i]-- }
func (*powerOfTwo) blind() bool                         { return false }

func (*least) blind() bool { return false }
