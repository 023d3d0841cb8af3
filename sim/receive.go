package sim

// receive decides which waiting requests a scheduler that looks for new ones only now and then has seen, see Engine.ReceiveInterval.
type receive struct {
	every int64 // decode steps between two looks; 1 or less: each step
	since int64 // decode steps since the last
	known int64 // requests up to this serial were seen at a boundary where the replica planned
	until int64 // so were those submitted up to this time, ns: a look within a leap, at which nobody could be admitted
}

// pass counts m decode steps from the start of a leap. Looks before its end are remembered by their time.
func (c *receive) pass(r *Replica, m int64) {
	if c.every <= 1 {
		return
	}
	if last := (c.since+m-1)/c.every*c.every - c.since; last > 0 {
		c.until = r.now.plus(r.plan.sum(last)).ns
	}
	c.since = (c.since + m) % c.every
}

// look takes in all that waits, if it is time: after so many decode steps, after a step with prefill, or when nothing runs.
func (c *receive) look(r *Replica) {
	if c.since == 0 || r.running == 0 {
		c.since, c.known = 0, r.serial
	}
}

// seen reports whether the scheduler knows of a waiting request.
func (c *receive) seen(s *slot) bool {
	return c.every <= 1 || s.serial <= c.known || s.submitted <= c.until
}

// left is how many decode steps it is to the next look.
func (c *receive) left() int64 { return max(1, c.every-c.since) }

// after is the time of the first boundary of the leap planned, at or after a time, at which the scheduler looks; the leap's end if
// there is none.
func (c *receive) after(r *Replica, at int64) int64 {
	p := &r.plan
	if c.every <= 1 || p.end.ns <= at {
		return at
	}
	k := p.stepsToCover((at-r.now.ns)<<tickBits-r.now.ticks, p.steps)
	if over := (c.since + k) % c.every; over > 0 {
		k += c.every - over
	}
	if k >= p.steps {
		return p.end.ns
	}
	return r.now.plus(p.sum(k)).ns
}
