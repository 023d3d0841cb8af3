package results

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func read(t *testing.T, text string) *Run {
	t.Helper()
	runs, err := Read("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return runs[0]
}

// A vLLM run of n requests with TTFT 100 ms and gaps of 10 ms.
const vllmHead = `"model_id":"m","tokenizer_id":"m","num_prompts":2,"request_rate":"inf","max_concurrency":null,"completed":2,"total_input_tokens":20,"total_output_tokens":22,"request_throughput":1,"output_throughput":11,"duration":2,"mean_ttft_ms":100,"median_ttft_ms":100,"std_ttft_ms":0,"p99_ttft_ms":100,"mean_tpot_ms":10,"median_tpot_ms":10,"std_tpot_ms":0,"p99_tpot_ms":10`

func TestVLLMVariants(t *testing.T) {
	for name, text := range map[string]string{
		"typo key":          `{` + vllmHead + `,"request_goodput:":null}`,
		"byte order mark":   "\xef\xbb\xbf{" + vllmHead + "}",
		"CRLF":              strings.ReplaceAll("{"+vllmHead+"}", ",", ",\r\n"),
		"bare Infinity":     strings.Replace("{"+vllmHead+"}", `"inf"`, "Infinity", 1),
		"NaN in a std":      strings.Replace("{"+vllmHead+"}", `"std_tpot_ms":0`, `"std_tpot_ms":NaN`, 1),
		"infinity in text":  `{"label":"-Infinity \" NaN","x":"Infinity",` + vllmHead + `}`,
		"unknown keys":      `{"max_num_seqs":64,"run_number":0,` + vllmHead + `}`,
		"array of a sweep":  `[{"run_number":-1,` + vllmHead + `},{"run_number":0,` + vllmHead + `}]`,
		"appended":          `{` + vllmHead + "}\n{" + vllmHead + "}",
		"appended, cut off": `{` + vllmHead + "}\n{" + vllmHead[:60],
	} {
		t.Run(name, func(t *testing.T) {
			r := read(t, text)
			if r.Tool != "vllm" || math.Abs(r.Latency.TTFT.Mean-0.1) > 1e-12 || math.Abs(r.Latency.TPOT.Mean-0.01) > 1e-12 || r.Stages[0].RatePerSecond != 0 {
				t.Errorf("%+v %+v", r.Latency.TTFT, r.Latency.TPOT)
			}
		})
	}
}

func TestZeroTokenSuccessesAreFailures(t *testing.T) {
	r := read(t, `{`+vllmHead+`,"input_lens":[10,10],"output_lens":[11,0],"ttfts":[0.1,0.0],"itls":[[0.01,0.01,0.01,0.01,0.01,0.01,0.01,0.01,0.01,0.01],[]],"errors":["",""],"start_times":[5.0,6.0],"latencies":[0.2,0.0]}`)
	if r.Completed != 1 || r.Failed != 1 || r.Requests != 2 {
		t.Fatalf("%d completed, %d failed of %d", r.Completed, r.Failed, r.Requests)
	}
	if math.Abs(r.Latency.TPOT.Mean-0.01) > 1e-9 || math.Abs(r.Latency.E2E.Mean-0.2) > 1e-9 || r.Records[1].Error == nil {
		t.Errorf("TPOT %+v, E2E %+v", r.Latency.TPOT, r.Latency.E2E)
	}
}

func TestContradictionsAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, reason string }{
		"identity":       {strings.Replace(`{`+vllmHead+`,"mean_e2el_ms":1000}`, "2,\"request_rate", "2,\"request_rate", 1), "contradict each other"},
		"E2E below TTFT": {`{` + vllmHead + `,"mean_e2el_ms":50}`, "shorter than"},
		"throughput":     {strings.Replace(`{`+vllmHead+`}`, `"output_throughput":11`, `"output_throughput":1100`, 1), "contradict each other"},
		"order":          {strings.Replace(`{`+vllmHead+`}`, `"p99_ttft_ms":100`, `"p99_ttft_ms":10`, 1), "below"},
		"negative":       {strings.Replace(`{`+vllmHead+`}`, `"mean_ttft_ms":100`, `"mean_ttft_ms":100,"p90_ttft_ms":-3`, 1), "is -0.003"},
		"cut off":        {`{` + vllmHead, "cut off"},
		"empty":          {" \n", "empty"},
		"another thing":  {`{"a":1}`, "not a result file"},
		"records":        {`{` + vllmHead + `,"output_lens":[11,11],"ttfts":[0.9,0.9],"itls":[[0.1],[0.1]],"errors":["",""]}`, "contradict each other"},
	} {
		if _, err := Read("x.json", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.reason) || !strings.Contains(err.Error(), "x.json") {
			t.Errorf("%s: %v, want %q", name, err, c.reason)
		}
	}
}

