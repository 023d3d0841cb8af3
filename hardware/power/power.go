// Package power reads what accelerators draw: the logs of the vendors' tools, a Prometheus exporter, the processor's energy counters, or any
// CSV. Samples carry unix time, so that a log joins a benchmark run; energy is the trapezoid under each device's samples, and a log with a gap
// of more than three seconds is refused.
package power

import (
	"fmt"
	"math"
	"sort"

	"scoville/hardware/results"
)

// MaxGapSeconds is the longest pause between two samples of a device over which energy is still integrated.
const MaxGapSeconds = 3

// Sample is one reading of one device. NaN says that the tool didn't give the figure.
type Sample struct {
	UnixSeconds  float64 // 0: the tool printed no time
	Device       string
	Watts        float64
	EnergyJoules float64 // counter since some origin
	CelsiusMax   float64
	Megahertz    float64
	UtilPercent  float64
	Throttled    string // why the device slowed itself down; empty: it didn't, or the tool doesn't say
}

// Log is the samples of one source.
type Log struct {
	Source  string
	Samples []Sample
	Notes   []string
}

// Devices lists the devices in the log, sorted.
func (l *Log) Devices() []string {
	seen := map[string]bool{}
	var names []string
	for _, s := range l.Samples {
		if !seen[s.Device] {
			seen[s.Device] = true
			names = append(names, s.Device)
		}
	}
	sort.Strings(names)
	return names
}

// Energy is the draw of all devices between two unix times.
type Energy struct {
	Devices    int
	Seconds    float64
	Joules     float64
	MeanWatts  float64
	PeakWatts  float64 // sum of the peaks of the devices: at least the peak of the sum
	CelsiusMax float64 // NaN: unknown
	ClockMin   float64 // megahertz while drawing power; NaN: unknown
	Throttled  string
	Notes      []string
}

// Between integrates the log from one unix time to another. Every device must have samples from before the start to after the end, without a
// gap of more than MaxGapSeconds.
func (l *Log) Between(from, to float64) (Energy, error) {
	e := Energy{Seconds: to - from, CelsiusMax: math.NaN(), ClockMin: math.NaN()}
	if !(to > from) {
		return e, fmt.Errorf("%s: no time between %.3f and %.3f", l.Source, from, to)
	}
	for _, name := range l.Devices() {
		d := l.device(name)
		if len(d) == 0 {
			continue
		}
		j, err := integrate(d, from, to)
		if err != nil {
			return e, fmt.Errorf("%s: device %s: %w", l.Source, name, err)
		}
		e.Devices++
		e.Joules += j
		e.PeakWatts += l.scan(&e, d, from, to)
		if counted, ok := counter(d, from, to); ok && math.Abs(counted-j) > 0.05*counted {
			e.Notes = append(e.Notes, fmt.Sprintf("device %s: its energy counter says %.4g J, its power samples %.4g J", name, counted, j))
		}
	}
	if e.Devices == 0 {
		return e, fmt.Errorf("%s: no power samples with a time", l.Source)
	}
	e.MeanWatts = e.Joules / e.Seconds
	return e, nil
}

// device returns the usable samples of one device in order of time.
func (l *Log) device(name string) []Sample {
	var d []Sample
	for _, s := range l.Samples {
		if s.Device == name && s.UnixSeconds > 0 && (!math.IsNaN(s.Watts) || !math.IsNaN(s.EnergyJoules)) {
			d = append(d, s)
		}
	}
	sort.SliceStable(d, func(i, j int) bool { return d[i].UnixSeconds < d[j].UnixSeconds })
	return fillWatts(d)
}

// fillWatts derives power from a counter where the source has nothing else, as RAPL: each sample gets the mean power since the one before.
func fillWatts(d []Sample) []Sample {
	out := d[:0]
	for i := range d {
		s := d[i]
		if math.IsNaN(s.Watts) && i > 0 {
			if dt, dj := s.UnixSeconds-d[i-1].UnixSeconds, s.EnergyJoules-d[i-1].EnergyJoules; dt > 0 && dj >= 0 {
				s.Watts = dj / dt
			}
		} else if math.IsNaN(s.Watts) && len(d) > 1 {
			if dt, dj := d[1].UnixSeconds-s.UnixSeconds, d[1].EnergyJoules-s.EnergyJoules; dt > 0 && dj >= 0 {
				s.Watts = dj / dt
			}
		}
		if !math.IsNaN(s.Watts) {
			out = append(out, s)
		}
	}
	return out
}

