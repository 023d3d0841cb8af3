package workload

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// count tells how many arrivals lie in each of n equal steps.
func count(reqs []Request, stepSeconds float64, n int) []float64 {
	out := make([]float64, n)
	for _, r := range reqs {
		if k := int(float64(r.ArrivalNanoseconds) / 1e9 / stepSeconds); k < n {
			out[k]++
		}
	}
	return out
}

// TestHoursAndWeekdays: a week at 2/s follows the product of the multipliers, normalised, within 5 standard errors.
func TestHoursAndWeekdays(t *testing.T) {
	hourly := make([]string, 24)
	for h := range hourly {
		hourly[h] = fmt.Sprint(1 + h%3)
	}
	w := mustDecode(t, strings.Replace(chat, "[lengths]", "hourly = ["+strings.Join(hourly, ",")+"]\nweekday = [1, 1, 1, 1, 1, 0, 2]\nstart_hour = 24\n[lengths]", 1))
	const week, rate = 7 * 24, 2.0
	got := count(drain(t, mustSource(t, w, SourceOptions{RequestsPerSecond: rate, Seed: 1, HorizonSeconds: week * 3600}), 0, 1<<30), 3600, week)
	total := 0.0
	for k, n := range got {
		hour := (k + 24) % week
		want := rate * 3600 * float64(1+hour%24%3) / 2 * []float64{1, 1, 1, 1, 1, 0, 2}[hour/24]
		if math.Abs(n-want) > 5*math.Sqrt(want)+1e-9 {
			t.Errorf("hour %d of the run: %g arrivals, want %g", k, n, want)
		}
		total += n
	}
	if mean := total / week / 3600; math.Abs(mean/rate-1) > 0.01 {
		t.Errorf("mean rate %g, want %g", mean, rate)
	}
	if p := w.PeakToMean(); math.Abs(p-1.5*2) > 1e-9 {
		t.Errorf("peak over mean %g, want 3", p)
	}
	still := count(drain(t, mustSource(t, w, SourceOptions{RequestsPerSecond: rate, Seed: 1, HorizonSeconds: 4 * 3600, Stationary: true}), 0, 1<<30), 3600, 4)
	for k, n := range still {
		if math.Abs(n-7200) > 5*math.Sqrt(7200) {
			t.Errorf("stationary hour %d: %g arrivals, want 7200", k, n)
		}
	}
}

func TestRampSpikeAndShape(t *testing.T) {
	for _, tt := range []struct {
		toml string
		step float64
		want []float64 // multipliers of the rate by step
	}{
		{"ramp = { from = 0, to = 2, seconds = 400 }", 100, []float64{0.25, 0.75, 1.25, 1.75, 2, 2}},
		{"spike = { at_seconds = 100, seconds = 50, factor = 10 }", 50, []float64{1, 1, 10, 1}},
		{"shape = { step_seconds = 100, multipliers = [1, 0, 5] }", 100, []float64{0.5, 0, 2.5, 0.5, 0, 2.5}},
	} {
		w := mustDecode(t, strings.Replace(chat, "[lengths]", tt.toml+"\n[lengths]", 1))
		const rate = 50.0
		got := count(drain(t, mustSource(t, w, SourceOptions{RequestsPerSecond: rate, Seed: 3, HorizonSeconds: tt.step * float64(len(tt.want))}), 0, 1<<30), tt.step, len(tt.want))
		for k, n := range got {
			if want := rate * tt.step * tt.want[k]; math.Abs(n-want) > 5*math.Sqrt(want)+1e-9 {
				t.Errorf("%s: step %d has %g arrivals, want %g", tt.toml, k, n, want)
			}
		}
	}
}

// On-off traffic keeps its mean rate and is silent for its share of the time; a higher rate fills the same bursts.
func TestOnOffRateAndSilence(t *testing.T) {
	w := mustDecode(t, strings.Replace(chat, `process = "poisson"`, "process = \"on-off\"\non_off = { on_seconds = 10, off_seconds = 30, rate_cv = 0.5, rate_seconds = 2 }", 1))
	const horizon = 400_000
	low := count(drain(t, mustSource(t, w, SourceOptions{RequestsPerSecond: 1, Seed: 1, HorizonSeconds: horizon}), 0, 1<<30), 1, horizon)
	high := count(drain(t, mustSource(t, w, SourceOptions{RequestsPerSecond: 5, Seed: 1, HorizonSeconds: horizon}), 0, 1<<30), 1, horizon)
	sum := func(v []float64) (s float64) {
		for _, x := range v {
			s += x
		}
		return s
	}
	// Silences and bursts of mean 30 and 10 s: 10,000 cycles, so a few per cent.
	if r := sum(low) / horizon; math.Abs(r-1) > 0.06 {
		t.Errorf("mean rate %g, want 1", r)
	}
	if r := sum(high) / horizon; math.Abs(r-5) > 0.3 {
		t.Errorf("mean rate %g, want 5", r)
	}
	silent, apart := 0.0, 0
	for k := range high {
		if high[k] == 0 {
			silent++
			if low[k] > 1 {
				apart++
			}
		}
	}
	if share := silent / horizon; math.Abs(share-0.75) > 0.03 {
		t.Errorf("silent %.3f of the time, want 0.75", share)
	}
	if apart > horizon/200 {
		t.Errorf("%d seconds are busy at the low rate and silent at the high one: bursts moved", apart)
	}
}