// The wait in the client is part of what a user sees (vLLM 8 requests at 10/s with one in flight, 0.5 s each: mean wait 1.4 s, max 2.8 s).
func TestQueueTimesAreRead(t *testing.T) {
	var out, ttft, queue, start, lat []string
	for i := range 8 {
		out, ttft, lat = append(out, "1"), append(ttft, "0.5"), append(lat, "0.5")
		b, _ := json.Marshal(0.4 * float64(i))
		queue = append(queue, string(b))
		b, _ = json.Marshal(0.5 * float64(i))
		start = append(start, string(b))
	}
	j := func(s []string) string { return "[" + strings.Join(s, ",") + "]" }
	r := read(t, `{"model_id":"m","num_prompts":8,"request_rate":10,"max_concurrency":1,"duration":4,"completed":8,"total_input_tokens":8,"total_output_tokens":8,"request_throughput":2,"output_throughput":2,"mean_ttft_ms":500,
		"output_lens":`+j(out)+`,"input_lens":`+j(out)+`,"ttfts":`+j(ttft)+`,"latencies":`+j(lat)+`,"queue_times":`+j(queue)+`,"start_times":`+j(start)+`}`)
	l := r.Latency
	if math.Abs(l.ClientQueue.Mean-1.4) > 1e-9 || math.Abs(l.ClientQueue.Max-2.8) > 1e-9 || math.Abs(l.E2EScheduled.Mean-1.9) > 1e-9 || l.TTFT.Mean != 0.5 {
		t.Errorf("queue %+v, E2E from schedule %+v", l.ClientQueue, l.E2EScheduled)
	}
	r = read(t, strings.Replace("{"+vllmHead+"}", `"request_rate":"inf","max_concurrency":null`, `"request_rate":5,"max_concurrency":1`, 1))
	if !strings.Contains(strings.Join(r.Warnings, " "), "the wait before it isn't in them") {
		t.Errorf("no note on latencies after admission: %q", r.Warnings)
	}
}

// Two definitions of TPOT: for TTFT 1 s and 100 tokens at 20 ms each, E2E / N is 29.8 ms, (E2E - TTFT)/(N - 1) 20.0 ms.
func TestTwoDefinitionsOfTPOT(t *testing.T) {
	q := Record{TTFTSeconds: 1, E2ESeconds: 1 + 99*0.020, OutputTokens: 100}
	if tpot, ok := q.TPOT(); !ok || math.Abs(tpot-0.020) > 1e-12 {
		t.Errorf("TPOT %g", tpot)
	}
	if itl := q.E2ESeconds / 100; math.Abs(itl-0.0298) > 1e-12 {
		t.Errorf("E2E / N %g", itl)
	}
	r := read(t, `[{"error_code":null,"error_msg":"","inter_token_latency_s":0.0298,"ttft_s":1,"end_to_end_latency_s":2.98,"number_output_tokens":100,"number_input_tokens":10}]`)
	if math.Abs(r.Latency.TPOT.Mean-0.020) > 1e-9 {
		t.Errorf("llmperf TPOT %g", r.Latency.TPOT.Mean)
	}
}

