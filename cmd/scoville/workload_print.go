package main

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"scoville/model/workload"
	"scoville/model/workload/describe"
	"scoville/model/workload/fit"
)

// workloadRow is a shipped workload as listed.
type workloadRow struct {
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Source      string           `json:"source"`
	Date        string           `json:"date"`
	Kind        string           `json:"kind"`
	Rate        float64          `json:"requests_per_second,omitempty"`
	PeakToMean  float64          `json:"peak_to_mean"`
	Summary     workload.Summary `json:"summary"`
}

// usersRow is the load of one month.
type usersRow struct {
	Month int     `json:"month"`
	Mean  float64 `json:"mean_requests_per_second"`
	Peak  float64 `json:"peak_requests_per_second"`
}

func newTable(w io.Writer, header ...any) table.Writer {
	t := plainTable()
	t.SetOutputMirror(w)
	t.AppendHeader(table.Row(header))
	return t
}

func printWorkloads(w io.Writer, rows []workloadRow) {
	t := newTable(w, "workload", "input mean", "p99", "output mean", "p99", "shared", "peak/mean", "kind", "what it is")
	for _, r := range rows {
		s := r.Summary
		t.AppendRow(table.Row{r.Name, fmt.Sprintf("%.0f", s.MeanInput), fmt.Sprintf("%.0f", s.P99Input), fmt.Sprintf("%.0f", s.MeanOutput), fmt.Sprintf("%.0f", s.P99Output), percent(s.PrefixShare), fmt.Sprintf("%.2f", r.PeakToMean), r.Kind, r.Description})
	}
	t.Render()
}

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

func printDescription(w io.Writer, d *describe.Trace) {
	r := d.Report
	fmt.Fprintf(w, "%s (%s): %d rows\n", d.Name, r.Format, r.Rows)
	if r.OutOfOrder+r.EqualTimestamps+r.Duplicates+r.ZeroInput+r.ZeroOutput+r.Dropped+r.BlankLines > 0 {
		fmt.Fprintf(w, "out of order %d, equal timestamps %d, duplicates %d, zero input %d, zero output %d, left out %d, blank lines %d\n", r.OutOfOrder, r.EqualTimestamps, r.Duplicates, r.ZeroInput, r.ZeroOutput, r.Dropped, r.BlankLines)
	}
	if d.Arrivals != nil {
		printArrivals(w, d.Arrivals)
	}
	t := newTable(w, "tokens", "mean", "CV", "min", "p50", "p90", "p95", "p99", "max", "lognormal KS", "gamma KS")
	for _, s := range []struct {
		name string
		l    *describe.Lengths
	}{{"input", d.Input}, {"output", d.Output}} {
		l := s.l
		t.AppendRow(table.Row{s.name, fmt.Sprintf("%.2f", l.Mean), fmt.Sprintf("%.3f", l.CV), l.Min, fmt.Sprintf("%.1f", l.P50), fmt.Sprintf("%.1f", l.P90), fmt.Sprintf("%.1f", l.P95), fmt.Sprintf("%.1f", l.P99), l.Max, fmt.Sprintf("%.3f", l.LognormalKS), fmt.Sprintf("%.3f", l.GammaKS)})
	}
	t.Render()
	fmt.Fprintf(w, "input with output: Pearson %.4f, Spearman %.4f, of logarithms %.4f; in : out %.2f\n", d.Correlation.Pearson, d.Correlation.Spearman, d.Correlation.Log, d.Input.Sum/d.Output.Sum)
	if p := d.Prefix; p != nil {
		printPrefix(w, p)
	}
	if s := d.Sessions; s != nil {
		fmt.Fprintf(w, "sessions: %d, of which %d of one turn; turns mean %.2f, p99 %.0f, max %d; gaps p50 %.4g s, p90 %.4g s, p99 %.4g s\n", s.Count, s.SingleTurn, s.MeanTurns, s.P99Turns, s.MaxTurns, s.GapP50, s.GapP90, s.GapP99)
	}
	for _, n := range append(r.Notes, d.Warnings...) {
		fmt.Fprintf(w, "note: %s\n", n)
	}
}

