package stats

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Definition 7, by hand: position q(n-1) among 1, 2, 4, 8, 16.
func TestQuantileDefinition7(t *testing.T) {
	v := []float64{1, 2, 4, 8, 16}
	for _, c := range []struct{ q, want float64 }{{0, 1}, {0.1, 1.4}, {0.25, 2}, {0.5, 4}, {0.9, 12.8}, {0.99, 15.68}, {1, 16}, {-1, 1}, {2, 16}} {
		if got := Quantile(v, c.q); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("Quantile(%g) = %g, want %g", c.q, got, c.want)
		}
	}
	if got := QuantileOf([]float64{16, 1, 8, 2, 4}, 0.9); math.Abs(got-12.8) > 1e-12 {
		t.Errorf("QuantileOf = %g", got)
	}
	if !math.IsNaN(Quantile(nil, 0.5)) || !math.IsNaN(Quantile(v, math.NaN())) || !math.IsNaN(Variance(v[:1])) {
		t.Error("no values, no quantile")
	}
	if got := Variance(v); math.Abs(got-37.2) > 1e-12 {
		t.Errorf("variance %g, want 37.2", got)
	}
}

func TestHistogramBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64Range(0, math.MaxInt64/2).Draw(t, "v")
		b := bucketOf(v)
		lo, hi := lowerEdge(b), lowerEdge(b+1)
		if v < lo || v >= hi {
			t.Fatalf("%d is in bucket %d of [%d, %d)", v, b, lo, hi)
		}
		if mid := float64(lo) + float64(hi-1-lo)/2; math.Abs(mid-float64(v)) > HistogramError*float64(v) {
			t.Fatalf("%d answers %g", v, mid)
		}
	})
}

func TestHistogramQuantiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 1<<40), 1, 300).Draw(t, "values")
		cut := rapid.IntRange(0, len(values)).Draw(t, "cut")
		a, b := NewHistogram(0.5), NewHistogram(0.5)
		for i, v := range values {
			if i < cut {
				a.Add(v, 1)
			} else {
				b.Add(v, 1)
			}
		}
		if err := a.Merge(b); err != nil {
			t.Fatal(err)
		}
		slices.Sort(values)
		for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 1} {
			want := float64(values[max(0, int(math.Ceil(q*float64(len(values))-1e-9))-1)]) * 0.5
			if got := a.Quantile(q); math.Abs(got-want) > HistogramError*want+1e-9 {
				t.Fatalf("quantile %g of %v = %g, want %g", q, values, got, want)
			}
		}
		if a.Count() != int64(len(values)) || a.Max() != float64(values[len(values)-1])*0.5 {
			t.Fatalf("count %d, max %g", a.Count(), a.Max())
		}
		if s := a.ShareAtMost(a.Max()); s != 1 {
			t.Fatalf("share at most max: %g", s)
		}
	})
}

func TestProgressionEqualsTerms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Int64Range(0, 1<<45).Draw(t, "first")
		step := rapid.Int64Range(0, 1<<40).Draw(t, "step")
		terms := rapid.Int64Range(0, 200).Draw(t, "terms")
		a, b := NewHistogram(1), NewHistogram(1)
		a.AddProgression(first, step, terms, 3)
		for k := range terms {
			b.Add(first+k*step, 3)
		}
		for k, o := range a.octaves {
			if (o == nil) != (b.octaves[k] == nil) || o != nil && *o != *b.octaves[k] {
				t.Fatalf("octave %d: %v at once, %v one by one", k, o, b.octaves[k])
			}
		}
		if a.n != b.n || a.max != b.max || math.Abs(a.sum-b.sum) > 1e-9*b.sum {
			t.Fatalf("%d %d %g at once, %d %d %g one by one", a.n, a.max, a.sum, b.n, b.max, b.sum)
		}
	})
}

func TestMergeRefusesOtherUnits(t *testing.T) {
	a, b := NewHistogram(1), NewHistogram(2)
	b.Add(1, 1)
	if a.Merge(b) == nil {
		t.Error("histograms of other units merged")
	}
	if err := a.Merge(NewHistogram(2)); err != nil {
		t.Error("an empty histogram has nothing to mix up:", err)
	}
}

// By hand; 2.7764451 is the 0.975 quantile of Student's t with 4 degrees of freedom.
func TestIntervalJSON(t *testing.T) {
	for _, c := range []struct {
		i    Interval
		want string
	}{
		{Interval{1, 0.5, 1.5, 0.95}, `{"Center":1,"Low":0.5,"High":1.5,"Confidence":0.95}`},
		{MeanInterval([]float64{2}, 0.95), `{"Center":2,"Low":null,"High":null,"Confidence":0.95}`},
	} {
		b, err := json.Marshal(c.i)
		if err != nil || string(b) != c.want {
			t.Errorf("%s, %v; want %s", b, err, c.want)
		}
		var back Interval
		if err := json.Unmarshal(b, &back); err != nil || back != c.i {
			t.Errorf("%+v came back as %+v, %v", c.i, back, err)
		}
	}
}

func TestIntervals(t *testing.T) {
	v := []float64{1, 2, 4, 8, 16}
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
			t.Errorf("%s = %.9g, want %.9g", name, got, want)
		}
	}
	i := MeanInterval(v, 0.95)
	half := 2.7764451051977987 * math.Sqrt(37.2/5) // t(0.975, 4)
	near("center", i.Center, 6.2)
	near("low", i.Low, 6.2-half)
	near("high", i.High, 6.2+half)
	s := SectionInterval(6, v, 0.95)
	near("section", s.High, 6+2.7764451051977987*math.Sqrt((37.2*4+5*0.04)/20))
	if r := MeanInterval(v[:1], 0.95).RelativeHalfWidth(); !math.IsInf(r, 1) {
		t.Errorf("one value is known to ±%g", r)
	}
	f := FitSlope([]float64{0, 1, 2, 3, 4}, v)
	near("slope", f.PerX, 3.6)
	near("intercept", f.Intercept, -1)
	near("t", f.T, 3.6/math.Sqrt(19.2/3/10)) // SSE 19.2
	if f.P > 0.05 || f.P < 0.001 {
		t.Errorf("p = %g", f.P)
	}
	if flat := FitSlope([]float64{0, 1, 2}, []float64{5, 5, 5}); flat.PerX != 0 || flat.T != 0 {
		t.Errorf("flat: %+v", flat)
	}
}

func BenchmarkHistogramAdd(b *testing.B) {
	h := NewHistogram(1e-9)
	for i := range b.N {
		h.Add(int64(i)*7919%1_000_000_007, 1)
	}
}
