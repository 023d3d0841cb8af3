package profiles

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"scoville/hardware"
)

// CurvesTOML writes curves as the TOML that Chip and ReadChip read, one row of a grid a line.
func CurvesTOML(c hardware.Curves) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Written by scoville profiles derive. Efficiency: roofline seconds over measured seconds beyond the floor.\n")
	fmt.Fprintf(&b, "chip = %q\nsource = %q\ndate = %q\n", c.Chip, c.Source, c.Date)
	for _, family := range []struct {
		key, axes string
		curves    []hardware.Curve
	}{
		{"gemm", "x: rows (tokens), y: elements of the weight matrix", c.Gemm},
		{"moe", "x: rows an expert, y: bytes of expert weights touched", c.MoE},
		{"prefill", "x: prompt tokens a sequence, y: FLOPs", c.Prefill},
	} {
		for _, k := range family.curves {
			fmt.Fprintf(&b, "\n[[%s]] # %s\ndtype = %q\nkernels = %q\nfloor_seconds = %s\nx = %s\ny = %s\nefficiency = [\n", family.key, family.axes, k.DType, k.Kernels, number(k.FloorSeconds), list(k.X), list(k.Y))
			for _, row := range k.Efficiency {
				fmt.Fprintf(&b, "  %s,\n", list(row))
			}
			fmt.Fprintf(&b, "]\n%s", fit(k.Fit))
		}
	}
	for _, k := range c.Decode {
		fmt.Fprintf(&b, "\n[[decode]]\ndtype = %q\nkernels = %q\nbatch = %s\nfloor_seconds = %s\nefficiency = %s\n%s", k.DType, k.Kernels, list(k.Batch), list(k.FloorSeconds), list(k.Efficiency), fit(k.Fit))
	}
	for _, family := range []struct {
		key    string
		curves []hardware.LinkCurve
	}{{"all_reduce", c.AllReduce}, {"all_to_all", c.AllToAll}} {
		for _, k := range family.curves {
			fmt.Fprintf(&b, "\n[[%s]]\nchips = %d\nkernels = %q\nbytes = %s\nseconds = %s\n", family.key, k.Chips, k.Kernels, list(k.Bytes), list(k.Seconds))
		}
	}
	return b.Bytes(), nil
}

func fit(f hardware.Fit) string {
	return fmt.Sprintf("fit = { rows = %d, median_error = %s, p90_error = %s, bias = %s }\n", f.Rows, number(f.MedianError), number(f.P90Error), number(f.Bias))
}

func list(v []float64) string {
	s := make([]string, len(v))
	for i, x := range v {
		s[i] = number(x)
	}
	return "[" + strings.Join(s, ", ") + "]"
}

// number writes a TOML float: always with a point or an exponent.
func number(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}
