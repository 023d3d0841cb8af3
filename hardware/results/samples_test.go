package results

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shared is the folder of public samples beside the repository, where there is one.
func shared(t *testing.T, path string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			full := filepath.Join(dir, "..", "shared", path)
			if _, err := os.Stat(full); err != nil {
				t.Skip("../shared is absent")
			}
			return full
		}
	}
	t.Skip("no repository root")
	return ""
}

// want holds milliseconds; -1 says the figure must be unknown, 0 that it isn't looked at.
type want struct {
	file, tool              string
	runs, completed, failed int
	ttft, tpot, itl, e2e    float64
	p99ttft                 float64
	rps, tps                float64
	warning                 string
}

func TestSamplesImportWithTheFiguresTheirToolPrinted(t *testing.T) {
	for _, w := range []want{
		{file: "vllm/dstack_1p3d_conc128_in128_out2048_20250914_020816.json", tool: "vllm", runs: 1, completed: 500, ttft: 386.121, tpot: 10.6956, itl: 9.8910, e2e: -1, p99ttft: 1001.939, rps: 12.76674, tps: 8706.43},
		{file: "vllm/dstack_h100_405b_16qps_detailed.TRIMMED40.json", tool: "vllm", runs: 1, completed: 1000, ttft: -1, tpot: 106.5389, itl: 99.4888, rps: 9.9337, tps: 1198.888, warning: "without any generated token"},
		{file: "vllm/dstack_mi300x_405b_1000qps_all_failed_detailed.TRIMMED15.json", tool: "vllm", runs: 1, completed: 0, failed: 1000, ttft: -1, tpot: -1, itl: -1, e2e: -1, warning: "no request succeeded"},
		{file: "vllm/er0080_bench_serve_all_requests_failed_v0.25.1.json", tool: "vllm", runs: 1, completed: 0, failed: 8, ttft: -1, tpot: -1, itl: -1, e2e: -1},
		{file: "vllm/cmontemuino_mi300x_bench_latency_llama8b_bs8.json", tool: "vllm latency", runs: 1, completed: 10, ttft: -1, tpot: -1, e2e: 920.404, warning: "cold start"},
		{file: "vllm/dstack_bench_throughput_ip128_op2048_np128.json", tool: "vllm throughput", runs: 1, completed: 128, rps: 0.596251},
		{file: "sglang/tonyli15_agg_n100_in128_out64_c8.jsonl", tool: "sglang", runs: 1, completed: 100, ttft: 27.43346, tpot: 6.507914, itl: 6.580722, e2e: 224.3425, p99ttft: 53.8978, rps: 34.0251, tps: 1048.313},
		{file: "sglang/tonyli15_agg_n100_in512_out128_c32.jsonl", tool: "sglang", runs: 1, completed: 100, ttft: 42.449, tpot: 8.544, itl: 8.478, e2e: 557.913},
		{file: "aiperf/qwen_concurrency1_profile_export_aiperf.json", tool: "aiperf", runs: 1, completed: 64, ttft: 30.81499, tpot: 18.19910, itl: 18.19764, e2e: 3652.145, p99ttft: 34.34427, rps: 0.25043, tps: 50.0821},
		{file: "aiperf/qwen_concurrency1_profile_export.jsonl", tool: "aiperf", runs: 1, completed: 10, ttft: 31.276, tpot: 18.082, e2e: 3629.64},
		{file: "genai-perf/cloudai_docs_profile_genai_perf_n40.csv", tool: "genai-perf", runs: 1, completed: 40, ttft: 1146.31, tpot: 30.35, itl: -1, e2e: 6406.2, p99ttft: 3457.97, rps: 1.5, tps: 261.25},
		{file: "genai-perf/profile_export_perf_analyzer_doc_excerpt.json", tool: "perf_analyzer", runs: 1, completed: 1, ttft: -1, tpot: -1, e2e: 58.6147},
		{file: "guidellm/v0.2_benchmarks_stripped.json", tool: "guidellm", runs: 1, completed: 46, ttft: 16.79254, tpot: 4.941609, e2e: 644.4744, rps: 46 / 29.9972},
		{file: "guidellm/v0.8.0dev_guidellm_report_v2.json", tool: "guidellm", runs: 2, completed: 2, ttft: 11.48117, tpot: 1.150846, e2e: 19.7891},
		{file: "inference-perf/kubecon-na-2025_vllm_batch_size_stage_0_lifecycle_metrics.json", tool: "inference-perf", runs: 1, completed: 60, ttft: 33.319, tpot: 7.333, itl: -1, e2e: 483.228, warning: "contradicts its own E2E"},
		{file: "inference-perf/kubecon-na-2025_vllm_batch_size_summary_lifecycle_metrics.json", tool: "inference-perf", runs: 1, completed: 47002, ttft: 1543.4536, tpot: 23.79, itl: -1, e2e: 3014.153},
		{file: "inference-perf/llmd_inference_perf_lifecycle_v0.6.yaml", tool: "inference-perf", runs: 1, completed: 3, ttft: 33.333, itl: 152.222, e2e: 490},
		{file: "llmperf/summary_anyscale_7b.json", tool: "llmperf", runs: 1, completed: 150, ttft: 225.1834, tpot: 18.1473, e2e: 2947.270, p99ttft: 455.751},
		{file: "llmperf/individual_anyscale_7b.json", tool: "llmperf", runs: 1, completed: 150, ttft: 225.1834, tpot: 18.1473, e2e: 2947.270},
		{file: "llama-bench/kyuz0_build9927_qwen3.5-122b_curve-generation.jsonl", tool: "llama-bench", runs: 9, completed: 3, ttft: -1, tpot: 1e3 / 21.626115, e2e: 5918.7816},
		{file: "llama-bench/llamacpp_readme_json.json", tool: "llama-bench", runs: 2, completed: 5, tpot: -1},
		{file: "llama-bench/lhl_build6077_llama-2-7b_first60lines.jsonl", tool: "llama-bench", runs: 60, completed: 5},
		{file: "mlperf/v4.1_asustek_8xH100_llama2-70b-99_Server_mlperf_log_summary.txt", tool: "mlperf", runs: 1, ttft: 267.0786, tpot: 135.4853, e2e: 39407.56, p99ttft: 560.6734, rps: 27.82, tps: 8094.27},
		{file: "mlperf/amd_8xMI300X_llama2-70b-99.9_Offline_mlperf_log_summary.txt", tool: "mlperf", runs: 1, completed: 245520, ttft: -1, tpot: -1, e2e: -1, rps: 92.1544, tps: 27803.9},
		{file: "mlperf/amd_8xMI300X_llama2-70b-99.9_Interactive_mlperf_log_summary.txt", tool: "mlperf", runs: 1, ttft: 201.33, tpot: 32.102, e2e: 9716.742},
	} {
		t.Run(w.file, func(t *testing.T) { w.check(t) })
	}
}

