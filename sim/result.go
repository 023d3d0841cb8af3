package sim

import (
	"math"
	"slices"

	"scoville/model/sla"
	"scoville/model/stats"
	"scoville/model/workload"
)

// Finish closes the books at the end of a run and returns what was measured. The requests still in flight are those of the replicas.
func (c *Recorder) Finish(endNs int64, replicas ...*Replica) *Result {
	c.integrate(endNs)
	t := c.totals
	unfinished := t.arrived - t.finished - t.rejected - t.timedOut
	w, verdict := c.measured(endNs)
	for _, r := range replicas {
		c.inFlight(r, endNs)
	}
	if verdict == "" {
		verdict = c.judge(w, false)
	}
	r := &Result{Verdict: verdict, BacklogSlope: c.slope, Arrived: t.arrived, Finished: t.finished, Rejected: t.rejected, TimedOut: t.timedOut,
		Unfinished: unfinished, Preemptions: t.preemptions, Steps: t.steps, InputTokens: t.input, CachedInputTokens: t.cached,
		OutputTokens: t.output, Seconds: w.seconds(), WarmupSeconds: float64(w.startNs) * nanosecond, RunSeconds: float64(endNs) * nanosecond,
		replicas: c.replicas}
	for reason, n := range t.reasons {
		if n > 0 {
			if r.RejectedFor == nil {
				r.RejectedFor = map[string]int64{}
			}
			r.RejectedFor[Reason(reason).String()] = n
			if Reason(reason) != QueueFull {
				c.warn("%d requests were rejected: %s", n, Reason(reason))
			}
		}
	}
	if t.input > 0 {
		r.PrefixHitRate = float64(t.cached) / float64(t.input)
	}
	sum := c.sum(w)
	c.rates(r, &sum)
	r.samples = c.samplesOf(w, &sum)
	c.judgeSLA(r, &sum)
	if verdict != Unstable {
		r.TTFT, r.TPOT, r.ITL = r.samples.distribution(sla.TTFT), r.samples.distribution(sla.TPOT), r.samples.distribution(sla.ITL)
		r.E2E, r.QueueWait = r.samples.distribution(sla.E2E), r.samples.distribution(queueWait)
	}
	r.Timelines = c.timelines(endNs)
	r.trajectory = c.trajectory()
	c.sortRecords()
	r.Records = c.records
	r.Warnings = c.warnings
	return r
}

// Quantile returns a latency of the measured window in seconds at a quantile, its mean for 0; false when there is none to tell:
// nothing was measured, or the run is unstable.
func (r *Result) Quantile(m sla.Metric, q float64) (seconds float64, ok bool) {
	if r.samples == nil || r.Verdict == Unstable {
		return math.NaN(), false
	}
	return r.samples.quantile(m, q)
}

// inFlight records the requests that the run's end cut off. One that has already missed a limit counts as offered; of the others
// nobody can say, so they don't count.
func (c *Recorder) inFlight(r *Replica, endNs int64) {
	for i := range r.slots {
		s := &r.slots[i]
		if s.serial < 0 || s.dead {
			continue
		}
		if c.options.KeepRequests {
			c.records = append(c.records, s.record(r.index, Unfinished, endNs-r.overhead, r.overhead))
		}
		ttft := endNs - s.arrival
		if s.firstToken >= 0 {
			ttft = s.firstToken - s.arrival + r.overhead
		}
		if c.limits.Meets(float64(ttft)*nanosecond, 0, float64(endNs-s.arrival)*nanosecond) {
			c.at(s.arrival).offered--
		}
	}
}

// sum adds up the segments of the window.
func (c *Recorder) sum(w window) (total segment) {
	for k := w.from; k < w.to; k++ {
		s := c.segments[k]
		hists := []**stats.Histogram{&s.itl, &s.ttft, &s.tpot, &s.e2e, &s.queueWait}
		for _, h := range hists { // merge into fresh histograms: the segments keep theirs
			if *h != nil {
				fresh := stats.NewHistogram((*h).Unit)
				mergeHistograms(&fresh, *h)
				*h = fresh
			}
		}
		total.merge(&s)
	}
	return total
}

func (c *Recorder) rates(r *Result, s *segment) {
	seconds := r.Seconds
	if seconds <= 0 {
		return
	}
	r.BusySeconds = min(float64(s.busy)*nanosecond, seconds*float64(c.replicas)) // a step counts where it starts
	r.Utilisation = r.BusySeconds / (seconds * float64(c.replicas))
	r.MeasuredRequests = s.offered
	r.MeanRunning = s.runningArea * nanosecond / seconds
	r.MeanWaiting = s.waitingArea * nanosecond / seconds
	if s.steps > 0 {
		r.MeanBatch = float64(s.sequences) / float64(s.steps)
	}
	if s.busy > 0 {
		r.PrefillShare = float64(s.prefill) / float64(s.busy)
		r.MeanKVShare = s.kvArea / float64(s.busy)
	}
	r.MaxKVShare = s.kvMax
	r.FLOPs, r.Bytes = s.work.FLOPs, s.work.Bytes
	r.Joules = s.work.Joules + c.idle/float64(c.replicas)*(seconds*float64(c.replicas)-r.BusySeconds)
	r.RequestsPerSecond = float64(s.finished) / seconds
	r.InputTokensPerSecond = float64(s.input) / seconds
	r.OutputTokensPerSecond = s.decoded / seconds
	r.GoodputPerSecond = float64(s.good) / seconds
}

