package reports

import (
	"strings"
	"testing"
)

// TestBreaksNeverBelowThePeakItHolds: a fleet that holds its peak by sharing a queue is not said to break below it.
func TestBreaksNeverBelowThePeakItHolds(t *testing.T) {
	for _, lang := range []string{"en", "zh"} {
		r := resultFixture(1)
		b := &builder{newWords(lang), r}
		c := r.Candidates[0]
		c.Fleet.Replicas, c.Capacity.Low, r.Workload.PeakQPS = 8, 1.2, 11.6
		if s := b.breaks(c); !strings.Contains(s, "11.6") || strings.Contains(s, "breaks") || strings.Contains(s, "失效") {
			t.Errorf("%s: %q", lang, s)
		}
		r.Workload.PeakQPS = 9
		if s := b.breaks(c); !strings.Contains(s, "9.6") || !strings.Contains(s, "106.7") {
			t.Errorf("%s: %q", lang, s)
		}
	}
}
