package validate

import (
	"fmt"
	"io"
	"strings"
)

// Stamp says when and with what a report was made.
type Stamp struct {
	Date, Commit, Command string
}

// markdown writes tables; the first error sticks.
type markdown struct {
	w   io.Writer
	err error
}

func (m *markdown) printf(format string, args ...any) {
	if m.err == nil {
		_, m.err = fmt.Fprintf(m.w, format, args...)
	}
}

func (m *markdown) table(header []string, rows [][]string) {
	m.printf("| %s |\n|%s\n", strings.Join(header, " | "), strings.Repeat("---|", len(header)))
	for _, r := range rows {
		for i := range r {
			r[i] = strings.ReplaceAll(r[i], "|", "/")
		}
		m.printf("| %s |\n", strings.Join(r, " | "))
	}
	m.printf("\n")
}

func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

func signed(v float64) string { return fmt.Sprintf("%+.1f %%", 100*v) }

func scoreRow(s *Score, head ...string) []string {
	if s.Metric == Overloaded {
		return append(head, fmt.Sprint(s.N), fmt.Sprintf("%s judged wrong", percent(s.MAPE)), "", "", "", "", "")
	}
	return append(head, fmt.Sprint(s.N), percent(s.MAPE), percent(s.Median), percent(s.P90), signed(s.Bias), percent(s.Worst), percent(s.Within10))
}

func scoreHead(head ...string) []string {
	return append(head, "rows", "mean error", "median", "p90", "bias", "worst", "within 10 %")
}

// WriteMarkdown writes docs/accuracy.md.
func WriteMarkdown(w io.Writer, r *Report, stamp Stamp) error {
	m := &markdown{w: w}
	m.printf("# Accuracy\n\nMade by `%s` on %s, commit %s: %d simulations, %d figures compared, %d rows left out. Do not edit by hand.\n\n", stamp.Command, stamp.Date, stamp.Commit, r.Runs, r.Compared, r.LeftOut)
	m.printf("%s", method)
	m.targets(r)
	m.printf("%s", notes)
	m.printf("## By table\n\n")
	m.scores(r.ByTable, false)
	m.extras(r)
	for _, by := range []struct {
		title string
		list  []Score
	}{{"chip", r.ByChip}, {"model", r.ByModel}, {"engine", r.ByEngine}, {"load", r.ByRegime}, {"tensor-parallel degree", r.ByTensor}} {
		m.printf("## By %s\n\n", by.title)
		m.scores(by.list, true)
	}
	m.worst(r)
	m.printf("## Rows left out\n\n")
	var rows [][]string
	for _, x := range r.Reasons {
		rows = append(rows, []string{x.Table, fmt.Sprint(x.Rows), x.Reason})
	}
	m.table([]string{"table", "rows", "reason"}, rows)
	for _, p := range r.Plots {
		m.printf("![%s](%s)\n\n", p, p)
	}
	return m.err
}

const method = `Each row is predicted by simulating its set-up under its own load with a fixed seed: closed loops with all clients starting at
once and lengths drawn as the benchmark draws them, whole queues, Poisson arrivals, or the recorded requests replayed. Nothing is
fitted here; constants come from the shipped profiles, and rows that a profile names as its calibration are left out and counted.
Errors are relative to the measurement, (predicted - measured) / measured; "bias" keeps the sign. The tables are public
measurements of others, named by the files that hold them; they are not part of this project.

`

func (m *markdown) targets(r *Report) {
	m.printf("## Targets\n\n")
	var rows [][]string
	for _, v := range r.Targets {
		state := "met"
		reached := percent(v.Reached)
		switch {
		case v.N == 0:
			state, reached = "nothing scored", ""
		case !v.Met:
			state = "**missed**"
		}
		rows = append(rows, []string{v.Table, v.Metric, v.Statistic, percent(v.Limit), reached, fmt.Sprint(v.N), state})
	}
	m.table([]string{"table", "figure", "statistic", "asked", "reached", "rows", ""}, rows)
}

func (m *markdown) scores(list []Score, grouped bool) {
	var rows [][]string
	for i := range list {
		s := &list[i]
		if grouped {
			rows = append(rows, scoreRow(s, s.Table, s.Group, s.Metric))
			continue
		}
		rows = append(rows, scoreRow(s, s.Table, s.Metric))
	}
	if grouped {
		m.table(scoreHead("table", "group", "figure"), rows)
		return
	}
	m.table(scoreHead("table", "figure"), rows)
}

func (m *markdown) extras(r *Report) {
	if len(r.League) > 0 {
		m.printf("## League table: vLLM on H100, A100 and L40S\n\nMean error of each simulator on the rows that it and scoville both predict; scoville's error on the same rows beside it.\n\n")
		var rows [][]string
		for _, l := range r.League {
			rows = append(rows, []string{l.Simulator, l.Metric, fmt.Sprint(l.N), percent(l.Theirs), percent(l.TheirMedian), percent(l.Ours), percent(l.OurMedian)})
		}
		m.table([]string{"simulator", "figure", "rows", "its mean error", "its median", "scoville's mean", "scoville's median"}, rows)
	}
	if len(r.ThreePoint) > 0 {
		m.printf("## Calibrated on three concurrencies a sweep\n\nThree loads of each InferenceX sweep (lowest, middle, highest) set five bounded physical factors: host overhead, dense rate, attention rate, prefill rate, time before the first token; what error stays at the three is interpolated. Scored on the other loads of the sweep.\n\n")
		m.scores(r.ThreePoint, false)
	}
	for _, l := range []struct {
		title string
		list  []Score
	}{{"chip", r.LeaveChip}, {"model", r.LeaveModel}} {
		if len(l.list) > 0 {
			m.printf("## Leave one %s out\n\nOne factor on step times, read off all other %ss' errors (their median), applied to the %s left out.\n\n", l.title, l.title, l.title)
			m.scores(l.list, true)
		}
	}
}

func (m *markdown) worst(r *Report) {
	m.printf("## Worst rows\n\n")
	var rows [][]string
	for _, p := range r.Worst {
		rows = append(rows, []string{p.Table, p.ID, p.Metric, fmt.Sprintf("%.4g", p.Measured), fmt.Sprintf("%.4g", p.Predicted), signed(p.Error())})
	}
	m.table([]string{"table", "row", "figure", "measured", "predicted", "error"}, rows)
}
