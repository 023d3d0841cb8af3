package results

import (
	"bytes"
	"strings"
)

// A generic CSV: one request a row, columns found by name, the unit in the name ("ttft_ms", "e2e_s"). Needs output tokens and at least
// one of TTFT and E2E.

type csvColumns struct {
	sent, scheduled, ttft, e2e, tpot, input, output, cached, errors string
	unit                                                            map[string]float64
}

func isGenericCSV(first any, in *input) bool {
	if first != nil {
		return false
	}
	line, _, _ := bytes.Cut(in.data, []byte("\n"))
	c := findColumns(strings.Split(strings.TrimRight(string(line), "\r"), ","))
	return c.output != "" && (c.ttft != "" || c.e2e != "")
}

func findColumns(header []string) csvColumns {
	c := csvColumns{unit: map[string]float64{}}
	for _, h := range header {
		h = strings.Trim(strings.TrimSpace(h), `"`)
		name := strings.ToLower(strings.NewReplacer(" ", "_", "(", "", ")", "", "-", "_").Replace(h))
		unit := 1.0
		for _, u := range []struct {
			suffix  string
			seconds float64
		}{{"_ms", 1e-3}, {"_us", 1e-6}, {"_ns", 1e-9}, {"_seconds", 1}, {"_sec", 1}, {"_s", 1}} {
			if base, ok := strings.CutSuffix(name, u.suffix); ok {
				name, unit = base, u.seconds
				break
			}
		}
		var to *string
		switch name {
		case "sent", "send_time", "start", "start_time", "request_start", "arrived_at", "arrival", "timestamp":
			to = &c.sent
		case "scheduled", "scheduled_time", "target_start", "intended":
			to = &c.scheduled
		case "ttft", "time_to_first_token", "first_token_latency":
			to = &c.ttft
		case "e2e", "e2el", "latency", "e2e_latency", "request_latency", "end_to_end_latency", "total_time":
			to = &c.e2e
		case "tpot", "time_per_output_token":
			to = &c.tpot
		case "input", "input_token", "input_tokens", "prompt_tokens", "input_len", "isl", "input_toks", "num_prefill_tokens":
			to = &c.input
		case "output", "output_token", "output_tokens", "completion_tokens", "output_len", "osl", "generated_tokens", "output_toks", "num_decode_tokens":
			to = &c.output
		case "cached_tokens", "cached":
			to = &c.cached
		case "error", "error_msg", "error_message":
			to = &c.errors
		}
		if to != nil && *to == "" {
			*to = h
			c.unit[h] = unit
		}
	}
	return c
}

func readGenericCSV(in *input) ([]*Run, error) {
	rows, err := csvObjects(in.data)
	if err != nil {
		return nil, err
	}
	line, _, _ := bytes.Cut(in.data, []byte("\n"))
	c := findColumns(strings.Split(strings.TrimRight(string(line), "\r"), ","))
	r := &Run{Tool: "csv", Stages: []Stage{{Name: "run", Kind: KindLoad}}}
	origin, first := 0.0, true
	for i, d := range rows {
		q, err := c.record(d, i+2)
		if err != nil {
			return nil, err
		}
		if first || q.SentSeconds < origin {
			origin, first = q.SentSeconds, false
		}
		r.Records = append(r.Records, q)
	}
	for i := range r.Records {
		r.Records[i].SentSeconds -= origin
		r.Records[i].ScheduledSeconds -= origin
	}
	if origin > 1e9 {
		r.StartUnixSeconds = origin
	}
	r.Summarise()
	return []*Run{r}, r.check(false)
}

func (c *csvColumns) record(d doc, row int) (Record, error) {
	q := Record{InputTokens: d.count(c.input), OutputTokens: d.count(c.output), CachedTokens: d.count(c.cached), TokenCount: CountTokenizer}
	read := func(column string) (float64, error) {
		if column == "" || d.str(column) == "" {
			return 0, nil
		}
		x, ok := number(d[column])
		if !ok {
			return 0, refuse("row %d: %s is %q, not a number", row, column, d.str(column))
		}
		return x * c.unit[column], nil
	}
	if text := d.str(c.errors); text != "" && !strings.EqualFold(text, "none") && text != "0" {
		q.Error = &Failure{Phase: "stream", Message: firstLine(text)}
	}
	for _, v := range []struct {
		column string
		to     *float64
	}{{c.sent, &q.SentSeconds}, {c.scheduled, &q.ScheduledSeconds}, {c.ttft, &q.TTFTSeconds}, {c.e2e, &q.E2ESeconds}} {
		x, err := read(v.column)
		if err != nil {
			return q, err
		}
		*v.to = x
	}
	q.Clocked = c.sent != ""
	if c.scheduled == "" {
		q.ScheduledSeconds = q.SentSeconds
	}
	tpot, err := read(c.tpot)
	if err != nil {
		return q, err
	}
	if q.E2ESeconds == 0 && tpot > 0 {
		q.E2ESeconds = q.TTFTSeconds + tpot*float64(q.OutputTokens-1)
	} else if tpot > 0 && q.OK() && q.TTFTSeconds > 0 && q.OutputTokens > 1 && !within(q.TTFTSeconds+tpot*float64(q.OutputTokens-1), q.E2ESeconds, 0.05) {
		return q, refuse("row %d: TTFT %.4g s + TPOT %.4g s x %d is %.4g s, but E2E is %.4g s", row, q.TTFTSeconds, tpot, q.OutputTokens-1, q.TTFTSeconds+tpot*float64(q.OutputTokens-1), q.E2ESeconds)
	}
	if q.OK() && q.E2ESeconds < q.TTFTSeconds {
		return q, refuse("row %d: E2E %.4g s is shorter than TTFT %.4g s", row, q.E2ESeconds, q.TTFTSeconds)
	}
	return q, nil
}
