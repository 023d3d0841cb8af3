package workload

import (
	"fmt"
	"math"
	"path/filepath"
	"sort"

	"scoville/model/random"
	"scoville/model/tomlfile"
	"scoville/model/workload/trace"
)

// replay is a recorded trace made ready.
type replay struct {
	set      *trace.Set
	resample bool
	loop     bool
	period   int64 // nanoseconds from the start of one pass to the next
}

func (w *Workload) openReplay() (*replay, error) {
	t := w.Trace
	if t.File == "" {
		return nil, fieldError("trace.file", "is missing")
	}
	modes := []string{"replay", "resample"}
	if t.Mode != "" && t.Mode != modes[0] && t.Mode != modes[1] {
		return nil, fieldError("trace.mode", "%q is not replay or resample (did you mean %q?)", t.Mode, tomlfile.Nearest(t.Mode, modes))
	}
	if w.Arrivals.Process != "" {
		return nil, fieldError("arrivals.process", "%q: a trace brings its own arrivals; leave the process out", w.Arrivals.Process)
	}
	path := t.File
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.dir, path)
	}
	set, err := trace.Load(path, trace.Options{Format: trace.Format(t.Format), Columns: t.Columns, BlockTokens: int32(t.BlockTokens)})
	if err != nil {
		return nil, fmt.Errorf("trace.file: %w", err)
	}
	if !set.Timed {
		return nil, fieldError("trace.file", "%s has no arrival times; describe arrivals in the workload and take only the lengths from it (scoville workload fit)", path)
	}
	if t.SpreadTies {
		set.SpreadTies(1)
	}
	if set.Rate() == 0 {
		return nil, fieldError("trace.file", "%s has all requests at one time; at least two times are needed", path)
	}
	return &replay{set: set, resample: t.Mode == "resample", loop: t.Loop || t.Mode == "resample", period: int64(1e9 * float64(set.Len()) / set.Rate())}, nil
}

func (p *replay) source(_ *Workload, o SourceOptions, rate float64) (Source, error) {
	if rate == 0 {
		rate = p.set.Rate()
	}
	s := &replaySource{replay: p, stretch: p.set.Rate() / rate, limit: newLimit(o), in: o.InputScale, out: o.OutputScale}
	n := p.set.Len()
	if o.Replication > 0 {
		s.start = random.New(o.Seed, o.Replication, "start of the trace").IntN(n)
	}
	if p.resample {
		s.jitter = random.New(o.Seed, o.Replication, "arrivals")
	}
	s.origin = p.set.Nanos[s.start]
	return s, nil
}

// replaySource yields recorded requests in order. Replication 0 starts at the first, others somewhere, and go around.
// Every request keeps its lengths, session and prefix at any rate.
//
// Replay stretches time by own rate / rate. Resampling keeps the time scale of bursts instead: the i-th request comes
// where the trace's counting function N(t), linear between arrivals, reaches (i + U)/k, with U uniform and k the
// rate over the trace's own. At k = 1 that is the trace up to the jitter U; at other k peaks keep their ratio to the mean.
type replaySource struct {
	*replay
	limit   limit
	stretch float64
	in, out float64
	start   int
	origin  int64
	jitter  *random.Stream
	i       int64
	blocks  []PrefixBlock
	last    int64
}

func (s *replaySource) Err() error { return nil }

func (s *replaySource) Next(r *Request) bool {
	n := int64(s.set.Len())
	if s.limit.issued >= s.limit.requests || (s.i >= n && !s.loop) {
		return false
	}
	at := s.arrival(n)
	if at > s.limit.nanos {
		return false
	}
	row := int((s.i + int64(s.start)) % n)
	pass := uint64((s.i + int64(s.start)) / n)
	s.i++
	s.limit.issued++
	*r = Request{ID: s.limit.issued, ArrivalNanoseconds: at,
		InputTokens: scaled(max(1, s.set.Input[row]), s.in), OutputTokens: scaled(max(1, s.set.Output[row]), s.out)}
	if s.set.Session != nil {
		r.Session = int64(s.set.Session[row])
	}
	if s.set.Class != nil {
		r.Class = s.set.Class[row]
	}
	s.share(r, row, pass)
	return true
}

