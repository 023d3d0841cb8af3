package hardware

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"sort"
	"strconv"

	"scoville/model/llm"
)

// Tables are measured kernel tables of one or more chips, as rows by column name (see ReadTable for the columns).
type Tables struct {
	Gemm, MoE, Prefill, Decode, Collectives *Table
}

// Table is a CSV file with a header line.
type Table struct {
	Name    string
	columns map[string]int
	rows    [][]string
}

// ReadTable reads a kernel table. The columns used are
//
//	gemm:        chip engine version kernel dtype m n k latency_ms
//	moe:         chip engine version kernel dtype tokens hidden inter topk experts moe_tp moe_ep latency_ms
//	prefill:     chip engine version kernel q_heads kv_heads head_dim kv_dtype batch seq_len prefix_len latency_ms
//	decode:      chip engine version kernel q_heads kv_heads head_dim kv_dtype batch ctx_len latency_ms
//	collectives: chip source version op kernel dtype gpus elements latency_ms
//
// others are ignored. Errors name the line.
func ReadTable(name string, r io.Reader) (*Table, error) {
	c := csv.NewReader(r)
	c.Comment = '#'
	header, err := c.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: no header line: %w", name, err)
	}
	t := &Table{Name: name, columns: map[string]int{}}
	for i, h := range header {
		t.columns[h] = i
	}
	for {
		row, err := c.Read()
		if err == io.EOF {
			return t, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		t.rows = append(t.rows, row)
	}
}

// need reports the first column that is missing.
func (t *Table) need(columns ...string) error {
	for _, c := range columns {
		if _, ok := t.columns[c]; !ok {
			return fmt.Errorf("%s: column %q is missing", t.Name, c)
		}
	}
	return nil
}

func (t *Table) text(row []string, column string) string { return row[t.columns[column]] }

// numbers reads columns as positive numbers; ok is false where one is not.
func (t *Table) numbers(row []string, columns ...string) (values []float64, ok bool) {
	for _, c := range columns {
		v, err := strconv.ParseFloat(row[t.columns[c]], 64)
		if err != nil || v < 0 {
			return nil, false
		}
		values = append(values, v)
	}
	return values, true
}

// formats maps the names of number formats in the tables to ours.
var formats = [...]struct {
	name  string
	dtype llm.DType
}{
	{"bfloat16", llm.BF16}, {"float16", llm.BF16}, {"half", llm.BF16}, {"bf16", llm.BF16}, {"fp16", llm.BF16},
	{"fp8", llm.FP8}, {"fp8_block", llm.FP8}, {"nvfp4", llm.FP4}, {"fp4", llm.FP4}, {"sq", llm.INT8}, {"int8", llm.INT8},
	{"w4a16_mxfp4", llm.MXFP4}, {"mxfp4", llm.MXFP4}, {"int4_wo", llm.INT4}, {"int4", llm.INT4},
}

func dtypeOf(name string) (llm.DType, bool) {
	for _, f := range formats {
		if f.name == name {
			return f.dtype, true
		}
	}
	return "", false
}

// activationBytes is the storage of one activation element at the input of a matrix product with weights of format d.
func activationBytes(d llm.DType) float64 {
	switch d {
	case llm.FP8, llm.INT8, llm.FP4:
		return d.Bytes()
	}
	return 2 // weight-only formats compute in 16 bits
}

// computeFormat is the format the matrix units multiply in for weights of format d.
func computeFormat(d llm.DType) llm.DType {
	switch d {
	case llm.INT4, llm.MXFP4:
		return llm.BF16
	}
	return d
}

// Derive reduces the kernel tables of one chip (its name in them is tableChip) to curves. engine picks the rows of one engine
// where a table has several, "" takes all.
func Derive(chip Chip, tableChip, engine string, t Tables) (Curves, error) {
	d := deriver{chip: chip, name: tableChip, engine: engine}
	c := Curves{Chip: chip.Name}
	var err error
	if t.Gemm != nil {
		if c.Gemm, err = d.gemm(t.Gemm); err != nil {
			return Curves{}, err
		}
	}
	if t.MoE != nil {
		if c.MoE, err = d.moe(t.MoE); err != nil {
			return Curves{}, err
		}
	}
	if t.Prefill != nil {
		if c.Prefill, err = d.prefill(t.Prefill); err != nil {
			return Curves{}, err
		}
	}
	if t.Decode != nil {
		if c.Decode, err = d.decode(t.Decode); err != nil {
			return Curves{}, err
		}
	}
	if t.Collectives != nil {
		if c.AllReduce, c.AllToAll, err = d.collectives(t.Collectives); err != nil {
			return Curves{}, err
		}
	}
	if len(c.Gemm)+len(c.MoE)+len(c.Prefill)+len(c.Decode)+len(c.AllReduce) == 0 {
		return Curves{}, fmt.Errorf("no table has a row with chip %q", tableChip)
	}
	return c, c.check()
}

