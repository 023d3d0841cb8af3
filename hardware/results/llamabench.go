package results

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
)

// llama-bench: JSON array, JSONL or CSV, one test a row: a prompt of n_prompt tokens, or n_gen tokens generated at depth n_depth, at batch
// size 1, without a server. The fields change between builds; they are read by name. Times are nanoseconds.

func isLlamaBench(first any, in *input) bool {
	if d := firstObject(first); d != nil {
		return d.has("build_commit", "n_prompt", "n_gen", "avg_ts")
	}
	line, _, _ := bytes.Cut(in.data, []byte("\n"))
	return first == nil && bytes.HasPrefix(in.data, []byte("build_commit,")) && bytes.Contains(line, []byte("n_prompt"))
}

func readLlamaBench(in *input) ([]*Run, error) {
	var runs []*Run
	each := func(d doc) error {
		if !d.has("n_prompt", "n_gen", "avg_ts") {
			return refuse("row %d has no n_prompt, n_gen and avg_ts", len(runs)+1)
		}
		r, err := llamaTest(d)
		if err != nil {
			return err
		}
		runs = append(runs, r)
		return r.check(false)
	}
	if len(in.docs) > 0 {
		return runs, in.eachObject(each)
	}
	rows, err := csvObjects(in.data)
	if err != nil {
		return nil, err
	}
	for _, d := range rows {
		if err := each(d); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

func llamaTest(d doc) (*Run, error) {
	prompt, gen, depth, rate := d.count("n_prompt"), d.count("n_gen"), d.count("n_depth"), d.num("avg_ts")
	r := &Run{Tool: "llama-bench", ToolVersion: fmt.Sprintf("%s (%d)", d.str("build_commit"), d.count("build_number")), Engine: "llama.cpp",
		EngineVersion: "b" + strconv.Itoa(d.count("build_number")), Model: d.str("model_type"), Hardware: d.str("gpu_info", "cpu_info"), Chips: 1,
		Parameters: parameters(d, func(k string) bool {
			switch k {
			case "n_prompt", "n_gen", "n_depth", "avg_ns", "avg_ts", "stddev_ns", "stddev_ts", "test_time", "model_type":
				return true
			}
			return false
		})}
	if prompt+gen <= 0 || rate <= 0 {
		return nil, refuse("a test of %d prompt and %d generated tokens at %g tokens/s", prompt, gen, rate)
	}
	samples := floats(d["samples_ns"])
	if len(samples) == 0 {
		if ns := d.num("avg_ns"); ns > 0 {
			samples = []float64{ns}
		} else {
			samples = []float64{float64(prompt+gen) / rate * 1e9}
		}
	}
	stage := Stage{Kind: KindLoad, Concurrency: 1, InputTokens: prompt + depth, OutputTokens: gen}
	switch {
	case gen == 0:
		stage.Kind, stage.Name, stage.OutputTokens = KindPrefill, fmt.Sprintf("pp%d", prompt), 1
	case prompt == 0:
		stage.Kind, stage.Name = KindDecode, fmt.Sprintf("tg%d", gen)
	default:
		stage.Name = fmt.Sprintf("pp%d+tg%d", prompt, gen)
		r.warn("%s: prompt and generation timed together; neither TTFT nor TPOT", stage.Name)
	}
	if depth > 0 {
		stage.Name += fmt.Sprintf(" @ d%d", depth)
	}
	r.Stages, r.Label = []Stage{stage}, stage.Name
	for _, ns := range samples {
		q := Record{InputTokens: prompt + depth, CachedTokens: depth, OutputTokens: gen, E2ESeconds: ns / 1e9, TokenCount: CountServer}
		switch stage.Kind {
		case KindPrefill:
			q.OutputTokens, q.TTFTSeconds = 1, q.E2ESeconds
		case KindDecode:
			q.DecodeOnly = true
		}
		r.Records = append(r.Records, q)
	}
	r.Summarise()
	if len(samples) > 0 {
		if mean := float64(prompt+gen) / rate; !within(r.Latency.E2E.Mean, mean, 0.1) {
			return nil, refuse("%s: avg_ts of %.4g tokens/s means %.4g s, but the samples take %.4g s", stage.Name, rate, mean, r.Latency.E2E.Mean)
		}
	}
	r.warn("llama-bench runs without tokenisation, sampling and HTTP, at batch size 1")
	return r, nil
}

func within(a, b, share float64) bool { return a >= b*(1-share) && a <= b*(1+share) }

// csvObjects reads a CSV with a header into one object a row.
func csvObjects(data []byte) ([]doc, error) {
	c := csv.NewReader(bytes.NewReader(data))
	c.FieldsPerRecord = -1
	c.LazyQuotes = true
	c.TrimLeadingSpace = true
	rows, err := c.ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) < 2 {
		return nil, refuse("the CSV has no rows below its header")
	}
	var out []doc
	for i, row := range rows[1:] {
		if len(row) == 1 && strings.TrimSpace(row[0]) == "" {
			continue
		}
		if len(row) != len(rows[0]) {
			return nil, refuse("row %d has %d cells, the header %d", i+2, len(row), len(rows[0]))
		}
		d := doc{}
		for j, cell := range row {
			d[strings.TrimSpace(rows[0][j])] = strings.TrimSpace(cell)
		}
		out = append(out, d)
	}
	return out, nil
}

// llama-batched-bench JSONL: pl sequences of pp prompt and tg generated tokens; speeds are aggregates over pl.

func isBatchedBench(first any, _ *input) bool {
	return firstObject(first).has("pp", "tg", "pl", "t_tg")
}

func readBatchedBench(in *input) ([]*Run, error) {
	var runs []*Run
	err := in.eachObject(func(d doc) error {
		pp, tg, pl, tPrompt, tGen := d.count("pp"), d.count("tg"), d.count("pl"), d.num("t_pp"), d.num("t_tg")
		if pl <= 0 || tg < 0 || pp < 0 || tPrompt < 0 || tGen < 0 {
			return refuse("row %d: pp %d, tg %d, pl %d", len(runs)+1, pp, tg, pl)
		}
		r := &Run{Tool: "llama-batched-bench", Engine: "llama.cpp", Label: fmt.Sprintf("pp%d tg%d x%d", pp, tg, pl), DurationSeconds: tPrompt + tGen,
			Stages: []Stage{{Name: "batch", Kind: KindDecode, Concurrency: pl, InputTokens: pp, OutputTokens: tg, EndSeconds: tPrompt + tGen}}}
		for range pl {
			r.Records = append(r.Records, Record{InputTokens: pp, OutputTokens: tg, TTFTSeconds: tPrompt, E2ESeconds: tPrompt + tGen, TokenCount: CountServer})
		}
		if tg > 0 {
			for i := range r.Records { // all sequences step together: TPOT is t_tg / tg, the first token comes with the first step
				r.Records[i].TTFTSeconds += tGen / float64(tg)
			}
		}
		r.Summarise()
		r.warn("llama-batched-bench runs without tokenisation, sampling and HTTP")
		runs = append(runs, r)
		return r.check(false)
	})
	return runs, err
}
