package servermetrics

import (
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"scoville/model/tomlfile"
)

// maxPage bounds a metrics page.
const maxPage = 64 << 20

// values are the quantities of one server and model, summed over its processes.
type values struct {
	server  string
	model   string
	scalars map[quantity]float64
	hists   map[quantity]hist
	names   []string
}

// hist is a histogram: cumulative counts at ascending bounds.
type hist struct {
	bounds, cumulative []float64
	sum, count         float64
}

// ReadPage reads a metrics page in the text format. modelName chooses among several models; windowSeconds, if above 0, is
// the time the counters ran for, from which rates follow.
func ReadPage(r io.Reader, source, modelName string, windowSeconds float64) (*Observed, error) {
	v, err := parsePage(r, source, modelName)
	if err != nil {
		return nil, err
	}
	return v.observed(source, windowSeconds), nil
}

// Between reads two pages of the same server, the later one windowSeconds after the earlier, and returns what happened
// between.
func Between(earlier, later io.Reader, source, modelName string, windowSeconds float64) (*Observed, error) {
	a, err := parsePage(earlier, source, modelName)
	if err != nil {
		return nil, err
	}
	b, err := parsePage(later, source, modelName)
	if err != nil {
		return nil, err
	}
	if err := b.subtract(a); err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return b.observed(source, windowSeconds), nil
}

func parsePage(r io.Reader, source, modelName string) (*values, error) {
	limited := &io.LimitedReader{R: r, N: maxPage}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(limited)
	if err != nil {
		return nil, fmt.Errorf("%s: not a Prometheus metrics page: %w", source, err)
	}
	if limited.N == 0 {
		return nil, fmt.Errorf("%s: the page is larger than %d bytes", source, maxPage)
	}
	server := ""
	for _, s := range servers {
		for _, m := range metrics {
			if server == "" && m.server == s && families[m.name] != nil {
				server = s
			}
		}
	}
	if server == "" {
		return nil, fmt.Errorf("%s: %d metrics, none of them of vLLM, SGLang, TGI, Triton or Dynamo", source, len(families))
	}
	v := &values{server: server, scalars: map[quantity]float64{}, hists: map[quantity]hist{}}
	if v.model, err = chooseModel(families, server, modelName); err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	for _, m := range metrics {
		if f := families[m.name]; f != nil && m.server == server {
			v.take(m, f)
		}
	}
	return v, nil
}

// chooseModel returns the model asked for, or the only one.
func chooseModel(families map[string]*dto.MetricFamily, server, want string) (string, error) {
	var found []string
	for _, m := range metrics {
		f := families[m.name]
		if f == nil || m.server != server {
			continue
		}
		for _, s := range f.Metric {
			if n := modelOf(s); n != "" && !slices.Contains(found, n) {
				found = append(found, n)
			}
		}
	}
	sort.Strings(found)
	return pickModel(found, want)
}

