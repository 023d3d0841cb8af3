package results

import (
	"sort"
	"strconv"
	"strings"
)

// vLLM: `vllm bench serve` and its forks (InferenceX, ATOM, TensorRT-LLM), one JSON document a run, several in a file when appended,
// in an array when written by `vllm bench sweep`. Scalars are milliseconds, arrays seconds. TPOT is (E2E - TTFT)/(N - 1) over requests;
// ITL is the gap between chunks; TTFT is taken at the first chunk with "choices", an empty one too.

func isVLLMServe(first any, _ *input) bool {
	d := firstObject(first)
	return d.has("request_throughput") && (d.has("model_id") || d.has("total_input_tokens", "mean_ttft_ms"))
}

func readVLLMServe(in *input) ([]*Run, error) {
	var runs []*Run
	err := in.eachObject(func(d doc) error {
		if n, ok := d.opt("run_number"); ok && n < 0 {
			return nil // the warm-up run of a sweep
		}
		if !d.has("request_throughput") {
			return refuse("document %d has no request_throughput", len(runs)+1)
		}
		r := serveRun("vllm", d)
		r.Engine = d.str("backend", "endpoint_type")
		if err := serveRecords(r, d); err != nil {
			return err
		}
		runs = append(runs, r)
		return r.check(false)
	})
	return runs, err
}

// serveRun reads what the serving benchmarks of vLLM and SGLang share.
func serveRun(tool string, d doc) *Run {
	r := &Run{
		Tool: tool, Label: d.str("label", "tag"), Model: d.str("model_id", "model"),
		DurationSeconds: d.num("duration"), Completed: d.count("completed"),
		RequestsPerSecond: d.num("request_throughput"), OutputTokensPerSecond: d.num("output_throughput"),
		TotalTokensPerSecond: d.num("total_token_throughput", "total_throughput"),
		InputTokens:          int64(d.count("total_input_tokens")), OutputTokens: int64(d.count("total_output_tokens")),
		StartUnixSeconds: d.num("benchmark_start_time_unix"),
		Parameters:       parameters(d, isServeFigure),
	}
	r.Requests = d.count("num_prompts")
	if failed, ok := d.opt("failed"); ok {
		r.Failed = whole(failed)
		r.Requests = max(r.Requests, r.Completed+r.Failed)
	} else if r.Requests > r.Completed {
		r.Failed = r.Requests - r.Completed
	}
	r.Requests = max(r.Requests, r.Completed)
	if _, counted := d["total_output_tokens"]; counted && r.OutputTokens == 0 && r.Completed > 0 {
		r.warn("%d requests were reported as successes, but the run generated no token; they count as failures", r.Completed)
		r.Failed, r.Completed = r.Failed+r.Completed, 0
	}
	r.means()
	stage := Stage{Name: "run", Kind: KindLoad, Concurrency: d.count("max_concurrency"), EndSeconds: r.DurationSeconds,
		InputTokens: d.count("random_input_len"), OutputTokens: d.count("random_output_len")}
	if rate, ok := d.opt("request_rate"); ok && rate > 0 && rate < 1e9 {
		stage.RatePerSecond = rate
	}
	r.Stages = []Stage{stage}
	for _, m := range []struct {
		to   **Distribution
		keys []string
	}{{&r.Printed.TTFT, []string{"ttft"}}, {&r.Printed.TPOT, []string{"tpot"}}, {&r.Printed.ITL, []string{"itl"}}, {&r.Printed.E2E, []string{"e2el", "e2e_latency"}},
		{&r.Printed.ClientQueue, []string{"client_queue_time"}}, {&r.Printed.E2EScheduled, []string{"e2el_including_client_queue"}}} {
		*m.to = serveDistribution(d, m.keys)
	}
	r.Latency = r.Printed
	if _, queue := d["queue_times"]; !queue && r.Latency.ClientQueue == nil && stage.Concurrency > 0 && stage.RatePerSecond > 0 {
		r.warn("latencies start after the client let a request go (limit of %d in flight): the wait before it isn't in them", stage.Concurrency)
	}
	return r
}

func (r *Run) means() {
	if r.Completed > 0 {
		r.MeanInputTokens = float64(r.InputTokens) / float64(r.Completed)
		r.MeanOutputTokens = float64(r.OutputTokens) / float64(r.Completed)
	}
}

func isServeFigure(key string) bool {
	switch key {
	case "duration", "completed", "failed", "num_prompts", "model_id", "request_throughput", "output_throughput", "total_token_throughput", "total_throughput",
		"total_input_tokens", "total_output_tokens", "request_rate", "max_concurrency", "label", "tag":
		return true
	}
	return strings.HasSuffix(key, "_ms")
}

