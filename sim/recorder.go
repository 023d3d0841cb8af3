package sim

import (
	"fmt"
	"math"
	"slices"

	"scoville/hardware"
	"scoville/model/sla"
	"scoville/model/stats"
	"scoville/model/workload"
)

// Recorder measures a run of one or many replicas on one event loop, in memory that does not grow with the run. Time is cut into
// segments; when they are many, neighbours are merged and the segment length doubles. So the warm-up can be left out although the
// length of the run is known only at its end, and the segments serve as timelines and as batches for the growth test.
//
// Leaps end at segment boundaries, so what a step does counts in the segment in which it starts, walking or leaping.
type Recorder struct {
	options  Options
	limits   sla.Limits
	idle     float64 // watts of all replicas together
	replicas int
	spread   bool // keep per-request values in histograms

	shift            uint // a segment is 2^shift ns
	segments         []segment
	last             int64 // time up to which the counts are integrated
	waiting, running int64
	firstArrival     int64
	lastArrival      int64
	waitingAtLast    int64 // requests waiting at the last arrival
	longest          int64 // ns from a request's first step to its end
	totals           totals
	values           values
	records          []Record
	warnings         []string
	slope            float64 // of the backlog when unstable, requests a second
}

const (
	maxSegments    = 64
	firstShift     = 24 // 16.8 ms
	defaultExact   = 200_000
	histogramTicks = nanosecond
)

// totals are counts of the whole run.
type totals struct {
	arrived, finished, rejected, timedOut, preemptions, steps int64
	input, cached, output                                     int64
	busy                                                      int64 // ns
	reasons                                                   [OverBudget + 1]int64
}

// values are the latencies of single requests, in ns, in order of leaving.
type values struct {
	arrival, ttft, e2e, wait []int64
	out                      []int32
}

// segment is what happened in a stretch of time: first the counts by the time they happened, then those by time of arrival.
type segment struct {
	waitingArea, runningArea   float64 // requests x ns
	busy, steps, sequences     int64
	prefill                    int64 // of busy: beyond what the decode part of a step takes alone
	finished                   int64
	work                       hardware.Work
	decoded                    float64 // tokens
	input                      int64
	kvArea, kvMax              float64 // share x busy ns
	itl                        *stats.Histogram
	offered, good, failed      int64
	ttftSum                    float64
	answered                   int64
	ttft, tpot, e2e, queueWait *stats.Histogram // once values are spread
}

func (s *segment) merge(o *segment) {
	s.waitingArea += o.waitingArea
	s.runningArea += o.runningArea
	s.busy += o.busy
	s.prefill += o.prefill
	s.steps += o.steps
	s.sequences += o.sequences
	s.finished += o.finished
	s.work = s.work.Plus(o.work)
	s.decoded += o.decoded
	s.input += o.input
	s.kvArea += o.kvArea
	s.kvMax = max(s.kvMax, o.kvMax)
	s.offered += o.offered
	s.good += o.good
	s.failed += o.failed
	s.ttftSum += o.ttftSum
	s.answered += o.answered
	mergeHistograms(&s.itl, o.itl)
	mergeHistograms(&s.ttft, o.ttft)
	mergeHistograms(&s.tpot, o.tpot)
	mergeHistograms(&s.e2e, o.e2e)
	mergeHistograms(&s.queueWait, o.queueWait)
}

// mergeHistograms adds o to *h; both have the same unit.
func mergeHistograms(h **stats.Histogram, o *stats.Histogram) {
	switch {
	case o == nil:
	case *h == nil:
		*h = o
	default:
		if err := (*h).Merge(o); err != nil {
			panic(err) // units are fixed for each field: a bug
		}
	}
}

// NewRecorder returns a recorder for so many replicas.
func NewRecorder(cfg Config, replicas int) (*Recorder, error) {
	if err := cfg.SLA.Validate(); err != nil {
		return nil, err
	}
	if s := cfg.Options.WarmupShare; math.IsNaN(s) || s >= 1 {
		return nil, fmt.Errorf("options.warmup_share: %g is not below 1", s)
	}
	c := &Recorder{options: cfg.Options, limits: cfg.SLA, replicas: replicas, shift: firstShift, segments: make([]segment, 1, maxSegments),
		firstArrival: -1}
	if cfg.Steps != nil {
		c.idle = cfg.Steps.IdleWatts() * float64(replicas)
	}
	if c.options.WarmupShare == 0 {
		c.options.WarmupShare = 0.05
	}
	if c.options.ExactRequests == 0 {
		c.options.ExactRequests = defaultExact
	}
	return c, nil
}

