package reports

import (
	"math"
	"strconv"
	"strings"

	"scoville/reports/chart"
)

// Every number of a report is formatted in this file, once.

// missing is printed for a figure that is not known.
const missing = "–"

// count formats a whole number with thousands separators.
func count(n int) string { return separate(strconv.Itoa(n)) }

// separate puts thousands separators into a decimal number.
func separate(s string) string {
	sign, frac := "", ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	if i := strings.IndexByte(s, '.'); i >= 0 {
		s, frac = s[:i], s[i:]
	}
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return sign + b.String() + frac
}

// significant formats v with at least n significant digits and never an exponent; whole numbers stay whole.
func significant(v float64, n int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return missing
	}
	if v == 0 {
		return "0"
	}
	digits := n - 1 - int(math.Floor(math.Log10(math.Abs(v))))
	if digits > 0 { // rounding may carry into a new digit: 9.996 is 10.0, not 10.00
		scale := math.Pow(10, float64(digits))
		if r := math.Round(math.Abs(v)*scale) / scale; r > 0 {
			digits = n - 1 - int(math.Floor(math.Log10(r)+1e-12))
		}
	}
	return separate(strconv.FormatFloat(v, 'f', max(0, digits), 64))
}

// number formats a figure with three significant digits.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return separate(strconv.FormatFloat(v, 'f', 0, 64))
	}
	return significant(v, 3)
}

// money formats US dollars: whole dollars from 1,000 on, cents below.
func money(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return missing
	case a >= 999.995:
		return sign(v) + "$" + separate(strconv.FormatFloat(a, 'f', 0, 64))
	case a == 0:
		return "$0"
	case a >= 0.01:
		return sign(v) + "$" + strconv.FormatFloat(a, 'f', 2, 64)
	default:
		return sign(v) + "$" + significant(a, 3)
	}
}

// moneyShort formats US dollars for a chart or a headline: $12.3 M.
func moneyShort(v float64) string {
	a := math.Abs(v)
	for _, s := range []struct {
		at   float64
		unit string
	}{{1e9, " B"}, {1e6, " M"}, {1e3, " k"}} {
		if a >= s.at*0.9995 {
			return sign(v) + "$" + significant(a/s.at, 3) + s.unit
		}
	}
	return money(v)
}

// perMillion formats a price per million tokens: to the cent from a dollar on, a tenth of a cent below.
func perMillion(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return missing
	case a >= 0.9995 || a == 0:
		return sign(v) + "$" + separate(strconv.FormatFloat(a, 'f', 2, 64))
	case a >= 0.00995:
		return sign(v) + "$" + strconv.FormatFloat(a, 'f', 3, 64)
	default:
		return sign(v) + "$" + significant(a, 2)
	}
}

func sign(v float64) string {
	if v < 0 {
		return "-"
	}
	return ""
}

// percent formats a share: 0.1234 is 12.3 %.
func percent(share float64) string {
	p := share * 100
	switch {
	case math.IsNaN(p) || math.IsInf(p, 0):
		return missing
	case p == 0 || math.Abs(p) >= 99.95 && math.Abs(p) < 100.05:
		return strconv.FormatFloat(p, 'f', 0, 64) + " %"
	default:
		return separate(strconv.FormatFloat(p, 'f', 1, 64)) + " %"
	}
}

// seconds formats a duration with the unit that suits it. 0 is "0 s".
func seconds(s float64) string {
	switch a := math.Abs(s); {
	case a == 0:
		return "0 s"
	case a >= 0.9995:
		return significant(s, 3) + " s"
	case a >= 0.0009995:
		return significant(s*1e3, 3) + " ms"
	default:
		return significant(s*1e6, 3) + " µs"
	}
}

// si formats v with a decimal prefix: 1.41e11, "B" is 141 GB.
func si(v float64, unit string) string {
	a := math.Abs(v)
	for _, s := range []struct {
		at     float64
		prefix string
	}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if a >= s.at*0.9995 {
			return significant(v/s.at, 3) + " " + s.prefix + unit
		}
	}
	return strings.TrimRight(number(v)+" "+unit, " ")
}

// parameters formats a parameter count as the field does: 70.6 B, 1.04 T.
func parameters(v float64) string {
	if v >= 0.9995e12 {
		return significant(v/1e12, 3) + " T"
	}
	if v >= 1e6 {
		return significant(v/1e9, 3) + " B"
	}
	return number(v)
}

// quantity formats a limit or a value with its unit.
func quantity(v float64, unit string) string {
	switch unit {
	case "s":
		return seconds(v)
	case "", "share", "1":
		if unit == "share" || v <= 1 {
			return percent(v)
		}
		return number(v)
	case "USD":
		return money(v)
	}
	return number(v) + " " + unit
}

// limitText formats an SLA limit as people write it: 1 s, 0.5 s is 500 ms.
func limitText(s float64) string {
	text, unit, _ := strings.Cut(seconds(s), " ")
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + " " + unit
}

// axisMoney and axisPerMillion write the ticks of an axis, all with the decimals their distance needs.
func axisMoney(v, step float64) string {
	for _, s := range []struct {
		at   float64
		unit string
	}{{1e9, " B"}, {1e6, " M"}, {1e3, " k"}} {
		if step >= s.at*0.1-1e-9 && math.Abs(v) >= s.at*0.1-1e-9 {
			return sign(v) + "$" + chart.Plain(math.Abs(v)/s.at, step/s.at) + s.unit
		}
	}
	return axisPerMillion(v, step)
}

func axisPerMillion(v, step float64) string {
	return sign(v) + "$" + chart.Plain(math.Abs(v), step)
}
