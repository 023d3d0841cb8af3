package main

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"
	"scoville/model/atomicfile"
	"scoville/model/llm"
	"scoville/profiles"
)

// modelsCommand shows the shipped architectures and reads those of others.
func modelsCommand() *cli.Command {
	return &cli.Command{
		Name:  "models",
		Usage: "list, show and import language models: parameters, FLOPs, weight and KV bytes",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "shipped models", Flags: []cli.Flag{formatFlag()}, Action: modelsList},
			{Name: "show", Usage: "one model: a name with or without a quantisation suffix, a config.json or a profile", ArgsUsage: "NAME|FILE", Action: modelsShow,
				Flags: []cli.Flag{formatFlag(), &cli.IntFlag{Name: "tp", Value: 1, Usage: "tensor parallel degree"},
					&cli.StringFlag{Name: "kv", Usage: "format of the KV cache: bf16, fp8, ... (default: as the model is released)"}}},
			{Name: "import", Usage: "read a Hugging Face config.json and write it as a model profile", ArgsUsage: "CONFIG.json", Action: modelsImport,
				Flags: []cli.Flag{formatFlag(), &cli.StringFlag{Name: "name", Usage: "name of the model (default: the file's or its folder's)"},
					&cli.StringFlag{Name: "o", Aliases: []string{"output"}, Usage: "file for the profile (default: standard output)"}}},
		},
	}
}

// modelRow is a line of the list. The fields of the JSON carry their units.
type modelRow struct {
	Name             string    `json:"name"`
	HuggingFace      string    `json:"hugging_face"`
	Released         string    `json:"released"`
	Parameters       float64   `json:"parameters"`
	ActiveParameters float64   `json:"active_parameters"`
	Layers           int       `json:"layers"`
	Weights          llm.DType `json:"weights"`
	WeightBytes      float64   `json:"weight_bytes"`
	KVBytesPerToken  float64   `json:"kv_bytes_per_token"`
	MaxContext       int       `json:"max_context"`
}

func modelsList(c *cli.Context) error {
	f, err := format(c, "table", "json")
	if err != nil {
		return err
	}
	if err := exactArgs(c); err != nil {
		return err
	}
	all, err := profiles.Models()
	if err != nil {
		return err
	}
	rows := make([]modelRow, 0, len(all))
	for _, m := range all {
		n, p := m.Parameters(), m.Precision()
		rows = append(rows, modelRow{m.Name, m.HuggingFace, m.Released, n.Total(), n.Active(), m.Layers, p.Weights, m.WeightBytes(p), m.KVBytesPerToken(p.KV, 1), m.MaxContext})
	}
	if f == "json" {
		return printJSON(c.App.Writer, rows)
	}
	t := plainTable()
	t.SetOutputMirror(c.App.Writer)
	t.AppendHeader(table.Row{"model", "released", "parameters", "active", "layers", "weights", "weights GiB", "KV bytes/token", "context"})
	for _, r := range rows {
		t.AppendRow(table.Row{r.Name, r.Released, fmt.Sprintf("%.2fB", r.Parameters/1e9), fmt.Sprintf("%.2fB", r.ActiveParameters/1e9), r.Layers, r.Weights,
			fmt.Sprintf("%.1f", r.WeightBytes/(1<<30)), fmt.Sprintf("%.0f", r.KVBytesPerToken), r.MaxContext})
	}
	t.Render()
	return nil
}

// modelDetail is what models show prints.
type modelDetail struct {
	Architecture     llm.Architecture `json:"architecture"`
	Precision        llm.Precision    `json:"precision"`
	Parameters       llm.Parameters   `json:"parameters"`
	Total            float64          `json:"total_parameters"`
	Active           float64          `json:"active_parameters"`
	FLOPsPerToken    float64          `json:"flops_per_token"`
	HeadFLOPs        float64          `json:"head_flops"`
	FLOPsPerPair     float64          `json:"attention_flops_per_pair_and_layer"`
	WeightBytes      float64          `json:"weight_bytes"`
	TensorParallel   int              `json:"tensor_parallel"`
	RankWeightBytes  float64          `json:"rank_weight_bytes"`
	KV               llm.KVLayout     `json:"kv"`
	KVBytesPerToken  float64          `json:"rank_kv_bytes_per_token"`
	TensorParallelOK []int            `json:"valid_tensor_parallel"`
}

