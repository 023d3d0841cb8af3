package validate

import (
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"
	"scoville/profiles"
)

// shownPoints is how many rows of a score are kept for a chart.
const shownPoints = 8

// accuracyMetric is what a measured figure counts as in profiles/accuracy.toml; "" if it doesn't.
func accuracyMetric(metric string) string {
	switch metric {
	case TTFTMean:
		return profiles.AccuracyTTFT
	case TPOTMean, ITLMean, ITLP50:
		return profiles.AccuracyTPOT
	case OutTokens, AllTokens:
		return profiles.AccuracyThroughput
	case Watts:
		return profiles.AccuracyWatts
	}
	return ""
}

// nearLimit reports whether a row ran at a rate tuned up to its latency limit, as MLPerf's server runs are. There a small error of
// capacity turns seconds into minutes, and the error says nothing of another load.
func nearLimit(p *Point) bool {
	return p.Table == "mlperf_inference_llm" && (p.Metric == TTFTMean || p.Metric == TPOTMean)
}

// Accuracy sums up the rows by chip, engine and metric. Where a chip has rows in a table that some target is set on, the tables
// without one, of engines too old for a profile of their own, are left out.
func Accuracy(points []Point, vendor func(chip string) string, stamp Stamp) *profiles.Accuracy {
	current := map[string]bool{}
	for _, t := range Targets() {
		current[t.Table] = true
	}
	type key struct{ chip, engine, metric string }
	groups, old := map[key][]Point{}, map[key][]Point{}
	recent := map[[2]string]bool{}
	var keys []key
	for _, p := range points {
		m := accuracyMetric(p.Metric)
		if m == "" || nearLimit(&p) || !(p.Measured > 0 && p.Predicted > 0) {
			continue
		}
		engine, _, _ := strings.Cut(p.Engine, " ")
		k := key{p.Chip, engine, m}
		if groups[k] == nil && old[k] == nil {
			keys = append(keys, k)
		}
		if current[p.Table] {
			groups[k] = append(groups[k], p)
			recent[[2]string{k.chip, k.metric}] = true
		} else {
			old[k] = append(old[k], p)
		}
	}
	sort.Slice(keys, func(i, j int) bool {
		a, b := keys[i], keys[j]
		return a.chip < b.chip || a.chip == b.chip && (a.engine < b.engine || a.engine == b.engine && a.metric < b.metric)
	})
	out := &profiles.Accuracy{Date: stamp.Date, Commit: stamp.Commit}
	for _, k := range keys {
		list := groups[k]
		if len(list) == 0 && !recent[[2]string{k.chip, k.metric}] {
			list = old[k]
		}
		if len(list) == 0 {
			continue
		}
		s := accuracyScore(list)
		s.Chip, s.Vendor, s.Engine, s.Metric = k.chip, vendor(k.chip), k.engine, k.metric
		out.Scores = append(out.Scores, s)
	}
	return out
}

func accuracyScore(list []Point) profiles.AccuracyScore {
	s := score(list)
	out := profiles.AccuracyScore{Rows: s.N, Mean: s.MAPE, Median: s.Median, Bias: s.Bias,
		Input: [2]float64{math.Inf(1), 0}, Output: [2]float64{math.Inf(1), 0}}
	for _, p := range list {
		out.Input = [2]float64{math.Min(out.Input[0], p.Input), math.Max(out.Input[1], p.Input)}
		out.Output = [2]float64{math.Min(out.Output[0], p.Output), math.Max(out.Output[1], p.Output)}
		if !slices.Contains(out.Tables, p.Table) {
			out.Tables = append(out.Tables, p.Table)
		}
	}
	sort.Strings(out.Tables)
	sorted := slices.Clone(list)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].Measured < sorted[j].Measured })
	n := min(shownPoints, len(sorted))
	for i := range n {
		p := sorted[(2*i+1)*len(sorted)/(2*n)] // the middle of each part, so that no end is favoured
		out.Points = append(out.Points, profiles.AccuracyPoint{Label: fmt.Sprintf("%s TP%d, load %g", p.Model, p.Tensor, p.Load), Measured: p.Measured, Predicted: p.Predicted})
	}
	return out
}

// WriteAccuracy writes profiles/accuracy.toml.
func WriteAccuracy(w io.Writer, a *profiles.Accuracy) error {
	p := &markdown{w: w}
	p.printf("# Made by `scoville validate --scores`: errors on measured runs that no constant was read off. Do not edit by hand.\n")
	rounded := *a
	rounded.Scores = slices.Clone(a.Scores)
	for i := range rounded.Scores {
		s := &rounded.Scores[i]
		for _, v := range []*float64{&s.Mean, &s.Median, &s.Bias} {
			*v = math.Round(*v*1e4) / 1e4
		}
		for _, v := range []*float64{&s.Input[0], &s.Input[1], &s.Output[0], &s.Output[1]} {
			*v = math.Round(*v)
		}
		s.Points = slices.Clone(s.Points)
		for j := range s.Points {
			s.Points[j].Measured, s.Points[j].Predicted = digits4(s.Points[j].Measured), digits4(s.Points[j].Predicted)
		}
	}
	if p.err != nil {
		return p.err
	}
	e := toml.NewEncoder(w)
	e.Indent = ""
	return e.Encode(&rounded)
}

// digits4 rounds to four significant digits.
func digits4(v float64) float64 {
	if v == 0 {
		return 0
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}
