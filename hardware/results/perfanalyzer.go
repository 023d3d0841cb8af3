package results

import (
	"encoding/json"
	"strings"
)

// perf_analyzer's raw profile_export.json: epoch nanoseconds of every response; one response string may hold several stream events.

func isPerfAnalyzer(first any, _ *input) bool {
	l := asDoc(first).list("experiments")
	return len(l) > 0 && asDoc(l[0]).has("requests")
}

func readPerfAnalyzer(in *input) ([]*Run, error) {
	var runs []*Run
	top := asDoc(in.docs[0])
	for _, v := range top.list("experiments") {
		e := asDoc(v)
		r := &Run{Tool: "perf_analyzer", Endpoint: top.str("endpoint"), Stages: []Stage{{Name: "experiment", Kind: KindLoad}}}
		switch load := e.sub("experiment"); load.str("mode") {
		case "concurrency":
			r.Stages[0].Concurrency = load.count("value")
		case "request_rate":
			r.Stages[0].RatePerSecond = load.num("value")
		}
		if err := perfRequests(r, e); err != nil {
			return nil, err
		}
		r.Summarise()
		r.Latency.TTFTScheduled, r.Latency.E2EScheduled, r.Latency.ClientQueue = nil, nil, nil
		if err := r.check(false); err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

func perfRequests(r *Run, e doc) error {
	origin := 0.0
	for i, v := range e.list("requests") {
		d := asDoc(v)
		stamps, outputs := floats(d["response_timestamps"]), d.list("response_outputs")
		if len(outputs) != len(stamps) {
			return refuse("request %d has %d response times and %d responses", i+1, len(stamps), len(outputs))
		}
		start := d.num("timestamp")
		if origin == 0 || start < origin {
			origin = start
		}
		q := Record{Clocked: true, SentSeconds: start, TokenCount: CountChunks}
		last := 0.0
		for j, o := range outputs {
			text := asDoc(o).str("response")
			n, usage := perfTokens(text)
			if usage != nil {
				q.InputTokens, q.OutputTokens, q.TokenCount = usage.count("prompt_tokens"), usage.count("completion_tokens"), CountServer
			}
			if n == 0 {
				continue
			}
			at := (stamps[j] - start) / 1e9
			if q.TTFTSeconds == 0 {
				q.TTFTSeconds, q.FirstTokens = at, n
			} else {
				q.GapsSeconds = append(q.GapsSeconds, at-last)
				q.ChunkTokens = append(q.ChunkTokens, n)
			}
			last = at
			q.E2ESeconds = at
			if q.TokenCount == CountChunks {
				q.OutputTokens += n
			}
		}
		if len(stamps) == 1 && q.OutputTokens > 1 {
			q.TTFTSeconds, q.FirstTokens = 0, 0 // not streamed: one answer, no time to first token
		}
		r.Records = append(r.Records, q)
	}
	for i := range r.Records {
		r.Records[i].SentSeconds = (r.Records[i].SentSeconds - origin) / 1e9
		r.Records[i].ScheduledSeconds = r.Records[i].SentSeconds
	}
	r.StartUnixSeconds = origin / 1e9
	return nil
}

// perfTokens counts the events of a response that carry text.
func perfTokens(text string) (n int, usage doc) {
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "data:"))
		if line == "" || line == "[DONE]" || line[0] != '{' {
			continue
		}
		var d doc
		if json.Unmarshal([]byte(line), &d) != nil {
			continue // an event split over two responses; its other half counts
		}
		if u := d.sub("usage"); u != nil {
			usage = u
		}
		for _, c := range d.list("choices") {
			choice := asDoc(c)
			delta := firstOf(choice.sub("delta"), choice.sub("message"), choice)
			if delta.str("content", "reasoning_content", "reasoning", "text") != "" || len(delta.list("tool_calls")) > 0 {
				n++
				break
			}
		}
	}
	return n, usage
}
