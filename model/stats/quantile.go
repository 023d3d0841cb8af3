package stats

import (
	"math"
	"slices"
)

// Quantile returns the q-quantile of sorted values by linear interpolation between order statistics: position q(n-1), definition 7
// of Hyndman and Fan (1996), the one NumPy and the benchmark tools use. It is NaN for no values; q is clamped to [0, 1].
func Quantile(sorted []float64, q float64) float64 {
	n := len(sorted)
	if n == 0 || math.IsNaN(q) {
		return math.NaN()
	}
	h := max(0, min(1, q)) * float64(n-1)
	i := int(h)
	if i >= n-1 {
		return sorted[n-1]
	}
	return sorted[i] + (h-float64(i))*(sorted[i+1]-sorted[i])
}

// QuantileOf sorts a copy of the values and returns its q-quantile.
func QuantileOf(values []float64, q float64) float64 {
	v := slices.Clone(values)
	slices.Sort(v)
	return Quantile(v, q)
}

// Mean returns the arithmetic mean, NaN for no values.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Variance returns the sample variance about the mean, with n-1 in the denominator, NaN below two values.
func Variance(values []float64) float64 {
	n := len(values)
	if n < 2 {
		return math.NaN()
	}
	m, ss := Mean(values), 0.0
	for _, v := range values {
		ss += (v - m) * (v - m)
	}
	return ss / float64(n-1)
}
