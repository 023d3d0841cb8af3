package trace

import (
	"errors"
	"fmt"
	"slices"

	"scoville/model/random"
)

// Set is a trace in memory, in order of arrival. The first request comes at 0.
type Set struct {
	Nanos         []int64
	Input, Output []int32
	Session       []uint64 // nil: no request has one
	Class         []int32  // index into Classes; nil: the file has none
	Classes       []string
	BlockEnd      []int // end of request i's blocks in Blocks; nil: no blocks
	Blocks        []Block
	Timed         bool
	Report        Report
	Spread        int64 // requests moved by SpreadTies
}

// ErrTooLarge is the cause when a trace doesn't fit the limits of Load; it can still be streamed if it is in order.
var ErrTooLarge = errors.New("the trace is too large to be held in memory")

// Limits of a Set: about 1.2 GB.
const (
	maxLoadRows   = 20_000_000
	maxLoadBlocks = 40_000_000
)

// Load reads a whole trace, sorted by time (stably), the earliest request at 0.
func Load(path string, opt Options) (*Set, error) {
	r, err := Open(path, opt)
	if err != nil {
		return nil, err
	}
	s, err := Collect(r)
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	return s, err
}

// Collect reads the rest of a reader. See Load.
func Collect(r *Reader) (*Set, error) {
	s := &Set{Timed: r.Timed()}
	classes := map[string]int32{}
	var rec Record
	for r.Next(&rec) {
		if len(s.Input) >= maxLoadRows || len(s.Blocks) > maxLoadBlocks {
			return nil, &Error{File: r.name, Line: rec.Line, Problem: fmt.Sprintf("%v (%d requests, %d prefix blocks so far)", ErrTooLarge, len(s.Input), len(s.Blocks))}
		}
		s.add(&rec, classes)
	}
	if r.Err() != nil {
		return nil, r.Err()
	}
	s.Report = r.Report()
	if len(s.Input) == 0 {
		return nil, &Error{File: r.name, Problem: "holds no requests"}
	}
	if s.Timed {
		s.sort()
		first := s.Nanos[0]
		for i := range s.Nanos {
			s.Nanos[i] -= first
		}
	}
	return s, nil
}

func (s *Set) add(rec *Record, classes map[string]int32) {
	n := len(s.Input)
	if s.Timed {
		s.Nanos = append(s.Nanos, rec.Nanoseconds)
	}
	s.Input, s.Output = append(s.Input, rec.Input), append(s.Output, rec.Output)
	if rec.Session != 0 && s.Session == nil {
		s.Session = make([]uint64, n, cap(s.Input))
	}
	if s.Session != nil {
		s.Session = append(s.Session, rec.Session)
	}
	if rec.Class != "" && s.Class == nil {
		s.Class, s.Classes = make([]int32, n, cap(s.Input)), []string{""}
		classes[""] = 0
	}
	if s.Class != nil {
		k, ok := classes[rec.Class]
		if !ok {
			k = int32(len(s.Classes))
			classes[rec.Class] = k
			s.Classes = append(s.Classes, rec.Class)
		}
		s.Class = append(s.Class, k)
	}
	if len(rec.Blocks) > 0 && s.BlockEnd == nil {
		s.BlockEnd = make([]int, n, cap(s.Input))
	}
	if s.BlockEnd != nil {
		s.Blocks = append(s.Blocks, rec.Blocks...)
		s.BlockEnd = append(s.BlockEnd, len(s.Blocks))
	}
}

// Len is the number of requests.
func (s *Set) Len() int { return len(s.Input) }

// BlocksOf returns the prefix blocks of request i.
func (s *Set) BlocksOf(i int) []Block {
	if s.BlockEnd == nil {
		return nil
	}
	start := 0
	if i > 0 {
		start = s.BlockEnd[i-1]
	}
	return s.Blocks[start:s.BlockEnd[i]:s.BlockEnd[i]]
}

// sort orders requests by time, those of equal time as in the file.
func (s *Set) sort() {
	if slices.IsSorted(s.Nanos) {
		return
	}
	order := make([]int, len(s.Nanos))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case s.Nanos[a] < s.Nanos[b]:
			return -1
		case s.Nanos[a] > s.Nanos[b]:
			return 1
		}
		return 0
	})
	if s.BlockEnd != nil {
		blocks, ends := make([]Block, 0, len(s.Blocks)), make([]int, 0, len(s.BlockEnd))
		for _, i := range order {
			blocks = append(blocks, s.BlocksOf(i)...)
			ends = append(ends, len(blocks))
		}
		s.Blocks, s.BlockEnd = blocks, ends
	}
	s.Nanos, s.Input, s.Output = permuted(s.Nanos, order), permuted(s.Input, order), permuted(s.Output, order)
	s.Session, s.Class = permuted(s.Session, order), permuted(s.Class, order)
}

func permuted[T any](v []T, order []int) []T {
	if v == nil {
		return nil
	}
	out := make([]T, len(v))
	for k, i := range order {
		out[k] = v[i]
	}
	return out
}

// SpanSeconds is the time from the first to the last request.
func (s *Set) SpanSeconds() float64 {
	if len(s.Nanos) == 0 {
		return 0
	}
	return float64(s.Nanos[len(s.Nanos)-1]) / 1e9
}

// Rate is the mean rate, (n-1)/span, in requests per second; 0 where it isn't known.
func (s *Set) Rate() float64 {
	if span := s.SpanSeconds(); span > 0 {
		return float64(len(s.Nanos)-1) / span
	}
	return 0
}

// TiedShare is the share of arrivals at the very time of the arrival before: a sign of a clock that ticks coarsely.
func (s *Set) TiedShare() float64 {
	if len(s.Nanos) < 2 {
		return 0
	}
	tied := 0
	for i := 1; i < len(s.Nanos); i++ {
		if s.Nanos[i] == s.Nanos[i-1] {
			tied++
		}
	}
	return float64(tied) / float64(len(s.Nanos)-1)
}

// SpreadTies spreads requests of equal time uniformly at random up to the following tick (the last group: over the
// median tick), undoing the quantisation of a coarse clock. Order is kept.
func (s *Set) SpreadTies(seed uint64) {
	stream := random.New(seed, 0, "spread ties")
	median := s.medianTick()
	for i := 0; i < len(s.Nanos); {
		j := i + 1
		for j < len(s.Nanos) && s.Nanos[j] == s.Nanos[i] {
			j++
		}
		room := median
		if j < len(s.Nanos) {
			// A gap that is longer than the usual tick is silence, not quantisation.
			room = min(s.Nanos[j]-s.Nanos[i], median)
		}
		if j > i+1 && room > 0 {
			group := s.Nanos[i:j]
			for k := range group {
				group[k] += int64(stream.Float64() * float64(room))
			}
			slices.Sort(group)
			s.Spread += int64(len(group))
		}
		i = j
	}
}

// medianTick is the median distance between distinct times.
func (s *Set) medianTick() int64 {
	var ticks []int64
	for i := 1; i < len(s.Nanos); i++ {
		if d := s.Nanos[i] - s.Nanos[i-1]; d > 0 {
			ticks = append(ticks, d)
		}
	}
	if len(ticks) == 0 {
		return 0
	}
	slices.Sort(ticks)
	return ticks[len(ticks)/2]
}
