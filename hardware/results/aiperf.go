package results

import (
	"sort"
	"strconv"
	"strings"
)

// AIPerf and GenAI-Perf summaries (JSON). The unit beside each metric is authoritative. inter_token_latency is per-request TPOT;
// the gaps between chunks are inter_chunk_latency.

func isAIPerf(first any, _ *input) bool {
	d := asDoc(first)
	for _, k := range []string{"time_to_first_token", "request_latency"} {
		if d.sub(k).has("avg") {
			return true
		}
	}
	return false
}

func readAIPerf(in *input) ([]*Run, error) {
	var runs []*Run
	err := in.eachObject(func(d doc) error {
		r := &Run{Tool: "genai-perf"}
		if d.has("aiperf_version") || d.has("schema_version") || d.has("was_cancelled") {
			r.Tool = "aiperf"
		}
		r.ToolVersion = d.str("aiperf_version")
		figures := map[string]doc{}
		for k := range d {
			if m := d.sub(k); m.has("avg") {
				figures[k] = m
			}
		}
		perfMetrics(r, figures)
		perfConfig(r, d.sub("input_config"))
		r.StartUnixSeconds = figures["min_request_timestamp"].num("avg") / 1e9
		if d["was_cancelled"] == true {
			r.warn("the run was cancelled before its end")
		}
		runs = append(runs, r)
		return r.check(false)
	})
	return runs, err
}

func perfMetrics(r *Run, m map[string]doc) {
	p := &r.Printed
	p.TTFT, p.E2E = unitDistribution(m["time_to_first_token"]), unitDistribution(m["request_latency"])
	p.ITL = unitDistribution(m["inter_token_latency"])
	r.Latency = Latency{TTFT: p.TTFT, E2E: p.E2E, TPOT: unitDistribution(m["inter_token_latency"]), ITL: unitDistribution(m["inter_chunk_latency"])}
	if p.ITL != nil {
		p.ITL.Definition = "(E2E - TTFT)/(N - 1) per request, which is TPOT"
	}
	if r.Latency.ITL != nil {
		r.Latency.ITL.Definition = "gaps between chunks"
	}
	first := func(names ...string) doc {
		for _, n := range names {
			if m[n] != nil {
				return m[n]
			}
		}
		return nil
	}
	r.Completed = first("request_count").count("avg")
	r.Failed = first("error_request_count").count("avg")
	r.Requests = r.Completed + r.Failed
	output, input := first("output_sequence_length"), first("input_sequence_length")
	r.MeanOutputTokens, r.StdOutputTokens, r.StdKnown = output.num("avg"), output.num("std"), output.has("std")
	r.MeanInputTokens = input.num("avg")
	r.OutputTokens = int64(whole(first("total_osl", "total_output_tokens").num("avg")))
	r.InputTokens = int64(whole(first("total_isl").num("avg")))
	if r.OutputTokens == 0 {
		r.OutputTokens = int64(whole(r.MeanOutputTokens * float64(r.Completed)))
	}
	if r.InputTokens == 0 {
		r.InputTokens = int64(whole(r.MeanInputTokens * float64(r.Completed)))
	}
	r.RequestsPerSecond, r.OutputTokensPerSecond = first("request_throughput").num("avg"), first("output_token_throughput").num("avg")
	r.TotalTokensPerSecond = first("total_token_throughput").num("avg")
	duration := first("benchmark_duration")
	r.DurationSeconds = duration.num("avg") * unitSeconds(duration.str("unit"), 1)
	if r.DurationSeconds == 0 && r.RequestsPerSecond > 0 {
		r.DurationSeconds = float64(r.Completed) / r.RequestsPerSecond
	}
	r.Stages = []Stage{{Name: "run", Kind: KindLoad, EndSeconds: r.DurationSeconds}}
}

func perfConfig(r *Run, c doc) {
	if c == nil {
		return
	}
	endpoint := firstOf(c.sub("endpoint"), c)
	if l := endpoint.list("model_names"); len(l) > 0 {
		r.Model, _ = l[0].(string)
	} else if l := c.list("model"); len(l) > 0 {
		r.Model, _ = l[0].(string)
	} else {
		r.Model = c.str("model", "formatted_model_name")
	}
	r.Endpoint = endpoint.str("url", "u")
	load := firstOf(c.sub("loadgen"), c.path("perf_analyzer", "stimulus"), c)
	r.Stages[0].Concurrency, r.Stages[0].RatePerSecond = load.count("concurrency"), load.num("request_rate")
	prompt := c.path("input", "prompt")
	r.Stages[0].InputTokens, r.Stages[0].OutputTokens = prompt.sub("input_tokens").count("mean"), prompt.sub("output_tokens").count("mean")
}

