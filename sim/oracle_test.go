package sim

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
	"scoville/hardware"
	"scoville/model/workload"
)

// oracle is a plain stepper: one step at a time, every sequence touched in each, blocks counted afresh. It shares with the simulator
// the configuration, the rounding of step times to ticks and nothing else. It knows no prefix cache and no speculation.
type oracle struct {
	e       Engine
	m       hardware.StepModel
	now     instant
	running []*oracleSequence // in order of admission
	waiting []*oracleSequence
	forming int
	ended   map[int64]Record
	preempt int64
	steps   int64
}

type oracleSequence struct {
	workload.Request
	target, computed, generated int32
	blocks                      int64 // weight held
	start, first                int64
	preemptions                 int32
	planned                     int64 // end of the step it came in; -1: the engine was idle
	chunk                       int32 // of the step in progress
}

func (s *oracleSequence) decoding() bool { return s.computed >= s.target }

// context is the tokens in the KV cache of a decoding sequence.
func (s *oracleSequence) context() int64 { return int64(s.InputTokens) + int64(s.generated) - 1 }

func (o *oracle) weight(tokens int64) int64 {
	w := newBlockWeights(&o.e)
	sum := int64(0)
	for b := int64(0); b*w.block < tokens; b++ {
		sum += w.full
		if b*w.block < int64(o.e.WindowTokens) {
			sum += w.window
		}
	}
	return sum
}

func (o *oracle) capacity() int64 {
	if o.e.KVBlocks == 0 {
		return math.MaxInt64
	}
	w := newBlockWeights(&o.e)
	return o.e.KVBlocks * (w.full + w.window)
}

func (o *oracle) free() int64 {
	free := o.capacity()
	for _, s := range o.running {
		free -= s.blocks
	}
	return free
}

func (o *oracle) reserves() bool { return o.e.Policy != VLLMV1 }

func (o *oracle) run(requests []workload.Request) {
	o.ended = map[int64]Record{}
	for {
		for len(requests) > 0 && requests[0].ArrivalNanoseconds <= o.now.ns {
			o.arrive(requests[0], -1)
			requests = requests[1:]
		}
		if len(o.running)+len(o.waiting) == 0 {
			if len(requests) == 0 {
				return
			}
			o.now = instant{ns: requests[0].ArrivalNanoseconds}
			continue
		}
		o.schedule()
		o.step(&requests)
	}
}

func (o *oracle) arrive(q workload.Request, planned int64) {
	reason := Accepted
	total := int64(q.InputTokens) + int64(q.OutputTokens)
	switch {
	case o.e.MaxModelLen > 0 && total > int64(o.e.MaxModelLen):
		reason = TooLong
	case !o.e.ChunkedPrefill && total > int64(o.e.MaxBatchedTokens):
		reason = OverBudget
	case o.weight(total-1) > o.capacity():
		reason = OverKVCache
	case o.e.QueueLimit > 0 && len(o.waiting) >= o.e.QueueLimit:
		reason = QueueFull
	}
	if reason != Accepted {
		o.ended[q.ID] = Record{Outcome: Rejected, Reason: reason, EndNanos: q.ArrivalNanoseconds}
		return
	}
	o.queue(&oracleSequence{Request: q, target: q.InputTokens, start: -1, first: -1, planned: planned}, false)
}

func (o *oracle) queue(s *oracleSequence, front bool) {
	switch {
	case front && !o.e.PriorityQueue:
		o.waiting = slices.Insert(o.waiting, 0, s)
	default:
		o.waiting = append(o.waiting, s)
	}
	if o.e.PriorityQueue {
		slices.SortStableFunc(o.waiting, func(a, b *oracleSequence) int {
			if a.Priority != b.Priority {
				return int(a.Priority - b.Priority)
			}
			return int(a.ID - b.ID)
		})
	}
}

func (o *oracle) victim() int {
	v := len(o.running) - 1
	if o.e.PriorityQueue {
		for i, s := range o.running {
			if w := o.running[v]; s.Priority > w.Priority || s.Priority == w.Priority && s.ID > w.ID {
				v = i
			}
		}
	}
	return v
}

func (o *oracle) evict(i int) {
	s := o.running[i]
	o.running = slices.Delete(o.running, i, i+1)
	s.blocks, s.computed, s.chunk = 0, 0, 0
	s.target = s.InputTokens + s.generated
	s.preemptions++
	o.preempt++
	o.queue(s, true)
}

// allocate gives a running sequence room for so many tokens, preempting as vLLM does; it reports whether the sequence kept its place.
func (o *oracle) allocate(s *oracleSequence, tokens int64, preempted *bool) bool {
	for !o.reserves() && o.weight(tokens)-s.blocks > o.free() {
		*preempted = true
		v := o.victim()
		gone := o.running[v] == s
		o.evict(v)
		if gone {
			return false
		}
	}
	if !o.reserves() {
		s.blocks = max(s.blocks, o.weight(tokens))
	}
	return true
}

func (o *oracle) schedule() {
	preempted := o.scheduleRunning()
	if preempted && len(o.running) > 0 {
		return
	}
	budget := o.e.MaxBatchedTokens
	for _, s := range o.running {
		budget -= int(s.chunk)
	}
	busy := len(o.running) > 0
	if len(o.running) == 0 {
		o.forming = min(len(o.waiting), o.e.MaxSequences)
	}
	for budget > 0 && len(o.running) < o.e.MaxSequences && len(o.waiting) > 0 && (o.e.Policy != Static || o.forming > 0) {
		s := o.waiting[0]
		if o.e.AsyncScheduling && busy && o.now.ns <= s.planned {
			return
		}
		n := int(s.target)
		if n > budget && !o.e.ChunkedPrefill {
			o.forming = 0
			return
		}
		n = min(n, budget)
		tokens := int64(n)
		if o.reserves() {
			tokens = int64(s.InputTokens) + int64(s.OutputTokens) - 1
		}
		if o.weight(tokens) > o.free() {
			o.forming = 0
			return
		}
		s.blocks = o.weight(tokens)
		s.chunk = int32(n)
		if s.start < 0 {
			s.start = o.now.ns
		}
		o.waiting = o.waiting[1:]
		o.running = append(o.running, s)
		budget -= n
		o.forming--
	}
}

