// Package describe computes what a trace is like: arrivals and their bursts, lengths, correlation, shared prefixes,
// sessions. It streams in constant memory where the trace is in order of time; otherwise it sorts in memory.
package describe

import (
	"errors"
	"math"
	"slices"

	"scoville/model/random"
	"scoville/model/workload/trace"
)

// Trace is the description of a trace.
type Trace struct {
	Name        string       `json:"name"`
	Report      trace.Report `json:"report"`
	Arrivals    *Arrivals    `json:"arrivals,omitempty"` // nil: the file has no arrival times
	Input       *Lengths     `json:"input_tokens"`
	Output      *Lengths     `json:"output_tokens"`
	Correlation Correlation  `json:"correlation"`
	Prefix      *Prefix      `json:"prefix,omitempty"`
	Sessions    *Sessions    `json:"sessions,omitempty"`
	Warnings    []string     `json:"warnings,omitempty"`
}

// Correlation is how input and output lengths go together.
type Correlation struct {
	Pearson  float64 `json:"pearson"`
	Spearman float64 `json:"spearman"`
	Log      float64 `json:"log_pearson"` // of the logarithms, where both are positive
	Sampled  bool    `json:"sampled"`     // Spearman is from a sample of 4,194,304 requests
}

// Sessions describes requests that belong together.
type Sessions struct {
	Count      int64   `json:"count"`
	SingleTurn int64   `json:"single_turn"`
	MeanTurns  float64 `json:"mean_turns"`
	P99Turns   float64 `json:"p99_turns"`
	MaxTurns   int64   `json:"max_turns"`
	GapP50     float64 `json:"gap_p50_seconds"` // between turns of a session, by arrival
	GapP90     float64 `json:"gap_p90_seconds"`
	GapP99     float64 `json:"gap_p99_seconds"`
}

// Options of a description.
type Options struct {
	Trace      trace.Options
	SpreadTies bool // undo the quantisation of a coarse clock first
	Seed       uint64
}

// errUnsorted makes File start over in memory.
var errUnsorted = errors.New("not in order of time")

// File describes a trace file or folder.
func File(path string, o Options) (*Trace, error) {
	r, err := trace.Open(path, o.Trace)
	if err != nil {
		return nil, err
	}
	d := newDescriber(r.Timed())
	if o.SpreadTies {
		err = errUnsorted
	} else {
		err = d.stream(r)
	}
	report := r.Report()
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	if errors.Is(err, errUnsorted) {
		set, lerr := trace.Load(path, o.Trace)
		if lerr != nil {
			return nil, lerr
		}
		if o.SpreadTies && set.Timed {
			set.SpreadTies(o.Seed)
		}
		return Set(path, set), nil
	}
	if err != nil {
		return nil, err
	}
	return d.describe(path, report)
}

// Set describes a trace in memory.
func Set(name string, s *trace.Set) *Trace {
	d := newDescriber(s.Timed)
	var rec trace.Record
	for i := range s.Len() {
		rec = trace.Record{Input: s.Input[i], Output: s.Output[i], Blocks: s.BlocksOf(i)}
		if s.Timed {
			rec.Nanoseconds = s.Nanos[i]
		}
		if s.Session != nil {
			rec.Session = s.Session[i]
		}
		d.add(&rec)
	}
	out, err := d.describe(name, s.Report)
	if err != nil { // a Set is never empty
		return &Trace{Name: name, Report: s.Report}
	}
	if s.Spread > 0 {
		out.Warnings = append(out.Warnings, spreadNote(s.Spread))
	}
	return out
}

// Times describes arrivals alone: times in nanoseconds, ascending.
func Times(nanos []int64) *Arrivals {
	a := newArrivals()
	for _, t := range nanos {
		a.add(t, 1, 1)
	}
	return a.describe()
}

// describer accumulates over requests in order of time.
type describer struct {
	timed         bool
	last          int64
	n             int64
	arrivals      *arrivals
	input, output counts
	xy, logs      products
	pairs         []pair
	sample        *random.Stream
	prefixes      *prefixes
	sessions      sessions
}

