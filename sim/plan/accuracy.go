package plan

import (
	"fmt"
	"math"
	"strings"

	"scoville/profiles"
)

// shippedAccuracy says how far the shipped profiles were off on measured runs that none of their constants was read off: with the
// candidate's chip and engine, else the chip, else its vendor's chips, else all.
func shippedAccuracy(scores *profiles.Accuracy, d *deployment, t *traffic) Accuracy {
	const uncalibrated = "not calibrated on this machine"
	if scores == nil {
		return Accuracy{Basis: uncalibrated}
	}
	a := Accuracy{Basis: uncalibrated + "; the shipped profiles", InsideRange: true}
	var tables []string
	input, output := covered{math.Inf(1), 0}, covered{math.Inf(1), 0}
	last, here := -1, false
	for _, m := range []struct {
		name, title string
		into        *float64
	}{{profiles.AccuracyTTFT, "TTFT", &a.TTFTError}, {profiles.AccuracyTPOT, "TPOT", &a.TPOTError}, {profiles.AccuracyThroughput, "throughput", &a.ThroughputError}} {
		s, scope := scores.Find(d.chip.Name, d.chip.Vendor, d.engine.Name, m.name)
		if s.Rows == 0 {
			continue
		}
		*m.into = s.Mean
		if scope != last {
			a.Basis += scopeWords(scope, d)
			last = scope
		}
		a.Basis += fmt.Sprintf(" %s off by %.0f %% (median %.0f %%, bias %+.0f %%) over %s rows,", m.title, 100*s.Mean, 100*s.Median, 100*s.Bias, grouped(float64(s.Rows)))
		for _, name := range s.Tables {
			tables = appendNew(tables, name)
		}
		if scope <= profiles.SameChip {
			here = true
			input, output = input.with(s.Input), output.with(s.Output)
			for _, p := range s.Points {
				a.Points = append(a.Points, AccuracyPoint{Metric: m.name, Label: p.Label, Measured: p.Measured, Predicted: p.Predicted})
			}
		}
	}
	if last < 0 {
		return Accuracy{Basis: uncalibrated + "; no measured run of this chip"}
	}
	a.Basis = strings.TrimSuffix(a.Basis, ",") + fmt.Sprintf("; measured tables %s; scored %s, all in docs/accuracy.md", strings.Join(tables, ", "), scores.Date)
	if !here {
		a.Basis, a.InsideRange = "no measured run of this chip; "+a.Basis, false
		return a
	}
	outside := append(input.beyond("prompts", t.summary.MeanInput), output.beyond("answers", t.summary.MeanOutput)...)
	if a.InsideRange = len(outside) == 0; !a.InsideRange {
		a.Basis += ". Outside what was measured: " + strings.Join(outside, "; ")
	}
	return a
}

func scopeWords(scope int, d *deployment) string {
	switch scope {
	case profiles.SameSetUp:
		return fmt.Sprintf(" on unseen runs of %s with %s:", d.chip.Name, d.engine.Name)
	case profiles.SameChip:
		return fmt.Sprintf(" on unseen runs of %s with other engines (none with %s):", d.chip.Name, d.engine.Name)
	case profiles.SameMaker:
		return fmt.Sprintf(" on unseen runs of other %s chips:", d.chip.Vendor)
	}
	return " on unseen runs of all chips:"
}

// covered is the least and the largest mean length of the runs scored.
type covered [2]float64

func (c covered) with(other [2]float64) covered {
	return covered{math.Min(c[0], other[0]), math.Max(c[1], other[1])}
}

func (c covered) beyond(what string, mean float64) []string {
	if mean >= c[0] && mean <= c[1] {
		return nil
	}
	return []string{fmt.Sprintf("%s of %.0f tokens (measured: %.0f to %.0f)", what, mean, c[0], c[1])}
}

func appendNew(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}
