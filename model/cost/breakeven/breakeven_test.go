package breakeven

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"scoville/model/cost"
)

func rented(name string, usd, rate float64) Deployment {
	a := cost.Default()
	a.Ownership = cost.Rent
	a.Renting = []cost.Lease{{Tier: "on-demand", USDPerChipHour: cost.Given(usd)}}
	in := cost.Input{Chips: 8, ChipsPerNode: 8, Mean: cost.Load{RequestsPerSecond: rate / 1000, OutputTokensPerSecond: rate}}
	in.Full = in.Mean.Times(2)
	return Deployment{Name: name, Input: in, Assumptions: a}
}

func bought(name string, price, rate float64) Deployment {
	d := rented(name, 1, rate)
	d.Assumptions.Ownership = cost.Buy
	d.Assumptions.Buying.Accelerator.Price = cost.Given(price)
	d.Input.Power = []cost.PowerPoint{{LoadShare: 0, WattsPerChip: 100}, {LoadShare: 1, WattsPerChip: 700}}
	return d
}

// The rents of two chips tie where rent over throughput ties. U34, cliffcenter 2026-05: an MI300X at half the rent of an
// H100 breaks even with an H200 at $1.90 for Llama-3-70B chat; whatever H200 rent r and throughput ratio q stand behind
// that, the solver must give r/q.
func TestRentThatTies(t *testing.T) {
	for _, c := range []struct{ rent, ratio float64 }{{3.8, 2}, {2.85, 1.5}, {3.30, 3.30 / 1.90}} {
		a, b := rented("mi300x", 1.50, 1000), rented("h200", c.rent, 1000*c.ratio)
		ans, err := Solve(a, b, Rental)
		if err != nil {
			t.Fatal(err)
		}
		if !ans.Exists || math.Abs(ans.At-c.rent/c.ratio) > 1e-6 || math.Abs(ans.At-1.90) > 1e-6 {
			t.Errorf("rent %g at ratio %g: ties at %g, want 1.90", c.rent, c.ratio, ans.At)
		}
		if !strings.Contains(ans.Note, "below 1.9 USD/chip-hour") {
			t.Errorf("note %q", ans.Note)
		}
	}
}

// U34 again: half the rent but 3 % dearer to own. Rent and ownership must be able to disagree about which chip is cheaper.
func TestRentAndOwnershipDisagree(t *testing.T) {
	mi, h := rented("mi300x", 1.75, 1000), rented("h100", 3.25, 1000)
	if !(mi.PerMillion() < h.PerMillion()) {
		t.Error("half the rent at the same throughput must be cheaper")
	}
	mi, h = bought("mi300x", 28325, 1000), bought("h100", 27500, 1000)
	ratio := mi.PerMillion() / h.PerMillion()
	if !(ratio > 1 && ratio < 1.03) {
		t.Errorf("a chip 3 %% dearer makes tokens %.4f as dear: hosts, network and power do not scale with it", ratio)
	}
}

func TestEveryVariableTies(t *testing.T) {
	api := Deployment{Name: "api", Hosted: &cost.PerClass{Input: 1, Output: 4}}
	api.Input.Mean = cost.Load{RequestsPerSecond: 1, OutputTokensPerSecond: 1000}
	for _, c := range []struct {
		a, b Deployment
		v    Variable
	}{
		{bought("own", 30000, 1000), rented("rent", 4, 1000), Price}, {rented("a", 4, 1000), bought("own", 30000, 1000), Rental},
		{bought("own", 30000, 3000), api, Utilisation}, {rented("slow", 3, 1000), rented("fast", 5, 4000), Efficiency}, {bought("own", 30000, 30000), api, Volume},
	} {
		ans, err := Solve(c.a, c.b, c.v)
		if err != nil {
			t.Fatal(err)
		}
		if !ans.Exists {
			t.Errorf("%s: %s", c.v, ans.Note)
			continue
		}
		p, q := at(c.a, c.b, c.v, ans.At, ans.Now)
		if gap := math.Abs(p.PerMillion()/q.PerMillion() - 1); gap > 1e-6 && c.v != Volume {
			t.Errorf("%s at %g: %g against %g", c.v, ans.At, p.PerMillion(), q.PerMillion())
		} else if gap > 0.2 { // volume moves in whole nodes: the crossing is a jump
			t.Errorf("%s at %g: %g against %g", c.v, ans.At, p.PerMillion(), q.PerMillion())
		}
	}
}

