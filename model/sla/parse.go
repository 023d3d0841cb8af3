package sla

import (
	"fmt"
	"math"
	"regexp"
	"sort"
	"strconv"

	"scoville/model/tomlfile"
)

// limitForm is a key of the SLA table that bounds a metric: ttft_p99, tpot_mean, request_e2e.
var limitForm = regexp.MustCompile(`^(ttft|tpot|itl|e2e)_(?:p([0-9.]+)|(mean))$`)

// perRequestForm bounds every request that counts towards the attainment.
var perRequestForm = regexp.MustCompile(`^each_(ttft|tpot|e2e)$`)

// slaKeys are the names offered when a key is not understood.
func slaKeys() []string {
	keys := []string{"attainment", "error_budget", "each_ttft", "each_tpot", "each_e2e"}
	for _, m := range []string{"ttft", "tpot", "itl", "e2e"} {
		for _, s := range []string{"p50", "p90", "p95", "p99", "mean"} {
			keys = append(keys, m+"_"+s)
		}
	}
	return keys
}

// KeyError is a fault at one key of an SLA table; Key is "" when the table as a whole is at fault.
type KeyError struct{ Key, Problem string }

func (e *KeyError) Error() string {
	if e.Key == "" {
		return e.Problem
	}
	return e.Key + ": " + e.Problem
}

// Parse reads limits by name, as users write them: ttft_p99, tpot_mean, each_ttft (seconds), attainment and error_budget
// (shares). Errors are of type *KeyError.
func Parse(table map[string]float64) (Limits, error) {
	place := func(key, problem string) error { return &KeyError{key, problem} }
	limits := Limits{ErrorBudget: defaultErrorBudget}
	keys := make([]string, 0, len(table))
	for k := range table {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		if problem := addLimit(&limits, k, table[k]); problem != "" {
			return Limits{}, place(k, problem)
		}
	}
	switch {
	case limits.Attainment > 0 && len(limits.PerRequest) == 0:
		return Limits{}, place("attainment", "needs what each request must meet: each_ttft, each_tpot or each_e2e")
	case limits.Attainment == 0 && len(limits.PerRequest) > 0:
		return Limits{}, place("attainment", "is missing beside each_...: the share of requests that must meet them, such as 0.99")
	case len(limits.Percentiles) == 0 && limits.Attainment == 0:
		return Limits{}, place("", "no limit is given; at least one such as ttft_p99 = 1.0 (seconds) is needed")
	}
	return limits, nil
}

// addLimit adds one key; it returns what is wrong with it, "" when nothing is.
func addLimit(limits *Limits, key string, v float64) string {
	share := func(to *float64, low bool) string {
		if math.IsNaN(v) || v >= 1 || v < 0 || (low && v == 0) {
			return fmt.Sprintf("is %g; a share of requests between 0 and 1 is expected", v)
		}
		*to = v
		return ""
	}
	switch key {
	case "attainment":
		return share(&limits.Attainment, true)
	case "error_budget":
		return share(&limits.ErrorBudget, false)
	}
	if !(v > 0) || math.IsInf(v, 0) {
		return fmt.Sprintf("is %g; a limit in seconds above 0 is expected", v)
	}
	if m := perRequestForm.FindStringSubmatch(key); m != nil {
		limits.PerRequest = append(limits.PerRequest, Limit{Metric: Metric(m[1]), Seconds: v})
		return ""
	}
	m := limitForm.FindStringSubmatch(key)
	if m == nil {
		if near := tomlfile.Nearest(key, slaKeys()); near != "" {
			return fmt.Sprintf("unknown key (did you mean %q?)", near)
		}
		return "unknown key; limits are written ttft_p99, tpot_p90, itl_p95, e2e_mean, each_ttft, attainment or error_budget"
	}
	quantile := 0.0
	if m[3] == "" {
		p, err := strconv.ParseFloat(m[2], 64)
		if err != nil || p <= 0 || p >= 100 {
			return fmt.Sprintf("percentile %s is outside 0 to 100 (both excluded)", m[2])
		}
		quantile = p / 100
	}
	limits.Percentiles = append(limits.Percentiles, Limit{Metric: Metric(m[1]), Quantile: quantile, Seconds: v})
	return ""
}

// Key is the key of a limit, as users write it.
func (l Limit) Key(each bool) string {
	switch {
	case each:
		return "each_" + string(l.Metric)
	case l.Quantile == 0:
		return string(l.Metric) + "_mean"
	default:
		return fmt.Sprintf("%s_p%g", l.Metric, math.Round(l.Quantile*1e6)/1e4)
	}
}
