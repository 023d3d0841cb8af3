package hardware_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"scoville/hardware"
	"scoville/model/fact"
	"scoville/model/llm"
	"scoville/profiles"
)

func deploy(t testing.TB, chip, model string, d llm.DType, split llm.Split) hardware.Deployment {
	t.Helper()
	c, err := profiles.Chip(chip)
	if err != nil {
		t.Fatal(err)
	}
	a, _, err := profiles.Model(model)
	if err != nil {
		t.Fatal(err)
	}
	e, err := profiles.Engine("vllm", "0.15")
	if err != nil {
		t.Fatal(err)
	}
	e.Scheduler.MaxSequences = 64 // the table stays small; larger batches are computed when asked for
	return hardware.Deployment{Chip: c, Model: a, Precision: llm.NewPrecision(d), Split: split, Engine: e}
}

func steps(t testing.TB, d hardware.Deployment) hardware.StepModel {
	t.Helper()
	s, err := hardware.NewStepModel(d)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var cases = []struct {
	chip, model string
	dtype       llm.DType
	split       llm.Split
}{
	{"h100-sxm", "llama-3.1-8b", llm.BF16, llm.Split{}},
	{"h100-sxm", "llama-3.1-70b", llm.FP8, llm.Split{Tensor: 4}},
	{"b200-sxm", "deepseek-r1", llm.FP4, llm.Split{Tensor: 8}},
	{"b200-sxm", "deepseek-r1", llm.FP8, llm.Split{Data: 8, Expert: 8}},
	{"mi300x", "llama-3.1-70b", llm.FP8, llm.Split{Tensor: 2, Pipeline: 2}},
	{"l40s", "mistral-7b", llm.INT8, llm.Split{Tensor: 2}},
	{"tpu-v6e", "gemma-3-27b", llm.BF16, llm.Split{Tensor: 4}},
	{"rtx-4090", "llama-3.1-8b", llm.INT4, llm.Split{}},
}

// TestPhysics: no step beats the chip's peaks, draws less than idle or more than the limit, and a step without prompts is Decode.
func TestPhysics(t *testing.T) {
	for _, k := range cases {
		t.Run(k.chip+" "+k.model+" "+string(k.dtype), func(t *testing.T) {
			d := deploy(t, k.chip, k.model, k.dtype, k.split)
			s := steps(t, d)
			chips := float64(k.split.Chips())
			rapid.Check(t, func(t *rapid.T) {
				n := rapid.IntRange(0, 600).Draw(t, "sequences")
				context := rapid.Float64Range(0, 16000).Draw(t, "context")
				b := hardware.Batch{DecodeSequences: n, DecodeKVTokens: float64(n) * context, DecodeKVWindow: float64(n) * math.Min(context, float64(d.Model.Window.Tokens))}
				if p := rapid.IntRange(0, 8192).Draw(t, "prompt"); p > 0 {
					b.PrefillSequences, b.PrefillTokens, b.PrefillPairs, b.PrefillPairsWin = 1, p, float64(p)*float64(p+1)/2, float64(p)*float64(p+1)/2
				}
				if n+b.PrefillTokens == 0 {
					return
				}
				w := s.Step(b)
				peak := chips * d.Chip.Peak.BF16.Value * math.Max(1, d.Chip.Peak.Rate(k.dtype)/d.Chip.Peak.BF16.Value)
				if rate := w.FLOPs / w.Seconds; rate > peak*1.0001 {
					t.Fatalf("%g FLOP/s of a peak of %g", rate, peak)
				}
				if rate := w.Bytes / w.Seconds; rate > chips*d.Chip.Memory.BytesPerSecond.Value*1.0001 {
					t.Fatalf("%g bytes/s of %g", rate, chips*d.Chip.Memory.BytesPerSecond.Value)
				}
				watts := w.Joules / w.Seconds
				if watts < s.IdleWatts()*0.999 || watts > chips*d.Chip.Power.LimitWatts.Value*1.001 {
					t.Fatalf("%g W outside [%g, %g]", watts, s.IdleWatts(), chips*d.Chip.Power.LimitWatts.Value)
				}
				if b.PrefillTokens == 0 {
					q := s.Decode(n)
					v := q.Base.Plus(q.PerKV.Times(b.DecodeKVTokens)).Plus(q.PerKVWin.Times(b.DecodeKVWindow))
					if math.Abs(v.Seconds-w.Seconds) > 1e-12 {
						t.Fatalf("step %g s, decode %g s", w.Seconds, v.Seconds)
					}
				}
			})
		})
	}
}

// TestMoreWorkTakesLonger: sequences, context and prompts never make a step shorter.
func TestMoreWorkTakesLonger(t *testing.T) {
	for _, k := range cases {
		s := steps(t, deploy(t, k.chip, k.model, k.dtype, k.split))
		last := 0.0
		for _, n := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512} {
			d := s.Decode(n)
			now := d.Base.Plus(d.PerKV.Times(float64(n) * 1000)).Seconds
			if now < last*0.97 { // curves are fits: a dip of a few per cent between knots is their error
				t.Errorf("%s %s: %d sequences take %g s, half as many %g s", k.chip, k.model, n, now, last)
			}
			if d.PerKV.Seconds <= 0 {
				t.Errorf("%s %s: reading a cache token takes %g s", k.chip, k.model, d.PerKV.Seconds)
			}
			last = now
		}
	}
}

