package calibrate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
	"scoville/hardware"
)

// Options rule a fit.
type Options struct {
	Parameters []Parameter // to fit; nil: all of the deployment
	Rounds     int         // of the search; 0: 15
	// Progress is told after each round how many there may be and the loss; nil: none.
	Progress func(round, most int, loss float64)
}

const (
	defaultRounds = 15
	coarseRounds  = 8    // of the searches that only find the neighbourhood
	nudge         = 0.02 // of u, for derivatives: well above the rounding of simulated clocks, well below a factor's spread
	huber         = 2.0  // standard errors from which a residual counts linearly

	// The step model itself is granted an error on every figure: without it, a figure measured on many requests would count as exact
	// and bend the physics to its last digit. A last search grants what the residuals of the one before showed, if there are more
	// figures than the parameters use up.
	leastModelError = 0.002
	mostModelError  = 0.2
	enoughFreedom   = 5
	adaptations     = 3
)

// modelErrors is how the granted error shrinks from search to search. A prior may be off by orders of magnitude: were residuals
// counted in their final standard errors from the start, all would be outliers.
var modelErrors = [...]float64{0.5, 0.1, 0.02}

// ModelError is the standard error, of the logarithm, that is granted to the step model by metric. TTFT has one of its own: in closed
// loops it hangs on which requests meet in a step.
type ModelError struct {
	TTFT float64 `toml:"ttft" json:"ttft"`
	TPOT float64 `toml:"tpot" json:"tpot"`
}

func (e *ModelError) of(m Metric) *float64 {
	switch m {
	case TTFTMean, TTFTP50, TTFTP90, TTFTP99:
		return &e.TTFT
	}
	return &e.TPOT
}

// Fit is a calibration.
type Fit struct {
	Factors    hardware.Factors
	Estimates  []Estimate
	Confusion  []Pair // parameters the data can't tell apart
	Residuals  []Residual
	Loss       float64
	ModelError ModelError
	ChiSquare  float64 // mean squared residual over its standard error
	Rounds     int
	Converged  bool
	Range      Range
	Notes      []string

	parameters []Parameter
	u          []float64
	covariance *mat.SymDense // of u
	quantile   float64       // of Student's t at 97.5 %
}

// Residual is a measured figure beside what the fitted model predicts.
type Residual struct {
	Load      string  `toml:"load" json:"load"`
	Metric    Metric  `toml:"metric" json:"metric"`
	Measured  float64 `toml:"measured" json:"measured"`
	Predicted float64 `toml:"predicted" json:"predicted"`
	Sigma     float64 `toml:"sigma,omitempty,omitzero" json:"sigma,omitempty"` // standard error of the logarithm, the model's own error included
}

// Error is the relative error, above zero where the prediction is too high.
func (r Residual) Error() float64 { return r.Predicted/r.Measured - 1 }

// Run fits the factors of a deployment to loads. An *Impossible error says that the records are faster than physics allows.
func Run(ctx context.Context, d hardware.Deployment, loads []Load, o Options) (*Fit, error) {
	p := &problem{ctx: ctx, loads: loads, parameters: o.Parameters}
	if p.parameters == nil {
		p.parameters = Parameters(d)
	}
	for _, l := range loads {
		p.rows += len(l.Targets)
	}
	if p.rows == 0 {
		return nil, errors.New("no load holds a measured figure to fit")
	}
	if err := speedOfLight(ctx, loads); err != nil {
		return nil, err
	}
	rounds := o.Rounds
	if rounds == 0 {
		rounds = defaultRounds
	}
	var f *Fit
	typical, err := p.typicalError()
	if err != nil {
		return nil, err
	}
	for i, e := range modelErrors {
		if last := i == len(modelErrors)-1; !last && typical < e {
			continue // near enough to begin closer
		}
		if f, err = p.next(f, ModelError{e, e}, min(rounds, coarseRounds), o.Progress); err != nil {
			return nil, err
		}
	}
	for range adaptations {
		e, ok := p.shown(f.u)
		if !ok || e.near(p.modelError) {
			break
		}
		var err error
		if f, err = p.next(f, e, rounds, o.Progress); err != nil {
			return nil, err
		}
	}
	for _, l := range loads {
		f.Range = f.Range.with(l.Range)
	}
	return f, f.assess(p)
}

// problem is the least squares at hand. It keeps the last point evaluated, since the optimiser asks for value, gradient and
// Hessian one by one.
type problem struct {
	ctx        context.Context
	loads      []Load
	parameters []Parameter
	rows       int
	modelError ModelError

	at        []float64
	logErrors []float64 // log(predicted / measured), by load and target
	jacobian  *mat.Dense
	jacobAt   []float64
	err       error
	start     []float64
	best      []float64
	bestLoss  float64
}

