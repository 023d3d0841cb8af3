package validate

import (
	"fmt"
	"math"
	"strings"

	"scoville/model/llm"
	"scoville/model/workload"
)

// template is the load of a named experiment of the vLLM H100 matrix: stages of equal length, prompts that repeat. The runs whose
// requests were recorded one by one show Poisson gaps (coefficient of variation 0.97 to 1.02) where their profile says "constant".
type template struct {
	rates        []float64 // requests a second by stage
	stageSeconds float64
	system, user int // prompt tokens
	output       int
	prompts, per int // system prompts, and distinct prompts for each
}

func templates() map[string]template {
	return map[string]template{
		"general":        {[]float64{8, 20}, 600, 100, 447, 248, 9, 5},
		"general-lite":   {[]float64{2.5, 6}, 600, 100, 447, 248, 9, 5},
		"codegen":        {[]float64{5, 10}, 600, 100, 466, 247, 11, 4},
		"roleplay":       {[]float64{6}, 1200, 150, 600, 251, 10, 5},
		"reasoning":      {[]float64{4}, 1200, 100, 934, 1448, 23, 1},
		"reasoning-lite": {[]float64{1}, 1200, 100, 934, 1448, 23, 1},
	}
}

// traffic is the template as a workload. The client adds about 36 tokens of its own to each prompt (recorded prompts hold 593 and
// 787 tokens where the template's sums are 566 and 750), in proportion.
func (t template) traffic() Traffic {
	mean := 0.0
	for _, r := range t.rates {
		mean += r / float64(len(t.rates))
	}
	w := &workload.Workload{
		Name:     "shared prompts",
		Arrivals: workload.Arrivals{Process: "poisson", RequestsPerSecond: mean},
		Lengths:  workload.Lengths{Input: fixed((t.system + t.user) * 105 / 100), Output: fixed(t.output)},
		Prefix:   &workload.Prefix{SystemTokens: t.system, SystemPrompts: t.prompts, PromptsPer: t.per},
	}
	if len(t.rates) > 1 {
		s := &workload.Shape{StepSeconds: t.stageSeconds}
		for _, r := range t.rates {
			s.Multipliers = append(s.Multipliers, r/mean)
		}
		w.Arrivals.Shape = s
	}
	return Traffic{Spec: w, Options: workload.SourceOptions{HorizonSeconds: t.stageSeconds * float64(len(t.rates))}, Steady: true, Warmup: 0.05, Drop: 60}
}

func readEvalMatrix(path string) ([]Job, []Skip, error) {
	return readMatrix("vllm_h100/eval_matrix", path)
}

func readTrainVal(path string) ([]Job, []Skip, error) {
	return readMatrix("vllm_h100/trainval", path)
}

// experiment is the rows of one run.
type experiment struct {
	name   string
	stages map[int]*record
	first  *record
}

func readMatrix(table, path string) ([]Job, []Skip, error) {
	records, err := readTable(path, "experiment", "model", "gpu", "tp", "workload", "stage", "ttft_mean_ms", "e2e_mean_ms", "itl_mean_ms")
	if err != nil {
		return nil, nil, err
	}
	out := skips{table: table}
	runs, err := experiments(records)
	if err != nil {
		return nil, nil, err
	}
	var jobs []Job
	for _, x := range runs {
		job, reason, err := x.job(table, &out)
		if err != nil {
			return nil, nil, err
		}
		if reason != "" {
			for _, stage := range x.order() {
				out.add(x.id(stage), reason)
			}
			continue
		}
		if len(job.Rows) > 0 {
			jobs = append(jobs, job)
		}
	}
	return jobs, out.list, nil
}

// experiments groups rows into runs, in order of appearance. A stage that comes twice under one name belongs to another run.
func experiments(records []*record) ([]*experiment, error) {
	var runs []*experiment
	for _, r := range records {
		stage, ok := r.number("stage")
		if !ok || stage < -1 || stage != float64(int(stage)) {
			r.fail("stage", r.text("stage"), "-1 or the number of a stage")
		}
		if r.err != nil {
			return nil, r.err
		}
		var x *experiment
		for _, have := range runs {
			if have.name == r.text("experiment") && have.stages[int(stage)] == nil {
				x = have
				break
			}
		}
		if x == nil {
			x = &experiment{name: r.text("experiment"), stages: map[int]*record{}, first: r}
			runs = append(runs, x)
		}
		x.stages[int(stage)] = r
	}
	return runs, nil
}

func (x *experiment) id(stage int) string {
	if stage < 0 {
		return x.name + " all"
	}
	return fmt.Sprintf("%s stage %d", x.name, stage)
}

func (x *experiment) order() []int {
	var out []int
	for s := -1; s < 16; s++ {
		if x.stages[s] != nil {
			out = append(out, s)
		}
	}
	return out
}

