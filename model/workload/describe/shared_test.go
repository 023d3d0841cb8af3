package describe

import (
	"os"
	"path/filepath"
	"testing"
)

// sharedTrace finds a public trace beside the repository, or skips.
func sharedTrace(t *testing.T, rel string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(dir) == dir {
			t.Skip("../shared is absent: no go.mod above")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(filepath.Dir(dir), "shared", "data", "traces", rel)
	if _, err := os.Stat(path); err != nil {
		t.Skip("../shared is absent: the public traces are not redistributed here")
	}
	return path
}

func TestDump(t *testing.T) {
	for _, f := range []string{"azure2023/AzureLLMInferenceTrace_code.csv.gz", "azure2023/AzureLLMInferenceTrace_conv.csv.gz", "mooncake/conversation_trace.jsonl.gz", "mooncake/synthetic_trace.jsonl.gz", "ragpulse/0_trace.jsonl.gz", "lengths/bwb_stats_llama2_tokenizer_filtered_v2.csv.gz"} {
		d, err := File(sharedTrace(t, f), Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s\n%+v\n%+v\nin %+v\nout %+v\n%+v\n%+v\n%+v", f, d.Report, d.Arrivals, d.Input.short(), d.Output.short(), d.Correlation, d.Prefix, d.Sessions)
	}
}

func (l *Lengths) short() Lengths { c := *l; c.sorted = nil; return c }
