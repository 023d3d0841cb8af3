package validate

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"scoville/model/llm"
	"scoville/model/workload"
)

// lifecycle is what the JSON beside a per-request table tells of its run.
type lifecycle struct {
	Experiment string `json:"experiment"`
	Model      string `json:"model_id"`
	Profile    struct {
		Data struct {
			Shared struct {
				Systems int `json:"num_unique_system_prompts"`
				Users   int `json:"num_users_per_system_prompt"`
				Output  int `json:"output_len"`
				System  int `json:"system_prompt_len"`
			} `json:"shared_prefix"`
		} `json:"data"`
	} `json:"profile"`
	Config struct {
		Tensor   int   `json:"tensor_parallelism"`
		Seqs     int   `json:"max_num_seqs"`
		Tokens   int   `json:"max_num_batched_tokens"`
		KVBlocks int64 `json:"kv_blocks_total_gpu"`
		Block    int   `json:"block_size"`
	} `json:"config"`
}

// The first requests are cold and left out of latencies.
const coldRequests = 60

// readPerRequest replays every run of a folder: one CSV of requests with a JSON of the same name. Answers have the length of the
// profile (the recorded counts are client re-tokenisations, and the end of text was ignored). Prompts repeat with a period of 100
// requests over systems x users distinct ones.
func readPerRequest(folder string) ([]Job, []Skip, error) {
	if _, err := os.Stat(folder); err != nil {
		return nil, nil, err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.csv"))
	if err != nil {
		return nil, nil, err
	}
	sort.Strings(files)
	var jobs []Job
	for _, f := range files {
		job, err := perRequestJob(f)
		if err != nil {
			return nil, nil, err
		}
		jobs = append(jobs, *job)
	}
	return jobs, nil, nil
}

func readLifecycle(path string) (*lifecycle, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the run's settings: %w", err)
	}
	l := &lifecycle{}
	if err := json.Unmarshal(data, l); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s, c := l.Profile.Data.Shared, l.Config
	if l.Model == "" || s.Output < 1 || s.Systems < 1 || s.Users < 1 || c.Tensor < 1 || c.Seqs < 1 || c.Tokens < 1 || c.Block < 1 {
		return nil, fmt.Errorf("%s: expected model_id, profile.data.shared_prefix and config with positive figures", path)
	}
	return l, nil
}

func perRequestJob(path string) (*Job, error) {
	l, err := readLifecycle(strings.TrimSuffix(path, ".csv") + ".json")
	if err != nil {
		return nil, err
	}
	records, err := readTable(path, "index", "arrival_us", "input_tokens", "has_error", "ttft_s", "e2e_s")
	if err != nil {
		return nil, err
	}
	name := l.Experiment
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(path), ".csv")
	}
	m, trace, err := replayed(l, records)
	if err != nil {
		return nil, err
	}
	c := l.Config
	job := &Job{
		Table: "vllm_h100/per_request", Sweep: name,
		Deploy: Deploy{Chip: "h100", Model: l.Model, Engine: "vllm", Version: "0.15", Split: llm.Split{Tensor: c.Tensor}, Weights: llm.BF16, KVBlocks: c.KVBlocks,
			BlockTokens: c.Block, MaxSequences: c.Seqs, MaxBatchedTokens: c.Tokens, PrefixCaching: true},
		Traffic: Traffic{Trace: trace, Steady: true, Warmup: 0.05, Drop: coldRequests},
		Rows:    []Row{{ID: name, Regime: OpenLoop, Measured: m}},
	}
	job.words(l.Model, name[strings.LastIndex(name, "-")+1:], fmt.Sprint("tp", c.Tensor))
	return job, nil
}

// replayed returns the requests as a trace and what was measured on them.
func replayed(l *lifecycle, records []*record) ([]Figure, []workload.Request, error) {
	s := l.Profile.Data.Shared
	var ttft, e2e, tpot []float64
	var trace []workload.Request
	failed := 0
	for _, r := range records {
		at, ok := r.number("arrival_us")
		if !ok {
			r.fail("arrival_us", "", "microseconds")
		}
		index, input, bad := r.count("index", 0), r.count("input_tokens", 0), r.count("has_error", 0) != 0
		first, hasFirst := r.number("ttft_s")
		whole, hasWhole := r.number("e2e_s")
		if r.err != nil {
			return nil, nil, r.err
		}
		if input < 1 { // failed requests may lack their length
			input = s.System + 500
		}
		trace = append(trace, sharedRequest(l, index, int64(at*1000), input))
		if bad {
			failed++
			continue
		}
		if index >= coldRequests && hasFirst && hasWhole && first > 0 && whole > first {
			ttft, e2e, tpot = append(ttft, first), append(e2e, whole), append(tpot, (whole-first)/float64(s.Output-1))
		}
	}
	sort.SliceStable(trace, func(i, j int) bool { return trace[i].ArrivalNanoseconds < trace[j].ArrivalNanoseconds })
	// Clients gave up after 240 to 300 s: a run in which any did had no steady state.
	if failed > 0 || len(e2e) == 0 {
		return []Figure{{Overloaded, 1}}, trace, nil
	}
	sort.Float64s(ttft)
	sort.Float64s(e2e)
	return []Figure{{Overloaded, 0}, {E2EP50, quantile(e2e, 0.5)}, {E2EP99, quantile(e2e, 0.99)}, {TTFTMean, mean(ttft)}, {ITLMean, mean(tpot)}}, trace, nil
}

// promptPeriod is how many requests pass until the same prompts come again: input lengths repeat at it in 98 to 99 % of requests.
const promptPeriod = 100

func sharedRequest(l *lifecycle, index int, at int64, input int) workload.Request {
	s := l.Profile.Data.Shared
	prompt := index % promptPeriod % (s.Systems * s.Users)
	system := min(s.System, input)
	blocks := []workload.PrefixBlock{{Key: 1 + uint64(prompt%s.Systems), Tokens: int32(system)}}
	if input > system {
		blocks = append(blocks, workload.PrefixBlock{Key: 1_000_000 + uint64(prompt), Tokens: int32(input - system)})
	}
	return workload.Request{ID: int64(index) + 1, ArrivalNanoseconds: at, InputTokens: int32(input), OutputTokens: int32(s.Output), Blocks: blocks}
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
