package plan

import (
	"fmt"
	"strings"

	"scoville/model/workload"
	"scoville/profiles"
)

// traffic is the resolved workload section.
type traffic struct {
	workload *workload.Workload
	summary  *workload.Summary
	peakQPS  float64
	peakFrom string
	meanQPS  float64
	isTrace  bool // replayed as recorded, not drawn
	scale    lengthScale
}

type lengthScale struct{ input, output float64 }

// Defaults of the traffic section.
const (
	// peakWindowSeconds is the window whose busiest count is a trace's peak.
	peakWindowSeconds = 60
)

func (f *File) traffic() (*traffic, error) {
	w, err := f.openWorkload()
	if err != nil {
		return nil, err
	}
	if f.Workload.Users != nil {
		w.Users = f.Workload.Users
	}
	if err := w.Validate(); err != nil {
		return nil, f.errorAt("workload", "%v", err)
	}
	t := &traffic{workload: w, isTrace: w.Trace != nil, scale: lengthScale{f.Workload.InputScale, f.Workload.OutputScale}}
	if t.summary, err = w.Summary(); err != nil {
		return nil, err
	}
	if t.summary.MeanInput == 0 {
		return nil, f.errorAt("workload", "%s holds no request", f.workloadName())
	}
	if t.scale.input > 0 {
		t.summary.MeanInput *= t.scale.input
		t.summary.P99Input *= t.scale.input
	}
	if t.scale.output > 0 {
		t.summary.MeanOutput *= t.scale.output
		t.summary.P99Output *= t.scale.output
	}
	if err := f.peak(t); err != nil {
		return nil, err
	}
	return t, nil
}

func (f *File) workloadName() string {
	w := &f.Workload
	for _, n := range []string{w.Profile, w.Trace, w.File} {
		if n != "" {
			return n
		}
	}
	return "the workload"
}

func (f *File) openWorkload() (*workload.Workload, error) {
	w := &f.Workload
	switch {
	case w.Profile != "":
		out, err := profiles.Workload(w.Profile)
		if err != nil {
			return nil, f.errorAt("workload.profile", "%v", err)
		}
		return out, nil
	case w.File != "":
		return workload.ReadFile(f.inFolder(w.File))
	case w.Custom != nil:
		w.Custom.SetDir(f.inFolder("."))
		return w.Custom, nil
	}
	out := &workload.Workload{Name: w.Trace, From: w.Trace, Trace: &workload.Trace{File: f.inFolder(w.Trace)}}
	return out, nil
}

// peak works out the rate to plan for, and the mean over the day.
func (f *File) peak(t *traffic) error {
	w := &f.Workload
	own := t.workload.Arrivals.RequestsPerSecond
	usersMean, usersPeak, hasUsers := t.workload.UsersPeak()
	if n := count(w.PeakQPS > 0, w.Users != nil, w.PeakWindowSeconds > 0 || w.RateScale > 0); n > 1 {
		return f.errorAt("workload", "peak_qps, users and peak_window_seconds/rate_scale all say how high the peak is; one is needed")
	}
	switch {
	case w.PeakQPS > 0:
		t.peakQPS, t.peakFrom = w.PeakQPS, "given as peak_qps"
	case hasUsers:
		t.peakQPS, t.meanQPS = usersPeak, usersMean
		u := t.workload.Users
		t.peakFrom = fmt.Sprintf("%s daily users x %g requests x peak factor %.3g / 86400", grouped(u.DailyActive), u.PerDay, usersPeak/usersMean)
	case t.isTrace:
		if err := f.tracePeak(t); err != nil {
			return err
		}
	case own > 0:
		scale := max(w.RateScale, 0)
		if scale == 0 {
			scale = 1
		}
		t.peakQPS, t.peakFrom = own*t.workload.PeakToMean()*scale, "the workload's own rate in its busiest hour"
	default:
		return f.errorAt("workload", "no peak is given; set peak_qps, or users (daily_active, requests_per_user_per_day, peak_factor)")
	}
	if w.MeanQPS > 0 {
		t.meanQPS = w.MeanQPS
	}
	if t.meanQPS == 0 {
		t.meanQPS = t.peakQPS / t.workload.PeakToMean()
	}
	if t.meanQPS > t.peakQPS*(1+1e-9) {
		return f.errorAt("workload.mean_qps", "is %g, above the peak of %g", t.meanQPS, t.peakQPS)
	}
	return nil
}

// tracePeak finds a trace's rate. By itself a trace is replayed whole at rate_scale times its own speed, bursts and all. With
// peak_window_seconds it is replayed so that its mean is what its busiest window was: the load of that window, kept up.
func (f *File) tracePeak(t *traffic) error {
	scale, window := f.Workload.RateScale, f.Workload.PeakWindowSeconds
	if scale == 0 {
		scale = 1
	}
	shown := window
	if shown == 0 {
		shown = peakWindowSeconds
	}
	n, first, last, busiest, err := countTrace(t.workload, shown*scale)
	if err != nil {
		return err
	}
	if n < 2 || last == first {
		return f.errorAt("workload.trace", "%s holds %d request(s); a rate needs at least two at different times", f.Workload.Trace, n)
	}
	t.meanQPS = float64(n-1) / (last - first) * scale
	peak := float64(busiest) / shown
	if window > 0 {
		t.peakQPS, t.peakFrom = peak, fmt.Sprintf("busiest %g s of the trace at %g x its speed, kept up for the whole replay", window, scale)
		return nil
	}
	t.peakQPS = t.meanQPS
	t.peakFrom = fmt.Sprintf("mean of the trace replayed whole at %g x its speed; its busiest %g s run at %.4g/s", scale, shown, peak)
	return nil
}

// countTrace reads the trace once, at its own speed: how many requests, from when to when (seconds), and the most in any
// aligned window.
func countTrace(w *workload.Workload, window float64) (n int64, first, last float64, busiest int64, err error) {
	s, err := w.Source(workload.SourceOptions{})
	if err != nil {
		return 0, 0, 0, 0, err
	}
	var r workload.Request
	bin, inBin := int64(-1), int64(0)
	for s.Next(&r) {
		at := float64(r.ArrivalNanoseconds) / 1e9
		if n == 0 {
			first = at
		}
		n, last = n+1, at
		if b := int64((at - first) / window); b != bin {
			bin, inBin = b, 0
		}
		inBin++
		busiest = max(busiest, inBin)
	}
	return n, first, last, busiest, s.Err()
}

// source draws the traffic at a rate, for one replication.
func (t *traffic) source(rate float64, seed uint64, replication int, requests int64) (workload.Source, error) {
	return t.workload.Source(workload.SourceOptions{
		RequestsPerSecond: rate, Seed: seed, Replication: replication, MaxRequests: requests,
		Stationary: true, InputScale: t.scale.input, OutputScale: t.scale.output,
	})
}

// arrivals says in words how requests come.
func (t *traffic) arrivals() string {
	if t.isTrace {
		return "replay of " + t.workload.Trace.File
	}
	a := t.workload.Arrivals
	p := a.Process
	if p == "" {
		p = "poisson"
	}
	if a.CV > 0 {
		return fmt.Sprintf("%s, CV %g", p, a.CV)
	}
	return p
}

// grouped writes a count with thousands separators.
func grouped(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 && s[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}
