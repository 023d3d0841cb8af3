package calibrate

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"scoville/hardware"
	"scoville/hardware/results"
)

// runOf makes a bench run of what a deployment with known factors does: a stage for each load of the ladder, and one held out.
func runOf(t *testing.T, d *Deployment, truth hardware.Factors) *results.Run {
	t.Helper()
	run := &results.Run{Tool: "scoville", File: "records.jsonl", EngineVersion: "0.19.1", StartUnixSeconds: 1796083200}
	runs := ladder(1)
	add := func(name, kind string, r *replay) {
		samples, _, err := d.simulate(context.Background(), truth, r)
		if err != nil {
			t.Fatal(err)
		}
		stage := len(run.Stages)
		run.Stages = append(run.Stages, results.Stage{Name: name, Kind: kind, Concurrency: r.clients})
		for _, s := range samples {
			run.Records = append(run.Records, results.Record{Stage: stage, Clocked: true, SentSeconds: s.sent, TTFTSeconds: s.ttft, E2ESeconds: s.e2e, InputTokens: s.input, OutputTokens: s.output})
		}
	}
	add("warm-up", results.KindWarmup, runs["decode x1"])
	for _, name := range ladderNames() {
		add(name, results.KindMixed, runs[name])
	}
	var open []sample
	for i := range 60 {
		open = append(open, sample{input: 64 + i*20, output: 20 + i, sent: float64(i) * 0.08})
	}
	add("poisson", results.KindHeldOut, newReplay(requestsOf(open), 0, 0))
	return run
}

