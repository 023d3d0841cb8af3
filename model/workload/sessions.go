package workload

import (
	"math"

	"scoville/model/random"
)

// compiledSessions is a Sessions made ready.
type compiledSessions struct {
	turns, think, first *quantile
	maxContext          int32
	meanTurns           float64
}

func compileSessions(field string, c *Class) (*compiledSessions, error) {
	s := c.Sessions
	out := &compiledSessions{maxContext: int32(s.MaxContext)}
	var err error
	if out.turns, err = s.Turns.compile(field+"turns", maxTurns); err != nil {
		return nil, err
	}
	if out.think, err = s.Think.compile(field+"think_seconds", maxSeconds); err != nil {
		return nil, err
	}
	if s.FirstInput != nil {
		if out.first, err = s.FirstInput.compile(field+"first_input", maxTokens); err != nil {
			return nil, err
		}
	}
	if s.MaxContext < 0 || s.MaxContext > maxTokens {
		return nil, fieldError(field+"max_context", "%d is not between 0 and %d", s.MaxContext, maxTokens)
	}
	if c.Prefix != nil && (c.Prefix.PromptsPer > 0 || c.Prefix.Reuse != nil) {
		return nil, fieldError(field+"turns", "sessions share their history by themselves; of prefix only system_tokens, system_prompts and skew apply")
	}
	if out.maxContext == 0 {
		out.maxContext = defaultMaxContext
	}
	return out, nil
}

// turn is one exchange of a session, drawn when the session starts.
type turn struct {
	input, output int32
	thinkNanos    int64 // before it
}

// conversation is a session in progress. Slots are reused.
type conversation struct {
	id      int64
	class   int32
	next    int // turn to send
	context int32
	turns   []turn
	blocks  []PrefixBlock // all turns sent so far, answers included
}

// sessionSource yields the turns of sessions, and single requests of classes that have none. Sessions start by the
// arrival process; their turns depend on when answers come.
type sessionSource struct {
	c        *compiled
	clock    clock
	gaps     *gaps
	arrivals *random.Stream
	draw     drawer
	turns    *random.Stream
	limit    limit
	slots    []conversation
	free     []int32
	bySlot   map[int64]int32 // session id -> slot
	pending  arrivalHeap     // next turns
	nextOpen float64         // nanoseconds at which the next session starts
	sessions int64
	serial   int64
	blocks   []PrefixBlock
}

func newSessions(w *Workload, c *compiled, o SourceOptions, rate float64) *sessionSource {
	s := &sessionSource{c: c, gaps: c.gaps, limit: newLimit(o), bySlot: map[int64]int32{},
		arrivals: random.New(o.Seed, o.Replication, "arrivals"), draw: newDrawer(c, o), turns: random.New(o.Seed, o.Replication, "sessions")}
	s.clock = newClock(w, c, o, rate/c.meanRequests(o))
	s.nextOpen = s.clock.advance(s.gaps.next(s.arrivals)) * 1e9
	return s
}

// meanRequests is how many requests one arrival of the process makes, sessions averaged over the classes.
func (c *compiled) meanRequests(o SourceOptions) float64 {
	mean, last := 0.0, 0.0
	for i := range c.classes {
		n := 1.0
		if s := c.classes[i].sessions; s != nil {
			n = c.meanTurns(i, o)
		}
		mean += (c.cumulative[i] - last) * n
		last = c.cumulative[i]
	}
	return mean
}

// meanTurns is the mean number of turns, those cut off by the longest context left out: an average over sessions drawn
// with fixed seed, since the cut depends on all lengths.
func (c *compiled) meanTurns(class int, o SourceOptions) float64 {
	if cached := c.classes[class].sessions.meanTurns; cached > 0 && o.InputScale == 1 && o.OutputScale == 1 {
		return cached
	}
	const sessions = 2000
	s := random.New(1, 0, "mean turns")
	total := 0
	var buffer []turn
	for range sessions {
		buffer = c.drawTurns(buffer[:0], class, s, o.InputScale, o.OutputScale)
		total += len(buffer)
	}
	return float64(total) / sessions
}

