package sweep

import (
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/parquet-go/parquet-go"
	"scoville/model/atomicfile"
)

// column is one column of the table: a row a candidate of a point. A cell is a string, an int64, a float64, a bool or nil.
type column struct {
	name string
	kind kind
	of   func(r row) any
}

type kind int

const (
	text kind = iota
	whole
	number
	truth
)

// row is one candidate of one point; a point without candidates has one row with none.
type row struct {
	point   Point
	outcome *Outcome
	c       Candidate
}

func columns() []column {
	f := func(name string, of func(c Candidate) *float64) column {
		return column{name, number, func(r row) any {
			if v := of(r.c); v != nil {
				return *v
			}
			return nil
		}}
	}
	return []column{
		{"rank", whole, func(r row) any { return int64(r.c.Rank) }},
		{"candidate", text, func(r row) any { return r.c.Name }},
		{"chip", text, func(r row) any { return r.c.Chip }},
		{"precision", text, func(r row) any { return r.c.Precision }},
		{"tensor_parallel", whole, func(r row) any { return int64(r.c.TensorParallel) }},
		{"feasible", truth, func(r row) any { return r.c.Feasible }},
		{"peak_qps", number, func(r row) any { return r.outcome.PeakQPS }},
		{"replicas", whole, func(r row) any { return feasibleCount(r.c, r.c.Replicas) }},
		{"chips", whole, func(r row) any { return feasibleCount(r.c, r.c.Chips) }},
		f("requests_per_second", func(c Candidate) *float64 { return c.RequestsPerSecond }),
		f("ttft_p99_seconds", func(c Candidate) *float64 { return c.TTFTP99 }),
		f("tpot_p90_seconds", func(c Candidate) *float64 { return c.TPOTP90 }),
		f("peak_kilowatts", func(c Candidate) *float64 { return c.PeakKilowatts }),
		f("usd_per_m_tokens", func(c Candidate) *float64 { return c.USDPerMTokens }),
		f("tco_usd", func(c Candidate) *float64 { return c.TCO }),
		{"reason", text, func(r row) any { return r.c.Reason }},
	}
}

func feasibleCount(c Candidate, n int) any {
	if !c.Feasible {
		return nil
	}
	return int64(n)
}

// columns of this sweep: the point, its settings, the answer.
func (s *Sweep) columns() []column {
	out := []column{
		{"point", whole, func(r row) any { return int64(r.point.Index) }},
		{"seed", whole, func(r row) any { return int64(r.point.Seed) }},
	}
	for _, key := range s.keys() {
		out = append(out, column{key, s.kindOf(key), func(r row) any { return setting(r.point, key) }})
	}
	return append(out, columns()...)
}

func columnNames(cs []column) []string {
	out := make([]string, len(cs))
	for i, c := range cs {
		out[i] = c.name
	}
	return out
}

// keys of the plan that any point sets, sorted.
func (s *Sweep) keys() []string {
	seen := map[string]bool{}
	for _, p := range s.Points {
		for _, o := range p.Overrides {
			key, _, _ := strings.Cut(o, "=")
			seen[key] = true
		}
	}
	return sortedKeys(seen)
}

// kindOf is number where every point that sets the key sets it to one, else text.
func (s *Sweep) kindOf(key string) kind {
	for _, p := range s.Points {
		switch setting(p, key).(type) {
		case nil, float64:
		default:
			return text
		}
	}
	return number
}

// setting is the value of a key at a point: a float64, a string, or nil where the point leaves it as in the plan.
func setting(p Point, key string) any {
	for _, o := range p.Overrides {
		k, v, _ := strings.Cut(o, "=")
		if k != key {
			continue
		}
		var parsed struct {
			V any `toml:"v"`
		}
		if _, err := toml.Decode("v = "+v, &parsed); err != nil {
			return v
		}
		switch x := parsed.V.(type) {
		case int64:
			return float64(x)
		case float64:
			return x
		case string:
			return x
		}
		return v
	}
	return nil
}

