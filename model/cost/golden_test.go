package cost

import (
	"encoding/csv"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"scoville/model/fact"
)

// NVIDIA, "LLM Inference Benchmarking: How Much Does Your LLM Inference Cost?": $320,000 a server over 4 years, $3,000
// hosting and $4,500 software a year, input and output priced 1 : 3. The article prints $87,500 a server-year; rates and
// lengths below are ours, on its formulas.
func TestNVIDIAExample(t *testing.T) {
	year := ServerYear(320_000, 4, 4_500, 3_000)
	near(t, "server-year", year, 87_500, 0)
	near(t, "software per GPU", ServerYear(320_000, 4, 8*4_500, 3_000), 119_000, 0)
	instances := math.Ceil(100.0 / 6)
	servers := math.Ceil(instances * 2 / 8)
	near(t, "instances", instances, 17, 0)
	near(t, "servers", servers, 5, 0)
	near(t, "fleet-year", servers*year, 437_500, 0)
	per1000 := Per1000Prompts(year, 6*8/2, 1)
	near(t, "per 1000 prompts", per1000, 0.115609, 5e-7)
	p := ByPriceRatio(per1000, Tokens{Input: 1000 * 1024, Output: 1000 * 256}, 3, 0)
	near(t, "per M both", p.Both, 0.0903192, 5e-8)
	near(t, "per M input", p.Input, 0.0645137, 5e-8)
	near(t, "per M output", p.Output, 0.1935412, 5e-8)
	near(t, "identity", 1024*p.Input/1e6*1000+256*p.Output/1e6*1000, per1000, 1e-12)
}

// The same example through Evaluate: 5 owned servers, straight-line over the whole life, no other cost.
func TestNVIDIAExampleThroughEvaluate(t *testing.T) {
	a := Assumptions{Ownership: Buy, HorizonMonths: 48, HoursPerMonth: MonthHours, Method: StraightTerm, Currency: "USD", PerUSD: 1, OutputRatio: 3,
		Buying:  Buying{Accelerator: Asset{Price: Given(320_000), Per: "node", LifeYears: Given(4)}},
		Running: Running{PUE: Given(1), HostingUSDPerNodeYear: Given(3_000), SoftwareUSDPerChipYear: Given(4_500.0 / 8)}}
	in := Input{Chips: 40, ChipsPerNode: 8, Mean: Load{120, 120 * 1024, 0, 120 * 256}}
	r := evaluate(t, in, a)
	if r.TCO.StringFixed(2) != "1750000.00" {
		t.Errorf("TCO %s, want 4 x 437,500", r.TCO)
	}
	near(t, "per M input", r.Actual.ByPriceRatio.Input, 0.0645137, 5e-8)
	near(t, "per M output", r.Actual.ByPriceRatio.Output, 0.1935412, 5e-8)
	near(t, "per request x 1000", 1000*r.Actual.PerRequest, 0.115609, 5e-7)
}

// GKE Inference Quickstart, Cost message of the Recommender API: $/output token = $/s / (input/ratio + output).
func TestGKEInferenceQuickstart(t *testing.T) {
	p := ByPriceRatio(2.0/3600, Tokens{Input: 8000, Output: 1000}, 4, 0)
	near(t, "output", p.Output, 0.185185, 5e-7)
	near(t, "input", p.Input, 0.046296, 5e-7)
	near(t, "check", p.Total(Tokens{Input: 8000, Output: 1000})*3600, 2, 1e-12)
}

