package sla

import "testing"

func TestParseNamesTheFault(t *testing.T) {
	tests := []struct {
		name  string
		table map[string]float64
		want  string // "" when it parses
	}{
		{"good", map[string]float64{"ttft_p99": 1, "tpot_p99.9": 0.05, "e2e_mean": 30}, ""},
		{"attainment", map[string]float64{"attainment": 0.99, "each_ttft": 1}, ""},
		{"percentile 0", map[string]float64{"ttft_p0": 1}, "ttft_p0: percentile 0 is outside 0 to 100 (both excluded)"},
		{"percentile 101", map[string]float64{"ttft_p101": 1}, "ttft_p101: percentile 101 is outside 0 to 100 (both excluded)"},
		{"misspelt", map[string]float64{"tftt_p99": 1}, `tftt_p99: unknown key (did you mean "ttft_p99"?)`},
		{"negative", map[string]float64{"ttft_p99": -1}, "ttft_p99: is -1; a limit in seconds above 0 is expected"},
		{"share above one", map[string]float64{"attainment": 99, "each_ttft": 1}, "attainment: is 99; a share of requests between 0 and 1 is expected"},
		{"attainment of nothing", map[string]float64{"attainment": 0.9}, "attainment: needs what each request must meet: each_ttft, each_tpot or each_e2e"},
		{"each without attainment", map[string]float64{"each_ttft": 2}, "attainment: is missing beside each_...: the share of requests that must meet them, such as 0.99"},
		{"nothing", nil, "no limit is given; at least one such as ttft_p99 = 1.0 (seconds) is needed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			limits, err := Parse(tt.table)
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if err == nil && limits.ErrorBudget != defaultErrorBudget {
				t.Errorf("error budget %g", limits.ErrorBudget)
			}
		})
	}
}

func TestLimitKeyRoundTrip(t *testing.T) {
	for _, key := range []string{"ttft_p99", "tpot_p99.9", "e2e_mean", "itl_p50"} {
		l, err := Parse(map[string]float64{key: 1})
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Percentiles[0].Key(false); got != key {
			t.Errorf("%s became %s", key, got)
		}
	}
}
