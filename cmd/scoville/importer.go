package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"
	"scoville/hardware/power"
	"scoville/hardware/results"
	"scoville/model/atomicfile"
)

// importCommand reads result files of other tools.
func importCommand() *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "read benchmark results of vLLM, SGLang, AIPerf, GenAI-Perf, GuideLLM, inference-perf, llmperf, llama-bench, MLPerf or a CSV, and check them", ArgsUsage: "FILE...", Action: importRun,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "o", Aliases: []string{"output"}, Usage: "write the records of one run to this JSONL file"},
			&cli.StringFlag{Name: "power", Usage: "join this power log; the run's clock must be unix time"},
			&cli.StringFlag{Name: "model", Usage: "the model, where the file doesn't name it"},
			&cli.StringFlag{Name: "chip", Usage: "the accelerator, where the file doesn't name it"},
			&cli.IntFlag{Name: "chips", Usage: "how many of them"},
			&cli.BoolFlag{Name: "keep-going", Usage: "go on after a file that is refused; the exit code still tells"},
			&cli.BoolFlag{Name: "stages", Usage: "a row for each stage"},
			formatFlag(),
		},
	}
}

func importRun(c *cli.Context) error {
	f, err := format(c, "table", "json", "csv")
	if err != nil {
		return err
	}
	if c.Args().Len() == 0 {
		return fmt.Errorf("import: give at least one result file")
	}
	var runs []*results.Run
	var refused []string
	for _, path := range c.Args().Slice() {
		read, err := results.ReadFile(path)
		if err != nil && !c.Bool("keep-going") {
			return err
		}
		if err != nil {
			refused = append(refused, err.Error())
			continue
		}
		runs = append(runs, read...)
	}
	for _, r := range runs {
		r.Model, r.Hardware = orElse(r.Model, c.String("model")), orElse(r.Hardware, c.String("chip"))
		if n := c.Int("chips"); n > 0 {
			r.Chips = n
		}
		if log := c.String("power"); log != "" {
			l, err := power.ReadFile(log, power.Options{})
			if err != nil {
				return err
			}
			if err := l.Join(r); err != nil {
				return err
			}
		}
	}
	if path := c.String("o"); path != "" {
		if err := writeRecords(path, runs); err != nil {
			return err
		}
	}
	if err := printRuns(c.App.Writer, f, runs, c.Bool("stages")); err != nil {
		return err
	}
	if len(refused) > 0 {
		return fmt.Errorf("%d of %d files refused:\n  %s", len(refused), c.Args().Len(), strings.Join(refused, "\n  "))
	}
	return nil
}

func writeRecords(path string, runs []*results.Run) error {
	if len(runs) != 1 || len(runs[0].Records) == 0 {
		return fmt.Errorf("-o takes one run that lists its requests; here are %d runs", len(runs))
	}
	return atomicfile.Write(path, func(out io.Writer) error {
		r := runs[0]
		w, err := results.NewWriter(out, r)
		if err != nil {
			return err
		}
		for i, s := range r.Stages {
			if err := w.Stage(i, s); err != nil {
				return err
			}
		}
		for i := range r.Records {
			if err := w.Record(&r.Records[i]); err != nil {
				return err
			}
		}
		return w.Finish(r)
	})
}

// printRuns prints runs, and each stage of a run that has several where stages is set.
func printRuns(w io.Writer, f string, runs []*results.Run, stages bool) error {
	if f == "json" {
		return printJSON(w, runs)
	}
	var shown []*results.Run
	for _, r := range runs {
		shown = append(shown, r)
		if !stages || len(r.Stages) < 2 {
			continue
		}
		for i := range r.Stages {
			if r.Stages[i].Kind != results.KindWarmup {
				shown = append(shown, r.StageRun(i))
			}
		}
	}
	if f == "csv" {
		return printRunsCSV(w, shown)
	}
	t := newTable(w, "run", "ok", "failed", "in", "out", "req/s", "out tok/s")
	l := newTable(w, "run", "ms", "mean", "p50", "p90", "p95", "p99")
	for _, r := range shown {
		t.AppendRow(tableRow(append([]string{runName(r)}, runFigures(r)...)))
		for i, cells := range latencyRows(r) {
			l.AppendRow(tableRow(append([]string{runName(r), metricNames[i]}, cells...)))
		}
	}
	t.Render()
	l.Render()
	for _, r := range runs {
		if err := printRemarks(w, r); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, "TTFT from the send; TPOT = (E2E - TTFT)/(output tokens - 1) per request; ITL over tokens.")
	return err
}

