package gate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scoville/hardware/results"
	"scoville/model/random"
)

// run makes n requests with TTFT around 0.1 s times factor, of which some failed.
func run(seed uint64, n int, factor float64, failed int) *results.Run {
	s := random.New(seed, 0, "test")
	r := &results.Run{Stages: []results.Stage{{Kind: results.KindLoad}}}
	for i := range n {
		q := results.Record{Clocked: true, SentSeconds: float64(i), ScheduledSeconds: float64(i), TTFTSeconds: factor * (0.08 + 0.04*s.Float64()), OutputTokens: 11}
		q.E2ESeconds = q.TTFTSeconds + 0.1*factor
		if i < failed {
			q.Error = &results.Failure{Phase: "stream"}
		}
		r.Records = append(r.Records, q)
	}
	r.Summarise()
	return r
}

func verdict(t *testing.T, rep *Report, name string) string {
	t.Helper()
	for _, l := range rep.Lines {
		if l.Metric == name {
			return l.Verdict
		}
	}
	t.Fatalf("no line %s", name)
	return ""
}

func TestCompare(t *testing.T) {
	base := run(1, 500, 1, 0)
	for name, c := range map[string]struct {
		fresh  *results.Run
		passed bool
		ttft   string
	}{
		"same load, other draw": {run(2, 500, 1, 0), true, Pass},
		"5 % slower":            {run(2, 500, 1.05, 0), true, Pass},
		"half as slow again":    {run(2, 500, 1.5, 0), false, Fail},
		"faster":                {run(2, 500, 0.5, 0), true, Pass},
		"errors":                {run(2, 500, 1, 20), false, Pass},
	} {
		rep, err := Compare(base, c.fresh, Default(), 1, 500)
		if err != nil || rep.Passed != c.passed || verdict(t, rep, "ttft_p99") != c.ttft {
			t.Errorf("%s: passed %v, TTFT p99 %s (%v): %+v", name, rep.Passed, verdict(t, rep, "ttft_p99"), err, rep.Lines)
		}
	}
}

// With a dozen requests a p99 beyond its threshold may be chance: not a failure unless strict.
func TestUnclear(t *testing.T) {
	a, b := run(1, 20, 1, 0), run(1, 20, 1, 0)
	b.Records[7].TTFTSeconds = 0.5
	b.Records[7].E2ESeconds = 0.6
	b.Summarise()
	th := Thresholds{Worse: map[string]float64{"ttft_p99": 0.2}}
	rep, err := Compare(a, b, th, 1, 1000)
	if err != nil || verdict(t, rep, "ttft_p99") != Unclear || !rep.Passed {
		t.Errorf("%+v %v", rep, err)
	}
	th.Strict = true
	if rep, err := Compare(a, b, th, 1, 1000); err != nil || rep.Passed {
		t.Errorf("strict passed: %v", err)
	}
}

// Two samples of the same server: a real difference is declared in at most a few of a hundred pairs.
func TestFalseAlarms(t *testing.T) {
	alarms := 0
	for i := range 100 {
		rep, err := Compare(run(uint64(2*i+1), 200, 1, 0), run(uint64(2*i+2), 200, 1, 0), Thresholds{Worse: map[string]float64{"ttft_mean": 0}}, 1, 200)
		if err != nil {
			t.Fatal(err)
		}
		if !rep.Passed {
			alarms++
		}
	}
	if alarms > 10 {
		t.Errorf("%d false alarms of 100; about 2.5 are expected", alarms)
	}
}

func TestMissingFiguresFail(t *testing.T) {
	rep, err := Compare(run(1, 100, 1, 0), run(2, 100, 1, 0), Thresholds{AtLeast: map[string]float64{"tokens_per_second_per_watt": 1}}, 1, 100)
	if err != nil || rep.Passed || rep.Lines[0].Verdict != Missing {
		t.Errorf("%+v %v", rep, err)
	}
}

func TestBottleneckedClientFails(t *testing.T) {
	b := run(2, 100, 1, 0)
	b.Client = &results.Client{Bottleneck: "late"}
	if rep, err := Compare(run(1, 100, 1, 0), b, Default(), 1, 100); err != nil || rep.Passed {
		t.Errorf("%v", err)
	}
}

func TestReadFile(t *testing.T) {
	for text, reason := range map[string]string{
		"[worse]\nttft_p99 = 0.2\n[at_most]\nerror_rate = 0.01\n": "",
		"[worse]\nttft_p90 = 0.2\ntftt_p99 = 0.2\n":               `did you mean "ttft_p99"`,
		"[worse]\nttft_p99 = -1\n":                                "0 or more",
		"strict = true\n":                                         "no threshold",
		"[wors]\nttft_p99 = 1\n":                                  "worse",
	} {
		path := filepath.Join(t.TempDir(), "t.toml")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := ReadFile(path)
		if (reason == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v, want %q", text, err, reason)
		}
	}
}
