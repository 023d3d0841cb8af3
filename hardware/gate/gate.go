// Package gate compares a benchmark run with a baseline and gives a verdict for CI.
//
// A figure fails when it is worse than its threshold allows and a bootstrap test says that it is worse at all: with few requests a p99 moves by
// itself. A figure beyond its threshold whose interval still holds "no change" is unclear, which is not a failure unless Strict is set.
// Requests in flight together aren't independent, so the bootstrap draws blocks of neighbouring requests, not single ones.
package gate

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"scoville/hardware/results"
	"scoville/model/random"
	"scoville/model/tomlfile"
)

// Thresholds, from TOML. Keys are metric names; see Metrics.
type Thresholds struct {
	Worse   map[string]float64 `toml:"worse"`    // largest relative worsening against the baseline: 0.2 is 20 %
	AtMost  map[string]float64 `toml:"at_most"`  // absolute, in seconds or as a share
	AtLeast map[string]float64 `toml:"at_least"` // absolute
	Strict  bool               `toml:"strict"`   // unclear counts as failed
}

// Default allows p99 latencies 20 %, means 10 % and throughput 5 % worsening, and an error rate of 1 %.
func Default() Thresholds {
	return Thresholds{
		Worse:  map[string]float64{"ttft_p99": 0.2, "tpot_p99": 0.2, "ttft_mean": 0.1, "tpot_mean": 0.1, "output_tokens_per_second": 0.05},
		AtMost: map[string]float64{"error_rate": 0.01},
	}
}

// ReadFile reads thresholds and refuses metrics that don't exist.
func ReadFile(path string) (Thresholds, error) {
	var t Thresholds
	if err := tomlfile.ReadFile(path, &t); err != nil {
		return t, err
	}
	return t, t.Check(path)
}

// Check refuses unknown metrics and thresholds that can't be met or can't fail.
func (t *Thresholds) Check(name string) error {
	n := 0
	for _, table := range []struct {
		key string
		m   map[string]float64
	}{{"worse", t.Worse}, {"at_most", t.AtMost}, {"at_least", t.AtLeast}} {
		for _, k := range keys(table.m) {
			n++
			if _, err := find(k); err != nil {
				return fmt.Errorf("%s: %s.%s: %w", name, table.key, k, err)
			}
			if v := table.m[k]; v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("%s: %s.%s is %g; it must be 0 or more", name, table.key, k, v)
			}
		}
	}
	if n == 0 {
		return fmt.Errorf("%s: holds no threshold: give [worse], [at_most] or [at_least]", name)
	}
	return nil
}

func keys(m map[string]float64) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// metric is one figure of a run. value gives NaN where the run doesn't have it; sample, where set, takes the figure from chosen records.
type metric struct {
	higherIsBetter bool
	value          func(r *results.Run) float64
	sample         func(r *results.Record) (float64, bool) // of one request; with p the quantile to take, or -1 for the mean
	p              float64
}

var latencies = [...]string{"ttft", "tpot", "itl", "e2e", "ttft_from_schedule", "e2e_from_schedule"}
var rates = [...]string{"error_rate", "joules_per_token", "output_tokens_per_second", "requests_per_second", "tokens_per_second_per_watt", "total_tokens_per_second"}

// Metrics lists the names a threshold may have.
func Metrics() []string {
	out := append([]string(nil), rates[:]...)
	for _, l := range latencies {
		for _, s := range []string{"mean", "p50", "p90", "p95", "p99"} {
			out = append(out, l+"_"+s)
		}
	}
	sort.Strings(out)
	return out
}

