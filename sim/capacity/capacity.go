// Package capacity finds how much load a deployment holds within its SLA, and how many replicas a load needs.
//
// The highest load is a stochastic root. It is found by retrospective approximation: each replication fixes its random
// draws (gaps between arrivals are scaled by 1/rate), bisects the rate on them, and the answer is the mean and a
// t-interval over replications. Plans use the lower end. With fresh draws at each probe, measured p99 falls with load in
// hundreds of steps; with common draws it does not.
package capacity

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"scoville/sim"
)

// Probe runs the deployment once at an offered rate, with the fixed draws of a replication.
type Probe func(ctx context.Context, requestsPerSecond float64, replication int) (*sim.Result, error)

// Search is the question: at which rate does Probe stop meeting its SLA?
type Search struct {
	Probe        Probe
	Start        float64 // requests per second to try first: any guess within a few orders of magnitude
	Ceiling      float64 // no machine can do more: the physical bound, 0 if not known
	Replications int     // default 6
	Precision    float64 // relative width at which a replication's bisection stops; default 0.02
	Parallel     int     // replications at once; default 2
	Progress     func(done, total int)
}

// Answer is the highest load within the SLA.
type Answer struct {
	Mean, Low, High float64   // requests per second: mean over replications and its 95 % interval
	Roots           []float64 // one a replication
	Probes          int
	Below, Above    *sim.Result // the last passing and first failing run of replication 0
	Warnings        []string
}

// ErrNoLoad is the cause when not even a vanishing load meets the SLA. Best then tells what an idle system achieves.
type ErrNoLoad struct {
	Rate float64
	Best *sim.Result
}

func (e *ErrNoLoad) Error() string {
	why := "the run is " + string(e.Best.Verdict)
	if len(e.Best.Violations) > 0 {
		why = e.Best.Violations[0]
	}
	return fmt.Sprintf("no load meets the SLA: already at %.3g requests a second %s", e.Rate, why)
}

const (
	defaultReplications = 6
	defaultPrecision    = 0.02
	firstStride         = 1.3 // first step of the gallop from Start; each further step squares it
	maxStride           = 4
	maxBracketSteps     = 40
	idleFraction        = 1.0 / 4096 // of Start: a load so low that requests hardly meet
)

// Find answers a search. It returns *ErrNoLoad when no load passes, or the context's error.
func Find(ctx context.Context, s Search) (*Answer, error) {
	s = withDefaults(s)
	if !(s.Start > 0) || math.IsInf(s.Start, 0) {
		return nil, fmt.Errorf("capacity: start rate %g must be positive", s.Start)
	}
	found := make([]root, s.Replications)
	var done atomic.Int64
	one := func(ctx context.Context, r int, start, stride float64) (err error) {
		found[r], err = bisect(ctx, s, r, start, stride)
		if s.Progress != nil {
			s.Progress(int(done.Add(1)), s.Replications)
		}
		return err
	}
	if err := one(ctx, 0, s.Start, firstStride); err != nil {
		return nil, err
	}
	// The first root tells the others where to start; each still brackets its own.
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(s.Parallel)
	for r := 1; r < s.Replications; r++ {
		g.Go(func() error { return one(gctx, r, found[0].rate, 1+2*s.Precision) })
	}
	if err := g.Wait(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return summarise(found), nil
}

func withDefaults(s Search) Search {
	if s.Replications == 0 {
		s.Replications = defaultReplications
	}
	if s.Precision == 0 {
		s.Precision = defaultPrecision
	}
	if s.Parallel == 0 {
		s.Parallel = 2
	}
	return s
}

// root is the answer of one replication.
type root struct {
	rate         float64
	probes       int
	below, above *sim.Result
	warnings     []string
}

// Passes reports whether a run is stable and within its SLA.
func Passes(r *sim.Result) bool { return r.SLAMet && r.Verdict != sim.Unstable }

// bisect brackets the root by galloping away from start, then halves the bracket geometrically.
func bisect(ctx context.Context, s Search, replication int, start, stride float64) (root, error) {
	var out root
	probe := func(rate float64) (bool, error) {
		r, err := s.Probe(ctx, rate, replication)
		if err != nil {
			return false, err
		}
		out.probes++
		if Passes(r) {
			out.below = r
			return true, nil
		}
		out.above = r
		return false, nil
	}
	low, high, err := bracket(s, start, stride, probe, &out)
	if err != nil {
		return out, err
	}
	for high/low > 1+s.Precision {
		middle := math.Sqrt(low * high)
		ok, err := probe(middle)
		if err != nil {
			return out, err
		}
		if ok {
			low = middle
		} else {
			high = middle
		}
	}
	out.rate = low
	return out, nil
}

// bracket returns a passing and a failing rate.
func bracket(s Search, start, stride float64, probe func(float64) (bool, error), out *root) (low, high float64, err error) {
	rate := start
	ok, err := probe(rate)
	if err != nil {
		return 0, 0, err
	}
	for range maxBracketSteps {
		next := rate * stride
		if !ok {
			next = rate / stride
		}
		if next < s.Start*idleFraction {
			return 0, 0, &ErrNoLoad{Rate: rate, Best: out.above}
		}
		if ok && s.Ceiling > 0 && rate > s.Ceiling {
			return 0, 0, fmt.Errorf("capacity: %.4g requests a second pass, above the physical bound of %.4g: the step model is broken", rate, s.Ceiling)
		}
		nextOK, err := probe(next)
		if err != nil {
			return 0, 0, err
		}
		switch {
		case ok && !nextOK:
			return rate, next, nil
		case !ok && nextOK:
			return next, rate, nil
		}
		rate, stride = next, min(stride*stride, maxStride)
	}
	return 0, 0, errors.New("capacity: no failing load found; the SLA has no limit that load can break")
}

func summarise(found []root) *Answer {
	a := &Answer{Below: found[0].below, Above: found[0].above}
	for _, f := range found {
		a.Roots = append(a.Roots, f.rate)
		a.Probes += f.probes
		a.Warnings = append(a.Warnings, f.warnings...)
	}
	a.Mean = stat.Mean(a.Roots, nil)
	a.Low, a.High = a.Mean, a.Mean
	if n := float64(len(a.Roots)); n > 1 {
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
		half := t * stat.StdDev(a.Roots, nil) / math.Sqrt(n)
		a.Low, a.High = max(0, a.Mean-half), a.Mean+half
	} else {
		a.Warnings = append(a.Warnings, "one replication: the interval of the capacity is not known")
	}
	return a
}
