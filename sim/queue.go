package sim

// waitQueue holds the slots of waiting requests: first come, first served with a way back to the front for preempted ones, or by
// (priority, order of submission). Requests that gave up stay in it, marked dead, until they are met.
type waitQueue struct {
	byPriority bool
	heap       timers
	ring       []int32 // power of two long
	head, n    int
}

func (q *waitQueue) push(i int32, s *slot) {
	if q.byPriority {
		q.heap.push(timer{int64(s.priority), s.serial, i})
		return
	}
	q.grow()
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = i
	q.n++
}

// pushFront returns a preempted request to the place it had.
func (q *waitQueue) pushFront(i int32, s *slot) {
	if q.byPriority {
		q.heap.push(timer{int64(s.priority), s.serial, i})
		return
	}
	q.grow()
	q.head = (q.head - 1) & (len(q.ring) - 1)
	q.ring[q.head] = i
	q.n++
}

func (q *waitQueue) grow() {
	if q.n < len(q.ring) {
		return
	}
	ring := make([]int32, max(16, 2*len(q.ring)))
	for k := range q.n {
		ring[k] = q.ring[(q.head+k)&(len(q.ring)-1)]
	}
	q.ring, q.head = ring, 0
}

// peek returns the first slot, or none.
func (q *waitQueue) peek() int32 {
	if q.byPriority {
		if len(q.heap) == 0 {
			return none
		}
		return q.heap[0].idx
	}
	if q.n == 0 {
		return none
	}
	return q.ring[q.head]
}

// pop removes the first slot.
func (q *waitQueue) pop() {
	if q.byPriority {
		q.heap.pop()
		return
	}
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
}
