// Package explore searches over deployments: which of many hold the most load a chip, and at what speed for a user.
//
// Every deployment is first judged roughly, on one replication of a short run, the most promising by its bound first. One whose bounds
// lie behind a deployment of the same kind of chip already judged is left out. Those at or near the Pareto front are then judged on
// several replications. Both passes bisect the load to the precision asked for on fixed draws, as package capacity does.
package explore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sort"
	"sync"

	"golang.org/x/sync/errgroup"
	"scoville/model/sla"
	"scoville/sim"
	"scoville/sim/capacity"
)

// Deployment is one to judge.
type Deployment struct {
	Name  string
	Group string // deployments of one group cost the same a chip: only these may rule each other out
	Chips int    // of a replica

	Ceiling       float64 // requests a second that no schedule exceeds
	Interactivity float64 // tokens a second that no request exceeds
	Start         float64 // a guess of the capacity

	// Probe runs one replica at a rate, on the fixed draws of a replication, for so many requests.
	Probe func(ctx context.Context, rate float64, replication int, requests int64) (*sim.Result, error)
}

// Options rule a search. Zero fields take the defaults in parentheses.
type Options struct {
	Precision    float64 // relative, of each bisection (0.02)
	Requests     int64   // of a run in the rough pass; the second pass draws twice as many (1500)
	Replications int     // of the second pass (5)
	Near         float64 // how far below the front a deployment may lie and be judged again (0.1)
	Parallel     int     // deployments at once (GOMAXPROCS)
	Progress     func(done, total int)
}

// Judged is what is known of a deployment.
type Judged struct {
	Capacity      float64 // requests a second of a replica: mean over replications
	Low, High     float64 // 95 % interval, where there is more than one replication
	Replications  int     // 0: not judged
	PerChip       float64 // goodput: requests a second and chip at Low
	TTFT          float64 // p99, seconds, at the capacity
	TPOT          float64 // mean, seconds, at the capacity
	Interactivity float64 // 1/TPOT: tokens a second that a user sees
	Binding       string  // the limit that breaks first
	Left          string  // why it was not judged, or holds no load
	At            *sim.Result
}

// Result holds one Judged for each deployment, in their order.
type Result struct {
	Judged  []Judged
	Probes  int
	Partial bool // the search was broken off: deployments without replications were not judged
}

const (
	defaultPrecision    = 0.02
	defaultRequests     = 1500
	defaultReplications = 5
	defaultNear         = 0.1
)

func (o Options) withDefaults() Options {
	if o.Precision == 0 {
		o.Precision = defaultPrecision
	}
	if o.Requests == 0 {
		o.Requests = defaultRequests
	}
	if o.Replications == 0 {
		o.Replications = defaultReplications
	}
	if o.Near == 0 {
		o.Near = defaultNear
	}
	if o.Parallel == 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	return o
}

// Search judges deployments. When ctx ends early it returns what is done, marked Partial, and no error.
func Search(ctx context.Context, all []Deployment, o Options) (*Result, error) {
	s := &search{all: all, options: o.withDefaults(), judged: make([]Judged, len(all))}
	err := s.rough(ctx)
	if err == nil {
		err = s.again(ctx)
	}
	out := &Result{Judged: s.judged, Probes: s.probes}
	if err != nil && ctx.Err() != nil {
		out.Partial, err = true, nil
	}
	return out, err
}

type search struct {
	all     []Deployment
	options Options

	mu     sync.Mutex
	judged []Judged
	probes int
	done   int
	total  int
}

// rough judges all that no other rules out, the most promising first. Deployments go in waves of fixed size, so that who rules out whom
// does not depend on how many run at once.
func (s *search) rough(ctx context.Context) error {
	order := make([]int, len(s.all))
	for i := range order {
		order[i] = i
	}
	promise := func(i int) float64 { return s.all[i].Ceiling / float64(s.all[i].Chips) }
	sort.SliceStable(order, func(a, b int) bool { return promise(order[a]) > promise(order[b]) })
	s.total = len(order)
	const wave = 8
	for len(order) > 0 {
		n := min(wave, len(order))
		var todo []int
		for _, i := range order[:n] {
			if by := s.ruledOut(i); by >= 0 {
				s.judged[i].Left = fmt.Sprintf("its bounds lie behind %s", s.all[by].Name)
				s.progress()
				continue
			}
			todo = append(todo, i)
		}
		order = order[n:]
		if err := s.judge(ctx, todo, 1, s.options.Requests); err != nil {
			return err
		}
	}
	return nil
}