// unitDistribution reads {unit, avg, min, max, std, p50, ...}; without a unit it is milliseconds.
func unitDistribution(m doc) *Distribution {
	if m == nil {
		return nil
	}
	scale := unitSeconds(m.str("unit"), 1e-3)
	d := &Distribution{Count: m.count("count"), Mean: m.num("avg") * scale, Std: m.num("std") * scale, Min: m.num("min") * scale, Max: m.num("max") * scale, Estimator: "linear"}
	for _, k := range sortedKeys(m) {
		p, ok := percentile(k)
		if x, isNumber := number(m[k]); ok && isNumber {
			d.Quantiles = append(d.Quantiles, Quantile{p, x * scale})
		}
	}
	sort.SliceStable(d.Quantiles, func(i, j int) bool { return d.Quantiles[i].P < d.Quantiles[j].P })
	return d
}

// percentile reads "p99", "p99.9" and "median"; the points 0 and 100 are left out.
func percentile(key string) (float64, bool) {
	if key == "median" {
		return 0.5, true
	}
	if len(key) < 2 || key[0] != 'p' {
		return 0, false
	}
	p, err := strconv.ParseFloat(strings.Replace(key[1:], "p", ".", 1), 64)
	return p / 100, err == nil && p > 0 && p < 100
}

func unitSeconds(unit string, without float64) float64 {
	switch strings.ToLower(strings.TrimSpace(unit)) {
	case "ns", "nanoseconds":
		return 1e-9
	case "us", "µs", "microseconds":
		return 1e-6
	case "ms", "milliseconds", "ms/token":
		return 1e-3
	case "s", "sec", "secs", "second", "seconds", "s/token":
		return 1
	case "min", "minutes":
		return 60
	}
	return without
}

func sortedKeys(d doc) []string {
	keys := make([]string, 0, len(d))
	for k := range d {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// AIPerf records: JSONL, one request a line, epoch nanoseconds.

func isAIPerfRecords(first any, _ *input) bool {
	d := asDoc(first)
	return d.sub("metadata").has("request_start_ns") && (d.has("metrics") || d.has("error"))
}

func readAIPerfRecords(in *input) ([]*Run, error) {
	r := &Run{Tool: "aiperf", Stages: []Stage{{Name: "profiling", Kind: KindLoad}, {Name: "warmup", Kind: KindWarmup}}}
	origin := int64(0)
	var sent []int64
	err := in.eachObject(func(d doc) error {
		meta, m := d.sub("metadata"), d.sub("metrics")
		start := int64(meta.num("request_start_ns"))
		if origin == 0 || start < origin {
			origin = start
		}
		sent = append(sent, start)
		value := func(name string) float64 {
			v := m.sub(name)
			return v.num("value") * unitSeconds(v.str("unit"), 1e-3)
		}
		q := Record{ID: meta.str("x_request_id"), Clocked: true, TTFTSeconds: value("time_to_first_token"), TTFOSeconds: value("time_to_first_output_token"), E2ESeconds: value("request_latency"),
			InputTokens: m.sub("input_sequence_length").count("value"), OutputTokens: m.sub("output_sequence_length").count("value"),
			ReasoningTokens: m.sub("reasoning_token_count").count("value"), TokenCount: CountTokenizer,
			DoneSeconds: (meta.num("request_end_ns") - meta.num("request_start_ns")) / 1e9}
		gaps := m.sub("inter_chunk_latency")
		for _, g := range floats(gaps["value"]) {
			q.GapsSeconds = append(q.GapsSeconds, g*unitSeconds(gaps.str("unit"), 1e-3))
		}
		if meta.str("benchmark_phase") == "warmup" {
			q.Stage = 1
		}
		if e := d.sub("error"); e != nil {
			q.Error = &Failure{Phase: "stream", HTTP: e.count("code"), Code: e.str("type"), Message: firstLine(e.str("message"))}
		} else if meta["was_cancelled"] == true {
			q.Error = &Failure{Phase: "client", Code: "cancelled"}
		}
		r.Records = append(r.Records, q)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range r.Records {
		r.Records[i].SentSeconds = float64(sent[i]-origin) / 1e9
		r.Records[i].ScheduledSeconds = r.Records[i].SentSeconds
	}
	r.StartUnixSeconds = float64(origin) / 1e9
	r.Summarise()
	r.Latency.TTFTScheduled, r.Latency.E2EScheduled, r.Latency.ClientQueue = nil, nil, nil
	return []*Run{r}, r.check(false)
}

func isAIPerfTelemetry(first any, _ *input) bool {
	return asDoc(first).has("telemetry_data") && !asDoc(first).has("request_latency")
}

func refuseTelemetry(*input) ([]*Run, error) {
	return nil, refuse("an AIPerf telemetry log: power, not requests; give it with --power beside the records")
}
