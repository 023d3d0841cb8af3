package cost

import (
	"math"
	"strings"
	"testing"
)

// bare is a purchase and nothing else.
func bare(price, life float64, months int) (Input, Assumptions) {
	a := Assumptions{Ownership: Buy, HorizonMonths: months, HoursPerMonth: MonthHours, Method: StraightTerm, Currency: "USD", PerUSD: 1, OutputRatio: 4,
		Buying:  Buying{Accelerator: Asset{Price: Given(price), Per: "chip", LifeYears: Given(life)}},
		Running: Running{PUE: Given(1)}}
	return Input{Chips: 10, Mean: Load{OutputTokensPerSecond: 100}}, a
}

func TestStraightLineCash(t *testing.T) {
	in, a := bare(1000, 4, 36)
	a.Buying.Accelerator.ResidualShare = Given(0.2)
	r := evaluate(t, in, a)
	// Bought at 10,000; book value after 3 of 4 years is 10,000 - 8,000 x 3/4.
	near(t, "month 0", r.Cash[0].Amount.Float(), 10_000, 0)
	near(t, "last month", r.Cash[36].Amount.Float(), -4_000, 0)
	near(t, "TCO", r.TCO.Float(), 6_000, 0)
}

func TestAnnuityCash(t *testing.T) {
	in, a := bare(1000, 4, 36)
	a.Method, a.CostOfCapital = AnnuityTerms, Given(0.10)
	r := evaluate(t, in, a)
	payment := Annuity(10_000, math.Pow(1.1, 1.0/12)-1, 48)
	near(t, "month 0", r.Cash[0].Amount.Float(), 0, 0)
	near(t, "a month", r.Cash[7].Amount.Float(), payment, 0.01)
	near(t, "TCO", r.TCO.Float(), 36*payment, 0.01)
	// Over the whole life the discounted payments are the price.
	a.HorizonMonths = 48
	near(t, "NPV over the life", evaluate(t, in, a).NPV.Float(), 10_000, 0.01)
	// A residual takes its present value off.
	a.Buying.Accelerator.ResidualShare = Given(0.25)
	near(t, "NPV with residual", evaluate(t, in, a).NPV.Float(), 10_000-2_500*math.Pow(1.1, -4), 0.01)
}

func TestRefreshAtTheEndOfLife(t *testing.T) {
	in, a := bare(1000, 2, 60)
	a.Buying.PriceChangeYearly = Given(-0.5)
	r := evaluate(t, in, a)
	near(t, "first", r.Cash[0].Amount.Float(), 10_000, 0)
	near(t, "second, at a quarter", r.Cash[24].Amount.Float(), 2_500, 0)
	near(t, "third", r.Cash[48].Amount.Float(), 625, 0)
	near(t, "book value", r.Cash[60].Amount.Float(), -312.5, 0)
}

func TestRampBuysWithTheLoad(t *testing.T) {
	in, a := bare(1000, 5, 12)
	a.RampMonths = 5
	r := evaluate(t, in, a)
	for m, want := range []float64{2_000, 2_000, 2_000, 2_000, 2_000, 0} {
		near(t, "month", r.Cash[m].Amount.Float(), want, 0)
	}
	seconds := MonthHours * SecondsPerHour
	near(t, "tokens", r.Tokens.Output, 100*seconds*(0.2+0.4+0.6+0.8+1*8), 1)
	in.ChipsByMonth, in.LoadByMonth = []int{2, 4}, []float64{0.2, 0.4}
	if _, err := Evaluate(in, a); err == nil || !strings.Contains(err.Error(), "12 months") {
		t.Errorf("two months for a horizon of twelve: %v", err)
	}
}

func TestLeases(t *testing.T) {
	in, a := bare(1, 1, 24)
	a.Ownership = Rent
	a.Renting = []Lease{
		{Tier: "reserved", Share: 0.75, USDPerChipHour: Given(2), UpfrontShare: 0.25, CommitMonths: 12},
		{Tier: "spot", Share: 0.25, USDPerChipHour: Given(1), InterruptionsPerHour: 0.1, LostSeconds: 360},
	}
	r := evaluate(t, in, a)
	reserved := 7.5 * 2 * MonthHours
	spot := 2.5 * 1 * MonthHours / 0.99
	near(t, "upfront", r.Cash[0].Amount.Float(), reserved*12*0.25, 0.01)
	near(t, "a month", r.Cash[3].Amount.Float(), reserved*0.75+spot, 0.01)
	near(t, "second contract", r.Cash[12].Amount.Float(), reserved*0.75+spot+reserved*12*0.25, 0.01)
	near(t, "TCO", r.TCO.Float(), 24*(reserved+spot), 0.01)
	a.Renting[1].Share = 0.5
	if _, err := Evaluate(in, a); err == nil || !strings.Contains(err.Error(), "sum to 1.25") {
		t.Errorf("shares: %v", err)
	}
}

