package uncertainty

import (
	"encoding/json"
	"math"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"scoville/model/cost"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance {
		t.Errorf("%s = %v, want %v ± %v", what, got, want, tolerance)
	}
}

// grid is a surface whose capacity is a power law, so that interpolation in the logarithms is exact.
func grid() *Grid {
	g := &Grid{Speed: []float64{0.8, 1, 1.25}, Output: []float64{0.5, 1, 2}, PeakPerSecond: 100, ReplicaChips: 1, SpareReplicas: 2}
	for _, s := range g.Speed {
		var row []float64
		for _, o := range g.Output {
			row = append(row, 0.8*math.Pow(s, 1.1)*math.Pow(o, -0.7))
		}
		g.Capacity = append(g.Capacity, row)
	}
	g.Base = cost.Input{Chips: 127, SpareChips: 2, ChipsPerNode: 8, NodeOverheadWatts: 1500,
		Power: []cost.PowerPoint{{LoadShare: 0, WattsPerChip: 120}, {LoadShare: 1, WattsPerChip: 650}},
		Mean:  cost.Load{RequestsPerSecond: 40, InputTokensPerSecond: 40000, OutputTokensPerSecond: 10000}}
	return g
}

func rented(name string, usd float64) Candidate {
	a := cost.Default()
	a.Ownership = cost.Rent
	a.Renting = []cost.Lease{{Tier: "on-demand", USDPerChipHour: cost.Given(usd)}}
	return Candidate{name, grid(), a}
}

func bought(name string, price float64) Candidate {
	a := cost.Default()
	a.Buying.Accelerator.Price = cost.Given(price)
	return Candidate{name, grid(), a}
}

func TestQuantilesAgainstKnownValues(t *testing.T) {
	for _, c := range []struct {
		d    Distribution
		u, x float64
	}{
		{Distribution{Kind: "uniform", Low: 2, High: 6}, 0.25, 3},
		{Distribution{Kind: "triangular", Low: 0, Mode: 1, High: 4}, 0.25, 1},                // F(mode) = 1/4
		{Distribution{Kind: "triangular", Low: 0, Mode: 1, High: 4}, 0.75, 4 - math.Sqrt(3)}, // 1-F = (4-x)^2/12
		{Distribution{Kind: "normal", Mean: 10, SD: 2}, 0.975, 10 + 2*1.959963984540054},     // SciPy norm.ppf
		{Distribution{Kind: "lognormal", Mean: 10, SD: 0.2}, 0.9, 10 * math.Exp(0.2*1.2815515655446004)},
		{Distribution{Kind: "normal", Mean: 0, SD: 1, Low: -1e9, High: 0}, 0.5, -0.6744897501960817}, // half normal
		{Distribution{Kind: "triangular", Low: 3, Mode: 3, High: 3}, 0.5, 3},
	} {
		near(t, c.d.Kind, c.d.Quantile(c.u), c.x, 1e-9)
	}
}

func TestQuantileIsMonotoneAndInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := func(n string) float64 { return rapid.Float64Range(0.001, 100).Draw(t, n) }
		low, mid, high := f("a"), f("b"), f("c")
		if low > high {
			low, high = high, low
		}
		d := Distribution{Kind: rapid.SampledFrom(kinds()).Draw(t, "kind"), Low: low, Mode: low + (high-low)*rapid.Float64Range(0, 1).Draw(t, "m"), High: high, Mean: mid, SD: f("sd")}
		if d.Check() != nil {
			t.Skip("nothing between the cuts")
		}
		u1, u2 := rapid.Float64Range(1e-9, 1-1e-9).Draw(t, "u1"), rapid.Float64Range(1e-9, 1-1e-9).Draw(t, "u2")
		x1, x2 := d.Quantile(u1), d.Quantile(u2)
		if (u1 < u2) && x1 > x2+1e-9*math.Abs(x2) {
			t.Fatalf("%+v: %g at %g, %g at %g", d, x1, u1, x2, u2)
		}
		if d.High > d.Low && (x1 < d.Low-1e-9 || x1 > d.High+1e-9) {
			t.Fatalf("%+v: %g is outside", d, x1)
		}
	})
}