// InferenceX articles of May 2026: $/GPU-hour, total tokens/s per GPU, and the $/M total they print. 27 of the 147
// published rows; the last two are the slips that Claim.Check must name.
var inferenceX = []struct {
	chip         string
	usd, rate    float64
	printed      float64
	digits       int
	slip         bool
	concurrently int
}{
	{"h100", 1.30, 476.5, 0.76, 2, false, 4}, {"h100", 1.30, 771.4, 0.47, 2, false, 8}, {"h100", 1.30, 1193.7, 0.30, 2, false, 16},
	{"h100", 1.30, 1707.6, 0.21, 2, false, 32}, {"h100", 1.30, 2317.0, 0.16, 2, false, 64}, {"h100", 1.30, 2985.6, 0.12, 2, false, 128},
	{"b200", 1.95, 1926.8, 0.28, 2, false, 4}, {"b200", 1.95, 3143.5, 0.17, 2, false, 8}, {"b200", 1.95, 4684.8, 0.12, 2, false, 16},
	{"b200", 1.95, 6514.0, 0.08, 2, false, 32}, {"b200", 1.95, 9079.0, 0.06, 2, false, 64}, {"b200", 1.95, 10053.9, 0.05, 2, false, 128},
	{"h200", 1.41, 347.9, 1.13, 2, false, 4}, {"b200", 1.95, 1619.3, 0.33, 2, false, 64}, {"b200", 1.95, 4090.7, 0.13, 2, false, 256},
	{"b200", 1.95, 16256.5, 0.03, 2, false, 128}, {"b200", 1.95, 969.4, 0.559, 3, false, 16}, {"gb200", 2.21, 60.7, 10.12, 2, false, 4},
	{"b200", 1.95, 49.3, 10.99, 2, false, 6}, {"gb200", 2.21, 8933.0, 0.07, 2, false, 4096}, {"b200", 1.95, 952.7, 0.57, 2, false, 16},
	{"mi355x", 1.48, 1895.0, 0.22, 2, false, 64}, {"b200", 1.95, 1669.1, 0.32, 2, false, 128}, {"mi355x", 1.48, 171.9, 2.39, 2, false, 4},
	{"mi355x", 1.48, 4113.4, 0.10, 2, false, 64},
	{"gb200", 2.21, 5336.2, 0.10, 2, true, 512}, {"b200", 1.95, 1619.3, 0.34, 2, true, 64},
}

func TestInferenceX(t *testing.T) {
	for _, r := range inferenceX {
		c := Claim{USDPerChipHour: r.usd, Chips: 1, TotalTokensPerSecond: r.rate, RateDigits: 1, USDPerMillion: r.printed, Digits: r.digits}
		found := c.Check()
		if r.slip != (len(found) == 1 && found[0].Rule == "rounding") || (!r.slip && len(found) > 0) {
			t.Errorf("%s at %d: printed %g, recomputed %.5f, findings %v", r.chip, r.concurrently, r.printed, c.Recomputed(PerAllTokens), found)
		}
	}
}

