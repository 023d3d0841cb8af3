package profiles

import (
	"math"
	"testing"
)

// The shipped scores must be of chips and engines that have profiles, with errors that are numbers.
func TestShippedAccuracy(t *testing.T) {
	a, err := LoadAccuracy()
	if err != nil {
		t.Fatal(err)
	}
	if a.Date == "" || a.Commit == "" || len(a.Scores) == 0 {
		t.Fatalf("date %q, commit %q, %d scores", a.Date, a.Commit, len(a.Scores))
	}
	for _, s := range a.Scores {
		chip, err := Chip(s.Chip)
		if err != nil || chip.Vendor != s.Vendor {
			t.Errorf("%s of %s: %v", s.Chip, s.Vendor, err)
		}
		if _, err := Engine(s.Engine, ""); err != nil {
			t.Errorf("%s: %v", s.Engine, err)
		}
		if s.Rows < 1 || len(s.Tables) == 0 || len(s.Points) == 0 || !(s.Mean >= 0) || math.IsInf(s.Mean, 0) || s.Mean < math.Abs(s.Bias)-1e-3 || s.Input[0] > s.Input[1] {
			t.Errorf("%s %s %s: %+v", s.Chip, s.Engine, s.Metric, s)
		}
	}
}
