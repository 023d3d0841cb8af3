package hardware

import (
	"math"
	"testing"
)

func TestTabulatedFollowsTheFunction(t *testing.T) {
	f := func(x float64) piece {
		return piece{seconds: math.Max(3e-3, 2e-6*math.Pow(x, 0.97)), flops: 7 * x, bytes: 1e9 + 3*x, energyFLOPs: 7 * x}
	}
	table := tabulate(f, 9000)
	for _, x := range []float64{0, 0.5, 1, 2, 63, 127, 127.5, 128, 129, 1000, 1537.25, 8999, 9050, 20000} {
		got, want := table.at(x), f(x)
		if d := math.Abs(got.seconds/want.seconds - 1); d > 2e-4 {
			t.Errorf("at %g: %g s, want %g", x, got.seconds, want.seconds)
		}
		if math.Abs(got.flops-want.flops) > 1e-6*want.flops {
			t.Errorf("at %g: %g FLOPs, want %g", x, got.flops, want.flops)
		}
	}
}
