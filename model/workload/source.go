package workload

import (
	"fmt"
	"math"
	"sort"

	"scoville/model/random"
)

// SourceOptions says what to draw from a workload. The zero value draws the workload's own traffic without end.
type SourceOptions struct {
	RequestsPerSecond float64 // long-run mean; 0: the workload's own. A closed loop given a rate is offered openly, as Poisson arrivals
	Concurrency       int     // clients of a closed loop; 0: the workload's own
	Seed              uint64
	Replication       int
	MaxRequests       int64   // 0: no limit
	HorizonSeconds    float64 // no request arrives later; 0: no limit
	Stationary        bool    // leave out hours, weekdays, shape, ramp and spike: the load of one hour, at the rate given
	InputScale        float64 // multiplies input tokens; 0: 1
	OutputScale       float64 // multiplies output tokens; 0: 1
}

func (o *SourceOptions) check() error {
	for _, p := range []struct {
		name  string
		value float64
		limit float64
	}{{"RequestsPerSecond", o.RequestsPerSecond, 1e9}, {"HorizonSeconds", o.HorizonSeconds, 9e9}, {"InputScale", o.InputScale, 1e4}, {"OutputScale", o.OutputScale, 1e4}} {
		if !(p.value >= 0 && p.value <= p.limit) {
			return fmt.Errorf("workload: %s is %g, not between 0 and %g", p.name, p.value, p.limit)
		}
	}
	if o.Concurrency < 0 || o.Concurrency > 1<<20 || o.MaxRequests < 0 {
		return fmt.Errorf("workload: Concurrency %d and MaxRequests %d must not be negative, nor Concurrency above %d", o.Concurrency, o.MaxRequests, 1<<20)
	}
	if o.InputScale == 0 {
		o.InputScale = 1
	}
	if o.OutputScale == 0 {
		o.OutputScale = 1
	}
	return nil
}

// Source returns the workload's requests. It is cheap after Validate, and safe to call from several goroutines; a Source
// itself is for one. Sources of sessions and closed loops are Feedback.
//
// The same seed and replication give the same requests in the same order at any rate: gaps are drawn at unit rate and
// scaled, lengths don't depend on time.
func (w *Workload) Source(o SourceOptions) (Source, error) {
	c, err := w.ready()
	if err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if w.Arrivals.Process == "closed-loop" && (o.Concurrency > 0 || o.RequestsPerSecond == 0) {
		return newClosedLoop(w, c, o), nil
	}
	rate := o.RequestsPerSecond
	if rate == 0 {
		rate = w.Arrivals.RequestsPerSecond
	}
	if c.replay != nil {
		return c.replay.source(w, o, rate)
	}
	if !(rate > 0) {
		return nil, fmt.Errorf("workload %q has no rate of its own (arrivals.requests_per_second); give one", w.Name)
	}
	if c.hasSessions() {
		return newSessions(w, c, o, rate), nil
	}
	return &open{clock: newClock(w, c, o, rate), gaps: c.gaps, limit: newLimit(o),
		arrivals: random.New(o.Seed, o.Replication, "arrivals"), draw: newDrawer(c, o)}, nil
}

// newClock sets up the modulation of a workload at a rate.
func newClock(w *Workload, c *compiled, o SourceOptions, perSecond float64) clock {
	k := clock{perSecond: perSecond}
	if c.onOff != nil {
		m := *c.onOff
		m.stream = random.New(o.Seed, o.Replication, "bursts")
		// Start in a random state, as a stationary process is found.
		m.burst = m.stream.Float64()*(m.spec.OnSeconds+m.spec.OffSeconds) > m.spec.OnSeconds
		k.modulators = append(k.modulators, &m)
	}
	if o.Stationary {
		return k
	}
	a := &w.Arrivals
	if len(a.Hourly) > 0 || len(a.Weekday) > 0 {
		k.modulators = append(k.modulators, &weekly{a.Hourly, a.Weekday, a.StartHour})
	}
	if a.Shape != nil {
		k.modulators = append(k.modulators, a.Shape)
	}
	k.perSecond /= c.meanShape
	if a.Ramp != nil {
		k.modulators = append(k.modulators, a.Ramp)
	}
	if a.Spike != nil {
		k.modulators = append(k.modulators, a.Spike)
	}
	return k
}

// limit ends a source after so many requests or at a time.
type limit struct {
	issued, requests int64
	nanos            int64
}

