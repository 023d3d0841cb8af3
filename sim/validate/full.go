package validate

import (
	"context"
	"errors"
	"io/fs"
)

// Full runs the tables and adds what is read off their points: the league of other simulators, and what a chip or a model left out
// tells of the others. With calibrate it also scores sweeps calibrated on three of their loads.
func Full(ctx context.Context, o Options, calibrate bool) (*Report, error) {
	out, err := Run(ctx, o)
	if err != nil {
		return nil, err
	}
	r := NewReport(out)
	for _, table := range []string{"vllm_h100/eval_matrix", "vllm_h100/trainval"} {
		l, err := ReadLeague(o.Data, table, out.Points)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		r.League = append(r.League, l...)
	}
	r.LeaveChip, r.LeaveModel = LeaveOut(out.Points, ByChip), LeaveOut(out.Points, ByModel)
	if calibrate {
		points, err := ThreePoint(ctx, o)
		if err != nil {
			return nil, err
		}
		r.ThreePoint = Scores(points, ByTable)
	}
	return r, nil
}
