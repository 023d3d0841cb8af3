package fleet

import "scoville/model/workload"

// affinity keeps the requests of a session on one replica, by a hash of the session: no table to keep, and the same for any number of
// sessions. Where the replica is not available its requests go to the next one that is.
type affinity struct {
	least
	mask
}

func (a *affinity) pick(q *workload.Request) int {
	if q.Session == 0 {
		return a.least.pick(q)
	}
	return a.skip(int(mix(uint64(q.Session)) % uint64(len(a.down))))
}

func (a *affinity) available(i int, up bool) {
	a.least.available(i, up)
	a.mask.available(i, up)
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// prefixAware sends a request where the longest head of its prompt went last, since that replica's cache may still hold it, unless the
// replica has far more in flight than the least loaded. It remembers a bounded number of heads: when a generation is full the one before it
// is forgotten.
type prefixAware struct {
	least
	mask
	young, old map[uint64]int32
}

const (
	rememberedHeads = 1 << 18 // of a generation
	overloadFactor  = 1.5     // times the least load, and overloadRoom more
	overloadRoom    = 8
)

func newPrefixAware(n int) *prefixAware {
	return &prefixAware{least: least{heap: newIndexHeap(n, 0), weight: one}, mask: newMask(n), young: map[uint64]int32{}, old: map[uint64]int32{}}
}

func (p *prefixAware) pick(q *workload.Request) int {
	best := p.least.pick(q)
	if best < 0 {
		return best
	}
	chain, at := uint64(0), int32(-1)
	for _, b := range q.Blocks {
		chain = mix(chain ^ b.Key)
		i, ok := p.young[chain]
		if !ok {
			if i, ok = p.old[chain]; !ok {
				break
			}
		}
		at = i
	}
	if at < 0 || p.down[at] {
		return best
	}
	load, _ := p.heap.of(int(at))
	lowest, _ := p.heap.of(best)
	if float64(load) > overloadFactor*float64(lowest)+overloadRoom {
		return best
	}
	return int(at)
}

func (p *prefixAware) routed(i int, q *workload.Request) {
	p.least.routed(i, q)
	chain := uint64(0)
	for _, b := range q.Blocks {
		chain = mix(chain ^ b.Key)
		p.young[chain] = int32(i)
	}
	if q.OutputKey != 0 {
		p.young[mix(chain^q.OutputKey)] = int32(i)
	}
	if len(p.young) > rememberedHeads {
		p.old, p.young = p.young, make(map[uint64]int32, rememberedHeads)
	}
}

func (p *prefixAware) available(i int, up bool) {
	p.least.available(i, up)
	p.mask.available(i, up)
}
