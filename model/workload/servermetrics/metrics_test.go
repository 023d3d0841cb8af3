package servermetrics

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"scoville/model/workload"
)

// page writes a metrics page in the style of a server after so many requests, of which every fourth is long: 300 tokens
// in and 20 out, else 30 in and 5 out.
func page(server string, requests int) string {
	var b strings.Builder
	long := requests / 4
	histogram := func(name, labels string, bounds []float64, short, tall float64) {
		fmt.Fprintf(&b, "# HELP %s text.\n# TYPE %s histogram\n", name, name)
		for _, le := range append(bounds, math.Inf(1)) {
			n := 0
			if short <= le {
				n += requests - long
			}
			if tall <= le {
				n += long
			}
			text := fmt.Sprint(le)
			if math.IsInf(le, 1) {
				text = "+Inf"
			}
			fmt.Fprintf(&b, "%s_bucket{%s,le=%q} %d\n", name, labels, text, n)
		}
		fmt.Fprintf(&b, "%s_sum{%s} %g\n%s_count{%s} %d\n", name, labels, short*float64(requests-long)+tall*float64(long), name, labels, requests)
	}
	value := func(kind, name, labels string, v float64) {
		fmt.Fprintf(&b, "# TYPE %s %s\n%s{%s} %g\n", name, kind, name, labels, v)
	}
	tokens := []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}
	seconds := []float64{0.001, 0.01, 0.1, 0.25, 0.5, 1, 5}
	in, out := float64(30*(requests-long)+300*long), float64(5*(requests-long)+20*long)
	switch server {
	case "vllm", "vllm-old":
		l := `engine="0",model_name="m"`
		histogram("vllm:time_to_first_token_seconds", l, seconds, 0.05, 0.3)
		itlName := "vllm:inter_token_latency_seconds"
		if server == "vllm-old" {
			itlName = "vllm:time_per_output_token_seconds"
		}
		histogram(itlName, l, seconds, 0.005, 0.02)
		histogram("vllm:e2e_request_latency_seconds", l, seconds, 0.2, 0.8)
		histogram("vllm:request_prompt_tokens", l, tokens, 30, 300)
		histogram("vllm:request_generation_tokens", l, tokens, 5, 20)
		fmt.Fprintf(&b, "# TYPE vllm:request_success_total counter\n")
		fmt.Fprintf(&b, "vllm:request_success_total{%s,finished_reason=\"stop\"} %d\nvllm:request_success_total{%s,finished_reason=\"length\"} %d\n", l, requests-long, l, long)
		value("counter", "vllm:prefix_cache_queries_total", l, in)
		value("counter", "vllm:prefix_cache_hits_total", l, in/5)
		value("gauge", "vllm:num_requests_running", l, 3)
		value("gauge", "vllm:num_requests_waiting", l, 1)
	case "sglang":
		for rank := range 2 { // both ranks count the same requests
			l := fmt.Sprintf(`model_name="m",tp_rank="%d"`, rank)
			if rank == 0 {
				histogram("sglang:time_to_first_token_seconds", l, seconds, 0.05, 0.3)
				value("counter", "sglang:prompt_tokens_total", l, in)
				value("counter", "sglang:generation_tokens_total", l, out)
				value("counter", "sglang:num_requests_total", l, float64(requests))
				continue
			}
			fmt.Fprintf(&b, "sglang:num_requests_total{%s} %d\n", l, requests)
		}
	case "tgi":
		l := `x="y"`
		histogram("tgi_request_duration", l, seconds, 0.2, 0.8)
		histogram("tgi_request_input_length", l, tokens, 30, 300)
		histogram("tgi_request_generated_tokens", l, tokens, 5, 20)
		histogram("tgi_request_mean_time_per_token_duration", l, seconds, 0.005, 0.02)
		value("counter", "tgi_request_success", l, float64(requests))
	case "triton":
		l := `model="m",version="1"`
		histogram("nv_inference_first_response_histogram_ms", l, []float64{1, 10, 100, 250, 500}, 50, 300)
		value("counter", "nv_inference_request_success", l, float64(requests))
	case "dynamo":
		l := `model="m"`
		histogram("dynamo_frontend_time_to_first_token_seconds", l, seconds, 0.05, 0.3)
		histogram("dynamo_frontend_input_sequence_tokens", l, tokens, 30, 300)
		histogram("dynamo_frontend_output_sequence_tokens", l, tokens, 5, 20)
		value("counter", "dynamo_frontend_requests_total", l, float64(requests))
	}
	return b.String()
}

