package plan

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const slower = `
schema = "scoville-calibration-1"
chip = "h100-sxm"
chips = 1
model = "llama-3.1-8b"
engine = "vllm"
engine_version = "0.19.1"
base = "vllm 0.19"
weights = "bf16"
kv = "bf16"
requests = 200
[factors]
host_step = 1.5
bandwidth = 1.5
compute = 1.5
decode_attention = 1.5
[range]
min_input_tokens = 16
max_input_tokens = 8000
min_output_tokens = 1
max_output_tokens = 1500
max_concurrency = 64
[errors]
loads = 1
ttft = 0.09
tpot = 0.03
throughput = 0.02
[[held_out]]
load = "held-out"
metric = "tpot_mean"
measured = 0.02
predicted = 0.0206
`

func TestCalibrationChangesSpeedAndAccuracy(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("slower.toml", slower)
	write("other.toml", strings.Replace(slower, `chip = "h100-sxm"`, `chip = "mi300x"`, 1))
	write("broken.toml", strings.Replace(slower, "compute = 1.5", "compute = -1", 1))
	one, _, _ := strings.Cut(small, "[[candidate]]\nchip = \"mi300x\"")
	parse := func(calibration string) *File {
		text := one
		if calibration != "" {
			text += "calibration = \"" + calibration + "\"\n"
		}
		f, err := Parse(filepath.Join(dir, "plan.toml"), []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	run := func(calibration string) Candidate {
		r, err := Run(context.Background(), parse(calibration), Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		return r.Candidates[0]
	}
	shipped, calibrated := run(""), run("slower.toml")
	if a, b := shipped.Capacity.SaturationPerSecond, calibrated.Capacity.SaturationPerSecond; b > 0.8*a || b < 0.5*a {
		t.Errorf("saturation %.3g/s calibrated against %.3g/s shipped; steps 1.5 times as long should cut it by about a third", b, a)
	}
	a := calibrated.Accuracy
	if a.TTFTError != 0.09 || a.TPOTError != 0.03 || a.ThroughputError != 0.02 || len(a.Points) != 1 || !strings.Contains(a.Basis, "200 requests to vllm 0.19.1") {
		t.Errorf("accuracy %+v", a)
	}
	if !a.InsideRange || !strings.Contains(shipped.Accuracy.Basis, "not calibrated on this machine") {
		t.Errorf("inside the calibrated range: %v (%s); basis of the shipped profile: %s", a.InsideRange, a.Basis, shipped.Accuracy.Basis)
	}
	for file, want := range map[string]string{"other.toml": "is of chip", "broken.toml": "compute", "absent.toml": "no such file"} {
		if _, err := Run(context.Background(), parse(file), Options{Seed: 1}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", file, err, want)
		}
	}
}