// An owned node against an API: below some volume one node is too much, and above it the owned fleet wins. The crossing
// follows by hand: the node's cost a month over the API's price.
func TestVolumeByHand(t *testing.T) {
	own := bought("own", 30000, 30000)
	api := Deployment{Name: "api", Hosted: &cost.PerClass{Output: 4}, Input: own.Input}
	own.Input.Power = nil // no energy: the monthly cost does not depend on load
	_, tco := cost.Unit(own.Input, own.Assumptions)
	ans, err := Solve(own, api, Volume)
	if err != nil {
		t.Fatal(err)
	}
	want := tco / float64(own.Assumptions.HorizonMonths) / 4 * 1e6
	if !ans.Exists || math.Abs(ans.At/want-1) > 1e-6 || !strings.Contains(ans.Note, "volume above") {
		t.Errorf("%+v, want %g tokens a month", ans, want)
	}
}

func TestNoBreakEvenIsSaid(t *testing.T) {
	free := Deployment{Name: "free", Hosted: &cost.PerClass{Output: 1e-9}, Input: cost.Input{Mean: cost.Load{OutputTokensPerSecond: 1}}}
	ans, err := Solve(bought("own", 30000, 1000), free, Utilisation)
	if err != nil || ans.Exists || !strings.Contains(ans.Note, "dearer") {
		t.Errorf("%+v, %v", ans, err)
	}
	for _, c := range []struct {
		d    Deployment
		v    Variable
		want string
	}{
		{rented("a", 1, 1), Price, `solve for "rent"`}, {bought("a", 1, 1), Rental, `solve for "price"`}, {free, Price, "hosted price"},
		{rented("a", 1, 1), "prise", `did you mean "price"`},
	} {
		if _, err := Solve(c.d, free, c.v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s: %v, want %q", c.v, c.d.Name, err, c.want)
		}
	}
}

// llama70 on one chip with figures of an H200, rented.
func llama70() (Analytic, Spec) {
	a := cost.Default()
	a.Ownership = cost.Rent
	a.Renting = []cost.Lease{{Tier: "on-demand", USDPerChipHour: cost.Given(3)}}
	return Analytic{
			WeightBytes: 70.6e9, ActiveParameters: 70.6e9, KVBytesPerToken: 163840, InputTokens: 1024, OutputTokens: 512, TPOTSeconds: 0.05,
			ChipsPerReplica: 1, BandwidthEfficiency: 0.8, ComputeEfficiency: 0.6, MemoryShare: 0.9, IdleShare: 0.15, Utilisation: 0.5,
			RequestsPerSecond: 200, ChipsPerNode: 8, NodeOverheadWatts: 2000, Assumptions: a,
		},
		Spec{BytesPerSecond: 4.8e12, FLOPS: 1.979e15, MemoryBytes: 141e9, Watts: 700, PriceUSD: 3}
}

func TestAnalyticByHand(t *testing.T) {
	m, s := llama70()
	r, err := m.Serve(s)
	if err != nil {
		t.Fatal(err)
	}
	kv := (1024 + 256.0) * 163840
	room := 141e9*0.9 - 70.6e9
	memory := room / kv
	latency := (0.05*4.8e12*0.8 - 70.6e9) / kv
	if want := math.Min(memory, latency); math.Abs(r.Batch-want) > 1e-9*want {
		t.Errorf("batch %g, want %g (memory %g, latency %g)", r.Batch, want, memory, latency)
	}
	step := math.Max((70.6e9+r.Batch*kv)/(4.8e12*0.8), 2*r.Batch*70.6e9/(1.979e15*0.6))
	seconds := 2*70.6e9*1024/(1.979e15*0.6) + 512*step/r.Batch
	if math.Abs(r.RequestsPerSecond*seconds-1) > 1e-12 {
		t.Errorf("%g requests/s, want %g", r.RequestsPerSecond, 1/seconds)
	}
	if _, err := m.Serve(Spec{4.8e12, 2e15, 70e9, 700, 3}); err == nil || !strings.Contains(err.Error(), "do not fit") {
		t.Errorf("70 GB for 70.6 GB of weights: %v", err)
	}
	if _, err := m.Serve(Spec{1e12, 2e15, 141e9, 700, 3}); err == nil || !strings.Contains(err.Error(), "ms a token") {
		t.Errorf("1 TB/s within 50 ms: %v", err)
	}
}

