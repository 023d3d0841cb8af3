package workload

import (
	"cmp"
	"slices"
)

// quantileOf returns the q-quantile by linear interpolation between order statistics (type 7). It sorts v.
func quantileOf[T cmp.Ordered](v []T, q float64) float64 {
	slices.Sort(v)
	return sortedQuantile(v, q)
}

func sortedQuantile[T cmp.Ordered](v []T, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	x := q * float64(len(v)-1)
	i := min(int(x), len(v)-1)
	low := toFloat(v[i])
	if i+1 >= len(v) {
		return low
	}
	return low + (x-float64(i))*(toFloat(v[i+1])-low)
}

func toFloat[T cmp.Ordered](v T) float64 {
	switch x := any(v).(type) {
	case int32:
		return float64(x)
	case int64:
		return float64(x)
	case float64:
		return x
	}
	return 0
}
