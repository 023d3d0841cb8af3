package sim

import (
	"context"
	"fmt"

	"scoville/model/workload"
)

// eventsPerCheck is how many events pass between two looks at the context: well under a millisecond.
const eventsPerCheck = 1024

// Run simulates one replica with a source's traffic until all requests have left, or to the limits in cfg.Options.
func Run(ctx context.Context, cfg Config, src workload.Source) (*Result, error) {
	rec, err := NewRecorder(cfg, 1)
	if err != nil {
		return nil, err
	}
	r, err := NewReplica(cfg, 0, rec)
	if err != nil {
		return nil, err
	}
	feed := NewFeed(src, cfg.Options.MaxRequests)
	if feed.Feedback() {
		r.OnLeave = func(q *workload.Request, _ Outcome, at int64) { feed.Done(q, at) }
	}
	end, err := drive(ctx, cfg.Options, feed, r)
	if err != nil {
		return nil, err
	}
	return rec.Finish(end, r), nil
}

// drive is the event loop of one replica. It returns the time at which the run ended.
func drive(ctx context.Context, o Options, feed *Feed, r *Replica) (int64, error) {
	horizon := o.HorizonNanos
	if horizon <= 0 {
		horizon = never
	}
	now := int64(0)
	for n := 0; ; n++ {
		if n%eventsPerCheck == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		arrival, step := feed.Next(), r.Next()
		at := min(arrival, step)
		if at == never {
			break
		}
		if at > horizon {
			r.Settle(horizon)
			now = horizon
			break
		}
		now = max(now, at)
		if arrival <= step { // arrivals first: a request that comes at a step boundary is in time for it
			q := feed.Take()
			if q == nil {
				break
			}
			r.Submit(now, q)
			continue
		}
		if err := r.Advance(); err != nil {
			return 0, fmt.Errorf("at %.6f s: %w", float64(now)*nanosecond, err)
		}
	}
	if err := feed.Err(); err != nil {
		return 0, err
	}
	return now, nil
}