// Sustained rate is (n - 1) over the span of the completions; n over the duration is lower.
func TestSteadyRate(t *testing.T) {
	r := &Run{Stages: []Stage{{Kind: KindLoad}}}
	for i := range 11 {
		r.Records = append(r.Records, Record{Clocked: true, SentSeconds: float64(i), ScheduledSeconds: float64(i), TTFTSeconds: 1, E2ESeconds: 5, OutputTokens: 5})
	}
	r.Summarise()
	if math.Abs(r.SteadyRequestsPerSecond-1) > 1e-12 || math.Abs(r.RequestsPerSecond-11.0/15) > 1e-12 {
		t.Errorf("steady %g, plain %g", r.SteadyRequestsPerSecond, r.RequestsPerSecond)
	}
}

func TestSecretsStayOut(t *testing.T) {
	const key = "sk-secret-1234"
	for _, text := range []string{
		`{"api_key":"` + key + `","ssl_keyfile_password":"` + key + `",` + vllmHead + `}`,
		`{"server_info":{"api_key":"` + key + `","admin_api_key":"` + key + `","tp_size":2},"total_output_tokens_retokenized":22,` + vllmHead + `}`,
	} {
		b, err := json.Marshal(read(t, text))
		if err != nil || bytes.Contains(b, []byte(key)) {
			t.Errorf("the key is in %s (%v)", b, err)
		}
	}
}

func TestChunksAreNotTokens(t *testing.T) {
	q := Record{TTFTSeconds: 0.1, E2ESeconds: 0.1 + 0.09, OutputTokens: 12, FirstTokens: 3, GapsSeconds: []float64{0.03, 0.06}, ChunkTokens: []int{3, 6}}
	if tpot, _ := q.TPOT(); math.Abs(tpot-0.01) > 1e-12 {
		t.Errorf("TPOT %g", tpot)
	}
	if g := q.Gaps(nil); len(g) != 9 || math.Abs(g[0]-0.01) > 1e-12 || math.Abs(g[8]-0.01) > 1e-12 {
		t.Errorf("gaps %v", g)
	}
}

func TestOwnFormatRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b bytes.Buffer
		w, err := NewWriter(&b, &Run{Tool: "scoville", Model: "m", StartUnixSeconds: 1.7e9})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Stage(0, Stage{Name: "a", Kind: KindMixed}); err != nil {
			t.Fatal(err)
		}
		n := rapid.IntRange(1, 20).Draw(t, "n")
		var in []Record
		for range n {
			q := Record{Clocked: true, SentSeconds: rapid.Float64Range(0, 100).Draw(t, "sent"), TTFTSeconds: rapid.Float64Range(0.001, 1).Draw(t, "ttft"), OutputTokens: rapid.IntRange(1, 50).Draw(t, "out")}
			q.ScheduledSeconds = q.SentSeconds
			q.E2ESeconds = q.TTFTSeconds * 3
			in = append(in, q)
			if err := w.Record(&q); err != nil {
				t.Fatal(err)
			}
		}
		cut := b.Len()
		if rapid.Bool().Draw(t, "finished") {
			if err := w.Finish(&Run{}); err != nil {
				t.Fatal(err)
			}
		} else if rapid.Bool().Draw(t, "killed inside a line") {
			b.WriteString(`{"record":{"stage":0,"cl`)
		}
		runs, err := Read("r.jsonl", b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		got := runs[0]
		if len(got.Records) != n || got.Completed != n {
			t.Fatalf("%d records of %d (%d bytes)", len(got.Records), n, cut)
		}
		for i := range in {
			if got.Records[i].TTFTSeconds != in[i].TTFTSeconds || got.Records[i].SentSeconds != in[i].SentSeconds {
				t.Fatalf("record %d: %+v, want %+v", i, got.Records[i], in[i])
			}
		}
	})
}