func (w *want) check(t *testing.T) {
	runs, err := ReadFile(shared(t, "data/samples/"+w.file))
	if err != nil {
		t.Fatal(err)
	}
	r := runs[0]
	if r.Tool != w.tool || len(runs) != w.runs || r.Completed != w.completed || r.Failed != w.failed {
		t.Errorf("%s, %d runs, %d completed, %d failed; want %s, %d, %d, %d", r.Tool, len(runs), r.Completed, r.Failed, w.tool, w.runs, w.completed, w.failed)
	}
	for _, v := range []struct {
		name string
		d    *Distribution
		want float64
	}{{"TTFT", r.Latency.TTFT, w.ttft}, {"TPOT", r.Latency.TPOT, w.tpot}, {"ITL", r.Latency.ITL, w.itl}, {"E2E", r.Latency.E2E, w.e2e}} {
		switch {
		case v.want < 0:
			if v.d.Known() {
				t.Errorf("%s is %g ms, want unknown", v.name, v.d.Mean*1e3)
			}
		case v.want > 0:
			if !v.d.Known() || math.Abs(v.d.Mean*1e3-v.want) > 2e-4*v.want {
				t.Errorf("%s is %+v, want %g ms", v.name, v.d, v.want)
			}
		}
	}
	if w.p99ttft > 0 {
		if x, ok := r.Latency.TTFT.At(0.99); !ok || math.Abs(x*1e3-w.p99ttft) > 1e-4*w.p99ttft {
			t.Errorf("TTFT p99 %g ms, want %g", x*1e3, w.p99ttft)
		}
	}
	for _, v := range [][2]float64{{r.RequestsPerSecond, w.rps}, {r.OutputTokensPerSecond, w.tps}} {
		if v[1] > 0 && math.Abs(v[0]-v[1]) > 1e-4*v[1] {
			t.Errorf("rate %g, want %g", v[0], v[1])
		}
	}
	if w.warning != "" && !strings.Contains(strings.Join(r.Warnings, "\n"), w.warning) {
		t.Errorf("no warning about %q in %q", w.warning, r.Warnings)
	}
}

func TestSamplesRefusedWithTheReason(t *testing.T) {
	for file, reason := range map[string]string{
		"aiperf/cloudai_docs_aiperf_report.csv":                                          "contradict each other",
		"aiperf/qwen_concurrency1_gpu_telemetry_export.jsonl":                            "telemetry log",
		"universal-report/llmd_br_v0_2_1_example.yaml":                                   "contradict each other",
		"inference-perf/kubecon-na-2025_vllm_batch_size_summary_prometheus_metrics.json": "Prometheus",
		"llama-bench/llamacpp_readme_csv.csv":                                            "cells",
		"power/npu-smi_info_910B2C_excerpt.txt":                                          "not a result file",
		"server-metrics/metrics_vllm_0_25_1_loaded.txt":                                  "not a result file",
	} {
		_, err := ReadFile(shared(t, "data/samples/"+file))
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(refused.Reason, reason) {
			t.Errorf("%s: %v, want a refusal about %q", file, err, reason)
		}
	}
}
