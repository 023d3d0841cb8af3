package workload

import "errors"

// replay is a recorded trace made ready.
type replay struct{}

func (w *Workload) openReplay() (*replay, error) {
	return nil, errors.New("trace replay is not built yet")
}

func (p *replay) source(*Workload, SourceOptions, float64) (Source, error) {
	return nil, errors.New("trace replay is not built yet")
}