const (
	trueInput  = (30*3 + 300) / 4.0
	trueOutput = (5*3 + 20) / 4.0
	trueTTFT   = (0.05*3 + 0.3) / 4
)

func TestPages(t *testing.T) {
	for _, server := range []string{"vllm", "vllm-old", "sglang", "tgi", "triton", "dynamo"} {
		t.Run(server, func(t *testing.T) {
			o, err := ReadPage(strings.NewReader(page(server, 400)), "page", "", 100)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.TrimSuffix(server, "-old"); o.Server != want || o.Requests != 400 || o.RequestsPerSecond != 4 {
				t.Errorf("server %s, %g requests at %g/s", o.Server, o.Requests, o.RequestsPerSecond)
			}
			if server != "tgi" && (o.TTFT == nil || math.Abs(o.TTFT.Mean-trueTTFT) > 1e-9 || o.TTFT.P50 > 0.1 || o.TTFT.P99 < 0.25 || o.TTFT.P99 > 0.5) {
				t.Errorf("TTFT %+v", o.TTFT)
			}
			if strings.HasPrefix(server, "vllm") && (o.ITL == nil || math.Abs(o.ITL.Mean-0.00875) > 1e-9 || o.CachedShare == nil || math.Abs(*o.CachedShare-0.2) > 1e-9 || *o.Running != 3 || *o.Waiting != 1) {
				t.Errorf("ITL %+v, cached %v", o.ITL, o.CachedShare)
			}
			if server == "triton" {
				if _, err := o.Workload("w"); err == nil || !strings.Contains(err.Error(), "does not expose input lengths") {
					t.Errorf("a workload without lengths: %v", err)
				}
				return
			}
			w, err := o.Workload("w")
			if err != nil {
				t.Fatal(err)
			}
			// Within a bucket the mass is placed such that the mean comes out; tokens are whole, and a mean without a
			// histogram is rounded to one.
			if in, out := w.MeanInput(), w.MeanOutput(); math.Abs(in/trueInput-1) > 0.01 || math.Abs(out/trueOutput-1) > 0.04 {
				t.Errorf("workload means %g and %g, counted %g and %g", in, out, trueInput, trueOutput)
			}
			if w.OwnRate() != 4 {
				t.Errorf("rate %g", w.OwnRate())
			}
		})
	}
}

func TestBetweenPages(t *testing.T) {
	o, err := Between(strings.NewReader(page("vllm", 100)), strings.NewReader(page("vllm", 500)), "pages", "m", 200)
	if err != nil {
		t.Fatal(err)
	}
	if o.Requests != 400 || o.RequestsPerSecond != 2 || math.Abs(o.MeanInput-trueInput) > 1e-9 || o.TTFT.Count != 400 {
		t.Errorf("%+v", o)
	}
	if _, err := Between(strings.NewReader(page("vllm", 500)), strings.NewReader(page("vllm", 100)), "pages", "", 200); err == nil || !strings.Contains(err.Error(), "restarted") {
		t.Errorf("a restart passed: %v", err)
	}
}

