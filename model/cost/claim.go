package cost

import (
	"fmt"
	"math"
)

// Token classes that a price can be about.
const (
	PerOutputTokens = "output"
	PerInputTokens  = "input"
	PerAllTokens    = "total"
)

// Claim is somebody's price per million tokens, with what they say it rests on. Zero fields are unknown.
type Claim struct {
	USDPerChipHour float64
	Chips          float64 // charged for
	USDPerMillion  float64 // as published
	Digits         int     // decimals as printed
	Class          string  // which tokens the price is said to be about; PerAllTokens by default

	TotalTokensPerSecond  float64 // input + output, of those chips
	InputTokensPerSecond  float64
	OutputTokensPerSecond float64
	RateDigits            int // decimals of the throughput as printed: its rounding moves the price too

	Batch             float64 // sequences decoding at once over all chips
	WeightBytes       float64 // read at every decode step
	MemoryBytes       float64 // of one chip
	BytesPerSecond    float64 // memory bandwidth of one chip
	Speculative       bool    // several tokens a step are possible: the ceiling does not bind
	DecodeChipsOnly   bool    // only the chips of the decode pool are charged
	PrefillUSDPerMIn  float64 // cost of the prefill pool per million input tokens, where the pools are apart
	InputOutputRatio  float64 // input tokens for an output token of the traffic priced
	RequestsAreSteady bool    // throughput was measured at saturation, for 24 hours a day
}

func (c Claim) rate(class string) float64 {
	switch class {
	case PerOutputTokens:
		return c.OutputTokensPerSecond
	case PerInputTokens:
		return c.InputTokensPerSecond
	default:
		return c.TotalTokensPerSecond
	}
}

// Recomputed is the price that the claim's own throughput gives for a class, 0 if unknown.
func (c Claim) Recomputed(class string) float64 {
	rate := c.rate(class)
	if rate <= 0 {
		return 0
	}
	return PerMillion(c.USDPerChipHour*c.Chips, rate)
}

// Ceiling is the most output tokens per second that the memory bandwidth of all chips allows at the batch: every decode
// step reads the weights at least once. Reading KV comes on top, so no real server reaches it. 0: unknown.
func (c Claim) Ceiling() float64 {
	if c.WeightBytes <= 0 || c.BytesPerSecond <= 0 {
		return 0
	}
	return math.Max(1, c.Batch) * c.BytesPerSecond * c.Chips / c.WeightBytes
}

// Check looks for what is wrong with a claim.
func (c Claim) Check() []Finding {
	var l lint
	if c.Class == "" {
		c.Class = PerAllTokens
	}
	c.checkFit(&l)
	c.checkPrice(&l)
	c.checkCeiling(&l)
	if c.DecodeChipsOnly {
		c.checkDecodeOnly(&l)
	}
	if c.RequestsAreSteady {
		l.add("full-utilisation", "the throughput is a saturated server's, around the clock: a lower bound on cost, not a price")
	}
	return l.found
}

func (c Claim) checkFit(l *lint) {
	if c.MemoryBytes > 0 && c.WeightBytes > c.MemoryBytes*c.Chips {
		l.add("does-not-fit", "%.0f GB of weights do not fit %.0f GB of memory: no price follows", c.WeightBytes/1e9, c.MemoryBytes*c.Chips/1e9)
	}
}

// checkPrice compares the printed price with the one recomputed, and names the slip.
func (c Claim) checkPrice(l *lint) {
	want := c.Recomputed(c.Class)
	if want == 0 || c.USDPerMillion == 0 {
		return
	}
	half := 0.5*math.Pow(10, -float64(c.Digits)) + want*0.5*math.Pow(10, -float64(c.RateDigits))/c.rate(c.Class) + 1e-12
	if math.Abs(c.USDPerMillion-want) <= half {
		return
	}
	for _, other := range []string{PerAllTokens, PerOutputTokens, PerInputTokens} {
		if p := c.Recomputed(other); other != c.Class && p > 0 && math.Abs(c.USDPerMillion-p) <= math.Max(half, 0.02*p) {
			l.add("definition", "%g is the price per %s tokens, not per %s: that would be %.4g (%.3gx)", c.USDPerMillion, other, c.Class, want, want/c.USDPerMillion)
			return
		}
	}
	ratio := c.USDPerMillion / want
	for _, k := range []struct {
		factor float64
		what   string
	}{{1000, "thousands against millions"}, {1e6, "tokens against millions"}, {3600, "seconds against hours"}, {60, "minutes against hours"}, {c.Chips, "one chip against all of them"}} {
		if k.factor > 1 && (math.Abs(ratio/k.factor-1) < 0.05 || math.Abs(ratio*k.factor-1) < 0.05) {
			l.add("unit", "%g is %.3gx the recomputed %.4g: %s?", c.USDPerMillion, ratio, want, k.what)
			return
		}
	}
	l.add("rounding", "%g is printed, %.4f follows from $%g an hour and the throughput", c.USDPerMillion, want, c.USDPerChipHour*c.Chips)
}

// checkCeiling compares the throughput, given or implied by the price, with the bandwidth ceiling.
func (c Claim) checkCeiling(l *lint) {
	ceiling := c.Ceiling()
	if ceiling == 0 || c.Speculative {
		return
	}
	rate, from := c.OutputTokensPerSecond, "claimed"
	if rate == 0 && c.USDPerMillion > 0 && c.Class != PerInputTokens {
		rate, from = TokensPerSecondFor(c.USDPerChipHour*c.Chips, c.USDPerMillion), fmt.Sprintf("needed for %g a million", c.USDPerMillion)
	}
	if rate > ceiling {
		l.add("ceiling", "%.0f tokens/s are %s; reading %.0f GB of weights for a batch of %.0f allows at most %.1f: too cheap by %.1fx or more",
			rate, from, c.WeightBytes/1e9, math.Max(1, c.Batch), ceiling, rate/ceiling)
	}
}

// checkDecodeOnly says what the price leaves out.
func (c Claim) checkDecodeOnly(l *lint) {
	if c.PrefillUSDPerMIn == 0 || c.InputOutputRatio == 0 {
		l.add("definition", "only decode chips are charged to output; prefill comes on top")
		return
	}
	price := c.USDPerMillion
	if own := c.Recomputed(PerOutputTokens); own > 0 {
		price = own
	}
	l.add("definition", "only decode chips are charged to output; with the input at %.3g a million and %g input tokens for each output token it is %.2f per M output tokens",
		c.PrefillUSDPerMIn, c.InputOutputRatio, price+c.InputOutputRatio*c.PrefillUSDPerMIn)
}