// rows calls visit with each row in order, reading one outcome at a time.
func (s *Sweep) rows(store *Store, visit func(r row) error) error {
	for _, p := range s.Points {
		o, err := store.Get(p)
		if err != nil {
			return err
		}
		if o == nil {
			return &Missing{[]Point{p}, len(s.Points), 0} // removed since it was checked
		}
		cs := append([]Candidate{}, o.Candidates...)
		if len(cs) == 0 {
			cs = []Candidate{{Reason: o.Reason}}
		}
		sort.SliceStable(cs, func(i, j int) bool { return cs[i].Rank < cs[j].Rank })
		for _, c := range cs {
			if err := visit(row{p, o, c}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Sweep) writeTables(store *Store) ([]string, error) {
	cs := s.columns()
	asCSV, asParquet := filepath.Join(store.dir, "table.csv"), filepath.Join(store.dir, "table.parquet")
	if err := atomicfile.Write(asCSV, func(w io.Writer) error { return s.csv(w, store, cs) }); err != nil {
		return nil, err
	}
	if err := atomicfile.Write(asParquet, func(w io.Writer) error { return s.parquet(w, store, cs) }); err != nil {
		return nil, err
	}
	return []string{asCSV, asParquet}, nil
}

func (s *Sweep) csv(to io.Writer, store *Store, cs []column) error {
	w := csv.NewWriter(to)
	if err := w.Write(columnNames(cs)); err != nil {
		return err
	}
	line := make([]string, len(cs))
	err := s.rows(store, func(r row) error {
		for i, c := range cs {
			line[i] = cell(textOf(c, r))
		}
		return w.Write(line)
	})
	w.Flush()
	if err != nil {
		return err
	}
	return w.Error()
}

func textOf(c column, r row) string {
	switch v := c.of(r).(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		if c.kind == text {
			return v
		}
		return ""
	default:
		return fmt.Sprint(v)
	}
}

// cell keeps a spreadsheet from taking text for a formula.
func cell(s string) string {
	if s == "" || !strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return "'" + s
}

// parquet writes the table with the columns in alphabetical order, as the library keeps them.
func (s *Sweep) parquet(to io.Writer, store *Store, cs []column) error {
	sorted := append([]column{}, cs...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].name < sorted[j].name })
	group := parquet.Group{}
	for _, c := range sorted {
		node := parquet.String()
		switch c.kind {
		case whole:
			node = parquet.Int(64)
		case number:
			node = parquet.Leaf(parquet.DoubleType)
		case truth:
			node = parquet.Leaf(parquet.BooleanType)
		}
		group[c.name] = parquet.Optional(node)
	}
	w := parquet.NewWriter(to, parquet.NewSchema("sweep", group), parquet.Compression(&parquet.Snappy), parquet.CreatedBy("scoville", "1", ""))
	line := make(parquet.Row, len(sorted))
	err := s.rows(store, func(r row) error {
		for i, c := range sorted {
			line[i] = parquetValue(c.of(r), c.kind).Level(0, 1, i)
			if line[i].IsNull() {
				line[i] = parquet.NullValue().Level(0, 0, i)
			}
		}
		_, err := w.WriteRows([]parquet.Row{line})
		return err
	})
	if err != nil {
		return err
	}
	return w.Close()
}

func parquetValue(v any, k kind) parquet.Value {
	switch x := v.(type) {
	case string:
		return parquet.ByteArrayValue([]byte(x))
	case float64:
		if k == text { // a key with numbers at some points and text at others
			return parquet.ByteArrayValue([]byte(strconv.FormatFloat(x, 'g', -1, 64)))
		}
		return parquet.DoubleValue(x)
	case int64:
		return parquet.Int64Value(x)
	case bool:
		return parquet.BooleanValue(x)
	}
	return parquet.NullValue()
}
