package sim

// commitLeap carries out m steps of the decode set.
func (r *Replica) commitLeap(m int64) {
	p, d := &r.plan, &r.decode
	r.receive.pass(r, m)
	r.pool.take(r.growth(m) - r.taken)
	r.taken = 0
	ticks := p.sum(m)
	end := r.now.plus(ticks)
	r.rec.step(stepRecord{start: r.now.ns, end: end.ns, steps: m, sequences: m * d.n, decoding: d.n,
		decoded: float64(m*d.n*r.advance) / float64(r.unit), progression: p.progression,
		work: r.workOf(m, float64(ticks)*tickSeconds), used: r.share(p.used), usedAfter: r.share(r.pool.used())})
	d.pass(m, r.advance)
	r.now = end
}

// commitPrefill carries out a step with prefill.
func (r *Replica) commitPrefill() {
	p, d := &r.plan, &r.decode
	r.receive.since = 0
	r.taken = 0
	r.rec.step(stepRecord{start: r.now.ns, end: p.end.ns, steps: 1, sequences: d.n + int64(len(r.chunks)), decoding: d.n,
		decoded: float64(d.n*r.advance) / float64(r.unit), progression: p.progression,
		work: p.work, prefill: p.prefill, used: r.share(p.used), usedAfter: r.share(p.used)})
	d.pass(1, r.advance)
	r.now = p.end
}

// share is KV weight over the pool's.
func (r *Replica) share(weight int64) float64 {
	if r.pool.unbounded {
		return 0
	}
	return float64(weight) / float64(r.pool.capacity)
}

// boundary does what is due at a step boundary: windows reached, clients gone, answers complete.
func (r *Replica) boundary() {
	d := &r.decode
	for r.due(&d.windows) <= d.step {
		i := d.windows[0].idx
		d.windows.pop()
		r.saturate(i)
	}
	for r.nextDeadline() <= r.now.ns {
		i := r.deadlines[0].idx
		r.deadlines.pop()
		r.giveUp(i)
	}
	for r.due(&d.ends) <= d.step {
		i := d.ends[0].idx
		d.ends.pop()
		r.leaveDecode(i)
		if s := &r.slots[i]; s.runs != none {
			r.register(s, int32(computedTokens(s.in, s.out)/int64(r.engine.BlockTokens)))
		}
		r.finish(i, Finished)
	}
}

// giveUp drops a request whose client has gone.
func (r *Replica) giveUp(i int32) {
	s := &r.slots[i]
	if !s.running {
		s.dead = true
		r.waitingLive--
		r.rec.move(r.now.ns, -1, 0)
		r.leave(i, TimedOut)
		s.serial = -1 // the slot is freed when the queue meets it
		return
	}
	if s.join >= 0 {
		r.quitDecode(i)
	}
	r.finish(i, TimedOut)
}

// endChunks ends the prefill of the chunks just computed: the first token of a request leaves here.
func (r *Replica) endChunks() {
	for _, c := range r.chunks {
		s := &r.slots[c.idx]
		if s.serial < 0 || s.computed < s.target { // gave up meanwhile, or more to come
			continue
		}
		s.generated++
		if s.firstToken < 0 {
			s.firstToken = r.now.ns
			r.rec.first(r.now.ns, s.in)
		} else {
			r.rec.gap(r.now.ns, r.now.ns-s.lastToken)
		}
		if s.generated >= s.out {
			r.finish(c.idx, Finished)
		} else {
			r.joinDecode(c.idx)
		}
	}
}

// finish ends a running request that is not in the decode set any more.
func (r *Replica) finish(i int32, outcome Outcome) {
	r.letGo(i)
	r.rec.move(r.now.ns, 0, -1)
	r.leave(i, outcome)
	r.releaseSlot(i)
}

// leave records the end of a request.
func (r *Replica) leave(i int32, outcome Outcome) {
	s := &r.slots[i]
	r.outstandingTokens -= int64(s.in)
	if s.handOver > 0 && outcome == Finished {
		r.hand(s)
		return
	}
	r.rec.leave(s, r.index, outcome, r.now.ns, r.overhead)
	if r.OnLeave != nil {
		s.request(&r.request)
		r.OnLeave(&r.request, outcome, r.now.ns+r.overhead)
	}
}

// hand passes a request on after its first token.
func (r *Replica) hand(s *slot) {
	s.request(&r.request)
	r.request.OutputTokens = s.handOver
	r.handed = Handed{Request: r.request, StartNanos: s.start, FirstTokenNanos: s.firstToken, CachedTokens: s.cached}
	if r.OnLeave != nil {
		r.OnLeave(&r.request, Finished, r.now.ns)
	}
}