type pair struct{ in, out int32 }

func newDescriber(timed bool) *describer {
	return &describer{timed: timed, arrivals: newArrivals(), prefixes: newPrefixes(), sample: random.New(1, 0, "pairs"), sessions: sessions{by: map[uint64]*session{}}}
}

func (d *describer) stream(r *trace.Reader) error {
	var rec trace.Record
	for r.Next(&rec) {
		if d.timed && d.n > 0 && rec.Nanoseconds < d.last {
			return errUnsorted
		}
		d.add(&rec)
	}
	return r.Err()
}

func (d *describer) add(rec *trace.Record) {
	d.n++
	d.last = rec.Nanoseconds
	d.input.add(rec.Input)
	d.output.add(rec.Output)
	d.xy.add(float64(rec.Input), float64(rec.Output))
	if rec.Input > 0 && rec.Output > 0 {
		d.logs.add(math.Log(float64(rec.Input)), math.Log(float64(rec.Output)))
	}
	p := pair{rec.Input, rec.Output}
	if len(d.pairs) < exactRows {
		d.pairs = append(d.pairs, p)
	} else if k := int64(d.sample.Float64() * float64(d.n)); k < exactRows {
		d.pairs[k] = p
	}
	if d.timed {
		d.arrivals.add(rec.Nanoseconds, rec.Input, rec.Output)
	}
	d.prefixes.add(rec.Input, rec.Blocks)
	if rec.Session != 0 {
		d.sessions.add(rec.Session, rec.Nanoseconds)
	}
}

func (d *describer) describe(name string, report trace.Report) (*Trace, error) {
	if d.n == 0 {
		return nil, &trace.Error{File: name, Problem: "holds no requests"}
	}
	out := &Trace{Name: name, Report: report, Input: d.input.describe(), Output: d.output.describe(), Prefix: d.prefixes.describe(), Sessions: d.sessions.describe(d.timed)}
	out.Correlation = Correlation{Pearson: d.xy.correlation(), Log: d.logs.correlation(), Spearman: spearman(d.pairs), Sampled: d.n > exactRows}
	if d.timed {
		out.Arrivals = d.arrivals.describe()
	}
	out.warn()
	return out, nil
}

// products accumulates for a Pearson correlation, around the first point to keep digits.
type products struct {
	n, x0, y0, x, y, xx, yy, xy float64
}

func (p *products) add(x, y float64) {
	if p.n == 0 {
		p.x0, p.y0 = x, y
	}
	x, y = x-p.x0, y-p.y0
	p.n++
	p.x += x
	p.y += y
	p.xx += x * x
	p.yy += y * y
	p.xy += x * y
}

func (p *products) correlation() float64 {
	vx, vy := p.xx-p.x*p.x/p.n, p.yy-p.y*p.y/p.n
	if !(vx > 0) || !(vy > 0) {
		return 0
	}
	return (p.xy - p.x*p.y/p.n) / math.Sqrt(vx*vy)
}

// spearman is the correlation of ranks, ties sharing their mean rank.
func spearman(pairs []pair) float64 {
	rank := func(of func(pair) int32) []float64 {
		order := make([]int32, len(pairs))
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortFunc(order, func(a, b int32) int { return int(of(pairs[a])) - int(of(pairs[b])) })
		ranks := make([]float64, len(pairs))
		for i := 0; i < len(order); {
			j := i
			for j < len(order) && of(pairs[order[j]]) == of(pairs[order[i]]) {
				j++
			}
			for k := i; k < j; k++ {
				ranks[order[k]] = float64(i+j-1) / 2
			}
			i = j
		}
		return ranks
	}
	x, y := rank(func(p pair) int32 { return p.in }), rank(func(p pair) int32 { return p.out })
	var c products
	for i := range x {
		c.add(x[i], y[i])
	}
	return c.correlation()
}
