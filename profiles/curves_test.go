package profiles

import (
	"bytes"
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"scoville/hardware"
	"scoville/model/tomlfile"
)

var updateCurves = flag.Bool("update-curves", false, "write the shipped curves from ../shared")

// shippedCurves says which chip of the public kernel tables each curves file comes from.
var shippedCurves = []struct{ chip, table, source, date string }{
	{"a100-sxm-80gb", "a100_sxm", aic, aicDate}, {"h100-sxm", "h100_sxm", aic, aicDate}, {"h200-sxm", "h200_sxm", aic, aicDate},
	{"b200-sxm", "b200_sxm", aic, aicDate}, {"b300-sxm", "b300_sxm", aic, aicDate}, {"gb200", "gb200", aic, aicDate}, {"gb300", "gb300", aic, aicDate},
	{"l40s", "l40s", aic, aicDate}, {"rtx-pro-6000", "rtx_pro_6000_server", aic, aicDate}, {"arc-pro-b60", "b60", aic, aicDate},
	{"rtx-4090", "RTX4090", llmServingSim, "2026-08-20"}, {"tpu-v6e", "TPU-v6e-1", llmServingSim, "2025"},
}

const (
	aic           = "ai-dynamo/aiconfigurator@095f58a5 kernel tables"
	aicDate       = "2026-08-21"
	llmServingSim = "casys-kaist/LLMServingSim@5daddb21 layer and attention profiles of Llama-3.1-8B"
)

// layerShapes are the matrices of Llama-3.1-8B, rows and columns of the weight, by the layer's name in LLMServingSim's profiles.
var layerShapes = map[string][2]int{
	"qkv_proj": {6144, 4096}, "q_proj": {4096, 4096}, "o_proj": {4096, 4096}, "gate_up_proj": {28672, 4096}, "gate_proj": {14336, 4096},
	"up_proj": {14336, 4096}, "down_proj": {4096, 14336}, "lm_head": {128256, 4096},
}

