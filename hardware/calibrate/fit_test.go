package calibrate

import (
	"context"
	"errors"
	"math"
	"testing"

	"scoville/hardware"
	"scoville/model/llm"
	"scoville/model/random"
	"scoville/profiles"
	"scoville/sim"
)

func h100(t testing.TB) *Deployment {
	t.Helper()
	chip, err := profiles.Chip("h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	arch, precision, err := profiles.Model("llama-3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	engine, err := profiles.Engine("vllm", "")
	if err != nil {
		t.Fatal(err)
	}
	engine.Scheduler.MaxSequences = 128
	return &Deployment{
		Hardware: hardware.Deployment{Chip: chip, Model: arch, Precision: precision, Split: llm.Split{}.Normal(), Engine: engine},
		Engine:   sim.Engine{Policy: sim.VLLMV1, MaxBatchedTokens: 8192, MaxSequences: 128, BlockTokens: 16, ChunkedPrefill: true, AsyncScheduling: engine.Scheduler.AsyncScheduling},
	}
}

// ladder is the load of the default calibration ladder, smaller: prefill points, decode points and a mixed one.
func ladder(seed uint64) map[string]*replay {
	s := random.New(seed, 0, "ladder")
	loads := map[string]*replay{}
	equal := func(name string, n, clients, input, output int) {
		var list []sample
		for range n {
			list = append(list, sample{input: input, output: output})
		}
		loads[name] = newReplay(requestsOf(list), clients, 200_000)
	}
	equal("prefill 128", 4, 1, 128, 1)
	equal("prefill 512", 4, 1, 512, 1)
	equal("prefill 2048", 4, 1, 2048, 1)
	equal("decode x1", 3, 1, 32, 64)
	equal("decode x4", 8, 4, 32, 64)
	equal("decode x16", 32, 16, 32, 64)
	equal("decode x64", 128, 64, 32, 64)
	var mixed []sample
	for range 48 {
		mixed = append(mixed, sample{input: 16 + s.IntN(2000), output: 8 + s.IntN(120)})
	}
	loads["mixed"] = newReplay(requestsOf(mixed), 16, 200_000)
	return loads
}

func ladderNames() []string {
	return []string{"prefill 128", "prefill 512", "prefill 2048", "decode x1", "decode x4", "decode x16", "decode x64", "mixed"}
}

// measured simulates the ladder under true factors and hands its records to the calibration, with noise on every latency.
func measured(t testing.TB, d *Deployment, truth hardware.Factors, noise float64) []Load {
	t.Helper()
	runs := ladder(1)
	s := random.New(7, 0, "noise")
	var out []Load
	for _, name := range ladderNames() {
		r := runs[name]
		samples, _, err := d.simulate(context.Background(), truth, r)
		if err != nil {
			t.Fatal(err)
		}
		for i := range samples {
			q := &samples[i]
			e := func() float64 { return 1 + noise*(2*s.Open()-1)*math.Sqrt(3) }
			decode := q.e2e - q.ttft
			q.ttft *= e()
			decode *= e()
			q.e2e = q.ttft + decode
			if q.output > 1 {
				q.tpot = decode / float64(q.output-1)
			}
		}
		l := d.load(name, samples, r.clients, true)
		out = append(out, *l)
	}
	return out
}

func TestRecoversKnownFactors(t *testing.T) {
	d := h100(t)
	truth := hardware.Factors{HostStep: 1.5, HostSequence: 1.3, HostPrefill: 1.2, HostTTFT: 1.8, Compute: 1.2, Bandwidth: 1.15, PrefillAttention: 1.3, DecodeAttention: 1.1}.Normal()
	f, err := Run(context.Background(), d.Hardware, measured(t, d, truth, 0.01), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("loss %.3f, chi2 %.3f, %d rounds, converged %v", f.Loss, f.ChiSquare, f.Rounds, f.Converged)
	want := truth
	for k, e := range f.Estimates {
		v := *f.parameters[k].field(&want)
		t.Logf("%-20s true %.3f fitted %.3f [%.3f, %.3f] informed %v", e.Name, v, e.Value, e.Low, e.High, e.Informed)
		if e.Informed && (v < e.Low || v > e.High) {
			t.Errorf("%s: the interval [%.3f, %.3f] misses the true %.3f", e.Name, e.Low, e.High, v)
		}
	}
	for _, p := range f.Confusion {
		t.Logf("confused %+v", p)
	}
	for _, r := range f.Residuals {
		if math.Abs(r.Error()) > 0.02 {
			t.Errorf("%s %s: predicted %.4g, measured %.4g (%+.1f %%)", r.Load, r.Metric, r.Predicted, r.Measured, 100*r.Error())
		}
	}
}

func TestRefusesRecordsFasterThanPhysics(t *testing.T) {
	d := h100(t)
	loads := measured(t, d, hardware.Factors{}.Normal(), 0)
	for i := range loads {
		for m := range loads[i].Measured {
			loads[i].Measured[m] *= 0.3
		}
		for j := range loads[i].Targets {
			loads[i].Targets[j].Value *= 0.3
		}
	}
	_, err := Run(context.Background(), d.Hardware, loads, Options{})
	var impossible *Impossible
	if !errors.As(err, &impossible) {
		t.Fatalf("got %v, want *Impossible", err)
	}
	t.Log(impossible)
}
