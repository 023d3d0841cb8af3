package trace

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"strings"

	"scoville/model/tomlfile"
)

// table reads a CSV with a header: which column holds what is found by name.
type table struct {
	r      *Reader
	in     *lines
	header []string
	time   int // column, -1: none
	parse  func([]byte) (int64, error)
	input, output, session,
	class, prefix int
	fields []cell
}

// cell is one field of a row and the byte column it starts at, from 1.
type cell struct {
	text   []byte
	column int
}

// csvLayout says which columns of a header make a format.
type csvLayout struct {
	format                                      Format
	time, input, output, session, class, prefix string
	datetime                                    bool
}

var csvLayouts = []csvLayout{
	{format: Own, time: "arrival_seconds", input: "input_tokens", output: "output_tokens", session: "session", class: "class", prefix: "prefix"},
	{format: Azure, time: "TIMESTAMP", input: "ContextTokens", output: "GeneratedTokens", datetime: true},
	{format: BurstGPT, time: "Timestamp", input: "Request tokens", output: "Response tokens", session: "Session ID", class: "Log Type"},
	{format: Lengths, input: "num_prefill_tokens", output: "num_decode_tokens"},
}

// newTable reads the header. layout is nil for a generic file.
func newTable(r *Reader, in *lines, layout *csvLayout) (*table, error) {
	t := &table{r: r, in: in, time: -1, session: -1, class: -1, prefix: -1}
	head, err := in.nonBlank(&r.report.BlankLines)
	if err != nil {
		return nil, &Error{File: r.name, Problem: "is empty; a header line is expected"}
	}
	cells, err := t.split(head)
	if err != nil {
		return nil, err
	}
	for _, c := range cells {
		t.header = append(t.header, string(bytes.TrimSpace(c.text)))
	}
	if layout == nil {
		if layout, err = t.mapped(); err != nil {
			return nil, err
		}
	}
	r.report.Format = layout.format
	for _, p := range []struct {
		at   *int
		name string
		must bool
	}{{&t.time, layout.time, layout.time != ""}, {&t.input, layout.input, true}, {&t.output, layout.output, true}, {&t.session, layout.session, false}, {&t.class, layout.class, false}, {&t.prefix, layout.prefix, false}} {
		if *p.at = t.find(p.name); *p.at < 0 && p.must {
			return nil, t.noColumn(p.name)
		}
	}
	r.report.Timed = t.time >= 0
	if t.parse == nil {
		t.parse = seconds
		if layout.datetime {
			t.parse = parseDateTime
		}
	}
	return t, nil
}

func seconds(b []byte) (int64, error) { return parseNumber(b, 1e9) }

// mapped makes a layout from Options.Columns.
func (t *table) mapped() (*csvLayout, error) {
	o := &t.r.opt
	if err := checkColumns(t.r.name, o); err != nil {
		return nil, err
	}
	l := &csvLayout{format: CSV, time: o.Columns["time"], input: o.Columns["input"], output: o.Columns["output"], session: o.Columns["session"], class: o.Columns["class"]}
	for _, n := range []string{l.session, l.class} {
		if n != "" && t.find(n) < 0 {
			return nil, t.noColumn(n)
		}
	}
	if l.time == "" {
		return l, nil
	}
	var err error
	t.parse, err = timeParser(t.r.name, o.TimeUnit, l.time)
	return l, err
}

// checkColumns checks the mapping of a generic file.
func checkColumns(name string, o *Options) error {
	valid := []string{"time", "input", "output", "session", "class"}
	for k := range o.Columns {
		found := false
		for _, v := range valid {
			found = found || v == k
		}
		if !found {
			return &Error{File: name, Problem: fmt.Sprintf("column mapping %q is not one of %s", k, strings.Join(valid, ", "))}
		}
	}
	if o.Columns["input"] == "" || o.Columns["output"] == "" {
		return &Error{File: name, Problem: "is not in a known format; say which columns hold what, at least input and output (and time, for arrivals)"}
	}
	return nil
}