func TestHourlyTariff(t *testing.T) {
	in, a := bare(0, 1, 1)
	a.Buying.Accelerator.Price = Given(0)
	in.Power = []PowerPoint{{0, 0}, {1, 1000}}
	in.HourlyMultipliers = make([]float64, 24)
	in.HourlyMultipliers[3] = 24 // all the work in one hour
	in.Full = Load{OutputTokensPerSecond: 2400}
	a.Running.Electricity = Electricity{USDPerKWh: Given(0.1), Hourly: make([]float64, 24)}
	a.Running.Electricity.Hourly[3] = 0.5 // a night tariff; nothing drawn in the other hours
	r := evaluate(t, in, a)
	near(t, "energy", r.TCO.Float(), 10*1*0.1*0.5*MonthHours/24, 0.01)
}

func TestTaxesAndCurrency(t *testing.T) {
	in, a := bare(1000, 4, 48)
	a.Buying.SalesTaxShare, a.Buying.PropertyTaxShare, a.Running.TaxShare = Given(0.1), Given(0.02), Given(0.2)
	a.Running.BandwidthUSDPerMonth = Given(100)
	a.PerUSD, a.Currency = 0.9, "EUR"
	r := evaluate(t, in, a)
	near(t, "TCO", r.TCO.Float(), 0.9*(10_000*1.1+10_000*0.02*4+48*100*1.2), 0.02)
	if r.Currency != "EUR" {
		t.Errorf("currency %q", r.Currency)
	}
}

// Energy and space of an own building: no colocation, the building has its own life.
func TestOwnFacility(t *testing.T) {
	in, a := bare(1000, 4, 48)
	in.Power = []PowerPoint{{0, 500}, {1, 1000}}
	a.Running.ColocationUSDPerKW = Given(200)
	near(t, "colocation", evaluate(t, in, a).TCO.Float(), 10_000+48*10*200, 0.01)
	a.Buying.Facility = Asset{Price: Given(12_000), Per: "kw", LifeYears: Given(14)}
	near(t, "facility", evaluate(t, in, a).TCO.Float(), 10_000+10*12_000*4/14.0, 0.01)
}

func TestFiguresAndFiles(t *testing.T) {
	f, err := DecodeFile("t.toml", []byte("[cost.buy.accelerator]\nprice = 30000\n[cost.running]\npue = { value = 1.2, kind = \"measured\", source = \"our meter\", date = \"2026-10\" }\n[[cost.rent]]\ntier = \"spot\"\nusd_per_chip_hour = 2.5"))
	if err != nil {
		t.Fatal(err)
	}
	if v := f.Cost.Buying.Accelerator.Price; v.Value != 30000 || v.Source != given || !v.Known() {
		t.Errorf("bare number: %+v", v)
	}
	if f.Cost.Buying.Accelerator.Per != "chip" || f.Cost.Running.PUE.Source != "our meter" || f.Cost.Renting[0].USDPerChipHour.Value != 2.5 {
		t.Errorf("%+v", f.Cost)
	}
	for text, want := range map[string]string{
		"[cost.running]\npue = \"1.2\"":                 "expected a number or {",
		"[cost.running]\npue = { vale = 1 }":            `did you mean "value"`,
		"[cost.running]\npue = { kind = \"measured\" }": "value is missing",
		"[cost.running]\npue = { value = 1.2 }":         "kind",
	} {
		if _, err := DecodeFile("t.toml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "t.toml") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	a := f.Cost.Clone()
	a.Renting[0].Tier = "reserved"
	if f.Cost.Renting[0].Tier != "spot" {
		t.Error("a clone shares memory")
	}
}

func FuzzCostFile(f *testing.F) {
	f.Add([]byte("chip = \"h100-sxm\"\n[fleet]\nchips = 8\n[fleet.mean]\noutput_tokens_per_second = 1\n[cost.buy.accelerator]\nprice = 1000"))
	f.Add([]byte("[cost]\nownership = \"rent\"\n[[cost.rent]]\ntier = \"spot\"\nusd_per_chip_hour = { value = 2 }"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := DecodeFile("fuzz.toml", data)
		if err != nil {
			return
		}
		r, err := Evaluate(file.Fleet, file.Cost)
		if err != nil {
			return
		}
		sums(t, r)
	})
}
