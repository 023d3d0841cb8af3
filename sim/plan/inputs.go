package plan

import (
	"path/filepath"

	"scoville/model/workload"
)

// Inputs lists the files that the plan reads besides itself, as paths, in a fixed order. Whoever keeps results of a plan
// keys them by the content of these files too.
func (f *File) Inputs() []string {
	var files []string
	add := func(name string) {
		if name != "" {
			files = append(files, f.inFolder(name))
		}
	}
	add(f.Workload.Trace)
	add(f.Workload.File)
	if w := f.Workload.Custom; w != nil && w.Trace != nil {
		add(w.Trace.File)
	}
	if f.Workload.File != "" {
		// A workload file may name a trace beside itself. One that can't be read is the plan's error to report.
		if w, err := workload.ReadFile(f.inFolder(f.Workload.File)); err == nil && w.Trace != nil && w.Trace.File != "" {
			files = append(files, besides(f.inFolder(f.Workload.File), w.Trace.File))
		}
	}
	add(f.Model.Config)
	for _, p := range f.PriceBooks {
		add(p)
	}
	for _, c := range f.Candidates {
		add(c.ChipFile)
		add(c.Calibration)
	}
	return files
}

// besides resolves a path that the file at path names.
func besides(path, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(path), name)
}
