package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"
	"scoville/model/atomicfile"
	"scoville/model/workload"
	"scoville/model/workload/servermetrics"
)

// workloadMetricsCommand turns what a running server tells Prometheus into a workload and observed latencies.
func workloadMetricsCommand() *cli.Command {
	return &cli.Command{
		Name: "metrics", Usage: "workload and observed latencies from a server's metrics page, or from a Prometheus server", ArgsUsage: "[PAGE [LATER_PAGE]]", Action: workloadMetrics,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "prometheus", Usage: "URL of a Prometheus server to ask instead of reading a page"},
			&cli.DurationFlag{Name: "window", Value: time.Hour, Usage: "with --prometheus: the time to look at, up to now"},
			&cli.StringFlag{Name: "match", Usage: "with --prometheus: further label matchers, such as 'namespace=\"prod\"'"},
			&cli.Float64Flag{Name: "seconds", Usage: "with pages: the seconds that the counters of one page cover, or that lie between two"},
			&cli.StringFlag{Name: "model", Usage: "which of several served models"},
			&cli.StringFlag{Name: "name", Value: "observed", Usage: "name of the workload"},
			&cli.StringFlag{Name: "o", Aliases: []string{"output"}, Usage: "write the workload to this TOML file"},
			formatFlag(),
		},
	}
}

func workloadMetrics(c *cli.Context) error {
	f, err := format(c, "table", "json")
	if err != nil {
		return err
	}
	o, err := observe(c)
	if err != nil {
		return err
	}
	w, workloadErr := o.Workload(c.String("name"))
	var text []byte
	if workloadErr == nil {
		if text, err = w.TOML(); err != nil {
			return fmt.Errorf("%s: %w", o.Source, err)
		}
	}
	if path := c.String("o"); path != "" {
		if workloadErr != nil {
			return fmt.Errorf("%s: %w", o.Source, workloadErr)
		}
		if err := atomicfile.WriteBytes(path, text); err != nil {
			return err
		}
	}
	if f == "json" {
		return printJSON(c.App.Writer, struct {
			Observed *servermetrics.Observed `json:"observed"`
			Workload *workload.Workload      `json:"workload,omitempty"`
		}{o, w})
	}
	printObserved(c.App.Writer, o)
	if workloadErr != nil {
		fmt.Fprintf(c.App.Writer, "no workload: %v\n", workloadErr)
		return nil
	}
	if c.String("o") == "" {
		fmt.Fprintf(c.App.Writer, "\n%s", text)
	}
	return nil
}

// observe reads what the arguments name.
func observe(c *cli.Context) (*servermetrics.Observed, error) {
	if server := c.String("prometheus"); server != "" {
		if err := exactArgs(c); err != nil {
			return nil, err
		}
		return servermetrics.Query{URL: server, Model: c.String("model"), Match: c.String("match"), Window: c.Duration("window")}.Read(c.Context)
	}
	seconds := c.Float64("seconds")
	if !(seconds >= 0) {
		return nil, fmt.Errorf("%s: --seconds %g is not a time of at least 0", commandName(c), seconds)
	}
	switch c.Args().Len() {
	case 1:
		page, err := os.Open(c.Args().First())
		if err != nil {
			return nil, err
		}
		defer page.Close()
		return servermetrics.ReadPage(page, c.Args().First(), c.String("model"), seconds)
	case 2:
		earlier, err := os.Open(c.Args().First())
		if err != nil {
			return nil, err
		}
		defer earlier.Close()
		later, err := os.Open(c.Args().Get(1))
		if err != nil {
			return nil, err
		}
		defer later.Close()
		return servermetrics.Between(earlier, later, c.Args().Get(1), c.String("model"), seconds)
	}
	return nil, fmt.Errorf("%s: give a metrics page, two pages, or --prometheus URL", commandName(c))
}

func printObserved(w io.Writer, o *servermetrics.Observed) {
	fmt.Fprintf(w, "%s: %s", o.Source, o.Server)
	if o.Model != "" {
		fmt.Fprintf(w, ", model %s", o.Model)
	}
	fmt.Fprintf(w, "; %.0f requests", o.Requests)
	if o.WindowSeconds > 0 {
		fmt.Fprintf(w, " in %.0f s: %.4g/s", o.WindowSeconds, o.RequestsPerSecond)
	}
	if o.PeakPerSecond > 0 {
		fmt.Fprintf(w, ", fullest minute %.4g/s", o.PeakPerSecond)
	}
	fmt.Fprintln(w)
	if o.CachedShare != nil {
		fmt.Fprintf(w, "prefix cache: %s of the input tokens\n", percent(*o.CachedShare))
	}
	t := newTable(w, "observed", "count", "mean", "p50", "p90", "p95", "p99", "beyond the last bound")
	for _, r := range []struct {
		name string
		d    *servermetrics.Distribution
	}{{"input tokens", o.Input}, {"output tokens", o.Output}, {"TTFT, s", o.TTFT}, {"ITL, s", o.ITL}, {"TPOT, s", o.TPOT}, {"E2E, s", o.E2E}, {"queue, s", o.Queue}} {
		if d := r.d; d != nil {
			t.AppendRow(table.Row{r.name, fmt.Sprintf("%.0f", d.Count), fmt.Sprintf("%.4g", d.Mean), fmt.Sprintf("%.4g", d.P50), fmt.Sprintf("%.4g", d.P90), fmt.Sprintf("%.4g", d.P95), fmt.Sprintf("%.4g", d.P99), percent(d.Beyond)})
		}
	}
	t.Render()
	for _, n := range o.Notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
}
