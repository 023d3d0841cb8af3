package profiles

import (
	_ "embed" // the table is one file, beside the folders of profiles
	"math"
	"slices"
	"sort"

	"scoville/model/tomlfile"
)

// Metrics that Accuracy scores.
const (
	AccuracyTTFT       = "ttft"
	AccuracyTPOT       = "tpot"
	AccuracyThroughput = "throughput" // tokens a second of a replica
	AccuracyWatts      = "watts"
)

// Accuracy is how far predictions were off on measured runs that no constant of a profile was read off. It is written by
// `scoville validate --scores`.
type Accuracy struct {
	Date   string          `toml:"date"`
	Commit string          `toml:"commit"`
	Scores []AccuracyScore `toml:"score"`
}

// AccuracyScore is the error on one chip with one engine, in one metric. Errors are relative to the measurement.
type AccuracyScore struct {
	Chip   string   `toml:"chip"`
	Vendor string   `toml:"vendor"`
	Engine string   `toml:"engine"`
	Metric string   `toml:"metric"`
	Tables []string `toml:"tables"`
	Rows   int      `toml:"rows"`
	Mean   float64  `toml:"mean"`   // mean |error|
	Median float64  `toml:"median"` // of |error|
	Bias   float64  `toml:"bias"`   // mean error; above zero the prediction is too high

	Input  [2]float64 `toml:"input_tokens"`  // least and largest mean of a run
	Output [2]float64 `toml:"output_tokens"` // likewise

	Points []AccuracyPoint `toml:"points"` // some of the rows, spread over the range
}

// AccuracyPoint is one measured value, in seconds, tokens a second or watts, beside its prediction.
type AccuracyPoint struct {
	Label     string  `toml:"label"`
	Measured  float64 `toml:"measured"`
	Predicted float64 `toml:"predicted"`
}

//go:embed accuracy.toml
var accuracyFile []byte

// LoadAccuracy reads the shipped scores.
func LoadAccuracy() (*Accuracy, error) {
	a := &Accuracy{}
	if err := tomlfile.Decode("profiles/accuracy.toml", accuracyFile, a); err != nil {
		return nil, err
	}
	return a, nil
}

// Scopes of Find, from the nearest.
const (
	SameSetUp = iota // this chip with this engine
	SameChip         // this chip with any engine
	SameMaker        // chips of its vendor
	AnyChip
)

// Find sums up the scores of a metric over the nearest scope that has any: this chip with this engine, this chip, its vendor's chips,
// all. Rows is 0 where the metric has no score at all.
func (a *Accuracy) Find(chip, vendor, engine, metric string) (sum AccuracyScore, scope int) {
	for scope = SameSetUp; scope <= AnyChip; scope++ {
		var list []AccuracyScore
		for _, s := range a.Scores {
			near := s.Chip == chip && s.Engine == engine
			switch scope {
			case SameChip:
				near = s.Chip == chip
			case SameMaker:
				near = s.Vendor == vendor
			case AnyChip:
				near = true
			}
			if near && s.Metric == metric {
				list = append(list, s)
			}
		}
		if len(list) > 0 {
			return pool(list), scope
		}
	}
	return AccuracyScore{}, AnyChip
}

// pool weighs scores by their rows; the median is the weighted mean of medians.
func pool(list []AccuracyScore) AccuracyScore {
	out := AccuracyScore{Metric: list[0].Metric, Input: list[0].Input, Output: list[0].Output}
	for _, s := range list {
		n := float64(s.Rows)
		out.Rows += s.Rows
		out.Mean += n * s.Mean
		out.Median += n * s.Median
		out.Bias += n * s.Bias
		out.Input = [2]float64{math.Min(out.Input[0], s.Input[0]), math.Max(out.Input[1], s.Input[1])}
		out.Output = [2]float64{math.Min(out.Output[0], s.Output[0]), math.Max(out.Output[1], s.Output[1])}
		out.Points = append(out.Points, s.Points...)
		for _, t := range s.Tables {
			if !slices.Contains(out.Tables, t) {
				out.Tables = append(out.Tables, t)
			}
		}
	}
	n := float64(out.Rows)
	out.Mean, out.Median, out.Bias = out.Mean/n, out.Median/n, out.Bias/n
	sort.Strings(out.Tables)
	return out
}
