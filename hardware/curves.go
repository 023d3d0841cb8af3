package hardware

import (
	"fmt"
	"math"
	"sort"

	"scoville/model/llm"
)

// Curves are what a chip achieves, kernel by kernel, as compact functions derived from measured tables (see Derive). An
// efficiency is ideal seconds over measured seconds beyond a launch floor, ideal being the roofline of the datasheet peaks:
//
//	seconds = floor + max(FLOPs / peak FLOP/s, bytes / peak bytes/s) / efficiency
//
// so no curve can beat physics while its efficiencies are at most one.
type Curves struct {
	Chip      string        `toml:"chip"`
	Source    string        `toml:"source"`
	Date      string        `toml:"date"`
	Gemm      []Curve       `toml:"gemm"`       // x: rows (tokens), y: elements of the weight matrix
	MoE       []Curve       `toml:"moe"`        // x: rows an expert, y: bytes of expert weights touched
	Prefill   []Curve       `toml:"prefill"`    // x: prompt tokens a sequence, y: FLOPs
	Decode    []DecodeCurve `toml:"decode"`     // decode attention
	AllReduce []LinkCurve   `toml:"all_reduce"` // by degree
	AllToAll  []LinkCurve   `toml:"all_to_all"`
}

// Curve is a kernel family of one number format: efficiency over two logarithmic axes, bilinear in log-log, held constant outside.
type Curve struct {
	DType        llm.DType   `toml:"dtype"`
	Kernels      string      `toml:"kernels"` // engine, version and kernel measured
	FloorSeconds float64     `toml:"floor_seconds"`
	X            []float64   `toml:"x"`
	Y            []float64   `toml:"y"`
	Efficiency   [][]float64 `toml:"efficiency"` // [x][y]
	Fit          Fit         `toml:"fit"`
}

// DecodeCurve is decode attention: at each batch size a floor and a share of peak bandwidth, hence linear in the KV bytes read.
type DecodeCurve struct {
	DType        llm.DType `toml:"dtype"` // of the KV cache
	Kernels      string    `toml:"kernels"`
	Batch        []float64 `toml:"batch"`
	FloorSeconds []float64 `toml:"floor_seconds"`
	Efficiency   []float64 `toml:"efficiency"`
	Fit          Fit       `toml:"fit"`
}

// LinkCurve is a collective over a number of chips: seconds against the bytes of the message of one chip.
type LinkCurve struct {
	Chips   int       `toml:"chips"`
	Kernels string    `toml:"kernels"`
	Bytes   []float64 `toml:"bytes"`
	Seconds []float64 `toml:"seconds"`
}

// Fit says how well the compact curve repeats its table: relative errors of seconds, cross-validated over shapes.
type Fit struct {
	Rows        int     `toml:"rows"`
	MedianError float64 `toml:"median_error"`
	P90Error    float64 `toml:"p90_error"`
	Bias        float64 `toml:"bias"`
}

// at evaluates the efficiency.
func (c Curve) at(x, y float64) float64 {
	i, u := bracket(c.X, x)
	j, v := bracket(c.Y, y)
	e := c.Efficiency
	low := (1-u)*math.Log(e[i][j]) + u*math.Log(e[i+1][j])
	if v == 0 {
		return math.Exp(low)
	}
	high := (1-u)*math.Log(e[i][j+1]) + u*math.Log(e[i+1][j+1])
	return math.Exp((1-v)*low + v*high)
}

// bracket finds the interval of ascending knots that holds x and the position in it on a logarithmic axis, clamped to the ends.
func bracket(knots []float64, x float64) (int, float64) {
	if x <= knots[0] {
		return 0, 0
	}
	last := len(knots) - 1
	if x >= knots[last] {
		return last - 1, 1
	}
	i := sort.SearchFloat64s(knots, x) - 1
	return i, math.Log(x/knots[i]) / math.Log(knots[i+1]/knots[i])
}

// seconds of the collective for a message of some bytes: log-log between the knots, at the last bandwidth beyond them.
func (c LinkCurve) seconds(bytes float64) float64 {
	last := len(c.Bytes) - 1
	if bytes > c.Bytes[last] {
		return c.Seconds[last] * bytes / c.Bytes[last]
	}
	i, u := bracket(c.Bytes, bytes)
	return math.Exp((1-u)*math.Log(c.Seconds[i]) + u*math.Log(c.Seconds[i+1]))
}

