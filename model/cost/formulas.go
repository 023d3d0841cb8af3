package cost

import "math"

// Conventions of time. 730 is a year's 8760 hours over 12; some published tables use 720 (30 days).
const (
	HoursPerYear     = 8760.0
	MonthHours       = HoursPerYear / 12
	SecondsPerHour   = 3600.0
	million          = 1e6
	monthsPerYear    = 12.0
	joulesPerKWh     = 3.6e6
	hoursPerDay      = 24
	daysPerYearCount = 365.0
)

// PerMillion is US dollars per million tokens: usdPerHour is the price of the chips that together produce
// tokensPerSecond. It is an average cost only if tokensPerSecond is the average; at a peak rate it is a lower bound.
// Source: InferenceX, costs per million tokens = $/GPU-hour / million tokens per GPU-hour.
func PerMillion(usdPerHour, tokensPerSecond float64) float64 {
	return usdPerHour / (tokensPerSecond * SecondsPerHour) * million
}

// TokensPerSecondFor inverts PerMillion: the throughput that a price per million tokens implies at a price per hour.
func TokensPerSecondFor(usdPerHour, usdPerMillion float64) float64 {
	return usdPerHour * million / (usdPerMillion * SecondsPerHour)
}

// Annuity is the level payment per period that repays principal at rate per period over periods, paid at each period's
// end: P r / (1 - (1+r)^-n); at r = 0 it is P/n. Source: Hamilton; Hennessy & Patterson, warehouse-scale cost model.
func Annuity(principal, rate, periods float64) float64 {
	if rate == 0 {
		return principal / periods
	}
	return principal * rate / -math.Expm1(-periods*math.Log1p(rate))
}

// CapitalRecoveryFactor is the annuity of one dollar: r(1+r)^n / ((1+r)^n - 1).
func CapitalRecoveryFactor(rate, periods float64) float64 { return Annuity(1, rate, periods) }

// StraightLine is the depreciation per period from price down to residual.
func StraightLine(price, residual, periods float64) float64 { return (price - residual) / periods }

// NPV discounts cash[0], cash[1], ... at rate per period; cash[0] is now. At rate 0 it is the sum.
func NPV(rate float64, cash []float64) float64 {
	sum, factor := 0.0, 1.0
	for _, c := range cash {
		sum += c * factor
		factor /= 1 + rate
	}
	return sum
}

// MonthlyRate is the rate per month that compounds to rate per year.
func MonthlyRate(yearly float64) float64 { return math.Expm1(math.Log1p(yearly) / monthsPerYear) }

// EnergyUSD is the energy bill: kilowatts drawn by the IT equipment, averaged over hours, times PUE and the tariff.
func EnergyUSD(kilowatts, pue, hours, usdPerKWh float64) float64 {
	return kilowatts * pue * hours * usdPerKWh
}

// EnergyPerMillion is US dollars of energy per million tokens at a steady draw and rate.
func EnergyPerMillion(watts, pue, usdPerKWh, tokensPerSecond float64) float64 {
	return PerMillion(EnergyUSD(watts/1000, pue, 1, usdPerKWh), tokensPerSecond)
}

// RentMonthly is the rent of chips by the hour for a month of the given hours.
func RentMonthly(chips, usdPerChipHour, hoursPerMonth float64) float64 {
	return chips * usdPerChipHour * hoursPerMonth
}

// ServerYear is NVIDIA's yearly cost of a server: price/depreciation years + software + hosting, per year.
// Source: developer.nvidia.com/blog/llm-inference-benchmarking-how-much-does-your-llm-inference-cost.
func ServerYear(price, depreciationYears, softwarePerYear, hostingPerYear float64) float64 {
	return price/depreciationYears + softwarePerYear + hostingPerYear
}

// Per1000Prompts is NVIDIA's cost of a thousand prompts at a server's requests a second, kept up for the share uptime.
func Per1000Prompts(serverYearUSD, requestsPerSecond, uptime float64) float64 {
	return serverYearUSD / (requestsPerSecond * HoursPerYear * SecondsPerHour * uptime) * 1000
}

// Tokens counts tokens, of one request or of a window. Input includes Cached: a partition, not an addition.
type Tokens struct {
	Input, Cached, Output float64
}

// Both is input and output together.
func (t Tokens) Both() float64 { return t.Input + t.Output }

