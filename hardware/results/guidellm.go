package results

import (
	"math"
	"sort"
)

// GuideLLM, JSON of 0.1 to 0.8. request_latency is in seconds, the others in milliseconds. Its time_per_output_token_ms is (last - first)/N up
// to 0.3 and includes TTFT from 0.4; its inter_token_latency_ms is (last - first)/(N - 1), which is TPOT, weighted by tokens and not by requests.
// A file holds one run for each rate.

const tokenWeighted = "per-request means weighted by tokens"

func isGuideLLM(first any, _ *input) bool {
	l := asDoc(first).list("benchmarks")
	if len(l) == 0 {
		return false
	}
	b := asDoc(l[0])
	return b.str("type_") == "generative_benchmark" || b.has("metrics", "requests") || b.path("metrics", "time_to_first_token_ms") != nil
}

func readGuideLLM(in *input) ([]*Run, error) {
	top := asDoc(in.docs[0])
	version := top.sub("metadata").str("guidellm_version")
	var runs []*Run
	for i, v := range top.list("benchmarks") {
		b := asDoc(v)
		if b.sub("metrics") == nil {
			return nil, refuse("benchmark %d has no metrics", i+1)
		}
		r := &Run{Tool: "guidellm", ToolVersion: version}
		guideConfig(r, top, b)
		guideMetrics(r, b)
		guideRequests(r, b)
		if err := r.check(false); err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

func guideConfig(r *Run, top, b doc) {
	args, config := b.sub("args"), b.sub("config")
	strategy := firstOf(args.sub("strategy"), config.sub("strategy"), b.path("scheduler", "strategy"))
	backend := firstOf(config.sub("backend"), b.sub("worker"), top.path("config", "spec", "backend"), top.sub("args"))
	r.Model = backend.str("model", "backend_model")
	r.Endpoint = backend.str("target", "backend_target")
	r.StartUnixSeconds = b.num("start_time")
	r.DurationSeconds = b.num("duration")
	if end := b.num("end_time"); r.DurationSeconds == 0 && end > r.StartUnixSeconds {
		r.DurationSeconds = end - r.StartUnixSeconds
	}
	r.Label = strategy.str("type_", "kind")
	s := Stage{Name: r.Label, Kind: KindLoad, EndSeconds: r.DurationSeconds}
	switch r.Label {
	case "concurrent", "throughput":
		s.Concurrency = strategy.count("streams", "max_concurrency")
	case "synchronous":
		s.Concurrency = 1
	default:
		s.RatePerSecond = strategy.num("rate", "current_rate")
	}
	r.Stages = []Stage{s}
}

func firstOf(docs ...doc) doc {
	for _, d := range docs {
		if d != nil {
			return d
		}
	}
	return nil
}

func guideMetrics(r *Run, b doc) {
	m := b.sub("metrics")
	totals := firstOf(b.sub("request_totals"), m.sub("request_totals"), b.path("run_stats", "requests_made"), b.path("scheduler_metrics", "requests_made"))
	r.Completed, r.Failed, r.Incomplete = totals.count("successful"), totals.count("errored"), totals.count("incomplete")
	r.Requests = max(totals.count("total"), r.Completed+r.Failed+r.Incomplete)
	input, output := m.path("prompt_token_count", "successful"), m.path("output_token_count", "successful")
	r.MeanInputTokens, r.MeanOutputTokens = input.num("mean"), output.num("mean")
	r.StdOutputTokens, r.StdKnown = output.num("std_dev"), output != nil
	r.InputTokens, r.OutputTokens = int64(whole(input.num("total_sum"))), int64(whole(output.num("total_sum")))
	if r.OutputTokens == 0 {
		r.OutputTokens = int64(whole(r.MeanOutputTokens * float64(r.Completed)))
	}
	r.CachedTokens = int64(whole(m.path("cached_tokens", "successful").num("total_sum")))
	if r.DurationSeconds > 0 {
		r.RequestsPerSecond = float64(r.Completed) / r.DurationSeconds
		r.OutputTokensPerSecond = float64(r.OutputTokens) / r.DurationSeconds
		r.TotalTokensPerSecond = float64(r.OutputTokens+r.InputTokens) / r.DurationSeconds
	}
	// Its own rate is weighted over time: completions by the gaps between them, free of the ramp.
	r.SteadyRequestsPerSecond = m.path("requests_per_second", "successful").num("mean")
	p := &r.Printed
	p.TTFT = guideDistribution(m, "time_to_first_token_ms", 1e-3, "")
	p.E2E = guideDistribution(m, "request_latency", 1, "")
	p.ITL = guideDistribution(m, "inter_token_latency_ms", 1e-3, "(last - first token)/(N - 1), "+tokenWeighted)
	p.TPOT = guideDistribution(m, "time_per_output_token_ms", 1e-3, "divides by N, and includes TTFT from version 0.4")
	r.Latency = Latency{TTFT: p.TTFT, E2E: p.E2E}
	if p.ITL != nil {
		tpot := *p.ITL
		tpot.Definition = tokenWeighted
		r.Latency.TPOT = &tpot
	}
	if r.Incomplete > 0 {
		r.warn("%d requests were cut off by the end of the run: long answers are missing more often than short ones", r.Incomplete)
	}
}

func guideDistribution(m doc, key string, scale float64, definition string) *Distribution {
	s := m.path(key, "successful")
	if s.num("count") == 0 && s.num("mean") == 0 {
		return nil
	}
	d := &Distribution{Count: s.count("count"), Mean: s.num("mean") * scale, Std: s.num("std_dev") * scale, Min: s.num("min") * scale, Max: s.num("max") * scale,
		Estimator: "step", Definition: definition}
	if median, ok := s.opt("median"); ok {
		d.Quantiles = append(d.Quantiles, Quantile{0.5, median * scale})
	}
	points := s.sub("percentiles")
	for _, p := range []struct {
		key string
		p   float64
	}{{"p01", 0.01}, {"p05", 0.05}, {"p10", 0.1}, {"p25", 0.25}, {"p75", 0.75}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}} {
		if x, ok := points.opt(p.key); ok {
			d.Quantiles = append(d.Quantiles, Quantile{p.p, x * scale})
		}
	}
	sort.Slice(d.Quantiles, func(i, j int) bool { return d.Quantiles[i].P < d.Quantiles[j].P })
	return d
}

// guideRequests keeps the requests the file lists; lists may be cut, so the printed figures stay.
func guideRequests(r *Run, b doc) {
	lists := b.sub("requests")
	for _, kind := range []string{"successful", "errored"} {
		for _, v := range lists.list(kind) {
			q := guideRecord(asDoc(v), r.StartUnixSeconds)
			if kind == "errored" {
				q.Error = &Failure{Phase: "stream", Message: firstLine(asDoc(v).str("error"))}
			}
			r.Records = append(r.Records, q)
		}
	}
	if n := len(r.Records); n > 0 {
		r.failEmpty()
		if n < r.Completed+r.Failed {
			r.warn("the file lists %d of %d requests", n, r.Completed+r.Failed)
			return
		}
		var s samples
		for i := range r.Records {
			if r.Records[i].OK() {
				s.add(&r.Records[i])
			}
		}
		// Percentiles over requests instead of the file's, which weight each request by its tokens.
		if d := Describe(s.tpot); d != nil && len(s.tpot) == r.Completed {
			r.Latency.TPOT = d
		}
	}
}

func guideRecord(d doc, origin float64) Record {
	q := Record{ID: d.str("request_id"), InputTokens: d.count("prompt_tokens"), OutputTokens: d.count("output_tokens"), TokenCount: CountServer}
	start, end, first, last, target := d.num("start_time", "request_start_time"), d.num("end_time", "request_end_time"), d.num("first_token_time"), d.num("last_token_time"), 0.0
	if s := d.sub("scheduler_info"); s != nil {
		target = s.num("targeted_start_time")
	}
	if t := d.path("info", "timings"); t != nil {
		start, end = t.num("request_start"), t.num("request_end")
		first, last = t.num("first_token_iteration", "first_iteration"), t.num("last_token_iteration", "last_iteration")
		target = t.num("targeted_start")
	}
	if m := d.sub("input_metrics"); m != nil {
		q.InputTokens = m.count("text_tokens", "total_tokens")
	}
	if m := d.sub("output_metrics"); m != nil {
		q.OutputTokens = m.count("text_tokens", "total_tokens")
	}
	if start > 0 {
		q.Clocked, q.SentSeconds = true, start-origin
		q.ScheduledSeconds = q.SentSeconds
		if target > 0 && target < start {
			q.ScheduledSeconds = target - origin
		}
		q.TTFTSeconds = max(0, first-start)
		q.E2ESeconds = max(0, math.Max(last, end*b2f(last == 0))-start)
		q.DoneSeconds = max(0, end-start)
	}
	return q
}

func b2f(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func isGuideLLMCSV(first any, in *input) bool {
	return first == nil && hasPrefixFold(in.data, "Run Info") || first == nil && hasPrefixFold(in.data, "Type,Run Id,")
}

func refuseGuideLLMCSV(*input) ([]*Run, error) {
	return nil, refuse("a GuideLLM CSV holds rounded copies of its JSON; import benchmarks.json instead")
}
