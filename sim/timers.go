package sim

// timer is a pointer-free heap entry: something that happens to slot idx at key. seq breaks ties and, compared with the slot's own,
// tells a live timer from a stale one (lazy cancellation).
type timer struct {
	key, seq int64
	idx      int32
}

func (t timer) before(u timer) bool { return t.key < u.key || t.key == u.key && t.seq < u.seq }

// timers is a binary heap of values with hole-moving sift: no boxing, no allocation once grown.
type timers []timer

func (h *timers) push(t timer) {
	*h = append(*h, t)
	a := *h
	i := len(a) - 1
	for i > 0 {
		p := (i - 1) / 2
		if !t.before(a[p]) {
			break
		}
		a[i] = a[p]
		i = p
	}
	a[i] = t
}

// pop removes the first timer, a[0].
func (h *timers) pop() {
	a := *h
	n := len(a) - 1
	t := a[n]
	*h = a[:n]
	if n == 0 {
		return
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && a[c+1].before(a[c]) {
			c++
		}
		if !a[c].before(t) {
			break
		}
		a[i] = a[c]
		i = c
	}
	a[i] = t
}
