package trace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"scoville/model/random"
	"scoville/model/workload/gamma"
)

// A ServeGen folder describes clients, it is no log: for each client and window of time a rate, a gap distribution and
// token distributions. Requests are drawn from it with fixed seed, window by window: the number is the rate times the
// window, gaps follow the pattern and are scaled to fill the window (their scale column is not to be trusted), input and
// output are drawn independently.
type serveGen struct {
	r       *Reader
	clients []client
	window  int
	length  int64 // of a window in seconds
	seconds float64
	pending []drawn
	at      int
}

// client is one chunk-N pair of files.
type client struct {
	name    string
	windows []window
	tokens  []tokenWindow
	draws   *random.Stream
}

// window is a line of chunk-N-trace.csv.
type window struct {
	start          int64 // seconds
	rate, cv, form float64
	weibull        bool
}

// tokenWindow is an entry of chunk-N-dataset.json.
type tokenWindow struct {
	start  int64
	fields map[string]pmf
}

// pmf is a distribution of whole numbers, cumulative.
type pmf struct {
	values     []float64
	cumulative []float64
}

type drawn struct {
	nanos  int64
	client int32
}

const maxDataset = 256 << 20

func openServeGen(r *Reader, dir string) (*Reader, error) {
	files, err := filepath.Glob(filepath.Join(dir, "chunk-*-trace.csv"))
	if err != nil {
		return nil, err
	}
	s := &serveGen{r: r, seconds: r.opt.Seconds}
	slices.SortFunc(files, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	var count oddities
	for i, f := range files {
		c := client{name: f, draws: random.New(1, i, "servegen client")}
		if c.windows, err = readWindows(f, r.opt.MaxLine, &count); err != nil {
			return nil, err
		}
		data := strings.TrimSuffix(f, "-trace.csv") + "-dataset.json"
		if c.tokens, err = readTokens(data, &count); err != nil {
			return nil, err
		}
		s.clients = append(s.clients, c)
	}
	if s.length = windowLength(s.clients); s.length == 0 {
		return nil, &Error{File: dir, Problem: "the clients have fewer than two windows"}
	}
	r.report.Format, r.report.Timed = ServeGen, true
	r.note("%d clients, %d windows of %d s; requests are drawn from the description, input and output independently", len(s.clients), len(s.clients[0].windows), s.length)
	if count.silent+count.empty+count.missing > 0 {
		r.note("%d windows without a pattern (rate 0), %d empty token distributions (the nearest other of the client is used), %d clients without a dataset file (their requests have 0 tokens)", count.silent, count.empty, count.missing)
	}
	r.next = s.next
	return r, nil
}

// oddities are what the public folders hold beside data.
type oddities struct{ silent, empty, missing int }

func windowLength(clients []client) int64 {
	for _, c := range clients {
		if len(c.windows) > 1 {
			return c.windows[1].start - c.windows[0].start
		}
	}
	return 0
}

// readWindows reads start,rate,cv,pattern,shape,scale lines without a header.
func readWindows(path string, maxLine int, count *oddities) (out []window, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b, err := decompress(f, path)
	if err != nil {
		return nil, err
	}
	in := &lines{name: path, r: b, max: maxLine}
	var blank int64
	for {
		line, err := in.nonBlank(&blank)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		w, column, err := parseWindow(line)
		if err == nil && len(out) > 0 && w.start <= out[len(out)-1].start {
			column, err = 1, fmt.Errorf("start %d is not after the window before", w.start)
		}
		if err != nil {
			return nil, &Error{File: path, Line: in.n, Column: column, Problem: err.Error()}
		}
		if w.rate == 0 {
			count.silent++
		}
		out = append(out, w)
	}
}

func parseWindow(line []byte) (w window, column int, err error) {
	fields := bytes.Split(line, []byte(","))
	if len(fields) != 6 {
		return w, len(line) + 1, fmt.Errorf("%d fields; start, rate, cv, pattern, shape and scale are expected", len(fields))
	}
	var numbers [6]float64
	column = 1
	for i, f := range fields {
		if i != 3 {
			x, perr := strconv.ParseFloat(string(bytes.TrimSpace(f)), 64)
			if perr != nil || !(x >= 0 && x < 1e9) {
				return w, column, fmt.Errorf("%q is not a number of at least 0", clip(f))
			}
			numbers[i] = x
		}
		if i < 5 {
			column += len(f) + 1
		}
	}
	w = window{start: int64(numbers[0]), rate: numbers[1], cv: numbers[2], form: numbers[4]}
	switch pattern := string(bytes.TrimSpace(fields[3])); {
	case pattern == "Gamma" || pattern == "Weibull":
		w.weibull = pattern == "Weibull"
		if w.rate > 0 && w.form == 0 {
			return w, 1, errors.New("the shape is 0 where the rate is not")
		}
	case pattern == "" && w.rate == 0:
	default:
		return w, 1, fmt.Errorf("pattern %q at a rate of %g; Gamma or Weibull is expected", pattern, w.rate)
	}
	return w, 0, nil
}

// readTokens reads the token distributions of a client; a missing file is counted, not an error.
func readTokens(path string, count *oddities) ([]tokenWindow, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		count.missing++
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Size() > maxDataset {
		return nil, &Error{File: path, Problem: fmt.Sprintf("is larger than %d bytes", maxDataset)}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseTokenWindows(path, data, count)
}

func parseTokenWindows(path string, data []byte, count *oddities) ([]tokenWindow, error) {
	var doc map[string]map[string]string
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, jsonFault(path, 1, data, err)
	}
	var out []tokenWindow
	for start, fields := range doc {
		at, err := strconv.ParseFloat(start, 64)
		if err != nil || !(at >= 0 && at < 1e12) {
			return nil, &Error{File: path, Problem: fmt.Sprintf("window %q is not a time in seconds", clip([]byte(start)))}
		}
		w := tokenWindow{start: int64(at), fields: map[string]pmf{}}
		for name, text := range fields {
			p, err := parsePMF(text)
			if err != nil {
				return nil, &Error{File: path, Problem: fmt.Sprintf("window %s, %s: %v", start, name, err)}
			}
			if len(p.values) == 0 {
				count.empty++
				continue
			}
			w.fields[name] = p
		}
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b tokenWindow) int { return cmp.Compare(a.start, b.start) })
	return out, nil
}

