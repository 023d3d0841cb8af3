package sla

import (
	"errors"
	"fmt"
	"math"
)

// Validate returns every mistake in the limits, joined, or nil.
func (l Limits) Validate() error {
	var errs []error
	for i, limit := range l.Percentiles {
		errs = append(errs, limit.validate(fmt.Sprintf("percentiles[%d]", i)))
		if !(limit.Quantile >= 0 && limit.Quantile < 1) {
			errs = append(errs, fmt.Errorf("percentiles[%d].quantile: %g is not in (0, 1), nor 0 for the mean", i, limit.Quantile))
		}
	}
	for i, limit := range l.PerRequest {
		errs = append(errs, limit.validate(fmt.Sprintf("per_request[%d]", i)))
	}
	if !(l.Attainment >= 0 && l.Attainment <= 1) {
		errs = append(errs, fmt.Errorf("attainment: %g is not a share in [0, 1]", l.Attainment))
	}
	if l.Attainment > 0 && len(l.PerRequest)+len(l.Percentiles) == 0 {
		errs = append(errs, fmt.Errorf("attainment: %g is asked for, but no limit says what a request must meet", l.Attainment))
	}
	if !(l.ErrorBudget >= 0 && l.ErrorBudget <= 1) {
		errs = append(errs, fmt.Errorf("error_budget: %g is not a share in [0, 1]", l.ErrorBudget))
	}
	return errors.Join(errs...)
}

func (l Limit) validate(path string) error {
	switch l.Metric {
	case TTFT, TPOT, ITL, E2E:
	default:
		return fmt.Errorf("%s.metric: %q is none of ttft, tpot, itl, e2e", path, l.Metric)
	}
	if !(l.Seconds > 0) || math.IsInf(l.Seconds, 0) {
		return fmt.Errorf("%s.seconds: %g is not a positive time", path, l.Seconds)
	}
	return nil
}

// Lint returns warnings about limits that can't all bind or contradict each other, for answers of so many output tokens.
// A request that just meets TTFT and TPOT takes TTFT + (N-1) x TPOT; above the E2E limit, the E2E limit is the one that binds.
func (l Limits) Lint(outputTokens float64) []string {
	var warnings []string
	for _, set := range [][]Limit{l.Percentiles, l.PerRequest} {
		ttft, okTTFT := tightest(set, TTFT)
		tpot, okTPOT := tightest(set, TPOT)
		if itl, ok := tightest(set, ITL); ok && (!okTPOT || itl.Seconds < tpot.Seconds) {
			tpot, okTPOT = itl, true
		}
		e2e, okE2E := tightest(set, E2E)
		if okTTFT && okE2E && ttft.Seconds >= e2e.Seconds {
			warnings = append(warnings, fmt.Sprintf("the TTFT limit of %.4g s never binds: the E2E limit is %.4g s", ttft.Seconds, e2e.Seconds))
		}
		if okTTFT && okTPOT && okE2E && outputTokens > 1 {
			if sum := ttft.Seconds + (outputTokens-1)*tpot.Seconds; sum > e2e.Seconds {
				warnings = append(warnings, fmt.Sprintf("limits contradict: TTFT %.4g s + (%.4g - 1) tokens x %.4g s = %.4g s, above the E2E limit of %.4g s%s",
					ttft.Seconds, outputTokens, tpot.Seconds, sum, e2e.Seconds, remedy(ttft, e2e, outputTokens)))
			}
		}
	}
	for i, a := range l.Percentiles {
		for _, b := range l.Percentiles[i+1:] {
			if a.Metric == b.Metric && a.Quantile > 0 && b.Quantile > 0 && a.Quantile != b.Quantile {
				lo, hi := a, b
				if lo.Quantile > hi.Quantile {
					lo, hi = hi, lo
				}
				if hi.Seconds <= lo.Seconds {
					warnings = append(warnings, fmt.Sprintf("the limit on %s of %.4g s never binds: %s must be at most %.4g s", lo.Name(), lo.Seconds, hi.Name(), hi.Seconds))
				}
			}
		}
	}
	return warnings
}

// remedy says which TPOT the E2E limit leaves.
func remedy(ttft, e2e Limit, outputTokens float64) string {
	if left := e2e.Seconds - ttft.Seconds; left > 0 {
		return fmt.Sprintf("; the E2E limit binds: it leaves a TPOT of %.4g s", left/(outputTokens-1))
	}
	return "; the E2E limit binds: it leaves no time for the answer"
}

// tightest returns the limit of least time on a metric.
func tightest(set []Limit, m Metric) (best Limit, ok bool) {
	for _, l := range set {
		if l.Metric == m && (!ok || l.Seconds < best.Seconds) {
			best, ok = l, true
		}
	}
	return best, ok
}