func traceWorkload(t *testing.T, options string) *Workload {
	t.Helper()
	dir := t.TempDir()
	content := "arrival_seconds,input_tokens,output_tokens,class,session,prefix\n100.0,10,1,,,a:5\n101.0,20,0,,,a:5;b:5\n101.0,30,3,,,\n109.0,40,4,,,c:40\n"
	if err := os.WriteFile(filepath.Join(dir, "t.csv"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "w.toml"), []byte("name = \"t\"\n[trace]\nfile = \"t.csv\"\n"+options), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := ReadFile(filepath.Join(dir, "w.toml"))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func arrivals(reqs []Request) []float64 {
	var out []float64
	for _, r := range reqs {
		out = append(out, float64(r.ArrivalNanoseconds)/1e9)
	}
	return out
}

func TestReplay(t *testing.T) {
	w := traceWorkload(t, "")
	same := drain(t, mustSource(t, w, SourceOptions{}), 0, 100)
	if got := arrivals(same); fmt.Sprint(got) != "[0 1 1 9]" || same[1].OutputTokens != 1 || len(same[1].Blocks) != 2 {
		t.Errorf("replay at %v: %+v", got, same)
	}
	// The own rate is 3 in 9 s; at twice the rate time runs twice as fast.
	if got := arrivals(drain(t, mustSource(t, w, SourceOptions{RequestsPerSecond: 2.0 / 3}), 0, 100)); fmt.Sprint(got) != "[0 0.5 0.5 4.5]" {
		t.Errorf("at twice the rate %v", got)
	}
	if math.Abs(w.OwnRate()-1.0/3) > 1e-12 || w.MeanInput() != 25 || w.MaxLength() != 44 {
		t.Errorf("rate %g, mean input %g, longest %d", w.OwnRate(), w.MeanInput(), w.MaxLength())
	}
	looped := drain(t, mustSource(t, traceWorkload(t, "loop = true\n"), SourceOptions{MaxRequests: 6}), 0, 100)
	if got := arrivals(looped); fmt.Sprint(got) != "[0 1 1 9 12 13]" {
		t.Errorf("loop %v", got)
	}
	if looped[4].InputTokens != 10 || looped[4].Blocks[0].Key == looped[0].Blocks[0].Key {
		t.Error("a second pass shares prefixes with the first")
	}
	if warnings := strings.Join(w.Warnings(), "; "); !strings.Contains(warnings, "33.3 % of the trace's arrivals share a timestamp") || !strings.Contains(warnings, "1 rows of the trace have zero tokens") {
		t.Errorf("warnings %q", warnings)
	}
}

// TestResamplingKeepsPeaks: a bursty trace resampled at 4 times the rate has 4 times the peaks, where compressing time
// moves them into shorter windows.
func TestResamplingKeepsPeaks(t *testing.T) {
	bursty := mustDecode(t, strings.Replace(chat, `process = "poisson"`, "process = \"on-off\"\non_off = { on_seconds = 5, off_seconds = 20 }", 1))
	var b strings.Builder
	if err := WriteTrace(&b, bursty, mustSource(t, bursty, SourceOptions{RequestsPerSecond: 20, Seed: 1, HorizonSeconds: 2000})); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "t.csv"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &Workload{Name: "r", Trace: &Trace{File: "t.csv", Mode: "resample"}}
	w.SetDir(dir)
	if err := w.Validate(); err != nil {
		t.Fatal(err)
	}
	peak := func(rate float64) float64 {
		best := 0.0
		for _, n := range count(drain(t, mustSource(t, w, SourceOptions{RequestsPerSecond: rate, Seed: 2, HorizonSeconds: 1900}), 0, 1<<30), 1, 1900) {
			best = max(best, n)
		}
		return best
	}
	own := w.OwnRate()
	if a, b := peak(own), peak(4*own); math.Abs(b/a/4-1) > 0.15 {
		t.Errorf("1 s peak %g at the own rate, %g at 4 times", a, b)
	}
	x := drain(t, mustSource(t, w, SourceOptions{RequestsPerSecond: own, Seed: 2}), 0, 1000)
	y := drain(t, mustSource(t, w, SourceOptions{RequestsPerSecond: 4 * own, Seed: 2}), 0, 1000)
	for i := range x {
		if x[i].InputTokens != y[i].InputTokens || x[i].OutputTokens != y[i].OutputTokens {
			t.Fatalf("request %d differs between rates", i)
		}
	}
}

// Steady state allocates nothing, with prefixes and modulation as well.
func TestNextAllocatesNothing(t *testing.T) {
	text := strings.Replace(chat, "[lengths]", "hourly = [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24]\n[lengths]\ncorrelation = 0.4", 1) +
		"[prefix]\nsystem_tokens = 100\nreuse = { distribution = \"uniform\", low = 0.1, high = 0.5 }\n"
	s := mustSource(t, mustDecode(t, text), SourceOptions{Seed: 1})
	var r Request
	for range 10000 {
		s.Next(&r)
	}
	if n := testing.AllocsPerRun(10000, func() { s.Next(&r) }); n > 0 {
		t.Errorf("%g allocations a request", n)
	}
}

// Source notices a change after Validate.
func TestSourceNoticesAChange(t *testing.T) {
	w := mustDecode(t, chat)
	w.Lengths.Input = Distribution{Kind: "fixed", Value: 7}
	if r := drain(t, mustSource(t, w, SourceOptions{}), 0, 1); r[0].InputTokens != 7 {
		t.Errorf("input %d after the description changed to 7", r[0].InputTokens)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{chat, closed, sessions} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if strings.Contains(string(data), "trace") { // would open files
			return
		}
		w, err := Decode("fuzz.toml", data)
		if err != nil {
			return
		}
		s, err := w.Source(SourceOptions{RequestsPerSecond: 1, MaxRequests: 20})
		if err != nil {
			return
		}
		var r Request
		for s.Next(&r) {
			if r.InputTokens < 1 || r.OutputTokens < 1 {
				t.Fatalf("%+v", r)
			}
		}
	})
}
