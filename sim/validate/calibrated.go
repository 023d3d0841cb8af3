package validate

import (
	"context"
	"errors"
	"math"
	"slices"
	"sort"
	"strings"

	"scoville/hardware"
	"scoville/hardware/calibrate"
)

// measuredNoise is the standard error granted to a published mean: repeats of one configuration differ by 3.6 % in TPOT and 7.2 % in
// TTFT on average.
const (
	tpotNoise = 0.03
	ttftNoise = 0.06
)

// load is a job as hardware/calibrate fits and scores it; nil where it can't be used.
func (job *Job) load(seed uint64) (*calibrate.Load, hardware.Deployment, error) {
	s, err := job.Deploy.resolve()
	var u *unsupported
	if errors.As(err, &u) {
		return nil, hardware.Deployment{}, nil
	}
	if err != nil {
		return nil, hardware.Deployment{}, err
	}
	row := &job.Rows[0]
	if impossible(job, row, s) != "" {
		return nil, s.Hardware, nil
	}
	l := &calibrate.Load{Name: row.ID, Requests: int(job.Options.MaxRequests), Measured: calibrate.Figures{}}
	for _, f := range row.Measured {
		m := calibrate.Metric(f.Metric)
		if !slices.Contains(calibrate.Metrics(), m) {
			continue
		}
		l.Measured[m] = f.Value
		switch m {
		case calibrate.TPOTMean:
			l.Targets = append(l.Targets, calibrate.Target{Metric: m, Value: f.Value, Noise: tpotNoise})
		case calibrate.TTFTMean, calibrate.E2EP50:
			l.Targets = append(l.Targets, calibrate.Target{Metric: m, Value: f.Value, Noise: ttftNoise})
		}
	}
	l.Predict = func(ctx context.Context, f hardware.Factors) (calibrate.Figures, error) {
		t := *s
		t.Hardware = s.Hardware.Adjusted(f)
		t.Engine.OverheadTTFTSeconds = t.Hardware.Engine.Host.TTFTSeconds.Value
		r, err := simulate(ctx, job, &t, seed, Factors{})
		if err != nil {
			return nil, err
		}
		out := calibrate.Figures{}
		for name, v := range observe(job, row, &t, r) {
			out[calibrate.Metric(name)] = v
		}
		return out, nil
	}
	return l, s.Hardware, nil
}

// calibratedSweep fits the physical factors of hardware/calibrate to the lowest, middle and highest load of a sweep and predicts the
// others: with the factors alone, and with what logarithmic error they leave at the three taken off, interpolated over the logarithm
// of the load.
func calibratedSweep(ctx context.Context, sweep []*Job, seed uint64) (plain, smooth []Point, err error) {
	var loads []*calibrate.Load
	var jobs []*Job
	var d hardware.Deployment
	for _, j := range sweep {
		l, h, err := j.load(seed)
		if err != nil {
			return nil, nil, err
		}
		if l != nil && len(l.Targets) > 0 {
			loads, jobs, d = append(loads, l), append(jobs, j), h
		}
	}
	if len(loads) < 4 {
		return nil, nil, nil
	}
	anchors := []int{0, len(loads) / 2, len(loads) - 1}
	var fitted []calibrate.Load
	var at []*Job
	for _, i := range anchors {
		fitted, at = append(fitted, *loads[i]), append(at, jobs[i])
	}
	f, err := calibrate.Run(ctx, d, fitted, calibrate.Options{})
	var impossible *calibrate.Impossible
	var u *unsupported
	if errors.As(err, &impossible) || errors.As(err, &u) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	left := map[string][]float64{}
	for _, r := range f.Residuals {
		// A residual beyond three standard errors is an outlier to the fit, and no trend to follow.
		most := 3 * r.Sigma
		left[string(r.Metric)] = append(left[string(r.Metric)], math.Max(-most, math.Min(most, math.Log(r.Predicted/r.Measured))))
	}
	for i, l := range loads {
		if slices.Contains(anchors, i) {
			continue
		}
		predicted, err := l.Predict(ctx, f.Factors)
		if errors.As(err, &u) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		for _, t := range l.Targets {
			p := Point{Table: jobs[i].Table, ID: l.Name, Sweep: jobs[i].Sweep, Chip: d.Chip.Name, Model: d.Model.Name, Engine: d.Engine.Name + " " + d.Engine.Version,
				Regime: jobs[i].Rows[0].Regime, Tensor: d.Split.Tensor, Load: jobs[i].Load, Metric: string(t.Metric), Measured: t.Value, Predicted: predicted[t.Metric]}
			plain = append(plain, p)
			p.Predicted *= exp(-interpolate(at, left[p.Metric], p.Load))
			smooth = append(smooth, p)
		}
	}
	return plain, smooth, nil
}

// thirds is a run of the per-request table cut at two thirds of its time: what was measured before and after, over one simulation.
// It is nil where clients gave up: such a run has no steady state to predict.
func thirds(path string, seed uint64) (before, after *calibrate.Load, d hardware.Deployment, err error) {
	l, err := readLifecycle(strings.TrimSuffix(path, ".csv") + ".json")
	if err != nil {
		return nil, nil, d, err
	}
	records, err := readTable(path, "index", "arrival_us", "input_tokens", "has_error", "ttft_s", "e2e_s")
	if err != nil {
		return nil, nil, d, err
	}
	job, err := perRequestJob(path)
	if err != nil || len(job.Trace) == 0 || len(job.Rows[0].Measured) < 2 {
		return nil, nil, d, err
	}
	last := job.Trace[len(job.Trace)-1].ArrivalNanoseconds
	var loads [2]*calibrate.Load
	for i, r := range []Row{{ID: "first two thirds", Until: last * 2 / 3}, {ID: "last third", From: last * 2 / 3}} {
		if r.Measured, err = windowFigures(l, records, r.From, r.Until); err != nil {
			return nil, nil, d, err
		}
		part := *job
		part.Rows = []Row{r}
		if loads[i], d, err = part.load(seed); err != nil || loads[i] == nil {
			return nil, nil, d, err
		}
	}
	return loads[0], loads[1], d, nil
}

// windowFigures sums up the requests that arrived in a window of time, the cold ones apart; until 0 is the end.
func windowFigures(l *lifecycle, records []*record, from, until int64) ([]Figure, error) {
	var ttft, tpot, e2e []float64
	for _, r := range records {
		index := r.count("index", 0)
		micros, _ := r.number("arrival_us")
		at := int64(micros * 1000)
		first, ok := r.number("ttft_s")
		whole, known := r.number("e2e_s")
		if r.err != nil {
			return nil, r.err
		}
		if index < coldRequests || at < from || until > 0 && at >= until || !ok || !known || whole <= first {
			continue
		}
		ttft, e2e, tpot = append(ttft, first), append(e2e, whole), append(tpot, (whole-first)/float64(l.Profile.Data.Shared.Output-1))
	}
	if len(e2e) == 0 {
		return nil, nil
	}
	sort.Float64s(e2e)
	return []Figure{{TTFTMean, mean(ttft)}, {TPOTMean, mean(tpot)}, {E2EP50, quantile(e2e, 0.5)}, {E2EP99, quantile(e2e, 0.99)}}, nil
}
