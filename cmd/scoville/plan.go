package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"
	"scoville/model/atomicfile"
	"scoville/reports"
	"scoville/sim/plan"
)

func planCommand() *cli.Command {
	return &cli.Command{
		Name:      "plan",
		Usage:     "answer a plan file: chips, dollars and a report",
		ArgsUsage: "PLAN.toml",
		Description: `Simulates each candidate deployment of the plan under its traffic, finds the load one replica holds within the SLA,
sizes the fleet for the peak by simulating it, prices it, prints a ranked table and writes plan.json, plan.pdf and PNG charts (more with --html, --xlsx, --svg, --csv).

   scoville plan examples/chat.toml
   scoville plan examples/chat.toml --set workload.peak_qps=80 --set sla.ttft_p99=1
   scoville plan examples/chat.toml --format json -o none > plan.json

Turned round: how much load do these chips, this power or this money hold?

   scoville plan examples/chat.toml --chips 64
   scoville plan examples/chat.toml --power 2MW --budget 5e6`,
		Flags:  append(append(reportFlags(), formatFlag(), seedFlag(), outFlag("out"), quietFlag(), setFlag()), budgetFlags()...),
		Action: runPlan,
	}
}

func runPlan(c *cli.Context) error {
	form, err := format(c, "table", "json")
	if err != nil {
		return err
	}
	if err := exactArgs(c, "PLAN.toml"); err != nil {
		return err
	}
	f, err := plan.Read(c.Args().First(), c.StringSlice("set"))
	if err != nil {
		return err
	}
	if b, turned, err := budget(c); err != nil {
		return err
	} else if turned {
		return runTurned(c, f, b, form)
	}
	out := c.String("o")
	if out != "none" {
		if err := checkFolder(out); err != nil {
			return err
		}
	}
	bar := newProgress(c)
	result, err := plan.Run(c.Context, f, plan.Options{Seed: c.Uint64("seed"), Version: version(), Command: planCommandLine(c), Progress: bar.stage})
	bar.stop()
	var none *plan.NoAnswer
	if errors.As(err, &none) && none.Limited {
		return noAnswer(none)
	}
	if err != nil && result != nil && result.Partial {
		return errors.Join(keepPart(c, out, result, form), err)
	}
	if err != nil && none == nil {
		return inFile(c.Args().First(), err)
	}
	if err != nil {
		return err
	}
	if err := printPlan(c.App.Writer, result, form); err != nil {
		return err
	}
	if out == "none" {
		return nil
	}
	return writePlan(c, out, result)
}

// planCommandLine is the command that gives the same result again.
func planCommandLine(c *cli.Context) string {
	parts := []string{"scoville", "plan", c.Args().First(), fmt.Sprintf("--seed %d", c.Uint64("seed"))}
	for _, s := range c.StringSlice("set") {
		parts = append(parts, "--set "+s)
	}
	return strings.Join(parts, " ")
}

func printPlan(w io.Writer, r *plan.Result, form string) error {
	if form == "json" {
		return reports.JSON(w, r)
	}
	if err := reports.Table(w, r); err != nil {
		return err
	}
	if r.Explored != nil {
		printExplored(w, r.Explored, exploredRows)
	}
	return nil
}

const exploredRows = 20

// keepPart prints and saves what an interrupted plan has, marked as a part.
func keepPart(c *cli.Context, dir string, r *plan.Result, form string) error {
	if form == "json" {
		if err := reports.JSON(c.App.Writer, r); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(c.App.Writer, r.Answer)
		if r.Explored != nil {
			printExplored(c.App.Writer, r.Explored, exploredRows)
		}
	}
	if dir == "none" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	saved := filepath.Join(dir, "plan.json")
	fmt.Fprintf(c.App.ErrWriter, "wrote %s: a part\n", saved)
	return atomicfile.Write(saved, func(w io.Writer) error { return reports.JSON(w, r) })
}

// writePlan writes the files of a plan, each whole or not at all: the result, the report, the charts, and what flags ask for.
func writePlan(c *cli.Context, dir string, r *plan.Result) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	saved := filepath.Join(dir, "plan.json")
	if err := atomicfile.Write(saved, func(w io.Writer) error { return reports.JSON(w, r) }); err != nil {
		return err
	}
	written, err := writeReports(c, r, "plan", "pdf", "png")
	if err != nil {
		return err
	}
	if !c.Bool("quiet") {
		fmt.Fprintf(c.App.ErrWriter, "wrote %s\n", strings.Join(append([]string{saved}, written...), ", "))
	}
	return nil
}

// checkFolder finds out before any work whether a folder can be written, without leaving anything behind.
func checkFolder(dir string) error {
	at := filepath.Clean(dir)
	for {
		info, err := os.Stat(at)
		if err == nil {
			if !info.IsDir() {
				return fmt.Errorf("output folder %s: %s is not a folder", dir, at)
			}
			probe, err := os.CreateTemp(at, ".scoville-*")
			if err != nil {
				return fmt.Errorf("output folder %s can't be written: %w", dir, err)
			}
			return errors.Join(probe.Close(), os.Remove(probe.Name()))
		}
		missing := errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
		if !missing || filepath.Dir(at) == at {
			return fmt.Errorf("output folder %s: %w", dir, err)
		}
		at = filepath.Dir(at)
	}
}

// progress draws stages on stderr when it is a terminal, and logs them.
type progress struct {
	log  *slog.Logger
	to   io.Writer
	on   bool
	last int
}

func newProgress(c *cli.Context) *progress {
	return &progress{log: logger(c.App), to: c.App.ErrWriter, on: interactive(c.App.ErrWriter) && !c.Bool("quiet") && !c.Bool("verbose")}
}

func (p *progress) stage(name string, done, total int) {
	p.log.Info("stage", "name", name, "done", done, "of", total)
	if !p.on {
		return
	}
	line := fmt.Sprintf("[%d/%d] %s", done, total, name)
	fmt.Fprintf(p.to, "\r%-*s", max(p.last, len(line)), line)
	p.last = len(line)
}

// stop clears the line.
func (p *progress) stop() {
	if p.on {
		fmt.Fprintf(p.to, "\r%*s\r", p.last, "")
	}
}