func pickModel(found []string, want string) (string, error) {
	switch {
	case want == "" && len(found) > 1:
		return "", fmt.Errorf("several models are served (%s); say which", strings.Join(found, ", "))
	case want == "" && len(found) == 1:
		return found[0], nil
	case want == "" || slices.Contains(found, want):
		return want, nil
	}
	if near := tomlfile.Nearest(want, found); near != "" {
		return "", fmt.Errorf("model %q is not served (did you mean %q?)", want, near)
	}
	return "", fmt.Errorf("model %q is not served; there is %s", want, strings.Join(found, ", "))
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.Label {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

func modelOf(m *dto.Metric) string {
	for _, n := range modelLabels {
		if v := label(m, n); v != "" {
			return v
		}
	}
	return ""
}

// duplicate reports whether a series repeats another: ranks of one engine above the first count the same requests.
func duplicate(m *dto.Metric) bool {
	for _, n := range []string{"tp_rank", "pp_rank"} {
		if v := label(m, n); v != "" && v != "0" {
			return true
		}
	}
	return false
}

// take sums a family over the series of the model. A quantity already known by a preferred name is left.
func (v *values) take(m metric, f *dto.MetricFamily) {
	if _, known := v.scalars[m.of]; known {
		return
	}
	if _, known := v.hists[m.of]; known {
		return
	}
	v.names = append(v.names, m.name)
	total := 0.0
	sum := hist{}
	for _, s := range f.Metric {
		if n := modelOf(s); duplicate(s) || (n != "" && n != v.model) {
			continue
		}
		if h := s.Histogram; m.shape == histogram && h != nil {
			sum.add(h, m.scale)
			continue
		}
		total += s.GetCounter().GetValue() + s.GetGauge().GetValue() + s.GetUntyped().GetValue()
	}
	if m.shape == histogram {
		v.hists[m.of] = sum
		return
	}
	v.scalars[m.of] = total * m.scale
}

func (h *hist) add(d *dto.Histogram, scale float64) {
	h.sum += d.GetSampleSum() * scale
	h.count += float64(d.GetSampleCount())
	for _, b := range d.Bucket {
		bound := b.GetUpperBound() * scale
		i, found := slices.BinarySearch(h.bounds, bound)
		if !found {
			h.bounds = slices.Insert(h.bounds, i, bound)
			h.cumulative = slices.Insert(h.cumulative, i, 0)
		}
		h.cumulative[i] += float64(b.GetCumulativeCount())
	}
}

// subtract takes an earlier reading off. A counter that went down was reset in between.
func (v *values) subtract(earlier *values) error {
	for _, m := range metrics {
		if x, ok := v.scalars[m.of]; ok && m.shape == counter && m.server == v.server {
			if _, done := earlier.scalars[m.of]; done && slices.Contains(v.names, m.name) {
				if v.scalars[m.of] = x - earlier.scalars[m.of]; v.scalars[m.of] < 0 {
					return fmt.Errorf("%s fell from %g to %g: the server was restarted between the two pages", m.name, earlier.scalars[m.of], x)
				}
			}
		}
	}
	for q, h := range v.hists {
		e := earlier.hists[q]
		if h.count < e.count || len(h.bounds) != len(e.bounds) && e.count > 0 {
			return fmt.Errorf("the histogram of %s fell from %g to %g entries or changed its bounds: the server was restarted between the two pages", q, e.count, h.count)
		}
		for i := range e.bounds {
			h.cumulative[i] -= e.cumulative[i]
		}
		h.sum -= e.sum
		h.count -= e.count
		v.hists[q] = h
	}
	return nil
}

// observed sums up.
func (v *values) observed(source string, windowSeconds float64) *Observed {
	o := &Observed{Source: source, Server: v.server, Model: v.model, WindowSeconds: windowSeconds, Names: v.names}
	for q, to := range map[quantity]**Distribution{input: &o.Input, output: &o.Output, ttft: &o.TTFT, itl: &o.ITL, tpot: &o.TPOT, e2e: &o.E2E, queue: &o.Queue} {
		h := v.hists[q]
		*to = newDistribution(h.bounds, h.cumulative, h.sum, h.count)
	}
	o.Requests = v.scalars[requests]
	if o.Requests == 0 {
		o.Requests = max(v.hists[e2e].count, v.hists[ttft].count)
	}
	if windowSeconds > 0 {
		o.RequestsPerSecond = o.Requests / windowSeconds
	} else {
		o.Notes = append(o.Notes, "one page has no window of time, so there are no rates: give the seconds it covers, a second page, or a Prometheus server")
	}
	o.MeanInput, o.MeanOutput = v.mean(input, prompt, o.Requests), v.mean(output, gen, o.Requests)
	if c, ok := v.scalars[cached]; ok {
		total := v.scalars[queried]
		if total == 0 {
			total = v.scalars[prompt]
		}
		if total > 0 {
			share := min(1, c/total)
			o.CachedShare = &share
		}
	}
	for q, to := range map[quantity]**float64{running: &o.Running, waiting: &o.Waiting} {
		if x, ok := v.scalars[q]; ok {
			*to = &x
		}
	}
	for _, d := range []struct {
		name string
		d    *Distribution
	}{{"input tokens", o.Input}, {"output tokens", o.Output}, {"TTFT", o.TTFT}, {"E2E", o.E2E}} {
		if d.d != nil && d.d.Beyond > 0.01 {
			o.Notes = append(o.Notes, fmt.Sprintf("%.1f %% of %s lie beyond the last bound of the histogram, %g: quantiles there are lower bounds", 100*d.d.Beyond, d.name, d.d.last()))
		}
	}
	return o
}

// mean is that of a histogram, else of a token counter over the requests.
func (v *values) mean(h, tokens quantity, requests float64) float64 {
	if d := v.hists[h]; d.count > 0 {
		return d.sum / d.count
	}
	if x := v.scalars[tokens]; requests > 0 && !math.IsNaN(x) {
		return x / requests
	}
	return 0
}
