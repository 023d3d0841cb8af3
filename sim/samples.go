package sim

import (
	"math"
	"slices"

	"scoville/model/sla"
	"scoville/model/stats"
)

const nanosecond = 1e-9

// samples are the latencies of the measured window, as sorted values or as histograms, so that replications can be pooled.
type samples struct {
	exact bool
	// Sorted seconds when exact.
	ttft, tpot, e2e, wait []float64
	// Histograms otherwise; itl always.
	ttftHist, tpotHist, e2eHist, waitHist, itl *stats.Histogram
}

// of returns the store of a metric: values when exact, a histogram otherwise.
func (s *samples) of(m sla.Metric) ([]float64, *stats.Histogram) {
	switch m {
	case sla.TTFT:
		return s.ttft, s.ttftHist
	case sla.TPOT:
		return s.tpot, s.tpotHist
	case sla.E2E:
		return s.e2e, s.e2eHist
	case sla.ITL:
		return nil, s.itl
	}
	return s.wait, s.waitHist
}

// quantile returns a quantile in seconds, the mean for q = 0, and false when there is nothing to measure.
func (s *samples) quantile(m sla.Metric, q float64) (float64, bool) {
	values, hist := s.of(m)
	if hist != nil {
		if hist.Count() == 0 {
			return math.NaN(), false
		}
		if q == 0 {
			return hist.Mean(), true
		}
		return hist.Quantile(q), true
	}
	if len(values) == 0 {
		return math.NaN(), false
	}
	if q == 0 {
		return stats.Mean(values), true
	}
	return stats.Quantile(values, q), true
}

func (s *samples) distribution(m sla.Metric) Distribution {
	values, hist := s.of(m)
	if hist == nil {
		if len(values) == 0 {
			return Distribution{Exact: true}
		}
		q := func(p float64) float64 { return stats.Quantile(values, p) }
		return Distribution{int64(len(values)), stats.Mean(values), q(0.5), q(0.9), q(0.95), q(0.99), values[len(values)-1], true, 0}
	}
	if hist.Count() == 0 {
		return Distribution{RelativeError: stats.HistogramError}
	}
	return Distribution{hist.Count(), hist.Mean(), hist.Quantile(0.5), hist.Quantile(0.9), hist.Quantile(0.95), hist.Quantile(0.99),
		hist.Max(), false, stats.HistogramError}
}

func (s *samples) sort() {
	for _, v := range [][]float64{s.ttft, s.tpot, s.e2e, s.wait} {
		slices.Sort(v)
	}
}

const queueWait sla.Metric = "queue wait"
