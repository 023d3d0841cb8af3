package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const savedResult = "../../reports/testdata/three.json"

func runReport(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(append([]string{"scoville"}, args...), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// TestReportWritesWhatIsAsked draws a saved result in every format, flags after the argument included.
func TestReportWritesWhatIsAsked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	code, _, stderr := runReport(t, "report", savedResult, "--pdf", "--html", "--xlsx", "--svg", "--csv", "--png", "-o", dir)
	if code != exitOK || stderr != "" {
		t.Fatalf("exit %d, stderr %q", code, stderr)
	}
	for _, name := range []string{"report.pdf", "report.html", "report.xlsx", "candidates.csv", "load.csv", "tco.svg", "tco.png", "latency-ttft.png"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReportFormats(t *testing.T) {
	saved, err := os.ReadFile(savedResult)
	if err != nil {
		t.Fatal(err)
	}
	if code, out, _ := runReport(t, "report", savedResult, "--format", "json"); code != exitOK || out != string(saved) {
		t.Errorf("exit %d; --format json is not the saved result", code)
	}
	if code, out, _ := runReport(t, "report", savedResult); code != exitOK || !strings.Contains(out, "h200-tp2") {
		t.Errorf("exit %d, table %q", code, out)
	}
	if code, out, _ := runReport(t, "report", "--lang", "zh", savedResult); code != exitOK || !strings.Contains(out, "候选方案") {
		t.Errorf("exit %d, Chinese table %q", code, out)
	}
}

func TestReportRefuses(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.json")
	if err := os.WriteFile(bad, []byte(`{"schema":"scoville.plan/99"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"report"}, "RESULT.json"},
		{[]string{"report", bad}, "scoville.plan/99"},
		{[]string{"report", filepath.Join(dir, "absent.json")}, "absent.json"},
		{[]string{"report", savedResult, "--lang", "de"}, `"de"`},
		{[]string{"report", savedResult, "--pdff"}, "--pdf"},
		{[]string{"report", savedResult, "--pdf", "--font", bad, "-o", dir}, "TrueType"},
		{[]string{"diff", savedResult}, "AFTER.json"},
		{[]string{"diff", savedResult, bad}, "scoville.plan/99"},
	} {
		code, _, stderr := runReport(t, c.args...)
		if code != exitBadInput || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit %d, stderr %q; expected exit %d and %q", c.args, code, stderr, exitBadInput, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "report.pdf")); err == nil {
		t.Error("a refused report left a file")
	}
}

func TestDiffOfAResultWithItself(t *testing.T) {
	code, out, stderr := runReport(t, "diff", savedResult, savedResult)
	if code != exitOK || stderr != "" || out != "Inputs: no change\nResults: no change\n" {
		t.Errorf("exit %d, stdout %q, stderr %q", code, out, stderr)
	}
}
