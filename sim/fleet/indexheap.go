package fleet

// indexHeap orders replicas by a key that changes: a binary heap of indices with the place of each. Ties go to the lesser tie number.
type indexHeap struct {
	key, tie []int64
	order    []int32
	place    []int32
}

func newIndexHeap(n int, key int64) *indexHeap {
	h := &indexHeap{make([]int64, n), make([]int64, n), make([]int32, n), make([]int32, n)}
	for i := range n {
		h.key[i], h.tie[i] = key, int64(i)
		h.order[i], h.place[i] = int32(i), int32(i)
	}
	return h
}

// first returns the index of least key.
func (h *indexHeap) first() int { return int(h.order[0]) }

func (h *indexHeap) less(a, b int32) bool {
	return h.key[a] < h.key[b] || h.key[a] == h.key[b] && h.tie[a] < h.tie[b]
}

// set gives an index a new key and tie number.
func (h *indexHeap) set(i int, key, tie int64) {
	if h.key[i] == key && h.tie[i] == tie {
		return
	}
	h.key[i], h.tie[i] = key, tie
	x, p := int32(i), int(h.place[i])
	for p > 0 {
		up := (p - 1) / 2
		if !h.less(x, h.order[up]) {
			break
		}
		h.put(p, h.order[up])
		p = up
	}
	for {
		c := 2*p + 1
		if c >= len(h.order) {
			break
		}
		if c+1 < len(h.order) && h.less(h.order[c+1], h.order[c]) {
			c++
		}
		if !h.less(h.order[c], x) {
			break
		}
		h.put(p, h.order[c])
		p = c
	}
	h.put(p, x)
}

func (h *indexHeap) put(p int, i int32) { h.order[p], h.place[i] = i, int32(p) }
