package sla

import (
	"fmt"
	"strings"
)

// Observed is what a run showed, for Evaluate.
type Observed struct {
	// Quantile returns a metric at a quantile in seconds, its mean for 0, and false when nothing was measured.
	Quantile func(m Metric, quantile float64) (seconds float64, ok bool)
	Offered  int64 // requests offered in the window
	Good     int64 // of these, requests that finished and met every limit (see Meets)
	Failed   int64 // of these, requests rejected or timed out
}

// Evaluation is the verdict on an SLA.
type Evaluation struct {
	Met        bool
	Violations []string // limits not met, in words
	Attainment float64  // share of offered requests that finished and met every limit; 1 when none was offered
}

// Evaluate compares a run with the limits. A limit on a metric that the run has no value for is not violated by it
// (TPOT and ITL of single-token answers).
func (l Limits) Evaluate(o Observed) Evaluation {
	e := Evaluation{Attainment: 1}
	if o.Offered > 0 {
		e.Attainment = float64(o.Good) / float64(o.Offered)
	}
	for _, limit := range l.Percentiles {
		if got, ok := o.Quantile(limit.Metric, limit.Quantile); ok && !(got <= limit.Seconds) {
			e.Violations = append(e.Violations, fmt.Sprintf("%s is %.4g s, the limit is %.4g s", limit.Name(), got, limit.Seconds))
		}
	}
	if l.Attainment > 0 && e.Attainment < l.Attainment {
		e.Violations = append(e.Violations, fmt.Sprintf("%.4g %% of requests meet every limit, at least %.4g %% must", 100*e.Attainment, 100*l.Attainment))
	}
	if o.Offered > 0 {
		if share := float64(o.Failed) / float64(o.Offered); share > l.errorBudget() {
			e.Violations = append(e.Violations, fmt.Sprintf("%.4g %% of requests are rejected or time out, at most %.4g %% may", 100*share, 100*l.errorBudget()))
		}
	}
	e.Met = len(e.Violations) == 0
	return e
}

const defaultErrorBudget = 0.001

func (l Limits) errorBudget() float64 {
	if l.ErrorBudget == 0 {
		return defaultErrorBudget
	}
	return max(0, l.ErrorBudget)
}

// Meets tells whether one finished request meets every limit that applies to a single request: those of PerRequest, or where there
// are none those of Percentiles taken request by request. An ITL limit applies to the request's mean gap, which is its TPOT.
// Requests of one token have no TPOT: pass 0.
func (l *Limits) Meets(ttft, tpot, e2e float64) bool {
	limits := l.PerRequest
	if len(limits) == 0 {
		limits = l.Percentiles
	}
	for i := range limits {
		v := e2e
		switch limits[i].Metric {
		case TTFT:
			v = ttft
		case TPOT, ITL:
			v = tpot
		}
		if v > limits[i].Seconds {
			return false
		}
	}
	return true
}

// Name says what a limit bounds, such as "TTFT p99" or "E2E mean".
func (l Limit) Name() string {
	name := strings.ToUpper(string(l.Metric))
	if l.Quantile == 0 {
		return name + " mean"
	}
	return fmt.Sprintf("%s p%.10g", name, 100*l.Quantile)
}