// templateName is the workload column, or the longer name that the experiment's own name holds: some tables write "general" for
// both "general" and "general-lite".
func (x *experiment) templateName() string {
	name := x.first.text("workload")
	if strings.Contains(x.name, name+"-lite") {
		return name + "-lite"
	}
	return name
}

func (x *experiment) job(table string, out *skips) (Job, string, error) {
	r := x.first
	t, ok := templates()[x.templateName()]
	if !ok {
		return Job{}, "no template of workload " + r.text("workload"), nil
	}
	if reason := x.contradiction(t); reason != "" {
		return Job{}, reason, nil
	}
	weights, err := dtype(r.text("precision"))
	if err != nil {
		return Job{}, err.Error(), nil
	}
	share, _ := r.number("gpu_mem_util")
	tp := r.count("tp", 1)
	job := Job{
		Table: table, Sweep: x.name,
		Deploy: Deploy{Chip: r.text("gpu"), Model: r.text("model"), Engine: "vllm", Version: "0.15", Weights: weights, Split: llm.Split{Tensor: tp},
			MaxBatchedTokens: r.count("max_num_batched_tokens", 2048), MaxSequences: 128, PrefixCaching: true, MemoryShare: share},
		Traffic: t.traffic(),
	}
	if dp := r.count("dp", 1); dp > 1 {
		return Job{}, "data-parallel attention", nil
	}
	job.Load = t.rates[len(t.rates)-1]
	job.words(r.text("model"), x.templateName(), r.text("workload"), fmt.Sprint("tp", tp))
	for _, stage := range x.order() {
		rec := x.stages[stage]
		row := Row{ID: x.id(stage), Regime: OpenLoop}
		if stage >= 0 {
			row.From, row.Until = int64(float64(stage)*t.stageSeconds*1e9), int64(float64(stage+1)*t.stageSeconds*1e9)
		}
		for _, f := range rec.figures(TTFTMean, "ttft_mean_ms", E2EMean, "e2e_mean_ms", ITLMean, "itl_mean_ms", E2EP99, "e2e_p99_ms", TTFTP99, "ttft_p99_ms") {
			row.Measured = append(row.Measured, Figure{f.Metric, f.Value / 1000})
		}
		if rec.err != nil {
			return Job{}, "", rec.err
		}
		if stage < 0 && !x.pooled() {
			out.add(row.ID, "the pooled means lie outside those of the stages: another run")
			continue
		}
		if !agrees(rec, t.output) {
			out.add(row.ID, "its own figures disagree: time between tokens is not (E2E - TTFT) / (output - 1)")
			continue
		}
		job.Rows = append(job.Rows, row)
	}
	return job, "", r.err
}

// pooled reports whether the row of the whole run can be the pool of its stages: each mean within theirs, 1 % aside.
func (x *experiment) pooled() bool {
	all := x.stages[-1]
	for _, c := range []string{"ttft_mean_ms", "e2e_mean_ms"} {
		v, _ := all.number(c)
		lo, hi, n := 0.0, 0.0, 0
		for stage := 0; stage < 16; stage++ {
			if r := x.stages[stage]; r != nil {
				s, _ := r.number(c)
				if n == 0 || s < lo {
					lo = s
				}
				hi = max(hi, s)
				n++
			}
		}
		if n > 0 && (v < 0.99*lo || v > 1.01*hi) {
			return false
		}
	}
	return true
}

// agrees reports whether a row's three means can be of one run whose answers have the template's length: within 5 %.
func agrees(r *record, output int) bool {
	ttft, _ := r.number("ttft_mean_ms")
	e2e, _ := r.number("e2e_mean_ms")
	itl, ok := r.number("itl_mean_ms")
	return !ok || itl <= 0 || math.Abs(itl*float64(output-1)/(e2e-ttft)-1) <= 0.05
}

// contradiction says why a run can't have had its template's load: more stages than the template has, two rates a factor of two
// apart without any difference in latency between tokens, or a second row of the whole run under the same name.
func (x *experiment) contradiction(t template) string {
	n := 0
	for stage := range x.stages {
		if stage >= len(t.rates) {
			return "has a stage that its template lacks"
		}
		if stage >= 0 {
			n++
		}
	}
	if n == 0 && x.stages[-1] != nil && len(t.rates) > 1 {
		return "only pooled figures, of a load that its name can't tell"
	}
	if len(t.rates) == 2 && n == 2 {
		a, _ := x.stages[0].number("e2e_mean_ms")
		b, _ := x.stages[1].number("e2e_mean_ms")
		if b < a {
			return "the stage with twice the load is the faster: not its template's load"
		}
	}
	return ""
}
