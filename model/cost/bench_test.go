package cost

import "testing"

func BenchmarkUnit(b *testing.B) {
	in, a := owned()
	in.HourlyMultipliers = make([]float64, 24)
	for h := range in.HourlyMultipliers {
		in.HourlyMultipliers[h] = 1
	}
	if err := a.Check(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		Unit(in, a)
	}
}

func BenchmarkEvaluate(b *testing.B) {
	in, a := owned()
	for b.Loop() {
		if _, err := Evaluate(in, a); err != nil {
			b.Fatal(err)
		}
	}
}