// Rented, the price is proportional to the rent: the percentiles of the cost are those of the rent, and two candidates
// with independent uniform rents beat each other with a probability known in closed form.
func TestMonteCarloAgainstClosedForm(t *testing.T) {
	rent := func(name string, low, high float64) Variable {
		return Variable{Name: "rent", Candidate: name, Distribution: Distribution{Kind: "uniform", Low: low, High: high}}
	}
	r, err := MonteCarlo([]Candidate{rented("a", 3), rented("b", 3)}, []Variable{rent("a", 2, 4), rent("b", 3, 5)}, 20000, 1)
	if err != nil {
		t.Fatal(err)
	}
	in, _ := grid().Fleet(Conditions{1, 1, 1})
	perDollar, _ := cost.Unit(in, rented("a", 1).Assumptions)
	for i, want := range []float64{2.2, 3, 3.8} {
		got := []float64{r.Candidates[0].PerM.P10, r.Candidates[0].PerM.P50, r.Candidates[0].PerM.P90}[i]
		near(t, "percentile", got/perDollar, want, 0.03) // 4 standard errors of a quantile at 20,000 draws
	}
	near(t, "P(a beats b)", r.Beats[0].Probability, 0.875, 4*r.Beats[0].Error) // 1 - 1/2 x 1/2 x 1/2
	near(t, "cheapest", r.Candidates[0].Cheapest+r.Candidates[1].Cheapest, 1, 1e-9)
	near(t, "driver", r.Candidates[0].Drivers[0].Correlation, 1, 1e-9)
	count := 0
	for _, b := range r.Candidates[0].Histogram {
		count += b.Count
	}
	if count != 20000 {
		t.Errorf("histogram holds %d draws", count)
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	candidates := []Candidate{bought("h100", 27500), bought("mi300x", 15000), rented("b200", 6.69)}
	variables := study()
	var first []byte
	for _, procs := range []int{1, 2, 3} {
		before := runtime.GOMAXPROCS(procs)
		r, err := MonteCarlo(candidates, variables, 500, 7)
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		} else if string(b) != string(first) {
			t.Errorf("GOMAXPROCS=%d gives other bytes", procs)
		}
	}
}

func study() []Variable {
	v := Usual(bought("", 1).Assumptions)
	return append(v,
		Variable{Name: "speed", Candidate: "h100", Distribution: Distribution{Kind: "normal", Mean: 1, SD: 0.08, Low: 0.6, High: 1.5}},
		Variable{Name: "load", Distribution: Distribution{Kind: "lognormal", Mean: 1, SD: 0.2}},
		Variable{Name: "accelerator-price", Candidate: "h100", Distribution: Distribution{Kind: "uniform", Low: 25000, High: 30000}},
		Variable{Name: "watts", Relative: true, Distribution: Distribution{Kind: "triangular", Low: 0.85, Mode: 1, High: 1.1}},
	)
}

// Adding a variable must not change the draws of the others.
func TestDrawsAreNamed(t *testing.T) {
	v := study()
	a, b := uniforms(v, 100, 3, 0), uniforms(v[1:], 100, 3, 0)
	for k := range b[0] {
		if a[1][k] != b[0][k] {
			t.Fatal("a variable's draws depend on its position")
		}
	}
}

// Rent and software add, so their first-order indices are their shares of the variance and the total is the same.
func TestSobolOfASum(t *testing.T) {
	c := rented("a", 3)
	v := []Variable{
		{Name: "rent", Distribution: Distribution{Kind: "normal", Mean: 3, SD: 0.2}},
		{Name: "software", Distribution: Distribution{Kind: "normal", Mean: 4500, SD: 0.1 * 8760}},
	}
	index, err := Sobol(c, v, 8000, 5)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.8, 0.2} { // 0.2^2 : 0.1^2 per chip-hour
		near(t, index[i].Name, index[i].First, want, 0.04)
		near(t, index[i].Name+" total", index[i].Total, want, 0.04)
	}
}

func TestTornado(t *testing.T) {
	c := bought("h100", 27500)
	bars, planned, err := Tornado(c, study())
	if err != nil {
		t.Fatal(err)
	}
	in, _ := c.Surface.Fleet(Conditions{1, 1, 1})
	want, _ := cost.Unit(in, c.Assumptions)
	near(t, "planned", planned, want, 0)
	for i, b := range bars {
		if i > 0 && width(b) > width(bars[i-1]) {
			t.Error("bars are not sorted")
		}
		switch b.Name {
		case "electricity", "pue", "cost-of-capital", "colocation":
			if !(b.Low < planned && planned < b.High) {
				t.Errorf("%s: %g, planned %g, %g", b.Name, b.Low, planned, b.High)
			}
		case "life":
			if !(b.Low > b.High) {
				t.Errorf("a longer life must be cheaper: %+v", b)
			}
		}
	}
}

