package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"scoville/hardware/bench/fakeserver"
	"scoville/hardware/results"
)

// serve starts a fake server and a client that has probed it.
func serve(t testing.TB, o fakeserver.Options, key string) (*Client, *fakeserver.Server) {
	t.Helper()
	s := fakeserver.New(o)
	h := httptest.NewServer(s)
	t.Cleanup(func() { h.CloseClientConnections(); h.Close(); s.Close() })
	target, err := ParseTarget(h.URL, false)
	if err != nil {
		t.Fatal(err)
	}
	c := NewClient(target, "", key, 64, 20*time.Second)
	t.Cleanup(c.Close)
	return c, s
}

func probed(t testing.TB, o fakeserver.Options) (*Client, *fakeserver.Server) {
	t.Helper()
	c, s := serve(t, o, "")
	if _, err := c.Probe(context.Background(), &Budget{}); err != nil {
		t.Fatal(err)
	}
	return c, s
}

func do(c *Client, output int) results.Record {
	var r results.Record
	c.Do(context.Background(), c.text(20), output, true, &r, nil)
	return r
}

func TestDialects(t *testing.T) {
	for name, d := range map[string]fakeserver.Dialect{
		"plain":               {},
		"CRLF":                {LineEnd: "\r\n"},
		"lone CR":             {LineEnd: "\r"},
		"no space":            {NoSpace: true},
		"comments and pings":  {Comments: true},
		"data on two lines":   {SplitData: true},
		"role chunk":          {RoleChunk: true, OnlyChat: true},
		"empty chunks":        {EmptyChunks: true},
		"no [DONE]":           {NoDone: true},
		"no finish reason":    {NoFinish: true},
		"no usage":            {Usage: "never"},
		"null usage":          {Usage: "nulls"},
		"reasoning":           {Reasoning: 3, OnlyChat: true},
		"reasoning, newer":    {Reasoning: 3, OnlyChat: true, ReasoningField: "reasoning"},
		"tool calls":          {ToolCalls: true, OnlyChat: true},
		"lines over 64 KiB":   {Pad: 100_000},
		"split characters":    {WriteBytes: 5},
		"refuses usage stats": {Refuse: []string{"continuous_usage_stats"}},
		"refuses extras":      {Refuse: []string{"continuous_usage_stats", "ignore_eos", "max_completion_tokens"}},
		"only the new limit":  {Refuse: []string{"max_tokens"}},
		"ignores new limit":   {IgnoreFields: []string{"max_completion_tokens"}},
		"text prompts only":   {NoTokenIDs: true, TokensPerWord: 2},
		"no model list":       {NoModels: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := fakeserver.Options{Dialect: d}
			if d.Reasoning > 0 {
				o.Fixed = time.Millisecond // so that chunks don't share a read
			}
			c, _ := probed(t, o)
			r := do(c, 12)
			if r.Error != nil || r.OutputTokens != 12 || r.TTFTSeconds <= 0 || r.E2ESeconds < r.TTFTSeconds || len(r.GapsSeconds) != 11 {
				t.Fatalf("%+v (error %+v)", r, r.Error)
			}
			if want := results.CountServer; d.Usage != "never" && r.TokenCount != want {
				t.Errorf("tokens counted by %s", r.TokenCount)
			}
			if d.Reasoning > 0 && r.TTFOSeconds <= r.TTFTSeconds {
				t.Errorf("first visible token at %g s, first token at %g s", r.TTFOSeconds, r.TTFTSeconds)
			}
		})
	}
}

