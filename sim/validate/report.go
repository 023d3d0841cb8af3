package validate

// Report is a validation as printed and saved.
type Report struct {
	Runs     int
	Compared int
	LeftOut  int
	Targets  []Verdict

	ByTable, ByChip, ByModel, ByEngine, ByRegime, ByTensor []Score

	League     []League `json:",omitempty"`
	ThreePoint []Score  `json:",omitempty"`
	LeaveChip  []Score  `json:",omitempty"`
	LeaveModel []Score  `json:",omitempty"`

	Worst   []Point
	Reasons []Reason
	Plots   []string `json:",omitempty"` // files, relative to the report
	Points  []Point
}

// worstRows is how many rows of each figure of a table are listed.
const worstRows = 5

// NewReport scores an outcome.
func NewReport(o *Outcome) *Report {
	r := &Report{
		Runs: o.Runs, Compared: len(o.Points), LeftOut: len(o.Skips), Targets: Check(o.Points, Targets()),
		ByTable: Scores(o.Points, ByTable), ByChip: Scores(o.Points, ByChip), ByModel: Scores(o.Points, ByModel),
		ByEngine: Scores(o.Points, ByEngine), ByRegime: Scores(o.Points, ByRegime), ByTensor: Scores(o.Points, ByTensor),
		Reasons: Reasons(o.Skips), Points: o.Points,
	}
	for _, s := range r.ByTable {
		if s.Metric != Overloaded {
			r.Worst = append(r.Worst, Worst(o.Points, s.Table, s.Metric, worstRows)...)
		}
	}
	return r
}
