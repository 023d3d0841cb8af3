package workload

import (
	"math"

	"scoville/model/random"
	"scoville/model/workload/gamma"
)

// gaps draws the gaps of a renewal process at unit rate, by inverse distribution function.
type gaps struct {
	kind  gapKind
	table *quantile // gamma
	exponent,
	scale float64 // weibull: scale * (-ln u)^exponent
}

type gapKind uint8

const (
	poissonGaps gapKind = iota
	deterministicGaps
	gammaGaps
	weibullGaps
)

func (g *gaps) next(s *random.Stream) float64 {
	switch g.kind {
	case deterministicGaps:
		return 1
	case gammaGaps:
		return g.table.at(s.Open())
	case weibullGaps:
		return g.scale * math.Pow(-math.Log(s.Open()), g.exponent)
	}
	return -math.Log(s.Open())
}

// compileGaps builds the renewal process of that name; CV is that of its gaps.
func compileGaps(process string, cv float64) (*gaps, error) {
	if math.IsNaN(cv) || cv < 0 || cv > 100 {
		return nil, fieldError("arrivals.cv", "%g is not between 0 and 100", cv)
	}
	switch process {
	case "poisson":
		if cv != 0 && cv != 1 {
			return nil, fieldError("arrivals.cv", "Poisson arrivals have a CV of 1, not %g; use gamma, weibull or on-off", cv)
		}
		return &gaps{}, nil
	case "deterministic":
		return &gaps{kind: deterministicGaps}, nil
	}
	if cv < 0.01 {
		return nil, fieldError("arrivals.cv", "%s needs a CV of at least 0.01, got %g", process, cv)
	}
	if process == "weibull" {
		k := weibullShape(cv)
		return &gaps{kind: weibullGaps, exponent: 1 / k, scale: 1 / math.Gamma(1+1/k)}, nil
	}
	shape, scale := 1/(cv*cv), cv*cv
	q := &quantile{max: math.Inf(1), table: make([]float64, tableCells+1), exact: func(u float64) float64 { return scale * gamma.Quantile(shape, u) }}
	for i := range q.table {
		q.table[i] = q.exact(tableLow + (tableHigh-tableLow)*float64(i)/tableCells)
	}
	return &gaps{kind: gammaGaps, table: q}, nil
}