func TestSeveralTokensAChunk(t *testing.T) {
	for usage, name := range map[string]string{"": "continuous usage", "nulls": "total only"} {
		c, _ := probed(t, fakeserver.Options{Dialect: fakeserver.Dialect{TokensPerChunk: 3, Usage: usage}})
		r := do(c, 12)
		if r.OutputTokens != 12 || r.FirstTokens != 3 || len(r.GapsSeconds) != 3 || len(r.Gaps(nil)) != 9 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestFailuresAreFailures(t *testing.T) {
	for name, c := range map[string]struct {
		d            fakeserver.Dialect
		phase, wants string
	}{
		"status":          {fakeserver.Dialect{Status: 503}, "headers", "no"},
		"JSON error":      {fakeserver.Dialect{JSONError: true}, "stream", "out of memory"},
		"error in stream": {fakeserver.Dialect{ErrorAfter: 3}, "stream", "CUDA out of memory"},
		"error event":     {fakeserver.Dialect{ErrorAfter: 3, ErrorEvent: true}, "stream", "CUDA out of memory"},
		"cut":             {fakeserver.Dialect{CutAfter: 3}, "stream", "EOF"},
		"truncated":       {fakeserver.Dialect{NoDone: true, NoFinish: true}, "stream", "without [DONE]"},
	} {
		client, _ := serve(t, fakeserver.Options{Dialect: c.d}, "")
		client.can = capabilities{maxTokens: true, usage: true}
		r := do(client, 12)
		if r.Error == nil || r.Error.Phase != c.phase || !strings.Contains(r.Error.Message, c.wants) {
			t.Errorf("%s: %+v", name, r.Error)
		}
	}
	client, _ := serve(t, fakeserver.Options{Dialect: fakeserver.Dialect{NoTokens: true}}, "")
	client.can = capabilities{maxTokens: true}
	run, err := (&Runner{Client: client, Budget: &Budget{}}).Run(context.Background(), &Plan{Grace: 5, Stages: []StagePlan{closed("x", results.KindLoad, 1, 5, repeat(Job{Input: 5, Output: 5}, 2))}})
	if err != nil || run.Failed != 2 || run.Completed != 0 {
		t.Errorf("streams without tokens: %d failed, %d completed (%v)", run.Failed, run.Completed, err)
	}
}

func TestServerThatIgnoresTheLimitIsRefused(t *testing.T) {
	c, _ := serve(t, fakeserver.Options{Dialect: fakeserver.Dialect{IgnoreFields: []string{"max_tokens", "max_completion_tokens"}}}, "")
	if _, err := c.Probe(context.Background(), &Budget{}); err == nil || !strings.Contains(err.Error(), "ignores max_tokens") {
		t.Errorf("%v", err)
	}
}

// The key goes to the server and nowhere else, whatever the server says.
func TestKeyNeverLeaks(t *testing.T) {
	const key = "sk-very-secret-42"
	for _, d := range []fakeserver.Dialect{{}, {Status: 500, EchoKey: true}, {JSONError: true, EchoKey: true}, {ErrorAfter: 1, EchoKey: true}} {
		c, _ := serve(t, fakeserver.Options{Key: key, Dialect: d}, key)
		_, perr := c.Probe(context.Background(), &Budget{})
		if perr != nil {
			c.can = capabilities{maxTokens: true}
		}
		var file bytes.Buffer
		w, err := results.NewWriter(&file, &results.Run{Tool: "scoville bench"})
		if err != nil {
			t.Fatal(err)
		}
		run, err := (&Runner{Client: c, Budget: &Budget{}, Writer: w}).Run(context.Background(), &Plan{Grace: 5, Stages: []StagePlan{closed("x", results.KindLoad, 1, 5, repeat(Job{Input: 5, Output: 5}, 1))}})
		text, merr := json.Marshal(run)
		if merr != nil {
			t.Fatal(merr)
		}
		if all := file.String() + string(text) + fmt.Sprint(perr, err); strings.Contains(all, key) {
			t.Errorf("%+v: the key is in %s", d, all)
		}
	}
	c, _ := serve(t, fakeserver.Options{Key: key}, "wrong-key-7")
	if _, err := c.Probe(context.Background(), &Budget{}); err == nil || strings.Contains(err.Error(), "wrong-key-7") || !strings.Contains(err.Error(), "401") {
		t.Errorf("%v", err)
	}
}

func TestPromptsDefeatThePrefixCache(t *testing.T) {
	c, s := probed(t, fakeserver.Options{Dialect: fakeserver.Dialect{NoTokenIDs: true, TokensPerWord: 2}})
	run, err := (&Runner{Client: c, Budget: &Budget{}}).Run(context.Background(), &Plan{Grace: 5, Stages: []StagePlan{closed("x", results.KindPrefill, 2, 5, repeat(Job{Input: 100, Output: 1}, 20))}})
	if err != nil {
		t.Fatal(err)
	}
	heads := map[string]bool{}
	for _, q := range s.Seen()[len(s.Seen())-20:] {
		heads[strings.Join(strings.Fields(q.Prompt)[:4], " ")] = true
	}
	if len(heads) != 20 {
		t.Errorf("%d different beginnings of 20 prompts", len(heads))
	}
	for _, r := range run.Records {
		if r.InputTokens != 100 {
			t.Errorf("prompt of %d tokens, want 100", r.InputTokens)
		}
	}
}

// 8 requests at 10/s, one in flight, 0.5 s each: D/D/1 says the i-th waits 0.4 i seconds: mean 1.4, max 2.8, mean E2E 1.9.
func TestQueueInTheClientIsReported(t *testing.T) {
	c, _ := serve(t, fakeserver.Options{Service: 500 * time.Millisecond}, "")
	c.can = capabilities{maxTokens: true, usage: true}
	jobs := Uniform(10, repeat(Job{Input: 5, Output: 1}, 8))
	run, err := (&Runner{Client: c, Budget: &Budget{}}).Run(context.Background(), &Plan{Grace: 10, Stages: []StagePlan{{Stage: results.Stage{Name: "x", Kind: results.KindLoad, Concurrency: 1, RatePerSecond: 10}, Open: true, Jobs: jobs}}})
	if err != nil || run.Completed != 8 {
		t.Fatalf("%d completed, %v", run.Completed, err)
	}
	l := run.Latency
	// The machine may be busy: the wait can only be longer than the theory's, by what each service took too long, summed over those that wait for it.
	slack := 7*(l.E2E.Max-0.5) + 0.3
	for _, v := range []struct {
		name      string
		got, want float64
	}{{"mean wait", l.ClientQueue.Mean, 1.4}, {"max wait", l.ClientQueue.Max, 2.8}, {"mean E2E from schedule", l.E2EScheduled.Mean, 1.9}} {
		if v.got < v.want-0.001 || v.got > v.want+slack {
			t.Errorf("%s %.4f s, want %.1f", v.name, v.got, v.want)
		}
	}
	t.Logf("mean wait %.4f, max %.4f, mean E2E %.4f s", l.ClientQueue.Mean, l.ClientQueue.Max, l.E2EScheduled.Mean)
	if l.TTFT.Mean > l.TTFTScheduled.Mean-1.3 {
		t.Errorf("TTFT from the send %.3f s holds the wait", l.TTFT.Mean)
	}
}

func TestCapsHold(t *testing.T) {
	c, s := serve(t, fakeserver.Options{}, "")
	c.can = capabilities{maxTokens: true, usage: true}
	for name, b := range map[string]*Budget{
		"requests": {MaxRequests: 3}, "tokens": {MaxTokens: 3 * 15}, "dollars": {MaxDollars: 3.5e-6 * 15, DollarsPerMIn: 1, DollarsPerMOut: 1},
	} {
		before := len(s.Seen())
		run, err := (&Runner{Client: c, Budget: b}).Run(context.Background(), &Plan{Grace: 5, Stages: []StagePlan{closed("a", results.KindLoad, 4, 5, repeat(Job{Input: 10, Output: 5}, 50)), closed("b", results.KindLoad, 1, 5, repeat(Job{Input: 10, Output: 5}, 50))}})
		if n := len(s.Seen()) - before; err != nil || n != 3 || !strings.Contains(strings.Join(run.Warnings, " "), "cap") {
			t.Errorf("%s: %d requests sent (%v) %q", name, n, err, run.Warnings)
		}
	}
}

// Ctrl-C in the middle: the file holds every request that went out, and reads back.
func TestRecordsAreCompleteAfterInterrupt(t *testing.T) {
	c, s := serve(t, fakeserver.Options{Fixed: 2 * time.Millisecond}, "")
	c.can = capabilities{maxTokens: true, usage: true}
	ctx, stop := context.WithCancel(context.Background())
	time.AfterFunc(300*time.Millisecond, stop)
	var file bytes.Buffer
	w, err := results.NewWriter(&file, &results.Run{Tool: "scoville bench"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&Runner{Client: c, Budget: &Budget{}, Writer: w}).Run(ctx, &Plan{Grace: 5, Gaps: true, Stages: []StagePlan{closed("x", results.KindLoad, 4, 60, repeat(Job{Input: 5, Output: 20}, 10000))}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	runs, err := results.Read("x.jsonl", file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if got, sent := len(runs[0].Records), len(s.Seen()); got != sent || runs[0].Completed == 0 {
		t.Errorf("%d records of %d requests", got, sent)
	}
}

// A short ladder against known step times: decode points show fixed + n x per sequence, prefill points the time per prompt token.
func TestLadder(t *testing.T) {
	const fixed, perSeq, perPrompt = 4 * time.Millisecond, 50 * time.Microsecond, 20 * time.Microsecond
	c, _ := probed(t, fakeserver.Options{Fixed: fixed, PerSequence: perSeq, PerPromptToken: perPrompt})
	plan := Ladder(LadderOptions{Scale: 0.02, PrefillTokens: []int{256, 1024}, Concurrency: []int{1, 16}, OutputTokens: 32, MaxLength: 8192})
	n, tokens, _ := plan.Size()
	run, err := (&Runner{Client: c, Budget: &Budget{MaxRequests: n, MaxTokens: tokens}}).Run(context.Background(), &plan)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Stages) != 7 || run.Stages[6].Kind != results.KindHeldOut || run.Stages[6].RatePerSecond <= 0 {
		t.Fatalf("stages %+v %q", run.Stages, run.Warnings)
	}
	// The fake server sleeps for its steps: a loaded machine adds to them, nothing can take from them.
	low := run.StageRun(1).Latency.TTFT.Min
	high := run.StageRun(2).Latency.TTFT.Min
	if slope := (high - low) / 768; math.Abs(slope-perPrompt.Seconds()) > 0.5*perPrompt.Seconds() {
		t.Errorf("prefill slope %.3g s a token, want %.3g", slope, perPrompt.Seconds())
	}
	// The last requests of the stage run in a smaller batch, so the median is held against a quarter of the full one.
	if tpot := run.StageRun(4).Latency.TPOT; tpot == nil || tpot.Quantiles[0].Value < (fixed+4*perSeq).Seconds() {
		t.Errorf("decode x16 TPOT %+v below the server's own step time", tpot)
	}
}

func TestPoissonIsReproducible(t *testing.T) {
	jobs := repeat(Job{Input: 1, Output: 1}, 2000)
	a, b := Poisson(7, 50, 0, jobs), Poisson(7, 50, 0, jobs)
	for i := range a {
		if a[i] != b[i] || i > 0 && a[i].AtSeconds <= a[i-1].AtSeconds {
			t.Fatalf("job %d: %+v, %+v", i, a[i], b[i])
		}
	}
	if rate := 2000 / a[1999].AtSeconds; math.Abs(rate-50) > 5 {
		t.Errorf("rate %.1f", rate)
	}
}

func TestLadderFitsFiveMinutes(t *testing.T) {
	p := Ladder(LadderOptions{})
	n, tokens, seconds := p.Size()
	if seconds > 300 || n == 0 || tokens == 0 {
		t.Errorf("%d requests, %d tokens, %.0f s", n, tokens, seconds)
	}
	t.Logf("%d requests, %d tokens, at most %.0f s", n, tokens, seconds)
}

func TestDrift(t *testing.T) {
	var steady, slowing []results.Record
	for i := range 300 {
		r := results.Record{SentSeconds: float64(i), TTFTSeconds: 0.1, E2ESeconds: 0.1 + 0.9, OutputTokens: 10}
		steady = append(steady, r)
		if i > 200 {
			r.E2ESeconds = 1.3
		}
		slowing = append(slowing, r)
	}
	if d, ok := FindDrift(steady, 0); !ok || !d.Stable {
		t.Errorf("steady: %+v", d)
	}
	if d, ok := FindDrift(slowing, 0); !ok || d.Stable || d.TPOT < 0.2 {
		t.Errorf("slowing: %+v", d)
	}
}

// 2,000 streams at once, 100 tokens a second each.
func BenchmarkStreams(b *testing.B) {
	const streams, tokens = 2000, 200
	c, _ := serve(b, fakeserver.Options{Fixed: 10 * time.Millisecond}, "")
	c.can = capabilities{maxTokens: true, usage: true, continuousUsage: true}
	for range b.N {
		begun := time.Now()
		jobs := Uniform(2000, repeat(Job{Input: 8, Output: tokens}, streams))
		r := &Runner{Client: c, Budget: &Budget{}}
		run, err := r.Run(context.Background(), &Plan{Grace: 60, Gaps: true, Stages: []StagePlan{{Stage: results.Stage{Kind: results.KindLoad}, Open: true, Jobs: jobs}}})
		if err != nil || run.Completed != streams {
			b.Fatalf("%d completed (%v) %v", run.Completed, err, run.ErrorKinds)
		}
		b.ReportMetric(float64(streams*tokens)/time.Since(begun).Seconds(), "events/s")
		b.ReportMetric(run.Client.LagP99Seconds*1e3, "lag-p99-ms")
		b.ReportMetric(run.Client.CPUShare*100, "cpu-%")
	}
}

// The client alone, as far as one process can show it: 2,000 streams of 100 tokens a second from a server that does next to nothing.
func BenchmarkClient(b *testing.B) {
	const streams, tokens = 2000, 500
	h := httptest.NewServer(fakeserver.Firehose(tokens, 10*time.Millisecond))
	defer h.Close()
	target, err := ParseTarget(h.URL, false)
	if err != nil {
		b.Fatal(err)
	}
	c := NewClient(target, "m", "", streams, time.Minute)
	c.can = capabilities{maxTokens: true}
	for range b.N {
		jobs := Uniform(2000, repeat(Job{Input: 8, Output: tokens}, streams))
		begun := time.Now()
		run, err := (&Runner{Client: c, Budget: &Budget{}}).Run(context.Background(), &Plan{Grace: 60, Gaps: true, Stages: []StagePlan{{Stage: results.Stage{Kind: results.KindLoad}, Open: true, Jobs: jobs}}})
		if err != nil || run.Completed != streams {
			b.Fatalf("%d completed (%v) %v", run.Completed, err, run.ErrorKinds)
		}
		b.ReportMetric(float64(streams*tokens)/time.Since(begun).Seconds(), "events/s")
		b.ReportMetric(run.Client.LagP99Seconds*1e3, "lag-p99-ms")
		b.ReportMetric(run.Client.CPUShare*100, "cpu-%")
	}
}
