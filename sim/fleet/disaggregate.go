package fleet

import (
	"fmt"
	"math"

	"scoville/model/workload"
	"scoville/sim"
)

// check refuses what can't be run.
func (c *Config) check() error {
	if d := c.Disaggregate; d != nil {
		switch {
		case d.Replicas < 1:
			return fmt.Errorf("fleet.disaggregate: %d prefill replicas; at least 1 is needed", d.Replicas)
		case !(d.BytesPerToken > 0) || !(d.LinkBytesPerSecond > 0) || !(d.LatencySeconds >= 0):
			return fmt.Errorf("fleet.disaggregate: bytes a token %g and link of %g bytes/s must be positive, latency %g s at least 0", d.BytesPerToken, d.LinkBytesPerSecond, d.LatencySeconds)
		case c.Routing == Central || c.dynamic() || c.Shed > 0:
			return fmt.Errorf("fleet.disaggregate: a central queue, failures, autoscaling and shedding are not modelled together with it")
		}
	}
	if c.Shed < 0 || c.Need < 0 {
		return fmt.Errorf("fleet: shed %d and need %d must not be negative", c.Shed, c.Need)
	}
	if r := c.Retry; r != nil && (r.Attempts < 0 || !(r.BackoffSeconds > 0) || r.Multiplier < 0 || r.Jitter < 0 || r.Jitter > 1) {
		return fmt.Errorf("fleet.retry: a positive back-off and a jitter from 0 to 1 are needed")
	}
	return nil
}

// addPrefill builds the prefill pool. Its replicas report to the fleet's recorder: their steps count, and the requests stay the fleet's.
func (f *fleet) addPrefill() (err error) {
	d := f.cfg.Disaggregate
	if d == nil {
		return nil
	}
	if f.prefill, err = sim.NewReplicas(d.Prefill, d.Replicas, f.cfg.Replicas, f.rec); err != nil {
		return err
	}
	f.rec.SetIdleWatts(f.cfg.Replica.Steps.IdleWatts()*float64(f.cfg.Replicas) + d.Prefill.Steps.IdleWatts()*float64(d.Replicas))
	f.prefillRouter = &least{heap: newIndexHeap(d.Replicas, 0), weight: promptTokens}
	f.linkFree = make([]int64, d.Replicas)
	for k, r := range f.prefill {
		r.OnLeave = func(q *workload.Request, outcome sim.Outcome, at int64) {
			f.prefillRouter.left(k, q)
			if outcome == sim.Finished && q.OutputTokens > 1 {
				f.transfer(k, r.Handed(), at)
				return
			}
			f.feed.Done(q, at)
		}
	}
	return nil
}

func (f *fleet) toPrefill(q *workload.Request) {
	k := f.prefillRouter.pick(q)
	f.prefillRouter.routed(k, q)
	f.prefill[k].SubmitPrefill(f.now, q)
	f.timers.set(len(f.replicas)+k, f.prefill[k].Next(), int64(len(f.replicas)+k))
}

// transfer sends a request's cache over its replica's link, after those sent before.
func (f *fleet) transfer(k int, h sim.Handed, at int64) {
	d := f.cfg.Disaggregate
	bytes := float64(h.InputTokens) * d.BytesPerToken
	seconds := bytes/d.LinkBytesPerSecond + d.LatencySeconds
	done := max(f.linkFree[k], at) + int64(math.Ceil(seconds*1e9))
	f.linkFree[k] = done
	f.report.Transfers++
	f.report.TransferBytes += bytes
	f.report.TransferSeconds += seconds
	f.report.LongestTransferSeconds = max(f.report.LongestTransferSeconds, float64(done-at)*1e-9)
	f.underway++
	f.rec.Hold(at, 1)
	f.events.push(event{at: done, kind: transferDone, handed: &h})
}

// arrived hands a request whose cache has come to a replica that decodes.
func (f *fleet) arrived(e *event) error {
	f.underway--
	f.rec.Hold(f.now, -1)
	q := &e.handed.Request
	i := f.router.pick(q)
	if i < 0 {
		return fmt.Errorf("fleet: internal error: no replica decodes request %d", q.ID)
	}
	f.router.routed(i, q)
	f.replicas[i].SubmitDecode(f.now, e.handed)
	f.timers.set(i, f.replicas[i].Next(), int64(i))
	return nil
}

// close completes the report at the end of the run.
func (f *fleet) close(end int64) *Report {
	r := &f.report
	f.now = max(f.now, end)
	if f.states == nil {
		r.ReplicaSeconds = float64(end) * 1e-9 * float64(len(f.replicas)+len(f.prefill))
		r.AvailableShare, r.EnoughShare, r.MostOn = 1, 1, len(f.replicas)+len(f.prefill)
		return r
	}
	f.account()
	if seconds := float64(f.now) * 1e-9; seconds > 0 {
		r.AvailableShare, r.EnoughShare = f.upSeconds/(seconds*float64(len(f.replicas))), f.enoughSeconds/seconds
	}
	return r
}
