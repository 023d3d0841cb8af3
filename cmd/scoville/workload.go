package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"
	"scoville/model/atomicfile"
	"scoville/model/workload"
	"scoville/model/workload/describe"
	"scoville/model/workload/fit"
	"scoville/model/workload/trace"
	"scoville/model/workload/traceplot"
	"scoville/profiles"
)

// workloadCommand describes, fits and generates traffic.
func workloadCommand() *cli.Command {
	return &cli.Command{
		Name:  "workload",
		Usage: "traffic: describe a trace, fit a workload to it, generate requests, derive rates from users",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "shipped workloads", Flags: []cli.Flag{formatFlag()}, Action: workloadList},
			{
				Name: "describe", Usage: "statistics of a trace file or folder, or of the traffic of a workload", ArgsUsage: "TRACE|WORKLOAD", Action: workloadDescribe,
				Flags: append(traceFlags(), &cli.StringFlag{Name: "plot", Usage: "draw the trace into this PNG file"}, requestsFlag(), seedFlag(), formatFlag()),
			},
			{
				Name: "fit", Usage: "fit a workload TOML to a trace, with its goodness of fit", ArgsUsage: "TRACE", Action: workloadFit,
				Flags: append(traceFlags(),
					&cli.StringFlag{Name: "name", Usage: "name of the workload; default: the file's"},
					&cli.BoolFlag{Name: "parametric", Usage: "use a lognormal or gamma form where it is honest (KS at most 0.05)"},
					&cli.StringFlag{Name: "o", Aliases: []string{"output"}, Usage: "write the workload to this TOML file"}, seedFlag(), formatFlag()),
			},
			{
				Name: "generate", Usage: "draw a trace (CSV) from a workload TOML or a shipped workload", ArgsUsage: "WORKLOAD", Action: workloadGenerate,
				Flags: []cli.Flag{
					requestsFlag(),
					&cli.Float64Flag{Name: "seconds", Usage: "stop at this time; 0: at the number of requests"},
					&cli.Float64Flag{Name: "rate", Usage: "mean requests per second; 0: the workload's own"},
					&cli.IntFlag{Name: "replication", Usage: "which of the independent draws of this seed"},
					&cli.StringFlag{Name: "o", Aliases: []string{"output"}, Usage: "write to this file, gzipped if it ends in .gz; default: stdout"},
					seedFlag(), formatFlag(),
				},
			},
			workloadMetricsCommand(),
			{
				Name: "users", Usage: "requests per second from daily active users, and their growth", Action: workloadUsers,
				Flags: []cli.Flag{
					&cli.Float64Flag{Name: "daily-active", Required: true, Usage: "users active on a day"},
					&cli.Float64Flag{Name: "requests", Required: true, Usage: "requests of each a day"},
					&cli.Float64Flag{Name: "peak-factor", Usage: "busiest hour over mean; default: the workload's, else 2"},
					&cli.StringFlag{Name: "workload", Usage: "take the peak factor from this shipped workload or TOML"},
					&cli.Float64Flag{Name: "growth", Usage: "growth of the rate a month: 0.05 is 5 %"},
					&cli.IntFlag{Name: "months", Usage: "months to grow over"},
					formatFlag(),
				},
			},
		},
	}
}

func requestsFlag() *cli.Int64Flag {
	return &cli.Int64Flag{Name: "requests", Value: 100_000, Usage: "how many requests to draw at most"}
}

// traceFlags say how to read a trace.
func traceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "input-format", Usage: "layout of the file; default: found from the content. One of " + strings.Join(trace.Formats(), ", ")},
		&cli.StringFlag{Name: "columns", Usage: "columns of a generic CSV or JSONL: time=NAME,input=NAME,output=NAME[,session=NAME,class=NAME]"},
		&cli.StringFlag{Name: "time-unit", Usage: "of a generic file's time column: s, ms, us, ns or datetime; default: from its name"},
		&cli.IntFlag{Name: "block-tokens", Usage: "tokens of a prefix hash id; default: the format's"},
		&cli.Float64Flag{Name: "first-seconds", Usage: "ServeGen folders: draw only the first so many seconds; 0: all"},
		&cli.BoolFlag{Name: "spread-ties", Usage: "spread requests that share a timestamp up to the next one (coarse clocks)"},
	}
}

func traceOptions(c *cli.Context) (trace.Options, error) {
	o := trace.Options{Format: trace.Format(c.String("input-format")), TimeUnit: c.String("time-unit"), Seconds: c.Float64("first-seconds"), BlockTokens: int32(min(max(c.Int("block-tokens"), -1), 1<<30))}
	if text := c.String("columns"); text != "" {
		o.Columns = map[string]string{}
		for _, pair := range strings.Split(text, ",") {
			what, name, ok := strings.Cut(pair, "=")
			if !ok || name == "" {
				return o, fmt.Errorf("%s: --columns: %q is not WHAT=NAME", commandName(c), pair)
			}
			o.Columns[what] = name
		}
	}
	return o, nil
}

// loadWorkload reads a workload TOML or finds a shipped workload.
func loadWorkload(name string) (*workload.Workload, error) {
	if strings.HasSuffix(name, ".toml") {
		return workload.ReadFile(name)
	}
	return profiles.Workload(name)
}

func workloadList(c *cli.Context) error {
	f, err := format(c, "table", "json")
	if err != nil {
		return err
	}
	if err := exactArgs(c); err != nil {
		return err
	}
	names, err := profiles.Workloads()
	if err != nil {
		return err
	}
	var rows []workloadRow
	for _, n := range names {
		w, err := profiles.Workload(n)
		if err != nil {
			return err
		}
		s, err := w.Summary()
		if err != nil {
			return err
		}
		rows = append(rows, workloadRow{w.Name, w.Description, w.From, w.Date, string(w.Kind), w.OwnRate(), w.PeakToMean(), *s})
	}
	if f == "json" {
		return printJSON(c.App.Writer, rows)
	}
	printWorkloads(c.App.Writer, rows)
	return nil
}

