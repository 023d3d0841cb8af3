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
	Central          Routing = "central-queue"     // requests wait at the router until a replica has a free sequence slot
)

// router picks replicas. Loads change when a request is routed and when it leaves.
type router interface {
	// pick returns the replica for a request, or -1 when it has to wait at the router.
	pick(q *workload.Request) int
	routed(i int, q *workload.Request)
	left(i int, q *workload.Request)
	// blind reports that the rule does not look at loads, so that nobody has to tell it who left.
	blind() bool
}

func newRouter(c *Config) (router, error) {
	n := c.Replicas
	switch c.Routing {
	case RoundRobin, "":
		return &roundRobin{n: n}, nil
	case Random:
		return &randomRouter{n, random.New(c.Seed, c.Replication, "routing")}, nil
	case LeastOutstanding:
		return &least{heap: newIndexHeap(n, 0), weight: one}, nil
	case LeastTokens:
		return &least{heap: newIndexHeap(n, 0), weight: promptTokens}, nil
	case PowerOfTwo:
		return &powerOfTwo{load: make([]int32, n), stream: random.New(c.Seed, c.Replication, "routing")}, nil
	case Central:
		return &least{heap: newIndexHeap(n, 0), weight: one, limit: int64(c.Replica.Engine.MaxSequences)}, nil
	}
	return nil, fmt.Errorf("fleet.routing: %q is none of %s, %s, %s, %s, %s, %s", c.Routing, RoundRobin, Random, LeastOutstanding, PowerOfTwo, LeastTokens, Central)
}

type roundRobin struct{ n, next int }

func (r *roundRobin) pick(*workload.Request) int {
	i := r.next
	if r.next++; r.next == r.n {
		r.next = 0
	}
	return i
}
func (*roundRobin) routed(int, *workload.Request) {}
func (*roundRobin) left(int, *workload.Request)   {}
func (*roundRobin) blind() bool                   { return true }

type randomRouter struct {
	n      int
	stream *random.Stream
}

func (r *randomRouter) pick(*workload.Request) int  { return r.stream.IntN(r.n) }
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
	if l.limit > 0 && load >= l.limit {
		return -1
	}
	return i
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
	load   []int32
	stream *random.Stream
}

func (p *powerOfTwo) pick(*workload.Request) int {
	a, b := p.stream.IntN(len(p.load)), p.stream.IntN(len(p.load))
	if p.load[b] < p.load[a] {
		return b
	}
	return a
}
func (p *powerOfTwo) routed(i int, _ *workload.Request) { p.load[i]++ }
func (p *powerOfTwo) left(i int, _ *workload.Request)   { p.load[i]-- }
func (*powerOfTwo) blind() bool                         { return false }

func (*least) blind() bool { return false }
