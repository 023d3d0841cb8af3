package trace

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// parseDateTime reads YYYY-MM-DD, a space or T, HH:MM:SS, an optional fraction of any length (cut to nanoseconds) and
// an optional zone (Z or an offset; none: UTC), which covers all three layouts of the Azure traces. It returns
// nanoseconds since 1970.
func parseDateTime(b []byte) (int64, error) {
	bad := func() (int64, error) {
		return 0, fmt.Errorf("%q is not a timestamp such as 2023-11-16 18:17:03.9799600", clip(b))
	}
	const layout = "0000-00-00 00:00:00"
	if len(b) < len(layout) {
		return bad()
	}
	var f [6]int
	field := 0
	for i := range len(layout) {
		switch c := layout[i]; {
		case c == '0':
			if b[i] < '0' || b[i] > '9' {
				return bad()
			}
			f[field] = f[field]*10 + int(b[i]-'0')
		case b[i] == c || (c == ' ' && b[i] == 'T'):
			field++
		default:
			return bad()
		}
	}
	rest, nanos := b[len(layout):], int64(0)
	if len(rest) > 0 && rest[0] == '.' {
		unit, i := int64(1e8), 1
		for ; i < len(rest) && rest[i] >= '0' && rest[i] <= '9'; i++ {
			nanos += int64(rest[i]-'0') * unit
			unit /= 10
		}
		if i == 1 {
			return bad()
		}
		rest = rest[i:]
	}
	offset, ok := parseZone(rest)
	if !ok || f[1] < 1 || f[1] > 12 || f[2] < 1 || f[2] > 31 || f[3] > 23 || f[4] > 59 || f[5] > 60 || f[0] < 1970 || f[0] > 2200 {
		return bad()
	}
	t := time.Date(f[0], time.Month(f[1]), f[2], f[3], f[4], f[5], 0, time.UTC)
	if t.Day() != f[2] {
		return bad()
	}
	return (t.Unix()-offset)*1e9 + nanos, nil
}

// parseZone reads nothing, Z, +HH:MM or -HHMM as seconds east of UTC.
func parseZone(b []byte) (int64, bool) {
	if len(b) == 0 || (len(b) == 1 && b[0] == 'Z') {
		return 0, true
	}
	sign := int64(1)
	if b[0] == '-' {
		sign = -1
	} else if b[0] != '+' {
		return 0, false
	}
	digits := make([]byte, 0, 4)
	for i, c := range b[1:] {
		if c == ':' && i == 2 {
			continue
		}
		if c < '0' || c > '9' {
			return 0, false
		}
		digits = append(digits, c)
	}
	if len(digits) != 4 {
		return 0, false
	}
	h, m := int64(digits[0]-'0')*10+int64(digits[1]-'0'), int64(digits[2]-'0')*10+int64(digits[3]-'0')
	return sign * (h*3600 + m*60), h < 24 && m < 60
}

// parseNumber reads a number in a unit of that many nanoseconds. Whole numbers are exact.
func parseNumber(b []byte, unitNanos float64) (int64, error) {
	if n, err := strconv.ParseInt(string(b), 10, 64); err == nil {
		if float64(n)*unitNanos > 9.2e18 || float64(n)*unitNanos < -9.2e18 {
			return 0, fmt.Errorf("time %q is out of range", clip(b))
		}
		return n * int64(unitNanos), nil
	}
	if n, ok := parseDecimal(b, unitNanos); ok {
		return n, nil
	}
	x, err := strconv.ParseFloat(string(b), 64)
	if err != nil || math.IsNaN(x) {
		return 0, fmt.Errorf("%q is not a number", clip(b))
	}
	if x *= unitNanos; math.Abs(x) > 9.2e18 {
		return 0, fmt.Errorf("time %q is out of range", clip(b))
	}
	return int64(math.Round(x)), nil
}

// parseDecimal reads plain decimals such as 12.000000001 exactly, where floating point would round at large times.
func parseDecimal(b []byte, unitNanos float64) (int64, bool) {
	whole, fraction, found := strings.Cut(string(b), ".")
	const longest = 9
	if !found || len(whole) == 0 || len(whole) > longest || whole[0] == '-' || whole[0] == '+' || len(fraction) == 0 || len(fraction) > longest {
		return 0, false
	}
	w, err1 := strconv.ParseUint(whole, 10, 63)
	f, err2 := strconv.ParseUint(fraction, 10, 63)
	scale := math.Pow10(len(fraction))
	if err1 != nil || err2 != nil || unitNanos < scale && math.Mod(scale, unitNanos) != 0 {
		return 0, false
	}
	if unitNanos >= scale {
		return int64(w)*int64(unitNanos) + int64(f)*int64(unitNanos/scale), true
	}
	return int64(w)*int64(unitNanos) + int64(math.Round(float64(f)*unitNanos/scale)), true
}

// parseTokens reads a count of tokens: a whole number, also in the form 12.0. Negative ones mean "not recorded".
func parseTokens(b []byte) (int32, error) {
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		x, ferr := strconv.ParseFloat(string(b), 64)
		if ferr != nil || x != math.Trunc(x) || math.Abs(x) > maxTokens {
			return 0, fmt.Errorf("%q is not a whole number of tokens", clip(b))
		}
		n = int64(x)
	}
	if n > maxTokens || n < -maxTokens {
		return 0, fmt.Errorf("%d tokens are more than the %d that are read", n, maxTokens)
	}
	return int32(n), nil
}

// clip shortens what an error quotes.
func clip(b []byte) string {
	const most = 40
	if len(b) > most {
		return string(b[:most]) + "..."
	}
	return string(b)
}