// at returns the floor and the share of peak bandwidth at a batch size.
func (c DecodeCurve) at(batch float64) (floor, efficiency float64) {
	i, u := bracket(c.Batch, batch)
	floor = (1-u)*c.FloorSeconds[i] + u*c.FloorSeconds[i+1]
	return floor, math.Exp((1-u)*math.Log(c.Efficiency[i]) + u*math.Log(c.Efficiency[i+1]))
}

// find picks the curve of a format, or failing that of the nearest wider format.
func find(curves []Curve, d llm.DType) (Curve, bool) {
	for _, want := range fallback(d) {
		for _, c := range curves {
			if c.DType == want {
				return c, true
			}
		}
	}
	return Curve{}, false
}

// fallback orders the formats whose measured efficiency stands in for that of d.
func fallback(d llm.DType) []llm.DType {
	switch d {
	case llm.FP4:
		return []llm.DType{llm.FP4, llm.MXFP4, llm.FP8, llm.BF16}
	case llm.MXFP4:
		return []llm.DType{llm.MXFP4, llm.FP4, llm.FP8, llm.BF16}
	case llm.FP8, llm.INT8:
		return []llm.DType{d, llm.FP8, llm.INT8, llm.BF16}
	}
	return []llm.DType{d, llm.BF16, llm.FP8}
}

func (c Curves) check() error {
	for _, family := range []struct {
		name   string
		curves []Curve
	}{{"gemm", c.Gemm}, {"moe", c.MoE}, {"prefill", c.Prefill}} {
		for _, k := range family.curves {
			if err := k.check(); err != nil {
				return fmt.Errorf("curves of %s, %s %s: %w", c.Chip, family.name, k.DType, err)
			}
		}
	}
	for _, d := range c.Decode {
		if err := d.check(); err != nil {
			return fmt.Errorf("curves of %s, decode %s: %w", c.Chip, d.DType, err)
		}
	}
	for _, l := range append(append([]LinkCurve(nil), c.AllReduce...), c.AllToAll...) {
		if len(l.Bytes) < 2 || len(l.Bytes) != len(l.Seconds) || l.Chips < 2 || !ascending(l.Bytes) || !positive(l.Seconds) {
			return fmt.Errorf("curves of %s, collective over %d chips: bytes and seconds must be two or more pairs of positive numbers, bytes ascending", c.Chip, l.Chips)
		}
	}
	return nil
}

func (c Curve) check() error {
	if len(c.X) < 2 || len(c.Y) < 2 || !ascending(c.X) || !ascending(c.Y) || len(c.Efficiency) != len(c.X) {
		return fmt.Errorf("x and y need two or more ascending knots and one row of efficiencies for each x")
	}
	for i, row := range c.Efficiency {
		if len(row) != len(c.Y) {
			return fmt.Errorf("row %d has %d efficiencies, expected %d", i, len(row), len(c.Y))
		}
		for _, e := range row {
			if !(e > 0 && e <= 1) {
				return fmt.Errorf("efficiency %g is not in (0, 1]: no machine exceeds its peak", e)
			}
		}
	}
	if !(c.FloorSeconds >= 0 && c.FloorSeconds < 1) {
		return fmt.Errorf("floor_seconds %g is not in [0, 1)", c.FloorSeconds)
	}
	return nil
}

func (c DecodeCurve) check() error {
	if len(c.Batch) < 2 || !ascending(c.Batch) || len(c.FloorSeconds) != len(c.Batch) || len(c.Efficiency) != len(c.Batch) {
		return fmt.Errorf("batch, floor_seconds and efficiency must be of one length, two or more, batch ascending")
	}
	for i, e := range c.Efficiency {
		if !(e > 0 && e <= 1) {
			return fmt.Errorf("efficiency %g is not in (0, 1]: no machine exceeds its peak", e)
		}
		if !(c.FloorSeconds[i] >= 0) {
			return fmt.Errorf("floor_seconds %g is negative", c.FloorSeconds[i])
		}
	}
	return nil
}

func ascending(v []float64) bool {
	for i := range v {
		if !(v[i] > 0) || i > 0 && v[i] <= v[i-1] {
			return false
		}
	}
	return true
}

func positive(v []float64) bool {
	for _, x := range v {
		if !(x > 0) {
			return false
		}
	}
	return true
}