func workloadDescribe(c *cli.Context) error {
	f, err := format(c, "table", "json")
	if err != nil {
		return err
	}
	if err := exactArgs(c, "TRACE|WORKLOAD"); err != nil {
		return err
	}
	d, err := describeArgument(c, c.Args().First())
	if err != nil {
		return err
	}
	if path := c.String("plot"); path != "" {
		if err := atomicfile.Write(path, func(w io.Writer) error { return traceplot.PNG(w, d) }); err != nil {
			return err
		}
	}
	if f == "json" {
		return printJSON(c.App.Writer, d)
	}
	printDescription(c.App.Writer, d)
	return nil
}

// describeArgument describes a trace, or traffic drawn from a workload where the argument names one.
func describeArgument(c *cli.Context, arg string) (*describe.Trace, error) {
	_, statErr := os.Stat(arg)
	if strings.HasSuffix(arg, ".toml") || errors.Is(statErr, os.ErrNotExist) {
		w, err := loadWorkload(arg)
		if err != nil && statErr != nil && strings.ContainsAny(arg, "./") {
			return nil, fmt.Errorf("%s: no such file", arg)
		}
		if err != nil {
			return nil, err
		}
		return fit.Generated(w, workload.SourceOptions{Seed: c.Uint64("seed"), MaxRequests: c.Int64("requests")})
	}
	o, err := traceOptions(c)
	if err != nil {
		return nil, err
	}
	return describe.File(arg, describe.Options{Trace: o, SpreadTies: c.Bool("spread-ties"), Seed: c.Uint64("seed")})
}

func workloadFit(c *cli.Context) error {
	f, err := format(c, "table", "json")
	if err != nil {
		return err
	}
	if err := exactArgs(c, "TRACE"); err != nil {
		return err
	}
	o, err := traceOptions(c)
	if err != nil {
		return err
	}
	r, err := fit.File(c.Args().First(), o, c.Bool("spread-ties"), fit.Options{Name: c.String("name"), Parametric: c.Bool("parametric"), Seed: c.Uint64("seed")})
	if err != nil {
		return err
	}
	text, err := r.Workload.TOML()
	if err != nil {
		return err
	}
	if path := c.String("o"); path != "" {
		if err := atomicfile.WriteBytes(path, text); err != nil {
			return err
		}
	}
	if f == "json" {
		return printJSON(c.App.Writer, r)
	}
	printFit(c.App.Writer, r)
	if c.String("o") == "" {
		_, err = c.App.Writer.Write(append([]byte("\n"), text...))
	}
	return err
}

func workloadGenerate(c *cli.Context) error {
	if _, err := format(c, "table", "csv"); err != nil {
		return err
	}
	if err := exactArgs(c, "WORKLOAD"); err != nil {
		return err
	}
	if c.Float64("seconds") == 0 && c.Int64("requests") <= 0 {
		return fmt.Errorf("%s: --requests %d: a positive number, or --seconds, is needed", commandName(c), c.Int64("requests"))
	}
	w, err := loadWorkload(c.Args().First())
	if err != nil {
		return err
	}
	o := workload.SourceOptions{RequestsPerSecond: c.Float64("rate"), Seed: c.Uint64("seed"), Replication: c.Int("replication"), HorizonSeconds: c.Float64("seconds"), MaxRequests: c.Int64("requests")}
	if c.Float64("seconds") > 0 && !c.IsSet("requests") {
		o.MaxRequests = 0
	}
	s, err := w.Source(o)
	if err != nil {
		return err
	}
	path := c.String("o")
	if path == "" {
		return workload.WriteTrace(c.App.Writer, w, s)
	}
	return atomicfile.Write(path, func(out io.Writer) error {
		if !strings.HasSuffix(path, ".gz") {
			return workload.WriteTrace(out, w, s)
		}
		z := gzip.NewWriter(out)
		return errors.Join(workload.WriteTrace(z, w, s), z.Close())
	})
}

func workloadUsers(c *cli.Context) error {
	f, err := format(c, "table", "json")
	if err != nil {
		return err
	}
	if err := exactArgs(c); err != nil {
		return err
	}
	factor := c.Float64("peak-factor")
	from := "given"
	if name := c.String("workload"); name != "" && factor == 0 {
		w, err := loadWorkload(name)
		if err != nil {
			return err
		}
		factor, from = w.PeakToMean(), "of "+w.Name
	}
	if factor == 0 {
		factor, from = workload.DefaultPeakFactor, "assumed"
	}
	peak, err := workload.PeakFromUsers(c.Float64("daily-active"), c.Float64("requests"), factor)
	if err != nil {
		return fmt.Errorf("%s: %w", commandName(c), err)
	}
	months := c.Int("months")
	if months < 0 || months > 600 {
		return fmt.Errorf("%s: --months %d is not between 0 and 600", commandName(c), months)
	}
	growth := &workload.Growth{RatePerMonth: c.Float64("growth")}
	rows := []usersRow{}
	for m := range months + 1 {
		k := growth.At(m).Rate
		rows = append(rows, usersRow{m, peak / factor * k, peak * k})
	}
	if f == "json" {
		return printJSON(c.App.Writer, struct {
			PeakFactor     float64    `json:"peak_factor"`
			PeakFactorFrom string     `json:"peak_factor_from"`
			Months         []usersRow `json:"months"`
		}{factor, from, rows})
	}
	printUsers(c.App.Writer, factor, from, rows)
	return nil
}