func TestGenericCSV(t *testing.T) {
	r := read(t, "sent_s,ttft_ms,e2e_ms,input_tokens,output_tokens,error\n0,100,200,10,11,\n1,100,300,10,21,\n2,0,0,10,0,timeout\n")
	if r.Completed != 2 || r.Failed != 1 || math.Abs(r.Latency.TPOT.Mean-0.01) > 1e-9 {
		t.Errorf("%d completed, TPOT %+v", r.Completed, r.Latency.TPOT)
	}
	if _, err := Read("x", []byte("ttft_ms,e2e_ms,output_tokens\n100,x,5\n")); err == nil || !strings.Contains(err.Error(), "row 2: e2e_ms") {
		t.Errorf("%v", err)
	}
	if _, err := Read("x", []byte("ttft_ms,tpot_ms,e2e_ms,output_tokens\n100,10,900,11\n")); err == nil || !strings.Contains(err.Error(), "but E2E is") {
		t.Errorf("%v", err)
	}
}

func TestBatchedBench(t *testing.T) {
	r := read(t, `{"n_kv_max":2048,"pp":128,"tg":100,"pl":4,"n_kv":912,"t_pp":0.5,"speed_pp":1024,"t_tg":2.0,"speed_tg":200,"t":2.5,"speed":364.8}`)
	if math.Abs(r.Latency.TPOT.Mean-0.02) > 1e-9 || r.Stages[0].Concurrency != 4 || r.OutputTokensPerSecond != 160 {
		t.Errorf("%+v", r.Latency.TPOT)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("{" + vllmHead + "}"))
	f.Add([]byte(`{"benchmarks":[{"type_":"generative_benchmark","metrics":{"time_to_first_token_ms":{"successful":{"mean":1,"count":2,"percentiles":{"p50":1}}}}}]}`))
	f.Add([]byte(`{"load_summary":{"count":1},"successes":{"count":1,"latency":{"request_latency":{"mean":1,"p99":2}}},"failures":{}}`))
	f.Add([]byte("load_summary:\n  count: 1\nsuccesses:\n  count: 1\n  latency:\n    request_latency:\n      mean: 1\nfailures:\n  - a: 1\n    b: 2\n"))
	f.Add([]byte(`{"metadata":{"request_start_ns":1},"metrics":{"time_to_first_token":{"value":1,"unit":"ms"}}}`))
	f.Add([]byte(`{"experiments":[{"requests":[{"timestamp":1,"response_timestamps":[2],"response_outputs":[{"response":"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}"}]}]}]}`))
	f.Add([]byte("Metric,avg,p99\nTime to First Token (ms),\"1,000.5\",3\n\nMetric,Value\nRequest Count,5\n"))
	f.Add([]byte("MLPerf Results Summary\nScenario : Server\nCompleted samples per second : 3\nMean latency (ns) : 5\n"))
	f.Add([]byte("ttft_ms,e2e_ms,output_tokens\n1,2,3\n"))
	f.Add([]byte(`{"scoville_records":1,"run":{"tool":"scoville"}}` + "\n" + `{"stage":{"name":"a"}}` + "\n" + `{"record":{"stage":0,"output_tokens":3}}`))
	f.Add([]byte(`[{"build_commit":"a","n_prompt":1,"n_gen":0,"avg_ts":3,"samples_ns":[5]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		runs, err := Read("fuzz", data)
		if err != nil {
			return
		}
		for _, r := range runs {
			if _, err := json.Marshal(r); err != nil {
				t.Errorf("a run that can't be written: %v", err)
			}
		}
	})
}

func TestReadFileNamesFolders(t *testing.T) {
	if _, err := ReadFile(t.TempDir()); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("%v", err)
	}
	if _, err := ReadFile("does-not-exist"); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
}
