package gamma

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mathext"
)

// The quantile inverts the distribution function wherever that can be told apart from 0.
func TestQuantileInverts(t *testing.T) {
	for _, shape := range []float64{0.00578, 0.05, 0.3, 1, 2.5, 40, 9e3} {
		for _, u := range []float64{1e-6, 0.01, 0.3, 0.5, 0.9, 0.99, 0.9999} {
			x := Quantile(shape, u)
			if x < 1e-300 {
				continue // P(shape, x) = u at an x that no float64 holds
			}
			if got := mathext.GammaIncReg(shape, x); math.Abs(got-u) > 1e-8 {
				t.Errorf("shape %g: P(Quantile(%g)) = %.10g", shape, u, got)
			}
		}
	}
	// Across the switch to the approximation the standardised quantile doesn't jump.
	for _, u := range []float64{0.001, 0.3, 0.999} {
		below, above := Quantile(1e4, u), Quantile(1e4+1e-3, u)
		if d := math.Abs(above-below) / 100; d > 1e-4 {
			t.Errorf("u %g: %g below the switch, %g above", u, below, above)
		}
	}
	if Quantile(1, 0) != 0 || !math.IsInf(Quantile(1, 1), 1) {
		t.Error("ends")
	}
	if got, want := Quantile(1, 0.5), math.Ln2; math.Abs(got-want) > 1e-12 {
		t.Errorf("median of the exponential %g, want %g", got, want)
	}
}
