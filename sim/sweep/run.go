package sweep

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"scoville/sim/plan"
)

// Options rule a run.
type Options struct {
	Parallel int                       // points at once; 0: GOMAXPROCS. Memory grows with it and with nothing else
	Progress func(done, kept, all int) // after each point; done counts the kept ones, which were there before
}

// Run answers the points that the store lacks. A point that no candidate can serve is a result like any other; bad input
// ends the run. On any error, a cancelled context included, finished points are kept.
func (s *Sweep) Run(ctx context.Context, store *Store, points []Point, o Options) error {
	if o.Parallel <= 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	var missing []Point
	for _, p := range points {
		kept, err := store.Get(p)
		if err != nil {
			return err
		}
		if kept == nil {
			missing = append(missing, p)
		}
	}
	kept := len(points) - len(missing)
	tell := &counter{done: kept, kept: kept, all: len(points), to: o.Progress}
	tell.say()
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(o.Parallel)
	for _, p := range missing {
		if gctx.Err() != nil {
			break
		}
		g.Go(func() error {
			if err := s.answer(gctx, store, p); err != nil {
				return err
			}
			tell.more()
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// answer runs one point and keeps its outcome.
func (s *Sweep) answer(ctx context.Context, store *Store, p Point) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := s.parse(p)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", s.File.path, p.name(), err)
	}
	r, err := plan.Run(ctx, f, plan.Options{Seed: p.Seed, Version: s.Program, Command: s.command(p)})
	var none *plan.NoAnswer
	if err != nil && !errors.As(err, &none) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%s: %s: %w", s.File.path, p.name(), err)
	}
	return store.put(p, summarise(p, r, none), r)
}

// command is what answers the point alone.
func (s *Sweep) command(p Point) string {
	parts := []string{"scoville", "plan", filepath.Base(s.File.Plan), fmt.Sprintf("--seed %d", p.Seed)}
	for _, o := range p.Overrides {
		parts = append(parts, "--set '"+strings.ReplaceAll(o, "'", `'\''`)+"'")
	}
	return strings.Join(parts, " ")
}

// counter tells of progress, one point at a time.
type counter struct {
	sync.Mutex
	done, kept, all int
	to              func(done, kept, all int)
}

func (c *counter) more() {
	c.Lock()
	defer c.Unlock()
	c.done++
	c.say()
}

func (c *counter) say() {
	if c.to != nil {
		c.to(c.done, c.kept, c.all)
	}
}
