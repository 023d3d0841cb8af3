package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"scoville/sim/plan"
)

// budgetFlags turn a plan round.
func budgetFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "chips", Usage: "turn the plan round: how much load do `N` chips hold, spares included"},
		&cli.StringFlag{Name: "power", Usage: "turn the plan round: how much load fits in this facility `POWER`, PUE included, such as 500kW or 2MW"},
		&cli.Float64Flag{Name: "budget", Usage: "turn the plan round: how much load fits in so many `USD` over the horizon"},
	}
}

// budget reads them; ok is false when none is given.
func budget(c *cli.Context) (b plan.Budget, ok bool, err error) {
	b = plan.Budget{Chips: c.Int("chips"), USD: c.Float64("budget")}
	if s := c.String("power"); s != "" {
		if b.Watts, err = watts(s); err != nil {
			return b, false, err
		}
	}
	for _, name := range []string{"chips", "power", "budget"} {
		ok = ok || c.IsSet(name)
	}
	return b, ok, nil
}

// watts reads a power with its unit.
func watts(s string) (float64, error) {
	text := strings.TrimSpace(s)
	for _, u := range []struct {
		unit  string
		watts float64
	}{{"kW", 1e3}, {"MW", 1e6}, {"GW", 1e9}, {"W", 1}} {
		if n, ok := strings.CutSuffix(text, u.unit); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(n), 64)
			if err == nil && v > 0 && v*u.watts < 1e12 {
				return v * u.watts, nil
			}
			break
		}
	}
	return 0, fmt.Errorf("plan: --power %q is not a positive power with its unit, such as 500kW or 2MW", s)
}

func runTurned(c *cli.Context, f *plan.File, b plan.Budget, form string) error {
	bar := newProgress(c)
	command := planCommandLine(c)
	for _, name := range []string{"chips", "power", "budget"} {
		if c.IsSet(name) {
			command += fmt.Sprintf(" --%s %v", name, c.Value(name))
		}
	}
	r, err := plan.Turn(c.Context, f, b, plan.Options{Seed: c.Uint64("seed"), Version: version(), Command: command, Progress: bar.stage})
	bar.stop()
	var none *plan.NoAnswer
	if errors.As(err, &none) {
		return noAnswer(none)
	}
	if err != nil {
		return err
	}
	if form == "json" {
		return printJSON(c.App.Writer, r)
	}
	return printTurned(c.App.Writer, r)
}

func printTurned(w io.Writer, r *plan.Turned) error {
	t := costTable(w, 2, 3, 4, 5, 6, 7, 8)
	t.AppendHeader(row("candidate", "requests/s", "95 % interval", "replicas", "spares", "chips", "kW", "TCO USD", "bound by", "one replica: what binds"))
	for _, h := range r.Candidates {
		if h.Reason != "" {
			t.AppendRow(row(h.Name, "0", "", "", "", "", "", "", "", h.Reason))
			continue
		}
		t.AppendRow(row(h.Name, fmt.Sprintf("%.4g", h.RequestsPerSecond), fmt.Sprintf("%.4g to %.4g", h.Low, h.High), strconv.Itoa(h.Replicas), strconv.Itoa(h.SpareReplicas), strconv.Itoa(h.Chips),
			fmt.Sprintf("%.1f", h.FacilityKilowatts), fmt.Sprintf("%.0f", h.TCO), h.Bound, h.Binding))
	}
	t.Render()
	return nil
}

// printExplored prints the best of a search: those on a front or kept, cheapest first, at most n.
func printExplored(w io.Writer, x *plan.Explored, n int) {
	judged := 0
	for _, p := range x.Points {
		if p.Replications > 0 {
			judged++
		}
	}
	state := ""
	if x.Partial {
		state = " (interrupted: a part)"
	}
	fmt.Fprintf(w, "\nexplored %d combinations, %d simulated to %.3g %%%s; on a front or kept:\n", x.Combinations, judged, 100*x.Precision, state)
	t := costTable(w, 2, 3, 4, 5, 6, 7)
	t.AppendHeader(row("deployment", "requests/s", "goodput/s a chip", "tokens/s a user", "TTFT p99 s", "E2E mean s", "$/M at full load", "front"))
	for _, p := range x.Points {
		if n == 0 {
			break
		}
		if !(p.SpeedFront || p.CostFront || p.Kept || x.Partial && p.Low > 0) {
			continue
		}
		n--
		var on []string
		for _, f := range []struct {
			is   bool
			name string
		}{{p.SpeedFront, "speed"}, {p.CostFront, "cost"}, {p.Kept, "kept"}} {
			if f.is {
				on = append(on, f.name)
			}
		}
		t.AppendRow(row(p.Name, fmt.Sprintf("%.4g to %.4g", p.Low, p.High), fmt.Sprintf("%.4g", p.GoodputPerChip), fmt.Sprintf("%.1f", p.Interactivity), fmt.Sprintf("%.3f", p.TTFTSeconds),
			fmt.Sprintf("%.2f", p.E2ESeconds), fmt.Sprintf("%.3f", p.PerM), strings.Join(on, ", ")))
	}
	t.Render()
}
