package validate

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sort"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"
)

func exp(x float64) float64 { return math.Exp(x) }

// ThreePoint scores InferenceX sweeps calibrated on three of their loads: the lowest, the middle and the highest set five bounded
// factors by least squares of logarithmic errors of TPOT and TTFT. What error remains at the three is interpolated over the
// logarithm of the load. The other loads of the sweep are scored; they are never seen by the fit.
func ThreePoint(ctx context.Context, o Options) ([]Point, error) {
	o.Tables = []string{leaveOutTable}
	jobs, _, err := Load(o)
	if err != nil {
		return nil, err
	}
	sweeps := sweepsOf(jobs)
	points := make([][]Point, len(sweeps))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range sweeps {
		g.Go(func() (err error) {
			points[i], err = calibrated(ctx, sweeps[i], o.Seed)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(points...), nil
}

// sweepsOf groups jobs by sweep, sorted by load, each load once, those of four loads or more.
func sweepsOf(jobs []Job) [][]*Job {
	index := map[string]int{}
	var all [][]*Job
	for i := range jobs {
		j := &jobs[i]
		k, ok := index[j.Sweep]
		if !ok {
			k = len(all)
			index[j.Sweep] = k
			all = append(all, nil)
		}
		if !slices.ContainsFunc(all[k], func(h *Job) bool { return h.Load == j.Load }) {
			all[k] = append(all[k], j)
		}
	}
	var out [][]*Job
	for _, s := range all {
		sort.SliceStable(s, func(a, b int) bool { return s[a].Load < s[b].Load })
		if len(s) >= 4 {
			out = append(out, s)
		}
	}
	return out
}

// calibrated fits a sweep on three loads and predicts the others. Sweeps that can't be simulated yield nothing.
func calibrated(ctx context.Context, sweep []*Job, seed uint64) ([]Point, error) {
	usable, err := usableJobs(sweep)
	if err != nil || len(usable) < 4 {
		return nil, err
	}
	anchors := []*Job{usable[0], usable[len(usable)/2], usable[len(usable)-1]}
	fit, left, err := fitFactors(ctx, anchors, seed)
	if err != nil || fit == nil {
		return nil, err
	}
	var out []Point
	for _, j := range usable {
		if slices.Contains(anchors, j) {
			continue
		}
		points, _, err := predict(ctx, j, seed, *fit)
		if err != nil {
			return nil, err
		}
		for _, p := range points {
			p.Predicted *= exp(-interpolate(anchors, left[p.Metric], j.Load))
			out = append(out, p)
		}
	}
	return out, nil
}

// usableJobs are those that can be simulated and measured.
func usableJobs(sweep []*Job) ([]*Job, error) {
	var out []*Job
	for _, j := range sweep {
		s, err := j.Deploy.resolve()
		if err != nil {
			continue // counted as left out by Run
		}
		if impossible(j, &j.Rows[0], s) == "" {
			out = append(out, j)
		}
	}
	return out, nil
}

// interpolate is the remaining logarithmic error at a load, linear in the logarithm of the load between anchors.
func interpolate(anchors []*Job, left []float64, load float64) float64 {
	if len(left) != len(anchors) {
		return 0
	}
	for i := 1; i < len(anchors); i++ {
		if load <= anchors[i].Load || i == len(anchors)-1 {
			a, b := math.Log(anchors[i-1].Load), math.Log(anchors[i].Load)
			w := (math.Log(load) - a) / (b - a)
			return left[i-1] + w*(left[i]-left[i-1])
		}
	}
	return 0
}

const (
	fitRounds = 4
	fitPull   = 0.02 // weight of staying at the profile's own values, against logarithmic errors
	fitNudge  = 0.05
)

// fitFactors is a damped Gauss-Newton search; derivatives are taken once, by differences. It returns the factors and what
// logarithmic error they leave by metric and anchor, or nil when a run yields no figures.
func fitFactors(ctx context.Context, anchors []*Job, seed uint64) (*Factors, map[string][]float64, error) {
	errorsAt := func(f Factors) ([]float64, error) { return anchorErrors(ctx, anchors, seed, f) }
	best := Factors{}
	r, err := errorsAt(best)
	if err != nil || r == nil {
		return nil, nil, err
	}
	jacobian := mat.NewDense(len(r), factorCount, nil)
	for k := range factorCount {
		v := best.values()
		v[k] += fitNudge
		moved, err := errorsAt(bounded(v))
		if err != nil || moved == nil {
			return nil, nil, err
		}
		for i := range r {
			jacobian.Set(i, k, (moved[i]-r[i])/fitNudge)
		}
	}
	loss := cost(r, best)
	damping := 0.0
	for range fitRounds {
		next := gaussNewton(jacobian, r, best, damping)
		moved, err := errorsAt(next)
		if err != nil {
			return nil, nil, err
		}
		if moved != nil && cost(moved, next) < loss {
			broyden(jacobian, best, next, r, moved)
			best, r, loss = next, moved, cost(moved, next)
			continue
		}
		damping = 10*damping + 0.1
	}
	n := len(anchors)
	return &best, map[string][]float64{TPOTMean: r[:n], TTFTMean: r[n:]}, nil
}

// anchorErrors are the logarithmic errors of TPOT at the anchors, then of TTFT; nil when a figure is missing.
func anchorErrors(ctx context.Context, anchors []*Job, seed uint64, f Factors) ([]float64, error) {
	n := len(anchors)
	out := make([]float64, 2*n)
	found := 0
	for i, j := range anchors {
		s, err := j.Deploy.resolve()
		if err != nil {
			return nil, err
		}
		points, err := predictRows(ctx, j, j.Rows, s, seed, f) // anchors may be calibration rows of the profile too
		var u *unsupported
		if errors.As(err, &u) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, p := range points {
			at := i
			if p.Metric == TTFTMean {
				at += n
			}
			if p.Predicted > 0 {
				out[at] = math.Log(p.Predicted / p.Measured)
				found++
			}
		}
	}
	if found != 2*n {
		return nil, nil
	}
	return out, nil
}

func cost(r []float64, f Factors) float64 {
	sum := 0.0
	for _, v := range r {
		sum += v * v
	}
	for _, v := range f.values() {
		sum += fitPull * v * v
	}
	return sum
}

// gaussNewton solves (J'J + (pull + damping) I) step = -(J'r + pull f).
func gaussNewton(jacobian *mat.Dense, r []float64, f Factors, damping float64) Factors {
	var a mat.Dense
	a.Mul(jacobian.T(), jacobian)
	var b mat.VecDense
	b.MulVec(jacobian.T(), mat.NewVecDense(len(r), r))
	v := f.values()
	for k := range factorCount {
		a.Set(k, k, a.At(k, k)+fitPull+damping)
		b.SetVec(k, -b.AtVec(k)-fitPull*v[k])
	}
	var step mat.VecDense
	if err := step.SolveVec(&a, &b); err != nil {
		return f
	}
	for k := range factorCount {
		v[k] += step.AtVec(k)
	}
	return bounded(v)
}

// broyden updates derivatives by what a step did (Broyden 1965, rank one).
func broyden(jacobian *mat.Dense, from, to Factors, before, after []float64) {
	a, b := from.values(), to.values()
	norm := 0.0
	for k := range factorCount {
		norm += (b[k] - a[k]) * (b[k] - a[k])
	}
	if norm == 0 {
		return
	}
	for i := range before {
		predicted := 0.0
		for k := range factorCount {
			predicted += jacobian.At(i, k) * (b[k] - a[k])
		}
		miss := (after[i] - before[i] - predicted) / norm
		for k := range factorCount {
			jacobian.Set(i, k, jacobian.At(i, k)+miss*(b[k]-a[k]))
		}
	}
}
