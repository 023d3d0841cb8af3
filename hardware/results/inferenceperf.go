package results

import "sort"

// inference-perf (kubernetes-sigs): lifecycle reports in JSON or YAML, all times in seconds. Up to 0.4 it timestamped blank lines of the
// stream, which makes its TPOT and ITL about half of the truth; reports since 0.5 carry benchmark_time_seconds.

func isInferencePerf(first any, _ *input) bool {
	d := asDoc(first)
	return d.has("load_summary", "successes", "failures") && d.sub("successes").sub("latency") != nil
}

func readInferencePerf(in *input) ([]*Run, error) {
	var runs []*Run
	err := in.eachObject(func(d doc) error {
		r := lifecycle(d)
		runs = append(runs, r)
		old := r.ToolVersion == "0.4 or older"
		if old && r.Latency.ITL != nil {
			r.warn("inference-perf up to 0.4 timed blank lines of the stream: its ITL is dropped")
			r.Latency.ITL = nil
		}
		return r.check(old)
	})
	return runs, err
}

func lifecycle(d doc) *Run {
	load, ok, fail := d.sub("load_summary"), d.sub("successes"), d.sub("failures")
	lat, rate := ok.sub("latency"), ok.sub("throughput")
	r := &Run{Tool: "inference-perf", ToolVersion: "0.4 or older", Completed: ok.count("count"), Failed: fail.count("count")}
	if d.has("benchmark_time_seconds") {
		r.ToolVersion = "0.5 or newer"
		r.DurationSeconds = d.num("benchmark_time_seconds")
	}
	r.Requests = max(load.count("count"), r.Completed+r.Failed)
	r.RequestsPerSecond, r.OutputTokensPerSecond, r.TotalTokensPerSecond = rate.num("requests_per_sec"), rate.num("output_tokens_per_sec"), rate.num("total_tokens_per_sec")
	if r.DurationSeconds == 0 && r.RequestsPerSecond > 0 {
		r.DurationSeconds = float64(r.Completed) / r.RequestsPerSecond
	}
	output := firstOf(ok.sub("output_len"), ok.path("output_tokens", "total"))
	input := firstOf(ok.sub("prompt_len"), ok.path("prompt_tokens", "total"), ok.path("prompt_tokens", "text"))
	r.MeanInputTokens, r.MeanOutputTokens = input.num("mean"), output.num("mean")
	r.InputTokens, r.OutputTokens = int64(whole(r.MeanInputTokens*float64(r.Completed))), int64(whole(r.MeanOutputTokens*float64(r.Completed)))
	r.StdOutputTokens, r.StdKnown = spread(output), output != nil
	r.CachedTokens = int64(whole(ok.path("prompt_tokens", "cached").num("mean") * float64(r.Completed)))
	r.Stages = []Stage{{Name: "stage", Kind: KindLoad, RatePerSecond: load.num("requested_rate"), Concurrency: load.count("concurrency"), EndSeconds: r.DurationSeconds}}
	r.Printed = Latency{
		TTFT: secondsDistribution(lat.sub("time_to_first_token")), TPOT: secondsDistribution(lat.sub("time_per_output_token")),
		ITL: secondsDistribution(lat.sub("inter_token_latency")), E2E: secondsDistribution(lat.sub("request_latency")),
		ClientQueue: secondsDistribution(load.sub("schedule_delay")),
	}
	r.Latency = r.Printed
	if q := r.Latency.ClientQueue; q != nil && r.Latency.E2E.Known() && q.Mean > 0.05*r.Latency.E2E.Mean {
		r.warn("requests left the client %.3g s late on average: the client or its limit held them back; latencies start after that", q.Mean)
	}
	return r
}

