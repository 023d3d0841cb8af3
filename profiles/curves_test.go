package profiles

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"scoville/hardware"
	"scoville/model/tomlfile"
)

var updateCurves = flag.Bool("update-curves", false, "write the shipped curves from ../shared")

// shippedCurves says which chip of the public kernel tables each curves file comes from.
var shippedCurves = []struct{ chip, table string }{
	{"a100-sxm-80gb", "a100_sxm"}, {"h100-sxm", "h100_sxm"}, {"h200-sxm", "h200_sxm"}, {"b200-sxm", "b200_sxm"}, {"b300-sxm", "b300_sxm"},
	{"gb200", "gb200"}, {"gb300", "gb300"}, {"l40s", "l40s"}, {"rtx-pro-6000", "rtx_pro_6000_server"}, {"arc-pro-b60", "b60"},
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
		curves, err := hardware.Derive(chip, s.table, "", tables)
		if err != nil {
			t.Fatalf("%s: %v", s.chip, err)
		}
		curves.Source, curves.Date = "ai-dynamo/aiconfigurator@095f58a5 kernel tables", "2026-08-21"
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