// drawTurns draws a whole session. The first turn always fits or is cut to the longest context.
func (c *compiled) drawTurns(turns []turn, class int, s *random.Stream, inScale, outScale float64) []turn {
	k := &c.classes[class]
	n := int(max(1, math.Floor(k.sessions.turns.at(s.Open())+0.5)))
	context := int64(0)
	if k.prefix != nil {
		context = int64(k.prefix.system)
	}
	for i := range n {
		input, output := k.draw(s.Open(), s.Open())
		if i == 0 && k.sessions.first != nil {
			input = k.sessions.first.tokens(s.Open())
		}
		t := turn{input: scaled(input, inScale), output: scaled(output, outScale), thinkNanos: int64(k.sessions.think.at(s.Open()) * 1e9)}
		room := int64(k.sessions.maxContext) - context - int64(t.output)
		if int64(t.input) > room {
			if i > 0 {
				break
			}
			t.input = int32(max(1, room))
		}
		context += int64(t.input) + int64(t.output)
		turns = append(turns, t)
	}
	return turns
}

func (s *sessionSource) Err() error { return nil }

func (s *sessionSource) Peek() (int64, bool) {
	if s.limit.issued >= s.limit.requests {
		return 0, false
	}
	at := s.nextOpen
	if len(s.pending) > 0 && float64(s.pending[0].at) <= at {
		at = float64(s.pending[0].at)
	}
	if at > float64(s.limit.nanos) {
		return 0, false
	}
	return int64(at), true
}

func (s *sessionSource) Next(r *Request) bool {
	at, ok := s.Peek()
	if !ok {
		return false
	}
	if len(s.pending) > 0 && s.pending[0].at == at {
		s.limit.issued++
		s.send(r, s.pending.pop().slot, at)
		return true
	}
	s.limit.issued++
	s.nextOpen = s.clock.advance(s.gaps.next(s.arrivals)) * 1e9
	s.draw.request(r) // draws the class, and the whole request where it is a single one
	if s.c.classes[r.Class].sessions == nil {
		r.ID, r.ArrivalNanoseconds = s.limit.issued, at
		return true
	}
	s.send(r, s.open(r.Class), at)
	return true
}

// open starts a session of a class and returns its slot.
func (s *sessionSource) open(class int32) int32 {
	s.sessions++
	if len(s.free) == 0 {
		s.slots = append(s.slots, conversation{})
		s.free = append(s.free, int32(len(s.slots)-1))
	}
	slot := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	v := &s.slots[slot]
	*v = conversation{id: s.sessions, class: class, turns: v.turns[:0], blocks: v.blocks[:0]}
	v.turns = s.c.drawTurns(v.turns, int(class), s.turns, s.draw.inScale, s.draw.outScale)
	if p := s.c.classes[class].prefix; p != nil && p.system > 0 {
		system := uint64(pick(p.systems, p.prompts, s.turns.Open()))
		v.blocks = append(v.blocks, PrefixBlock{key(keySystem, uint64(class), system), p.system})
		v.context = p.system
	}
	s.bySlot[v.id] = slot
	return slot
}

// send fills r with the next turn of a session.
func (s *sessionSource) send(r *Request, slot int32, at int64) {
	v := &s.slots[slot]
	class := &s.c.classes[v.class]
	t := v.turns[v.next]
	id := uint64(v.id)
	v.blocks = append(v.blocks, PrefixBlock{key(keyTurnInput, id, uint64(v.next)), t.input})
	v.context += t.input
	s.blocks = append(s.blocks[:0], v.blocks...)
	*r = Request{ID: s.limit.issued, ArrivalNanoseconds: at, InputTokens: v.context, OutputTokens: t.output, Class: v.class,
		Priority: class.priority, TimeoutNanoseconds: class.timeoutNanos, Session: v.id, Blocks: s.blocks}
	if v.next+1 < len(v.turns) {
		r.OutputKey = key(keyTurnOutput, id, uint64(v.next))
		v.blocks = append(v.blocks, PrefixBlock{r.OutputKey, t.output})
		v.context += t.output
	}
	v.next++
}

// Done schedules the next turn of the request's session, or forgets the session after its last.
func (s *sessionSource) Done(r *Request, at int64) {
	slot, ok := s.bySlot[r.Session]
	if !ok {
		return
	}
	v := &s.slots[slot]
	if v.next >= len(v.turns) {
		delete(s.bySlot, r.Session)
		s.free = append(s.free, slot)
		return
	}
	s.serial++
	s.pending.push(arrival{at: at + v.turns[v.next].thinkNanos, serial: s.serial, slot: slot})
}