// parsePMF reads a Python dictionary of value: probability in a string, which is not JSON: its keys are bare numbers.
func parsePMF(s string) (pmf, error) {
	s = strings.TrimSpace(s)
	if len(s) < 2 || s[0] != '{' || s[len(s)-1] != '}' {
		return pmf{}, fmt.Errorf("%q is not a dictionary {value: probability}", clip([]byte(s)))
	}
	var p pmf
	sum := 0.0
	for _, item := range strings.Split(s[1:len(s)-1], ",") {
		if strings.TrimSpace(item) == "" {
			continue
		}
		k, v, ok := strings.Cut(item, ":")
		value, err1 := strconv.ParseFloat(strings.TrimSpace(k), 64)
		prob, err2 := strconv.ParseFloat(strings.TrimSpace(v), 64)
		if !ok || err1 != nil || err2 != nil || !(value >= 0 && value <= maxTokens) || !(prob >= 0 && prob <= 1) {
			return pmf{}, fmt.Errorf("%q is not value: probability", clip([]byte(item)))
		}
		sum += prob
		p.values, p.cumulative = append(p.values, value), append(p.cumulative, sum)
	}
	const tolerance = 1e-3
	if len(p.values) > 0 && math.Abs(sum-1) > tolerance {
		return pmf{}, fmt.Errorf("probabilities sum to %g, not 1", sum)
	}
	return p, nil
}

func (p *pmf) at(u float64) float64 {
	i, _ := slices.BinarySearch(p.cumulative, u*p.cumulative[len(p.cumulative)-1])
	return p.values[min(i, len(p.values)-1)]
}

// next yields the drawn requests in order of time, one window of all clients at a time.
func (s *serveGen) next(rec *Record) error {
	for s.at >= len(s.pending) {
		if !s.draw() {
			return io.EOF
		}
	}
	d := s.pending[s.at]
	s.at++
	c := &s.clients[d.client]
	rec.Line = s.r.report.Rows + 1
	rec.Nanoseconds = d.nanos
	rec.Session = 0
	rec.Input, rec.Output = c.draw(d.nanos / 1e9)
	return nil
}

// draw draws the arrivals of the next window.
func (s *serveGen) draw() bool {
	s.pending, s.at = s.pending[:0], 0
	any := false
	for i := range s.clients {
		c := &s.clients[i]
		if s.window >= len(c.windows) {
			continue
		}
		w := &c.windows[s.window]
		if s.seconds > 0 && float64(w.start) >= s.seconds {
			continue
		}
		any = true
		s.arrivals(int32(i), c, w)
	}
	s.window++
	slices.SortFunc(s.pending, func(a, b drawn) int {
		return cmp.Or(cmp.Compare(a.nanos, b.nanos), cmp.Compare(a.client, b.client))
	})
	return any
}

// arrivals draws n arrivals, n the rate times the window with its fraction drawn, at the partial sums of n+1 gaps scaled
// to the window.
func (s *serveGen) arrivals(i int32, c *client, w *window) {
	n := int(w.rate*float64(s.length) + c.draws.Float64())
	if w.rate == 0 || n == 0 {
		return
	}
	first := len(s.pending)
	sum := 0.0
	for range n + 1 {
		u := c.draws.Open()
		if w.weibull {
			sum += math.Pow(-math.Log(u), 1/w.form)
		} else {
			sum += gamma.Quantile(w.form, u)
		}
		s.pending = append(s.pending, drawn{client: i, nanos: int64(math.Float64bits(sum))})
	}
	s.pending = s.pending[:first+n]
	for k := first; k < len(s.pending); k++ {
		share := 0.5
		if partial := math.Float64frombits(uint64(s.pending[k].nanos)); sum > 0 && !math.IsInf(sum, 1) {
			share = partial / sum
		}
		s.pending[k].nanos = int64((float64(w.start) + share*float64(s.length)) * 1e9)
	}
}

// draw draws the tokens of a request at a time in seconds. The stream moves by the same number of draws for each request.
func (c *client) draw(at int64) (input, output int32) {
	us := [5]float64{c.draws.Open(), c.draws.Open(), c.draws.Open(), c.draws.Open(), c.draws.Open()}
	value := func(field string, u float64) float64 {
		if p := c.field(field, at); p != nil {
			return p.at(u)
		}
		return 0
	}
	in := value("input_tokens", us[0]) + value("text_tokens", us[0])
	for k, kind := range []string{"image", "audio", "video"} {
		if n := value(kind+"_count", us[1+k]); n > 0 {
			in += n * value(kind+"_tokens", us[4]) // the parts of one request have one size
		}
	}
	out := value("output_tokens", c.draws.Open())
	return int32(min(in, maxTokens)), int32(min(out, maxTokens))
}

// field is the distribution that holds at a time: the last one from before it, else the first one after it.
func (c *client) field(name string, at int64) *pmf {
	var found *pmf
	for i := range c.tokens {
		p, ok := c.tokens[i].fields[name]
		if !ok {
			continue
		}
		if c.tokens[i].start > at && found != nil {
			break
		}
		found = &p
		if c.tokens[i].start > at {
			break
		}
	}
	return found
}