func TestPageErrors(t *testing.T) {
	two := page("vllm", 4) + strings.ReplaceAll(strings.ReplaceAll(page("vllm", 4), "# ", "#x "), `model_name="m"`, `model_name="n"`)
	for name, tt := range map[string]struct{ content, model, want string }{
		"html":    {"<html>\n<body>", "", "page: not a Prometheus metrics page: text format parsing error in line 1"},
		"foreign": {"go_goroutines 5\n", "", "page: 1 metrics, none of them of vLLM, SGLang, TGI, Triton or Dynamo"},
		"model":   {page("vllm", 4), "mm", `page: model "mm" is not served (did you mean "m"?)`},
		"several": {two, "", "page: several models are served (m, n); say which"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadPage(strings.NewReader(tt.content), "page", tt.model, 1)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
	o, err := ReadPage(strings.NewReader(page("vllm", 0)), "page", "", 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Workload("w"); err == nil || !strings.Contains(err.Error(), "no requests have been counted") {
		t.Errorf("an idle server: %v", err)
	}
}

// A page of a real vLLM server, where it lies beside the repository.
func TestRealVLLMPage(t *testing.T) {
	path := filepath.Join("..", "..", "..", "..", "shared", "data", "samples", "server-metrics", "metrics_vllm_0_25_1_loaded.txt")
	f, err := os.Open(path)
	if err != nil {
		t.Skip("../shared is absent: real pages are not redistributed here")
	}
	defer f.Close()
	o, err := ReadPage(f, "page", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	if o.Server != "vllm" || o.Model != "opt-125m-tp2" || *o.Running != 64 || *o.Waiting != 64 || math.Abs(*o.CachedShare-2480/339968.0) > 1e-9 || len(o.Notes) == 0 {
		t.Errorf("%+v", o)
	}
	if o.TTFT == nil || o.ITL == nil || o.Input == nil {
		t.Errorf("histograms are missing: %v", o.Names)
	}
}

// TestPrometheus runs the real server against an exporter of ours that replays pages, and reads the window back.
func TestPrometheus(t *testing.T) {
	binary, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed (Debian package prometheus)")
	}
	if testing.Short() {
		t.Skip("needs about 15 s of scraping")
	}
	start := time.Now()
	const perSecond = 40
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		if _, err := io.WriteString(w, page("vllm", int(time.Since(start).Seconds()*perSecond)/4*4)); err != nil {
			t.Log(err)
		}
	}))
	defer exporter.Close()
	dir := t.TempDir()
	config := fmt.Sprintf("global:\n  scrape_interval: 1s\nscrape_configs:\n- job_name: vllm\n  static_configs:\n  - targets: [%q]\n", strings.TrimPrefix(exporter.URL, "http://"))
	if err := os.WriteFile(filepath.Join(dir, "p.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	cmd := exec.Command(binary, "--config.file="+filepath.Join(dir, "p.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Log(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Log("prometheus ended:", err)
		}
	}()
	q := Query{URL: "http://" + address, Window: minWindow}
	deadline := time.Now().Add(60 * time.Second)
	for {
		time.Sleep(time.Second)
		o, err := q.Read(context.Background())
		if err == nil && time.Since(start) > 14*time.Second && o.Requests > 0 {
			checkObserved(t, o, perSecond)
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no answer in a minute: %+v, %v", o, err)
		}
	}
}

func checkObserved(t *testing.T, o *Observed, perSecond float64) {
	t.Helper()
	// increase() extrapolates to the ends of the window, by up to a scrape interval in ten.
	if o.Server != "vllm" || o.Model != "m" || math.Abs(o.RequestsPerSecond/perSecond-1) > 0.15 {
		t.Errorf("server %s, model %s, %g requests/s, want %g", o.Server, o.Model, o.RequestsPerSecond, perSecond)
	}
	if math.Abs(o.MeanInput/trueInput-1) > 0.05 || o.TTFT == nil || math.Abs(o.TTFT.Mean/trueTTFT-1) > 0.05 || o.Running == nil || *o.Running != 3 {
		t.Errorf("%+v, TTFT %+v", o, o.TTFT)
	}
	w, err := o.Workload("live")
	if err != nil {
		t.Fatal(err)
	}
	if in := w.MeanInput(); math.Abs(in/trueInput-1) > 0.06 {
		t.Errorf("workload's mean input %g, want %g", in, trueInput)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestQueryErrors(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	for name, tt := range map[string]struct {
		q    Query
		want string
	}{
		"url":    {Query{URL: "prometheus:9090", Window: time.Hour}, `"prometheus:9090" is not the URL of a Prometheus server`},
		"window": {Query{URL: "http://localhost", Window: time.Second}, "the window is 1s; at least 10s is needed"},
		"other":  {Query{URL: web.URL, Window: time.Hour}, web.URL + ": status 404 Not Found and no JSON: is this a Prometheus server?"},
		"nobody": {Query{URL: "http://" + freeAddress(t), Window: time.Hour}, "asking Prometheus: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tt.q.Read(context.Background())
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func FuzzReadPage(f *testing.F) {
	for _, s := range []string{"vllm", "vllm-old", "sglang", "tgi", "triton", "dynamo"} {
		f.Add([]byte(page(s, 8)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := ReadPage(strings.NewReader(string(data)), "fuzz", "", 10)
		if err != nil {
			return
		}
		w, err := o.Workload("w")
		if err != nil {
			return
		}
		src, err := w.Source(workload.SourceOptions{RequestsPerSecond: 1, MaxRequests: 5})
		if err != nil {
			return
		}
		var r workload.Request
		for src.Next(&r) {
			if r.InputTokens < 1 || r.OutputTokens < 1 {
				t.Fatalf("%+v from %+v", r, o)
			}
		}
	})
}
