package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"
	"scoville/hardware"
	"scoville/model/atomicfile"
	"scoville/profiles"
)

// profilesCommand shows what ships with scoville and makes curves for new silicon.
func profilesCommand() *cli.Command {
	return &cli.Command{
		Name:  "profiles",
		Usage: "list and show the shipped chips and engines; derive the curves of new silicon from kernel tables",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "shipped chips and engines", Flags: []cli.Flag{formatFlag()}, Action: profilesList},
			{Name: "show", Usage: "one chip or engine (name or name@version) with its sources", ArgsUsage: "NAME", Flags: []cli.Flag{formatFlag()}, Action: profilesShow},
			{
				Name: "derive", Usage: "reduce kernel tables (CSV) to the curves of a chip", Action: profilesDerive,
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "chip", Required: true, Usage: "shipped chip name, or a chip TOML of your own"},
					&cli.StringFlag{Name: "table-chip", Usage: "the chip's name in the tables, where it differs"},
					&cli.StringFlag{Name: "engine", Usage: "use the rows of this engine only; of several kernels measured on one shape the fastest counts"},
					&cli.StringFlag{Name: "gemm", Usage: "CSV: chip,engine,version,kernel,dtype,m,n,k,latency_ms"},
					&cli.StringFlag{Name: "moe", Usage: "CSV: chip,engine,version,kernel,dtype,tokens,hidden,inter,topk,experts,moe_tp,moe_ep,latency_ms"},
					&cli.StringFlag{Name: "prefill", Usage: "CSV: chip,engine,version,kernel,q_heads,kv_heads,head_dim,kv_dtype,batch,seq_len,prefix_len,latency_ms"},
					&cli.StringFlag{Name: "decode", Usage: "CSV: chip,engine,version,kernel,q_heads,kv_heads,head_dim,kv_dtype,batch,ctx_len,latency_ms"},
					&cli.StringFlag{Name: "collectives", Usage: "CSV: chip,source,version,op,kernel,dtype,gpus,elements,latency_ms"},
					&cli.StringFlag{Name: "source", Value: "kernel tables given to profiles derive", Usage: "provenance written into the file"},
					&cli.StringFlag{Name: "date", Value: "unknown", Usage: "when the tables were measured"},
					&cli.StringFlag{Name: "o", Aliases: []string{"output"}, Usage: "write the curves to this TOML file; default: stdout"}, formatFlag(),
				},
			},
		},
	}
}

// chipRow and engineRow are lines of the list. A chip's unknown figures are 0.
type chipRow struct {
	Name                 string  `json:"name"`
	Title                string  `json:"title"`
	Vendor               string  `json:"vendor"`
	BF16                 float64 `json:"bf16_flops"`
	FP8                  float64 `json:"fp8_flops"`
	MemoryBytes          float64 `json:"memory_bytes"`
	MemoryBytesPerSecond float64 `json:"memory_bytes_per_second"`
	LimitWatts           float64 `json:"limit_watts"`
	Basis                string  `json:"basis"`
}

type engineRow struct {
	Name             string  `json:"name"`
	Version          string  `json:"version"`
	Policy           string  `json:"policy"`
	MaxBatchedTokens int     `json:"max_batched_tokens"`
	MaxSequences     int     `json:"max_sequences"`
	MemoryFraction   float64 `json:"memory_fraction"`
	MemoryRule       string  `json:"memory_rule"`
}

