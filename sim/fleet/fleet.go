package fleet

import (
	"context"
	"fmt"
	"math"
	"slices"

	"scoville/model/random"
	"scoville/model/workload"
	"scoville/sim"
)

// Config is a fleet of like replicas.
type Config struct {
	Replica     sim.Config // of each; its SLA and Options hold for the fleet as a whole
	Replicas    int
	Routing     Routing // "": round robin
	Seed        uint64  // of the routing's own draws
	Replication int

	// What follows is off unless given, and then costs nothing.
	Shed         int // requests in flight at a replica from which on the router turns further ones away; 0: never
	Retry        *Retry
	Disaggregate *Disaggregation
	Autoscale    *Autoscale
	Failures     []FailureLevel
	Need         int // replicas that must be up for Report.EnoughShare
}

func (c *Config) dynamic() bool { return c.Autoscale != nil || len(c.Failures) > 0 }

const eventsPerCheck = 1024 // between two looks at the context

// Run simulates the fleet with a source's traffic until all requests have left, or to the limits in the options.
func Run(ctx context.Context, cfg Config, src workload.Source) (*sim.Result, error) {
	r, _, err := RunReport(ctx, cfg, src)
	return r, err
}

// RunReport is Run with what the fleet itself has to tell.
func RunReport(ctx context.Context, cfg Config, src workload.Source) (*sim.Result, *Report, error) {
	f, err := newFleet(cfg, src)
	if err != nil {
		return nil, nil, err
	}
	end, err := f.drive(ctx)
	if err == nil {
		err = f.err
	}
	if err != nil {
		return nil, nil, err
	}
	return f.rec.Finish(end, append(slices.Clone(f.replicas), f.prefill...)...), f.close(end), nil
}

// RunReplications is sim.RunReplications for a fleet. Each replication draws its routing from its own stream.
func RunReplications(ctx context.Context, cfg Config, newSource func(replication int) (workload.Source, error), opts sim.ReplicationOptions) (*sim.Summary, error) {
	return sim.Replicate(ctx, cfg.Replica, newSource, opts, func(ctx context.Context, c sim.Config, replication int, src workload.Source) (*sim.Result, error) {
		one := cfg
		one.Replica, one.Replication = c, replication
		return Run(ctx, one, src)
	})
}

// fleet is the state of a run.
type fleet struct {
	options  sim.Options
	feed     *sim.Feed
	rec      *sim.Recorder
	replicas []*sim.Replica
	timers   *indexHeap // of replicas by their next event
	router   router
	held     []workload.Request // waiting at the router, first come first served from index next on
	next     int
	now      int64

	cfg      Config
	events   events
	underway int // requests neither at a replica nor held: on a link, or backing off
	backoff  *random.Stream
	err      error
	report   Report

	prefill       []*sim.Replica // timers: after those of replicas
	prefillRouter router
	linkFree      []int64

	states                   []state
	groups                   []int // failures that keep a replica down
	failing                  *random.Stream
	patience, on, up         int
	accounted                int64
	upSeconds, enoughSeconds float64
}

func newFleet(cfg Config, src workload.Source) (*fleet, error) {
	if cfg.Replicas < 1 {
		return nil, fmt.Errorf("fleet.replicas: %d is not a positive number", cfg.Replicas)
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	all := cfg.Replicas
	if d := cfg.Disaggregate; d != nil {
		all += d.Replicas
	}
	rec, err := sim.NewRecorder(cfg.Replica, all)
	if err != nil {
		return nil, err
	}
	f := &fleet{cfg: cfg, options: cfg.Replica.Options, feed: sim.NewFeed(src, cfg.Replica.Options.MaxRequests), rec: rec,
		timers: newIndexHeap(all, math.MaxInt64)}
	if f.router, err = newRouter(&cfg); err != nil {
		return nil, err
	}
	if err := f.addPrefill(); err != nil {
		return nil, err
	}
	if f.replicas, err = sim.NewReplicas(cfg.Replica, cfg.Replicas, 0, rec); err != nil {
		return nil, err
	}
	if cfg.dynamic() {
		if err := f.startDynamics(&cfg); err != nil {
			return nil, err
		}
	}
	if f.router.blind() && !f.feed.Feedback() {
		return f, nil
	}
	for i, r := range f.replicas {
		r.OnLeave = func(q *workload.Request, _ sim.Outcome, at int64) {
			f.router.left(i, q)
			f.feed.Done(q, at)
		}
	}
	return f, nil
}

// drive is the event loop; it returns the time at which the run ended. At equal times arrivals come before step ends, and replicas
// go in order of their index.
func (f *fleet) drive(ctx context.Context) (int64, error) {
	horizon := f.options.HorizonNanos
	if horizon <= 0 {
		horizon = math.MaxInt64
	}
	for n := 0; ; n++ {
		if n%eventsPerCheck == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		i, step := f.timers.first()
		arrival, planned := f.feed.Next(), f.events.next()
		at := min(arrival, step, planned)
		if at == math.MaxInt64 || at == planned && at < min(arrival, step) && !f.busy() {
			return f.now, f.feed.Err()
		}
		if at > horizon {
			for _, r := range f.replicas {
				r.Settle(horizon)
			}
			for _, r := range f.prefill {
				r.Settle(horizon)
			}
			return horizon, f.feed.Err()
		}
		f.now = max(f.now, at)
		if arrival <= min(step, planned) {
			q := f.feed.Take()
			if q == nil {
				return 0, f.feed.Err()
			}
			f.admit(q, 0)
			continue
		}
		if planned <= step {
			if err := f.happen(); err != nil {
				return 0, err
			}
			continue
		}
		if err := f.advance(i); err != nil {
			return 0, err
		}
	}
}

// admit routes a request, turns it away or holds it back; attempt counts the client's tries before.
func (f *fleet) admit(q *workload.Request, attempt int32) {
	if f.prefill != nil {
		f.toPrefill(q)
		return
	}
	if i := f.router.pick(q); i >= 0 {
		if f.cfg.Shed > 0 && f.replicas[i].Outstanding() >= f.cfg.Shed {
			f.report.Shed++
			f.turnedAway(q, attempt)
			return
		}
		f.submit(i, q)
		return
	}
	f.rec.Hold(f.now, 1)
	held := *q
	held.Blocks = slices.Clone(q.Blocks)
	if f.next > len(f.held)/2 {
		f.held, f.next = slices.Delete(f.held, 0, f.next), 0
	}
	f.held = append(f.held, held)
}

func (f *fleet) submit(i int, q *workload.Request) {
	f.router.routed(i, q)
	f.replicas[i].Submit(f.now, q)
	f.timers.set(i, f.replicas[i].Next(), int64(i))
}

// advance carries out a replica's next event, then hands out held requests for which it made room.
func (f *fleet) advance(i int) error {
	r := f.at(i)
	if err := r.Advance(); err != nil {
		return fmt.Errorf("replica %d at %.6f s: %w", i, float64(f.now)*1e-9, err)
	}
	f.timers.set(i, r.Next(), int64(i))
	f.release()
	return nil
}

// at is a replica by its timer: those that decode, then those that only prefill.
func (f *fleet) at(i int) *sim.Replica {
	if i < len(f.replicas) {
		return f.replicas[i]
	}
	return f.prefill[i-len(f.replicas)]
}

// release hands out held requests, first come first served.
func (f *fleet) release() {
	for f.next < len(f.held) {
		q := &f.held[f.next]
		to := f.router.pick(q)
		if to < 0 {
			return
		}
		f.rec.Hold(f.now, -1)
		f.submit(to, q)
		f.next++
	}
	f.held, f.next = f.held[:0], 0
}