// layerTables converts LLMServingSim's profiles of Llama-3.1-8B (32 query heads, 8 KV heads, 128 wide) on one chip to kernel tables.
func layerTables(t *testing.T, chip string) hardware.Tables {
	t.Helper()
	gemm := strings.Builder{}
	gemm.WriteString("chip,engine,version,kernel,dtype,m,n,k,latency_ms\n")
	decode := strings.Builder{}
	decode.WriteString("chip,engine,version,kernel,q_heads,kv_heads,head_dim,kv_dtype,batch,ctx_len,latency_ms\n")
	prefill := strings.Builder{}
	prefill.WriteString("chip,engine,version,kernel,q_heads,kv_heads,head_dim,kv_dtype,batch,seq_len,prefix_len,latency_ms\n")
	ms := func(us string) float64 {
		v, err := strconv.ParseFloat(us, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v / 1000
	}
	for _, file := range []string{"layers_v019.csv", "layers_v0.csv"} {
		for _, r := range sharedRows(t, file) {
			shape, ok := layerShapes[r["layer"]]
			if r["chip"] == chip && r["model"] == "meta-llama/Llama-3.1-8B" && r["tp"] == "1" && ok {
				fmt.Fprintf(&gemm, "%s,vllm,profile,%s,bfloat16,%s,%d,%d,%g\n", chip, r["layer"], r["tokens"], shape[0], shape[1], ms(r["time_us"]))
			}
		}
	}
	for _, r := range sharedRows(t, "attention_v019.csv") {
		switch {
		case r["chip"] != chip || r["tp"] != "1" || r["model"] != "meta-llama/Llama-3.1-8B":
		case r["prefill_chunk"] == "0":
			fmt.Fprintf(&decode, "%s,vllm,profile,attention,32,8,128,bfloat16,%s,%s,%g\n", chip, r["n_decode"], r["kv_decode"], ms(r["time_us"]))
		case r["n_decode"] == "0":
			fmt.Fprintf(&prefill, "%s,vllm,profile,attention,32,8,128,bfloat16,1,%s,%s,%g\n", chip, r["prefill_chunk"], r["kv_prefill"], ms(r["time_us"]))
		}
	}
	for _, r := range sharedRows(t, "attention_tpu_v6e.csv") {
		switch {
		case r["chip"] != chip:
		case r["phase"] == "decode":
			fmt.Fprintf(&decode, "%s,vllm,profile,attention,32,8,128,bfloat16,%s,%s,%g\n", chip, r["batch"], r["kv_len"], ms(r["time_us"]))
		default:
			fmt.Fprintf(&prefill, "%s,vllm,profile,attention,32,8,128,bfloat16,1,%s,%s,%g\n", chip, r["prefill_chunk"], r["kv_len"], ms(r["time_us"]))
		}
	}
	read := func(name, text string) *hardware.Table {
		table, err := hardware.ReadTable(name, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	if strings.HasPrefix(chip, "TPU") { // its matrix times lie above the memory's peak rate: weights stay on chip between repeats
		return hardware.Tables{Decode: read("decode", decode.String()), Prefill: read("prefill", prefill.String())}
	}
	return hardware.Tables{Gemm: read("gemm", gemm.String()), Decode: read("decode", decode.String()), Prefill: read("prefill", prefill.String())}
}

func sharedRows(t *testing.T, name string) []map[string]string {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "shared", "data", "measured", "ops_llmservingsim", name))
	if err != nil {
		t.Skip("../shared is absent: no " + name)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]string
	for _, row := range rows[1:] {
		r := map[string]string{}
		for i, h := range rows[0] {
			r[h] = row[i]
		}
		out = append(out, r)
	}
	return out
}

// TestShippedCurvesAreReproducible derives every curves file again from the public kernel tables, byte for byte.
func TestShippedCurvesAreReproducible(t *testing.T) {
	tables := hardware.Tables{
		Gemm: kernelTable(t, "gemm.csv"), MoE: kernelTable(t, "moe.csv"), Prefill: kernelTable(t, "prefill_attention.csv"),
		Decode: kernelTable(t, "decode_attention.csv"), Collectives: kernelTable(t, "collectives.csv"),
	}
	for _, s := range shippedCurves {
		chip, err := Chip(s.chip)
		if err != nil {
			t.Fatal(err)
		}
		from := tables
		if s.source == llmServingSim {
			from = layerTables(t, s.table)
		}
		curves, err := hardware.Derive(chip, s.table, "", from)
		if err != nil {
			t.Fatalf("%s: %v", s.chip, err)
		}
		curves.Source, curves.Date = s.source, s.date
		got, err := CurvesTOML(curves)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("curves", s.chip+".toml")
		if *updateCurves {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs from what the tables give; run go test ./profiles -run ShippedCurves -update-curves and inspect the diff", file)
		}
	}
}

func kernelTable(t *testing.T, name string) *hardware.Table {
	t.Helper()
	path := filepath.Join("..", "..", "shared", "data", "measured", "ops_aic", name)
	f, err := os.Open(path)
	if err != nil {
		t.Skip("../shared is absent: no " + name)
	}
	defer f.Close()
	table, err := hardware.ReadTable(name, f)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestCurvesTOMLReadsBack(t *testing.T) {
	for _, s := range shippedCurves {
		chip, err := Chip(s.chip)
		if err != nil {
			t.Fatal(err)
		}
		if chip.Curves.Chip != s.chip {
			t.Errorf("%s has the curves of %q", s.chip, chip.Curves.Chip)
		}
		text, err := CurvesTOML(chip.Curves)
		if err != nil {
			t.Fatal(err)
		}
		var back hardware.Curves
		if err := tomlfile.Decode(s.chip, text, &back); err != nil {
			t.Fatal(err)
		}
		again, err := CurvesTOML(back)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(text, again) {
			t.Errorf("%s: curves change when written and read", s.chip)
		}
	}
}
