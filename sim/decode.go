package sim

import "scoville/hardware"

// decodeSet is the sequences that get tokens in every step, as counters: a step changes none of the slots.
type decodeSet struct {
	n             int64
	step          int64 // steps so far in which the set took part
	phase         int64 // units gained so far by every sequence, modulo the block
	units         int64 // context of all sequences
	unitsWin      int64 // the same, each cut at the window
	ends          timers
	windows       timers // when sequences reach the window
	stale         int    // timers at most that belong to sequences gone before their time
	blocks        residues
	growingBlocks residues // of the sequences below the window
}

func newDecodeSet(unitsPerBlock int64) decodeSet {
	return decodeSet{blocks: newResidues(unitsPerBlock), growingBlocks: newResidues(unitsPerBlock)}
}

// place returns where in its last block a sequence stood when it joined: (units held - 1) mod block.
func (r *Replica) place(s *slot) int64 {
	return (s.context + int64(r.engine.Speculative.Draft)*r.unit - 1) % r.decode.blocks.size
}

// position is place less the phase of that time: how residues count it.
func (r *Replica) position(s *slot) int64 {
	size := r.decode.blocks.size
	p := (r.place(s) - s.joinStep*r.advance) % size
	if p < 0 {
		p += size
	}
	return p
}

// counted reports whether the decode set takes blocks as it goes.
func (r *Replica) counted() bool { return !r.pool.unbounded && !r.policy.reserves() }

// joinDecode puts a sequence whose prefill is done in the decode set.
func (r *Replica) joinDecode(i int32) {
	s, d := &r.slots[i], &r.decode
	s.context = int64(s.target) * r.unit
	s.joinStep = d.step
	s.join = r.joins
	r.joins++
	d.n++
	d.units += s.context
	d.ends.push(timer{d.step + r.stepsFor(int64(s.out-s.generated)), s.join, i})
	if r.counted() {
		d.blocks.add(r.position(s), 1)
	}
	if r.window == 0 {
		return
	}
	if s.growing = s.context < r.window; s.growing {
		d.unitsWin += s.context
		d.windows.push(timer{d.step + (r.window-s.context+r.advance-1)/r.advance, s.join, i})
		d.growingBlocks.add(r.position(s), 1)
	} else {
		d.unitsWin += r.window
	}
}

// quitDecode takes a sequence out before its end: the timer of that turns stale.
func (r *Replica) quitDecode(i int32) {
	r.decode.stale++
	r.leaveDecode(i)
}

// leaveDecode takes a sequence out and settles its context, tokens and blocks.
func (r *Replica) leaveDecode(i int32) {
	s, d := &r.slots[i], &r.decode
	gained := (d.step - s.joinStep) * r.advance
	context := s.context + gained
	d.n--
	d.units -= context
	if r.counted() {
		d.blocks.add(r.position(s), -1)
		s.private += r.grown(s, gained)
	}
	if r.window > 0 {
		if s.growing {
			d.stale++ // its window timer
			d.unitsWin -= context
			d.growingBlocks.add(r.position(s), -1)
		} else {
			d.unitsWin -= r.window
		}
	}
	left := int64(s.out - s.generated)
	r.rec.overshoot(r.now.ns, float64(gained)/float64(r.unit)-float64(min(left, gained/r.unit)))
	s.generated += int32(min(left, gained/r.unit))
	s.join = -1
}

// grown is the weight of the blocks a sequence took in the decode set, window blocks of a saturated one excluded.
func (r *Replica) grown(s *slot, gained int64) int64 {
	w := r.pool.weights
	blocks := (r.place(s) + gained) / r.decode.blocks.size
	if s.growing {
		return (w.full + w.window) * blocks
	}
	return w.full * blocks
}

// saturate notes that a sequence has reached the window: from now on it reads no more there, and takes no more window blocks.
func (r *Replica) saturate(i int32) {
	s, d, w := &r.slots[i], &r.decode, r.pool.weights
	gained := (d.step - s.joinStep) * r.advance
	d.unitsWin += r.window - (s.context + gained)
	d.growingBlocks.add(r.position(s), -1)
	s.growing = false
	if r.counted() && w.window > 0 {
		size := d.blocks.size
		crossed := (r.place(s) + gained) / size
		before := min((s.context+int64(r.engine.Speculative.Draft)*r.unit+size-1)/size, w.windowBlocks)
		excess := max(0, before+crossed-w.windowBlocks) // drafts and whole steps overshoot
		s.private += w.window * (crossed - excess)
		r.pool.give(w.window * excess)
	}
}

