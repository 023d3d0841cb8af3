package profiles

import (
	"math"
	"strings"
	"testing"

	"scoville/model/workload"
)

func TestEveryWorkloadIsSourcedAndDraws(t *testing.T) {
	names, err := Workloads()
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < 12 {
		t.Fatalf("%d workloads, want at least 12", len(names))
	}
	for _, n := range names {
		w, err := Workload(n)
		if err != nil {
			t.Error(err)
			continue
		}
		if w.Name != n || w.Description == "" || w.From == "" || w.Date == "" || w.Kind == "" {
			t.Errorf("%s: name %q, description %q, source %q, date %q, kind %q: all are needed", n, w.Name, w.Description, w.From, w.Date, w.Kind)
		}
		s, err := w.Summary()
		if err != nil {
			t.Errorf("%s: %v", n, err)
			continue
		}
		if !(s.MeanInput >= 1) || !(s.MeanOutput >= 1) || s.MaxLength < int(s.MeanInput+s.MeanOutput) {
			t.Errorf("%s: %+v", n, s)
		}
		t.Logf("%-24s in %8.1f (p99 %8.0f) out %7.1f (p99 %6.0f) longest %7d shared %5.1f %% peak/mean %.2f", n, s.MeanInput, s.P99Input, s.MeanOutput, s.P99Output, s.MaxLength, 100*s.PrefixShare, w.PeakToMean())
	}
}

// The means and quantiles are the published ones (see each profile's source); tolerance 1.5 % of the value.
func TestWorkloadFiguresMatchTheirSources(t *testing.T) {
	for _, tt := range []struct {
		name                                   string
		meanIn, p99In, meanOut, p99Out, within float64
	}{
		{"azure-2023-conversation", 1154.70, 4142, 211.13, 601, 0.015},
		{"azure-2023-code", 2047.85, 7436, 27.88, 251.5, 0.03},
		{"mooncake-conversation", 12035.06, 85400, 342.62, 1118.5, 0.03},
		{"long-context", 15325.48, 66456, 149.12, 768, 0.03},
		{"rag", 2943.58, 5438, 283.24, 891, 0.015},
		{"chat", 2340.03, 7434, 438.71, 998, 0.015},
		{"summarisation", 2588.08, 3933, 291.43, 3271, 0.015},
		{"batch", 1067.18, 1800, 1612.83, 2533, 0.015},
		{"reasoning", 1268.25, 23423, 1527.42, 12607, 0.02},
		{"code-completion", 2494, 7679, 25, 231, 0.12}, // digitised: the mean depends on what lies between the quantiles
		{"inferencex-1k8k", 921.5, 1022, 7372.5, 8177, 0.015},
		{"mlperf-llama2-70b", 300, 1024, 294.45, 1024, 0.06},
	} {
		w, err := Workload(tt.name)
		if err != nil {
			t.Error(err)
			continue
		}
		s, err := w.Summary()
		if err != nil {
			t.Error(err)
			continue
		}
		for _, c := range []struct {
			what      string
			got, want float64
		}{{"mean input", s.MeanInput, tt.meanIn}, {"p99 input", s.P99Input, tt.p99In}, {"mean output", s.MeanOutput, tt.meanOut}, {"p99 output", s.P99Output, tt.p99Out}} {
			within := tt.within
			if strings.HasPrefix(c.what, "p99") {
				within = max(within, 0.04) // drawn, not integrated
			}
			if math.Abs(c.got/c.want-1) > within {
				t.Errorf("%s: %s %.2f, the source says %.2f (%+.1f %%)", tt.name, c.what, c.got, c.want, 100*(c.got/c.want-1))
			}
		}
	}
}

func TestUnknownWorkloadNamesTheNearest(t *testing.T) {
	_, err := Workload("azure-2023-convesation")
	if want := `unknown workload "azure-2023-convesation" (did you mean "azure-2023-conversation"?)`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A profile written out and read again is the same profile.
func TestWorkloadTOMLRoundTrip(t *testing.T) {
	names, err := Workloads()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		w, err := Workload(n)
		if err != nil {
			t.Fatal(err)
		}
		text, err := w.TOML()
		if err != nil {
			t.Fatal(err)
		}
		again, err := workload.Decode(n+".toml", text)
		if err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		second, err := again.TOML()
		if err != nil || string(second) != string(text) {
			t.Errorf("%s changes when written and read again: %v", n, err)
		}
	}
}
