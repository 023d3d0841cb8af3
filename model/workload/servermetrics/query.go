package servermetrics

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Query asks a Prometheus server.
type Query struct {
	URL    string // of the server, such as http://prometheus:9090
	Model  string // needed where several are served
	Match  string // further label matchers, such as namespace="prod"
	Window time.Duration
	End    time.Time // zero: now
	Client *http.Client
}

const (
	queryTimeout = 30 * time.Second
	minWindow    = 10 * time.Second
)

// Read asks for the window that ends at End and sums it up.
func (q Query) Read(ctx context.Context) (*Observed, error) {
	base, err := url.Parse(q.URL)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, fmt.Errorf("%q is not the URL of a Prometheus server, such as http://localhost:9090", q.URL)
	}
	if q.Window < minWindow {
		return nil, fmt.Errorf("the window is %s; at least %s is needed", q.Window, minWindow)
	}
	if q.Client == nil {
		q.Client = &http.Client{Timeout: queryTimeout}
	}
	if q.End.IsZero() {
		q.End = time.Now()
	}
	names, err := q.labelValues(ctx, "__name__", "")
	if err != nil {
		return nil, err
	}
	v := &values{scalars: map[quantity]float64{}, hists: map[quantity]hist{}}
	if v.server = serverOf(names); v.server == "" {
		return nil, fmt.Errorf("%s: %d metric names, none of them of vLLM, SGLang, TGI, Triton or Dynamo in the last %s", q.URL, len(names), q.Window)
	}
	selector, err := q.selector(ctx, v, names)
	if err != nil {
		return nil, err
	}
	if err := q.quantities(ctx, v, names, selector); err != nil {
		return nil, err
	}
	source := fmt.Sprintf("%s, %s to %s", q.URL, q.End.Add(-q.Window).UTC().Format(time.RFC3339), q.End.UTC().Format(time.RFC3339))
	o := v.observed(source, q.Window.Seconds())
	return o, q.shape(ctx, v, o, selector)
}

// exposed is the name under which Prometheus keeps a metric.
func exposed(m metric) string {
	if m.shape == histogram {
		return m.name + "_count"
	}
	return m.name
}

func serverOf(names []string) string {
	for _, s := range servers {
		for _, m := range metrics {
			if m.server == s && slices.Contains(names, exposed(m)) {
				return s
			}
		}
	}
	return ""
}

// selector finds the model and returns the label matchers of its series, ranks above the first left out.
func (q Query) selector(ctx context.Context, v *values, names []string) (string, error) {
	matchers := []string{`tp_rank=~"0|"`, `pp_rank=~"0|"`}
	if q.Match != "" {
		matchers = append(matchers, q.Match)
	}
	name := ""
	for _, m := range metrics {
		if name == "" && m.server == v.server && slices.Contains(names, exposed(m)) {
			name = exposed(m)
		}
	}
	for _, l := range modelLabels {
		found, err := q.labelValues(ctx, l, name)
		if err != nil {
			return "", err
		}
		found = slices.DeleteFunc(found, func(s string) bool { return s == "" })
		if len(found) == 0 {
			continue
		}
		sort.Strings(found)
		if v.model, err = pickModel(found, q.Model); err != nil {
			return "", fmt.Errorf("%s: %w", q.URL, err)
		}
		matchers = append(matchers, l+"="+strconv.Quote(v.model))
		break
	}
	return "{" + strings.Join(matchers, ",") + "}", nil
}