func TestTargetMeetsItsGoal(t *testing.T) {
	m, s := llama70()
	s.FLOPS *= 4 // else compute binds and no bandwidth helps
	incumbent, err := m.PerMillion(s)
	if err != nil {
		t.Fatal(err)
	}
	found, err := Target(s, incumbent, 0.30, m.PerMillion, Bandwidth, ChipPrice, Power)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range found[:2] {
		if !r.Exists {
			t.Fatalf("%s: %s", r.Dimension, r.Note)
		}
		better := s
		f, _ := r.Dimension.field(&better)
		*f = r.Needed
		usd, err := m.PerMillion(better)
		if err != nil || usd > 0.7*incumbent*(1+1e-9) {
			t.Errorf("%s at %g: %g, goal %g, %v", r.Dimension, r.Needed, usd, 0.7*incumbent, err)
		}
	}
	if p := found[1].Needed; math.Abs(p-0.7*3) > 1e-6 {
		t.Errorf("rent alone must fall 30 %%, to 2.10: got %g", p)
	}
	if found[2].Exists || !strings.Contains(found[2].Note, "another specification binds") {
		t.Errorf("rent includes power: %+v", found[2])
	}
	line, err := Frontier(s, incumbent, 0.30, m.PerMillion, []float64{4.8e12, 9.6e12})
	if err != nil || !(line[1].PriceUSD > line[0].PriceUSD) {
		t.Errorf("more bandwidth must allow a higher price: %+v, %v", line, err)
	}
	if _, err := Target(s, incumbent, 0.3, m.PerMillion, "bandwith"); err == nil || !strings.Contains(err.Error(), `did you mean "bandwidth"`) {
		t.Errorf("error %v", err)
	}
}

// A simulation plugs in as a plain function.
func TestTargetTakesAnyEvaluator(t *testing.T) {
	eval := func(s Spec) (float64, error) { return s.PriceUSD / s.BytesPerSecond, nil }
	found, err := Target(Spec{2, 1, 1, 1, 10}, 5, 0.5, eval, Bandwidth, ChipPrice)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(found[0].Needed-4) > 1e-6 || math.Abs(found[1].Needed-5) > 1e-6 {
		t.Errorf("%+v", found)
	}
}

func TestBetterSpecsNeverCostMore(t *testing.T) {
	m, s := llama70()
	rapid.Check(t, func(t *rapid.T) {
		d := Dimension(rapid.SampledFrom(Dimensions()).Draw(t, "dimension"))
		by := rapid.Float64Range(1, 4).Draw(t, "by")
		better := s
		f, _ := d.field(&better)
		*f *= math.Pow(by, d.better())
		before, err1 := m.PerMillion(s)
		after, err2 := m.PerMillion(better)
		if err1 != nil || err2 != nil || after > before*(1+1e-9) {
			t.Fatalf("%s x %g: %g to %g (%v, %v)", d, by, before, after, err1, err2)
		}
	})
}

func TestDigits(t *testing.T) {
	for in, want := range map[float64]string{10738.6: "10740", 27500: "27500", 1.9: "1.9", 0.45333: "0.4533", 1.5e7: "15000000", 4e12: "4e+12", 0: "0", -20001: "-20000"} {
		if got := digits(in); got != want {
			t.Errorf("%g is written %s, want %s", in, got, want)
		}
	}
}