// timeParser returns the reader of a time column; the unit comes from the options or the column's name.
func timeParser(file, unit, column string) (func([]byte) (int64, error), error) {
	if unit == "" {
		lower := strings.ToLower(column)
		switch {
		case strings.HasSuffix(lower, "_ms"), strings.Contains(lower, "millis"):
			unit = "ms"
		case strings.HasSuffix(lower, "_us"), strings.Contains(lower, "micros"):
			unit = "us"
		case strings.HasSuffix(lower, "_ns"), strings.Contains(lower, "nanos"):
			unit = "ns"
		case strings.HasSuffix(lower, "_s"), strings.Contains(lower, "seconds"), strings.HasSuffix(lower, "_sec"):
			unit = "s"
		default:
			return nil, &Error{File: file, Problem: fmt.Sprintf("the unit of time column %q isn't known; give it as s, ms, us, ns or datetime", column)}
		}
	}
	nanos := map[string]float64{"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}[unit]
	switch {
	case unit == "datetime":
		return parseDateTime, nil
	case nanos == 0:
		return nil, &Error{File: file, Problem: fmt.Sprintf("time unit %q is not one of s, ms, us, ns, datetime", unit)}
	}
	return func(b []byte) (int64, error) { return parseNumber(b, nanos) }, nil
}

func (t *table) find(name string) int {
	for i, h := range t.header {
		if name != "" && h == name {
			return i
		}
	}
	return -1
}

func (t *table) noColumn(name string) error {
	hint := ""
	if near := tomlfile.Nearest(name, t.header); near != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", near)
	}
	return &Error{File: t.r.name, Line: t.in.n, Problem: fmt.Sprintf("no column %q%s; the columns are %s", name, hint, strings.Join(t.header, ", "))}
}

func (t *table) next(rec *Record) error {
	line, err := t.in.nonBlank(&t.r.report.BlankLines)
	if err != nil {
		return err
	}
	rec.Line = t.in.n
	cells, err := t.split(line)
	if err != nil {
		return err
	}
	if len(cells) != len(t.header) {
		return t.fault(len(line)+1, fmt.Errorf("%d fields, the header has %d", len(cells), len(t.header)))
	}
	if t.time >= 0 {
		if rec.Nanoseconds, err = t.parse(bytes.TrimSpace(cells[t.time].text)); err != nil {
			return t.fault(cells[t.time].column, err)
		}
	}
	if rec.Input, err = parseTokens(bytes.TrimSpace(cells[t.input].text)); err != nil {
		return t.fault(cells[t.input].column, fmt.Errorf("%s: %w", t.header[t.input], err))
	}
	if rec.Output, err = parseTokens(bytes.TrimSpace(cells[t.output].text)); err != nil {
		return t.fault(cells[t.output].column, fmt.Errorf("%s: %w", t.header[t.output], err))
	}
	if t.session >= 0 {
		rec.Session = sessionID(cells[t.session].text)
	}
	if t.class >= 0 {
		rec.Class = t.r.intern(cells[t.class].text)
	}
	if t.prefix >= 0 {
		if rec.Blocks, err = parsePrefix(rec.Blocks, cells[t.prefix].text); err != nil {
			return t.fault(cells[t.prefix].column, err)
		}
	}
	return nil
}

func (t *table) fault(column int, err error) error {
	return &Error{File: t.r.name, Line: t.in.n, Column: column, Problem: err.Error()}
}

// sessionID keeps small numbers and hashes everything else; an empty field is no session.
func sessionID(b []byte) uint64 {
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return 0
	}
	if n, err := strconv.ParseUint(string(b), 10, 63); err == nil {
		return n
	}
	return max(fnv64(b)&math.MaxInt64, 1)
}

// split cuts a line at its commas. Quoted fields are rare in traces and go the slow way.
func (t *table) split(line []byte) ([]cell, error) {
	t.fields = t.fields[:0]
	if bytes.IndexByte(line, '"') >= 0 {
		c := csv.NewReader(bytes.NewReader(line))
		c.LazyQuotes = false
		row, err := c.Read()
		if err != nil {
			return nil, t.fault(1, fmt.Errorf("quotes don't match"))
		}
		for i, f := range row {
			_, column := c.FieldPos(i)
			t.fields = append(t.fields, cell{[]byte(f), column})
		}
		return t.fields, nil
	}
	start := 0
	for i := 0; i <= len(line); i++ {
		if i == len(line) || line[i] == ',' {
			t.fields = append(t.fields, cell{line[start:i], start + 1})
			start = i + 1
		}
	}
	return t.fields, nil
}

// parsePrefix reads key:tokens pairs, the key in hexadecimal, separated by semicolons.
func parsePrefix(blocks []Block, b []byte) ([]Block, error) {
	for len(b) > 0 {
		var item []byte
		item, b, _ = bytes.Cut(b, []byte(";"))
		k, n, ok := bytes.Cut(item, []byte(":"))
		key, err := strconv.ParseUint(string(k), 16, 64)
		if !ok || err != nil {
			return nil, fmt.Errorf("prefix block %q is not key:tokens with a hexadecimal key", clip(item))
		}
		tokens, err := parseTokens(n)
		if err != nil || tokens < 1 {
			return nil, fmt.Errorf("prefix block %q has no positive number of tokens", clip(item))
		}
		blocks = append(blocks, Block{key, tokens})
	}
	return blocks, nil
}
