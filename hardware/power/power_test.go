package power

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"scoville/hardware/results"
)

func shared(t *testing.T, path string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			if full := filepath.Join(dir, "..", "shared", path); exists(full) {
				return full
			}
			t.Skip("../shared is absent")
		}
	}
	t.Skip("no repository root")
	return ""
}

func exists(p string) bool { _, err := os.Stat(p); return err == nil }

func TestSamples(t *testing.T) {
	for file, want := range map[string]struct {
		samples, devices int
		watts, celsius   float64 // of the first sample; NaN: unknown
		unix             float64
	}{
		"nvidia-smi_units_NA_excerpt.csv":                           {8, 1, 67.97, 28, 0},
		"powertrace-sim_h100_qwen3-8b_nvidia-smi_excerpt.csv":       {18, 1, 122.76, 48, 1784397482.972},
		"amd-smi_metric_watch_csv_SYNTHETIC_values_real_header.csv": {2, 1, 812, 71, 1736942096},
		"amd-smi_metric_E_csv_shape.csv":                            {1, 1, 238, math.NaN(), 0},
		"rocm-smi_csv_excerpts.csv":                                 {1, 1, 15, 38, 0},
		"npu-smi_info_910B2C_excerpt.txt":                           {2, 2, 94.8, 60, 0},
		"powermetrics_text_excerpt.txt":                             {1, 1, 1.203, math.NaN(), 0},
		"cmontemuino_mi300x_llama8b_bs8_gpu_power.csv":              {0, 8, 154, math.NaN(), 1754586812},
	} {
		l, err := ReadFile(shared(t, "data/samples/power/"+file), Options{Location: time.UTC})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		s := l.Samples[0]
		if want.samples > 0 && len(l.Samples) != want.samples || len(l.Devices()) != want.devices || s.Watts != want.watts || !same(s.CelsiusMax, want.celsius) || want.unix > 0 && math.Abs(s.UnixSeconds-want.unix) > 0.01 {
			t.Errorf("%s: %d samples of %v, first %+v", file, len(l.Samples), l.Devices(), s)
		}
	}
	for _, file := range []string{"neuron-monitor_json_format_doc_excerpt.rst", "tpu-info_static_readme_excerpt.md", "dcgm_default-counters.csv", "dcgm-exporter_metrics_readme_excerpt.txt"} {
		if l, err := ReadFile(shared(t, "data/samples/power/"+file), Options{}); err == nil {
			t.Errorf("%s: read as %d samples, though it holds no power", file, len(l.Samples))
		} else if !strings.Contains(err.Error(), "power") {
			t.Errorf("%s: %v", file, err)
		}
	}
	l, err := ReadFile(shared(t, "data/samples/aiperf/qwen_concurrency1_gpu_telemetry_export.jsonl"), Options{})
	if err != nil || l.Samples[0].Watts != 30.257 || math.Abs(l.Samples[0].EnergyJoules-32.62748095e6) > 1 {
		t.Errorf("AIPerf telemetry: %v %+v", err, l)
	}
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func parse(t *testing.T, text string) *Log {
	t.Helper()
	l, err := Parse("log", []byte(text), Options{Location: time.UTC, UnixSeconds: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// 100 W rising to 200 W over 10 s on one device, 50 W on the other: 1500 J + 500 J.
func TestTrapezoid(t *testing.T) {
	var b strings.Builder
	b.WriteString("timestamp,device,power_watts\n")
	for i := -1; i <= 11; i++ {
		fmt.Fprintf(&b, "%d,a,%d\n%d.5,b,50\n", 1700000000+i, 100+10*i, 1700000000+i)
	}
	l := parse(t, b.String())
	e, err := l.Between(1700000000, 1700000010)
	if err != nil || math.Abs(e.Joules-2000) > 1e-6 || e.Devices != 2 || math.Abs(e.MeanWatts-200) > 1e-6 {
		t.Errorf("%+v %v", e, err)
	}
	// Ends between samples are interpolated: from 0.5 to 1.5 the first device takes 110 J.
	if e, err := l.Between(1700000000.5, 1700000001.5); err != nil || math.Abs(e.Joules-160) > 1e-6 {
		t.Errorf("%+v %v", e, err)
	}
	for _, span := range [][2]float64{{1699999990, 1700000005}, {1700000005, 1700000020}} {
		if _, err := l.Between(span[0], span[1]); err == nil || !strings.Contains(err.Error(), "must cover") {
			t.Errorf("%v: %v", span, err)
		}
	}
}

func TestGapsAreRefused(t *testing.T) {
	l := parse(t, "timestamp,device,power_watts\n100,a,10\n101,a,10\n104.5,a,10\n105,a,10\n")
	if _, err := l.Between(100, 105); err == nil || !strings.Contains(err.Error(), "no sample for 3.5 s") {
		t.Errorf("%v", err)
	}
	// A sample without a value makes a gap as well.
	l = parse(t, "timestamp,device,power_watts\n100,a,10\n102,a,[N/A]\n104,a,10\n")
	if _, err := l.Between(100, 104); err == nil {
		t.Error("a gap of 4 s over an N/A was bridged")
	}
}

func TestSentinels(t *testing.T) {
	for _, cell := range []string{"N/A", "[N/A]", "[Not Supported]", "[Unknown Error]", "ERR!", "", "-", "N/A (Secondary die)", "9223372036854775794", "140737488355328", "nan", "inf"} {
		if x := figure(cell); !math.IsNaN(x) {
			t.Errorf("%q is %g", cell, x)
		}
	}
	for cell, want := range map[string]float64{"412.34 W": 412.34, "97 %": 97, "72770 MiB": 72770, "-5": -5} {
		if x := figure(cell); x != want {
			t.Errorf("%q is %g", cell, x)
		}
	}
	l := parse(t, "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\", UUID=\"A\"} 9223372036854775794\nDCGM_FI_DEV_POWER_USAGE{gpu=\"1\",UUID=\"B\",GPU_I_ID=\"1\"} 300.5\nDCGM_FI_DEV_POWER_USAGE{gpu=\"1\",UUID=\"B\",GPU_I_ID=\"2\"} 300.5\nDCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"1\",UUID=\"B\"} 12000\n")
	if len(l.Samples) != 1 || l.Samples[0].Watts != 300.5 || l.Samples[0].EnergyJoules != 12 || l.Samples[0].UnixSeconds != 1000 {
		t.Errorf("%+v", l.Samples)
	}
}

func TestNvidiaVariants(t *testing.T) {
	for name, text := range map[string]string{
		"units":             "timestamp, index, power.draw [W], power.draw.instant [W], clocks_throttle_reasons.active\n2025/01/15 12:34:56.789, 0, 400.00 W, 412.34 W, 0x0000000000000040\n2025/01/15 12:34:57.789, 0, 400.00 W, 412.34 W, 0x0000000000000000\n",
		"no units, cut off": "timestamp,index,power.draw [W],power.draw.instant [W],clocks_throttle_reasons.active\n2025/01/15 12:34:56.789,0,400.00,412.34,0x40\n2025/01/15 12:34:57.789,0,400.00,412.34,0x0\n2025/01/15 12:34:5",
	} {
		l := parse(t, text)
		if len(l.Samples) != 2 || l.Samples[0].Watts != 412.34 || l.Samples[0].Throttled != "hardware thermal slowdown" || l.Samples[1].Throttled != "" || math.Abs(l.Samples[0].UnixSeconds-1736944496.789) > 1e-3 {
			t.Errorf("%s: %+v", name, l.Samples)
		}
	}
	// hl-smi writes the same shape.
	l := parse(t, "index, power.draw [W], temperature.aip [C], utilization.aip [%]\n0, 350 W, 45 C, 80 %\n1, 340 W, 44 C, 79 %\n")
	if len(l.Samples) != 2 || l.Samples[1].Watts != 340 || l.Samples[0].CelsiusMax != 45 {
		t.Errorf("%+v", l.Samples)
	}
}

// The second die of a dual-die card prints "-": the first carries the card.
func TestDualDieCountsOnce(t *testing.T) {
	l := parse(t, "| npu-smi 25.0 Version: 25.0 |\n| 0     Ascend910           | OK            | 163.1       36                0    / 0             |\n| 0     0                   | 0000:9D:00.0  | 0           0    / 0          3445 / 65536         |\n| 0     Ascend910           | OK            | -           35                0    / 0             |\n| 1     1                   | 0000:9F:00.0  | 0           0    / 0          3100 / 65536         |\n")
	if len(l.Samples) != 1 || l.Samples[0].Watts != 163.1 {
		t.Errorf("%+v", l.Samples)
	}
	l = parse(t, "device,Average Graphics Package Power (W)\ncard0,450.0\ncard1,N/A (Secondary die)\n")
	if len(l.Samples) != 1 || l.Samples[0].Watts != 450 {
		t.Errorf("%+v", l.Samples)
	}
}

func TestRAPL(t *testing.T) {
	root := t.TempDir()
	for name, uj := range map[string]string{"intel-rapl:0": "5000000", "intel-rapl:1": "7000000", "intel-rapl:0:0": "100"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name, "energy_uj"), []byte(uj+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l, err := readRAPL(root)
	if err != nil || len(l.Samples) != 2 || l.Samples[0].EnergyJoules != 5 {
		t.Fatalf("%+v %v", l, err)
	}
	// 100 J a second, with one wrap that must not count as power.
	n := math.NaN()
	var log Log
	for i, j := range []float64{0, 100, 200, 5, 105} {
		log.Samples = append(log.Samples, Sample{UnixSeconds: 1000 + float64(i), Device: "p", Watts: n, EnergyJoules: j})
	}
	if e, err := log.Between(1000, 1004); err != nil || math.Abs(e.Joules-400) > 1e-6 {
		t.Errorf("%+v %v", e, err)
	}
}

func TestJoin(t *testing.T) {
	var b strings.Builder
	b.WriteString("timestamp,gpu,socket_power,hotspot\n")
	for i := range 30 {
		fmt.Fprintf(&b, "%d,0,500,%d\n", 1700000000+i, 60+i)
	}
	l := parse(t, b.String())
	r := &results.Run{StartUnixSeconds: 1700000002, DurationSeconds: 20, OutputTokens: 100000, Stages: []results.Stage{{Kind: results.KindLoad, EndSeconds: 20}}}
	if err := l.Join(r); err != nil {
		t.Fatal(err)
	}
	if p := r.Power; math.Abs(p.Joules-10000) > 1e-6 || math.Abs(p.JoulesPerToken-0.1) > 1e-9 || math.Abs(p.TokensPerSecondW-10) > 1e-9 || p.TemperatureMaxC != 82 {
		t.Errorf("%+v", p)
	}
	if err := l.Join(&results.Run{}); err == nil {
		t.Error("joined to a clock without origin")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("timestamp, power.draw [W]\n2025/01/15 12:34:56.789, 412.34 W\n"))
	f.Add([]byte("DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 12\n"))
	f.Add([]byte("npu-smi\n| 0 910B | OK | 94.8 60 0 / 0 |\n"))
	f.Add([]byte("CPU Power: 1000 mW\nGPU Power: 200 mW\n"))
	f.Add([]byte(`{"timestamp_ns":1,"telemetry_data":{"gpu_power_usage":3}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := Parse("fuzz", data, Options{Location: time.UTC, UnixSeconds: 5})
		if err != nil {
			return
		}
		for _, s := range l.Samples {
			if s.Watts < 0 || s.Watts > 1e6 {
				t.Errorf("%g W", s.Watts)
			}
		}
		if e, err := l.Between(1, 2); err == nil && (math.IsNaN(e.Joules) || e.Joules < 0) {
			t.Errorf("%+v", e)
		}
	})
}
