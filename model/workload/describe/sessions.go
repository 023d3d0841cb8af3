package describe

import (
	"fmt"
	"slices"
)

// sessions counts turns; it keeps one entry a session.
type sessions struct {
	by   map[uint64]*session
	gaps []float64
}

type session struct {
	turns int64
	last  int64
}

const maxSessions = 1 << 22

func (s *sessions) add(id uint64, nanos int64) {
	v, ok := s.by[id]
	if !ok {
		if len(s.by) < maxSessions {
			s.by[id] = &session{1, nanos}
		}
		return
	}
	v.turns++
	if len(s.gaps) < exactRows {
		s.gaps = append(s.gaps, float64(nanos-v.last)/1e9)
	}
	v.last = nanos
}

func (s *sessions) describe(timed bool) *Sessions {
	if len(s.by) == 0 {
		return nil
	}
	out := &Sessions{Count: int64(len(s.by))}
	turns := make([]float64, 0, len(s.by))
	for _, v := range s.by {
		turns = append(turns, float64(v.turns))
		out.MeanTurns += float64(v.turns)
		out.MaxTurns = max(out.MaxTurns, v.turns)
		if v.turns == 1 {
			out.SingleTurn++
		}
	}
	out.MeanTurns /= float64(len(turns))
	slices.Sort(turns)
	out.P99Turns = sortedQuantile(turns, 0.99)
	if timed && len(s.gaps) > 0 {
		slices.Sort(s.gaps)
		out.GapP50, out.GapP90, out.GapP99 = sortedQuantile(s.gaps, 0.5), sortedQuantile(s.gaps, 0.9), sortedQuantile(s.gaps, 0.99)
	}
	return out
}

func spreadNote(n int64) string {
	return fmt.Sprintf("%d arrivals that shared a timestamp were spread at random up to the next tick", n)
}

// tiedWarning is the share of arrivals on a shared timestamp above which the clock is called coarse.
const tiedWarning = 0.10

func (t *Trace) warn() {
	add := func(format string, args ...any) { t.Warnings = append(t.Warnings, fmt.Sprintf(format, args...)) }
	r := t.Report
	if a := t.Arrivals; a != nil {
		if a.Tied > tiedWarning {
			add("%.1f %% of arrivals share a timestamp with the one before: the clock is coarse, and peaks, CV and dispersion below its tick are artefacts (spread ties to undo it)", 100*a.Tied)
		}
		if a.Count > 1 && a.MeanRate < 0.1 {
			add("at %.3g requests a second, peaks over seconds are noise", a.MeanRate)
		}
		if a.GapCV > 3 {
			add("a gap CV of %.1f is not a renewal process's: a gamma or Weibull stream of that CV overshoots the short peaks; use on-off or resampling", a.GapCV)
		}
	}
	if r.OutOfOrder > 0 {
		add("%d rows were out of order and have been sorted", r.OutOfOrder)
	}
	if r.Dropped > 0 {
		add("%d rows have negative token counts (not recorded) and were left out", r.Dropped)
	}
	if r.ZeroOutput > 0 {
		add("%d rows have no output tokens (failed or empty answers); they are kept, and replayed as 1 token", r.ZeroOutput)
	}
	if r.ZeroInput > 0 {
		add("%d rows have no input tokens; they are kept, and replayed as 1 token", r.ZeroInput)
	}
	if t.Prefix != nil && t.Prefix.Truncated {
		add("more than %d distinct prefix blocks: hit rates are lower bounds", maxDistinct)
	}
}