// PerClass is US dollars per million tokens of each class. Input is for uncached input tokens.
type PerClass struct {
	Input       float64 `json:"input"`
	CachedInput float64 `json:"cached_input"`
	Output      float64 `json:"output"`
	Both        float64 `json:"both"` // total cost / (input + output), cached included
}

// ByPriceRatio splits usd over the tokens so that an output token costs outputRatio times an uncached input token and a
// cached one cachedRatio times it. With no cached tokens it is NVIDIA's article (reference prices 1 and 3 are a ratio of 3)
// and GKE's Inference Quickstart (ratio 4): $/output = $/s / (input/ratio + output).
func ByPriceRatio(usd float64, t Tokens, outputRatio, cachedRatio float64) PerClass {
	weighted := (t.Input - t.Cached) + cachedRatio*t.Cached + outputRatio*t.Output
	unit := divide(usd*million, weighted)
	return PerClass{Input: unit, CachedInput: cachedRatio * unit, Output: outputRatio * unit, Both: divide(usd*million, t.Both())}
}

// ByChipSeconds splits usd by the share of busy chip-seconds that prefill took: that share is paid by uncached input
// tokens, the rest by output tokens. A cached input token took no prefill and is free here; what reading it costs while
// decoding is in the output price.
func ByChipSeconds(usd float64, t Tokens, prefillShare float64) PerClass {
	p := PerClass{Both: divide(usd*million, t.Both())}
	uncached := t.Input - t.Cached
	switch {
	case uncached <= 0:
		prefillShare = 0
	case t.Output <= 0:
		prefillShare = 1
	}
	p.Input = divide(usd*prefillShare*million, uncached)
	p.Output = divide(usd*(1-prefillShare)*million, t.Output)
	return p
}

// Total is what tokens cost at these prices, US dollars.
func (p PerClass) Total(t Tokens) float64 {
	return (p.Input*(t.Input-t.Cached) + p.CachedInput*t.Cached + p.Output*t.Output) / million
}

// ProvisioningChain is Epoch AI's chain from accelerator watts to facility peak watts: server, IT (network and storage
// included) and facility (cooling and losses at peak). It is for provisioning, never for energy. Source: Epoch AI 2025-12-18.
func ProvisioningChain(acceleratorWatts float64) (server, it, facility float64) {
	server = acceleratorWatts * 1.53
	it = server * 1.14
	return server, it, it * 1.40
}

// PerEffectivePFLOPYear is aiinframap's measure: TCO over the PFLOP-years delivered at that utilisation.
func PerEffectivePFLOPYear(tcoUSD, chips, teraFLOPS, utilisation, years float64) float64 {
	return tcoUSD / (teraFLOPS / 1000 * utilisation * chips * years)
}

// Fleet is InferenceX's megawatt question: how many accelerators a power budget feeds, how many users they serve at an
// interactivity (tokens a second each), and what they cost an hour.
func Fleet(megawatts, kilowattsPerChip, usdPerChipHour, outputTokensPerSecondPerChip, interactivity float64) (chips, users int, usdPerHour float64) {
	chips = int(math.Floor(megawatts*1000/kilowattsPerChip + 1e-9))
	users = int(math.Floor(float64(chips)*outputTokensPerSecondPerChip/interactivity + 1e-9))
	return chips, users, float64(chips) * usdPerChipHour
}

// FailureRate is failures per chip-year.
func FailureRate(failures, chips, days float64) float64 {
	return failures / (chips * days / daysPerYearCount)
}

// NodeAvailability is the steady-state share of time a node is up: 1/(1 + failures per hour x hours to repair).
func NodeAvailability(failuresPerChipYear, chipsPerNode, repairHours float64) float64 {
	return 1 / (1 + failuresPerChipYear*chipsPerNode/HoursPerYear*repairHours)
}

// AtLeastUp is the probability that at least need of need+spares independent nodes are up (binomial tail).
func AtLeastUp(need, spares int, availability float64) float64 {
	if availability >= 1 {
		return 1
	}
	n := need + spares
	logUp, logDown := math.Log(availability), math.Log1p(-availability)
	total, _ := math.Lgamma(float64(n) + 1)
	sum := 0.0
	for i := need; i <= n; i++ {
		a, _ := math.Lgamma(float64(i) + 1)
		b, _ := math.Lgamma(float64(n-i) + 1)
		sum += math.Exp(total - a - b + float64(i)*logUp + float64(n-i)*logDown)
	}
	return math.Min(1, sum)
}

// divide is a/b, and 0 where b is 0: no tokens of a class, no price for it.
func divide(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
