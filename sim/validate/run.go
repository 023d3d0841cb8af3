package validate

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"scoville/hardware"
	"scoville/sim"
)

// Options rule a validation.
type Options struct {
	Data     string   // folder that holds the tables
	Tables   []string // names of tables to run; none: all that the folder has
	Seed     uint64
	Progress func(done, total int) // called from any goroutine; may be nil
}

// Point is one prediction beside its measurement.
type Point struct {
	Table, ID, Sweep            string
	Chip, Model, Engine, Regime string
	Tensor                      int
	Load                        float64
	Metric                      string
	Measured, Predicted         float64
	Input, Output               float64 // mean tokens of the run's requests
}

// Error is the relative error, signed: above zero the prediction is too high.
func (p Point) Error() float64 { return p.Predicted/p.Measured - 1 }

// Outcome is everything a validation found, in the order of the tables.
type Outcome struct {
	Points []Point
	Skips  []Skip
	Runs   int // simulations
}

// Run predicts every row of the tables in a folder. Tables that the folder lacks are passed over, unless asked for by name.
func Run(ctx context.Context, o Options) (*Outcome, error) {
	jobs, skipped, err := Load(o)
	if err != nil {
		return nil, err
	}
	out := &Outcome{Skips: skipped, Runs: len(jobs)}
	points, skips := make([][]Point, len(jobs)), make([][]Skip, len(jobs))
	var done atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range jobs {
		g.Go(func() error {
			var err error
			points[i], skips[i], err = predict(ctx, &jobs[i], o.Seed, Factors{})
			if o.Progress != nil {
				o.Progress(int(done.Add(1)), len(jobs))
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	out.Points = slices.Concat(points...)
	for _, s := range skips {
		out.Skips = append(out.Skips, s...)
	}
	return out, nil
}

// predict runs one job. Factors other than zero are a calibration: see ThreePoint.
func predict(ctx context.Context, job *Job, seed uint64, f Factors) ([]Point, []Skip, error) {
	s, err := job.Deploy.resolve()
	var u *unsupported
	if errors.As(err, &u) {
		return nil, job.skipAll(u.reason), nil
	}
	if err != nil {
		return nil, nil, err
	}
	rows, skips := job.scored(s)
	if len(rows) == 0 {
		return nil, skips, nil
	}
	points, err := predictRows(ctx, job, rows, s, seed, f)
	if errors.As(err, &u) {
		return nil, append(skips, job.skipAll(u.reason)...), nil
	}
	return points, skips, err
}

// predictRows simulates a job and compares some of its rows.
func predictRows(ctx context.Context, job *Job, rows []Row, s *System, seed uint64, f Factors) ([]Point, error) {
	result, err := simulate(ctx, job, s, seed, f)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", job.Table, job.Rows[0].ID, err)
	}
	var points []Point
	for i := range rows {
		points = append(points, compare(job, &rows[i], s, result)...)
	}
	return points, nil
}

func simulate(ctx context.Context, job *Job, s *System, seed uint64, f Factors) (*sim.Result, error) {
	steps, err := hardware.NewStepModel(s.Hardware)
	if err != nil {
		return nil, skip("%v", err)
	}
	engine := s.Engine
	if f.First != 0 {
		lone := steps.Step(hardware.Batch{PrefillSequences: 1, PrefillTokens: min(1024, engine.MaxBatchedTokens), PrefillPairs: 512 * 1024, PrefillPairsWin: 512 * 1024})
		engine.OverheadTTFTSeconds = max(0, engine.OverheadTTFTSeconds+f.First*lone.Seconds)
	}
	steps = tune(steps, f)
	src, err := job.source(seed)
	if err != nil {
		return nil, err
	}
	options := sim.Options{KeepRequests: true, WarmupShare: -1}
	if job.Steady {
		options.WarmupShare = job.Warmup
	}
	r, err := sim.Run(ctx, sim.Config{Engine: engine, Steps: steps, Options: options}, src)
	if err != nil {
		return nil, err
	}
	if r.Rejected > 0 && r.Rejected > r.Arrived/100 {
		for reason, n := range r.RejectedFor {
			return nil, skip("%d of %d requests were rejected: %s", n, r.Arrived, reason)
		}
	}
	return r, nil
}

func compare(job *Job, row *Row, s *System, r *sim.Result) []Point {
	predicted := observe(job, row, s, r)
	in, out := meanLengths(r.Records)
	var points []Point
	for _, f := range row.Measured {
		v, ok := predicted[f.Metric]
		if !ok && f.Metric != Overloaded {
			continue
		}
		points = append(points, Point{
			Table: job.Table, ID: row.ID, Sweep: job.Sweep, Chip: s.Hardware.Chip.Name, Model: s.Hardware.Model.Name,
			Engine: s.Hardware.Engine.Name + " " + s.Hardware.Engine.Version, Regime: row.Regime, Tensor: s.Hardware.Split.Tensor,
			Load: job.Load, Metric: f.Metric, Measured: f.Value, Predicted: v, Input: in, Output: out,
		})
	}
	return points
}

func meanLengths(records []sim.Record) (input, output float64) {
	for i := range records {
		input += float64(records[i].InputTokens)
		output += float64(records[i].OutputTokens)
	}
	n := max(1, float64(len(records)))
	return input / n, output / n
}

func (job *Job) skipAll(reason string) []Skip {
	var out []Skip
	for _, r := range job.Rows {
		out = append(out, Skip{job.Table, r.ID, reason})
	}
	return out
}

// scored leaves out the rows that the engine's profile says a constant was read off, and those that no machine can have measured.
func (job *Job) scored(s *System) (rows []Row, skips []Skip) {
	if calibratedOn(s.Hardware.Engine.CalibratedOn, job) {
		return nil, job.skipAll("calibration row of the profile")
	}
	for _, row := range job.Rows {
		if reason := impossible(job, &row, s); reason != "" {
			skips = append(skips, Skip{job.Table, row.ID, reason})
			continue
		}
		if rest := withoutPower(row.Measured); len(rest) < len(row.Measured) && powerCalibrated(job, s) {
			skips = append(skips, Skip{job.Table, row.ID, "power figures: calibration row of the chip's profile"})
			row.Measured = rest
		}
		if len(row.Measured) > 0 {
			rows = append(rows, row)
		}
	}
	return rows, skips
}
