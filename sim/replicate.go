package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"
	"scoville/model/sla"
	"scoville/model/stats"
	"scoville/model/workload"
)

// ReplicationOptions rule RunReplications. The zero value is ten replications of one length, 95 % intervals, all cores.
type ReplicationOptions struct {
	Replications int     // 0: 10
	Confidence   float64 // 0: 0.95
	// Precision is the relative half-width asked of the watched estimates: those the SLA limits, or p99 TTFT and p99 TPOT without an
	// SLA. Runs are doubled in length until it is reached or Doublings are used up. 0: one length, nothing asked.
	Precision float64
	Doublings int // 0: 6
	Parallel  int // replications at once; 0: GOMAXPROCS
	// Progress is told after each replication, from one goroutine at a time.
	Progress func(done, total int)
}

// Estimate is a latency over all replications, in seconds. Quantile 0 is the mean.
type Estimate struct {
	Metric   sla.Metric
	Quantile float64
	stats.Interval
}

// MarshalJSON keeps the embedded interval from answering for the whole.
func (e Estimate) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Metric   sla.Metric
		Quantile float64
		Interval stats.Interval
	}{e.Metric, e.Quantile, e.Interval})
}

// Summary is what replications measured together.
type Summary struct {
	Verdict      Verdict
	BacklogSlope float64 // mean over the unstable replications
	Warnings     []string
	Replications int
	Requests     int64      // MaxRequests of each replication in the last round
	Rounds       int        // lengths tried
	Pooled       Result     // distributions over all replications, rates as means over them, counts as sums; no records or timelines
	Estimates    []Estimate // empty when unstable
	Goodput      stats.Interval
	Throughput   stats.Interval // output tokens a second
	Results      []*Result      // one a replication
}

// Estimate returns the estimate of a metric at a quantile (0: mean).
func (s *Summary) Estimate(m sla.Metric, q float64) (Estimate, bool) {
	for _, e := range s.Estimates {
		if e.Metric == m && e.Quantile == q {
			return e, true
		}
	}
	return Estimate{}, false
}

// RunReplications runs a configuration several times, each replication with the source that newSource makes for its number, and pools
// them: quantiles of all requests together with sectioning intervals, means with t-intervals. newSource is called from several
// goroutines; drawing each replication's stream by its number gives two configurations the same traffic (common random numbers).
// The result does not depend on how many run at once.
func RunReplications(ctx context.Context, cfg Config, newSource func(replication int) (workload.Source, error), opts ReplicationOptions) (*Summary, error) {
	return Replicate(ctx, cfg, newSource, opts, func(ctx context.Context, cfg Config, _ int, src workload.Source) (*Result, error) {
		return Run(ctx, cfg, src)
	})
}

// Runner runs one replication, of a replica or of a fleet.
type Runner func(ctx context.Context, cfg Config, replication int, src workload.Source) (*Result, error)

// Replicate is RunReplications for any runner; cfg is what the runner is given, with MaxRequests doubled between rounds.
func Replicate(ctx context.Context, cfg Config, newSource func(replication int) (workload.Source, error), opts ReplicationOptions, run Runner) (*Summary, error) {
	opts = opts.withDefaults()
	for round := 1; ; round++ {
		results, err := replicate(ctx, cfg, newSource, opts, run)
		if err != nil {
			return nil, err
		}
		s := Summarise(cfg, results, opts)
		s.Rounds, s.Requests = round, cfg.Options.MaxRequests
		last := opts.Precision == 0 || cfg.Options.MaxRequests == 0 || round > opts.Doublings || s.Verdict == Unstable || s.exhausted(cfg)
		if s.Verdict == Stable || last {
			return s, nil
		}
		cfg.Options.MaxRequests *= 2
	}
}

// exhausted reports whether the sources end before MaxRequests, so that doubling it changes nothing.
func (s *Summary) exhausted(cfg Config) bool {
	for _, r := range s.Results {
		if r.Arrived >= cfg.Options.MaxRequests {
			return false
		}
	}
	return true
}

func (o ReplicationOptions) withDefaults() ReplicationOptions {
	if o.Replications <= 0 {
		o.Replications = 10
	}
	if o.Confidence == 0 {
		o.Confidence = 0.95
	}
	if o.Doublings <= 0 {
		o.Doublings = 6
	}
	if o.Parallel <= 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	return o
}

