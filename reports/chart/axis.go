package chart

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// Axis is one axis: its label with unit, its range and how its numbers are written.
type Axis struct {
	Label    string
	Min, Max float64 // the drawers set what is left zero from the data
	Log      bool
	Format   func(v, step float64) string // step: the distance of ticks, which the decimals should suit; nil: plain numbers
	Free     bool                         // the axis need not start at zero
	Most     int                          // most labelled ticks; 0: 6
	Whole    bool                         // only whole numbers are labelled
}

// span gives the axis a range that holds lo to hi, from zero unless logarithmic, rounded outward to ticks.
func (a Axis) span(lo, hi float64) Axis {
	if a.Min != 0 || a.Max != 0 {
		return a
	}
	if math.IsNaN(lo) || math.IsInf(lo, 0) || math.IsNaN(hi) || math.IsInf(hi, 0) || lo > hi {
		lo, hi = 0, 1
	}
	a.Log = a.Log && lo > 0 // zero has no place on a logarithmic axis
	if a.Log {
		a.Min, a.Max = lo/1.15, hi*1.15
		return a
	}
	a.Min, a.Max = math.Min(0, lo), math.Max(0, hi)
	if a.Free {
		pad := math.Max((hi-lo)*0.2, math.Abs(hi)*0.1)
		if a.Min, a.Max = lo-pad, hi+pad; lo >= 0 {
			a.Min = math.Max(0, a.Min)
		}
	}
	if a.Max == a.Min {
		a.Max = a.Min + 1
	}
	step := a.step()
	a.Max = math.Ceil(a.Max/step-1e-9) * step
	a.Min = math.Floor(a.Min/step+1e-9) * step
	return a
}

// step is the distance of ticks: 1, 2 or 5 times a power of ten, at most Most of them.
func (a Axis) step() float64 {
	most := a.Most
	if most == 0 {
		most = 6
	}
	raw := (a.Max - a.Min) / float64(most)
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, k := range []float64{1, 2, 5, 10} {
		if s := k * unit; s >= raw*(1-1e-9) && (!a.Whole || s >= 1) {
			return s
		}
	}
	return 10 * unit
}

// Ticks implements plot.Ticker.
func (a Axis) Ticks(lo, hi float64) []plot.Tick {
	if a.Log {
		return a.logTicks(lo, hi)
	}
	a.Min, a.Max = lo, hi
	step := a.step()
	var out []plot.Tick
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi+step*1e-6; i++ {
		out = append(out, plot.Tick{Value: i * step, Label: a.format(i*step, step)})
	}
	return out
}

// logTicks labels 1, 2 and 5 of every decade, or decades alone where there are many.
func (a Axis) logTicks(lo, hi float64) []plot.Tick {
	steps := []float64{1, 2, 5}
	if decades := math.Log10(hi / lo); decades > 2.5 {
		steps = steps[:1]
	} else if decades < 1.2 && decades >= 0.5 {
		steps = []float64{1, 1.5, 2, 3, 5, 7}
	} else if decades < 0.5 {
		steps = []float64{1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9}
	}
	var out []plot.Tick
	for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
		for _, s := range steps {
			if v := s * math.Pow(10, e); v >= lo && v <= hi {
				out = append(out, plot.Tick{Value: v, Label: a.format(v, v)})
			}
		}
	}
	return out
}

func (a Axis) format(v, step float64) string {
	if math.Abs(v) < step*1e-9 {
		v = 0
	}
	if a.Format != nil {
		return a.Format(v, step)
	}
	return Plain(v, step)
}

// Plain writes v with the decimals that step needs and thousands separators.
func Plain(v, step float64) string {
	decimals := 0
	for s := step; decimals < 15 && math.Abs(s-math.Round(s)) > 1e-6*s; s *= 10 {
		decimals++
	}
	s := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	whole, frac := s, ""
	for i := range s {
		if s[i] == '.' {
			whole, frac = s[:i], s[i:]
			break
		}
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if v < 0 {
		whole = "-" + whole
	}
	return whole + frac
}