// growth is the weight of the blocks that the decode set takes in its next m steps.
func (r *Replica) growth(m int64) int64 {
	if !r.counted() || r.decode.n == 0 {
		return 0
	}
	d, w := &r.decode, r.pool.weights
	g := w.full * d.blocks.crossings(m*r.advance, d.phase)
	if w.window > 0 {
		g += w.window * d.growingBlocks.crossings(m*r.advance, d.phase)
	}
	return g
}

// planLeap plans decode steps up to the next change that can be foreseen, at most limit.
func (r *Replica) planLeap(taken, limit int64) {
	d := &r.decode
	c := r.costOf(d.n)
	if r.err != nil {
		return
	}
	units := d.units + d.n*r.unit
	unitsWin := d.unitsWin + d.growingBlocks.n*r.unit
	p := progression{
		first: c.base + c.perUnit*units + c.perUnitWin*unitsWin,
		slope: (c.perUnit*d.n + c.perUnitWin*d.growingBlocks.n) * r.advance,
	}
	if estimate := float64(c.base) + float64(c.perUnit)*float64(units) + float64(c.perUnitWin)*float64(unitsWin); estimate > maxLeapTicks {
		_, r.err = toTicks(estimate * tickSeconds)
		return
	}
	m := min(limit, r.due(&d.ends)-d.step, r.due(&d.windows)-d.step)
	m = p.within(m)
	if free := r.pool.free + taken; r.growth(m) > free {
		low, high := int64(1), m // growth(low) fits, growth(high) does not
		for high-low > 1 {
			if middle := (low + high) / 2; r.growth(middle) <= free {
				low = middle
			} else {
				high = middle
			}
		}
		m = low
	}
	r.plan = plan{kind: leap, steps: m, progression: p, end: r.now.plus(p.sum(m)), used: r.pool.used()}
	r.cut(max(r.now.ns, min(r.rec.boundaryAfter(r.now.ns), r.nextDeadline())))
}

// due returns the key of the first live timer of the decode set, never if there is none.
func (r *Replica) due(h *timers) int64 {
	for len(*h) > 0 {
		t := (*h)[0]
		if r.decode.stale == 0 || r.slots[t.idx].join == t.seq { // spares a look into memory for most
			return t.key
		}
		h.pop()
		r.decode.stale--
	}
	return never
}

// nextDeadline returns the first time at which a client is known to have given up.
func (r *Replica) nextDeadline() int64 {
	for len(r.deadlines) > 0 {
		if t := r.deadlines[0]; r.slots[t.idx].serial == t.seq {
			return t.key + 1
		}
		r.deadlines.pop()
	}
	return never
}

// costTable holds decode costs by number of sequences, filled as they are needed.
type costTable struct{ of []decodeCost }

func (r *Replica) costOf(n int64) *decodeCost {
	for int64(len(r.costs.of)) <= n {
		r.costs.of = append(r.costs.of, decodeCost{})
	}
	c := &r.costs.of[n]
	if !c.known {
		*c, r.err = decodeCostOf(&r.engine, r.model, int(n), r.unit)
	}
	return c
}

// workOf is the work of m steps of the decode set from here.
func (r *Replica) workOf(m int64, seconds float64) hardware.Work {
	d := &r.decode
	c := &r.costs.of[d.n]
	steps, per := float64(m), 1/float64(r.unit)
	more := float64(r.advance) * (steps * (steps - 1) / 2) // units gained by a sequence, summed over the steps
	kv := (steps*float64(d.units+d.n*r.unit) + float64(d.n)*more) * per
	win := (steps*float64(d.unitsWin+d.growingBlocks.n*r.unit) + float64(d.growingBlocks.n)*more) * per
	return hardware.Work{
		Seconds: seconds,
		FLOPs:   steps*c.work.FLOPs + kv*c.perKV.FLOPs + win*c.perKVWin.FLOPs,
		Bytes:   steps*c.work.Bytes + kv*c.perKV.Bytes + win*c.perKVWin.Bytes,
		Joules:  steps*c.work.Joules + kv*c.perKV.Joules + win*c.perKVWin.Joules,
	}
}

// pass moves the decode set m steps on.
func (d *decodeSet) pass(m, advance int64) {
	d.step += m
	d.phase = (d.phase + m*advance) % d.blocks.size
	d.units += m * d.n * advance
	d.unitsWin += m * d.growingBlocks.n * advance
}