// serveDistribution collects mean_X_ms, median_X_ms, std_X_ms and every pNN_X_ms.
func serveDistribution(d doc, names []string) *Distribution {
	for _, name := range names {
		suffix := "_" + name + "_ms"
		mean, ok := d.opt("mean" + suffix)
		if !ok {
			continue
		}
		out := &Distribution{Mean: mean / 1e3, Std: d.num("std"+suffix) / 1e3, Max: d.num("max"+suffix) / 1e3, Min: d.num("min"+suffix) / 1e3, Estimator: "linear"}
		if m, ok := d.opt("median" + suffix); ok {
			out.Quantiles = append(out.Quantiles, Quantile{0.5, m / 1e3})
		}
		for k, v := range d {
			body, ok := strings.CutSuffix(k, suffix)
			if !ok || !strings.HasPrefix(body, "p") {
				continue
			}
			p, err := strconv.ParseFloat(body[1:], 64)
			x, ok := number(v)
			if err == nil && ok && p > 0 && p < 100 && p != 50 {
				out.Quantiles = append(out.Quantiles, Quantile{p / 100, x / 1e3})
			}
		}
		sort.Slice(out.Quantiles, func(i, j int) bool { return out.Quantiles[i].P < out.Quantiles[j].P })
		return out
	}
	return nil
}

// serveRecords reads the arrays of --save-detailed, in submission order, failures included.
func serveRecords(r *Run, d doc) error {
	in, out, ttft := floats(d["input_lens"]), floats(d["output_lens"]), floats(d["ttfts"])
	itls, errs := d.list("itls"), d.list("errors")
	start, latency, queue, cached := floats(d["start_times"]), floats(d["latencies"]), floats(d["queue_times"]), floats(d["cached_tokens"])
	if len(out) == 0 || len(ttft) == 0 {
		return nil
	}
	if len(ttft) != len(out) {
		return refuse("ttfts has %d values, output_lens %d", len(ttft), len(out))
	}
	origin := 0.0
	if len(start) > 0 {
		origin = start[0]
		for _, s := range start {
			origin = min(origin, s)
		}
	}
	for i := range out {
		q := Record{OutputTokens: whole(out[i]), TTFTSeconds: ttft[i], TokenCount: CountServer}
		if i < len(in) {
			q.InputTokens = whole(in[i])
		}
		if i < len(cached) {
			q.CachedTokens = whole(cached[i])
		}
		if i < len(itls) {
			q.GapsSeconds = floats(itls[i])
		}
		if i < len(queue) {
			q.QueueSeconds = queue[i]
		}
		if i < len(start) {
			q.Clocked, q.SentSeconds = true, start[i]-origin
			q.ScheduledSeconds = q.SentSeconds - q.QueueSeconds
		}
		q.E2ESeconds = ttft[i]
		for _, g := range q.GapsSeconds {
			q.E2ESeconds += g
		}
		if i < len(latency) {
			q.E2ESeconds = latency[i]
		}
		if i < len(errs) {
			if text, ok := errs[i].(string); ok && text != "" {
				q.Error = &Failure{Phase: "stream", Message: firstLine(text)}
			}
		}
		r.Records = append(r.Records, q)
	}
	return r.fromRecords()
}

// fromRecords replaces the printed latencies by those of the records when the records show that the printed ones hold failures.
func (r *Run) fromRecords() error {
	printed, requests := *r, r.Requests
	r.failEmpty()
	if len(r.Records) < requests {
		r.warn("the file lists %d of %d requests", len(r.Records), requests)
	}
	empty := 0
	for i := range r.Records {
		if e := r.Records[i].Error; e != nil && e.Code == "no token" {
			empty++
		}
	}
	whole := len(r.Records) >= requests
	if !whole && empty == 0 {
		return nil // a shortened list adds nothing to the printed figures
	}
	duration := r.DurationSeconds
	r.Summarise()
	if !whole {
		// The counts stay the file's own; its latencies can't be used because they average over requests that produced nothing.
		r.Requests, r.Completed, r.Failed = printed.Requests, printed.Completed, printed.Failed
		r.InputTokens, r.OutputTokens = printed.InputTokens, printed.OutputTokens
		r.RequestsPerSecond, r.OutputTokensPerSecond, r.TotalTokensPerSecond = printed.RequestsPerSecond, printed.OutputTokensPerSecond, printed.TotalTokensPerSecond
		// TPOT and ITL are printed over requests with tokens only; TTFT and E2E aren't.
		r.Latency = Latency{TPOT: printed.Printed.TPOT, ITL: printed.Printed.ITL}
		r.MeanInputTokens, r.MeanOutputTokens, r.StdOutputTokens, r.StdKnown = 0, 0, 0, false
		r.warn("the printed TTFT averages over requests without any token, and the list is too short to compute it anew: it is left out")
	}
	r.DurationSeconds = duration
	if r.Completed > 0 && whole && empty == 0 {
		return agree(r, &printed)
	}
	return nil
}

