package fit

import (
	"cmp"
	"slices"
)

// weighted is a value with the weight it counts with.
type weighted struct{ value, weight float64 }

// weightedQuantiles returns the n+1 quantiles at 0, 1/n, ..., 1 of weighted values; zeros of nothing.
func weightedQuantiles(v []weighted, n int) []float64 {
	out := make([]float64, n+1)
	slices.SortFunc(v, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	total := 0.0
	for _, x := range v {
		total += x.weight
	}
	i, below := 0, 0.0
	for k := range out {
		for i+1 < len(v) && below+v[i].weight < total*float64(k)/float64(n) {
			below += v[i].weight
			i++
		}
		if len(v) > 0 {
			out[k] = v[i].value
		}
	}
	return out
}