// All 147 published rows, where the collection is at hand. To the cent 145 agree and the two slips are found. 15 rows are
// printed to a tenth of a cent; of these two more are off by one in that digit (0.334 for 0.3335, 0.303 for 0.3025), more
// than the printed throughput's rounding explains.
func TestInferenceXAllRows(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "..", "..", "shared", "data", "golden", "inferencex_articles_cost_golden.csv"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("../shared is absent: the 147 rows are not at hand")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	number := func(row []string, name string) float64 {
		v, err := strconv.ParseFloat(row[column[name]], 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	var toCents, toDigits []string
	for _, row := range rows[1:] {
		printed := row[column["published_usd_per_M_total"]]
		c := Claim{USDPerChipHour: number(row, "usd_per_gpu_hr"), Chips: 1, TotalTokensPerSecond: number(row, "total_tok_s_per_gpu"),
			USDPerMillion: number(row, "published_usd_per_M_total"), Digits: 2, RateDigits: 1}
		if len(c.Check()) > 0 {
			toCents = append(toCents, printed)
		}
		if _, decimals, ok := strings.Cut(printed, "."); ok && len(decimals) > 2 {
			c.Digits = len(decimals)
		}
		if len(c.Check()) > 0 {
			toDigits = append(toDigits, printed)
		}
	}
	if got := strings.Join(toCents, " "); len(rows) != 148 || got != "0.1 0.34" {
		t.Errorf("of %d rows those off by a cent are %q; of 147, 0.1 and 0.34 are known", len(rows)-1, got)
	}
	if got := strings.Join(toDigits, " "); got != "0.334 0.303 0.1 0.34" {
		t.Errorf("rows off in the last printed digit are %q", got)
	}
}

// InferenceX's fleet planner, figures of its own unit test.
func TestInferenceXFleet(t *testing.T) {
	chips, users, usd := Fleet(10, 2, 2.5, 450, 50)
	if chips != 5000 || users != 45000 || usd != 12500 {
		t.Errorf("%d chips, %d users, $%g an hour", chips, users, usd)
	}
}

// Vera Rubin against GB200 and GB300, DeepSeek-R1 8k/1k, SemiAnalysis 2026-07-23: output tokens/s per all-in megawatt and
// $/GPU-hour give the printed $/M output within 3 % (they interpolate the two separately; 7 % at the steepest point).
func TestRubinPerMegawatt(t *testing.T) {
	for _, r := range []struct{ perMW, kW, usd, printed, within float64 }{
		{705543, 2.16775, 1.84, 0.333, 0.03}, {558569, 2.16775, 1.84, 0.423, 0.03}, {287289, 2.16775, 1.84, 0.799, 0.03}, {36394, 2.16775, 1.84, 6.471, 0.03},
		{707037, 2.553, 2.36, 0.364, 0.03}, {517848, 2.553, 2.36, 0.497, 0.03}, {37049, 2.553, 2.36, 6.859, 0.03}, {17892, 2.553, 2.36, 15.456, 0.08},
		{1330000, 3.3373, 3.57, 0.223, 0.03}, {1115625, 3.3373, 3.57, 0.266, 0.03}, {786208, 3.3373, 3.57, 0.378, 0.03}, {300000, 3.3373, 3.57, 0.991, 0.03},
		{140264, 3.3373, 3.57, 2.099, 0.03}, {96446, 3.3373, 3.57, 3.076, 0.03}, {70703, 3.3373, 3.57, 4.179, 0.03},
	} {
		got := PerMillion(r.usd, r.perMW*r.kW/1000)
		near(t, "per M output", got, r.printed, r.within*r.printed)
	}
}

// ClusterMAX (clustermax.ai/tco): 4,096 GPUs rented for 720 hours a month.
func TestClusterMAX(t *testing.T) {
	for _, c := range []struct{ usd, month, total, months36 float64 }{
		{1.84, 5_426_381, 5_539_138, 199_408_973}, {2.178, 6_423_183, 6_989_395, 251_618_208}, {2.00, 5_898_240, 6_200_693, 223_224_957},
	} {
		near(t, "month", RentMonthly(4096, c.usd, 720), c.month, 1)
		near(t, "36 months", c.total*36, c.months36, 50)
		// Through Evaluate, with the other published lines as one monthly bill.
		a := Default()
		a.Ownership, a.HoursPerMonth, a.HorizonMonths = Rent, 720, 36
		a.Renting = []Lease{{Tier: "reserved", USDPerChipHour: Given(c.usd)}}
		a.Running.StaffShare = Given(0)
		a.Running.BandwidthUSDPerMonth = Given(c.total - RentMonthly(4096, c.usd, 720))
		r := evaluate(t, Input{Chips: 4096, Mean: Load{OutputTokensPerSecond: 1}}, a)
		near(t, "Evaluate", r.TCO.Float(), c.months36, 50)
	}
}

// aiinframap.com (mid-2026): 1,024 chips, 70 % utilisation, PUE 1.2, 5 years at $0.08/kWh; printed figures are rounded.
func TestAIInfraMap(t *testing.T) {
	for _, c := range []struct{ price, watts, teraFLOPS, energy, tco, per float64 }{
		{30_000, 700, 989, 2.11e6, 32.83e6, 9_300}, {35_000, 700, 989, 2.11e6, 37.95e6, 10_700}, {40_000, 1000, 2250, 3.01e6, 43.97e6, 5_500},
	} {
		energy := EnergyUSD(1024*c.watts/1000*0.7, 1.2, HoursPerYear*5, 0.08)
		near(t, "energy", energy, c.energy, 0.005*c.energy)
		near(t, "TCO", 1024*c.price+energy, c.tco, 0.005*c.tco)
		near(t, "per PFLOP-year", PerEffectivePFLOPYear(1024*c.price+energy, 1024, c.teraFLOPS, 0.7, 5), c.per, 0.01*c.per)
		// Through Evaluate.
		a := Assumptions{Ownership: Buy, HorizonMonths: 60, HoursPerMonth: MonthHours, Method: StraightTerm, PerUSD: 1, OutputRatio: 4,
			Buying:  Buying{Accelerator: Asset{Price: Given(c.price), Per: "chip", LifeYears: Given(5)}},
			Running: Running{PUE: Given(1.2), Electricity: Electricity{USDPerKWh: Given(0.08)}}}
		r := evaluate(t, Input{Chips: 1024, Power: []PowerPoint{{0, 0}, {1, c.watts}}, Mean: Load{OutputTokensPerSecond: 70}, Full: Load{OutputTokensPerSecond: 100}}, a)
		near(t, "Evaluate", r.TCO.Float(), c.tco, 0.005*c.tco)
	}
}

// Hamilton's warehouse-scale model (shares published by Data Center Knowledge 2010-09-22; inputs as in Hennessy & Patterson).
func TestHamilton(t *testing.T) {
	rate := 0.05 / 12
	parts := []float64{
		Annuity(45_978*1450, rate, 36), Annuity(12.81e6, rate, 48), Annuity(0.82*88e6, rate, 120), Annuity(0.18*88e6, rate, 120),
		EnergyUSD(8000*0.8, 1.45, 730, 0.07), 85_000,
	}
	total := 0.0
	for _, p := range parts {
		total += p
	}
	for i, want := range []float64{1_998_103, 295_005, 765_369, 168_008, 474_208, 85_000} {
		near(t, "part", parts[i], want, 1)
	}
	near(t, "total", total, 3_785_693, 2)
	for i, want := range []float64{0.53, 0.08, 0.20, 0.04, 0.13, 0.02} {
		near(t, "share", parts[i]/total, want, 0.01)
	}
}

// Epoch AI 2025-12-18: accelerators draw about 40 % of a facility's peak. Epoch AI 2026-05-14: $38B a gigawatt costs
// about 12, 8.5 and 7 billion a year at 3, 5 and 7 years of IT life; rate and split are not published, so this is a band.
func TestEpoch(t *testing.T) {
	server, it, facility := ProvisioningChain(1000)
	near(t, "server", server, 1530, 0)
	near(t, "IT", it, 1744.2, 1e-9)
	near(t, "facility", facility, 2441.88, 1e-6)
	near(t, "share", 1000/facility, 0.40, 0.02)
	for i, years := range []float64{3, 5, 7} {
		tco := 28.9*CapitalRecoveryFactor(0.05, years) + 9.1*CapitalRecoveryFactor(0.05, 14) + 0.9
		want := []float64{12, 8.5, 7}[i]
		near(t, "TCO", tco, want, 0.05*want)
	}
}

func TestSmallPublishedExamples(t *testing.T) {
	// neelmishra, 2026: 4 GPUs at $2.21, 2400 tok/s, 70 % utilised.
	near(t, "neelmishra", PerMillion(2.21*4, 2400*0.7), 1.46, 0.005)
	// InferenceX formula at 1000 tok/s.
	near(t, "InferenceX", PerMillion(2.21, 1000), 0.613889, 5e-7)
	// Llama 3 (arXiv 2407.21783): 419 unplanned interruptions, 268 GPU-related, 16,384 GPUs, 54 days.
	near(t, "all failures", FailureRate(419, 16384, 54), 0.173, 5e-4)
	near(t, "GPU failures", FailureRate(268, 16384, 54), 0.111, 5e-4)
	// CBRE H2 2024: 184.06 a kW-month.
	near(t, "colocation", 10.4*184.06, 1914.22, 0.01)
	// MLPerf v5.1, 8x B200, Llama-2-70B Server: 10,442.3 W and 99,159.27 tok/s at the wall; PUE 1.25 and $0.08 are examples.
	near(t, "energy per M output", EnergyPerMillion(10442.3, 1.25, 0.08, 99159.27), 0.002925, 5e-7)
	// Binomial arithmetic for 100 nodes of 8 at 0.17 failures a GPU-year.
	for _, c := range []struct {
		hours float64
		want  []float64
	}{{2.2, []float64{0.966427, 0.999424, 0.999993}}, {72, []float64{0.32903, 0.692756, 0.895808, 0.972125}}} {
		up := NodeAvailability(0.17, 8, c.hours)
		for k, want := range c.want {
			near(t, "N+k", AtLeastUp(100, k, up), want, 1e-6)
		}
	}
	near(t, "N+5", AtLeastUp(100, 5, NodeAvailability(0.17, 8, 72)), 0.998844, 1e-6)
	// amd/gaia#3730: three token classes; the first report said $0.1652.
	price := PerClass{Input: 2.10, CachedInput: 0.21, Output: 6.60}
	near(t, "three classes", price.Total(Tokens{1249838, 969744, 93402}), 1.4083, 5e-4)
	near(t, "nothing cached", price.Total(Tokens{1249838, 0, 93402}), 3.2411, 5e-4)
	// lmsys 2025-05-05 (case U40's kin): 274 output and 21081 total tok/s at $85 an hour are 77x apart.
	near(t, "per output", PerMillion(85, 274), 86.2, 0.05)
	near(t, "per total", PerMillion(85, 21081), 1.12, 0.005)
}

// U31, deepseek-ai/open-infra-index day 6: 226.75 nodes of 8 H800 at $2; $87,072 a day.
func TestDeepSeekDay(t *testing.T) {
	a := Default()
	a.Ownership, a.HorizonMonths, a.HoursPerMonth = Rent, 1, 720 // thirty such days
	a.Renting = []Lease{{Tier: "on-demand", USDPerChipHour: Sourced(2, fact.Estimate, "deepseek-ai/open-infra-index", "2025-02-28")}}
	a.Running.StaffShare = Given(0)
	const day = 86400.0
	in := Input{Chips: 1814, ChipsPerNode: 8, Mean: Load{InputTokensPerSecond: 608e9 / day, CachedTokensPerSecond: 342e9 / day, OutputTokensPerSecond: 168e9 / day}}
	in.Full = in.Mean.Times(1.226) // peak of 278 nodes over 226.75
	r := evaluate(t, in, a)
	near(t, "cost of a day", r.TCO.Float()/30, 87_072, 0)
	revenue := PerClass{0.55, 0.14, 2.19, 0}.Total(Tokens{608e9, 342e9, 168e9})
	near(t, "revenue", revenue, 562_027, 150)
	near(t, "margin", revenue/87_072-1, 5.45, 0.01)
	near(t, "nodes from volume", 608e9/day/73.7e3+168e9/day/14.8e3, 227, 0.5)
	near(t, "utilisation", r.Utilisation, 1/1.226, 1e-9)
	if r.Actual.Both >= r.Actual.PerOutput || r.Actual.ByPriceRatio.CachedInput >= r.Actual.ByPriceRatio.Input {
		t.Errorf("prices out of order: %+v", r.Actual)
	}
}

func rules(found []Finding) string {
	var names []string
	for _, f := range found {
		names = append(names, f.Rule)
	}
	return strings.Join(names, " ")
}

// U32, lmsys 2025-05-05: $0.20 per M output tokens counts decode nodes only.
func TestDecodeNodesOnly(t *testing.T) {
	c := Claim{USDPerChipHour: 2, Chips: 8, USDPerMillion: 0.20, Digits: 2, Class: PerOutputTokens, OutputTokensPerSecond: 22.3e3,
		DecodeChipsOnly: true, PrefillUSDPerMIn: PerMillion(16, 52.3e3), InputOutputRatio: 20}
	near(t, "decode", c.Recomputed(PerOutputTokens), 0.199, 5e-4)
	near(t, "prefill", c.PrefillUSDPerMIn, 0.085, 5e-4)
	found := c.Check()
	if rules(found) != "definition" || !strings.Contains(found[0].Message, "1.90 per M output") {
		t.Errorf("%v", found)
	}
}

// U37, gpuadvisor.com: all six rows are above the weights-only bandwidth ceiling at batch 16.
func TestPriceTableAboveTheCeiling(t *testing.T) {
	const b8, b70 = 8.03e9, 70.55e9
	for _, r := range []struct {
		chip                        string
		chips, rate, weights, bytes float64
		ceiling                     float64
	}{
		{"L40S 8B FP16", 1, 4200, 2 * b8, 0.864e12, 861}, {"H100 8B FP16", 1, 5500, 2 * b8, 3.35e12, 3337}, {"MI300X 8B FP16", 1, 7000, 2 * b8, 5.3e12, 5280},
		{"2xH100 70B FP16", 2, 2200, 2 * b70, 3.35e12, 760}, {"MI300X 70B FP16", 1, 3000, 2 * b70, 5.3e12, 601}, {"H100 70B FP8", 1, 1800, b70, 3.35e12, 759},
	} {
		c := Claim{USDPerChipHour: 1.4, Chips: r.chips, Batch: 16, OutputTokensPerSecond: r.rate, WeightBytes: r.weights, BytesPerSecond: r.bytes}
		near(t, r.chip, c.Ceiling(), r.ceiling, 2)
		if rules(c.Check()) != "ceiling" {
			t.Errorf("%s: %v", r.chip, c.Check())
		}
		c.Speculative = true
		if len(c.Check()) != 0 {
			t.Errorf("%s with speculation: %v", r.chip, c.Check())
		}
	}
}

// U38, gputracker.dev: Llama-3-70B FP16 on one A100-80GB at $0.34 an hour.
func TestModelThatDoesNotFit(t *testing.T) {
	for _, r := range []struct{ usd, rate float64 }{{0.05, 1889}, {0.17, 556}} {
		near(t, "implied rate", TokensPerSecondFor(0.34, r.usd), r.rate, 1)
		c := Claim{USDPerChipHour: 0.34, Chips: 1, USDPerMillion: r.usd, Class: PerOutputTokens, WeightBytes: 140e9, MemoryBytes: 80e9, BytesPerSecond: 2.039e12}
		near(t, "ceiling", c.Ceiling(), 14.6, 0.05)
		if rules(c.Check()) != "does-not-fit ceiling" {
			t.Errorf("%v", c.Check())
		}
	}
}

func TestClaimNamesTheSlip(t *testing.T) {
	c := Claim{USDPerChipHour: 10.625, Chips: 8, TotalTokensPerSecond: 21081, OutputTokensPerSecond: 274}
	for _, r := range []struct {
		usd   float64
		class string
		want  string
	}{
		{1.12, PerAllTokens, ""}, {86.17, PerOutputTokens, ""}, {1.12, PerOutputTokens, "definition"}, {86.2, PerAllTokens, "definition"},
		{1120, PerAllTokens, "unit"}, {0.00112, PerAllTokens, "unit"}, {0.14, PerAllTokens, "unit"}, {1.30, PerAllTokens, "rounding"},
	} {
		c.USDPerMillion, c.Class, c.Digits = r.usd, r.class, 2
		if got := rules(c.Check()); got != r.want {
			t.Errorf("%g per %s: %q, want %q (%v)", r.usd, r.class, got, r.want, c.Check())
		}
	}
}
