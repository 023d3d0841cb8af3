package sim

import (
	"fmt"
	"math"

	"scoville/model/stats"
)

// window is the stretch of a run that is measured: whole segments [from, to), or with whole set the run from 0 to its end.
type window struct {
	from, to int
	whole    bool
	startNs  int64
	endNs    int64
}

func (w window) seconds() float64 { return float64(w.endNs-w.startNs) * nanosecond }

const (
	leastServices  = 2    // a window shorter than so many of the longest request in service has not converged
	warmupServices = 2    // warm-up covers so many of them, as far as they leave
	warmupCap      = 0.25 // ... this share of the run at most
	growthSigmas   = 3
	trendP         = 0.01
	fewSegments    = 8
)

// measured chooses the window: from the end of the warm-up to the last arrival, so that neither filling up nor draining counts.
// The warm-up is a fixed share of the time, and twice the longest request where that is more.
func (c *Recorder) measured(endNs int64) (window, Verdict) {
	span := c.lastArrival
	if c.options.HorizonNanos > 0 && endNs >= c.options.HorizonNanos {
		span = endNs
	}
	if c.options.WarmupShare < 0 {
		return window{0, len(c.segments), true, 0, endNs}, Finite
	}
	if c.lastArrival-c.firstArrival <= endNs/100 {
		c.warn("requests came within %.3g s of a run of %.3g s: measured as a finite job, no steady state is claimed",
			float64(c.lastArrival-c.firstArrival)*nanosecond, float64(endNs)*nanosecond)
		return window{0, len(c.segments), true, 0, endNs}, Finite
	}
	warmup := max(c.options.WarmupShare*float64(span), min(warmupServices*float64(c.longest), warmupCap*float64(span)))
	segment := int64(1) << c.shift
	w := window{from: int((int64(warmup) + segment - 1) / segment), to: min(int(span/segment), len(c.segments))}
	if w.to-w.from < 2 {
		c.warn("the run is too short to leave a warm-up out: everything is measured")
		return window{0, len(c.segments), true, 0, endNs}, c.coarseVerdict(span)
	}
	w.startNs, w.endNs = int64(w.from)*segment, int64(w.to)*segment
	if s := w.endNs - w.startNs; float64(s) < leastServices*float64(c.longest) {
		if w.to-w.from >= fewSegments && c.judge(w, true) == Unstable { // service is long because it is overloaded
			return w, Unstable
		}
		c.warn("the measured window of %.3g s is shorter than %d times the longest request in service (%.3g s): not a steady state",
			float64(s)*nanosecond, leastServices, float64(c.longest)*nanosecond)
		return w, NotConverged
	}
	if w.to-w.from < fewSegments {
		return w, c.coarseVerdict(span)
	}
	return w, ""
}

// coarseVerdict judges a run of too few segments by what waited at the last arrival.
func (c *Recorder) coarseVerdict(span int64) Verdict {
	if n := float64(c.totals.arrived); float64(c.waitingAtLast) > growthSigmas*math.Sqrt(2*n) && c.waitingAtLast > c.totals.arrived/20 {
		c.slope = float64(c.waitingAtLast) / (float64(span-c.firstArrival) * nanosecond)
		return Unstable
	}
	return NotConverged
}

// judge tests the window for a growing backlog. Requests in the system are regressed on time over up to 16 batches; the growth
// along the window is compared with what a queue at exactly its capacity gathers by chance in n arrivals, sqrt((I+1) n), where I is
// the index of dispersion of the arrivals as observed and services count as Poisson. Three times that is instability. Less, but a
// clear trend that doubles the backlog, is a run that has not converged.
//
// In a window too short for a steady state the requests in service still grow in a sound system; there only those that wait count.
func (c *Recorder) judge(w window, short bool) Verdict {
	segments := c.segments[w.from:w.to]
	group := (len(segments) + 15) / 16
	var x, y []float64
	length := math.Ldexp(nanosecond, int(c.shift))
	offered := make([]float64, len(segments))
	n := 0.0
	for k := range segments {
		offered[k] = float64(segments[k].offered)
		n += offered[k]
	}
	for k := 0; k+group <= len(segments); k += group {
		area := 0.0
		for _, s := range segments[k : k+group] {
			area += s.waitingArea
			if !short {
				area += s.runningArea
			}
		}
		x = append(x, (float64(k)+float64(group)/2)*length)
		y = append(y, area*nanosecond/(float64(group)*length))
	}
	fit := stats.FitSlope(x, y)
	dispersion := 1.0
	if mean := n / float64(len(segments)); mean > 0 {
		dispersion = max(1, stats.Variance(offered)/mean)
	}
	growth := fit.PerX * w.seconds()
	switch {
	case growth > growthSigmas*math.Sqrt((dispersion+1)*n) && fit.P < trendP:
		c.slope = fit.PerX
		return Unstable
	case !short && fit.P < trendP && growth > stats.Mean(y[:len(y)/2]) && growth > 2:
		c.warn("the backlog rose from %.3g to %.3g requests along the measured window: the run is too short", y[0], y[len(y)-1])
		return NotConverged
	}
	return Stable
}

func (c *Recorder) warn(format string, args ...any) {
	c.warnings = append(c.warnings, fmt.Sprintf(format, args...))
}

// trajectoryPoints is how finely a run's backlog is kept for the diagnostic of the warm-up.
const trajectoryPoints = 40

// trajectory returns the mean backlog around evenly spaced times from 0 to the end of the arrivals.
func (c *Recorder) trajectory() []float64 {
	y := make([]float64, trajectoryPoints)
	for k := range y {
		s := &c.segments[min(int((c.lastArrival/trajectoryPoints*int64(k))>>c.shift), len(c.segments)-1)]
		y[k] = (s.waitingArea + s.runningArea) / math.Ldexp(1, int(c.shift))
	}
	return y
}

// settles returns the share of the run after which the mean backlog over replications has settled, by MSER (White 1997): the cut that
// minimises the squared standard error of the mean of what remains. Applied to this average only, never to cut a single run:
// there it deletes congestion and biases tails low.
func settles(results []*Result) float64 {
	mean := make([]float64, trajectoryPoints)
	for _, r := range results {
		for k, v := range r.trajectory {
			mean[k] += v / float64(len(results))
		}
	}
	best, cut := math.Inf(1), 0
	for d := range trajectoryPoints / 2 {
		rest := mean[d:]
		if mser := stats.Variance(rest) / float64(len(rest)); mser < best {
			best, cut = mser, d
		}
	}
	return float64(cut) / trajectoryPoints
}