func profilesList(c *cli.Context) error {
	f, err := format(c, "table", "json")
	if err != nil {
		return err
	}
	if err := exactArgs(c); err != nil {
		return err
	}
	chips, err := chipRows()
	if err != nil {
		return err
	}
	engines, err := profiles.Engines()
	if err != nil {
		return err
	}
	engineRows := make([]engineRow, 0, len(engines))
	for _, p := range engines {
		engineRows = append(engineRows, engineRow{p.Name, p.Version, p.Scheduler.Policy, p.Scheduler.MaxBatchedTokens, p.Scheduler.MaxSequences, p.Memory.Fraction, p.Memory.Rule})
	}
	if f == "json" {
		return printJSON(c.App.Writer, struct {
			Chips   []chipRow   `json:"chips"`
			Engines []engineRow `json:"engines"`
		}{chips, engineRows})
	}
	known := func(v float64, format string) string {
		if v == 0 {
			return "unknown"
		}
		return fmt.Sprintf(format, v)
	}
	t := costTable(c.App.Writer, 3, 4, 5, 6, 7)
	t.AppendHeader(table.Row{"chip", "title", "BF16 TFLOP/s", "FP8", "GB", "TB/s", "W", "basis"})
	for _, r := range chips {
		fp8 := ""
		if r.FP8 > 0 {
			fp8 = fmt.Sprintf("%.0f", r.FP8/1e12)
		}
		t.AppendRow(table.Row{r.Name, r.Title, known(r.BF16/1e12, "%.0f"), fp8, known(r.MemoryBytes/1e9, "%.0f"), known(r.MemoryBytesPerSecond/1e12, "%.2f"), known(r.LimitWatts, "%.0f"), r.Basis})
	}
	t.Render()
	e := costTable(c.App.Writer, 4, 5)
	e.AppendHeader(table.Row{"engine", "version", "policy", "tokens a step", "sequences", "memory rule"})
	for _, p := range engineRows {
		e.AppendRow(table.Row{p.Name, p.Version, p.Policy, p.MaxBatchedTokens, p.MaxSequences, fmt.Sprintf("%g of %s", p.MemoryFraction, p.MemoryRule)})
	}
	e.Render()
	return nil
}

func chipRows() ([]chipRow, error) {
	names, err := profiles.Chips()
	if err != nil {
		return nil, err
	}
	var rows []chipRow
	for _, n := range names {
		c, err := profiles.Chip(n)
		if err != nil {
			return nil, err
		}
		rows = append(rows, chipRow{c.Name, c.Title, c.Vendor, c.Peak.BF16.Value, c.Peak.FP8.Value, c.Memory.Bytes.Value, c.Memory.BytesPerSecond.Value, c.Power.LimitWatts.Value, c.Basis()})
	}
	return rows, nil
}

func profilesShow(c *cli.Context) error {
	f, err := format(c, "table", "json")
	if err != nil {
		return err
	}
	if err := exactArgs(c, "NAME"); err != nil {
		return err
	}
	v, err := profile(c.Args().First())
	if err != nil {
		return err
	}
	if f == "json" {
		return printJSON(c.App.Writer, v)
	}
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(v); err != nil {
		return err
	}
	_, err = c.App.Writer.Write(b.Bytes())
	return err
}

// profile finds a chip, or failing that an engine written as name or name@version.
func profile(name string) (any, error) {
	chip, chipErr := profiles.Chip(name)
	if chipErr == nil {
		return chip, nil
	}
	engine, version, _ := strings.Cut(name, "@")
	if e, err := profiles.Engine(engine, version); err == nil {
		return e, nil
	}
	return nil, chipErr
}

func profilesDerive(c *cli.Context) error {
	f, err := format(c, "table", "json")
	if err != nil {
		return err
	}
	if err := exactArgs(c); err != nil {
		return err
	}
	chip, err := chipNamed(c.String("chip"))
	if err != nil {
		return err
	}
	var t hardware.Tables
	for _, in := range []struct {
		flag string
		to   **hardware.Table
	}{{"gemm", &t.Gemm}, {"moe", &t.MoE}, {"prefill", &t.Prefill}, {"decode", &t.Decode}, {"collectives", &t.Collectives}} {
		if *in.to, err = readTable(c.String(in.flag)); err != nil {
			return err
		}
	}
	tableChip := c.String("table-chip")
	if tableChip == "" {
		tableChip = chip.Name
	}
	curves, err := hardware.Derive(chip, tableChip, c.String("engine"), t)
	if err != nil {
		return err
	}
	curves.Source, curves.Date = c.String("source"), c.String("date")
	if f == "json" {
		return printJSON(c.App.Writer, curves)
	}
	text, err := profiles.CurvesTOML(curves)
	if err != nil {
		return err
	}
	if out := c.String("o"); out != "" {
		return atomicfile.WriteBytes(out, text)
	}
	_, err = c.App.Writer.Write(text)
	return err
}

func chipNamed(name string) (hardware.Chip, error) {
	if strings.HasSuffix(name, ".toml") {
		return profiles.ReadChip(name, "")
	}
	return profiles.Chip(name)
}

func readTable(file string) (t *hardware.Table, err error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	return hardware.ReadTable(file, f)
}
