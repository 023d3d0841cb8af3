package validate

import "sort"

// leaveOutTable is the table with enough chips and models to leave one out.
const leaveOutTable = "inferencex_silicon_ttft_tpot"

// LeaveOut scores each group (chip or model) after a correction that saw only the other groups: the median of measured over
// predicted, by metric. Where it helps little, the profiles' errors are not common to all groups, and a new chip or model is
// predicted as well as those here.
func LeaveOut(points []Point, by string) []Score {
	groups := map[[2]string][]Point{}
	var keys [][2]string
	for _, p := range points {
		if p.Table != leaveOutTable {
			continue
		}
		k := [2]string{dimension(by, &p), p.Metric}
		if groups[k] == nil {
			keys = append(keys, k)
		}
		groups[k] = append(groups[k], p)
	}
	var corrected []Point
	for _, k := range keys {
		var ratios []float64
		for _, other := range keys {
			if other[0] == k[0] || other[1] != k[1] {
				continue
			}
			for _, p := range groups[other] {
				ratios = append(ratios, p.Measured/p.Predicted)
			}
		}
		if len(ratios) == 0 {
			continue
		}
		sort.Float64s(ratios)
		factor := quantile(ratios, 0.5)
		for _, p := range groups[k] {
			p.Predicted *= factor
			corrected = append(corrected, p)
		}
	}
	return Scores(corrected, by)
}
