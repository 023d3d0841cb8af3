package fleet

// indexHeap orders replicas by a key that changes: a binary heap of entries with the place of each index. Ties go to the lesser tie
// number. Entries hold their keys, so that sifting stays within one array.
type indexHeap struct {
	entries []heapEntry
	place   []int32
}

type heapEntry struct {
	key, tie int64
	index    int32
}

func (a *heapEntry) before(b *heapEntry) bool {
	return a.key < b.key || a.key == b.key && a.tie < b.tie
}

func newIndexHeap(n int, key int64) *indexHeap {
	h := &indexHeap{make([]heapEntry, n), make([]int32, n)}
	for i := range n {
		h.entries[i] = heapEntry{key, int64(i), int32(i)}
		h.place[i] = int32(i)
	}
	return h
}

// first returns the index of least key, and its key.
func (h *indexHeap) first() (index int, key int64) {
	return int(h.entries[0].index), h.entries[0].key
}

// of returns the key and tie number of an index.
func (h *indexHeap) of(i int) (key, tie int64) {
	e := &h.entries[h.place[i]]
	return e.key, e.tie
}

// set gives an index a new key and tie number.
func (h *indexHeap) set(i int, key, tie int64) {
	p := int(h.place[i])
	x := heapEntry{key, tie, int32(i)}
	e := h.entries
	for p > 0 {
		up := (p - 1) / 2
		if !x.before(&e[up]) {
			break
		}
		e[p] = e[up]
		h.place[e[p].index] = int32(p)
		p = up
	}
	for {
		c := 2*p + 1
		if c >= len(e) {
			break
		}
		if c+1 < len(e) && e[c+1].before(&e[c]) {
			c++
		}
		if !e[c].before(&x) {
			break
		}
		e[p] = e[c]
		h.place[e[p].index] = int32(p)
		p = c
	}
	e[p] = x
	h.place[i] = int32(p)
}