type deriver struct {
	chip         Chip
	name, engine string
}

func (d deriver) wants(t *Table, row []string) bool {
	return t.text(row, "chip") == d.name && (d.engine == "" || t.text(row, "engine") == d.engine)
}

// ideal is the roofline time of a kernel.
func (d deriver) ideal(flops, bytes float64, format llm.DType) float64 {
	return max(flops/d.chip.Peak.Rate(computeFormat(format)), bytes/d.chip.Memory.BytesPerSecond.Value)
}

// byFormat collects samples with the kernels they came from.
type byFormat struct {
	samples map[llm.DType][]sample
	kernels map[llm.DType]map[string]bool
	groups  map[string]int
	seen    map[string]int // place of a shape among the samples of its format
}

func newByFormat() *byFormat {
	return &byFormat{map[llm.DType][]sample{}, map[llm.DType]map[string]bool{}, map[string]int{}, map[string]int{}}
}

// add takes a sample; of several kernels measured on one shape the fastest stays, since engines choose kernels by shape.
func (b *byFormat) add(f llm.DType, kernel, shape string, s sample) {
	if _, ok := b.groups[shape]; !ok {
		b.groups[shape] = len(b.groups)
	}
	s.group = b.groups[shape]
	if b.kernels[f] == nil {
		b.kernels[f] = map[string]bool{}
	}
	b.kernels[f][kernel] = true
	key := fmt.Sprint(f, " ", shape, " ", s.x, " ", s.y)
	if i, ok := b.seen[key]; ok {
		if s.seconds < b.samples[f][i].seconds {
			b.samples[f][i] = s
		}
		return
	}
	b.seen[key] = len(b.samples[f])
	b.samples[f] = append(b.samples[f], s)
}

// curves fits one curve a format, in the order of the format list.
func (b *byFormat) curves(x, y []float64, top float64) []Curve {
	var out []Curve
	for _, f := range formatOrder() {
		s := b.samples[f]
		if len(s) < 20 {
			continue
		}
		floor := floorOf(s)
		grid, fit := fitCurve(s, floor, within(x, s, func(s sample) float64 { return s.x }), within(y, s, func(s sample) float64 { return s.y }), top)
		out = append(out, Curve{
			DType: f, Kernels: joinSorted(b.kernels[f]), FloorSeconds: round3(floor),
			X: within(x, s, func(s sample) float64 { return s.x }), Y: within(y, s, func(s sample) float64 { return s.y }),
			Efficiency: grid, Fit: fit.rounded(),
		})
	}
	return out
}

func (f Fit) rounded() Fit {
	return Fit{f.Rows, round3(f.MedianError), round3(f.P90Error), round3(f.Bias)}
}

// floorOf is the launch floor: four fifths of the fastest kernels of the table, and no more than most kernels take beyond their
// roofline, should the table have large shapes only.
func floorOf(s []sample) float64 {
	t, beyond := make([]float64, len(s)), make([]float64, len(s))
	for i := range s {
		t[i], beyond[i] = s[i].seconds, s[i].seconds-s[i].ideal
	}
	return min(0.8*quantileOf(t, 0.01), quantileOf(beyond, 0.1))
}

// within keeps the knots that samples reach, one beyond the extremes on either side dropped, at least two.
func within(knots []float64, s []sample, of func(sample) float64) []float64 {
	low, high := math.Inf(1), 0.0
	for _, v := range s {
		low, high = min(low, of(v)), max(high, of(v))
	}
	first, last := 0, len(knots)-1
	for first < last-1 && knots[first+1] <= low {
		first++
	}
	for last > first+1 && knots[last-1] >= high {
		last--
	}
	return knots[first : last+1]
}

func formatOrder() []llm.DType {
	return []llm.DType{llm.BF16, llm.FP8, llm.FP4, llm.MXFP4, llm.INT8, llm.INT4}
}

func joinSorted(set map[string]bool) string {
	names := make([]string, 0, len(set))
	for k := range set {
		names = append(names, k)
	}
	sort.Strings(names)
	if len(names) > 3 {
		names = append(names[:3], fmt.Sprintf("and %d more", len(names)-3))
	}
	out := ""
	for i, n := range names {
		if i > 0 {
			out += "; "
		}
		out += n
	}
	return out
}
