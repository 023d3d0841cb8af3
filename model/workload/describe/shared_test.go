package describe

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

// near checks a figure to the digits given: half a unit in the last place of want's text.
func near(t *testing.T, what string, got float64, want string) {
	t.Helper()
	w, err := strconv.ParseFloat(want, 64)
	if err != nil {
		t.Fatal(err)
	}
	digits := 0
	if _, f, ok := strings.Cut(want, "."); ok {
		digits = len(f)
	}
	if half := 0.5 * math.Pow10(-digits); math.Abs(got-w) > half*1.0001 {
		t.Errorf("%s: %.6g, want %s", what, got, want)
	}
}

// TestPublicTraces compares with figures computed independently from the same public files.
func TestPublicTraces(t *testing.T) {
	tests := []struct {
		file          string
		rows          int64
		arrivals      string // span, rate, gap CV, peaks 1/10/60 s, sliding, peak/mean 1/10/60, dispersion 1/10/60, gap p50, p99, max
		input, output string // mean, cv, min, p50, p90, p95, p99, max, mu, sigma, lognormal mean, p99, KS, gamma k, theta, ML k, KS
		correlation   string // Pearson, Spearman, log, sum in, sum out
		tokens        string // input tokens peak/mean 10/60 s, output tokens
	}{
		{"azure2023/AzureLLMInferenceTrace_code.csv.gz", 8819,
			"3435.9 2.5664 13.151 67.0 32.70 10.533 72 26.11 12.74 4.10 13.19 71.64 163.96 0.0638 2.205 217.2",
			"2047.85 0.964 3 1469.0 5187.6 7303.3 7436.0 7437 6.9986 1.3602 2762 25924 0.107 1.0765 1902.36 0.9302 0.035",
			"27.88 2.147 6 13.0 55.0 90.0 251.5 1899 2.7882 0.8472 23 117 0.133 0.2170 128.51 1.0619 0.208",
			"0.0012 -0.0215 -0.0045 18059974 245896", "13.37 4.21 12.30 3.88"},
		{"azure2023/AzureLLMInferenceTrace_conv.csv.gz", 19366,
			"3501.7 5.5301 1.094 16.0 9.80 8.450 19 2.89 1.77 1.53 1.39 3.86 16.13 0.1184 0.890 4.3",
			"1154.70 0.960 2 1020.0 2734.5 4083.0 4142.0 14050 6.6333 0.9852 1235 7519 0.159 1.0845 1064.72 1.3375 0.137",
			"211.13 0.771 7 129.0 424.0 451.0 601.0 1000 5.0190 0.8590 219 1116 0.182 1.6804 125.64 1.6464 0.183",
			"-0.1124 0.0728 0.0875 22361870 4088665", "2.59 1.91 1.71 1.28"},
		{"mooncake/conversation_trace.jsonl.gz", 12031,
			"3537.0 3.4012 3.034 28.0 6.70 4.117 28 8.23 1.97 1.21 7.90 2.10 2.89 0.0000 3.001 3.0",
			"12035.06 1.313 891 6909.0 27367.0 39550.5 85400.4 126195 8.7367 1.1991 12780 101343 0.067 0.5802 20743.63 0.8887 0.090",
			"342.62 0.729 1 350.0 597.0 698.0 1118.5 2000 5.3364 1.3584 523 4897 0.212 1.8796 182.28 1.1372 0.165",
			"0.0719 0.0717 0.0511 144793823 4122048", "2.19 1.28 2.14 1.39"},
		{"mooncake/synthetic_trace.jsonl.gz", 3993,
			"1022.0 3.9060 1.011 13.0 5.50 4.550 14 3.33 1.41 1.16 1.09 1.18 1.19 0.1750 1.215 2.1",
			"15325.48 1.199 13 11587.0 38611.2 48904.6 66456.2 191378 7.9819 2.6999 112044 1564101 0.203 0.6952 22043.69 0.3979 0.162",
			"149.12 1.195 1 69.0 389.0 519.0 768.1 893 3.9163 1.7685 240 3073 0.105 0.7006 212.83 0.5717 0.089",
			"-0.3741 -0.5166 -0.4905 61194628 595432", "2.12 1.59 1.95 1.37"},
		{"ragpulse/0_trace.jsonl.gz", 7106,
			"604603.0 0.0118 3.061 3.0 0.40 0.167 3 255.29 34.04 14.18 1.01 1.07 1.73 32.0000 659.640 7763.0",
			"2943.58 0.343 1052 3139.5 3958.5 4425.0 5438.3 7712 7.9082 0.4341 2988 7466 0.263 8.5066 346.03 6.4761 0.239",
			"283.24 0.700 7 234.0 563.0 670.0 891.0 2183 5.3875 0.7762 296 1330 0.038 2.0406 138.80 2.0833 0.027",
			"0.4274 0.4207 0.4891 20917099 2012676", ""},
		{"lengths/sharegpt_8k_filtered_stats_llama2_tokenizer.csv.gz", 30731, "",
			"2340.03 0.893 1 1730.0 5696.0 6563.0 7433.7 8141 7.0065 1.6257 4138 48462 0.121 1.2550 1864.57 0.7910 0.058",
			"438.71 0.605 2 415.0 834.0 920.0 998.0 1024 5.7694 1.0011 529 3289 0.141 2.7276 160.84 1.7383 0.086",
			"0.0408 0.0506 0.0624 71911571 13481988", ""},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			d, err := File(sharedTrace(t, tt.file), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if d.Report.Rows != tt.rows || d.Report.Emitted != tt.rows {
				t.Errorf("report %+v, want %d rows", d.Report, tt.rows)
			}
			if tt.arrivals != "" {
				a := d.Arrivals
				w := a.Windows
				compare(t, "arrivals", tt.arrivals, a.SpanSeconds, a.MeanRate, a.GapCV, w[0].Peak, w[1].Peak, w[2].Peak, float64(a.SlidingPeak), w[0].PeakToMean, w[1].PeakToMean, w[2].PeakToMean,
					w[0].Dispersion, w[1].Dispersion, w[2].Dispersion, a.GapP50, a.GapP99, a.GapMax)
			}
			if tt.tokens != "" {
				w := d.Arrivals.Windows
				compare(t, "token peaks", tt.tokens, w[1].InputPeak, w[2].InputPeak, w[1].OutputPeak, w[2].OutputPeak)
			}
			for _, s := range []struct {
				l    *Lengths
				want string
			}{{d.Input, tt.input}, {d.Output, tt.output}} {
				l := s.l
				compare(t, "lengths", s.want, l.Mean, l.CV, float64(l.Min), l.P50, l.P90, l.P95, l.P99, float64(l.Max), l.Mu, l.Sigma, l.LognormalMean, l.LognormalP99, l.LognormalKS,
					l.GammaShape, l.GammaScale, l.GammaMLShape, l.GammaKS)
			}
			compare(t, "correlation", tt.correlation, d.Correlation.Pearson, d.Correlation.Spearman, d.Correlation.Log, d.Input.Sum, d.Output.Sum)
		})
	}
}