// TestPowerCap: 500 of 700 W keep 79 to 83 % of throughput, 350 W 61 to 65 %, of a saturated H200 (MLPerf Inference v4.1).
func TestPowerCap(t *testing.T) {
	d := deploy(t, "h200-sxm", "llama-2-70b", llm.FP8, llm.Split{Tensor: 1})
	b := hardware.Batch{DecodeSequences: 896, DecodeKVTokens: 896 * 450, PrefillSequences: 3, PrefillTokens: 880, PrefillPairs: 3 * 293 * 147}
	full := steps(t, d).Step(b).Seconds
	for _, c := range []struct{ watts, low, high float64 }{{500, 0.76, 0.86}, {350, 0.58, 0.70}} {
		d.PowerLimitWatts = c.watts
		w := steps(t, d).Step(b)
		if kept := full / w.Seconds; kept < c.low || kept > c.high {
			t.Errorf("at %g W %.2f of the throughput is left, expected %g to %g", c.watts, kept, c.low, c.high)
		}
		if w.Joules/w.Seconds > c.watts*1.001 {
			t.Errorf("draws %g W at a cap of %g W", w.Joules/w.Seconds, c.watts)
		}
	}
}

func TestParallelism(t *testing.T) {
	one := steps(t, deploy(t, "h100-sxm", "llama-3.1-70b", llm.FP8, llm.Split{Tensor: 2}))
	four := steps(t, deploy(t, "h100-sxm", "llama-3.1-70b", llm.FP8, llm.Split{Tensor: 8}))
	if a, b := one.Decode(8).Base.Seconds, four.Decode(8).Base.Seconds; b >= a || b < a/4 {
		t.Errorf("TP8 decodes in %g s, TP2 in %g s: expected faster, but less than four times so", b, a)
	}
	// a pipeline hands the batch on in parts: a step of two stages takes a part through all layers
	pipe := steps(t, deploy(t, "h100-sxm", "llama-3.1-70b", llm.FP8, llm.Split{Tensor: 2, Pipeline: 2}))
	if a, b := one.Decode(32).Base.Seconds, pipe.Decode(64).Base.Seconds; math.Abs(a/b-1) > 0.02 {
		t.Errorf("64 sequences over two stages take %g s, 32 over one %g s: expected the same", b, a)
	}
}