// ruledOut returns a deployment of the same group that is at least as good as i can be in both respects, or -1.
func (s *search) ruledOut(i int) int {
	d := &s.all[i]
	for k := range s.judged {
		j := &s.judged[k]
		if j.Replications > 0 && s.all[k].Group == d.Group && j.PerChip >= d.Ceiling/float64(d.Chips) && j.Interactivity >= d.Interactivity {
			return k
		}
	}
	return -1
}

// again judges those near the front of their group with replications.
func (s *search) again(ctx context.Context) error {
	var near []int
	for i := range s.all {
		if s.judged[i].Replications > 0 && s.judged[i].Left == "" && s.nearFront(i) {
			near = append(near, i)
		}
	}
	s.total += len(near)
	return s.judge(ctx, near, s.options.Replications, 2*s.options.Requests)
}

// nearFront reports that no deployment of the group is better in both respects, in one of them by more than Near.
func (s *search) nearFront(i int) bool {
	room, own := 1+s.options.Near, &s.judged[i]
	for k := range s.all {
		j := &s.judged[k]
		if s.all[k].Group != s.all[i].Group || j.Replications == 0 || j.PerChip <= own.PerChip || j.Interactivity <= own.Interactivity {
			continue
		}
		if j.PerChip > own.PerChip*room || j.Interactivity > own.Interactivity*room {
			return false
		}
	}
	return true
}

func (s *search) judge(ctx context.Context, which []int, replications int, requests int64) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(s.options.Parallel)
	for _, i := range which {
		g.Go(func() error { return s.one(gctx, i, replications, requests) })
	}
	return g.Wait()
}

func (s *search) one(ctx context.Context, i, replications int, requests int64) error {
	d := &s.all[i]
	start := d.Start
	if s.judged[i].Replications > 0 {
		start = s.judged[i].Capacity
	}
	a, err := capacity.Find(ctx, capacity.Search{Start: start, Replications: replications, Precision: s.options.Precision, Parallel: 1,
		Probe: func(ctx context.Context, rate float64, r int) (*sim.Result, error) {
			return d.Probe(ctx, rate, r, requests)
		}})
	var none *capacity.ErrNoLoad
	switch {
	case errors.As(err, &none):
		s.mu.Lock()
		s.judged[i] = Judged{Replications: replications, Left: none.Error()}
		s.mu.Unlock()
	case err != nil:
		return err
	default:
		s.mu.Lock()
		s.judged[i] = judgedBy(d, a)
		s.probes += a.Probes
		s.mu.Unlock()
	}
	s.progress()
	return nil
}

func judgedBy(d *Deployment, a *capacity.Answer) Judged {
	j := Judged{Capacity: a.Mean, Low: a.Low, High: a.High, Replications: len(a.Roots), PerChip: a.Low / float64(d.Chips), At: a.Below}
	if a.Above != nil && len(a.Above.Violations) > 0 {
		j.Binding = a.Above.Violations[0]
	}
	if v, ok := a.Below.Quantile(sla.TTFT, 0.99); ok {
		j.TTFT = v
	}
	if v, ok := a.Below.Quantile(sla.TPOT, 0); ok && v > 0 {
		j.TPOT, j.Interactivity = v, 1/v
	}
	return j
}

func (s *search) progress() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done++
	if s.options.Progress != nil {
		s.options.Progress(s.done, s.total)
	}
}

// Front returns which of n points no other beats in both respects, more of each being better; NaN and zero points are on no front.
// Of equal points the first is.
func Front(n int, x, y func(int) float64) []bool {
	order := make([]int, 0, n)
	for i := range n {
		if x(i) > 0 && y(i) > 0 && !math.IsInf(x(i), 0) && !math.IsInf(y(i), 0) {
			order = append(order, i)
		}
	}
	sort.SliceStable(order, func(a, b int) bool {
		i, k := order[a], order[b]
		if x(i) != x(k) {
			return x(i) > x(k)
		}
		return y(i) > y(k)
	})
	front, best := make([]bool, n), 0.0
	for _, i := range order {
		if y(i) > best {
			front[i], best = true, y(i)
		}
	}
	return front
}
