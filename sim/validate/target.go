package validate

// Target is an error asked for.
type Target struct {
	Table, Metric string
	Statistic     string // "mape", "median", "worst"
	Limit         float64
}

// Targets are the figures that this project set itself before the first run.
func Targets() []Target {
	const ix, em, ls = "inferencex_silicon_ttft_tpot", "vllm_h100/eval_matrix", "llmservingsim_vllm_requests"
	return []Target{
		{ix, TPOTMean, "mape", 0.15},
		{ix, TTFTMean, "median", 0.25},
		{em, E2EMean, "mape", 0.07},
		{em, TTFTMean, "mape", 0.15},
		{em, ITLMean, "mape", 0.07},
		{"vllm_h100/saturation_llama31_8b", OutTokens, "worst", 0.10},
		{"vllm_h100/per_request", E2EP50, "worst", 0.10},
		{"vllm_h100/per_request", E2EP99, "worst", 0.10},
		{"vllm_h100/per_request", Overloaded, "mape", 0},
		{ls, TPOTMean, "mape", 0.05},
		{ls, TTFTMean, "mape", 0.10},
		{ls, OutTokens, "mape", 0.03},
		{"trtllm_perf_overview_throughput", OutTokens, "mape", 0.15},
		{"mlenergy_v3_llm", Watts, "mape", 0.12},
		{"mlenergy_v3_llm", Joules, "mape", 0.15},
		{"mlperf_inference_llm", NodeWatts, "mape", 0.10},
	}
}

// Verdict is a target with what was reached; N is 0 where nothing was scored.
type Verdict struct {
	Target
	N       int
	Reached float64
	Met     bool
}

// Check holds scores by table against targets.
func Check(points []Point, targets []Target) []Verdict {
	scores := Scores(points, ByTable)
	var out []Verdict
	for _, t := range targets {
		v := Verdict{Target: t}
		for _, s := range scores {
			if s.Table != t.Table || s.Metric != t.Metric {
				continue
			}
			v.N = s.N
			switch t.Statistic {
			case "median":
				v.Reached = s.Median
			case "worst":
				v.Reached = s.Worst
			default:
				v.Reached = s.MAPE
			}
			v.Met = s.N > 0 && v.Reached <= t.Limit
		}
		out = append(out, v)
	}
	return out
}
