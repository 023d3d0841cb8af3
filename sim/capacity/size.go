package capacity

import (
	"context"
	"fmt"
	"math"

	"scoville/sim"
)

// FleetProbe runs a fleet of that many replicas at the load to be served.
type FleetProbe func(ctx context.Context, replicas int) (*sim.Result, error)

// Sized is the smallest fleet whose simulation passes.
type Sized struct {
	Replicas int
	At       *sim.Result // the fleet at the load
	OneFewer *sim.Result // the fleet with one replica fewer, which fails; nil when Replicas is 1
}

// Size finds the smallest number of replicas, between 1 and limit, that passes, starting from a guess. It gallops away
// from the guess, then bisects: fleets with more replicas are taken to pass when smaller ones do, which the last two
// probes (n passes, n-1 fails) confirm where it matters.
func Size(ctx context.Context, probe FleetProbe, guess, limit int) (*Sized, error) {
	guess = min(max(guess, 1), limit)
	runs := map[int]*sim.Result{}
	passes := func(n int) (bool, error) {
		if runs[n] == nil {
			r, err := probe(ctx, n)
			if err != nil {
				return false, err
			}
			runs[n] = r
		}
		return Passes(runs[n]), nil
	}
	low, high, err := gallop(passes, guess, limit)
	if err != nil {
		return nil, err
	}
	for high-low > 1 {
		middle := (low + high) / 2
		ok, err := passes(middle)
		if err != nil {
			return nil, err
		}
		if ok {
			high = middle
		} else {
			low = middle
		}
	}
	return &Sized{Replicas: high, At: runs[high], OneFewer: runs[low]}, nil
}

// gallop returns a failing and a passing count around guess; 0 counts as failing.
func gallop(passes func(int) (bool, error), guess, limit int) (low, high int, err error) {
	ok, err := passes(guess)
	if err != nil {
		return 0, 0, err
	}
	step := 1
	for n := guess; ; step *= 2 {
		next := n + step
		if ok {
			next = n - step
		}
		if next < 1 {
			return 0, n, nil
		}
		if next > limit {
			if n == limit {
				return 0, 0, fmt.Errorf("capacity: not even %d replicas serve the load within the SLA", limit)
			}
			next = limit
		}
		nextOK, err := passes(next)
		if err != nil {
			return 0, 0, err
		}
		if nextOK != ok {
			return min(n, next), max(n, next), nil
		}
		n = next
	}
}

// Replicas is how many replicas a load takes by division, at a load each: the knee, or saturation for zero headroom. Size, which simulates
// the fleet, is the answer; these two numbers stand beside it.
func Replicas(load, each float64) int {
	if !(each > 0) {
		return 0
	}
	return int(math.Ceil(load/each - 1e-9))
}
