package calibrate

import (
	"context"
	"fmt"

	"scoville/hardware"
	"scoville/hardware/results"
)

// keptBack is every how many loads one is kept back to score the fit, where the records name none themselves.
const keptBack = 3

// Calibrate fits a deployment to runs and writes the result up: loads that the runs mark as held-out, or else every third one,
// are kept back and predicted.
func Calibrate(ctx context.Context, d *Deployment, runs []*results.Run, o Options) (*Profile, *Fit, error) {
	var loads, heldOut []Load
	var notes []string
	for _, r := range runs {
		fit, held, n, err := LoadsOf(r, d)
		if err != nil {
			return nil, nil, err
		}
		loads, heldOut, notes = append(loads, fit...), append(heldOut, held...), append(notes, n...)
		notes = append(notes, mismatch(r, d)...)
	}
	if len(heldOut) == 0 {
		loads, heldOut = split(loads)
	}
	f, err := Run(ctx, d.Hardware, loads, o)
	if err != nil {
		return nil, nil, err
	}
	f.Notes = append(notes, f.Notes...)
	if err := f.watts(ctx, runs, loads); err != nil {
		return nil, nil, err
	}
	scores, err := Score(ctx, f.Factors, heldOut)
	if err != nil {
		return nil, nil, err
	}
	if len(heldOut) == 0 {
		f.Notes = append(f.Notes, "too few loads to keep one back: the error of this calibration is unknown")
	}
	return NewProfile(d, f, loads, runs, scores), f, nil
}

// split keeps every third load back, the extremes never: a calibration should not be scored outside what it saw.
func split(loads []Load) (fit, heldOut []Load) {
	if len(loads) < keptBack+1 {
		return loads, nil
	}
	for i, l := range loads {
		if i%keptBack == 1 && i < len(loads)-1 {
			heldOut = append(heldOut, l)
		} else {
			fit = append(fit, l)
		}
	}
	return fit, heldOut
}

// mismatch says where a run names something else than what it is taken for.
func mismatch(r *results.Run, d *Deployment) []string {
	if n := d.Hardware.Split.Normal().Chips(); r.Chips > 0 && r.Chips != n {
		return []string{fmt.Sprintf("%s ran on %d chips, the deployment has %d", r.File, r.Chips, n)}
	}
	return nil
}

// watts sets the factor of the draw beyond idle so that simulated and measured mean watts of the loads agree. It needs no search:
// nothing else depends on it, unless the chips run at their power limit.
func (f *Fit) watts(ctx context.Context, runs []*results.Run, loads []Load) error {
	measured, runsWithPower := 0.0, 0
	for _, r := range runs {
		if r.Power != nil && r.Power.MeanWatts > 0 {
			measured += r.Power.MeanWatts
			runsWithPower++
		}
	}
	if runsWithPower == 0 {
		return nil
	}
	if runsWithPower < len(runs) {
		f.Notes = append(f.Notes, "not every run has a power log: watts are left as shipped")
		return nil
	}
	measured /= float64(runsWithPower)
	var joules, idle, seconds float64
	for _, l := range loads {
		p, err := l.Predict(ctx, f.Factors)
		if err != nil {
			return err
		}
		joules, idle, seconds = joules+p[simulatedJoules], idle+p[simulatedIdle], seconds+p[simulatedSeconds]
	}
	if seconds == 0 || joules <= idle {
		return nil
	}
	factor := (measured - idle/seconds) / ((joules - idle) / seconds)
	if !(factor > 0.1 && factor < 10) {
		f.Notes = append(f.Notes, fmt.Sprintf("measured %.0f W against %.0f W simulated, %.0f W of them idle: no plausible factor, watts are left as shipped", measured, joules/seconds, idle/seconds))
		return nil
	}
	f.Factors.Watts = factor
	f.Estimates = append(f.Estimates, Estimate{Name: "watts", Unit: "x", Meaning: "draw beyond idle", Value: factor, Low: factor, High: factor, Prior: 1, Informed: true})
	return nil
}

// What a simulation reports beside its latencies.
const (
	simulatedJoules  Metric = "joules"
	simulatedIdle    Metric = "idle_joules"
	simulatedSeconds Metric = "seconds"
)

// energy adds a run's energy to its figures.
func (f Figures) energy(joules, seconds float64, m hardware.StepModel) {
	f[simulatedJoules], f[simulatedSeconds], f[simulatedIdle] = joules, seconds, m.IdleWatts()*seconds
}