func TestCalibratePredictsWhatItDidNotSee(t *testing.T) {
	d := h100(t)
	truth := hardware.Factors{HostStep: 1.6, Compute: 1.25, Bandwidth: 1.1, DecodeAttention: 1.2, HostTTFT: 2}.Normal()
	run := runOf(t, d, truth)
	run.Power = &results.Power{Devices: 1, Seconds: 60, MeanWatts: 420}
	p, f, err := Calibrate(context.Background(), d, []*results.Run{run}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Errors.Loads != 1 || p.Errors.TPOT > 0.02 || p.Errors.TTFT > 0.03 || p.Errors.Throughput > 0.02 {
		t.Errorf("held-out errors %+v", p.Errors)
	}
	if p.EngineVersion != "0.19.1" || p.Measured != "2026-12-01" || len(p.Loads) != len(ladderNames()) {
		t.Errorf("provenance: version %q, measured %q, loads %v", p.EngineVersion, p.Measured, p.Loads)
	}
	if r := p.Range; r.MinInputTokens < 16 || r.MaxInputTokens != 2048 || r.MaxConcurrency != 64 {
		t.Errorf("range %+v", r)
	}
	if w := f.Factors.Watts; !(w > 0.1 && w < 10) || w == 1 {
		t.Errorf("watts factor %g from a power log", w)
	}
	text, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode("h100.toml", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(p.Factors, back.Factors); diff != "" {
		t.Errorf("factors after a round trip: %s", diff)
	}
	if !reflect.DeepEqual(p.Range, back.Range) || len(back.HeldOut) != len(p.HeldOut) || len(back.Estimates) != len(p.Estimates) {
		t.Error("range, scores or estimates changed in a round trip")
	}
	again, _, err := Calibrate(context.Background(), h100(t), []*results.Run{run}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if other, err := again.Encode(); err != nil || string(other) != string(text) {
		t.Errorf("the same records give other bytes (%v)", err)
	}
}

func TestUnusableStagesAreNamed(t *testing.T) {
	d := h100(t)
	stage := func(change func(i int, q *results.Record)) *results.Run {
		run := &results.Run{Stages: []results.Stage{{Name: "one", Concurrency: 4}}}
		for i := range 40 {
			q := results.Record{Clocked: true, SentSeconds: float64(i), TTFTSeconds: 0.1, E2ESeconds: 1, InputTokens: 100, OutputTokens: 10}
			change(i, &q)
			run.Records = append(run.Records, q)
		}
		return run
	}
	for name, c := range map[string]struct {
		change func(i int, q *results.Record)
		note   string
	}{
		"fine":   {func(int, *results.Record) {}, ""},
		"failed": {func(i int, q *results.Record) { q.Error = fail(i%3 == 0) }, "failed"},
		"cached": {func(_ int, q *results.Record) { q.CachedTokens = 50 }, "prefix cache"},
		"empty":  {func(_ int, q *results.Record) { q.OutputTokens = 0 }, "no request succeeded"},
	} {
		_, _, notes, err := LoadsOf(stage(c.change), d)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(notes, "; "); c.note == "" && got != "" || !strings.Contains(got, c.note) {
			t.Errorf("%s: notes %q, want %q", name, got, c.note)
		}
	}
	busy := stage(func(int, *results.Record) {})
	busy.Client = &results.Client{Bottleneck: "no cores left"}
	if _, _, _, err := LoadsOf(busy, d); err == nil || !strings.Contains(err.Error(), "no cores left") {
		t.Errorf("a run whose client was the bottleneck: %v", err)
	}
}

func fail(yes bool) *results.Failure {
	if yes {
		return &results.Failure{Phase: "stream"}
	}
	return nil
}

func TestSummariesAloneCalibrate(t *testing.T) {
	d := h100(t)
	truth := hardware.Factors{HostStep: 2, Bandwidth: 1.3}.Normal()
	var runs []*results.Run
	for _, c := range []int{1, 8, 32} {
		list := make([]sample, 4*c)
		for i := range list {
			list[i] = sample{input: 512, output: 64}
		}
		samples, f, err := d.simulate(context.Background(), truth, newReplay(requestsOf(list), c, 0))
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, &results.Run{Label: fmt.Sprint("c", c), Stages: []results.Stage{{Concurrency: c}}, Completed: len(samples), MeanInputTokens: 512, MeanOutputTokens: 64,
			Latency: results.Latency{TTFT: &results.Distribution{Mean: f[TTFTMean]}, TPOT: &results.Distribution{Mean: f[TPOTMean]}}})
	}
	p, f, err := Calibrate(context.Background(), d, runs, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range f.Residuals {
		if e := r.Error(); e > 0.05 || e < -0.05 {
			t.Errorf("%s %s is %+.1f %% off", r.Load, r.Metric, 100*e)
		}
	}
	if p.Errors.Loads != 0 || !strings.Contains(strings.Join(p.Notes, " "), "too few loads") {
		t.Errorf("three loads: %+v, notes %q", p.Errors, p.Notes)
	}
}

func TestApply(t *testing.T) {
	d := h100(t).Hardware
	p := &Profile{Schema: Schema, Chip: d.Chip.Name, Chips: 1, Model: d.Model.Name, Engine: d.Engine.Name, Base: d.Engine.Name + " " + d.Engine.Version,
		Weights: string(d.Precision.Weights), KV: string(d.Precision.KV), Factors: hardware.Factors{Bandwidth: 1.5, HostStep: 2}}
	adjusted, notes, err := p.Apply(d)
	if err != nil || len(notes) > 0 {
		t.Fatalf("notes %q, error %v", notes, err)
	}
	before, err := hardware.NewStepModel(d)
	if err != nil {
		t.Fatal(err)
	}
	after, err := hardware.NewStepModel(adjusted)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := before.Decode(1).Base.Seconds, after.Decode(1).Base.Seconds; b < 1.3*a || b > 2.1*a {
		t.Errorf("a decode step takes %.4g s, %.4g s with factors 1.5 and 2", a, b)
	}
	d.Model.Name = "other"
	if _, notes, err = p.Apply(d); err != nil || len(notes) != 1 || !strings.Contains(notes[0], "model") {
		t.Errorf("another model: notes %q, error %v", notes, err)
	}
	d.Chip.Name = "other"
	if _, _, err = p.Apply(d); err == nil {
		t.Error("factors of another chip were accepted")
	}
}

func TestRangeCovers(t *testing.T) {
	r := Range{MinInputTokens: 32, MaxInputTokens: 1024, MinOutputTokens: 8, MaxOutputTokens: 256, MaxConcurrency: 16}
	for _, c := range []struct {
		input, output float64
		why           string
	}{{100, 50, ""}, {32, 256, ""}, {2000, 50, "inputs of 2000"}, {100, 300, "outputs of 300"}, {10, 1, "inputs of 10"}} {
		if inside, why := r.Covers(c.input, c.output); inside != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%v: inside %v, %q", c, inside, why)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("schema = \"scoville-calibration-1\"\nchip = \"a\"\nmodel = \"b\"\nengine = \"c\"\n[factors]\ncompute = 1.2\n"))
	f.Add([]byte("schema = 1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Decode("fuzz.toml", text)
		if err != nil {
			return
		}
		if err := p.Factors.Check(); err != nil {
			t.Errorf("accepted %v", err)
		}
	})
}

// Two measured loads, and the shipped profile as the prior: predictions of other loads get better, not worse.
func TestTwoLoadsAlreadyHelp(t *testing.T) {
	d := h100(t)
	truth := hardware.Factors{HostStep: 1.8, HostSequence: 1.5, Compute: 1.3, Bandwidth: 1.2, PrefillAttention: 1.4, DecodeAttention: 1.3}.Normal()
	var fit, rest []Load
	for _, l := range measured(t, d, truth, 0.01) {
		if l.Name == "prefill 512" || l.Name == "decode x16" {
			fit = append(fit, l)
		} else {
			rest = append(rest, l)
		}
	}
	f, err := Run(context.Background(), d.Hardware, fit, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var off [2]Errors
	for i, factors := range []hardware.Factors{{}, f.Factors} {
		scores, err := Score(context.Background(), factors.Normal(), rest)
		if err != nil {
			t.Fatal(err)
		}
		off[i] = errorsOf(scores)
	}
	t.Logf("shipped: TTFT %.1f %%, TPOT %.1f %%; two loads fitted: TTFT %.1f %%, TPOT %.1f %%", 100*off[0].TTFT, 100*off[0].TPOT, 100*off[1].TTFT, 100*off[1].TPOT)
	// One prompt length can't tell what of a first token is arithmetic and what is the host: TTFT gains little.
	if off[1].TTFT > off[0].TTFT || off[1].TPOT > off[0].TPOT/2 {
		t.Error("two measured loads should halve the error of TPOT, and not worsen TTFT")
	}
}