// predictAll simulates every load at u.
func (p *problem) predictAll(u []float64) ([]Figures, error) {
	f := factorsAt(p.parameters, u)
	out := make([]Figures, len(p.loads))
	g, ctx := errgroup.WithContext(p.ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range p.loads {
		g.Go(func() (err error) {
			out[i], err = p.loads[i].Predict(ctx, f)
			return err
		})
	}
	return out, g.Wait()
}

func (p *problem) errorsAt(u []float64) ([]float64, error) {
	figures, err := p.predictAll(u)
	if err != nil {
		return nil, err
	}
	out := make([]float64, 0, p.rows)
	for i, l := range p.loads {
		for _, t := range l.Targets {
			v, ok := figures[i][t.Metric]
			if !ok || !(v > 0) {
				return nil, fmt.Errorf("%s: the simulation yields no %s", l.Name, t.Metric)
			}
			out = append(out, math.Log(v/t.Value))
		}
	}
	return out, nil
}

// look evaluates u unless it was the last point.
func (p *problem) look(u []float64) []float64 {
	if !slices.Equal(p.at, u) {
		r, err := p.errorsAt(u)
		if err != nil {
			if p.err == nil {
				p.err = err
			}
			return nil
		}
		p.at, p.logErrors = slices.Clone(u), r
	}
	return p.logErrors
}

// sigma is the standard error of a target's logarithm.
func (p *problem) sigma(t *Target) float64 { return math.Hypot(t.Noise, *p.modelError.of(t.Metric)) }

// typicalError is the root mean square of the logarithmic errors at the prior.
func (p *problem) typicalError() (float64, error) {
	r := p.look(make([]float64, len(p.parameters)))
	if r == nil {
		return 0, p.err
	}
	sum := 0.0
	for _, e := range r {
		sum += e * e
	}
	return math.Sqrt(sum / float64(len(r))), nil
}

// next searches from where a fit ended, at another granted error.
func (p *problem) next(from *Fit, modelError ModelError, rounds int, progress func(round, most int, loss float64)) (*Fit, error) {
	p.modelError, p.best, p.jacobian = modelError, nil, nil
	if from != nil {
		p.start = from.u
	}
	return p.search(rounds, progress)
}

// shown is the error that the model showed at u, beyond the noise of the figures; ok is false where too few figures tell.
func (p *problem) shown(u []float64) (shown ModelError, ok bool) {
	freedom := float64(p.rows) - p.used(u)
	if freedom < enoughFreedom {
		return shown, false
	}
	var sum, count ModelError
	r := p.look(u)
	p.each(func(row int, t *Target) {
		// Outliers count up to where the loss turns linear.
		e := math.Min(math.Abs(r[row]), 3*huber*p.sigma(t))
		*sum.of(t.Metric) += math.Max(0, e*e-t.Noise*t.Noise)
		*count.of(t.Metric)++
	})
	share := freedom / float64(p.rows) // of the figures, after what the parameters take up
	for _, m := range []Metric{TTFTMean, TPOTMean} {
		*shown.of(m) = math.Min(mostModelError, math.Max(leastModelError, math.Sqrt(*sum.of(m)/math.Max(1, share**count.of(m)))))
	}
	return shown, true
}

// near reports whether another search would hardly differ.
func (e ModelError) near(other ModelError) bool {
	near := func(a, b float64) bool { return a > 0.7*b && a < 1.4*b }
	return near(e.TTFT, other.TTFT) && near(e.TPOT, other.TPOT)
}

// used is how many parameters the data decide at u: the trace of posterior covariance x data's information.
func (p *problem) used(u []float64) float64 {
	data, posterior := p.information(u, false), p.information(u, true)
	var chol mat.Cholesky
	if !chol.Factorize(posterior) {
		return float64(len(u))
	}
	var x mat.Dense
	if err := chol.SolveTo(&x, data); err != nil {
		return float64(len(u))
	}
	return mat.Trace(&x)
}

// each visits every target with its place.
func (p *problem) each(visit func(row int, t *Target)) {
	row := 0
	for i := range p.loads {
		for j := range p.loads[i].Targets {
			visit(row, &p.loads[i].Targets[j])
			row++
		}
	}
}

// loss is the objective of the package comment.
func (p *problem) loss(u []float64) float64 {
	r := p.look(u)
	if r == nil {
		return math.Inf(1)
	}
	sum := 0.0
	p.each(func(row int, t *Target) { sum += rho(r[row] / p.sigma(t)) })
	for k := range p.parameters {
		z := u[k] / p.parameters[k].Spread
		sum += z * z / 2
	}
	if p.best == nil || sum < p.bestLoss {
		p.best, p.bestLoss = slices.Clone(u), sum
	}
	return sum
}

// rho is Huber's loss.
func rho(z float64) float64 {
	if a := math.Abs(z); a > huber {
		return huber * (a - huber/2)
	}
	return z * z / 2
}

// weight is Huber's weight: rho'(z)/z.
func weight(z float64) float64 {
	if a := math.Abs(z); a > huber {
		return huber / a
	}
	return 1
}

// derivatives of the logarithmic errors by differences, central ones in the last searches; every column is one or two simulations of
// all loads.
func (p *problem) derivatives(u []float64) *mat.Dense {
	if p.jacobian != nil && slices.Equal(p.jacobAt, u) {
		return p.jacobian
	}
	j := mat.NewDense(p.rows, len(u), nil)
	coarse := p.modelError.TPOT > modelErrors[len(modelErrors)-1]
	for k := range u {
		side := [2][]float64{nil, p.look(u)}
		nudges := []float64{nudge, -nudge}
		if coarse {
			nudges = nudges[:1]
		}
		if side[1] == nil {
			return j
		}
		for s, h := range nudges {
			v := slices.Clone(u)
			v[k] += h
			r, err := p.errorsAt(v)
			if err != nil {
				if p.err == nil {
					p.err = err
				}
				return j
			}
			side[s] = r
		}
		for i := range side[0] {
			j.Set(i, k, (side[0][i]-side[1][i])/(nudge*float64(len(nudges))))
		}
	}
	p.jacobian, p.jacobAt = j, slices.Clone(u)
	return j
}

func (p *problem) gradient(grad, u []float64) {
	r, j := p.look(u), p.derivatives(u)
	for k := range grad {
		grad[k] = u[k] / (p.parameters[k].Spread * p.parameters[k].Spread)
	}
	if r == nil {
		return
	}
	p.each(func(row int, t *Target) {
		z := r[row] / p.sigma(t)
		for k := range grad {
			grad[k] += j.At(row, k) / p.sigma(t) * weight(z) * z
		}
	})
}

// information is the Gauss-Newton Hessian: the data's part, and the prior's on top if asked.
func (p *problem) information(u []float64, prior bool) *mat.SymDense {
	r, j := p.look(u), p.derivatives(u)
	n := len(u)
	h := mat.NewSymDense(n, nil)
	if r != nil {
		p.each(func(row int, t *Target) {
			w := weight(r[row]/p.sigma(t)) / (p.sigma(t) * p.sigma(t))
			for a := range n {
				for b := a; b < n; b++ {
					h.SetSym(a, b, h.At(a, b)+w*j.At(row, a)*j.At(row, b))
				}
			}
		})
	}
	if prior {
		for k := range n {
			s := p.parameters[k].Spread
			h.SetSym(k, k, h.At(k, k)+1/(s*s))
		}
	}
	return h
}

// search minimises with Newton's method on the Gauss-Newton Hessian, from the prior.
func (p *problem) search(rounds int, progress func(round, most int, loss float64)) (*Fit, error) {
	round := 0
	problem := optimize.Problem{
		Func: p.loss,
		Grad: func(grad, x []float64) {
			p.gradient(grad, x)
			round++
			if progress != nil {
				progress(round, rounds, p.bestLoss)
			}
		},
		Hess: func(h *mat.SymDense, x []float64) { h.CopySym(p.information(x, true)) },
		Status: func() (optimize.Status, error) {
			if p.err != nil {
				return optimize.Failure, p.err
			}
			return optimize.NotTerminated, p.ctx.Err()
		},
	}
	settings := &optimize.Settings{MajorIterations: rounds, GradientThreshold: 1e-3, Converger: &optimize.FunctionConverge{Absolute: 1e-3, Relative: 1e-4, Iterations: 2}}
	if p.start == nil {
		p.start = make([]float64, len(p.parameters))
	}
	result, err := optimize.Minimize(problem, p.start, settings, &optimize.Newton{Linesearcher: &optimize.Backtracking{}})
	if p.err != nil {
		return nil, p.err
	}
	if p.ctx.Err() != nil {
		return nil, p.ctx.Err()
	}
	if p.best == nil {
		return nil, fmt.Errorf("the search did not start: %w", err)
	}
	f := &Fit{parameters: p.parameters, u: p.best, Factors: factorsAt(p.parameters, p.best), Loss: p.bestLoss, ModelError: p.modelError, Rounds: round}
	// A line search that finds nothing better has arrived as far as a simulation, whose events come in whole steps, is smooth.
	f.Converged = err == nil && result.Status != optimize.IterationLimit || errors.Is(err, optimize.ErrLinesearcherFailure) || errors.Is(err, optimize.ErrNoProgress)
	if !f.Converged {
		f.Notes = append(f.Notes, fmt.Sprintf("the search stopped after %d rounds without having converged", round))
	}
	return f, nil
}
