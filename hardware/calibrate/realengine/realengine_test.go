package realengine

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"scoville/hardware"
	"scoville/hardware/bench"
	"scoville/hardware/calibrate"
	"scoville/hardware/results"
	"scoville/model/llm"
	"scoville/model/random"
	"scoville/profiles"
	"scoville/sim"
)

// enable asks for the test: it takes three to four minutes, and installs an npm package at its first run.
const enable = "SCOVILLE_REAL_ENGINE"

// npmVersion is the version in server/package.json.
const npmVersion = "3.22.1"

//go:embed server/*.mjs server/package.json
var server embed.FS

var shape = Shape{Layers: 8, Hidden: 256, Heads: 8, KVHeads: 4, Intermediate: 704, Vocabulary: 24000, Context: 2048, Seed: 1}

const (
	sequences = 8
	budget    = 512
	heldOutS  = 45.0
	steady    = 1.25 // most drift of the machine at which a prediction is judged
)

// install puts the package and our server into a folder of the user's cache, so that later runs need no network.
func install(t *testing.T) string {
	t.Helper()
	if os.Getenv(enable) == "" {
		t.Skipf("set %s=1 to calibrate against a real engine (needs Node and npm; three to four minutes)", enable)
	}
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed: %v", tool, err)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("no cache folder for the npm package: %v", err)
	}
	dir := filepath.Join(cache, "scoville", "real-engine-"+npmVersion)
	files, err := fs.Glob(server, "server/*")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Skipf("the cache folder can't be written: %v", err)
	}
	for _, f := range files {
		data, err := server.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(f)), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	library := "@node-llama-cpp/" + platform()
	if _, err := os.Stat(filepath.Join(dir, "node_modules", filepath.FromSlash(library))); err == nil {
		return dir
	}
	// Only this platform's CPU library: the optional dependencies hold 600 MB of GPU ones.
	ctx, cancel := context.WithTimeout(context.Background(), 150*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, "npm", "install", "--no-save", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund",
		"node-llama-cpp@"+npmVersion, library+"@"+npmVersion)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Skipf("npm install failed: %v\n%s", err, lastLines(out))
	}
	return dir
}

// platform names the prebuilt CPU library as npm does.
func platform() string {
	system, arch := runtime.GOOS, runtime.GOARCH
	if system == "darwin" {
		system = "mac"
	}
	if system == "windows" {
		system = "win"
	}
	if arch == "amd64" {
		arch = "x64"
	}
	return system + "-" + arch
}

func lastLines(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// start runs the server with the model and returns its address.
func start(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "random.gguf")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteModel(f, shape); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("node", "server.mjs", file, fmt.Sprint(sequences), fmt.Sprint(shape.Context), fmt.Sprint(budget), "1")
	c.Dir = dir
	var problems bytes.Buffer
	c.Stderr = &problems
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Process.Kill(); err != nil {
			t.Logf("the server had ended: %v", err)
		}
		if err := c.Wait(); err != nil && problems.Len() > 0 {
			t.Logf("server: %s", lastLines(problems.Bytes()))
		}
	})
	port := make(chan string, 1)
	go func() {
		defer close(port)
		for s := bufio.NewScanner(out); s.Scan(); {
			if p, ok := strings.CutPrefix(s.Text(), "listening "); ok {
				port <- p
			}
		}
	}()
	select {
	case p, ok := <-port:
		if ok {
			return "http://127.0.0.1:" + p
		}
		t.Skipf("the engine doesn't run on this machine: %s", lastLines(problems.Bytes()))
	case <-time.After(60 * time.Second):
		t.Skip("the engine didn't start within a minute")
	}
	return ""
}

