package cost

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"scoville/model/fact"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance {
		t.Errorf("%s = %v, want %v ± %v", what, got, want, tolerance)
	}
}

// owned is a small fleet with every cost switched on.
func owned() (Input, Assumptions) {
	a := Default()
	a.Buying.Accelerator.Price = Sourced(27500, fact.Estimate, "test", "2026")
	a.Buying.Accelerator.ResidualShare = Given(0.1)
	a.Running.MaintenanceShare = Given(0.03)
	a.Running.SoftwareUSDPerChipYear = Given(4500)
	a.Running.GridKgCO2ePerKWh = Given(0.4)
	in := Input{
		Chips: 64, SpareChips: 8, ChipsPerNode: 8,
		Power:             []PowerPoint{{0, 120}, {0.5, 480}, {1, 620}},
		NodeOverheadWatts: 1500,
		Mean:              Load{20, 24000, 6000, 5000}, Peak: Load{45, 54000, 13500, 11250}, Full: Load{50, 60000, 15000, 12500},
		PrefillShare: 0.35, RetryShare: 0.02, Users: 10000,
	}
	return in, a
}

func evaluate(t *testing.T, in Input, a Assumptions) *Result {
	t.Helper()
	r, err := Evaluate(in, a)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sums checks that components, months and uses each sum to the TCO to the cent.
func sums(t interface{ Fatalf(string, ...any) }, r *Result) {
	total := func(name string, parts []Money) {
		sum := decimal.Zero
		for _, p := range parts {
			sum = sum.Add(p.Decimal)
		}
		if !sum.Equal(r.TCO.Decimal) {
			t.Fatalf("%s sum to %s, the TCO is %s", name, sum, r.TCO)
		}
	}
	var components, months, use []Money
	for _, c := range r.Components {
		components = append(components, c.Amount)
	}
	for _, m := range r.Cash {
		months = append(months, m.Amount)
	}
	for _, u := range r.Use {
		use = append(use, u.Amount)
	}
	total("components", components)
	total("months", months)
	total("uses", use)
	total("capex and opex", []Money{r.Capex, r.Opex})
	for i, c := range r.Components {
		sum := decimal.Zero
		for _, m := range r.Cash {
			sum = sum.Add(m.ByComponent[i].Decimal)
		}
		if !sum.Equal(c.Amount.Decimal) {
			t.Fatalf("%s by month sums to %s, not %s", c.Name, sum, c.Amount)
		}
	}
}

func TestPricesTimesTokensAreTheCost(t *testing.T) {
	in, a := owned()
	for _, method := range []string{AnnuityTerms, StraightTerm} {
		a.Method = method
		r := evaluate(t, in, a)
		sums(t, r)
		tco := r.TCO.Float()
		near(t, "both", r.Actual.Both*r.Tokens.Both()/1e6, tco, 1)
		near(t, "per output", r.Actual.PerOutput*r.Tokens.Output/1e6, tco, 1)
		near(t, "price ratio", r.Actual.ByPriceRatio.Total(r.Tokens), tco, 1)
		near(t, "chip-seconds", r.Actual.ByChipSeconds.Total(r.Tokens), tco, 1)
		near(t, "request", r.Actual.PerRequest*r.Requests, tco, 1)
		if !(r.FullLoad.Both < r.Actual.Both) {
			t.Errorf("full load costs %g, actual %g per M tokens", r.FullLoad.Both, r.Actual.Both)
		}
		near(t, "utilisation", r.Utilisation, 20/(50*0.98), 1e-9)
	}
}

func TestMoneyIsANumberInJSON(t *testing.T) {
	in, a := owned()
	b, err := json.Marshal(evaluate(t, in, a))
	if err != nil {
		t.Fatal(err)
	}
	var back Result
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	sums(t, &back)
}

func TestNPVAtZeroIsTheSum(t *testing.T) {
	in, a := owned()
	zero := Given(0)
	a.DiscountRate = &zero
	r := evaluate(t, in, a)
	near(t, "NPV", r.NPV.Float(), r.TCO.Float(), 0.1)
	// An annuity at 0 % is straight-line: the TCO of both methods is the same.
	a.CostOfCapital = zero
	near(t, "straight-line", evaluate(t, in, a).OtherMethod.TCO.Float(), evaluate(t, in, a).TCO.Float(), 1)
}

// An idle night costs what idle watts cost.
func TestIdleNight(t *testing.T) {
	in, a := owned()
	a.Ownership = Rent
	a.Renting = []Lease{{Tier: "on-demand", USDPerChipHour: Given(0), PowerExcluded: true}}
	a.Running = Running{PUE: Given(1.25), Electricity: Electricity{USDPerKWh: Given(0.10)}}
	in.SpareChips, in.RetryShare, in.NodeOverheadWatts = 0, 0, 0
	in.HourlyMultipliers = make([]float64, 24)
	in.HourlyMultipliers[12] = 1.5 // half an hour's worth of mean load in a day... all else idle
	in.HourlyMultipliers[13] = 22.5
	in.Full = in.Mean.Times(45) // shares 1/30 and 1/2 in those hours
	r := evaluate(t, in, a)
	chips, days := 64.0, MonthHours/24*48
	w := func(share float64) float64 { return 120 + share/0.5*360 }
	kWh := chips * (22*120 + w(1.5/45) + w(0.5)) / 1000 * days
	near(t, "facility kWh", r.Energy.FacilityKWh, kWh*1.25, 1e-3)
	near(t, "TCO", r.TCO.Float(), kWh*1.25*0.10, 0.5)
	if len(r.Components) != 1 || r.Components[0].Name != Energy {
		t.Errorf("components %v, want energy alone", r.Components)
	}
}

func TestRaisingAPriceNeverLowersTheCost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, a := draw(t)
		before, err := Evaluate(in, a)
		if err != nil {
			t.Fatalf("%v", err)
		}
		sums(t, before)
		if tokens := before.Actual.ByPriceRatio.Total(before.Tokens); math.Abs(tokens-before.TCO.Float()) > 1+1e-9*tokens {
			t.Fatalf("$/M x tokens = %g, the TCO is %s", tokens, before.TCO)
		}
		by := rapid.Float64Range(1, 3).Draw(t, "by")
		up := []func(){
			func() { a.Buying.Accelerator.Price.Value *= by }, func() { a.Buying.Network.Price.Value *= by },
			func() { a.Running.Electricity.USDPerKWh.Value *= by }, func() { a.Running.PUE.Value *= by },
			func() { a.Running.ColocationUSDPerKW.Value *= by }, func() { a.Running.MaintenanceShare.Value *= by },
			func() { a.Renting[0].USDPerChipHour.Value *= by }, func() { a.Running.TaxShare.Value = min(1, a.Running.TaxShare.Value*by) },
		}
		up[rapid.IntRange(0, len(up)-1).Draw(t, "which")]()
		after, err := Evaluate(in, a)
		if err != nil {
			t.Skip(err)
		}
		if after.TCO.LessThan(before.TCO.Decimal) {
			t.Fatalf("TCO fell from %s to %s", before.TCO, after.TCO)
		}
	})
}