func printArrivals(w io.Writer, a *describe.Arrivals) {
	fmt.Fprintf(w, "arrivals: %.4f/s over %.1f s; gap CV %.3f, p50 %.4f s, p99 %.3f s, max %.1f s; most in any second %d; lag-1 autocorrelation %.3f\n", a.MeanRate, a.SpanSeconds, a.GapCV, a.GapP50, a.GapP99, a.GapMax, a.SlidingPeak, a.Lag1)
	if a.BusiestHour > 0 {
		fmt.Fprintf(w, "busiest hour: %.4g/s, %.2f times the mean, from %.0f s\n", a.BusiestHour, a.BusiestHour/a.MeanRate, a.BusiestStart)
	}
	if b := a.Bursts; b != nil {
		fmt.Fprintf(w, "silent %s of the time: %d bursts of %.0f requests and %.1f s at %.2f/s, %.1f s apart\n", percent(a.SilentShare), b.Count, b.MeanRequests, b.MeanSeconds, b.Rate, b.MeanGap)
	}
	t := newTable(w, "window", "peak requests/s", "peak/mean", "dispersion", "input tokens peak/mean", "output tokens peak/mean")
	for _, x := range a.Windows {
		t.AppendRow(table.Row{fmt.Sprintf("%g s", x.Seconds), fmt.Sprintf("%.4g", x.Peak), fmt.Sprintf("%.2f", x.PeakToMean), fmt.Sprintf("%.2f", x.Dispersion), fmt.Sprintf("%.2f", x.InputPeak), fmt.Sprintf("%.2f", x.OutputPeak)})
	}
	t.Render()
}

func printPrefix(w io.Writer, p *describe.Prefix) {
	fmt.Fprintf(w, "prefix blocks: %d, %d distinct; an endless cache hits %s of the blocks, %s of the input tokens (%s if position didn't matter); %s of the requests hit nothing\n", p.Blocks, p.Distinct, percent(p.BlockHit), percent(p.TokenHit), percent(p.AnyHit), percent(p.NoHit))
	t := newTable(w, "LRU cache, blocks", "tokens hit")
	for _, l := range p.LRU {
		t.AppendRow(table.Row{l.Blocks, percent(l.TokenHit)})
	}
	t.Render()
}

func printFit(w io.Writer, r *fit.Result) {
	for _, v := range r.Verdict {
		fmt.Fprintln(w, v)
	}
	if len(r.Goodness) > 0 {
		t := newTable(w, "lengths", "form", "KS", "mean", "true mean")
		for _, g := range r.Goodness {
			t.AppendRow(table.Row{g.Field, g.Form, fmt.Sprintf("%.3f", g.KS), fmt.Sprintf("%.1f", g.Mean), fmt.Sprintf("%.1f", g.True)})
		}
		t.Render()
	}
	if len(r.Checks) > 0 {
		t := newTable(w, "figure", "trace", "generated, mean", "lowest", "highest of 10 draws")
		for _, k := range r.Checks {
			t.AppendRow(table.Row{k.Name, fmt.Sprintf("%.4g", k.Trace), fmt.Sprintf("%.4g", k.Generated), fmt.Sprintf("%.4g", k.Low), fmt.Sprintf("%.4g", k.High)})
		}
		t.Render()
	}
}

func printUsers(w io.Writer, factor float64, from string, rows []usersRow) {
	fmt.Fprintf(w, "peak factor %.3g (%s)\n", factor, from)
	t := newTable(w, "month", "mean requests/s", "peak requests/s")
	for _, r := range rows {
		t.AppendRow(table.Row{r.Month, fmt.Sprintf("%.4g", r.Mean), fmt.Sprintf("%.4g", r.Peak)})
	}
	t.Render()
}