// agree refuses a file whose records and printed means are far apart.
func agree(r, printed *Run) error {
	for _, p := range []struct {
		name      string
		ours, its *Distribution
	}{{"TTFT", r.Latency.TTFT, printed.Printed.TTFT}, {"TPOT", r.Latency.TPOT, printed.Printed.TPOT}} {
		if !p.ours.Known() || !p.its.Known() {
			continue
		}
		if ratio := p.ours.Mean / p.its.Mean; ratio < 0.8 || ratio > 1.25 {
			return refuse("the figures contradict each other: the printed mean %s is %.4g s, that of the listed requests %.4g s", p.name, p.its.Mean, p.ours.Mean)
		} else if ratio < 0.99 || ratio > 1.01 {
			r.warn("the printed mean %s is %.4g s, that of the listed requests %.4g s; the latter is used", p.name, p.its.Mean, p.ours.Mean)
		}
	}
	return nil
}

func firstLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.LastIndexByte(s, '\n'); i >= 0 && strings.HasPrefix(s, "Traceback") {
		s = s[i+1:] // the exception stands last
	}
	s, _, _ = strings.Cut(s, "\n")
	if len(s) > 200 {
		s = s[:200]
	}
	return s
}

// `vllm bench latency` times whole batches without a server.

func isVLLMLatency(first any, _ *input) bool {
	d := asDoc(first)
	return d.has("avg_latency", "latencies", "percentiles")
}

func readVLLMLatency(in *input) ([]*Run, error) {
	d := asDoc(in.docs[0])
	v := floats(d["latencies"])
	if len(v) == 0 {
		return nil, refuse("latencies is empty")
	}
	r := &Run{Tool: "vllm latency", Engine: "vllm", Requests: len(v), Completed: len(v), Stages: []Stage{{Name: "batch", Kind: KindLoad}}}
	e := &Distribution{Count: len(v), Mean: d.num("avg_latency"), Estimator: "linear", Definition: "whole batches, no server"}
	for k, x := range d.sub("percentiles") {
		p, err := strconv.ParseFloat(k, 64)
		if y, ok := number(x); err == nil && ok && p > 0 && p < 100 {
			e.Quantiles = append(e.Quantiles, Quantile{p / 100, y})
		}
	}
	sort.Slice(e.Quantiles, func(i, j int) bool { return e.Quantiles[i].P < e.Quantiles[j].P })
	r.Printed.E2E = e
	r.Latency.E2E = e
	r.warn("vllm bench latency times whole batches: neither TTFT nor TPOT; batch size and lengths aren't in the file")
	rest := Describe(append([]float64(nil), v[1:]...))
	if rest != nil && v[0] > 1.1*rest.Max {
		r.warn("the first batch took %.4g s against %.4g s for the others: a cold start inside the mean", v[0], rest.Mean)
	}
	own := Describe(append([]float64(nil), v...))
	if own.Mean < 0.99*e.Mean || own.Mean > 1.01*e.Mean {
		return nil, refuse("avg_latency is %.4g s, but the mean of latencies %.4g s", e.Mean, own.Mean)
	}
	return []*Run{r}, r.check(false)
}

// `vllm bench throughput` counts tokens offline.

func isVLLMThroughput(first any, _ *input) bool {
	d := asDoc(first)
	return d.has("elapsed_time", "num_requests", "tokens_per_second")
}

func readVLLMThroughput(in *input) ([]*Run, error) {
	d := asDoc(in.docs[0])
	n := d.count("num_requests")
	r := &Run{Tool: "vllm throughput", Engine: "vllm", Requests: n, Completed: n, DurationSeconds: d.num("elapsed_time"),
		RequestsPerSecond: d.num("requests_per_second"), TotalTokensPerSecond: d.num("tokens_per_second"),
		Stages: []Stage{{Name: "offline", Kind: KindLoad, EndSeconds: d.num("elapsed_time")}}}
	r.warn("vllm bench throughput counts input and output tokens together, without latencies")
	if total := d.num("total_num_tokens"); total > 0 && r.DurationSeconds > 0 {
		if own := total / r.DurationSeconds; own < 0.95*r.TotalTokensPerSecond || own > 1.05*r.TotalTokensPerSecond {
			return nil, refuse("tokens_per_second is %.4g, but %.0f tokens in %.4g s are %.4g", r.TotalTokensPerSecond, total, r.DurationSeconds, own)
		}
	}
	return []*Run{r}, r.check(false)
}
