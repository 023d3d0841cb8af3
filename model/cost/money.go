package cost

import "github.com/shopspring/decimal"

// Money is US dollars (or the plan's currency) rounded to cents. In JSON it is a bare number.
type Money struct{ decimal.Decimal }

// MarshalJSON writes the number without quotes.
func (m Money) MarshalJSON() ([]byte, error) { return []byte(m.StringFixed(2)), nil }

// UnmarshalJSON reads a number.
func (m *Money) UnmarshalJSON(b []byte) error { return m.Decimal.UnmarshalJSON(b) }

// Float is the amount as float64, for charts and tables.
func (m Money) Float() float64 { return m.InexactFloat64() }

// cents rounds half away from zero to cents.
func cents(v float64) Money { return Money{toCents(v)} }

// toCents takes the shortest decimal that reads back as v, so that 0.285 rounds as people expect.
func toCents(v float64) decimal.Decimal {
	if v > -0.001 && v < 0.001 { // nothing, and decimals of tiny floats have hundreds of digits
		return decimal.Zero
	}
	return decimal.NewFromFloat(v).Round(2)
}

// running rounds a series so that its sum is the rounded sum: each amount is the difference of two rounded running totals.
func running(amounts []float64) []Money {
	out := make([]Money, len(amounts))
	total, before := 0.0, decimal.Zero
	for i, a := range amounts {
		total += a
		now := toCents(total)
		out[i] = Money{now.Sub(before)}
		before = now
	}
	return out
}

// apportion splits total into parts proportional to weights, in cents that sum to total exactly. Weights must not all be 0.
func apportion(total Money, weights []float64) []Money {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	amounts := make([]float64, len(weights))
	if sum != 0 {
		for i, w := range weights {
			amounts[i] = total.Float() * w / sum
		}
	}
	parts := running(amounts)
	rest := total.Decimal
	for _, p := range parts {
		rest = rest.Sub(p.Decimal)
	}
	if last := len(parts) - 1; last >= 0 { // at most a cent, from rounding the sum of floats
		parts[last] = Money{parts[last].Add(rest)}
	}
	return parts
}
