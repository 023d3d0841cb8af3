package stats

import (
	"fmt"
	"math"
	"math/bits"
)

const (
	subBits    = 8
	subBuckets = 1 << subBits
	octaves    = 64 - subBits // bucket >> subBits of the largest int64 is below
	// HistogramError bounds the relative error of a histogram's quantiles: a bucket is at most 1/256 of its lower edge wide and
	// answers with its middle.
	HistogramError = 1.0 / (2 * subBuckets)
)

// Histogram counts non-negative integers ("ticks" of Unit) in buckets whose width grows with the value: exact below 256 ticks,
// within HistogramError above. All arithmetic on counts is in integers, so adding a progression at once equals adding its terms
// one by one, and merging shards in any order gives the same counts. The zero value with a Unit is ready to use.
type Histogram struct {
	Unit    float64                     // what one tick is worth
	octaves [octaves]*[subBuckets]int64 // counts, of the octaves met
	n       int64
	sum     float64 // ticks
	max     int64
}

// NewHistogram returns an empty histogram whose ticks are worth unit.
func NewHistogram(unit float64) *Histogram { return &Histogram{Unit: unit} }

// bucketOf returns the bucket of a value.
func bucketOf(v int64) int {
	sh := bits.Len64(uint64(v)) - subBits - 1
	if sh <= 0 {
		return int(v)
	}
	return sh<<subBits + int(v>>sh)
}

// lowerEdge returns the least value of a bucket.
func lowerEdge(b int) int64 {
	sh := b>>subBits - 1
	if sh <= 0 {
		return int64(b)
	}
	return int64(b-sh<<subBits) << sh
}

// Add counts a value of so many ticks, weight times. Negative values count as zero.
func (h *Histogram) Add(ticks, weight int64) {
	ticks = max(ticks, 0)
	h.count(bucketOf(ticks), weight)
	h.n += weight
	h.sum += float64(ticks) * float64(weight)
	h.max = max(h.max, ticks)
}

// AddProgression counts the terms first, first+step, ... (so many terms), each weight times, in time linear in the buckets they
// span. step must not be negative.
func (h *Histogram) AddProgression(first, step, terms, weight int64) {
	if terms <= 0 {
		return
	}
	v := first
	for left := terms; left > 0; {
		b := bucketOf(v)
		k := left
		if step > 0 {
			if edge := lowerEdge(b + 1); v+step*(left-1) >= edge {
				k = (edge - v + step - 1) / step
			}
		}
		h.count(b, k*weight)
		left -= k
		v += step * k
	}
	h.n += terms * weight
	h.sum += float64(weight) * (float64(terms)*float64(first) + float64(step)*(float64(terms)*float64(terms-1)/2))
	h.max = max(h.max, first+step*(terms-1))
}

func (h *Histogram) count(bucket int, weight int64) {
	o := h.octaves[bucket>>subBits]
	if o == nil {
		o = new([subBuckets]int64)
		h.octaves[bucket>>subBits] = o
	}
	o[bucket&(subBuckets-1)] += weight
}

// Merge adds what another histogram of the same unit counted.
func (h *Histogram) Merge(o *Histogram) error {
	if o == nil || o.n == 0 {
		return nil
	}
	if h.Unit != o.Unit {
		return fmt.Errorf("histograms of units %g and %g don't merge", h.Unit, o.Unit)
	}
	for k, from := range o.octaves {
		if from == nil {
			continue
		}
		if h.octaves[k] == nil {
			h.octaves[k] = new([subBuckets]int64)
		}
		for i, c := range from {
			h.octaves[k][i] += c
		}
	}
	h.n += o.n
	h.sum += o.sum
	h.max = max(h.max, o.max)
	return nil
}

// each calls f with the non-empty buckets in order until it returns false.
func (h *Histogram) each(f func(bucket int, count int64) bool) {
	for k, o := range h.octaves {
		if o == nil {
			continue
		}
		for i, c := range o {
			if c != 0 && !f(k<<subBits+i, c) {
				return
			}
		}
	}
}

// Count returns how many values were counted.
func (h *Histogram) Count() int64 { return h.n }

// Mean returns the exact mean, in Unit; NaN when empty.
func (h *Histogram) Mean() float64 { return h.sum / float64(h.n) * h.Unit }

// Max returns the exact largest value, in Unit.
func (h *Histogram) Max() float64 { return float64(h.max) * h.Unit }

// Quantile returns the value at rank ceil(q n) (at least 1) to within HistogramError, in Unit; NaN when empty.
func (h *Histogram) Quantile(q float64) float64 {
	if h.n == 0 || math.IsNaN(q) {
		return math.NaN()
	}
	rank := max(1, int64(math.Ceil(q*float64(h.n)-1e-9)))
	if rank >= h.n {
		return h.Max()
	}
	seen, value := int64(0), float64(h.max)
	h.each(func(b int, c int64) bool {
		if seen += c; seen < rank {
			return true
		}
		value = min(value, float64(lowerEdge(b))+float64(lowerEdge(b+1)-1-lowerEdge(b))/2)
		return false
	})
	return value * h.Unit
}

// ShareAtMost returns the share of values at most x (in Unit), to within one bucket.
func (h *Histogram) ShareAtMost(x float64) float64 {
	limit, seen := bucketOf(int64(max(0, min(x/h.Unit, math.MaxInt64/2)))), int64(0)
	h.each(func(b int, c int64) bool {
		if b <= limit {
			seen += c
		}
		return b < limit
	})
	return float64(seen) / float64(h.n)
}