func modelsShow(c *cli.Context) error {
	f, err := format(c, "table", "json")
	if err != nil {
		return err
	}
	if err := exactArgs(c, "NAME"); err != nil {
		return err
	}
	a, p, err := profiles.LoadModel(c.Args().First())
	if err != nil {
		return err
	}
	if s := c.String("kv"); s != "" {
		if p.KV, err = llm.ParseDType(s); err != nil {
			return fmt.Errorf("models show: --kv: %w", err)
		}
	}
	tp := c.Int("tp")
	if err := a.CheckTensorParallel(tp); err != nil {
		return fmt.Errorf("models show: --tp: %w", err)
	}
	n := a.Parameters()
	d := modelDetail{Architecture: a, Precision: p, Parameters: n, Total: n.Total(), Active: n.Active(), FLOPsPerToken: a.FLOPsPerToken(), HeadFLOPs: a.HeadFLOPs(),
		FLOPsPerPair: a.AttentionFLOPsPerPair(), WeightBytes: a.WeightBytes(p), TensorParallel: tp, RankWeightBytes: a.RankWeightBytes(p, llm.Split{Tensor: tp}),
		KV: a.KV(p.KV, tp), KVBytesPerToken: a.KVBytesPerToken(p.KV, tp), TensorParallelOK: a.TensorParallelDegrees(64)}
	if f == "json" {
		return printJSON(c.App.Writer, d)
	}
	printModel(c, d)
	return nil
}

func printModel(c *cli.Context, d modelDetail) {
	t := plainTable()
	t.SetOutputMirror(c.App.Writer)
	t.SetTitle("%s (%s)", d.Architecture.Name, d.Architecture.Source)
	row := func(name, format string, args ...any) { t.AppendRow(table.Row{name, fmt.Sprintf(format, args...)}) }
	billions := func(name string, v float64) {
		if v > 0 {
			row(name, "%.3f billion", v/1e9)
		}
	}
	billions("parameters", d.Total)
	billions("active for a token", d.Active)
	n := d.Parameters
	for _, part := range []struct {
		name  string
		value float64
	}{{"embedding", n.Embedding}, {"head", n.Head}, {"attention", n.Attention}, {"state-space mixers", n.Linear}, {"dense feed-forward", n.DenseFFN},
		{"experts", n.Experts}, {"shared experts", n.SharedExperts}, {"routers", n.Router}, {"beside the text model", n.Extra}} {
		billions("  "+part.name, part.value)
	}
	row("FLOPs a token", "%.4g, and %.4g when sampled", d.FLOPsPerToken, d.HeadFLOPs)
	row("attention FLOPs", "%.4g for each query-key pair and layer", d.FLOPsPerPair)
	row("weights", "%s: %.2f GiB; %.2f GiB a chip at tensor parallel %d", d.Precision.Weights, d.WeightBytes/(1<<30), d.RankWeightBytes/(1<<30), d.TensorParallel)
	row("KV cache", "%s: %.0f bytes a token and chip in %d full and %d window layers", d.Precision.KV, d.KVBytesPerToken, d.KV.FullLayers, d.KV.WindowLayers)
	if d.KV.WindowLayers > 0 {
		row("window", "%d tokens", d.KV.WindowTokens)
	}
	if d.KV.StateBytes > 0 {
		row("recurrent state", "%.1f MiB a sequence and chip", d.KV.StateBytes/(1<<20))
	}
	row("context", "%d tokens", d.Architecture.MaxContext)
	row("tensor parallel degrees", "%v", d.TensorParallelOK)
	t.Render()
}

func modelsImport(c *cli.Context) error {
	f, err := format(c, "table", "json")
	if err != nil {
		return err
	}
	if err := exactArgs(c, "CONFIG.json"); err != nil {
		return err
	}
	m, err := profiles.ReadModel(c.Args().First())
	if err != nil {
		return err
	}
	if name := c.String("name"); name != "" {
		m.Name = name
	}
	if f == "json" && c.String("o") == "" {
		return printJSON(c.App.Writer, m)
	}
	data, err := profiles.EncodeModel(m)
	if err != nil {
		return err
	}
	if path := c.String("o"); path != "" {
		return atomicfile.WriteBytes(path, data)
	}
	_, err = c.App.Writer.Write(data)
	return err
}