// secondsDistribution reads {mean, min, max, median, p90, "p99.9", ...} in seconds, without a standard deviation.
func secondsDistribution(s doc) *Distribution {
	if s == nil {
		return nil
	}
	d := &Distribution{Mean: s.num("mean"), Min: s.num("min"), Max: s.num("max"), Std: spread(s), Estimator: "linear"}
	for _, k := range sortedKeys(s) {
		p, ok := percentile(k)
		if x, isNumber := number(s[k]); ok && isNumber {
			d.Quantiles = append(d.Quantiles, Quantile{p, x})
		}
	}
	sort.SliceStable(d.Quantiles, func(i, j int) bool { return d.Quantiles[i].P < d.Quantiles[j].P })
	return d
}

// spread is the standard deviation where the report has one, else a rough one from its percentiles: half the distance of p10 and p90 over 1.28.
func spread(s doc) float64 {
	if x, ok := s.opt("std", "stddev", "std_dev"); ok {
		return x
	}
	lo, okLo := s.opt("p10")
	hi, okHi := s.opt("p90")
	if !okLo || !okHi {
		return (s.num("max") - s.num("min")) / 4
	}
	return (hi - lo) / 2.56
}

// Per-request file: start and end on a clock without origin, chunk times in info.

func isInferencePerfRequests(first any, _ *input) bool {
	l, ok := first.([]any)
	return ok && len(l) > 0 && asDoc(l[0]).has("start_time", "end_time", "info")
}

func readInferencePerfRequests(in *input) ([]*Run, error) {
	r := &Run{Tool: "inference-perf", Stages: []Stage{{Name: "requests", Kind: KindLoad}}}
	origin, old := 0.0, false
	err := in.eachObject(func(d doc) error {
		if origin == 0 {
			origin = d.num("start_time")
		}
		origin = min(origin, d.num("start_time"))
		info := d.sub("info")
		response := info.sub("response_metrics")
		old = old || response == nil
		q := Record{Clocked: true, SentSeconds: d.num("start_time"), InputTokens: info.count("input_tokens"), OutputTokens: firstOf(response, info).count("output_tokens"), TokenCount: CountTokenizer}
		if n, ok := info.path("request_metrics", "text").opt("input_tokens"); ok {
			q.InputTokens = whole(n)
		}
		times := floats(firstOf(response, info)["output_token_times"])
		if len(times) > 0 {
			q.TTFTSeconds = times[0] - q.SentSeconds
			q.E2ESeconds = times[len(times)-1] - q.SentSeconds
			if !old {
				for i := 1; i < len(times); i++ {
					q.GapsSeconds = append(q.GapsSeconds, max(0, times[i]-times[i-1]))
				}
			}
		}
		q.DoneSeconds = d.num("end_time") - q.SentSeconds
		if q.E2ESeconds == 0 {
			q.E2ESeconds = q.DoneSeconds
		}
		if e := d.sub("error"); e != nil {
			q.Error = &Failure{Phase: "stream", Code: e.str("error_type"), Message: firstLine(e.str("error_msg"))}
		}
		r.Records = append(r.Records, q)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range r.Records {
		r.Records[i].SentSeconds -= origin
		r.Records[i].ScheduledSeconds = r.Records[i].SentSeconds
	}
	if old {
		r.warn("inference-perf up to 0.4 timed every line of the stream: gaps are dropped, TTFT may be that of an empty chunk")
	}
	r.Summarise()
	r.Latency.TTFTScheduled, r.Latency.E2EScheduled, r.Latency.ClientQueue = nil, nil, nil // the schedule isn't in the file
	return []*Run{r}, r.check(false)
}

func isInferencePerfPrometheus(first any, _ *input) bool {
	d := asDoc(first)
	return d.has("load_summary", "successes", "failures") && d.sub("successes").sub("latency") == nil
}

func refusePrometheus(in *input) ([]*Run, error) {
	d := asDoc(in.docs[0])
	if d.sub("successes").sub("request_latency") == nil {
		r := lifecycle(d)
		if r.Requests == 0 {
			return nil, refuse("an inference-perf report without any request")
		}
		return []*Run{r}, r.check(false)
	}
	return nil, refuse("inference-perf's Prometheus report reads bucketed server histograms of the whole server, some under metric names that no longer exist; import the lifecycle report beside it")
}