func compare(t *testing.T, what, want string, got ...float64) {
	t.Helper()
	fields := strings.Fields(want)
	if len(fields) != len(got) {
		t.Fatalf("%s: %d figures for %d", what, len(got), len(fields))
	}
	for i, f := range fields {
		near(t, fmt.Sprintf("%s[%d]", what, i), got[i], f)
	}
}

func TestPublicBursts(t *testing.T) {
	d, err := File(sharedTrace(t, "azure2023/AzureLLMInferenceTrace_code.csv.gz"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := d.Arrivals.Bursts
	compare(t, "bursts", "58 152 16.7 43.2 1.09 9.02 2.21", float64(b.Count), b.MeanRequests, b.MeanSeconds, b.MeanGap, b.GapCV, b.Rate, b.InsideCV)
	near(t, "silent %", 100*d.Arrivals.SilentShare, "71.7")
	near(t, "lag 1", d.Arrivals.Lag1, "0.757")
}

// Mooncake's prefix reuse: blocks, distinct, block hit %, token hit %, no hit %, half hit %, mean %, new tokens a request,
// then LRU caches of 1k, 5k, 10k, 30k, 50k and 100k blocks.
func TestPublicPrefixes(t *testing.T) {
	for file, want := range map[string]string{
		"mooncake/conversation_trace.jsonl.gz": "288500 182790 36.64 37.36 0.01 42.5 38.4 7538 4.5 11.3 21.5 33.2 36.2 37.1",
		"mooncake/synthetic_trace.jsonl.gz":    "121877 43924 63.96 65.12 55.4 44.3 42.3 5345 8.4 28.4 43.1 63.6 65.1 65.1",
	} {
		d, err := File(sharedTrace(t, file), Options{})
		if err != nil {
			t.Fatal(err)
		}
		p := d.Prefix
		got := []float64{float64(p.Blocks), float64(p.Distinct), 100 * p.BlockHit, 100 * p.TokenHit, 100 * p.NoHit, 100 * p.HalfHit, 100 * p.MeanHit, p.NewPerCall}
		for _, l := range p.LRU {
			got = append(got, 100*l.TokenHit)
		}
		compare(t, file, want, got...)
		r := d.Report
		if r.BlocksCeil != r.Rows || r.BlockTokens != 512 {
			t.Errorf("%s: %+v", file, r)
		}
	}
	d, err := File(sharedTrace(t, "ragpulse/0_trace.jsonl.gz"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Shares of the tokens of the parts: 31.5 % with an unbroken head, 72.0 % anywhere.
	near(t, "ragpulse head", 100*d.Prefix.TokenHit/d.Prefix.InBlocks, "31.5")
	near(t, "ragpulse anywhere", 100*d.Prefix.AnyHit/d.Prefix.InBlocks, "72.0")
	s := d.Sessions
	compare(t, "ragpulse sessions", "3990 2347 1.78 8 25 40 35479", float64(s.Count), float64(s.SingleTurn), s.MeanTurns, s.P99Turns, float64(s.MaxTurns), s.GapP50, s.GapP99)
	if r := d.Report; r.OutOfOrder != 1 || r.EqualTimestamps != 64 || r.BlankLines != 1 {
		t.Errorf("ragpulse: %+v", r)
	}
}

// The clock of the Mooncake trace ticks every 3 s; spread, its arrivals look Poisson.
func TestPublicTies(t *testing.T) {
	path := sharedTrace(t, "mooncake/conversation_trace.jsonl.gz")
	d, err := File(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r := d.Report; r.EqualTimestamps != 10851 || r.Duplicates != 1 {
		t.Errorf("%+v", r)
	}
	near(t, "tied %", 100*d.Arrivals.Tied, "90.2")
	if len(d.Warnings) == 0 || !strings.Contains(d.Warnings[0], "the clock is coarse") {
		t.Errorf("no warning of the coarse clock: %q", d.Warnings)
	}
	d, err = File(path, Options{SpreadTies: true, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if a := d.Arrivals; math.Abs(a.GapCV-1.009) > 0.03 || a.Windows[0].Peak < 11 || a.Windows[0].Peak > 17 || math.Abs(a.Windows[0].Dispersion-1.05) > 0.08 {
		t.Errorf("spread: gap CV %g, 1 s peak %g, dispersion %g; 1.009, 14 and 1.05 with other draws", a.GapCV, a.Windows[0].Peak, a.Windows[0].Dispersion)
	}
}
