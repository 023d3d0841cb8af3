// Package uncertainty says how sure a cost is: one assumption at a time (tornado), all at once (Monte Carlo: P10, P50, P90
// of chips, TCO and price per million tokens, the probability that one candidate beats another), and which assumption
// drives the spread (rank correlation, Sobol indices).
//
// Draws never simulate. A Surface, built from a few simulated points, gives the fleet for each draw and states how far
// its interpolation is off.
package uncertainty

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"scoville/model/tomlfile"
)

// Distribution is the belief about one assumption. Which fields count depends on Kind:
//
//	uniform     low, high
//	triangular  low, mode, high
//	normal      mean, sd; cut at low and high where high > low
//	lognormal   mean is the median, sd is that of the logarithm (0.2 is about 20 %); cut likewise
type Distribution struct {
	Kind string  `toml:"kind" json:"kind"`
	Low  float64 `toml:"low" json:"low,omitempty"`
	Mode float64 `toml:"mode" json:"mode,omitempty"`
	High float64 `toml:"high" json:"high,omitempty"`
	Mean float64 `toml:"mean" json:"mean,omitempty"`
	SD   float64 `toml:"sd" json:"sd,omitempty"`
}

func kinds() []string { return []string{"uniform", "triangular", "normal", "lognormal"} }

// Check refuses a distribution that can't be drawn from.
func (d Distribution) Check() error {
	for _, v := range []float64{d.Low, d.Mode, d.High, d.Mean, d.SD} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("a %s distribution holds %g", d.Kind, v)
		}
	}
	switch d.Kind {
	case "uniform":
		if !(d.Low <= d.High) {
			return fmt.Errorf("uniform from %g to %g; expected low <= high", d.Low, d.High)
		}
	case "triangular":
		if !(d.Low <= d.Mode && d.Mode <= d.High) {
			return fmt.Errorf("triangular %g, %g, %g; expected low <= mode <= high", d.Low, d.Mode, d.High)
		}
	case "normal", "lognormal":
		if !(d.SD >= 0) || (d.Kind == "lognormal" && !(d.Mean > 0)) {
			return fmt.Errorf("%s with mean %g and sd %g; expected sd >= 0, and a mean above 0 for lognormal", d.Kind, d.Mean, d.SD)
		}
		if d.High > d.Low && d.high() <= d.low() {
			return fmt.Errorf("%s with mean %g and sd %g has nothing between %g and %g", d.Kind, d.Mean, d.SD, d.Low, d.High)
		}
	default:
		msg := fmt.Sprintf("kind is %q; expected one of %q", d.Kind, kinds())
		if near := tomlfile.Nearest(d.Kind, kinds()); near != "" {
			msg += fmt.Sprintf(" (did you mean %q?)", near)
		}
		return fmt.Errorf("%s", msg)
	}
	return nil
}

// Quantile is the inverse distribution function at u in (0, 1).
func (d Distribution) Quantile(u float64) float64 {
	switch d.Kind {
	case "uniform":
		return d.Low + u*(d.High-d.Low)
	case "triangular":
		return d.triangular(u)
	}
	u = d.low() + u*(d.high()-d.low())
	z := distuv.UnitNormal.Quantile(u)
	if d.Kind == "lognormal" {
		return d.clamp(d.Mean * math.Exp(d.SD*z))
	}
	return d.clamp(d.Mean + d.SD*z)
}

func (d Distribution) triangular(u float64) float64 {
	width := d.High - d.Low
	if width == 0 {
		return d.Low
	}
	if left := d.Mode - d.Low; u*width < left {
		return d.Low + math.Sqrt(u*width*left)
	}
	return d.High - math.Sqrt((1-u)*width*(d.High-d.Mode))
}

// low and high are the probabilities below the cuts.
func (d Distribution) low() float64 {
	if d.High <= d.Low {
		return 0
	}
	return d.below(d.Low)
}

func (d Distribution) high() float64 {
	if d.High <= d.Low {
		return 1
	}
	return d.below(d.High)
}

func (d Distribution) below(x float64) float64 {
	if d.Kind == "lognormal" {
		if x <= 0 {
			return 0
		}
		x = math.Log(x / d.Mean)
	} else {
		x -= d.Mean
	}
	if d.SD == 0 {
		if x < 0 {
			return 0
		}
		return 1
	}
	return distuv.UnitNormal.CDF(x / d.SD)
}

// clamp keeps rounding from stepping over the cuts.
func (d Distribution) clamp(x float64) float64 {
	if d.High > d.Low {
		return math.Min(d.High, math.Max(d.Low, x))
	}
	return x
}
