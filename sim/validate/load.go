package validate

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"scoville/model/tomlfile"
)

// reader turns one table into jobs. path is a file or a folder, as the table is stored.
type reader struct {
	name string
	path string // under the data folder
	read func(path string) ([]Job, []Skip, error)
}

// readers lists the tables in the order of reports.
func readers() []reader {
	return []reader{
		{"inferencex_silicon_ttft_tpot", "inferencex_silicon_ttft_tpot.csv", readInferenceX},
		{"vllm_h100/eval_matrix", "vllm_h100/eval_matrix/actual_metrics.csv", readEvalMatrix},
		{"vllm_h100/trainval", "vllm_h100/trainval/actual_metrics.csv", readTrainVal},
		{"vllm_h100/saturation_llama31_8b", "vllm_h100/saturation_llama31_8b.csv", readSaturation},
		{"vllm_h100/per_request", "vllm_h100/per_request", readPerRequest},
		{"llmservingsim_vllm_requests", "llmservingsim_vllm_requests.csv", readLLMServingSim},
		{"trtllm_perf_overview_throughput", "trtllm_perf_overview_throughput.csv", readTRTLLM},
		{"mlenergy_v3_llm", "mlenergy_v3_llm.csv", readMLEnergy},
		{"mlperf_inference_llm", "mlperf_inference_llm.csv", readMLPerf},
		{"splitwise_prompt_token_times", "splitwise_prompt_token_times.csv", readSplitwise},
		{"argonne_llm_inference_bench", "argonne_llm_inference_bench.csv", readArgonne},
		{"intel_gaudi", "intel_gaudi.csv", readGaudi},
		{"gpuconc_gptoss20b", "gpuconc_gptoss20b.csv", readGPUConc},
	}
}

// TableNames lists the tables that can be run.
func TableNames() []string {
	var names []string
	for _, r := range readers() {
		names = append(names, r.name)
	}
	return names
}

// Load reads the tables of a folder into jobs, without running them.
func Load(o Options) ([]Job, []Skip, error) {
	for _, name := range o.Tables {
		if !slices.Contains(TableNames(), name) {
			near := tomlfile.Nearest(name, TableNames())
			return nil, nil, fmt.Errorf("unknown table %q (nearest: %q); the tables are %s", name, near, strings.Join(TableNames(), ", "))
		}
	}
	var jobs []Job
	var skipped []Skip
	found := 0
	for _, r := range readers() {
		asked := slices.Contains(o.Tables, r.name)
		if len(o.Tables) > 0 && !asked {
			continue
		}
		j, s, err := r.read(filepath.Join(o.Data, filepath.FromSlash(r.path)))
		if errors.Is(err, fs.ErrNotExist) && !asked {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		found++
		jobs, skipped = append(jobs, j...), append(skipped, s...)
	}
	if found == 0 {
		return nil, nil, fmt.Errorf("%s: holds none of the tables %s", o.Data, strings.Join(TableNames(), ", "))
	}
	shared := newLibrary()
	for i := range jobs {
		jobs[i].Deploy.library = shared
	}
	return jobs, skipped, nil
}
