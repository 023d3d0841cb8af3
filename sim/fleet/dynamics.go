package fleet

import (
	"fmt"
	"math"
	"slices"

	"scoville/model/random"
	"scoville/model/workload"
	"scoville/sim"
)

// Disaggregation computes prompts on a pool of their own and sends their KV cache over a link to the replicas that decode. Config's
// replicas then decode. Each prefill replica sends one cache after another; the first token is the prefill pool's.
type Disaggregation struct {
	Prefill            sim.Config // its engine and step model; the SLA and options are those of the fleet
	Replicas           int
	BytesPerToken      float64 // of KV cache, all layers and ranks together
	LinkBytesPerSecond float64 // of one prefill replica
	LatencySeconds     float64 // of one transfer, beside its bytes
}

// Retry lets clients of requests that the router turned away come again after a back-off.
type Retry struct {
	Attempts       int     // beyond the first
	BackoffSeconds float64 // before the first retry
	Multiplier     float64 // of each further back-off; 0: 2
	Jitter         float64 // share of the back-off that is drawn, so that clients don't come back together
}

// FailureLevel is a kind of failure that takes down so many neighbouring replicas at once: 1 for a chip, those of a node, those of a rack.
// Times between failures and to repair are exponential.
type FailureLevel struct {
	Replicas                 int
	MTBFSeconds, MTTRSeconds float64 // of one such group
}

// Autoscale starts and stops replicas. Those stopped finish what they have (they drain); those started serve after StartupSeconds.
type Autoscale struct {
	Min, Max       int // replicas; Max 0: all of the fleet
	EverySeconds   float64
	Outstanding    float64 // requests in flight for each replica to aim at
	StartupSeconds float64
	Schedule       []ScheduledSize // instead of Outstanding: sizes by time, each from its start on
	PatienceTicks  int             // looks in a row that must ask for fewer before any stops; 0: 3
}

// ScheduledSize is a size from a time on.
type ScheduledSize struct {
	FromSeconds float64
	Replicas    int
}

// Report is what a run tells beside its result.
type Report struct {
	Shed, Retried, GaveUp  int64   // requests turned away by the router, tries after a back-off, requests lost after the last
	Failures, Lost         int64   // of replicas, and requests in flight that they lost (all are submitted again)
	ReplicaSeconds         float64 // powered on, starting and draining included
	AvailableShare         float64 // of replica time: up and serving
	EnoughShare            float64 // of time with at least Need replicas up, where Need is asked for
	Transfers              int64
	TransferBytes          float64
	TransferSeconds        float64 // on the links, all together
	LongestTransferSeconds float64 // from first token to arrival, waiting for the link included
	MostOn                 int
}

// event is something that happens to the fleet at a time, beside arrivals and steps.
type event struct {
	at, serial int64
	kind       eventKind
	index      int32 // a replica, or a group of a failure level
	level      int32
	attempt    int32
	handed     *sim.Handed
	request    *workload.Request
}

type eventKind uint8

const (
	transferDone eventKind = iota
	retry
	failure
	repair
	look
	started
)

// events is a binary heap by time, then by order of planning.
type events struct {
	heap   []event
	serial int64
}

func (h *events) next() int64 {
	if len(h.heap) == 0 {
		return math.MaxInt64
	}
	return h.heap[0].at
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.serial < o.serial }

func (h *events) push(e event) {
	h.serial++
	e.serial = h.serial
	h.heap = append(h.heap, e)
	for i := len(h.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.heap[i].before(&h.heap[up]) {
			return
		}
		h.heap[i], h.heap[up] = h.heap[up], h.heap[i]
		i = up
	}
}

func (h *events) pop() event {
	top, last := h.heap[0], len(h.heap)-1
	h.heap[0] = h.heap[last]
	h.heap[last] = event{}
	h.heap = h.heap[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			return top
		}
		if c+1 < last && h.heap[c+1].before(&h.heap[c]) {
			c++
		}
		if !h.heap[c].before(&h.heap[i]) {
			return top
		}
		h.heap[i], h.heap[c] = h.heap[c], h.heap[i]
		i = c
	}
}