func find(name string) (metric, error) {
	orNaN := func(x float64) float64 {
		if x == 0 {
			return math.NaN()
		}
		return x
	}
	switch name {
	case "error_rate":
		return metric{value: func(r *results.Run) float64 { return float64(r.Failed) / float64(r.Requests) }, sample: func(q *results.Record) (float64, bool) { return b2f(!q.OK()), true }, p: -1}, nil
	case "output_tokens_per_second":
		return metric{higherIsBetter: true, value: func(r *results.Run) float64 { return orNaN(r.OutputTokensPerSecond) }}, nil
	case "total_tokens_per_second":
		return metric{higherIsBetter: true, value: func(r *results.Run) float64 { return orNaN(r.TotalTokensPerSecond) }}, nil
	case "requests_per_second":
		return metric{higherIsBetter: true, value: func(r *results.Run) float64 { return orNaN(r.RequestsPerSecond) }}, nil
	case "joules_per_token":
		return metric{value: func(r *results.Run) float64 {
			if r.Power == nil {
				return math.NaN()
			}
			return orNaN(r.Power.JoulesPerToken)
		}}, nil
	case "tokens_per_second_per_watt":
		return metric{higherIsBetter: true, value: func(r *results.Run) float64 {
			if r.Power == nil {
				return math.NaN()
			}
			return orNaN(r.Power.TokensPerSecondW)
		}}, nil
	}
	i := strings.LastIndexByte(name, '_')
	if i > 0 {
		if m, ok := latencyMetric(name[:i], name[i+1:]); ok {
			return m, nil
		}
	}
	if near := tomlfile.Nearest(name, Metrics()); near != "" {
		return metric{}, fmt.Errorf("no such metric (did you mean %q?)", near)
	}
	return metric{}, fmt.Errorf("no such metric; there are %s", strings.Join(Metrics(), ", "))
}