func newLimit(o SourceOptions) limit {
	l := limit{requests: o.MaxRequests, nanos: math.MaxInt64}
	if l.requests == 0 {
		l.requests = math.MaxInt64
	}
	if o.HorizonSeconds > 0 {
		l.nanos = int64(o.HorizonSeconds * 1e9)
	}
	return l
}

// open yields requests that come regardless of what became of earlier ones.
type open struct {
	clock    clock
	gaps     *gaps
	arrivals *random.Stream
	draw     drawer
	limit    limit
	ended    bool
}

func (s *open) Err() error { return nil }

func (s *open) Next(r *Request) bool {
	if s.ended || s.limit.issued >= s.limit.requests {
		return false
	}
	at := s.clock.advance(s.gaps.next(s.arrivals)) * 1e9
	if at > float64(s.limit.nanos) {
		s.ended = true
		return false
	}
	s.limit.issued++
	s.draw.request(r)
	r.ID = s.limit.issued
	r.ArrivalNanoseconds = int64(at)
	return true
}

// drawer draws everything about a request but its arrival. Each attribute has a stream of its own, so that a change of
// one leaves the others as they were.
type drawer struct {
	c                    *compiled
	class, input, output *random.Stream
	prefix               *random.Stream
	inScale, outScale    float64
	seen                 []int     // requests so far by class, for repeated prompts
	prompts              [][]int32 // input tokens of the repeated prompts by class
	order                [][]int32 // their order
	blocks               []PrefixBlock
}

func newDrawer(c *compiled, o SourceOptions) drawer {
	d := drawer{c: c, class: random.New(o.Seed, o.Replication, "classes"), input: random.New(o.Seed, o.Replication, "input lengths"),
		output: random.New(o.Seed, o.Replication, "output lengths"), inScale: o.InputScale, outScale: o.OutputScale,
		seen: make([]int, len(c.classes)), prompts: make([][]int32, len(c.classes)), order: make([][]int32, len(c.classes))}
	for i := range c.classes {
		p := c.classes[i].prefix
		if p == nil {
			continue
		}
		if d.prefix == nil {
			d.prefix = random.New(o.Seed, o.Replication, "prefixes")
		}
		if p.perSystem > 0 {
			d.repeated(i, p, random.New(o.Seed, o.Replication, fmt.Sprintf("prompts of class %d", i)))
		}
	}
	return d
}

// repeated draws the prompts that come again and again, and a fixed random order to go through them in.
func (d *drawer) repeated(class int, p *compiledPrefix, s *random.Stream) {
	n := p.prompts * p.perSystem
	lengths, order := make([]int32, n), make([]int32, n)
	for i := range n {
		lengths[i] = scaled(d.c.classes[class].input.tokens(s.Open()), d.inScale)
		order[i] = int32(i)
	}
	for i := n - 1; i > 0; i-- {
		j := s.IntN(i + 1)
		order[i], order[j] = order[j], order[i]
	}
	d.prompts[class], d.order[class] = lengths, order
}

func scaled(tokens int32, by float64) int32 {
	if by == 1 {
		return tokens
	}
	return int32(min(max(1, math.Floor(float64(tokens)*by+0.5)), maxTokens))
}

// request fills all of r but ID and arrival. Every stream moves by the same number of draws for each request.
func (d *drawer) request(r *Request) {
	k := 0
	if len(d.c.classes) > 1 {
		k = sort.SearchFloat64s(d.c.cumulative, d.class.Open())
	}
	class := &d.c.classes[k]
	input, output := class.draw(d.input.Open(), d.output.Open())
	*r = Request{Class: int32(k), Priority: class.priority, TimeoutNanoseconds: class.timeoutNanos,
		InputTokens: scaled(input, d.inScale), OutputTokens: scaled(output, d.outScale)}
	if d.prefix == nil {
		return
	}
	a, b, u := d.prefix.Open(), d.prefix.Open(), d.prefix.Open()
	p := class.prefix
	if p == nil {
		return
	}
	if p.perSystem > 0 {
		n := int(d.order[k][d.seen[k]%len(d.order[k])])
		d.seen[k]++
		r.InputTokens = d.prompts[k][n]
		d.blocks = p.whole(d.blocks[:0], uint64(k), n, r.InputTokens)
	} else {
		d.blocks = p.head(d.blocks[:0], uint64(k), r.InputTokens, a, b, u)
	}
	r.Blocks = d.blocks
}
