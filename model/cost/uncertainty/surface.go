package uncertainty

import (
	"fmt"
	"math"
	"sort"

	"scoville/model/cost"
)

// Surface gives the fleet for the conditions of a draw without simulating.
type Surface interface {
	Fleet(c Conditions) (cost.Input, error)
	// InterpolationError is the largest relative error of the capacity found at simulated points left out, 0 if unknown.
	InterpolationError() float64
}

// Grid is a capacity surface: requests a second that one replica holds within the SLA, simulated at a few hardware speeds
// and output lengths (multiples of the plan's), and interpolated linearly in the logarithms. Beyond its edges, and along an
// axis with one point, capacity is taken as proportional to speed and inverse to output length.
type Grid struct {
	Speed    []float64   // rising; at least one, usually 1 among them
	Output   []float64   // rising
	Capacity [][]float64 // [speed][output], above 0

	Base            cost.Input // the planned fleet at load, speed and output 1; its Full is what its serving chips hold
	PeakPerSecond   float64    // requests a second at the planned peak
	ReplicaChips    int
	SpareReplicas   int
	SizingLossShare float64 // of capacity that the simulated fleet lost against replicas x capacity (routing); may be negative
}

// Check refuses a grid that can't be interpolated.
func (g *Grid) Check() error {
	if len(g.Speed) == 0 || len(g.Output) == 0 || len(g.Capacity) != len(g.Speed) {
		return fmt.Errorf("capacity grid: %d speeds, %d output lengths and %d rows; expected a row for each speed", len(g.Speed), len(g.Output), len(g.Capacity))
	}
	for i, row := range g.Capacity {
		if len(row) != len(g.Output) {
			return fmt.Errorf("capacity grid: row %d has %d values for %d output lengths", i, len(row), len(g.Output))
		}
		for j, c := range row {
			if !(c > 0) || math.IsInf(c, 0) {
				return fmt.Errorf("capacity grid: capacity at speed %g, output %g is %g; expected above 0", g.Speed[i], g.Output[j], c)
			}
		}
	}
	if !rising(g.Speed) || !rising(g.Output) {
		return fmt.Errorf("capacity grid: speeds %v and output lengths %v must rise from above 0", g.Speed, g.Output)
	}
	if g.ReplicaChips < 1 || g.SpareReplicas < 0 || !(g.PeakPerSecond > 0) || !(g.SizingLossShare < 1) {
		return fmt.Errorf("capacity grid: %d chips a replica, %d spare replicas, peak %g/s, sizing loss %g", g.ReplicaChips, g.SpareReplicas, g.PeakPerSecond, g.SizingLossShare)
	}
	return nil
}

func rising(v []float64) bool {
	for i := range v {
		if !(v[i] > 0) || (i > 0 && v[i] <= v[i-1]) {
			return false
		}
	}
	return true
}

// Replica is the capacity of one replica under conditions.
func (g *Grid) Replica(c Conditions) float64 {
	return interpolate(g.Speed, g.Output, g.Capacity, c.Speed, c.Output)
}

// interpolate is bilinear in the logarithms, with slopes +1 and -1 beyond the edges.
func interpolate(speeds, outputs []float64, capacity [][]float64, speed, output float64) float64 {
	i, u, beyondSpeed := place(speeds, speed)
	j, v, beyondOutput := place(outputs, output)
	at := func(i, j int) float64 { return math.Log(capacity[i][j]) }
	low, high := at(i, j), at(i, j)
	if u > 0 {
		high = at(i+1, j)
	}
	if v > 0 {
		low = (1-v)*low + v*at(i, j+1)
		if u > 0 {
			high = (1-v)*high + v*at(i+1, j+1)
		}
	}
	if u > 0 {
		low = (1-u)*low + u*high
	}
	return math.Exp(low) * beyondSpeed / beyondOutput
}

// place finds x between axis[i] and axis[i+1], the share u of the way in logarithms, and how far beyond the edge it lies.
func place(axis []float64, x float64) (i int, u, beyond float64) {
	last := len(axis) - 1
	switch {
	case x <= axis[0]:
		return 0, 0, x / axis[0]
	case x >= axis[last]:
		return last, 0, x / axis[last]
	}
	i = sort.SearchFloat64s(axis, x)
	if axis[i] == x {
		return i, 0, 1
	}
	i--
	return i, math.Log(x/axis[i]) / math.Log(axis[i+1]/axis[i]), 1
}

// InterpolationError leaves out each inner point of the grid in turn, along each axis, and compares.
func (g *Grid) InterpolationError() float64 {
	worst := 0.0
	for i := range g.Speed {
		for j := range g.Output {
			got := g.Capacity[i][j]
			if i > 0 && i < len(g.Speed)-1 {
				u := math.Log(g.Speed[i]/g.Speed[i-1]) / math.Log(g.Speed[i+1]/g.Speed[i-1])
				worst = math.Max(worst, relative(g.Capacity[i-1][j], g.Capacity[i+1][j], u, got))
			}
			if j > 0 && j < len(g.Output)-1 {
				u := math.Log(g.Output[j]/g.Output[j-1]) / math.Log(g.Output[j+1]/g.Output[j-1])
				worst = math.Max(worst, relative(g.Capacity[i][j-1], g.Capacity[i][j+1], u, got))
			}
		}
	}
	return worst
}

func relative(a, b, u, got float64) float64 {
	return math.Abs(math.Exp((1-u)*math.Log(a)+u*math.Log(b))/got - 1)
}

// Fleet sizes the fleet: replicas for the peak, spares beyond, traffic and tokens under the conditions.
func (g *Grid) Fleet(c Conditions) (cost.Input, error) {
	capacity := g.Replica(c) * (1 - g.SizingLossShare)
	replicas := math.Ceil(g.PeakPerSecond*c.Load/capacity - 1e-9)
	if !(replicas >= 1) {
		replicas = 1
	}
	if replicas > 1e7 {
		return cost.Input{}, fmt.Errorf("a draw needs %g replicas", replicas)
	}
	in := g.Base
	serving, spare := int(replicas)*g.ReplicaChips, g.SpareReplicas*g.ReplicaChips
	grown := float64(serving+spare) / float64(in.Chips)
	if in.Nodes > 0 {
		in.Nodes = int(math.Ceil(float64(in.Nodes)*grown - 1e-9))
	}
	in.ProvisionedITWatts *= grown
	if len(in.ChipsByMonth) > 0 {
		in.ChipsByMonth = append([]int(nil), in.ChipsByMonth...)
		for m, chips := range in.ChipsByMonth {
			in.ChipsByMonth[m] = int(math.Ceil(float64(chips)*grown - 1e-9))
		}
	}
	in.Chips, in.SpareChips = serving+spare, spare
	in.Mean = stretch(in.Mean.Times(c.Load), c.Output)
	in.Peak = stretch(in.Peak.Times(c.Load), c.Output)
	perRequest := 1.0
	if in.Mean.RequestsPerSecond > 0 {
		perRequest = replicas * capacity / in.Mean.RequestsPerSecond
	}
	in.Full = in.Mean.Times(perRequest)
	return in, nil
}

func stretch(l cost.Load, output float64) cost.Load {
	l.OutputTokensPerSecond *= output
	return l
}