func tableRow(cells []string) table.Row {
	row := make(table.Row, len(cells))
	for i, c := range cells {
		row[i] = c
	}
	return row
}

func runName(r *results.Run) string {
	return strings.TrimSpace(r.Tool + " " + orElse(r.Label, r.Model))
}

// metricNames are the rows of latencyRows.
var metricNames = [...]string{"TTFT", "TPOT", "ITL", "E2E"}

func printRunsCSV(w io.Writer, runs []*results.Run) error {
	header := []string{"run", "ok", "failed", "input_tokens_mean", "output_tokens_mean", "requests_per_second", "output_tokens_per_second"}
	for _, m := range metricNames {
		for _, q := range []string{"mean", "p50", "p90", "p95", "p99"} {
			header = append(header, strings.ToLower(m)+"_"+q+"_ms")
		}
	}
	c := csv.NewWriter(w)
	if err := c.Write(header); err != nil {
		return err
	}
	for _, r := range runs {
		row := append([]string{runName(r)}, runFigures(r)...)
		for _, cells := range latencyRows(r) {
			row = append(row, cells...)
		}
		if err := c.Write(row); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func runFigures(r *results.Run) []string {
	return []string{strconv.Itoa(r.Completed), strconv.Itoa(r.Failed), significant(r.MeanInputTokens, 1), significant(r.MeanOutputTokens, 1), significant(r.RequestsPerSecond, 1), significant(r.OutputTokensPerSecond, 1)}
}

func latencyRows(r *results.Run) [4][]string {
	var rows [4][]string
	for i, d := range []*results.Distribution{r.Latency.TTFT, r.Latency.TPOT, r.Latency.ITL, r.Latency.E2E} {
		mean := "-"
		if d.Known() {
			mean = significant(d.Mean, 1e3)
		}
		rows[i] = []string{mean}
		for _, p := range []float64{0.5, 0.9, 0.95, 0.99} {
			cell := "-"
			if x, ok := d.At(p); ok {
				cell = significant(x, 1e3)
			}
			rows[i] = append(rows[i], cell)
		}
	}
	return rows
}

// significant prints four significant digits; "-" where the figure is unknown.
func significant(x, scale float64) string {
	if x == 0 {
		return "-"
	}
	x *= scale
	if x >= 1e4 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

func printRemarks(w io.Writer, r *results.Run) error {
	var lines []string
	if q := r.Latency.ClientQueue; q != nil && q.Max > 0.001 {
		lines = append(lines, fmt.Sprintf("waited in the client: mean %s ms, max %s ms, not part of the latencies above", significant(q.Mean, 1e3), significant(q.Max, 1e3)))
	}
	if p := r.Power; p != nil {
		lines = append(lines, fmt.Sprintf("power: mean %.0f W over %d devices, %.3g J per output token, %.3g tokens/s per watt", p.MeanWatts, p.Devices, p.JoulesPerToken, p.TokensPerSecondW))
	}
	if c := r.Client; c != nil {
		lines = append(lines, fmt.Sprintf("client: schedule lag p99 %.2f ms, %.0f %% of the CPUs, %d connections (%.0f %% reused)", c.LagP99Seconds*1e3, 100*c.CPUShare, c.Connections, 100*c.ReusedShare))
	}
	for _, l := range append(lines, r.Warnings...) {
		if _, err := fmt.Fprintf(w, "%s: %s\n", runName(r), l); err != nil {
			return err
		}
	}
	return nil
}
