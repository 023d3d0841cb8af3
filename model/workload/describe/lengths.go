package describe

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// counts is a distribution of whole numbers held exactly: how often each value came.
type counts struct {
	by map[int32]int64
	n  int64
}

func (c *counts) add(v int32) {
	if c.by == nil {
		c.by = map[int32]int64{}
	}
	c.by[v]++
	c.n++
}

// Lengths describes a distribution of tokens. Quantiles interpolate linearly between order statistics.
type Lengths struct {
	Count int64   `json:"count"`
	Sum   float64 `json:"sum"`
	Mean  float64 `json:"mean"`
	CV    float64 `json:"cv"`
	Min   int32   `json:"min"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	Max   int32   `json:"max"`
	// Fits, over the positive values. Lognormal: mean and standard deviation of the logarithm. Gamma: by moments
	// (k = mean^2/variance) and maximum likelihood. KS is the Kolmogorov-Smirnov distance.
	Mu            float64 `json:"lognormal_mu"`
	Sigma         float64 `json:"lognormal_sigma"`
	LognormalMean float64 `json:"lognormal_mean"`
	LognormalP99  float64 `json:"lognormal_p99"`
	LognormalKS   float64 `json:"lognormal_ks"`
	GammaShape    float64 `json:"gamma_shape"`
	GammaScale    float64 `json:"gamma_scale"`
	GammaMLShape  float64 `json:"gamma_ml_shape"`
	GammaKS       float64 `json:"gamma_ml_ks"`

	sorted []valueCount
}

type valueCount struct {
	value int32
	below int64 // how many values are smaller
	n     int64
}

func (c *counts) describe() *Lengths {
	l := &Lengths{Count: c.n}
	if c.n == 0 {
		return l
	}
	for v, n := range c.by {
		l.sorted = append(l.sorted, valueCount{value: v, n: n})
	}
	slices.SortFunc(l.sorted, func(a, b valueCount) int { return int(a.value) - int(b.value) })
	var below int64
	var squares, logs, positive float64
	for i := range l.sorted {
		s := &l.sorted[i]
		s.below = below
		below += s.n
		n, v := float64(s.n), float64(s.value)
		l.Sum += n * v
		if s.value > 0 {
			positive += n
			logs += n * math.Log(v)
		}
	}
	l.Mean = l.Sum / float64(c.n)
	l.Mu = logs / positive
	var logSquares float64
	for _, s := range l.sorted {
		n, v := float64(s.n), float64(s.value)
		squares += n * (v - l.Mean) * (v - l.Mean)
		if s.value > 0 {
			d := math.Log(v) - l.Mu
			logSquares += n * d * d
		}
	}
	variance := squares / float64(c.n)
	l.CV = math.Sqrt(variance) / l.Mean
	l.Min, l.Max = l.sorted[0].value, l.sorted[len(l.sorted)-1].value
	l.P50, l.P90, l.P95, l.P99 = l.Quantile(0.5), l.Quantile(0.9), l.Quantile(0.95), l.Quantile(0.99)
	l.fit(variance, math.Sqrt(logSquares/positive), positive)
	return l
}

// Quantile interpolates linearly between order statistics.
func (l *Lengths) Quantile(q float64) float64 {
	x := q * float64(l.Count-1)
	i := min(int64(x), l.Count-1)
	low, high := float64(l.order(i)), float64(l.order(min(i+1, l.Count-1)))
	return low + (x-float64(i))*(high-low)
}

// order returns the i-th smallest value, from 0.
func (l *Lengths) order(i int64) int32 {
	k, found := slices.BinarySearchFunc(l.sorted, i, func(s valueCount, i int64) int {
		switch {
		case s.below > i:
			return 1
		case s.below < i:
			return -1
		}
		return 0
	})
	if !found {
		k--
	}
	return l.sorted[k].value
}

func (l *Lengths) fit(variance, sigma, positive float64) {
	l.Sigma = sigma
	const z99 = 2.3263478740408408
	l.LognormalMean, l.LognormalP99 = math.Exp(l.Mu+sigma*sigma/2), math.Exp(l.Mu+z99*sigma)
	if variance == 0 || sigma == 0 {
		return
	}
	l.GammaShape, l.GammaScale = l.Mean*l.Mean/variance, variance/l.Mean
	mean := l.Sum / positive
	l.GammaMLShape = gammaML(math.Log(mean) - l.Mu)
	normal := distuv.Normal{Mu: l.Mu, Sigma: sigma}
	l.LognormalKS = l.ks(positive, func(v float64) float64 { return normal.CDF(math.Log(v)) })
	theta := mean / l.GammaMLShape
	l.GammaKS = l.ks(positive, func(v float64) float64 { return mathext.GammaIncReg(l.GammaMLShape, v/theta) })
}

// gammaML solves ln k - digamma(k) = s, the maximum-likelihood equation of the gamma shape, by bisection.
func gammaML(s float64) float64 {
	low, high := 1e-6, 1e9
	for range 200 {
		k := math.Sqrt(low * high)
		if math.Log(k)-mathext.Digamma(k) > s {
			low = k
		} else {
			high = k
		}
	}
	return math.Sqrt(low * high)
}

// ks is the largest distance between the empirical distribution of the positive values and a distribution function.
func (l *Lengths) ks(positive float64, cdf func(float64) float64) float64 {
	zeros := float64(l.Count) - positive
	worst := 0.0
	for _, s := range l.sorted {
		if s.value <= 0 {
			continue
		}
		f := cdf(float64(s.value))
		below := float64(s.below) - zeros
		worst = max(worst, math.Abs(f-below/positive), math.Abs((below+float64(s.n))/positive-f))
	}
	return worst
}
