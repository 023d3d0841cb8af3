package validate

import (
	"math"
	"path/filepath"
	"slices"
	"sort"
)

// League compares another simulator's published predictions with ours on the rows that both predict.
type League struct {
	Table, Simulator, Metric string
	N                        int
	Theirs, TheirMedian      float64
	Ours, OurMedian          float64
}

// ReadLeague reads the predictions that others made of a matrix table and sets them beside our points.
func ReadLeague(data, table string, points []Point) ([]League, error) {
	records, err := readTable(filepath.Join(data, filepath.FromSlash(table), "simulator_predictions.csv"), "experiment", "stage", "simulator", "metric", "predicted", "actual")
	if err != nil {
		return nil, err
	}
	type key struct{ id, metric string }
	ours := map[key]Point{}
	for _, p := range points {
		if p.Table == table {
			ours[key{p.ID, p.Metric}] = p
		}
	}
	type pair struct{ theirs, ours []float64 }
	var names []string
	errors := map[[2]string]*pair{}
	for _, r := range records {
		x := &experiment{name: r.text("experiment")}
		predicted, actual := r.positive("predicted"), r.positive("actual")
		stage, _ := r.number("stage")
		if r.err != nil {
			return nil, r.err
		}
		p, ok := ours[key{x.id(int(stage)), r.text("metric")}]
		if !ok || math.Abs(p.Measured*1000/actual-1) > 1e-6 { // another run of the same name
			continue
		}
		k := [2]string{r.text("simulator"), p.Metric}
		if errors[k] == nil {
			errors[k] = &pair{}
		}
		if !slices.Contains(names, k[0]) {
			names = append(names, k[0])
		}
		errors[k].theirs = append(errors[k].theirs, math.Abs(predicted/actual-1))
		errors[k].ours = append(errors[k].ours, math.Abs(p.Error()))
	}
	sort.Strings(names)
	var out []League
	for _, metric := range []string{E2EMean, TTFTMean, ITLMean} {
		for _, n := range names {
			e := errors[[2]string{n, metric}]
			if e == nil {
				continue
			}
			sort.Float64s(e.theirs)
			sort.Float64s(e.ours)
			out = append(out, League{table, n, metric, len(e.ours), mean(e.theirs), quantile(e.theirs, 0.5), mean(e.ours), quantile(e.ours, 0.5)})
		}
	}
	return out, nil
}
