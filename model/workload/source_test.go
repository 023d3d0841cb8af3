package workload

import (
	"math"
	"strings"
	"testing"
)

const chat = `
name = "chat"
[arrivals]
process = "poisson"
requests_per_second = 5
[lengths]
input = { distribution = "lognormal", mean = 1000, cv = 1.0, max = 8192 }
output = { distribution = "lognormal", mean = 200, cv = 0.8, max = 2048 }
`

func mustDecode(t testing.TB, text string) *Workload {
	t.Helper()
	w, err := Decode("test.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func mustSource(t testing.TB, w *Workload, o SourceOptions) Source {
	t.Helper()
	s, err := w.Source(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// drain collects a source; a feedback source's requests are done the moment they arrive plus the service time.
func drain(t testing.TB, s Source, serviceNanos int64, most int) []Request {
	t.Helper()
	var out []Request
	var r Request
	f, _ := s.(Feedback)
	for len(out) < most && s.Next(&r) {
		c := r
		c.Blocks = append([]PrefixBlock(nil), r.Blocks...)
		out = append(out, c)
		if f != nil {
			f.Done(&r, r.ArrivalNanoseconds+serviceNanos)
		}
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return out
}

// TestTwoRatesMeetTheSameRequests is the property that capacity search rests on.
func TestTwoRatesMeetTheSameRequests(t *testing.T) {
	for _, process := range []string{
		`process = "poisson"`, `process = "deterministic"`, "process = \"gamma\"\ncv = 3", "process = \"weibull\"\ncv = 2",
	} {
		w := mustDecode(t, strings.Replace(chat, `process = "poisson"`, process, 1))
		a := drain(t, mustSource(t, w, SourceOptions{RequestsPerSecond: 2, Seed: 7}), 0, 500)
		b := drain(t, mustSource(t, w, SourceOptions{RequestsPerSecond: 20, Seed: 7}), 0, 500)
		for i := range a {
			if a[i].InputTokens != b[i].InputTokens || a[i].OutputTokens != b[i].OutputTokens {
				t.Fatalf("%s: request %d differs between rates: %+v, %+v", process, i, a[i], b[i])
			}
			if x, y := float64(a[i].ArrivalNanoseconds), 10*float64(b[i].ArrivalNanoseconds); math.Abs(x-y) > 20 {
				t.Fatalf("%s: arrival %d at %g, 10 x %g", process, i, x, y/10)
			}
		}
		if c := drain(t, mustSource(t, w, SourceOptions{RequestsPerSecond: 2, Seed: 7, Replication: 1}), 0, 500); c[0].InputTokens == a[0].InputTokens && c[1].InputTokens == a[1].InputTokens {
			t.Errorf("%s: replications draw the same lengths", process)
		}
	}
}

func TestArrivalsKeepOrder(t *testing.T) {
	w := mustDecode(t, chat)
	last := int64(0)
	for _, r := range drain(t, mustSource(t, w, SourceOptions{Seed: 1}), 0, 10000) {
		if r.ArrivalNanoseconds < last || r.InputTokens < 1 || r.OutputTokens < 1 || r.InputTokens > 8192 {
			t.Fatalf("bad request %+v after %d", r, last)
		}
		last = r.ArrivalNanoseconds
	}
}

// TestRenewalMoments checks mean and CV of the gaps within 5 standard errors.
func TestRenewalMoments(t *testing.T) {
	for _, tt := range []struct {
		process string
		cv      float64
	}{{"poisson", 1}, {"deterministic", 0}, {"gamma", 0.5}, {"gamma", 3}, {"weibull", 0.5}, {"weibull", 2}} {
		n, cv := 200000, tt.cv
		given := cv
		if tt.process == "poisson" || tt.process == "deterministic" {
			given = 0
		}
		g, err := compileGaps(tt.process, given)
		if err != nil {
			t.Fatal(err)
		}
		s := newStream(3)
		var sum, squares, fourth float64
		for range n {
			x := g.next(s)
			sum += x
			squares += (x - 1) * (x - 1)
			fourth += math.Pow(x-1, 4)
		}
		if m := sum / float64(n); math.Abs(m-1) > 5*cv/math.Sqrt(float64(n))+1e-4 {
			t.Errorf("%s cv %g: mean gap %g, want 1", tt.process, tt.cv, m)
		}
		v := squares / float64(n)
		se := math.Sqrt(fourth/float64(n)-v*v) / math.Sqrt(float64(n))
		if math.Abs(v-cv*cv) > 5*se+1e-3 {
			t.Errorf("%s: variance %g, want %g within %g", tt.process, v, cv*cv, 5*se)
		}
	}
}

func TestSummaryOfChat(t *testing.T) {
	s, err := mustDecode(t, chat).Summary()
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(s.MeanInput-1000) > 25 || math.Abs(s.MeanOutput-200) > 3 || s.MaxLength != 8192+2048 {
		t.Errorf("summary %+v", s)
	}
}

func TestFieldErrors(t *testing.T) {
	for in, want := range map[string]string{
		strings.Replace(chat, `"poisson"`, `"poison"`, 1):                                                       `arrivals.process: "poison" is not a process (did you mean "poisson"?)`,
		strings.Replace(chat, `"lognormal", mean = 1000`, `"log", mean=1`, 1):                                   `lengths.input.distribution: "log" is not a distribution (did you mean "lognormal"?)`,
		strings.Replace(chat, `mean = 1000`, `mean = -1`, 1):                                                    `lengths.input.mean: -1 is not between 0 and`,
		strings.Replace(chat, `requests_per_second`, `request_per_second`, 1):                                   `unknown key (did you mean "requests_per_second"?)`,
		chat + "[sessions]\nturns={distribution='fixed',value=3}\nthink_seconds={distribution='exponential'}\n": `sessions.think_seconds.mean: exponential needs a positive mean`,
	} {
		_, err := Decode("w.toml", []byte(in))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

func TestPeakFromUsers(t *testing.T) {
	got, err := PeakFromUsers(1e6, 8.64, 2)
	if err != nil || math.Abs(got-200) > 1e-9 {
		t.Errorf("peak %g, %v; want 200", got, err)
	}
	if _, err := PeakFromUsers(1e6, 1, 0.5); err == nil {
		t.Error("a peak below the mean passed")
	}
}

func BenchmarkNextPoissonLognormal(b *testing.B) {
	s := mustSource(b, mustDecode(b, chat), SourceOptions{Seed: 1})
	var r Request
	b.ReportAllocs()
	for b.Loop() {
		s.Next(&r)
	}
}

func BenchmarkSource(b *testing.B) {
	w := mustDecode(b, chat)
	b.ReportAllocs()
	for b.Loop() {
		mustSource(b, w, SourceOptions{Seed: 1, RequestsPerSecond: 3})
	}
}
