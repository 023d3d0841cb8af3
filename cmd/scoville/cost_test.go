package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scoville runs the program and returns what it wrote and its exit code.
func costRun(args ...string) (stdout, stderr string, code int) {
	var out, errOut bytes.Buffer
	code = run(append([]string{"scoville"}, args...), strings.NewReader(""), &out, &errOut)
	return out.String(), errOut.String(), code
}

const costExample = "../../examples/cost-own-h100.toml"

func TestCostFromFlagsAlone(t *testing.T) {
	out, errOut, code := costRun("cost", "--chips", "8", "--ownership", "rent", "--price", "2.21", "--tokens-out-per-second", "8000", "--as-of", "2026-11-30", "--format", "json")
	if code != exitOK || errOut != "" {
		t.Fatalf("exit %d: %s", code, errOut)
	}
	var r struct {
		Result struct {
			TCO    float64 `json:"tco"`
			Actual struct {
				Both float64 `json:"per_m_tokens"`
			} `json:"actual"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	// 2.21/3.6 is the InferenceX figure; staff is 2 % of the total by default.
	if want := 2.21 / 3.6 / 0.98; r.Result.Actual.Both < want-1e-9 || r.Result.Actual.Both > want+1e-9 {
		t.Errorf("%g per M tokens, want %g", r.Result.Actual.Both, want)
	}
}

func TestCostCommandsPrint(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"cost", costExample}, []string{"own H100", "TCO", "by chip-seconds", "EIA", "definition:"}},
		{[]string{"cost", costExample, "--format", "csv"}, []string{"month,cash,cumulative,accelerators"}},
		{[]string{"cost", costExample, "--region", "US"}, []string{"0.3662"}},
		{[]string{"breakeven", costExample, "../../examples/cost-hosted-api.toml"}, []string{"utilisation", "hosted API", "USD/chip"}},
		{[]string{"breakeven", costExample, "../../examples/cost-hosted-api.toml", "--variable", "price", "--format", "json"}, []string{`"variable": "price"`}},
		{[]string{"breakeven", "--chip", "mi300x", "--chips", "32", "--ownership", "rent", "--tokens-out-per-second", "6000", "--utilisation", "0.5", "--against-chip", "h100-sxm", "--against-chips", "48", "--as-of", "2026-11-30"},
			[]string{"rent below", "mi300x", "h100-sxm"}},
		{[]string{"compare", costExample, "../../examples/cost-hosted-api.toml"}, []string{"own H100", "hosted", "utilisation above", "EIA", "warning:"}},
		{[]string{"compare", costExample, "../../examples/cost-hosted-api.toml", "--format", "csv"}, []string{"candidate,how"}},
		{[]string{"breakeven", "target", "../../examples/jalapeno-target.toml"}, []string{"at least", "hypothetical", "highest price"}},
		{[]string{"prices", "list", "--chip", "h100-sxm", "--as-of", "2026-11-30"}, []string{"azure", "nebius", "stale"}},
		{[]string{"prices", "list", "--chip", "mi300x", "--format", "csv"}, []string{"crusoe/mi300x/on-demand"}},
		{[]string{"prices", "list", "--tier", "purchase", "--format", "json"}, []string{`"chip": "gaudi3"`}},
		{[]string{"prices", "regions"}, []string{"New England", "unknown"}},
	} {
		out, errOut, code := costRun(c.args...)
		if code != exitOK {
			t.Errorf("%v: exit %d, %s", c.args, code, errOut)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%v: output lacks %q:\n%s", c.args, want, out)
			}
		}
	}
}

func TestCostCommandsRefuse(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.toml")
	for text, want := range map[string]string{
		"[cost]\nhorizon_month = 3":                               `bad.toml:2: cost.horizon_month: unknown key (did you mean "horizon_months"?)`,
		"[cost.running]\npue = { value = 1.2, kind = \"guess\" }": "kind",
		"[hosted]\nusd_per_m_input = 1":                           "price missing",
		"as_of = \"yesterday\"":                                   "YYYY",
		"[fleet]\nchips = 8\n[fleet.mean]\ncached_input_tokens_per_second = 5\noutput_tokens_per_second = 1\n[cost.buy.accelerator]\nprice = 1000": "input includes cached",
		"[fleet]\nchips = 8\n[fleet.mean]\noutput_tokens_per_second = 1":                                                                           "buy.accelerator.price is missing",
	} {
		if err := os.WriteFile(bad, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		out, errOut, code := costRun("cost", bad)
		if code != exitBadInput || out != "" || !strings.Contains(errOut, want) || strings.Count(errOut, "\n") != 1 {
			t.Errorf("%q: exit %d, stdout %q, stderr %q, want one line with %q", text, code, out, errOut, want)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"cost", "--chips", "8", "--price", "1000"}, "no tokens"},
		{[]string{"cost", "--chip", "h100-sxn", "--chips", "8", "--tokens-out-per-second", "1"}, `did you mean "h100-sxm"`},
		{[]string{"cost", "--chips", "8", "--tokens-out-per-second", "1", "--price", "1000", "--ownership", "lease"}, `ownership is "lease"`},
		{[]string{"cost", "--chips", "8", "--tokens-out-per-second", "1", "--price", "1000", "--utilisation", "1.5"}, "utilisation is 1.5"},
		{[]string{"cost", "none.toml"}, "none.toml"},
		{[]string{"prices", "list", "--tier", "spott"}, `did you mean "spot"`},
		{[]string{"breakeven", costExample}, "FILE.toml"},
		{[]string{"breakeven", costExample, costExample, "--variable", "rnt"}, `did you mean "rent"`},
		{[]string{"breakeven", costExample, costExample, "--variable", "rent"}, `solve for "price"`},
	} {
		out, errOut, code := costRun(c.args...)
		if code != exitBadInput || out != "" || !strings.Contains(errOut, c.want) {
			t.Errorf("%v: exit %d, stdout %q, stderr %q, want %q", c.args, code, out, errOut, c.want)
		}
	}
}
