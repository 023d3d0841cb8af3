package results

// llmperf (ray-project): flat summary and an array of requests, all in seconds. Its inter_token_latency_s is E2E over tokens, so it
// includes TTFT; TPOT is computed anew. Tokens are counted with a Llama tokenizer whatever the model.

func isLLMPerfSummary(first any, _ *input) bool {
	return asDoc(first).has("results_ttft_s_mean") || asDoc(first).has("results_ttft_s_quantiles_p50") || asDoc(first).sub("results").has("ttft_s")
}

func readLLMPerfSummary(in *input) ([]*Run, error) {
	d := asDoc(in.docs[0])
	if nested := d.sub("results"); nested != nil {
		d = flatten(d)
	}
	r := &Run{Tool: "llmperf", ToolVersion: d.str("version"), Label: d.str("name"), Model: d.str("model"),
		Completed: d.count("results_num_completed_requests"), Failed: d.count("results_number_errors"), Requests: d.count("results_num_requests_started"),
		OutputTokensPerSecond: d.num("results_mean_output_throughput_token_per_s"), RequestsPerSecond: d.num("results_num_completed_requests_per_min") / 60,
		MeanInputTokens: d.num("results_number_input_tokens_mean"), MeanOutputTokens: d.num("results_number_output_tokens_mean"),
		StdOutputTokens: d.num("results_number_output_tokens_stddev"), StdKnown: d.has("results_number_output_tokens_stddev")}
	r.Requests = max(r.Requests, r.Completed+r.Failed)
	r.InputTokens, r.OutputTokens = int64(whole(r.MeanInputTokens*float64(r.Completed))), int64(whole(r.MeanOutputTokens*float64(r.Completed)))
	if r.RequestsPerSecond > 0 {
		r.DurationSeconds = float64(r.Completed) / r.RequestsPerSecond
	}
	r.Stages = []Stage{{Name: "run", Kind: KindLoad, Concurrency: d.count("num_concurrent_requests"), EndSeconds: r.DurationSeconds, InputTokens: d.count("mean_input_tokens"), OutputTokens: d.count("mean_output_tokens")}}
	p := &r.Printed
	p.TTFT, p.E2E, p.ITL = llmperfDistribution(d, "ttft_s"), llmperfDistribution(d, "end_to_end_latency_s"), llmperfDistribution(d, "inter_token_latency_s")
	r.Latency = Latency{TTFT: p.TTFT, E2E: p.E2E}
	if p.ITL != nil {
		p.ITL.Definition = "E2E over tokens, TTFT included"
	}
	llmperfTPOT(r)
	return []*Run{r}, r.check(false)
}

// llmperfTPOT takes TPOT from the means, after checking that the tool's own figure is E2E over tokens.
func llmperfTPOT(r *Run) {
	l := &r.Latency
	if !l.TTFT.Known() || !l.E2E.Known() || r.MeanOutputTokens <= 1 || l.E2E.Mean <= l.TTFT.Mean {
		return
	}
	l.TPOT = &Distribution{Mean: (l.E2E.Mean - l.TTFT.Mean) / (r.MeanOutputTokens - 1), Definition: "from the means of E2E, TTFT and output length; the tool's own includes TTFT"}
	if p := r.Printed.ITL; p.Known() {
		if own := l.E2E.Mean / r.MeanOutputTokens; p.Mean < 0.8*own || p.Mean > 1.2*own {
			r.warn("the tool's inter-token latency %.4g s is not E2E over tokens, %.4g s: its token counts are in doubt", p.Mean, own)
		}
	}
}

func flatten(d doc) doc {
	out := doc{}
	for k, v := range d {
		out[k] = v
	}
	var walk func(prefix string, m doc)
	walk = func(prefix string, m doc) {
		for k, v := range m {
			if s := asDoc(v); s != nil {
				walk(prefix+"_"+k, s)
				continue
			}
			out[prefix+"_"+k] = v
		}
	}
	walk("results", d.sub("results"))
	return out
}

func llmperfDistribution(d doc, name string) *Distribution {
	key := "results_" + name + "_"
	mean, ok := d.opt(key + "mean")
	if !ok {
		return nil
	}
	out := &Distribution{Mean: mean, Std: d.num(key + "stddev"), Min: d.num(key + "min"), Max: d.num(key + "max"), Estimator: "linear"}
	for _, p := range []struct {
		key string
		p   float64
	}{{"p25", 0.25}, {"p50", 0.5}, {"p75", 0.75}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}} {
		if x, ok := d.opt(key + "quantiles_" + p.key); ok {
			out.Quantiles = append(out.Quantiles, Quantile{p.p, x})
		}
	}
	return out
}

func isLLMPerfRequests(first any, _ *input) bool {
	return firstObject(first).has("ttft_s", "end_to_end_latency_s")
}

func readLLMPerfRequests(in *input) ([]*Run, error) {
	r := &Run{Tool: "llmperf", Stages: []Stage{{Name: "run", Kind: KindLoad}}}
	err := in.eachObject(func(d doc) error {
		q := Record{TTFTSeconds: d.num("ttft_s"), E2ESeconds: d.num("end_to_end_latency_s"), InputTokens: d.count("number_input_tokens"), OutputTokens: d.count("number_output_tokens"), TokenCount: CountTokenizer}
		if code, ok := d.opt("error_code"); ok && code != 0 {
			q.Error = &Failure{Phase: "headers", HTTP: whole(code), Message: firstLine(d.str("error_msg"))}
		} else if text := d.str("error_msg"); text != "" {
			q.Error = &Failure{Phase: "stream", Message: firstLine(text)}
		}
		r.Records = append(r.Records, q)
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.Summarise()
	r.warn("closed loop, without times of sending: rates aren't in this file")
	return []*Run{r}, r.check(false)
}