// at returns the segment of a time.
func (c *Recorder) at(t int64) *segment {
	i := int(t >> c.shift)
	if i >= len(c.segments) {
		i = c.extend(t)
	}
	return &c.segments[i]
}

func (c *Recorder) extend(t int64) int {
	for t>>c.shift >= maxSegments {
		n := (len(c.segments) + 1) / 2
		for k := range n {
			if k > 0 {
				c.segments[k] = c.segments[2*k]
			}
			if 2*k+1 < len(c.segments) {
				c.segments[k].merge(&c.segments[2*k+1])
			}
		}
		clear(c.segments[n:])
		c.segments = c.segments[:n]
		c.shift++
	}
	i := int(t >> c.shift)
	for len(c.segments) <= i {
		c.segments = append(c.segments, segment{})
	}
	return i
}

// boundaryAfter returns the end of the segment that a time lies in.
func (c *Recorder) boundaryAfter(t int64) int64 { return (t>>c.shift + 1) << c.shift }

// integrate brings the areas of waiting and running requests up to a time.
func (c *Recorder) integrate(t int64) {
	for c.last < t {
		s := c.at(c.last) // may merge segments: before asking for the boundary
		end := min(t, c.boundaryAfter(c.last))
		dt := float64(end - c.last)
		s.waitingArea += float64(c.waiting) * dt
		s.runningArea += float64(c.running) * dt
		c.last = end
	}
}

func (c *Recorder) move(t, waiting, running int64) {
	c.integrate(t)
	c.waiting += waiting
	c.running += running
}

// arrive notes that a request was offered at a time.
func (c *Recorder) arrive(t int64) {
	c.totals.arrived++
	if c.firstArrival < 0 {
		c.firstArrival = t
	}
	if t >= c.lastArrival {
		c.lastArrival, c.waitingAtLast = t, c.waiting
	}
	c.at(t).offered++
}

func (c *Recorder) preempted(int64) { c.totals.preemptions++ }

// stepRecord is one or more steps of the same shape.
type stepRecord struct {
	start, end       int64
	steps, sequences int64 // sequences summed over steps
	decoding         int64 // sequences that get tokens in each step
	decoded          float64
	prefill          int64 // ns of the step that prompts took
	progression
	work            hardware.Work
	used, usedAfter float64 // KV share
}

func (c *Recorder) step(r stepRecord) {
	s := c.at(r.start)
	busy := r.end - r.start
	c.totals.steps += r.steps
	c.totals.busy += busy
	s.busy += busy
	s.prefill += r.prefill
	s.steps += r.steps
	s.sequences += r.sequences
	s.decoded += r.decoded
	s.work.FLOPs += r.work.FLOPs
	s.work.Bytes += r.work.Bytes
	s.work.Joules += r.work.Joules
	s.kvArea += (r.used + r.usedAfter) / 2 * float64(busy)
	s.kvMax = max(s.kvMax, r.used, r.usedAfter)
	if r.decoding > 0 {
		if s.itl == nil {
			s.itl = stats.NewHistogram(tickSeconds)
		}
		s.itl.AddProgression(r.first, r.slope, r.steps, r.decoding)
	}
}

// overshoot takes back tokens that the last step of a speculating sequence was counted for beyond its answer.
func (c *Recorder) overshoot(t int64, tokens float64) {
	if tokens != 0 {
		c.at(t).decoded -= tokens
	}
}

// first notes the first token of a request of so many prompt tokens.
func (c *Recorder) first(t int64, prompt int32) {
	s := c.at(t)
	s.decoded++
	s.input += int64(prompt)
}

// gap notes the token that a preempted request gets after so long.
func (c *Recorder) gap(t, ns int64) {
	s := c.at(t)
	s.decoded++
	if s.itl == nil {
		s.itl = stats.NewHistogram(tickSeconds)
	}
	s.itl.Add(min(ns, 1<<42)<<tickBits, 1)
}

