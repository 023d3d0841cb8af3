package calibrate

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
	"scoville/hardware"
)

// Estimate is a fitted factor with its 95 % interval.
type Estimate struct {
	Name    string  `toml:"name" json:"name"`
	Unit    string  `toml:"unit" json:"unit"`
	Meaning string  `toml:"meaning" json:"meaning"`
	Value   float64 `toml:"value" json:"value"`
	Low     float64 `toml:"low" json:"low"`
	High    float64 `toml:"high" json:"high"`
	Prior   float64 `toml:"prior" json:"prior"`
	// Informed is false where the records say little beyond the prior: the posterior spread is above 80 % of the prior's.
	Informed bool `toml:"informed" json:"informed"`
	// AtBound is true where the fit was held by its bounds.
	AtBound bool `toml:"at_bound" json:"at_bound"`
}

// Pair is two parameters that the data can't tell apart.
type Pair struct {
	A           string  `toml:"a" json:"a"`
	B           string  `toml:"b" json:"b"`
	Correlation float64 `toml:"correlation" json:"correlation"`
}

const (
	informedShare = 0.8
	confused      = 0.95
	nearBound     = 0.97
)

// assess fills what a fit says of itself.
func (f *Fit) assess(p *problem) error {
	posterior := p.information(f.u, true)
	if p.err != nil {
		return p.err
	}
	var chol mat.Cholesky
	if !chol.Factorize(posterior) {
		return fmt.Errorf("the curvature at the optimum is not positive definite")
	}
	n := len(f.u)
	f.covariance = mat.NewSymDense(n, nil)
	if err := chol.InverseTo(f.covariance); err != nil {
		return fmt.Errorf("the curvature at the optimum is singular: %w", err)
	}
	used := p.used(f.u)
	freedom := math.Max(1, float64(p.rows)-used)
	square := f.residuals(p)
	f.ChiSquare = square / float64(p.rows)
	// Residuals beyond their standard errors widen the intervals; those below don't narrow them.
	scale := math.Max(1, square/freedom)
	f.covariance.ScaleSym(scale, f.covariance)
	f.quantile = distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Quantile(0.975)
	for k := range p.parameters {
		f.Estimates = append(f.Estimates, f.estimate(k))
	}
	f.pairs()
	return nil
}

// residuals records the remaining errors and returns the sum of their squares over their variances, Huber's weight on them.
func (f *Fit) residuals(p *problem) float64 {
	r := p.look(f.u)
	row, sum := 0, 0.0
	for _, l := range p.loads {
		for _, t := range l.Targets {
			z := r[row] / p.sigma(&t)
			sum += weight(z) * z * z
			f.Residuals = append(f.Residuals, Residual{l.Name, t.Metric, t.Value, t.Value * math.Exp(r[row]), p.sigma(&t)})
			row++
		}
	}
	return sum
}

func (f *Fit) estimate(k int) Estimate {
	p := &f.parameters[k]
	sd := math.Sqrt(f.covariance.At(k, k))
	half := f.quantile * sd
	return Estimate{
		Name: p.Name, Unit: p.Unit, Meaning: p.Meaning, Value: p.value(f.u[k]), Low: p.value(f.u[k] - half), High: p.value(f.u[k] + half), Prior: p.Prior,
		Informed: sd < informedShare*p.Spread, AtBound: math.Abs(math.Tanh(f.u[k]/p.Bound)) > nearBound,
	}
}

// pairs lists the parameters whose estimates move together.
func (f *Fit) pairs() {
	for i := range f.parameters {
		for j := i + 1; j < len(f.parameters); j++ {
			c := f.covariance.At(i, j) / math.Sqrt(f.covariance.At(i, i)*f.covariance.At(j, j))
			if math.Abs(c) > confused {
				f.Confusion = append(f.Confusion, Pair{f.parameters[i].Name, f.parameters[j].Name, c})
			}
		}
	}
}

// Derived is a quantity that follows from the factors, such as the time of a certain step, with its 95 % interval by the delta
// method.
func (f *Fit) Derived(of func(hardware.Factors) (float64, error)) (value, low, high float64, err error) {
	value, err = of(f.Factors)
	if err != nil {
		return 0, 0, 0, err
	}
	n := len(f.u)
	gradient := make([]float64, n)
	for k := range n {
		var side [2]float64
		for s, h := range []float64{nudge, -nudge} {
			u := append([]float64(nil), f.u...)
			u[k] += h
			if side[s], err = of(factorsAt(f.parameters, u)); err != nil {
				return 0, 0, 0, err
			}
		}
		gradient[k] = (side[0] - side[1]) / (2 * nudge)
	}
	variance := mat.Inner(mat.NewVecDense(n, gradient), f.covariance, mat.NewVecDense(n, gradient))
	half := f.quantile * math.Sqrt(math.Max(0, variance))
	return value, value - half, value + half, nil
}

// Impossible says that measured figures are faster than the datasheet's roofline: the chip's profile, the model, the precision or
// the token counts of the records are wrong.
type Impossible struct {
	Load                 string
	Metric               Metric
	Measured, AtLeast    float64
	Measurements, Faster int
}

func (e *Impossible) Error() string {
	return fmt.Sprintf("%d of %d measured figures beat physics: in %s, %s is %.4g s, and the chips at their datasheet rates, without any overhead, take %.4g s; check chip, model, precision, number of chips and token counts",
		e.Faster, e.Measurements, e.Load, e.Metric, e.Measured, e.AtLeast)
}

// tolerance below the roofline: a datasheet's bandwidth and a client's clock have errors of their own.
const tolerance = 0.97

// speedOfLight refuses records faster than the roofline. All factors but those of the roofline go to nothing.
func speedOfLight(ctx context.Context, loads []Load) error {
	const nothing = 1e-9
	light := hardware.Factors{HostStep: nothing, HostSequence: nothing, HostPrefill: nothing, HostTTFT: nothing, Compute: nothing,
		Bandwidth: nothing, PrefillAttention: nothing, DecodeAttention: nothing, Collective: nothing}
	var worst *Impossible
	faster, all := 0, 0
	for _, l := range loads {
		figures, err := l.Predict(ctx, light)
		if err != nil {
			return err
		}
		for _, m := range []Metric{TTFTMean, TPOTMean} {
			v, ok := l.Measured[m]
			if !ok {
				continue
			}
			all++
			if least := figures[m]; v < tolerance*least {
				faster++
				if worst == nil || v/least < worst.Measured/worst.AtLeast {
					worst = &Impossible{Load: l.Name, Metric: m, Measured: v, AtLeast: least}
				}
			}
		}
	}
	if worst == nil {
		return nil
	}
	worst.Measurements, worst.Faster = all, faster
	return worst
}