// state of a replica beside its work.
type state uint8

const (
	serving state = iota
	off
	starting
	draining
	down
)

func nanos(seconds float64) int64 { return int64(math.Round(seconds * 1e9)) }

// startDynamics plans the first events of what is switched on.
func (f *fleet) startDynamics(cfg *Config) error {
	f.states = make([]state, len(f.replicas))
	f.groups = make([]int, len(f.replicas))
	f.on, f.up = len(f.replicas), len(f.replicas)
	if a := cfg.Autoscale; a != nil {
		if a.EverySeconds <= 0 || a.Min < 1 || a.Outstanding <= 0 && len(a.Schedule) == 0 {
			return fmt.Errorf("fleet.autoscale: a period, at least one replica and a target or a schedule are needed")
		}
		for i := a.Min; i < cfg.Replicas; i++ {
			f.turn(i, off)
		}
		f.events.push(event{at: nanos(a.EverySeconds), kind: look})
	}
	if len(cfg.Failures) > 0 {
		f.failing = random.New(cfg.Seed, cfg.Replication, "failures")
	}
	for l, level := range cfg.Failures {
		if level.Replicas < 1 || level.MTBFSeconds <= 0 || level.MTTRSeconds <= 0 {
			return fmt.Errorf("fleet.failures: level %d needs a number of replicas, a time between failures and a time to repair", l)
		}
		for g := 0; g*level.Replicas < cfg.Replicas; g++ {
			f.events.push(event{at: f.exponential(level.MTBFSeconds), kind: failure, index: int32(g), level: int32(l)})
		}
	}
	return nil
}

func (f *fleet) exponential(mean float64) int64 {
	return f.now + max(1, nanos(-mean*math.Log(f.failing.Open())))
}

// turn puts a replica into a state and tells the router.
func (f *fleet) turn(i int, s state) {
	f.account()
	f.count(f.states[i], -1)
	f.count(s, 1)
	f.states[i] = s
	f.router.available(i, s == serving)
}

// account adds up replica time until now.
func (f *fleet) account() {
	dt := float64(f.now-f.accounted) * 1e-9
	if dt <= 0 {
		return
	}
	f.report.ReplicaSeconds += dt * float64(f.on)
	f.upSeconds += dt * float64(f.up)
	if f.up >= f.cfg.Need {
		f.enoughSeconds += dt
	}
	f.report.MostOn = max(f.report.MostOn, f.on)
	f.accounted = f.now
}

// count keeps how many replicas are powered on and how many serve.
func (f *fleet) count(s state, n int) {
	if s == serving {
		f.up += n
	}
	if s != off {
		f.on += n
	}
}

// happen carries out the next event of the fleet.
func (f *fleet) happen() error {
	e := f.events.pop()
	switch e.kind {
	case transferDone:
		return f.arrived(&e)
	case retry:
		f.report.Retried++
		f.underway--
		f.rec.Hold(f.now, -1)
		f.admit(e.request, e.attempt)
	case failure:
		f.fail(int(e.level), int(e.index))
	case repair:
		f.mend(int(e.level), int(e.index))
	case look:
		f.scale()
	case started:
		if f.states[e.index] == starting {
			f.turn(int(e.index), serving)
		}
	}
	f.release()
	return nil
}

func (f *fleet) members(level, group int) (from, to int) {
	n := f.cfg.Failures[level].Replicas
	return group * n, min((group+1)*n, f.cfg.Replicas)
}

// fail takes a group down. What it had in flight is submitted again, first come first served; the groups that a replica is in may be down at once.
func (f *fleet) fail(level, group int) {
	from, to := f.members(level, group)
	for i := from; i < to; i++ {
		if f.groups[i]++; f.groups[i] > 1 || f.states[i] == off {
			continue
		}
		f.report.Failures++
		f.turn(i, down)
		f.abandon(i)
	}
	f.events.push(event{at: f.exponential(f.cfg.Failures[level].MTTRSeconds), kind: repair, index: int32(group), level: int32(level)})
}

