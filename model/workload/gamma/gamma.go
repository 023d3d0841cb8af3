// Package gamma is the inverse distribution function of the gamma distribution, also at the small shapes of bursty
// arrivals, where general-purpose ones underflow.
package gamma

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// nearNormal is the shape above which the approximation of Wilson and Hilferty (1931), x = k (1 - 1/9k + z/sqrt(9k))^3, is
// better than 1e-5 of a standard deviation, and the general inverse slow.
const nearNormal = 1e4

// Quantile returns the u-quantile at unit scale: 0 for u <= 0, +Inf for u >= 1. shape must be positive.
//
// Far below the median of a small shape the first term of the series of the regularised incomplete gamma function,
// P(k, x) ~ x^k / Gamma(k+1), is exact to rounding, where the iteration of the general inverse underflows.
func Quantile(shape, u float64) float64 {
	if u <= 0 {
		return 0
	}
	if u >= 1 {
		return math.Inf(1)
	}
	if shape > nearNormal {
		k := 9 * shape
		z := math.Sqrt2 * math.Erfinv(2*u-1)
		return shape * math.Pow(max(0, 1-1/k+z/math.Sqrt(k)), 3)
	}
	lg, _ := math.Lgamma(shape + 1)
	if x := math.Exp((math.Log(u) + lg) / shape); x < 1e-9 {
		return x
	}
	return distuv.Gamma{Alpha: shape, Beta: 1}.Quantile(u)
}