// draw makes a random fleet under random assumptions.
func draw(t *rapid.T) (Input, Assumptions) {
	f := func(name string, low, high float64) float64 { return rapid.Float64Range(low, high).Draw(t, name) }
	a := Default()
	a.Ownership = rapid.SampledFrom([]string{Buy, Rent}).Draw(t, "ownership")
	a.Method = rapid.SampledFrom([]string{AnnuityTerms, StraightTerm}).Draw(t, "method")
	a.HorizonMonths = rapid.IntRange(1, 90).Draw(t, "months")
	a.RampMonths = rapid.IntRange(0, a.HorizonMonths).Draw(t, "ramp")
	a.CostOfCapital = Given(f("capital", 0, 0.3))
	a.Buying.Accelerator = Asset{Given(f("price", 1, 1e5)), "chip", Given(f("life", 0.5, 8)), Given(f("residual", 0, 0.9))}
	a.Buying.SalesTaxShare = Given(f("sales tax", 0, 0.25))
	a.Running.PUE = Given(f("pue", 1, 1.6))
	a.Running.TaxShare = Given(f("tax", 0, 0.3))
	a.Running.MaintenanceShare = Given(f("maintenance", 0, 0.1))
	a.Renting = []Lease{{Tier: "reserved", USDPerChipHour: Given(f("rent", 0.1, 15)), UpfrontShare: f("upfront", 0, 1), CommitMonths: rapid.IntRange(0, 40).Draw(t, "commit"),
		InterruptionsPerHour: f("interruptions", 0, 0.2), LostSeconds: f("lost", 0, 600), PowerExcluded: rapid.Bool().Draw(t, "power")}}
	chips := rapid.IntRange(2, 5000).Draw(t, "chips")
	rps := f("rps", 0.01, 1000)
	in := Input{Chips: chips, SpareChips: rapid.IntRange(0, chips-1).Draw(t, "spares"), ChipsPerNode: rapid.IntRange(0, 16).Draw(t, "per node"),
		Power: []PowerPoint{{0, f("idle", 0, 300)}, {1, f("busy", 300, 1400)}}, NodeOverheadWatts: f("overhead", 0, 3000),
		Mean: Load{rps, rps * f("in", 1, 1e5), 0, rps * f("out", 1, 1e4)}, RetryShare: f("retry", 0, 0.5),
		PrefillShare: f("prefill", 0, 1)}
	in.Mean.CachedTokensPerSecond = in.Mean.InputTokensPerSecond * f("cached", 0, 1)
	in.Full = in.Mean.Times(f("headroom", 1, 10) / (1 - in.RetryShare))
	return in, a
}