func (c *Recorder) reject(q *workload.Request, replica int32, reason Reason, t int64) {
	c.totals.rejected++
	c.totals.reasons[reason]++
	c.at(q.ArrivalNanoseconds).failed++
	if c.options.KeepRequests {
		c.records = append(c.records, Record{ID: q.ID, InputTokens: q.InputTokens, OutputTokens: q.OutputTokens, Class: q.Class,
			Replica: replica, Outcome: Rejected, Reason: reason, ArrivalNanos: q.ArrivalNanoseconds, StartNanos: -1, FirstTokenNanos: -1, EndNanos: t})
	}
}

// leave notes the end of a request, overhead outside the engine to be added.
func (c *Recorder) leave(s *slot, replica int32, outcome Outcome, t, overhead int64) {
	if c.options.KeepRequests {
		c.records = append(c.records, s.record(replica, outcome, t, overhead))
	}
	byArrival := c.at(s.arrival)
	if outcome != Finished {
		c.totals.timedOut++
		byArrival.failed++
		return
	}
	c.totals.finished++
	c.totals.input += int64(s.in)
	c.totals.cached += int64(s.cached)
	c.totals.output += int64(s.out)
	ttft, e2e, wait := s.firstToken-s.arrival+overhead, t-s.arrival+overhead, s.start-s.arrival
	c.longest = max(c.longest, t-s.start)
	tpot := 0.0
	if s.out > 1 {
		tpot = float64(e2e-ttft) / float64(s.out-1)
	}
	if c.limits.Meets(float64(ttft)*nanosecond, tpot*nanosecond, float64(e2e)*nanosecond) {
		byArrival.good++
	}
	byArrival.ttftSum += float64(ttft)
	byArrival.answered++
	c.at(t).finished++
	if !c.spread {
		v := &c.values
		v.arrival = append(v.arrival, s.arrival)
		v.ttft = append(v.ttft, ttft)
		v.e2e = append(v.e2e, e2e)
		v.wait = append(v.wait, wait)
		v.out = append(v.out, s.out)
		if len(v.arrival) > c.options.ExactRequests {
			c.spreadValues()
		}
		return
	}
	c.at(s.arrival).add(ttft, e2e, wait, s.out)
}

func (s *slot) record(replica int32, outcome Outcome, t, overhead int64) Record {
	r := Record{ID: s.id, InputTokens: s.in, OutputTokens: s.out, CachedTokens: s.cached, Class: s.class, Replica: replica, Outcome: outcome,
		Preemptions: s.preemptions, ArrivalNanos: s.arrival, StartNanos: s.start, FirstTokenNanos: s.firstToken, EndNanos: t + overhead}
	if r.FirstTokenNanos >= 0 {
		r.FirstTokenNanos += overhead
		if outcome == Unfinished && r.FirstTokenNanos > r.EndNanos { // on its way when the run ended
			r.FirstTokenNanos = -1
		}
	}
	return r
}

// add puts the latencies of a request in the segment's histograms.
func (s *segment) add(ttft, e2e, wait int64, out int32) {
	if s.ttft == nil {
		s.ttft, s.tpot = stats.NewHistogram(histogramTicks), stats.NewHistogram(histogramTicks)
		s.e2e, s.queueWait = stats.NewHistogram(histogramTicks), stats.NewHistogram(histogramTicks)
	}
	s.ttft.Add(ttft, 1)
	s.e2e.Add(e2e, 1)
	s.queueWait.Add(wait, 1)
	if out > 1 {
		s.tpot.Add((e2e-ttft)/int64(out-1), 1)
	}
}

// spreadValues moves the exact values into the histograms of their segments.
func (c *Recorder) spreadValues() {
	v := &c.values
	for k, a := range v.arrival {
		c.at(a).add(v.ttft[k], v.e2e[k], v.wait[k], v.out[k])
	}
	c.values = values{}
	c.spread = true
}

// sortRecords puts the records in order of arrival.
func (c *Recorder) sortRecords() {
	slices.SortFunc(c.records, func(a, b Record) int {
		if a.ArrivalNanos != b.ArrivalNanos {
			if a.ArrivalNanos < b.ArrivalNanos {
				return -1
			}
			return 1
		}
		if a.ID < b.ID {
			return -1
		}
		if a.ID > b.ID {
			return 1
		}
		return 0
	})
}
