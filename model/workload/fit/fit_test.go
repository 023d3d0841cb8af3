package fit

import (
	"os"
	"path/filepath"
	"testing"

	"scoville/model/workload/trace"
)

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
	for _, f := range []string{"azure2023/AzureLLMInferenceTrace_code.csv.gz", "azure2023/AzureLLMInferenceTrace_conv.csv.gz", "mooncake/conversation_trace.jsonl.gz"} {
		r, err := File(sharedTrace(t, f), trace.Options{}, f[0] == 'm', Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s\n%+v\n%+v", f, r.Workload.Arrivals, r.Workload.Arrivals.OnOff)
		for _, v := range r.Verdict {
			t.Log(v)
		}
		for _, c := range r.Checks {
			t.Logf("%-16s %9.3f gen %9.3f [%9.3f %9.3f]", c.Name, c.Trace, c.Generated, c.Low, c.High)
		}
	}
}