// measure runs the calibration ladder, then twice the same open loop at 70 % of what the ladder's mixed point reached.
func measure(t *testing.T, address string) *results.Run {
	t.Helper()
	target, err := bench.ParseTarget(address, false)
	if err != nil {
		t.Fatal(err)
	}
	client := bench.NewClient(target, "", "", 16, time.Minute)
	defer client.Close()
	limits := &bench.Budget{MaxRequests: 5000, MaxTokens: 3_000_000}
	ctx := context.Background()
	probed, err := client.Probe(ctx, limits)
	if err != nil {
		t.Fatal(err)
	}
	plan := bench.Ladder(bench.LadderOptions{MaxLength: probed.MaxLength, Seed: 1, PrefillTokens: []int{64, 256, 1024}, Concurrency: []int{1, 2, 4, 8}, OutputTokens: 64, Scale: 0.5})
	plan.Stages = plan.Stages[:len(plan.Stages)-1]
	for i := range plan.Stages {
		switch s := &plan.Stages[i]; s.Stage.Kind {
		case results.KindMixed:
			s.Jobs = jobs("mixed", 80)
			s.Seconds = 25
		case results.KindDecode: // more than the ladder's few rounds: a CPU's step times scatter
			one := s.Jobs[0]
			for len(s.Jobs) < 8*s.Stage.Concurrency {
				s.Jobs = append(s.Jobs, one)
			}
		}
	}
	plan.Grace = 10
	last := len(plan.Stages) - 1 // the mixed point
	plan.Stages = slices.Insert(plan.Stages, last, control("before the mixed point"))
	plan.Stages = slices.Insert(plan.Stages, 1, control("at first"))
	plan.Stages = append(plan.Stages, control("after the ladder"))
	for i := range 2 {
		plan.Stages = append(plan.Stages, bench.StagePlan{
			Stage: results.Stage{Name: fmt.Sprintf("held-out %d", i+1), Kind: results.KindHeldOut}, Open: true, Seconds: heldOutS, Most: 1000,
			Later: func(best float64) ([]bench.Job, float64) {
				return bench.Poisson(1, 0.7*best, heldOutS, jobs("held-out", 1000)), 0.7 * best
			},
		}, control(fmt.Sprint("after held-out ", i+1)))
	}
	r := bench.Runner{Client: client, Budget: limits, Header: results.Run{Tool: "scoville", File: "real engine", Engine: "llama.cpp", EngineVersion: "node-llama-cpp " + npmVersion}}
	began := time.Now()
	run, err := r.Run(ctx, &plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range run.Stages {
		t.Logf("%-32s %5.1f s, concurrency %d, rate %.2f/s", s.Name, s.EndSeconds-s.StartSeconds, s.Concurrency, s.RatePerSecond)
	}
	if run.Client.Bottleneck != "" {
		// Calibrate refuses such a run, rightly. Here client and engine share the machine, whatever else runs on it, and the bounds asserted
		// are wide.
		run.Client.Bottleneck = ""
	}
	for _, w := range run.Warnings {
		t.Log("bench:", w)
	}
	t.Logf("measured %d requests in %.0f s, load average %s", len(run.Records), time.Since(began).Seconds(), loadAverage())
	return run
}

// control is the same few requests, one after another, at several times of a run: they tell how the machine's own speed drifts. It is
// of the kind that isn't fitted.
func control(when string) bench.StagePlan {
	s := bench.StagePlan{Stage: results.Stage{Name: "control " + when, Kind: results.KindWarmup, Concurrency: 1}, Seconds: 10}
	for range 6 {
		s.Jobs = append(s.Jobs, bench.Job{Input: 64, Output: 64})
	}
	return s
}

// drift is the ratio of the slowest to the fastest mean E2E of the control stages.
func drift(run *results.Run) float64 {
	sum, n := map[int]float64{}, map[int]float64{}
	for _, q := range run.Records {
		if strings.HasPrefix(run.Stages[q.Stage].Name, "control") && q.OK() {
			sum[q.Stage] += q.E2ESeconds
			n[q.Stage]++
		}
	}
	low, high := math.Inf(1), 0.0
	for i := range run.Stages {
		if n[i] > 0 {
			low, high = math.Min(low, sum[i]/n[i]), math.Max(high, sum[i]/n[i])
		}
	}
	return high / low
}

func jobs(name string, n int) []bench.Job {
	s := random.New(1, 0, name)
	out := make([]bench.Job, n)
	for i := range out {
		out[i] = bench.Job{Input: 32 + s.IntN(225), Output: 16 + s.IntN(49)}
	}
	return out
}

// busy is the load average of the last minute, the engine's own and the client's included; 0 where it isn't known.
func busy() float64 {
	v, err := strconv.ParseFloat(strings.SplitN(loadAverage(), " ", 2)[0], 64)
	if err != nil {
		return 0
	}
	return v
}

func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(data))[:3], " ")
}

