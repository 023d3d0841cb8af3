package hardware

import "sort"

// tabulated is a smooth function of a token count kept at fixed points, because evaluating curves in every simulated step is what
// would dominate a simulation. Points are whole tokens to tableDense, then 1 % apart; between them it is linear, which the
// curves (straight in log-log) leave at a relative error below 1e-4. Outside the table the function itself is called.
type tabulated struct {
	exact func(float64) piece
	x     []float64
	y     []piece
}

const (
	tableDense  = 128
	tableStride = 1.01
)

func tabulate(f func(float64) piece, limit float64) tabulated {
	t := tabulated{exact: f}
	for x := 1.0; x < limit*tableStride; {
		t.x, t.y = append(t.x, x), append(t.y, f(x))
		if x < tableDense {
			x++
		} else {
			x *= tableStride
		}
	}
	return t
}

func (t tabulated) at(x float64) piece {
	if len(t.x) < 2 || x < 1 || x >= t.x[len(t.x)-1] {
		return t.exact(x)
	}
	i := int(x) - 1
	if x >= tableDense {
		i = sort.SearchFloat64s(t.x, x)
		if t.x[i] > x {
			i--
		}
	}
	u := (x - t.x[i]) / (t.x[i+1] - t.x[i])
	if u == 0 {
		return t.y[i]
	}
	return t.y[i].times(1 - u).plus(t.y[i+1].times(u))
}
