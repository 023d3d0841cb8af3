package bench

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sort"
	"time"

	"scoville/hardware/results"
)

// watch remembers what the process had used when the run began.
type watch struct {
	at    time.Time
	cpu   time.Duration
	gc    int64
	valid bool
}

func startWatch() watch {
	var s debug.GCStats
	debug.ReadGCStats(&s)
	cpu, ok := cpuTime()
	return watch{time.Now(), cpu, s.NumGC, ok}
}

// lateSeconds is the lag of the client's schedule that is always fine.
const lateSeconds = 0.005

// honesty judges the client: a run whose client was the bottleneck must not be used.
func (r *Runner) honesty(w watch) *results.Client {
	c := &results.Client{Connections: int(r.Client.connections.Load())}
	reused := r.Client.reused.Load()
	if n := reused + int64(c.Connections); n > 0 {
		c.ReusedShare = float64(reused) / float64(n)
	}
	if len(r.lags) > 0 {
		lags := append([]float64(nil), r.lags...)
		sort.Float64s(lags)
		c.LagP99Seconds, c.LagMaxSeconds = max(0, results.QuantileSorted(lags, 0.99)), max(0, lags[len(lags)-1])
	}
	if cpu, ok := cpuTime(); ok && w.valid {
		c.CPUShare = (cpu - w.cpu).Seconds() / time.Since(w.at).Seconds() / float64(runtime.NumCPU())
	}
	var s debug.GCStats
	debug.ReadGCStats(&s)
	for i := int64(0); i < s.NumGC-w.gc && i < int64(len(s.Pause)); i++ {
		c.GCPauseSeconds = max(c.GCPauseSeconds, s.Pause[i].Seconds())
	}
	gaps, tiny, asked, missed := 0, 0, 0, 0
	for i := range r.run.Records {
		q := &r.run.Records[i]
		for _, g := range q.GapsSeconds {
			gaps++
			if g < 1e-4 {
				tiny++
			}
		}
		if q.OK() && q.RequestedTokens > 0 {
			asked++
			if q.OutputTokens != q.RequestedTokens {
				missed++
			}
		}
	}
	c.CoalescedShare, c.LengthMissShare = share(tiny, gaps), share(missed, asked)
	c.Bottleneck = r.bottleneck(c)
	return c
}

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

func (r *Runner) bottleneck(c *results.Client) string {
	median := 0.0
	if t := r.run.Latency.TTFT; t != nil {
		median, _ = t.At(0.5)
	}
	switch {
	case c.LagP99Seconds > max(lateSeconds, 0.05*median):
		return fmt.Sprintf("requests left %.3g s after their time (p99)", c.LagP99Seconds)
	case c.CPUShare > 0.9:
		return fmt.Sprintf("the client's machine was %.0f %% busy with the client alone", 100*c.CPUShare)
	case c.GCPauseSeconds > max(lateSeconds, 0.05*median):
		return fmt.Sprintf("a pause of the client's memory collector took %.3g s", c.GCPauseSeconds)
	}
	return ""
}

// remarks says in words what the figures mean.
func (r *Runner) remarks(plan *Plan) {
	c := r.run.Client
	if c.Bottleneck != "" {
		r.note("the client was the bottleneck: %s; don't use this run", c.Bottleneck)
	}
	if c.LengthMissShare > 0.02 {
		r.note("%.0f %% of the answers have another length than asked for", 100*c.LengthMissShare)
	}
	if c.CoalescedShare > 0.1 {
		r.note("%.0f %% of the gaps between chunks are below 0.1 ms: something between server and client joins chunks; ITL percentiles mean little", 100*c.CoalescedShare)
	}
	cached, input := 0, 0
	for i := range r.run.Records {
		q := &r.run.Records[i]
		if q.OK() {
			cached += q.CachedTokens
			input += q.InputTokens
		}
	}
	if share(cached, input) > 0.05 {
		r.note("%.0f %% of the input tokens came from a prefix cache although prompts begin differently", 100*share(cached, input))
	}
	for i := range plan.Stages {
		if i < len(r.run.Stages) && plan.Stages[i].Stage.Kind == results.KindSoak {
			r.soak(i)
		}
	}
}

// Drift compares the last third of a stage with its middle third, after its first third has warmed up: mean TPOT and output tokens per second.
type Drift struct {
	TPOT, TokensPerSecond float64 // last over middle, minus 1
	Stable                bool    // both within 5 %
}

// FindDrift returns ok false where a third holds too few requests to say.
func FindDrift(records []results.Record, stage int) (d Drift, ok bool) {
	lo, hi := 0.0, 0.0
	first := true
	for i := range records {
		if q := &records[i]; q.Stage == stage && q.OK() {
			end := q.SentSeconds + q.E2ESeconds
			if first || q.SentSeconds < lo {
				lo = q.SentSeconds
			}
			hi, first = max(hi, end), false
		}
	}
	third := (hi - lo) / 3
	var tpot, n, tokens [3]float64
	for i := range records {
		q := &records[i]
		if q.Stage != stage || !q.OK() {
			continue
		}
		k := min(2, int((q.SentSeconds+q.E2ESeconds-lo)/max(third, 1e-9)))
		tokens[k] += float64(q.OutputTokens)
		if t, known := q.TPOT(); known {
			tpot[k] += t
			n[k]++
		}
	}
	if third <= 0 || n[1] < 10 || n[2] < 10 {
		return Drift{}, false
	}
	d.TPOT = tpot[2]/n[2]/(tpot[1]/n[1]) - 1
	d.TokensPerSecond = tokens[2]/tokens[1] - 1
	d.Stable = abs64(d.TPOT) <= 0.05 && abs64(d.TokensPerSecond) <= 0.05
	return d, true
}

func abs64(x float64) float64 { return max(x, -x) }

func (r *Runner) soak(stage int) {
	d, ok := FindDrift(r.run.Records, stage)
	switch {
	case !ok:
		r.note("too few requests to tell whether the server drifts")
	case d.Stable:
		r.note("stable: over the last third TPOT moved by %+.1f %% and output by %+.1f %%", 100*d.TPOT, 100*d.TokensPerSecond)
	default:
		r.note("NOT stable: over the last third TPOT moved by %+.1f %% and output by %+.1f %% (5 %% is allowed)", 100*d.TPOT, 100*d.TokensPerSecond)
	}
}