// quantities asks for every quantity the server has, by the first name that exists.
func (q Query) quantities(ctx context.Context, v *values, names []string, selector string) error {
	window := strconv.FormatInt(int64(q.Window.Seconds()), 10) + "s"
	for _, m := range metrics {
		_, scalar := v.scalars[m.of]
		_, hist := v.hists[m.of]
		if m.server != v.server || scalar || hist || !slices.Contains(names, exposed(m)) {
			continue
		}
		v.names = append(v.names, m.name)
		var err error
		switch m.shape {
		case histogram:
			err = q.histogram(ctx, v, m, selector, window)
		case counter:
			v.scalars[m.of], err = q.scalar(ctx, fmt.Sprintf("sum(increase(%s%s[%s]))", m.name, selector, window))
		case gauge:
			v.scalars[m.of], err = q.scalar(ctx, fmt.Sprintf("sum(avg_over_time(%s%s[%s]))", m.name, selector, window))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (q Query) histogram(ctx context.Context, v *values, m metric, selector, window string) error {
	var h hist
	var err error
	if h.sum, err = q.scalar(ctx, fmt.Sprintf("sum(increase(%s_sum%s[%s]))", m.name, selector, window)); err != nil {
		return err
	}
	if h.count, err = q.scalar(ctx, fmt.Sprintf("sum(increase(%s_count%s[%s]))", m.name, selector, window)); err != nil {
		return err
	}
	buckets, err := q.vector(ctx, "query", url.Values{"query": {fmt.Sprintf("sum by (le) (increase(%s_bucket%s[%s]))", m.name, selector, window)}})
	if err != nil {
		return err
	}
	for _, b := range buckets {
		bound, err := strconv.ParseFloat(b.Metric["le"], 64)
		if err != nil {
			return fmt.Errorf("%s: bucket bound %q of %s is not a number", q.URL, b.Metric["le"], m.name)
		}
		i, _ := slices.BinarySearch(h.bounds, bound*m.scale)
		h.bounds = slices.Insert(h.bounds, i, bound*m.scale)
		h.cumulative = slices.Insert(h.cumulative, i, b.Value.number())
	}
	h.sum *= m.scale
	v.hists[m.of] = h
	return nil
}

// shape asks for the rate by the minute: its peak, and its hours where the window holds a day.
func (q Query) shape(ctx context.Context, v *values, o *Observed, selector string) error {
	name := ""
	for _, m := range metrics {
		if m.server == v.server && slices.Contains(v.names, m.name) && (m.of == requests || name == "" && (m.of == e2e || m.of == ttft)) {
			name = exposed(m)
			if m.of == requests {
				break
			}
		}
	}
	if name == "" {
		return nil
	}
	const mostPoints, day = 10_000, 24 * time.Hour
	step := max(time.Minute, q.Window/mostPoints)
	expr := fmt.Sprintf("sum(rate(%s%s[%ds]))", name, selector, int64(step.Seconds()))
	seconds := func(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1e3, 'f', 3, 64) }
	series, err := q.vector(ctx, "query_range", url.Values{"query": {expr}, "start": {seconds(q.End.Add(min(0, step-q.Window)))}, "end": {seconds(q.End)}, "step": {strconv.FormatInt(int64(step.Seconds()), 10)}})
	if err != nil {
		return err
	}
	var sums, counts [24]float64
	total, n := 0.0, 0.0
	for _, s := range series {
		for _, p := range s.Values {
			rate := p.number()
			if math.IsNaN(rate) {
				continue
			}
			o.PeakPerSecond = max(o.PeakPerSecond, rate)
			hour := int(math.Mod(p.at()/3600, 24))
			sums[hour] += rate
			counts[hour]++
			total += rate
			n++
		}
	}
	if q.Window < day || total == 0 {
		return nil
	}
	for h := range sums {
		if counts[h] == 0 {
			o.Notes = append(o.Notes, fmt.Sprintf("no data in the hour from %02d:00 UTC: hours are left out", h))
			o.Hourly = nil
			return nil
		}
		o.Hourly = append(o.Hourly, math.Round(1000*sums[h]/counts[h]/(total/n))/1000)
	}
	return nil
}

// sample is a point of the API: time, and value as text.
type sample [2]json.RawMessage

func (s sample) at() float64 {
	x, err := strconv.ParseFloat(string(s[0]), 64)
	if err != nil {
		return 0
	}
	return x
}

func (s sample) number() float64 {
	x, err := strconv.ParseFloat(strings.Trim(string(s[1]), `"`), 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

// element is a series of a result.
type element struct {
	Metric map[string]string `json:"metric"`
	Value  sample            `json:"value"`
	Values []sample          `json:"values"`
}

// scalar is the value of an expression that yields at most one series; no series is 0.
func (q Query) scalar(ctx context.Context, expr string) (float64, error) {
	v, err := q.vector(ctx, "query", url.Values{"query": {expr}})
	if err != nil || len(v) == 0 {
		return 0, err
	}
	x := v[0].Value.number()
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("%s: %s is not a number", q.URL, expr)
	}
	return x, nil
}

func (q Query) vector(ctx context.Context, endpoint string, form url.Values) ([]element, error) {
	if endpoint == "query" {
		form.Set("time", strconv.FormatFloat(float64(q.End.UnixMilli())/1e3, 'f', 3, 64))
	}
	var data struct {
		Result []element `json:"result"`
	}
	err := q.get(ctx, endpoint, form, &data)
	return data.Result, err
}

func (q Query) labelValues(ctx context.Context, label, name string) ([]string, error) {
	form := url.Values{
		"start": {strconv.FormatInt(q.End.Add(-q.Window).Unix(), 10)},
		"end":   {strconv.FormatInt(q.End.Unix()+1, 10)},
	}
	if name != "" {
		form.Set("match[]", name)
	}
	var data []string
	err := q.get(ctx, "label/"+label+"/values", form, &data)
	return data, err
}

// get asks the API and decodes its data.
func (q Query) get(ctx context.Context, endpoint string, form url.Values, data any) error {
	address := strings.TrimSuffix(q.URL, "/") + "/api/v1/" + endpoint + "?" + form.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := q.Client.Do(request)
	if err != nil {
		return fmt.Errorf("asking Prometheus: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxPage+1))
	if cerr := response.Body.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("%s: reading the answer: %w", q.URL, err)
	}
	var answer struct {
		Status string          `json:"status"`
		Error  string          `json:"error"`
		Data   json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("%s: status %s and no JSON: is this a Prometheus server?", q.URL, response.Status)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s: %s", q.URL, endpoint, answer.Error)
	}
	if err := json.Unmarshal(answer.Data, data); err != nil {
		return fmt.Errorf("%s: %s: the answer has an unknown form: %w", q.URL, endpoint, err)
	}
	return nil
}
