package sla

import (
	"math"
	"strings"
	"testing"
)

func TestEvaluate(t *testing.T) {
	limits := Limits{
		Percentiles: []Limit{{TTFT, 0.99, 1}, {TPOT, 0.9, 0.05}},
		PerRequest:  []Limit{{Metric: E2E, Seconds: 10}},
		Attainment:  0.99,
	}
	at := func(ttft, tpot float64) func(Metric, float64) (float64, bool) {
		return func(m Metric, q float64) (float64, bool) {
			switch m {
			case TTFT:
				return ttft, true
			case TPOT:
				return tpot, !math.IsNaN(tpot)
			}
			return 0, false
		}
	}
	for _, c := range []struct {
		name string
		o    Observed
		want []string // a piece of each violation
	}{
		{"all met", Observed{at(1, 0.05), 1000, 995, 1}, nil},
		{"TTFT", Observed{at(1.01, 0.05), 1000, 995, 0}, []string{"TTFT p99 is 1.01 s, the limit is 1 s"}},
		{"not a number fails", Observed{at(math.NaN(), 0.01), 1000, 995, 0}, []string{"TTFT"}},
		{"TPOT of single-token answers is no violation", Observed{at(0.5, math.NaN()), 1000, 995, 0}, nil},
		{"attainment", Observed{at(0.5, 0.01), 1000, 989, 0}, []string{"98.9 % of requests meet every limit, at least 99 % must"}},
		{"failures", Observed{at(0.5, 0.01), 1000, 998, 2}, []string{"0.2 % of requests are rejected or time out"}},
		{"everything", Observed{at(2, 1), 1000, 100, 900}, []string{"TTFT", "TPOT", "10 %", "90 %"}},
		{"no traffic", Observed{at(0.5, 0.01), 0, 0, 0}, nil},
	} {
		e := limits.Evaluate(c.o)
		if e.Met != (len(c.want) == 0) || len(e.Violations) != len(c.want) {
			t.Errorf("%s: %+v", c.name, e)
			continue
		}
		for i, v := range e.Violations {
			if !strings.Contains(v, c.want[i]) {
				t.Errorf("%s: %q does not say %q", c.name, v, c.want[i])
			}
		}
	}
}

func TestMeets(t *testing.T) {
	percentiles := Limits{Percentiles: []Limit{{TTFT, 0.99, 1}, {ITL, 0.9, 0.05}}}
	both := Limits{Percentiles: percentiles.Percentiles, PerRequest: []Limit{{Metric: E2E, Seconds: 5}}}
	for _, c := range []struct {
		limits          Limits
		ttft, tpot, e2e float64
		want            bool
	}{
		{percentiles, 1, 0.05, 100, true},
		{percentiles, 1.001, 0.05, 1, false},
		{percentiles, 0.1, 0.06, 1, false}, // an ITL limit bounds the mean gap
		{both, 9, 9, 5, true},              // per-request limits, where given, are the ones that count
		{both, 0, 0, 5.1, false},
		{Limits{}, 1e9, 1e9, 1e9, true},
	} {
		if got := c.limits.Meets(c.ttft, c.tpot, c.e2e); got != c.want {
			t.Errorf("Meets(%g, %g, %g) under %+v = %v", c.ttft, c.tpot, c.e2e, c.limits, got)
		}
	}
}

func TestValidate(t *testing.T) {
	good := Limits{Percentiles: []Limit{{TTFT, 0.99, 1}, {E2E, 0, 9}}, PerRequest: []Limit{{Metric: TPOT, Seconds: 0.1}}, Attainment: 0.99, ErrorBudget: 0.01}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		l    Limits
		want string
	}{
		{Limits{Percentiles: []Limit{{TTFT, 1, 1}}}, "quantile: 1 is not in (0, 1)"},
		{Limits{Percentiles: []Limit{{TTFT, math.NaN(), 1}}}, "quantile"},
		{Limits{Percentiles: []Limit{{TTFT, 0.5, 0}}}, "seconds: 0 is not a positive time"},
		{Limits{Percentiles: []Limit{{TTFT, 0.5, math.Inf(1)}}}, "seconds"},
		{Limits{PerRequest: []Limit{{Metric: "latency", Seconds: 1}}}, `"latency" is none of`},
		{Limits{Attainment: 1.1}, "attainment: 1.1"},
		{Limits{Attainment: 0.9}, "no limit says what"},
		{Limits{ErrorBudget: -0.1}, "error_budget"},
	} {
		if err := c.l.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.l, err, c.want)
		}
	}
}

func TestLint(t *testing.T) {
	for _, c := range []struct {
		l    Limits
		out  float64
		want string
	}{
		{Limits{Percentiles: []Limit{{TTFT, 0.99, 1}, {TPOT, 0.99, 0.05}, {E2E, 0.99, 10}}}, 256, "limits contradict: TTFT 1 s + (256 - 1) tokens x 0.05 s = 13.75 s, above the E2E limit of 10 s"},
		{Limits{Percentiles: []Limit{{TTFT, 0.99, 1}, {TPOT, 0.99, 0.05}, {E2E, 0.99, 10}}}, 100, ""},
		{Limits{PerRequest: []Limit{{Metric: TTFT, Seconds: 11}, {Metric: E2E, Seconds: 10}}}, 100, "the TTFT limit of 11 s never binds"},
		{Limits{Percentiles: []Limit{{TTFT, 0.5, 2}, {TTFT, 0.99, 1}}}, 100, "TTFT p50 of 2 s never binds"},
		{Limits{Percentiles: []Limit{{TTFT, 0.5, 0.5}, {TTFT, 0.99, 1}}}, 100, ""},
	} {
		got := strings.Join(c.l.Lint(c.out), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.l, got, c.want)
		}
	}
}