func TestGrid(t *testing.T) {
	g := grid()
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	near(t, "between points", g.Replica(Conditions{1, 1.1, 0.7}), 0.8*math.Pow(1.1, 1.1)*math.Pow(0.7, -0.7), 1e-12)
	near(t, "at a point", g.Replica(Conditions{1, 1, 1}), 0.8, 1e-12)
	near(t, "beyond: proportional", g.Replica(Conditions{1, 2.5, 1})/g.Replica(Conditions{1, 1.25, 1}), 2, 1e-12)
	near(t, "error of a power law", g.InterpolationError(), 0, 1e-12)
	g.Capacity[1][1] *= 1.1
	near(t, "error", g.InterpolationError(), 1-1/1.1, 1e-9)
	in, err := grid().Fleet(Conditions{1, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	if in.Chips != 127 || in.SpareChips != 2 { // 100 / 0.8 = 125, and 2 spares
		t.Errorf("%d chips, %d spare", in.Chips, in.SpareChips)
	}
	near(t, "utilisation", in.Utilisation(), 0.4, 1e-12)
	g.Capacity[0][0] = 0
	if g.Check() == nil {
		t.Error("a capacity of 0 must be refused")
	}
}

func TestFleetIsMonotone(t *testing.T) {
	g := grid()
	rapid.Check(t, func(t *rapid.T) {
		f := func(n string) float64 { return rapid.Float64Range(0.3, 3).Draw(t, n) }
		c := Conditions{f("load"), f("speed"), f("output")}
		more, faster := c, c
		more.Load *= 1.3
		faster.Speed *= 1.3
		a, _ := g.Fleet(c)
		b, _ := g.Fleet(more)
		d, _ := g.Fleet(faster)
		if b.Chips < a.Chips || d.Chips > a.Chips {
			t.Fatalf("%d chips, %d at more load, %d on faster hardware", a.Chips, b.Chips, d.Chips)
		}
	})
}

func TestBadStudies(t *testing.T) {
	ok := []Candidate{rented("a", 3)}
	for _, c := range []struct {
		candidates []Candidate
		v          []Variable
		draws      int
		want       string
	}{
		{ok, nil, 5, "draws are 5"},
		{ok, []Variable{{Name: "rnt", Distribution: Distribution{Kind: "uniform", High: 1}}}, 100, `did you mean "rent"`},
		{ok, []Variable{{Name: "rent", Distribution: Distribution{Kind: "triangula", High: 1}}}, 100, `did you mean "triangular"`},
		{ok, []Variable{{Name: "rent", Distribution: Distribution{Kind: "uniform", Low: 2, High: 1}}}, 100, "low <= high"},
		{ok, []Variable{{Name: "rent", Candidate: "b", Distribution: Distribution{Kind: "uniform", High: 1}}}, 100, `no candidate is named "b"`},
		{[]Candidate{rented("a", 3), rented("a", 4)}, nil, 100, "two candidates"},
		{ok, []Variable{study()[0], study()[0]}, 100, "twice"},
	} {
		if _, err := MonteCarlo(c.candidates, c.v, c.draws, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// A draw that can't be priced is counted and left out, never priced at zero.
func TestFailedDrawsAreCounted(t *testing.T) {
	v := []Variable{{Name: "pue", Distribution: Distribution{Kind: "uniform", Low: 0.5, High: 1.5}}}
	r, err := MonteCarlo([]Candidate{bought("a", 1000)}, v, 1000, 1)
	if err != nil {
		t.Fatal(err)
	}
	if f := r.Candidates[0].Failed; f < 400 || f > 600 || !strings.Contains(r.Candidates[0].FirstFailure, "pue") {
		t.Errorf("%d failed: %s", f, r.Candidates[0].FirstFailure)
	}
}

func BenchmarkThreeCandidatesTenThousandDraws(b *testing.B) {
	candidates := []Candidate{bought("h100", 27500), bought("mi300x", 15000), bought("b200", 37500)}
	for b.Loop() {
		if _, err := MonteCarlo(candidates, study(), 10000, 1); err != nil {
			b.Fatal(err)
		}
	}
}
