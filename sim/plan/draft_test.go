package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func draft() Draft {
	return Draft{
		Title: `Bot "one"`, AsOf: "2026-11-30", Model: "llama-3.1-70b", Profile: "chat", PeakQPS: 12.5,
		Chips: []string{"h100-sxm", "h200"}, TTFTSeconds: 1.5, TPOTSeconds: 0.05, Ownership: "rent",
	}
}

func TestDraftIsAPlanThatFits(t *testing.T) {
	text, err := draft().Write("plan.toml")
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse("plan.toml", text, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if f.Title != `Bot "one"` || f.Workload.PeakQPS != 12.5 || f.SLA["ttft_p99"] != 1.5 || f.SLA["tpot_p90"] != 0.05 || len(f.Candidates) != 2 {
		t.Errorf("read back as %+v", f)
	}
	// 141 GB of weights: two H100 hold them, but a cache of few requests; an H200 has 141 GB in all.
	if h100, h200 := f.Candidates[0].TensorParallel, f.Candidates[1].TensorParallel; h100 != 4 || h200 != 2 {
		t.Errorf("tensor parallel %d and %d, want 4 and 2", h100, h200)
	}
}

func TestDraftNamesFilesFromThePlansFolder(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Mkdir("plans", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("requests.csv", []byte("TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-12 00:00:00,100,10\n2024-05-12 00:00:01,200,20\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	d := draft()
	d.Model, d.Profile, d.Trace, d.PeakQPS = "llama-3.1-8b", "", "requests.csv", 0
	path := filepath.Join("plans", "plan.toml")
	text, err := d.Write(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `trace = "../requests.csv"`) {
		t.Errorf("the trace is not named from the plan's folder:\n%s", text)
	}
}

func TestDraftRefuses(t *testing.T) {
	for want, change := range map[string]func(*Draft){
		"ownership is":            func(d *Draft) { d.Ownership = "lease" },
		"TTFT limit is 0 s":       func(d *Draft) { d.TTFTSeconds = 0 },
		"no chip is given":        func(d *Draft) { d.Chips = nil },
		`did you mean "h100-sxm"`: func(d *Draft) { d.Chips = []string{"h100-sxn"} },
		"unknown model":           func(d *Draft) { d.Model = "llama-9" },
		"what-if template":        func(d *Draft) { d.Chips = []string{"openai-jalapeno"} },
		"does not fit":            func(d *Draft) { d.Chips, d.Model = []string{"l4"}, "deepseek-v3" },
	} {
		d := draft()
		change(&d)
		if text, err := d.Write("plan.toml"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v and\n%s", want, err, text)
		}
	}
}