// weibullShape solves CV^2 = Gamma(1+2/k)/Gamma(1+1/k)^2 - 1 for k by bisection; CV falls with k.
func weibullShape(cv float64) float64 {
	cvOf := func(k float64) float64 {
		a, _ := math.Lgamma(1 + 2/k)
		b, _ := math.Lgamma(1 + 1/k)
		return math.Sqrt(math.Expm1(a - 2*b))
	}
	low, high := 0.05, 200.0
	for range 200 {
		middle := math.Sqrt(low * high)
		if cvOf(middle) > cv {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Sqrt(low * high)
}

// modulator is a rate over time as a multiple of the mean, constant on segments. Time never runs backwards.
type modulator interface {
	// segment returns the multiplier at t seconds and until when it holds (later than t).
	segment(t float64) (multiplier, until float64)
}

// clock turns the unit-rate time of a renewal process into seconds by inverting the cumulative rate: an arrival at unit
// time s comes when the integral of the modulation reaches s/rate. Unlike thinning this keeps every request at any rate.
type clock struct {
	perSecond  float64
	modulators []modulator
	unit       float64 // unit time so far
	seconds    float64 // start of the current segment
	reached    float64 // integral of the modulation up to it
	multiplier float64
	until      float64
}

func (c *clock) advance(gap float64) (seconds float64) {
	c.unit += gap
	if len(c.modulators) == 0 {
		return c.unit / c.perSecond
	}
	want := c.unit / c.perSecond
	for range maxSegments {
		if c.until > c.seconds {
			if end := c.reached + c.multiplier*(c.until-c.seconds); want > end || c.multiplier == 0 {
				c.reached, c.seconds = end, c.until
			} else {
				return c.seconds + (want-c.reached)/c.multiplier
			}
		}
		c.multiplier, c.until = 1, math.Inf(1)
		for _, m := range c.modulators {
			k, until := m.segment(c.seconds)
			c.multiplier *= k
			c.until = min(c.until, until)
		}
		if !(c.until > c.seconds) {
			c.until = math.Nextafter(c.seconds, math.Inf(1))
		}
		if math.IsInf(c.until, 1) && c.multiplier == 0 {
			return math.Inf(1)
		}
	}
	return math.Inf(1)
}

// maxSegments bounds the segments without an arrival that one step may cross: traffic that thin has ended.
const maxSegments = 1 << 24

// weekly repeats 24 hourly multipliers times 7 of weekdays.
type weekly struct {
	hourly, weekday []float64
	startHour       float64
}

func (w *weekly) segment(t float64) (float64, float64) {
	hour := math.Floor(t/3600 + w.startHour)
	k := 1.0
	if len(w.hourly) > 0 {
		k *= w.hourly[int(math.Mod(hour, 24))]
	}
	if len(w.weekday) > 0 {
		k *= w.weekday[int(math.Mod(math.Floor(hour/24), 7))]
	}
	return k, (hour + 1 - w.startHour) * 3600
}

func (s *Shape) segment(t float64) (float64, float64) {
	k := math.Floor(t / s.StepSeconds)
	return s.Multipliers[int(math.Mod(k, float64(len(s.Multipliers))))], (k + 1) * s.StepSeconds
}

const rampSteps = 200

func (r *Ramp) segment(t float64) (float64, float64) {
	if t >= r.Seconds {
		return r.To, math.Inf(1)
	}
	step := math.Floor(t / r.Seconds * rampSteps)
	return r.From + (r.To-r.From)*(step+0.5)/rampSteps, (step + 1) * r.Seconds / rampSteps
}

func (s *Spike) segment(t float64) (float64, float64) {
	switch end := s.AtSeconds + s.Seconds; {
	case t < s.AtSeconds:
		return 1, s.AtSeconds
	case t < end:
		return s.Factor, end
	}
	return 1, math.Inf(1)
}

// onOff draws bursts and silences, and the rate of episodes inside bursts.
type onOff struct {
	spec     *OnOff
	on, off  *quantile // lengths in seconds
	rate     *quantile // multiplier of an episode's rate, mean 1; nil: always 1
	hold     *quantile // length of an episode
	onFactor float64
	stream   *random.Stream
	burst    bool
	ends     float64 // of the burst or silence
	episode  float64 // end of the episode
	factor   float64
}

func (o *onOff) segment(t float64) (float64, float64) {
	for t >= o.ends {
		o.burst = !o.burst
		q := o.off
		if o.burst {
			q = o.on
		}
		o.ends += max(q.at(o.stream.Open()), 1e-6)
		o.episode = math.Inf(-1)
	}
	if !o.burst {
		return o.spec.OffShare, o.ends
	}
	if o.rate == nil {
		return o.onFactor, o.ends
	}
	if t >= o.episode {
		o.factor = o.rate.at(o.stream.Open())
		o.episode = math.Inf(1)
		if o.hold != nil {
			o.episode = t + max(o.hold.at(o.stream.Open()), 1e-6)
		}
	}
	return o.onFactor * o.factor, min(o.ends, o.episode)
}

// compileOnOff prepares everything but the stream.
func (o *OnOff) compile() (*onOff, error) {
	if !(o.OnSeconds > 0) || !(o.OffSeconds > 0) {
		return nil, fieldError("arrivals.on_off", "needs on_seconds and off_seconds above 0, got %g and %g", o.OnSeconds, o.OffSeconds)
	}
	if o.OffShare < 0 || o.OffShare >= 1 {
		return nil, fieldError("arrivals.on_off.off_share", "%g is not in [0, 1)", o.OffShare)
	}
	out := &onOff{spec: o}
	// The mean over time is 1: on*f + off*share = on + off.
	out.onFactor = (o.OnSeconds + o.OffSeconds*(1-o.OffShare)) / o.OnSeconds
	var err error
	if out.on, err = byCV("arrivals.on_off.on_seconds", o.OnSeconds, o.OnCV); err != nil {
		return nil, err
	}
	if out.off, err = byCV("arrivals.on_off.off_seconds", o.OffSeconds, o.OffCV); err != nil {
		return nil, err
	}
	if o.RateCV > 0 {
		if out.rate, err = byCV("arrivals.on_off.rate_cv", 1, o.RateCV); err != nil {
			return nil, err
		}
		if o.RateHold > 0 {
			if out.hold, err = byCV("arrivals.on_off.rate_seconds", o.RateHold, 1); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// byCV is a gamma distribution with that mean and CV (0: 1, the exponential), not clipped.
func byCV(field string, mean, cv float64) (*quantile, error) {
	if cv == 0 {
		cv = 1
	}
	d := Distribution{Kind: "gamma", Mean: mean, CV: cv}
	q, err := d.compile(field, 1e9)
	if err != nil {
		return nil, err
	}
	q.max = math.Inf(1)
	return q, nil
}