func b2f(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func latencyMetric(what, statistic string) (metric, bool) {
	m := metric{p: -1}
	if statistic != "mean" {
		pc, err := strconv.ParseFloat(strings.TrimPrefix(statistic, "p"), 64)
		if err != nil || !strings.HasPrefix(statistic, "p") || pc <= 0 || pc >= 100 {
			return m, false
		}
		m.p = pc / 100
	}
	var of func(l *results.Latency) *results.Distribution
	switch what {
	case "ttft":
		of = func(l *results.Latency) *results.Distribution { return l.TTFT }
		m.sample = func(q *results.Record) (float64, bool) { return q.TTFTSeconds, q.OK() && q.TTFTSeconds > 0 }
	case "tpot":
		of = func(l *results.Latency) *results.Distribution { return l.TPOT }
		m.sample = func(q *results.Record) (float64, bool) {
			t, ok := q.TPOT()
			return t, ok && q.OK()
		}
	case "itl":
		of = func(l *results.Latency) *results.Distribution { return l.ITL }
	case "e2e":
		of = func(l *results.Latency) *results.Distribution { return l.E2E }
		m.sample = func(q *results.Record) (float64, bool) { return q.E2ESeconds, q.OK() && q.E2ESeconds > 0 }
	case "ttft_from_schedule":
		of = func(l *results.Latency) *results.Distribution { return l.TTFTScheduled }
		m.sample = func(q *results.Record) (float64, bool) {
			return q.QueueSeconds + q.TTFTSeconds, q.OK() && q.Clocked && q.TTFTSeconds > 0
		}
	case "e2e_from_schedule":
		of = func(l *results.Latency) *results.Distribution { return l.E2EScheduled }
		m.sample = func(q *results.Record) (float64, bool) {
			return q.QueueSeconds + q.E2ESeconds, q.OK() && q.Clocked && q.E2ESeconds > 0
		}
	default:
		return m, false
	}
	m.value = func(r *results.Run) float64 {
		d := of(&r.Latency)
		if !d.Known() {
			return math.NaN()
		}
		if m.p < 0 {
			return d.Mean
		}
		if x, ok := d.At(m.p); ok {
			return x
		}
		return math.NaN()
	}
	return m, true
}

// Verdicts of one line.
const (
	Pass    = "pass"
	Fail    = "FAIL"
	Unclear = "unclear" // beyond the threshold, but within what chance does
	Missing = "missing" // a run doesn't have the figure; fails, for a gate that looks at nothing must not pass
)

// Line is the verdict on one metric.
type Line struct {
	Metric    string   `json:"metric"`
	Rule      string   `json:"rule"`
	Baseline  *float64 `json:"baseline"` // nil: unknown
	New       *float64 `json:"new"`
	Change    *float64 `json:"change,omitempty"` // relative, positive is worse
	ChangeLow *float64 `json:"change_low,omitempty"`
	ChangeHi  *float64 `json:"change_high,omitempty"` // 95 % interval
	Threshold float64  `json:"threshold"`
	Verdict   string   `json:"verdict"`
}

// Report is the outcome.
type Report struct {
	Lines  []Line   `json:"lines"`
	Passed bool     `json:"passed"`
	Notes  []string `json:"notes,omitempty"`
}

// Compare judges fresh against baseline; baseline may be nil when only absolute thresholds are set. The records of a run are used where it has
// them. resamples of 1000 are plenty.
func Compare(baseline, fresh *results.Run, t Thresholds, seed uint64, resamples int) (*Report, error) {
	if err := t.Check("thresholds"); err != nil {
		return nil, err
	}
	if len(t.Worse) > 0 && baseline == nil {
		return nil, fmt.Errorf("thresholds under [worse] need a baseline")
	}
	rep := &Report{Passed: true}
	for _, k := range keys(t.Worse) {
		m, err := find(k)
		if err != nil {
			return nil, err
		}
		rep.add(m.relative(k, baseline, fresh, t.Worse[k], seed, resamples))
	}
	for _, k := range keys(t.AtMost) {
		m, err := find(k)
		if err != nil {
			return nil, err
		}
		rep.add(m.absolute(k, "at most", baseline, fresh, t.AtMost[k]))
	}
	for _, k := range keys(t.AtLeast) {
		m, err := find(k)
		if err != nil {
			return nil, err
		}
		rep.add(m.absolute(k, "at least", baseline, fresh, t.AtLeast[k]))
	}
	for _, l := range rep.Lines {
		if l.Verdict == Fail || l.Verdict == Missing || l.Verdict == Unclear && t.Strict {
			rep.Passed = false
		}
	}
	if c := fresh.Client; c != nil && c.Bottleneck != "" {
		rep.Passed = false
		rep.Notes = append(rep.Notes, "the new run's client was the bottleneck ("+c.Bottleneck+"): it can't be judged")
	}
	if baseline != nil {
		rep.compareLoads(baseline, fresh)
	}
	return rep, nil
}

func (r *Report) add(l Line) { r.Lines = append(r.Lines, l) }

// compareLoads warns when the two runs weren't given the same work.
func (r *Report) compareLoads(a, b *results.Run) {
	differ := func(x, y float64) bool { return x > 0 && y > 0 && (x > 1.05*y || y > 1.05*x) }
	if differ(a.MeanInputTokens, b.MeanInputTokens) || differ(a.MeanOutputTokens, b.MeanOutputTokens) {
		r.Notes = append(r.Notes, fmt.Sprintf("the runs did different work: %.0f in / %.0f out tokens a request against %.0f / %.0f in the baseline", b.MeanInputTokens, b.MeanOutputTokens, a.MeanInputTokens, a.MeanOutputTokens))
	}
	if a.Model != "" && b.Model != "" && a.Model != b.Model {
		r.Notes = append(r.Notes, fmt.Sprintf("the runs are of different models: %s, and %s in the baseline", b.Model, a.Model))
	}
}

func pointer(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

func (m *metric) absolute(name, rule string, baseline, fresh *results.Run, limit float64) Line {
	x := m.of(fresh)
	l := Line{Metric: name, Rule: fmt.Sprintf("%s %.4g", rule, limit), New: pointer(x), Threshold: limit, Verdict: Pass}
	if baseline != nil {
		l.Baseline = pointer(m.of(baseline))
	}
	switch {
	case math.IsNaN(x):
		l.Verdict = Missing
	case rule == "at most" && x > limit || rule == "at least" && x < limit:
		l.Verdict = Fail
	}
	return l
}

// of takes a figure from the records where there are some, so that both runs use the same estimator.
func (m *metric) of(r *results.Run) float64 {
	if v := m.values(r); len(v) > 0 {
		return m.figure(v)
	}
	return m.value(r)
}

// values are the samples in order of sending; only when the list is whole.
func (m *metric) values(r *results.Run) []float64 {
	if m.sample == nil || len(r.Records) == 0 || len(r.Records) < r.Requests {
		return nil
	}
	var v []float64
	for i := range r.Records {
		q := &r.Records[i]
		if q.Stage < len(r.Stages) && r.Stages[q.Stage].Kind == results.KindWarmup {
			continue
		}
		if x, ok := m.sample(q); ok {
			v = append(v, x)
		}
	}
	return v
}

func (m *metric) figure(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	if m.p < 0 {
		sum := 0.0
		for _, x := range v {
			sum += x
		}
		return sum / float64(len(v))
	}
	s := append([]float64(nil), v...)
	sort.Float64s(s)
	return results.QuantileSorted(s, m.p)
}

// worsening is the relative change in the bad direction.
func (m *metric) worsening(from, to float64) float64 {
	if m.higherIsBetter {
		return 1 - to/from
	}
	return to/from - 1
}

func (m *metric) relative(name string, baseline, fresh *results.Run, limit float64, seed uint64, resamples int) Line {
	a, b := m.of(baseline), m.of(fresh)
	l := Line{Metric: name, Rule: fmt.Sprintf("at most %.3g %% worse", 100*limit), Baseline: pointer(a), New: pointer(b), Threshold: limit, Verdict: Pass}
	if math.IsNaN(a) || math.IsNaN(b) {
		l.Verdict = Missing
		return l
	}
	if a == 0 {
		if b > limit {
			l.Verdict = Fail
		}
		return l
	}
	change := m.worsening(a, b)
	l.Change = pointer(change)
	va, vb := m.values(baseline), m.values(fresh)
	significant := true
	if len(va) >= 8 && len(vb) >= 8 {
		lo, hi := m.interval(name, va, vb, seed, resamples)
		l.ChangeLow, l.ChangeHi = pointer(lo), pointer(hi)
		significant = lo > 0
	}
	if change > limit {
		if l.Verdict = Unclear; significant {
			l.Verdict = Fail
		}
	}
	return l
}

// interval is the 95 % percentile interval of the relative worsening by a block bootstrap.
func (m *metric) interval(name string, a, b []float64, seed uint64, resamples int) (lo, hi float64) {
	s := random.New(seed, 0, "gate bootstrap "+name)
	changes := make([]float64, 0, resamples)
	bufA, bufB := make([]float64, len(a)), make([]float64, len(b))
	for range resamples {
		blocks(s, a, bufA)
		blocks(s, b, bufB)
		if from := m.figure(bufA); from > 0 {
			changes = append(changes, m.worsening(from, m.figure(bufB)))
		}
	}
	if len(changes) == 0 {
		return math.Inf(-1), math.Inf(1)
	}
	sort.Float64s(changes)
	return results.QuantileSorted(changes, 0.025), results.QuantileSorted(changes, 0.975)
}

// blocks fills to with blocks of consecutive values of from, each of about the cube root of its length, wrapping around.
func blocks(s *random.Stream, from, to []float64) {
	n := max(1, int(math.Cbrt(float64(len(from)))))
	for i := 0; i < len(to); {
		at := s.IntN(len(from))
		for j := 0; j < n && i < len(to); j++ {
			to[i] = from[(at+j)%len(from)]
			i++
		}
	}
}