const overloaded = "the backlog grows: the load is more than is served"

func (c *Recorder) judgeSLA(r *Result, s *segment) {
	e := c.limits.Evaluate(sla.Observed{
		Quantile: r.samples.quantile,
		Offered:  s.offered, Good: s.good, Failed: s.failed,
	})
	r.Attainment = e.Attainment
	r.failedShare = ratio(float64(s.failed), float64(s.offered))
	r.SLAMet, r.Violations = e.Met, e.Violations
	if r.Verdict == Unstable {
		r.SLAMet = false
		r.Violations = append([]string{overloaded}, r.Violations...)
	}
}

// samplesOf gathers the latencies of the requests that arrived in the window.
func (c *Recorder) samplesOf(w window, sum *segment) *samples {
	s := &samples{exact: !c.spread, itl: sum.itl}
	if c.spread {
		s.ttftHist, s.tpotHist, s.e2eHist, s.waitHist = sum.ttft, sum.tpot, sum.e2e, sum.queueWait
		for _, h := range []**stats.Histogram{&s.ttftHist, &s.tpotHist, &s.e2eHist, &s.waitHist} {
			if *h == nil {
				*h = stats.NewHistogram(histogramTicks)
			}
		}
	} else {
		v := &c.values
		for k, a := range v.arrival {
			if !w.whole && (a < w.startNs || a >= w.endNs) {
				continue
			}
			s.ttft = append(s.ttft, float64(v.ttft[k])*nanosecond)
			s.e2e = append(s.e2e, float64(v.e2e[k])*nanosecond)
			s.wait = append(s.wait, float64(v.wait[k])*nanosecond)
			if v.out[k] > 1 {
				s.tpot = append(s.tpot, float64(v.e2e[k]-v.ttft[k])/float64(v.out[k]-1)*nanosecond)
			}
		}
		s.sort()
	}
	if s.itl == nil {
		s.itl = stats.NewHistogram(tickSeconds)
	}
	return s
}

// timelines draws the segments as time series of at most TimelinePoints points, each over the middle of its stretch.
func (c *Recorder) timelines(endNs int64) []Timeline {
	points := c.options.TimelinePoints
	if points <= 0 {
		return nil
	}
	group := (len(c.segments) + points - 1) / points
	lines := []Timeline{
		{Name: "arrivals", Unit: "requests/s"}, {Name: "finished", Unit: "requests/s"}, {Name: "waiting", Unit: "requests"},
		{Name: "running", Unit: "requests"}, {Name: "busy", Unit: "share"}, {Name: "batch", Unit: "sequences"},
		{Name: "KV use", Unit: "share"}, {Name: "output", Unit: "tokens/s"}, {Name: "input", Unit: "tokens/s"},
		{Name: "mean TTFT by arrival", Unit: "s"}, {Name: "compute", Unit: "FLOP/s"}, {Name: "memory traffic", Unit: "B/s"}, {Name: "power", Unit: "W"},
	}
	for k := 0; k < len(c.segments); k += group {
		from, to := int64(k)<<c.shift, min(int64(k+group)<<c.shift, endNs)
		if to <= from {
			break
		}
		s := c.sum(window{from: k, to: min(k+group, len(c.segments))})
		dt := float64(to-from) * nanosecond
		busy := min(float64(s.busy)*nanosecond, dt*float64(c.replicas))
		for i, v := range []float64{float64(s.offered) / dt, float64(s.finished) / dt, s.waitingArea * nanosecond / dt,
			s.runningArea * nanosecond / dt, busy / (dt * float64(c.replicas)), ratio(float64(s.sequences), float64(s.steps)),
			ratio(s.kvArea, float64(s.busy)), s.decoded / dt, float64(s.input) / dt, ratio(s.ttftSum*nanosecond, float64(s.answered)),
			s.work.FLOPs / dt, s.work.Bytes / dt, (s.work.Joules + c.idle/float64(c.replicas)*(dt*float64(c.replicas)-busy)) / dt} {
			lines[i].Seconds = append(lines[i].Seconds, float64(from+to)/2*nanosecond)
			lines[i].Values = append(lines[i].Values, v)
		}
	}
	return slices.Clip(lines)
}

// ratio is a/b, 0 where b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// Hold notes a request that a fleet holds back before it submits it to a replica, or takes it off again with n = -1.
func (c *Recorder) Hold(now int64, n int64) { c.move(now, n, 0) }

// Refuse records a request that no replica was asked to take.
func (c *Recorder) Refuse(now int64, q *workload.Request, reason Reason) {
	c.arrive(q.ArrivalNanoseconds)
	c.reject(q, none, reason, now)
}
