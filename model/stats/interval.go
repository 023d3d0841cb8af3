package stats

import (
	"encoding/json"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is an estimate with a two-sided confidence interval.
type Interval struct {
	Center     float64
	Low, High  float64
	Confidence float64
}

// MarshalJSON writes bounds that are not known as null.
func (i Interval) MarshalJSON() ([]byte, error) {
	known := func(v float64) *float64 {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil
		}
		return &v
	}
	return json.Marshal(struct {
		Center, Low, High *float64
		Confidence        float64
	}{known(i.Center), known(i.Low), known(i.High), i.Confidence})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (i *Interval) UnmarshalJSON(b []byte) error {
	v := struct {
		Center, Low, High *float64
		Confidence        float64
	}{}
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*i = Interval{math.NaN(), math.Inf(-1), math.Inf(1), v.Confidence}
	for _, f := range []struct {
		to   *float64
		from *float64
	}{{&i.Center, v.Center}, {&i.Low, v.Low}, {&i.High, v.High}} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	return nil
}

// RelativeHalfWidth returns the half-width relative to the centre; +Inf where the interval has no bounds or the centre is zero.
func (i Interval) RelativeHalfWidth() float64 {
	half := (i.High - i.Low) / 2
	if math.IsInf(half, 0) || math.IsNaN(half) || i.Center == 0 {
		if half == 0 {
			return 0
		}
		return math.Inf(1)
	}
	return half / math.Abs(i.Center)
}

// MeanInterval returns the Student t-interval of the mean of independent replications. Below two values it is unbounded.
func MeanInterval(values []float64, confidence float64) Interval {
	return SectionInterval(Mean(values), values, confidence)
}

// SectionInterval returns the sectioning interval (Asmussen and Glynn 2007, III.5): the centre is the estimate from all
// replications pooled, the width comes from how the sections (replications) scatter about that centre,
// center ± t(R-1) sqrt(sum (x_r - center)^2 / (R(R-1))). Below two sections it is unbounded.
func SectionInterval(center float64, sections []float64, confidence float64) Interval {
	r := float64(len(sections))
	if len(sections) < 2 {
		return Interval{center, math.Inf(-1), math.Inf(1), confidence}
	}
	ss := 0.0
	for _, x := range sections {
		ss += (x - center) * (x - center)
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: r - 1}.Quantile(0.5 + confidence/2)
	half := t * math.Sqrt(ss/(r*(r-1)))
	return Interval{center, center - half, center + half, confidence}
}

// Slope is a least-squares line through equally trusted points.
type Slope struct {
	PerX      float64 // slope
	Intercept float64
	T         float64 // slope over its standard error
	P         float64 // one-sided probability of such a slope, or steeper, from independent noise about no slope
}

// FitSlope fits y = Intercept + PerX x. Below three points T is 0 and P is 1. A perfect fit has T = ±Inf.
func FitSlope(x, y []float64) Slope {
	n := float64(len(x))
	s := Slope{P: 1}
	if len(x) < 2 || len(x) != len(y) {
		return s
	}
	mx, my := Mean(x), Mean(y)
	sxx, sxy := 0.0, 0.0
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		sxy += (x[i] - mx) * (y[i] - my)
	}
	if sxx == 0 {
		return s
	}
	s.PerX = sxy / sxx
	s.Intercept = my - s.PerX*mx
	if len(x) < 3 {
		return s
	}
	sse := 0.0
	for i := range x {
		e := y[i] - s.Intercept - s.PerX*x[i]
		sse += e * e
	}
	switch se := math.Sqrt(sse / (n - 2) / sxx); {
	case se > 0:
		s.T = s.PerX / se
		s.P = distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 2}.Survival(s.T)
	case s.PerX != 0:
		s.T = math.Inf(int(math.Copysign(1, s.PerX)))
		s.P = 0
		if s.PerX < 0 {
			s.P = 1
		}
	}
	return s
}
