package results

// SGLang: `python -m sglang.bench_serving`, JSONL, one line a run. Scalars in milliseconds, arrays in seconds.
// Its E2E ends with the last line of the stream; its output length is the requested one unless usage came.

func isSGLang(first any, _ *input) bool {
	d := firstObject(first)
	return d.has("total_output_tokens_retokenized") || d.has("mean_e2e_latency_ms", "request_throughput")
}

func readSGLang(in *input) ([]*Run, error) {
	var runs []*Run
	err := in.eachObject(func(d doc) error {
		r := serveRun("sglang", d)
		r.Engine = d.str("backend")
		if s := d.sub("server_info"); s != nil {
			r.Model = s.str("served_model_name", "model_path")
			r.EngineVersion = s.str("version")
			tp, dp, pp := max(s.count("tp_size"), 1), max(s.count("dp_size"), 1), max(s.count("pp_size"), 1)
			r.Chips = tp * pp
			if dp > 1 && s["enable_dp_attention"] != true {
				r.Chips *= dp
			}
			for k, v := range parameters(s, func(key string) bool { return !serverParameter(key) }) {
				if r.Parameters == nil {
					r.Parameters = map[string]string{}
				}
				r.Parameters["server."+k] = v
			}
		}
		if cached := d.sub("cache_report"); cached != nil {
			r.CachedTokens = int64(cached.count("total_cached_tokens"))
		}
		if again, ok := d.opt("total_output_tokens_retokenized"); ok && r.OutputTokens > 0 && again < 0.9*float64(r.OutputTokens) {
			r.warn("the tool counted %d output tokens, but only %.0f in the text it received: it falls back to the requested length when the server sends no usage", r.OutputTokens, again)
		}
		if err := serveRecords(r, d); err != nil {
			return err
		}
		runs = append(runs, r)
		return r.check(false)
	})
	return runs, err
}

func serverParameter(key string) bool {
	switch key {
	case "dtype", "quantization", "kv_cache_dtype", "mem_fraction_static", "tp_size", "dp_size", "pp_size", "ep_size", "max_running_requests", "chunked_prefill_size",
		"max_prefill_tokens", "max_total_num_tokens", "stream_interval", "attention_backend", "context_length", "disable_radix_cache", "page_size",
		"schedule_policy", "disaggregation_mode", "speculative_algorithm", "device":
		return true
	}
	return false
}
