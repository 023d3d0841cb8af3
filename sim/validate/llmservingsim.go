package validate

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sort"
	"strings"

	"scoville/model/llm"
	"scoville/model/workload"
)

// readLLMServingSim replays bursts of 300 ShareGPT requests through vLLM 0.19: arrivals and lengths as recorded, 128 sequences
// (or what the summary beside the table says) and 2048 tokens a step.
func readLLMServingSim(path string) ([]Job, []Skip, error) {
	const table = "llmservingsim_vllm_requests"
	records, err := readTable(path, "chip", "model", "arrival_s", "isl", "osl", "ttft_s", "tpot_s", "e2e_s", "tp")
	if err != nil {
		return nil, nil, err
	}
	summary, err := readTable(filepath.Join(filepath.Dir(path), "llmservingsim_vllm_summary.csv"), "chip", "model")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	runs := map[string][]*record{}
	var order []string
	for _, r := range records {
		key := r.text("chip") + " " + r.text("model") + " tp" + r.text("tp") + " dp" + r.text("dp")
		if runs[key] == nil {
			order = append(order, key)
		}
		runs[key] = append(runs[key], r)
	}
	var jobs []Job
	out := skips{table: table}
	for _, key := range order {
		if r := runs[key][0]; r.count("dp", 1) > 1 {
			out.add(key, "data-parallel attention: one engine's ranks step together")
			continue
		}
		job, err := servingSimJob(table, key, runs[key], summary)
		if err != nil {
			return nil, nil, err
		}
		jobs = append(jobs, *job)
	}
	return jobs, out.list, nil
}

func servingSimJob(table, key string, records, summary []*record) (*Job, error) {
	first := records[0]
	job := &Job{Table: table, Sweep: key}
	tp := first.count("tp", 1)
	job.Deploy = Deploy{Chip: first.text("chip"), Model: first.text("model"), Engine: "vllm", Version: version(first.text("version")), Weights: llm.BF16,
		Split: llm.Split{Tensor: tp}, MaxSequences: 128, MaxBatchedTokens: 2048}
	for _, s := range summary {
		if s.text("chip") != first.text("chip") || s.text("model") != first.text("model") || s.text("tp") != first.text("tp") {
			continue
		}
		job.Deploy.MaxSequences = s.count("max_num_seqs", job.Deploy.MaxSequences)
		job.Deploy.MaxBatchedTokens = s.count("max_num_batched_tokens", job.Deploy.MaxBatchedTokens)
		job.Deploy.KVBlocks = int64(s.count("kv_tokens", 0) / 16)
		if ep := s.count("ep", 1); ep > 1 {
			job.Deploy.Split.Expert = ep
		}
		if s.err != nil {
			return nil, s.err
		}
	}
	var ttft, tpot []float64
	tokens, last := 0.0, 0.0
	for i, r := range records {
		at, ok := r.number("arrival_s")
		if !ok {
			r.fail("arrival_s", "", "seconds")
		}
		in, out := int32(r.positive("isl")), int32(r.positive("osl"))
		f := r.figures(TTFTMean, "ttft_s", TPOTMean, "tpot_s", E2EMean, "e2e_s")
		if r.err != nil {
			return nil, r.err
		}
		job.Trace = append(job.Trace, workload.Request{ID: int64(i) + 1, ArrivalNanoseconds: int64(at * 1e9), InputTokens: in, OutputTokens: out})
		for _, f := range f {
			switch f.Metric {
			case TTFTMean:
				ttft = append(ttft, f.Value)
			case TPOTMean:
				tpot = append(tpot, f.Value)
			case E2EMean:
				last = max(last, at+f.Value)
			}
		}
		tokens += float64(out)
	}
	sort.SliceStable(job.Trace, func(i, j int) bool { return job.Trace[i].ArrivalNanoseconds < job.Trace[j].ArrivalNanoseconds })
	start := float64(job.Trace[0].ArrivalNanoseconds) * 1e-9
	row := Row{ID: strings.ReplaceAll(key, "/", " "), Regime: Saturated}
	if len(ttft) > 0 && len(tpot) > 0 && last > start {
		row.Measured = []Figure{{TTFTMean, mean(ttft)}, {TPOTMean, mean(tpot)}, {OutTokens, tokens / (last - start)}}
	}
	job.Rows = []Row{row}
	return job, nil
}
