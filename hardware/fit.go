package hardware

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/mat"
)

// sample is one measured kernel: its place on the two axes of a curve, its roofline seconds and what it took.
type sample struct {
	x, y           float64
	ideal, seconds float64
	group          int // shape: cross-validation leaves whole groups out
}

// fitCurve finds the efficiencies on a grid of knots that explain the samples: least squares on the logarithm of the efficiency
// with a penalty on its second differences, so that knots between samples are interpolated. Errors are from a fit on the other
// shapes (four folds), or of the fit itself where there is but one shape.
func fitCurve(samples []sample, floor float64, x, y []float64, top float64) ([][]float64, Fit) {
	const folds = 4
	errs := make([]float64, 0, len(samples))
	for f := range folds {
		var train, test []sample
		for _, s := range samples {
			if s.group%folds == f {
				test = append(test, s)
			} else {
				train = append(train, s)
			}
		}
		if len(train) == 0 || len(test) == 0 {
			continue
		}
		c := Curve{X: x, Y: y, Efficiency: solve(train, floor, x, y, top)}
		for _, s := range test {
			errs = append(errs, (floor+s.ideal/c.at(s.x, s.y))/s.seconds-1)
		}
	}
	grid := solve(samples, floor, x, y, top)
	if len(errs) == 0 { // a single shape: nothing to leave out
		c := Curve{X: x, Y: y, Efficiency: grid}
		for _, s := range samples {
			errs = append(errs, (floor+s.ideal/c.at(s.x, s.y))/s.seconds-1)
		}
	}
	return grid, fitOf(errs)
}

func fitOf(errs []float64) Fit {
	f := Fit{Rows: len(errs)}
	if len(errs) == 0 {
		return f
	}
	abs := make([]float64, len(errs))
	for i, e := range errs {
		abs[i] = math.Abs(e)
		f.Bias += e / float64(len(errs))
	}
	sort.Float64s(abs)
	f.MedianError, f.P90Error = abs[len(abs)/2], abs[len(abs)*9/10]
	return f
}

// solve is the penalised least squares of fitCurve by its normal equations.
func solve(samples []sample, floor float64, x, y []float64, top float64) [][]float64 {
	nx, ny := len(x), len(y)
	n := nx * ny
	a := mat.NewSymDense(n, nil)
	b := mat.NewVecDense(n, nil)
	add := func(at []int, weight []float64, value float64) {
		for p, i := range at {
			b.SetVec(i, b.AtVec(i)+weight[p]*value)
			for q, j := range at {
				if j >= i {
					a.SetSym(i, j, a.At(i, j)+weight[p]*weight[q])
				}
			}
		}
	}
	for _, s := range samples {
		i, u := bracket(x, s.x)
		j, v := bracket(y, s.y)
		at := []int{i*ny + j, (i+1)*ny + j, i*ny + j + 1, (i+1)*ny + j + 1}
		w := []float64{(1 - u) * (1 - v), u * (1 - v), (1 - u) * v, u * v}
		beyond := max(s.seconds-floor, 0.25*s.seconds) // the floor is of the smallest kernels; part of it hides in larger ones
		e := min(max(s.ideal/beyond, 1e-5), top)
		add(at, w, math.Log(e))
	}
	smooth := math.Sqrt(0.02*float64(len(samples))/float64(n) + 1e-6)
	for i := range nx {
		for j := range ny {
			if i+2 < nx {
				add([]int{i*ny + j, (i+1)*ny + j, (i+2)*ny + j}, []float64{smooth, -2 * smooth, smooth}, 0)
			}
			if j+2 < ny {
				add([]int{i*ny + j, i*ny + j + 1, i*ny + j + 2}, []float64{smooth, -2 * smooth, smooth}, 0)
			}
		}
	}
	for i := range n {
		a.SetSym(i, i, a.At(i, i)+1e-9)
	}
	var ch mat.Cholesky
	grid := make([][]float64, nx)
	w := mat.NewVecDense(n, nil)
	if ch.Factorize(a) {
		if err := ch.SolveVecTo(w, b); err != nil {
			w.Zero() // near-singular: no knot is informed, fall to the top
		}
	}
	for i := range nx {
		grid[i] = make([]float64, ny)
		for j := range ny {
			grid[i][j] = round3(min(math.Exp(w.AtVec(i*ny+j)), top))
		}
	}
	return grid
}

// round3 keeps three significant digits: a curve is no more precise.
func round3(v float64) float64 {
	if v == 0 {
		return 0
	}
	scale := math.Pow(10, 2-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

// quantile of unsorted values, nearest rank.
func quantileOf(values []float64, q float64) float64 {
	v := append([]float64(nil), values...)
	sort.Float64s(v)
	return v[min(int(q*float64(len(v))), len(v)-1)]
}