func replicate(ctx context.Context, cfg Config, newSource func(int) (workload.Source, error), opts ReplicationOptions, run Runner) ([]*Result, error) {
	results := make([]*Result, opts.Replications)
	finished := make(chan struct{}, 1)
	finished <- struct{}{}
	done := 0
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(opts.Parallel)
	for k := range results {
		g.Go(func() error {
			src, err := newSource(k)
			if err != nil {
				return fmt.Errorf("replication %d: %w", k, err)
			}
			if results[k], err = run(gctx, cfg, k, src); err != nil {
				return fmt.Errorf("replication %d: %w", k, err)
			}
			<-finished
			done++
			if opts.Progress != nil {
				opts.Progress(done, len(results))
			}
			finished <- struct{}{}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return results, nil
}

// Summarise pools the results of independent replications of cfg.
func Summarise(cfg Config, results []*Result, opts ReplicationOptions) *Summary {
	opts = opts.withDefaults()
	s := &Summary{Replications: len(results), Results: results}
	s.Verdict, s.BacklogSlope = s.judge()
	s.pool(cfg)
	if cut, left := settles(results), ratio(s.Pooled.WarmupSeconds, s.Pooled.RunSeconds); s.Verdict == Stable && cut > left+0.1 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("the mean backlog settles only after %.0f %% of the run, and %.0f %% are left out as warm-up: longer runs are needed", 100*cut, 100*left))
	}
	s.Goodput = stats.MeanInterval(column(results, func(r *Result) float64 { return r.GoodputPerSecond }), opts.Confidence)
	s.Throughput = stats.MeanInterval(column(results, func(r *Result) float64 { return r.OutputTokensPerSecond }), opts.Confidence)
	if s.Verdict == Unstable {
		return s
	}
	for _, m := range []sla.Metric{sla.TTFT, sla.TPOT, sla.ITL, sla.E2E, queueWait} {
		for _, q := range []float64{0, 0.5, 0.9, 0.95, 0.99} {
			s.add(m, q, opts.Confidence)
		}
	}
	for _, l := range cfg.SLA.Percentiles {
		if _, ok := s.Estimate(l.Metric, l.Quantile); !ok {
			s.add(l.Metric, l.Quantile, opts.Confidence)
		}
	}
	if opts.Precision > 0 && s.Verdict != Finite {
		s.checkPrecision(cfg.SLA.Percentiles, opts.Precision)
	}
	return s
}

func column(results []*Result, f func(*Result) float64) []float64 {
	v := make([]float64, len(results))
	for i, r := range results {
		v[i] = f(r)
	}
	return v
}

// judge is the verdict of all replications: unstable when most are.
func (s *Summary) judge() (Verdict, float64) {
	counts := map[Verdict]int{}
	slope := 0.0
	for _, r := range s.Results {
		counts[r.Verdict]++
		slope += r.BacklogSlope
		for _, w := range r.Warnings {
			if len(s.Warnings) == 0 || s.Warnings[len(s.Warnings)-1] != w {
				s.Warnings = append(s.Warnings, w)
			}
		}
	}
	const most = 5
	if len(s.Warnings) > most {
		s.Warnings = append(s.Warnings[:most], fmt.Sprintf("and %d more warnings", len(s.Warnings)-most))
	}
	n := len(s.Results)
	switch {
	case 2*counts[Unstable] > n:
		return Unstable, slope / float64(counts[Unstable])
	case counts[Unstable] > 0:
		s.Warnings = append(s.Warnings, fmt.Sprintf("%d of %d replications are unstable: the load is near or above capacity", counts[Unstable], n))
		return NotConverged, 0
	case counts[Finite] == n:
		return Finite, 0
	case 2*counts[NotConverged] > n:
		return NotConverged, 0
	}
	return Stable, 0
}

// add appends an estimate: the pooled value with a sectioning interval over the replications.
func (s *Summary) add(m sla.Metric, q, confidence float64) {
	center, ok := s.Pooled.samples.quantile(m, q)
	if !ok {
		return
	}
	var sections []float64
	for _, r := range s.Results {
		if v, ok := r.samples.quantile(m, q); ok && r.Verdict != Unstable {
			sections = append(sections, v)
		}
	}
	s.Estimates = append(s.Estimates, Estimate{m, q, stats.SectionInterval(center, sections, confidence)})
}

func (s *Summary) checkPrecision(watched []sla.Limit, precision float64) {
	if len(watched) == 0 {
		watched = []sla.Limit{{Metric: sla.TTFT, Quantile: 0.99}, {Metric: sla.TPOT, Quantile: 0.99}}
	}
	for _, l := range watched {
		e, ok := s.Estimate(l.Metric, l.Quantile)
		if got := e.RelativeHalfWidth(); ok && got > precision {
			s.Verdict = NotConverged
			s.Warnings = append(s.Warnings, fmt.Sprintf("%s is known to ±%.2g %% only, ±%.2g %% was asked for", l.Name(), 100*got, 100*precision))
		}
	}
}