// arrival is the time of request s.i, never before the one before.
func (s *replaySource) arrival(n int64) int64 {
	var at float64
	if s.jitter == nil {
		k := s.i + int64(s.start)
		at = float64(s.set.Nanos[k%n]+k/n*s.period-s.origin) * s.stretch
	} else {
		at = s.inverse(float64(s.start)+(float64(s.i)+s.jitter.Float64())*s.stretch, n) - float64(s.origin)
	}
	if at > math.MaxInt64/2 {
		return math.MaxInt64
	}
	s.last = max(s.last, int64(at))
	return s.last
}

// inverse is the time at which the counting function of the endlessly repeated trace reaches x.
func (s *replaySource) inverse(x float64, n int64) float64 {
	pass := math.Floor(x / float64(n))
	x -= pass * float64(n)
	i := min(int64(x), n-1)
	from := s.set.Nanos[i]
	to := s.period
	if i+1 < n {
		to = s.set.Nanos[i+1]
	}
	return pass*float64(s.period) + float64(from) + (x-float64(i))*float64(to-from)
}

// share fills in the prefix blocks. A later pass of the trace is other people's content.
func (s *replaySource) share(r *Request, row int, pass uint64) {
	blocks := s.set.BlocksOf(row)
	if len(blocks) == 0 {
		return
	}
	s.blocks = s.blocks[:0]
	left := r.InputTokens
	for _, b := range blocks {
		tokens := min(scaled(b.Tokens, s.in), left)
		if tokens <= 0 {
			break
		}
		left -= tokens
		k := b.Key
		if pass > 0 {
			k = key(keyTrace, pass, b.Key)
		}
		s.blocks = append(s.blocks, PrefixBlock{k, tokens})
	}
	r.Blocks = s.blocks
}

// TraceRate is the mean rate of the workload's trace, 0 where it has none.
func (w *Workload) TraceRate() float64 {
	c, err := w.ready()
	if err != nil || c.replay == nil {
		return 0
	}
	return c.replay.set.Rate()
}

// OwnRate is the mean rate in requests per second that the workload states or its trace has, 0 where it has none.
func (w *Workload) OwnRate() float64 {
	if r := w.Arrivals.RequestsPerSecond; r > 0 {
		return r
	}
	if w.Trace == nil {
		return 0
	}
	return w.TraceRate()
}

// Warnings says what to know before trusting the workload's traffic.
func (w *Workload) Warnings() []string {
	c, err := w.ready()
	if err != nil || c.replay == nil {
		return nil
	}
	const coarse = 0.10
	var out []string
	s := c.replay.set
	if tied := s.TiedShare(); tied > coarse {
		out = append(out, fmt.Sprintf("%.1f %% of the trace's arrivals share a timestamp: its clock is coarse and makes bursts that were none; set trace.spread_ties = true", 100*tied))
	}
	if n := s.Report.ZeroOutput + s.Report.ZeroInput; n > 0 {
		out = append(out, fmt.Sprintf("%d rows of the trace have zero tokens and are replayed as 1 token", n))
	}
	if s.Report.OutOfOrder > 0 {
		out = append(out, fmt.Sprintf("%d rows of the trace were out of order and have been sorted", s.Report.OutOfOrder))
	}
	return out
}

// summary computes the figures of a trace over all of it.
func (p *replay) summary() *Summary {
	out := &Summary{}
	s := p.set
	seen := map[PrefixBlock]bool{}
	var in, outs, cached float64
	var blocks []PrefixBlock
	for i := range s.Len() {
		a, b := max(1, s.Input[i]), max(1, s.Output[i])
		in += float64(a)
		outs += float64(b)
		out.MaxInput, out.MaxOutput = max(out.MaxInput, int(a)), max(out.MaxOutput, int(b))
		out.MaxLength = max(out.MaxLength, int(a)+int(b))
		blocks = blocks[:0]
		for _, x := range s.BlocksOf(i) {
			blocks = append(blocks, PrefixBlock(x))
		}
		cached += float64(prefixSeen(seen, blocks))
	}
	n := float64(s.Len())
	out.MeanInput, out.MeanOutput, out.PrefixShare = in/n, outs/n, cached/in
	sorted := func(v []int32) []int32 {
		c := append([]int32(nil), v...)
		sort.Slice(c, func(i, j int) bool { return c[i] < c[j] })
		return c
	}
	out.P99Input, out.P99Output = sortedQuantile(sorted(s.Input), 0.99), sortedQuantile(sorted(s.Output), 0.99)
	return out
}