func (o *oracle) scheduleRunning() (preempted bool) {
	for _, s := range o.running {
		s.chunk = 0
	}
	for i := 0; i < len(o.running); i++ {
		s := o.running[i]
		n, tokens := int32(1), s.context()+1
		if !s.decoding() {
			budget := int32(o.e.MaxBatchedTokens) // what was given to those preempted since is free again
			for _, other := range o.running {
				budget -= other.chunk
			}
			n = min(s.target-s.computed, budget)
			tokens = int64(s.computed + n)
		}
		before := len(o.running)
		if !o.allocate(s, tokens, &preempted) {
			i--
			continue
		}
		if len(o.running) < before { // others went: find our place again
			i = slices.Index(o.running, s)
		}
		s.chunk = n
	}
	return preempted
}

func (o *oracle) step(requests *[]workload.Request) {
	var b hardware.Batch
	window := func(c float64) float64 {
		if o.e.WindowTokens > 0 {
			return min(c, float64(o.e.WindowTokens))
		}
		return c
	}
	b.Speculative = 1
	for _, s := range o.running {
		if s.decoding() {
			b.DecodeSequences++
			b.DecodeKVTokens += float64(s.context() + 1)
			b.DecodeKVWindow += window(float64(s.context() + 1))
			continue
		}
		if s.chunk == 0 {
			continue
		}
		b.PrefillSequences++
		b.PrefillTokens += int(s.chunk)
		b.PrefillKVTokens += float64(s.computed)
		for t := s.computed; t < s.computed+s.chunk; t++ {
			b.PrefillPairs += float64(t + 1)
			b.PrefillPairsWin += window(float64(t + 1))
		}
	}
	ticks, err := toTicks(o.m.Step(b).Seconds)
	if b.PrefillSequences == 0 {
		var c decodeCost
		c, err = decodeCostOf(&o.e, o.m, b.DecodeSequences, 1)
		ticks = c.base + c.perUnit*int64(b.DecodeKVTokens) + c.perUnitWin*int64(b.DecodeKVWindow)
	}
	if err != nil {
		panic(err)
	}
	o.now = o.now.plus(ticks)
	o.steps++
	// Requests that came during the step see the queue as it was.
	for len(*requests) > 0 && (*requests)[0].ArrivalNanoseconds <= o.now.ns {
		o.arrive((*requests)[0], o.now.ns)
		*requests = (*requests)[1:]
	}
	o.endStep()
}

func (o *oracle) endStep() {
	late := func(s *oracleSequence) bool {
		return s.TimeoutNanoseconds > 0 && s.ArrivalNanoseconds+s.TimeoutNanoseconds < o.now.ns
	}
	end := func(s *oracleSequence, outcome Outcome) {
		o.ended[s.ID] = Record{Outcome: outcome, StartNanos: s.start, FirstTokenNanos: s.first, EndNanos: o.now.ns, Preemptions: s.preemptions}
	}
	o.waiting = slices.DeleteFunc(o.waiting, func(s *oracleSequence) bool {
		if late(s) {
			end(s, TimedOut)
		}
		return late(s)
	})
	o.running = slices.DeleteFunc(o.running, func(s *oracleSequence) bool {
		if late(s) {
			end(s, TimedOut)
			return true
		}
		if s.decoding() {
			s.generated++
		} else if s.computed += s.chunk; s.computed == s.target {
			s.generated++
			if s.first < 0 {
				s.first = o.now.ns
			}
		}
		if s.decoding() && s.generated == s.OutputTokens {
			end(s, Finished)
			return true
		}
		return false
	})
}

// TestOracle: the leaping replica equals the plain stepper on random scenarios, to the nanosecond.
func TestOracle(t *testing.T) {
	preempted := int64(0)
	for range 10 {
		rapid.Check(t, func(t *rapid.T) {
			s := drawScenario(t)
			s.cfg.Engine.PrefixCaching = false
			s.cfg.Engine.Speculative = Speculative{}
			s.cfg.Engine.OverheadTTFTSeconds = 0
			got, err := s.run(false)
			if err != nil {
				t.Fatal(err)
			}
			o := oracle{e: s.cfg.Engine, m: s.cfg.Steps}
			o.run(s.requests)
			preempted += o.preempt
			if got.Preemptions != o.preempt || got.Steps != o.steps || len(got.Records) != len(o.ended) {
				t.Fatalf("preemptions %d, steps %d, ended %d; the stepper has %d, %d, %d", got.Preemptions, got.Steps, len(got.Records), o.preempt, o.steps, len(o.ended))
			}
			for _, r := range got.Records {
				w := o.ended[r.ID]
				if r.Outcome != w.Outcome || r.Reason != w.Reason || r.EndNanos != w.EndNanos || r.Outcome == Finished &&
					(r.StartNanos != w.StartNanos || r.FirstTokenNanos != w.FirstTokenNanos || r.Preemptions != w.Preemptions) {
					t.Fatalf("request %d\ngot  %+v\nwant %+v", r.ID, r, w)
				}
			}
		})
	}
	if preempted == 0 {
		t.Error("no scenario preempted anybody: the test proves nothing about preemption")
	}
}
