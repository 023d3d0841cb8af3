package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"
	"scoville/hardware/calibrate"
	"scoville/hardware/results"
	"scoville/model/atomicfile"
)

// calibrateCommand fits a profile to measured records.
func calibrateCommand() *cli.Command {
	return &cli.Command{
		Name:      "calibrate",
		Usage:     "fit a deployment's speed to measured records, and say how far off the fit is on records it did not see",
		ArgsUsage: "RECORDS...",
		Description: `Takes records of scoville bench, or any file that scoville import reads. The result is a TOML file that a plan's candidate names
as calibration = "FILE". Loads that the records mark as held-out are not fitted but predicted; without any, every third one is.

   scoville calibrate records.jsonl --chip h100-sxm --model llama-3.1-8b --engine "vllm 0.11" -o h100.toml`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "chip", Usage: "the accelerator that served; see scoville profiles"},
			&cli.StringFlag{Name: "chip-file", Usage: "or a chip profile TOML of your own"},
			&cli.StringFlag{Name: "model", Usage: "the model: a shipped name, a config.json or a model TOML"},
			&cli.StringFlag{Name: "engine", Usage: "the engine and its version, as in \"vllm 0.11\""},
			&cli.StringFlag{Name: "weights", Usage: "format of the weights, where it isn't the published one"},
			&cli.StringFlag{Name: "kv", Usage: "format of the KV cache"},
			&cli.IntFlag{Name: "tensor-parallel", Aliases: []string{"tp"}, Value: 1, Usage: "chips that share each layer"},
			&cli.IntFlag{Name: "pipeline-parallel", Aliases: []string{"pp"}, Value: 1, Usage: "stages that share the layers"},
			&cli.IntFlag{Name: "expert-parallel", Aliases: []string{"ep"}, Value: 1, Usage: "ranks that share the experts"},
			&cli.IntFlag{Name: "max-sequences", Usage: "the server's max_num_seqs; default: the engine's"},
			&cli.IntFlag{Name: "max-batched-tokens", Usage: "the server's max_num_batched_tokens; default: the engine's"},
			&cli.Int64Flag{Name: "kv-blocks", Usage: "KV blocks as the engine logged them; default: the engine's memory rule"},
			&cli.Float64Flag{Name: "power-limit-watts", Usage: "of each chip, where it is capped"},
			&cli.StringFlag{Name: "o", Aliases: []string{"output"}, Usage: "write the calibration to this TOML `FILE`"},
			formatFlag(), quietFlag(),
		},
		Action: runCalibrate,
	}
}

func runCalibrate(c *cli.Context) error {
	form, err := format(c, "table", "json")
	if err != nil {
		return err
	}
	if c.Args().Len() == 0 {
		return errors.New("calibrate: give at least one file of records")
	}
	setup := calibrate.Setup{
		Chip: c.String("chip"), ChipFile: c.String("chip-file"), Model: c.String("model"), Engine: c.String("engine"), Weights: c.String("weights"), KV: c.String("kv"),
		TensorParallel: c.Int("tensor-parallel"), PipelineParallel: c.Int("pipeline-parallel"), ExpertParallel: c.Int("expert-parallel"),
		MaxSequences: c.Int("max-sequences"), MaxBatchedTokens: c.Int("max-batched-tokens"), KVBlocks: c.Int64("kv-blocks"), PowerLimitWatts: c.Float64("power-limit-watts"),
	}
	d, notes, err := setup.Resolve()
	if err != nil {
		return fmt.Errorf("calibrate: %w", err)
	}
	var runs []*results.Run
	for _, path := range c.Args().Slice() {
		read, err := results.ReadFile(path)
		if err != nil {
			return err
		}
		runs = append(runs, read...)
	}
	p, err := fitProfile(c, d, runs)
	if err != nil {
		return err
	}
	p.Notes = append(notes, p.Notes...)
	if path := c.String("o"); path != "" {
		text, err := p.Encode()
		if err != nil {
			return err
		}
		if err := atomicfile.WriteBytes(path, text); err != nil {
			return err
		}
	}
	if form == "json" {
		return printJSON(c.App.Writer, p)
	}
	return printCalibration(c.App.Writer, p)
}

func fitProfile(c *cli.Context, d *calibrate.Deployment, runs []*results.Run) (*calibrate.Profile, error) {
	o := calibrate.Options{}
	if interactive(os.Stderr) && !c.Bool("quiet") {
		o.Progress = func(round, most int, loss float64) {
			fmt.Fprintf(c.App.ErrWriter, "\rfitting: round %d of at most %d, loss %.4g ", round, most, loss)
		}
		defer fmt.Fprintln(c.App.ErrWriter)
	}
	p, _, err := calibrate.Calibrate(c.Context, d, runs, o)
	var impossible *calibrate.Impossible
	switch {
	case err == nil:
		return p, nil
	case errors.Is(err, context.Canceled):
		return nil, err
	case errors.As(err, &impossible):
		return nil, fmt.Errorf("calibrate: refused: %w", err)
	}
	return nil, fmt.Errorf("calibrate: %w", err)
}

func printCalibration(w io.Writer, p *calibrate.Profile) error {
	t := plainTable()
	t.AppendHeader(table.Row{"factor", "value", "95 % interval", "shipped", "what", "told by the data"})
	for _, e := range p.Estimates {
		told := "yes"
		if !e.Informed {
			told = "hardly: the shipped value stands"
		}
		if e.AtBound {
			told = "held by its bound"
		}
		t.AppendRow(table.Row{e.Name, fmt.Sprintf("%.4g %s", e.Value, e.Unit), fmt.Sprintf("%.4g to %.4g", e.Low, e.High), fmt.Sprintf("%.4g", e.Prior), e.Meaning, told})
	}
	if _, err := fmt.Fprintf(w, "%s\nloads fitted: %d, requests: %d\n%s\n", p.Basis(), len(p.Loads), p.Requests, t.Render()); err != nil {
		return err
	}
	for _, c := range p.Confused {
		fmt.Fprintf(w, "these records can't tell %s from %s (correlation %.2f); their joint effect is known, not each\n", c.A, c.B, c.Correlation)
	}
	r := p.Range
	fmt.Fprintf(w, "covers inputs of %d to %d tokens, outputs of %d to %d, up to %d requests in flight\n", r.MinInputTokens, r.MaxInputTokens, r.MinOutputTokens, r.MaxOutputTokens, r.MaxConcurrency)
	if len(p.HeldOut) > 0 {
		h := plainTable()
		h.AppendHeader(table.Row{"kept back", "metric", "measured", "predicted", "error"})
		for _, q := range p.HeldOut {
			h.AppendRow(table.Row{q.Load, q.Metric, fmt.Sprintf("%.4g", q.Measured), fmt.Sprintf("%.4g", q.Predicted), fmt.Sprintf("%+.1f %%", 100*q.Error())})
		}
		fmt.Fprintln(w, h.Render())
	}
	for _, n := range p.Notes {
		fmt.Fprintln(w, "note:", n)
	}
	return nil
}