// integrate is the trapezoid rule, with the ends interpolated.
func integrate(d []Sample, from, to float64) (float64, error) {
	if len(d) == 0 || d[0].UnixSeconds > from || d[len(d)-1].UnixSeconds < to {
		lo, hi := math.NaN(), math.NaN()
		if len(d) > 0 {
			lo, hi = d[0].UnixSeconds, d[len(d)-1].UnixSeconds
		}
		return 0, fmt.Errorf("its samples span unix %.1f to %.1f, the run %.1f to %.1f: they must cover it", lo, hi, from, to)
	}
	joules := 0.0
	for i := 1; i < len(d); i++ {
		a, b := d[i-1], d[i]
		if b.UnixSeconds <= from || a.UnixSeconds >= to {
			continue
		}
		gap := b.UnixSeconds - a.UnixSeconds
		if gap > MaxGapSeconds {
			return 0, fmt.Errorf("no sample for %.1f s from unix %.1f; at most %d s are bridged", gap, a.UnixSeconds, MaxGapSeconds)
		}
		if gap <= 0 {
			continue
		}
		lo, hi := max(a.UnixSeconds, from), min(b.UnixSeconds, to)
		at := func(t float64) float64 { return a.Watts + (b.Watts-a.Watts)*(t-a.UnixSeconds)/gap }
		joules += (at(lo) + at(hi)) / 2 * (hi - lo)
	}
	return joules, nil
}

// counter is the difference of the device's own energy counter over the span, where it has samples close to both ends.
func counter(d []Sample, from, to float64) (float64, bool) {
	at := func(t float64) float64 {
		for i := 1; i < len(d); i++ {
			a, b := d[i-1], d[i]
			if a.UnixSeconds <= t && t <= b.UnixSeconds && b.UnixSeconds > a.UnixSeconds {
				return a.EnergyJoules + (b.EnergyJoules-a.EnergyJoules)*(t-a.UnixSeconds)/(b.UnixSeconds-a.UnixSeconds)
			}
		}
		return math.NaN()
	}
	j := at(to) - at(from)
	return j, j > 0
}

// scan collects the device's peak, temperature, clock and throttling within the span.
func (l *Log) scan(e *Energy, d []Sample, from, to float64) (peak float64) {
	for _, s := range d {
		if s.UnixSeconds < from || s.UnixSeconds > to {
			continue
		}
		peak = max(peak, s.Watts)
		if s.CelsiusMax > e.CelsiusMax || math.IsNaN(e.CelsiusMax) {
			e.CelsiusMax = s.CelsiusMax
		}
		if s.UtilPercent > 0 || math.IsNaN(s.UtilPercent) {
			if s.Megahertz < e.ClockMin || math.IsNaN(e.ClockMin) {
				e.ClockMin = s.Megahertz
			}
		}
		if e.Throttled == "" {
			e.Throttled = s.Throttled
		}
	}
	return peak
}

// Join puts the log's power beside a run. The run's clock must be unix time; warm-up stages are left out of the energy by integrating from the
// first measured stage on.
func (l *Log) Join(r *results.Run) error {
	if r.StartUnixSeconds <= 0 {
		return fmt.Errorf("%s: the clock of this run isn't unix time, so no power log can be joined to it", r.File)
	}
	from, to := r.StartUnixSeconds, r.StartUnixSeconds+r.DurationSeconds
	for i, s := range r.Stages {
		if s.Kind != results.KindWarmup && s.EndSeconds > s.StartSeconds {
			if i > 0 {
				from = r.StartUnixSeconds + s.StartSeconds
			}
			break
		}
	}
	e, err := l.Between(from, to)
	if err != nil {
		return err
	}
	p := &results.Power{Source: l.Source, Devices: e.Devices, Seconds: e.Seconds, Joules: e.Joules, MeanWatts: e.MeanWatts, PeakWatts: e.PeakWatts, Throttled: e.Throttled}
	if !math.IsNaN(e.CelsiusMax) {
		p.TemperatureMaxC = e.CelsiusMax
	}
	if !math.IsNaN(e.ClockMin) {
		p.ClockMinMegahertz = e.ClockMin
	}
	if r.OutputTokens > 0 {
		p.JoulesPerToken = e.Joules / float64(r.OutputTokens)
		p.TokensPerSecondW = float64(r.OutputTokens) / e.Joules
		if p.JoulesPerToken < 0.001 || p.JoulesPerToken > 1000 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%.3g J per output token is beyond anything measured; is this the log of this run's chips?", p.JoulesPerToken))
		}
	}
	r.Warnings = append(append(r.Warnings, l.Notes...), e.Notes...)
	if e.Throttled != "" {
		r.Warnings = append(r.Warnings, "the chips throttled: "+e.Throttled)
	}
	r.Power = p
	return nil
}
