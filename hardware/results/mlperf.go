package results

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// MLPerf LoadGen's mlperf_log_summary.txt: "key : value" lines, times in nanoseconds. Percentiles are sorted[floor(n p)] over samples.
// "Time to Output Token" is (latency - TTFT)/(tokens - 1).

func isMLPerf(first any, in *input) bool {
	return first == nil && bytes.Contains(in.data[:min(len(in.data), 4096)], []byte("MLPerf Results Summary"))
}

func readMLPerf(in *input) ([]*Run, error) {
	d := doc{}
	for _, line := range strings.Split(string(in.data), "\n") {
		k, v, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		k = strings.ToLower(strings.Join(strings.Fields(strings.TrimLeft(k, " *")), " "))
		if _, seen := d[k]; !seen {
			d[k] = strings.TrimSpace(v)
		}
	}
	if mode := d.str("mode"); mode != "" && mode != "PerformanceOnly" {
		return nil, refuse("an MLPerf summary of mode %s has no performance figures", mode)
	}
	scenario := d.str("scenario")
	r := &Run{Tool: "mlperf", Label: scenario, Model: "", Stages: []Stage{{Name: scenario, Kind: KindLoad, RatePerSecond: d.num("scheduled samples per second")}},
		Parameters: map[string]string{"sut": d.str("sut name"), "scenario": scenario, "result": d.str("result is")}}
	r.RequestsPerSecond = d.num("completed samples per second", "samples per second")
	r.OutputTokensPerSecond = d.num("completed tokens per second", "tokens per second")
	if r.RequestsPerSecond <= 0 {
		return nil, refuse("no samples per second in this MLPerf summary (scenario %q)", scenario)
	}
	r.MeanOutputTokens = r.OutputTokensPerSecond / r.RequestsPerSecond
	p := &r.Printed
	p.TTFT = mlperfDistribution(d, "first token latency")
	p.TPOT = mlperfDistribution(d, "time to output token")
	p.E2E = mlperfDistribution(d, "latency")
	if scenario == "Offline" {
		if p.E2E != nil {
			p.E2E.Definition = "from the start of the run, when all samples are offered at once"
			r.DurationSeconds = p.E2E.Max
		}
		r.Latency = Latency{}
		if n := d.count("samples_per_query"); n > 0 {
			r.Requests, r.Completed = n, n
			r.OutputTokens = int64(whole(r.MeanOutputTokens * float64(n)))
		}
		r.warn("offline scenario: throughput only; its latencies count from the start of the run")
	} else {
		r.Latency = *p
	}
	if d.str("result is") == "INVALID" {
		r.warn("MLPerf calls this result INVALID")
	}
	r.warn("the summary names neither model, hardware nor input length: give them with --model and --chip")
	return []*Run{r}, r.check(false)
}

func mlperfDistribution(d doc, what string) *Distribution {
	mean, ok := d.opt("mean " + what + " (ns)")
	if !ok {
		return nil
	}
	out := &Distribution{Mean: mean / 1e9, Min: d.num("min "+what+" (ns)") / 1e9, Max: d.num("max "+what+" (ns)") / 1e9, Estimator: "sorted[floor(n p)]"}
	for _, k := range sortedKeys(d) {
		head, ok := strings.CutSuffix(k, " percentile "+what+" (ns)")
		if !ok {
			continue
		}
		pc, err := strconv.ParseFloat(head, 64)
		if x, isNumber := number(d[k]); err == nil && isNumber && pc > 0 && pc < 100 {
			out.Quantiles = append(out.Quantiles, Quantile{pc / 100, x / 1e9})
		}
	}
	sort.Slice(out.Quantiles, func(i, j int) bool { return out.Quantiles[i].P < out.Quantiles[j].P })
	return out
}

// llm-d's universal benchmark report (YAML or JSON): every figure carries its unit.

func isUniversal(first any, _ *input) bool {
	d := asDoc(first)
	return d.path("results", "request_performance", "aggregate") != nil || d.has("version", "scenario", "metrics") && d.sub("metrics").sub("latency") != nil
}

func readUniversal(in *input) ([]*Run, error) {
	d := asDoc(in.docs[0])
	m := firstOf(d.path("results", "request_performance", "aggregate"), d.sub("metrics"))
	lat, requests := m.sub("latency"), m.sub("requests")
	r := &Run{Tool: "llm-d report", ToolVersion: fmt.Sprint(d["version"]), Failed: requests.count("failures"), Requests: requests.count("total"), Stages: []Stage{{Name: "run", Kind: KindLoad}}}
	r.Completed = r.Requests - r.Failed
	load := d.path("scenario", "load", "standardized")
	r.Stages[0].Concurrency, r.Stages[0].RatePerSecond = load.count("concurrency"), load.num("rate_qps")
	r.MeanInputTokens, r.MeanOutputTokens = requests.sub("input_length").num("mean"), requests.sub("output_length").num("mean")
	r.StdOutputTokens, r.StdKnown = spread(requests.sub("output_length")), requests.sub("output_length") != nil
	rate := m.sub("throughput")
	r.RequestsPerSecond, r.OutputTokensPerSecond = rate.sub("request_rate").num("mean"), rate.sub("output_token_rate").num("mean")
	r.TotalTokensPerSecond = rate.sub("total_token_rate").num("mean")
	r.Printed = Latency{TTFT: universalDistribution(lat.sub("time_to_first_token")), TPOT: universalDistribution(lat.sub("time_per_output_token")),
		ITL: universalDistribution(lat.sub("inter_token_latency")), E2E: universalDistribution(lat.sub("request_latency"))}
	r.Latency = r.Printed
	return []*Run{r}, r.check(false)
}

func universalDistribution(m doc) *Distribution {
	d := secondsDistribution(m)
	if d == nil {
		return nil
	}
	scale := unitSeconds(m.str("units"), 1)
	d.Mean, d.Std, d.Min, d.Max = d.Mean*scale, d.Std*scale, d.Min*scale, d.Max*scale
	for i := range d.Quantiles {
		d.Quantiles[i].Value *= scale
	}
	return d
}