func (f *fleet) abandon(i int) {
	var lost []workload.Request
	f.replicas[i].Abandon(f.now, func(q *workload.Request) {
		lost = append(lost, *q)
		f.router.left(i, q)
	})
	fresh, err := sim.NewReplicaLike(f.cfg.Replica, f.replicas[i])
	if err != nil {
		f.err = err
		return
	}
	f.replicas[i] = fresh
	f.timers.set(i, math.MaxInt64, int64(i))
	slices.SortStableFunc(lost, func(a, b workload.Request) int { return int(a.ID - b.ID) })
	f.report.Lost += int64(len(lost))
	for k := range lost {
		f.admit(&lost[k], 0)
	}
}

func (f *fleet) mend(level, group int) {
	from, to := f.members(level, group)
	for i := from; i < to; i++ {
		if f.groups[i]--; f.groups[i] == 0 && f.states[i] == down {
			f.turn(i, serving)
		}
	}
	f.events.push(event{at: f.exponential(f.cfg.Failures[level].MTBFSeconds), kind: failure, index: int32(group), level: int32(level)})
}

// scale looks at the load and starts or drains replicas.
func (f *fleet) scale() {
	a := f.cfg.Autoscale
	limit := f.cfg.Replicas
	if a.Max > 0 {
		limit = min(limit, a.Max)
	}
	on, inFlight := 0, len(f.held)-f.next
	for i, s := range f.states {
		if s == serving || s == starting {
			on++
		}
		if s == draining && f.replicas[i].Outstanding() == 0 {
			f.turn(i, off)
		}
		inFlight += f.replicas[i].Outstanding()
	}
	want := int(math.Ceil(float64(inFlight) / math.Max(a.Outstanding, 1e-9)))
	if len(a.Schedule) > 0 {
		want = a.Min
		for _, s := range a.Schedule {
			if float64(f.now)*1e-9 >= s.FromSeconds {
				want = s.Replicas
			}
		}
	}
	want = min(max(want, a.Min), limit)
	patience := a.PatienceTicks
	if patience == 0 {
		patience = 3
	}
	if want >= on {
		f.patience = 0
	} else if f.patience++; f.patience < patience && len(a.Schedule) == 0 {
		want = on
	}
	for i := 0; i < len(f.states) && on < want; i++ { // those draining come back at once
		if f.states[i] == draining {
			f.turn(i, serving)
			on++
		}
	}
	for i := 0; i < len(f.states) && on < want; i++ {
		if f.states[i] == off {
			f.turn(i, starting)
			f.events.push(event{at: f.now + nanos(a.StartupSeconds), kind: started, index: int32(i)})
			on++
		}
	}
	for i := len(f.states) - 1; i >= 0 && on > want; i-- {
		if f.states[i] == serving {
			f.turn(i, draining)
			on--
		}
	}
	if f.busy() {
		f.events.push(event{at: f.now + nanos(a.EverySeconds), kind: look})
	}
}

// busy reports whether anything is left to do or to come.
func (f *fleet) busy() bool {
	if f.feed.Next() != math.MaxInt64 || f.next < len(f.held) || f.underway > 0 {
		return true
	}
	_, step := f.timers.first()
	return step != math.MaxInt64
}

// turnedAway plans the client's next try, or counts the request as lost.
func (f *fleet) turnedAway(q *workload.Request, attempt int32) {
	r := f.cfg.Retry
	if r == nil || int(attempt) >= r.Attempts {
		f.report.GaveUp++
		f.rec.Refuse(f.now, q, sim.QueueFull)
		f.feed.Done(q, f.now)
		return
	}
	multiplier := r.Multiplier
	if multiplier == 0 {
		multiplier = 2
	}
	wait := r.BackoffSeconds * math.Pow(multiplier, float64(attempt))
	if r.Jitter > 0 {
		if f.backoff == nil {
			f.backoff = random.New(f.cfg.Seed, f.cfg.Replication, "back-off")
		}
		wait *= 1 - r.Jitter*f.backoff.Open()
	}
	again := *q
	again.Blocks = slices.Clone(q.Blocks)
	f.underway++
	f.rec.Hold(f.now, 1)
	f.events.push(event{at: f.now + nanos(wait), kind: retry, attempt: attempt + 1, request: &again})
}