func deployment(t *testing.T) *calibrate.Deployment {
	t.Helper()
	chip, err := profiles.Chip("cpu-server")
	if err != nil {
		t.Fatal(err)
	}
	engine, err := profiles.Engine("llama.cpp", "0.6000")
	if err != nil {
		t.Fatal(err)
	}
	engine.Scheduler.MaxSequences, engine.Scheduler.MaxBatchedTokens = sequences, budget
	model := llm.Architecture{Name: "random-weights", Layers: shape.Layers, Hidden: shape.Hidden, Heads: shape.Heads, KVHeads: shape.KVHeads,
		HeadDim: shape.Hidden / shape.Heads, Intermediate: shape.Intermediate, Vocabulary: shape.Vocabulary, TiedEmbeddings: true, GatedFFN: true, MaxContext: shape.Context}
	precision := llm.NewPrecision(llm.FP32)
	precision.KV = llm.BF16
	return &calibrate.Deployment{
		Hardware: hardware.Deployment{Chip: chip, Model: model, Precision: precision, Split: llm.Split{}.Normal(), Engine: engine},
		Engine:   sim.Engine{Policy: sim.VLLMV1, MaxBatchedTokens: budget, MaxSequences: sequences, BlockTokens: 16, ChunkedPrefill: true},
	}
}

// TestRealEngine calibrates on a ladder of llama.cpp and predicts an open loop that it hasn't seen. What it asserts is only that the
// prediction is sane: a shared machine drifts by more than the calibration is off. The figures are in docs/accuracy-real-engine.md.
func TestRealEngine(t *testing.T) {
	run := measure(t, start(t, install(t)))
	dep := deployment(t)
	began := time.Now()
	p, fit, err := calibrate.Calibrate(context.Background(), dep, []*results.Run{run}, calibrate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("fitted in %.0f s: loss %.1f, model error %.3f, converged %v", time.Since(began).Seconds(), fit.Loss, fit.ModelError, fit.Converged)
	for _, e := range p.Estimates {
		t.Logf("%-20s %9.4g [%.3g, %.3g] informed %v", e.Name, e.Value, e.Low, e.High, e.Informed)
	}
	for _, c := range p.Confused {
		t.Logf("can't tell %s from %s: %.2f", c.A, c.B, c.Correlation)
	}
	for _, r := range fit.Residuals {
		t.Logf("fit %-12s %-10s measured %.4f predicted %.4f %+.1f %%", r.Load, r.Metric, r.Measured, r.Predicted, 100*r.Error())
	}
	for _, n := range p.Notes {
		t.Log("note:", n)
	}
	repeats := map[calibrate.Metric][]float64{}
	for _, r := range p.HeldOut {
		t.Logf("%s %-26s measured %9.4f predicted %9.4f %+6.1f %%", r.Load, r.Metric, r.Measured, r.Predicted, 100*r.Error())
		repeats[r.Metric] = append(repeats[r.Metric], r.Measured)
	}
	for _, m := range calibrate.Metrics() {
		if v := repeats[m]; len(v) == 2 {
			t.Logf("noise: %-26s %+6.1f %% from the first repeat to the second", m, 100*(v[1]/v[0]-1))
		}
	}
	d := drift(run)
	t.Logf("drift: the same lone requests took %.2f times as long at the slowest moment as at the fastest", d)
	if d > steady {
		t.Skipf("this machine's speed changed by a factor of %.2f during the run: no prediction can be judged on it", d)
	}
	if load := busy(); load > float64(runtime.NumCPU())+1 {
		t.Skipf("load average %.1f on %d cores: other work took turns with the engine, and more so the busier it was", load, runtime.NumCPU())
	}
	for m, limit := range map[calibrate.Metric]float64{calibrate.Throughput: 0.3, calibrate.TPOTMean: 1, calibrate.TTFTP50: 2} {
		for _, r := range p.HeldOut {
			if r.Metric == m && math.Abs(math.Log(r.Predicted/r.Measured)) > math.Log1p(limit) {
				t.Errorf("%s: %s predicted %.4g, measured %.4g: not sane", r.Load, m, r.Predicted, r.Measured)
			}
		}
	}
}

func TestModelFileIsDeterministic(t *testing.T) {
	small := Shape{Layers: 1, Hidden: 32, Heads: 4, KVHeads: 2, Intermediate: 64, Vocabulary: 300, Context: 64, Seed: 1}
	var a, b bytes.Buffer
	if err := WriteModel(&a, small); err != nil {
		t.Fatal(err)
	}
	if err := WriteModel(&b, small); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("the same shape gives different bytes")
	}
	if !bytes.HasPrefix(a.Bytes(), []byte("GGUF\x03\x00\x00\x00")) {
		t.Errorf("header %q", a.Bytes()[:8])
	}
	small.Seed = 2
	b.Reset()
	if err := WriteModel(&b, small); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("another seed gives the same bytes")
	}
	if err := WriteModel(&b, Shape{Layers: 1, Hidden: 32, Heads: 5, KVHeads: 2, Vocabulary: 300}); err == nil {
		t.Error("five heads in a width of 32 were accepted")
	}
}
