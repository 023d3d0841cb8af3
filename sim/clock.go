package sim

import (
	"fmt"
	"math"

	"scoville/hardware"
)

// Time. Events are stamped in int64 nanoseconds. Step durations are kept in ticks of 2^-20 ns, and a decode step's duration is
// base + perKV x units read + perKVWin x window units read with all three coefficients rounded to whole ticks once for each batch
// size. Durations in a leap are then an integer arithmetic progression, so its closed-form sum equals the sum of its steps bit for
// bit: leaping and walking give the same clock, not just a close one. The rounding of a coefficient moves a step by less than
// 1e-6 of its time for any KV traffic above 0.5 ns a token.
const (
	tickBits       = 20
	ticksPerNano   = 1 << tickBits
	ticksPerSecond = 1e9 * ticksPerNano
	tickSeconds    = 1 / ticksPerSecond
	maxLeapTicks   = 1 << 61 // 2,199 s: longer leaps are cut
	maxStepSeconds = 2000
	never          = math.MaxInt64
	fineUnits      = 256 // units a token with speculative decoding, where steps yield a fraction of a token
)

// instant is a point in time: nanoseconds, and ticks below one.
type instant struct {
	ns    int64
	ticks int64
}

func (t instant) plus(ticks int64) instant {
	ticks += t.ticks
	return instant{t.ns + ticks>>tickBits, ticks & (ticksPerNano - 1)}
}

// progression is a leap: steps of duration first, first+slope, ... in ticks.
type progression struct{ first, slope int64 }

// sum returns the duration of the first m steps.
func (p progression) sum(m int64) int64 { return m*p.first + p.slope*(m*(m-1)/2) }

// within cuts m so that the sum stays below maxLeapTicks (and far from overflow); at least 1.
func (p progression) within(m int64) int64 {
	f, a := float64(p.first), float64(p.slope)/2
	if n := float64(m); n*f+a*n*(n-1) <= maxLeapTicks {
		return m
	}
	return max(1, min(m, int64(2*maxLeapTicks/(f-a+math.Sqrt((f-a)*(f-a)+4*a*maxLeapTicks)))))
}

// stepsToCover returns the least number of steps, in [1, limit], whose total reaches target ticks; limit if none does.
func (p progression) stepsToCover(target, limit int64) int64 {
	if target <= p.first || limit <= 1 {
		return 1
	}
	var j int64
	if p.slope == 0 {
		j = (target + p.first - 1) / p.first
	} else {
		a := float64(p.slope) / 2
		b := float64(p.first) - a
		r := float64(target)
		j = int64(2 * r / (b + math.Sqrt(b*b+4*a*r)))
	}
	j = max(1, min(j, limit))
	for j < limit && p.sum(j) < target {
		j++
	}
	for j > 1 && p.sum(j-1) >= target {
		j--
	}
	return j
}

// decodeCost is the cost of a pure decode step of a fixed number of sequences, linear in the units (parts of a token) read.
type decodeCost struct {
	known                     bool
	base, perUnit, perUnitWin int64 // ticks
	work, perKV, perKVWin     hardware.Work
}

// toTicks rounds seconds to ticks.
func toTicks(seconds float64) (int64, error) {
	if !(seconds >= 0 && seconds <= maxStepSeconds) {
		return 0, fmt.Errorf("sim: the step model says a step takes %g s; between 0 and %d s are possible", seconds, maxStepSeconds)
	}
	return int64(math.RoundToEven(seconds * ticksPerSecond)), nil
}

// decodeCostOf asks the step model for the cost of a decode step of n sequences.
func decodeCostOf(e *Engine, m hardware.StepModel, n int, units int64) (decodeCost, error) {
	d := m.Decode(n)
	if e.Speculative.Draft > 0 {
		d = speculativeCost(e.Speculative, m, n, d)
	}
	if e.WindowTokens == 0 { // min(context, window) is the context
		d.PerKV, d.PerKVWin = d.PerKV.Plus(d.PerKVWin), hardware.Work{}
	}
	c := decodeCost{known: true, work: d.Base, perKV: d.PerKV, perKVWin: d.PerKVWin}
	var err error
	for _, f := range []struct {
		ticks   *int64
		seconds float64
	}{{&c.base, d.Base.Seconds}, {&c.perUnit, d.PerKV.Seconds / float64(units)}, {&c.perUnitWin, d.PerKVWin.Seconds / float64(units)}} {
		if *f.ticks, err = toTicks(f.seconds); err != nil {
			return c, err
		}
	}
	if c.base+c.perUnit+c.perUnitWin == 0 {
		return c, fmt.Errorf("sim: the step model says a decode step of %d sequences takes no time", n)
	}
	return c, nil
}

// speculativeCost is a step that verifies 1 + draft tokens a sequence, and drafts them first. Step is linear in the KV tokens read
// (hardware.StepModel), so two points give its coefficients.
func speculativeCost(s Speculative, m hardware.StepModel, n int, plain hardware.DecodeWork) hardware.DecodeWork {
	const probe = 4096.0
	b := hardware.Batch{DecodeSequences: n, Speculative: 1 + s.Draft}
	base := m.Step(b)
	b.DecodeKVTokens = probe
	full := m.Step(b)
	b.DecodeKVTokens, b.DecodeKVWindow = 0, probe
	win := m.Step(b)
	draft := float64(s.Draft) * s.DraftCost
	return hardware.DecodeWork{
		Base:     base.Plus(plain.Base.Times(draft)),
		PerKV:    full.Plus(base.Times(-1)).Times(1 / probe).Plus(plain.PerKV.Times(draft)),
		PerKVWin: win.Plus(base.Times(-1)).Times(1 / probe).Plus(plain.PerKVWin.Times(draft)),
	}
}
