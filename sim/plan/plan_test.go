package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scoville/model/cost"
)

const small = `
title = "Small"
as_of = "2026-11-30"
[workload]
profile = "azure-2023-conversation"
peak_qps = 30
[model]
name = "llama-3.1-8b"
[sla]
ttft_p99 = 2.0
tpot_p90 = 0.05
[search]
requests = 1500
replications = 2
monte_carlo_draws = 100
[cost]
ownership = "rent"
horizon_months = 24
[[candidate]]
chip = "h100-sxm"
[[candidate]]
chip = "mi300x"
[candidate.cost]
ownership = "buy"
buy = { accelerator = { price = 15000 } }
`

func mustParse(t testing.TB, text string, overrides ...string) *File {
	t.Helper()
	f, err := Parse("plan.toml", []byte(text), overrides)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCandidateCostLiesOverThePlans(t *testing.T) {
	f := mustParse(t, small)
	first, second := f.Candidates[0].Cost, f.Candidates[1].Cost
	if first.Ownership != cost.Rent || second.Ownership != cost.Buy {
		t.Errorf("ownership %q and %q", first.Ownership, second.Ownership)
	}
	if first.HorizonMonths != 24 || second.HorizonMonths != 24 {
		t.Errorf("horizon %d and %d, want the plan's 24", first.HorizonMonths, second.HorizonMonths)
	}
	if first.Buying.Accelerator.Price.Known() || second.Buying.Accelerator.Price.Value != 15000 {
		t.Error("a candidate's price leaked or was lost")
	}
	if second.Running.PUE.Value != cost.Default().Running.PUE.Value {
		t.Error("a default was lost")
	}
}

func TestOverrides(t *testing.T) {
	f := mustParse(t, small, "workload.peak_qps=80", "sla.ttft_p99=1", "candidate.1.chip=h200", "fleet.spares=2", "title=What if")
	if f.Workload.PeakQPS != 80 || f.SLA["ttft_p99"] != 1 || f.Candidates[1].Chip != "h200" || f.Fleet.Spares != 2 || f.Title != "What if" {
		t.Errorf("%+v", f)
	}
	for _, bad := range []string{"workload.peak_qps", "candidate.7.chip=x", "title.x=1", "candidate=1.chip", "sla.tftt_p99=1"} {
		f, err := Parse("plan.toml", []byte(small), []string{bad})
		if err == nil {
			_, err = f.limits()
		}
		if err == nil {
			t.Errorf("--set %s is accepted", bad)
		}
	}
}

func TestFaultsNameTheirPlace(t *testing.T) {
	tests := []struct{ name, from, to, want string }{
		{"two shapes", `profile = "azure-2023-conversation"`, `profile = "chat"` + "\n" + `trace = "x.csv"`, "plan.toml:4: workload: 2 of profile, trace, file and custom are given"},
		{"no candidate", "[[candidate]]\nchip = \"h100-sxm\"\n[[candidate]]\nchip = \"mi300x\"\n[candidate.cost]\nownership = \"buy\"\nbuy = { accelerator = { price = 15000 } }\n", "", "no [[candidate]] is given"},
		{"negative spares", "[search]", "[fleet]\nspares = -1\n[search]", "plan.toml:13: fleet.spares: is -1"},
		{"availability of one", "[search]", "[fleet]\navailability = 1.0\n[search]", "fleet.availability: is 1"},
		{"degree", `chip = "mi300x"`, "chip = \"mi300x\"\ntensor_parallel = -2", "plan.toml:21: candidate 2: tensor_parallel is -2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(small, tt.from, tt.to, 1)
			if text == small {
				t.Fatal("the test changes nothing")
			}
			_, err := Parse("plan.toml", []byte(text), nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestRunIsDeterministicAndConsistent(t *testing.T) {
	var texts [2][]byte
	for i := range texts {
		r, err := Run(context.Background(), mustParse(t, small), Options{Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		checkResult(t, r)
		if texts[i], err = json.Marshal(r); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(texts[0], texts[1]) {
		t.Error("the same plan and seed gave different bytes")
	}
}

// checkResult holds what must be true of any answer.
func checkResult(t *testing.T, r *Result) {
	t.Helper()
	for i, c := range r.Candidates {
		if c.Rank != i+1 || !c.Feasible {
			t.Fatalf("candidate %d: rank %d, feasible %v: %s", i, c.Rank, c.Feasible, c.Reason)
		}
		if !c.Fleet.Peak.Met || (c.Fleet.OneFewer != nil && c.Fleet.OneFewer.Met) {
			t.Errorf("%s: the fleet must pass and one replica fewer must not", c.Name)
		}
		if c.Fleet.Replicas < c.Fleet.ReplicasBySaturation {
			t.Errorf("%s: %d replicas, fewer than saturation allows (%d)", c.Name, c.Fleet.Replicas, c.Fleet.ReplicasBySaturation)
		}
		if c.Fleet.Replicas > 2*max(1, c.Fleet.ReplicasBySaturation) {
			t.Errorf("%s: %d replicas, more than twice what saturation needs (%d)", c.Name, c.Fleet.Replicas, c.Fleet.ReplicasBySaturation)
		}
		sum := 0.0
		for _, part := range c.Cost.Components {
			sum += part.USD
		}
		if d := sum - c.Cost.TCO; d > 0.01 || d < -0.01 {
			t.Errorf("%s: components sum to %.2f, TCO is %.2f", c.Name, sum, c.Cost.TCO)
		}
		if i > 0 && c.Cost.PerMBoth < r.Candidates[i-1].Cost.PerMBoth {
			t.Errorf("%s is ranked behind a dearer one", c.Name)
		}
	}
}

// A what-if template is an infeasible candidate that names its blanks; a chip without a public price is answered in chips only.
func TestTemplateAndUnpricedCandidates(t *testing.T) {
	text := strings.Replace(small, `chip = "mi300x"`, `chip = "openai-jalapeno"`, 1) + "[[candidate]]\nchip = \"trainium2\"\n[candidate.cost]\nownership = \"buy\"\n"
	r, err := Run(context.Background(), mustParse(t, text), Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]Candidate{}
	for _, c := range r.Candidates {
		by[c.Chip] = c
	}
	if c := by["openai-jalapeno"]; c.Feasible || !strings.Contains(c.Reason, "peak.bf16_flops") {
		t.Errorf("template: feasible %v, reason %q", c.Feasible, c.Reason)
	}
	if c := by["trainium2"]; !c.Feasible || c.Cost != nil || c.Fleet.Chips == 0 || !strings.Contains(strings.Join(c.Warnings, " "), "no cost: ") {
		t.Errorf("unpriced: feasible %v, %d chips, warnings %q", c.Feasible, c.Fleet.Chips, c.Warnings)
	}
	if r.Candidates[0].Chip != "h100-sxm" {
		t.Errorf("first is %s; what has a price comes first", r.Candidates[0].Chip)
	}
}

// sharedFile finds a file of the data folder beside the repository, or skips.
func sharedFile(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "..", "shared", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("../shared is absent beside the repository: ", err)
	}
	return path
}

// The fleet recommended for the Azure conversation trace at ten times its rate meets the SLA in simulate, and one replica
// fewer does not.
func TestAzureConversationTenfold(t *testing.T) {
	trace := sharedFile(t, "data/traces/azure2023/AzureLLMInferenceTrace_conv.csv.gz")
	text := strings.Replace(small, `profile = "azure-2023-conversation"`+"\npeak_qps = 30", "trace = \""+trace+"\"\nrate_scale = 10", 1)
	f := mustParse(t, text)
	f.Candidates = f.Candidates[:1]
	r, err := Run(context.Background(), f, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	checkResult(t, r)
	n := r.Candidates[0].Fleet.Replicas
	for replicas, want := range map[int]bool{n: true, n - 1: false} {
		s, err := Simulate(context.Background(), f, SimulateOptions{Seed: 1, Candidate: "0", Replicas: replicas})
		if err != nil {
			t.Fatal(err)
		}
		if s.Met != want {
			t.Errorf("%d replicas: met %v, want %v (%s)", replicas, s.Met, want, s.Why)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("[workload]\ncustom = {}\n[[candidate]]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse("plan.toml", data, nil)
		if err == nil {
			_, _ = p.limits() // must not panic
		}
	})
}