func TestRefusals(t *testing.T) {
	good := deploy(t, "h100-sxm", "llama-3.1-8b", llm.BF16, llm.Split{})
	for _, c := range []struct {
		name, want string
		change     func(*hardware.Deployment)
	}{
		{"sparse FP8", "sparsity", func(d *hardware.Deployment) { d.Chip.Peak.FP8.Value *= 2 }},
		{"efficiency above one", "exceeds its peak", func(d *hardware.Deployment) {
			d.Chip.Curves.Gemm = append([]hardware.Curve(nil), d.Chip.Curves.Gemm...)
			d.Chip.Curves.Gemm[0].Efficiency = [][]float64{{1.2, 1}, {1, 1}}
			d.Chip.Curves.Gemm[0].X, d.Chip.Curves.Gemm[0].Y = []float64{1, 2}, []float64{1, 2}
		}},
		{"gigabytes for bytes", "check the units", func(d *hardware.Deployment) { d.Chip.Memory.Bytes.Value = 80 }},
		{"idle above limit", "not below", func(d *hardware.Deployment) { d.Chip.Power.IdleWatts.Value = 800 }},
		{"no source", "source is missing", func(d *hardware.Deployment) { d.Chip.Peak.BF16.Source = "" }},
		{"template", "fill in peak.bf16_flops, memory.bytes", func(d *hardware.Deployment) { d.Chip, _ = profiles.Chip("openai-jalapeno") }},
		{"experts of a dense model", "has no experts", func(d *hardware.Deployment) { d.Split.Expert = 4 }},
		{"tensor parallel across nodes", "scale-up domain", func(d *hardware.Deployment) { d.Split.Tensor = 16 }},
		{"policy", "scheduler.policy", func(d *hardware.Deployment) { d.Engine.Scheduler.Policy = "magic" }},
		{"cap below idle", "power limit", func(d *hardware.Deployment) { d.PowerLimitWatts = 20 }},
	} {
		d := good
		c.change(&d)
		_, err := hardware.NewStepModel(d)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
	}
}

// TestDeriveFindsWhatItWasMadeFrom: a table made from known rates gives curves that repeat it.
func TestDeriveFindsWhatItWasMadeFrom(t *testing.T) {
	chip := hardware.Chip{Name: "synthetic"}
	chip.Peak.BF16 = fact.Fact{Value: 1e15}
	chip.Memory.BytesPerSecond = fact.Fact{Value: 4e12}
	var b strings.Builder
	b.WriteString("chip,engine,version,kernel,dtype,m,n,k,latency_ms\n")
	for _, m := range []float64{1, 16, 64, 256, 1024, 4096} {
		for _, n := range []float64{1024, 2048, 4096, 8192, 16384} {
			for _, k := range []float64{2048, 4096, 8192} {
				ideal := math.Max(2*m*n*k/1e15, (n*k*2+m*k*2+2*m*n)/4e12)
				b.WriteString(strings.Join([]string{"x", "e", "1", "k", "bf16", num(m), num(n), num(k), num(1e3 * (4e-6 + ideal/0.8))}, ",") + "\n")
			}
		}
	}
	table, err := hardware.ReadTable("gemm.csv", strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	c, err := hardware.Derive(chip, "x", "", hardware.Tables{Gemm: table})
	if err != nil {
		t.Fatal(err)
	}
	if f := c.Gemm[0].Fit; f.MedianError > 0.03 || f.P90Error > 0.12 {
		t.Errorf("errors %+v of a table without noise", f)
	}
	if _, err := hardware.Derive(chip, "nobody", "", hardware.Tables{Gemm: table}); err == nil || !strings.Contains(err.Error(), `"nobody"`) {
		t.Errorf("unknown chip: %v", err)
	}
}

func num(v float64) string { return strconv.FormatFloat(v, 'g', 8, 64) }

func FuzzReadTable(f *testing.F) {
	f.Add("chip,engine,version,kernel,dtype,m,n,k,latency_ms\nx,e,1,k,bf16,1,2,3,0.1\n")
	f.Add("a\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := hardware.ReadTable("t.csv", strings.NewReader(text))
		if err != nil {
			return
		}
		chip := hardware.Chip{Name: "c"}
		chip.Peak.BF16, chip.Memory.BytesPerSecond = fact.Fact{Value: 1e15}, fact.Fact{Value: 4e12}
		if _, err := hardware.Derive(chip, "x", "", hardware.Tables{Gemm: table}); err == nil && strings.Count(text, "\n") < 20 {
			t.Errorf("curves from fewer than 20 rows")
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	s := steps(b, deploy(b, "h100-sxm", "llama-3.1-8b", llm.BF16, llm.Split{}))
	for b.Loop() {
		s.Decode(48)
	}
}

func BenchmarkMixedStep(b *testing.B) {
	s := steps(b, deploy(b, "h100-sxm", "llama-3.1-8b", llm.BF16, llm.Split{}))
	batch := hardware.Batch{DecodeSequences: 48, DecodeKVTokens: 48000, PrefillSequences: 1, PrefillTokens: 900, PrefillPairs: 900 * 450}
	for b.Loop() {
		s.Step(batch)
	}
}
