package validate

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"scoville/model/tomlfile"
)

// record is one line of a CSV table, with its errors gathered: check err once after reading the fields.
type record struct {
	file   string
	line   int
	names  []string
	fields []string
	err    error
}

// readTable reads a CSV file with a header line. Lines of "#" are comments. Every required column must be there, others may
// be: their fields are then blank. Column order is free, and columns that nobody asks for are ignored.
func readTable(path string, required ...string) (records []*record, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return parseTable(filepath.Base(path), f, required...)
}

func parseTable(name string, in io.Reader, required ...string) ([]*record, error) {
	r := csv.NewReader(in)
	r.Comment = '#'
	header, err := r.Read()
	if err == io.EOF {
		return nil, fmt.Errorf("%s: is empty, expected a header line with %s", name, strings.Join(required, ","))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for i := range header {
		header[i] = strings.TrimSpace(strings.TrimPrefix(header[i], "\ufeff"))
	}
	for _, c := range required {
		if !slices.Contains(header, c) {
			near := ""
			if n := tomlfile.Nearest(c, header); n != "" {
				near = fmt.Sprintf(" (there is %q)", n)
			}
			return nil, fmt.Errorf("%s: column %q is missing%s", name, c, near)
		}
	}
	var out []*record
	for {
		fields, err := r.Read()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		line, _ := r.FieldPos(0)
		out = append(out, &record{file: name, line: line, names: header, fields: fields})
	}
}

// text returns a field, blank where the table lacks the column.
func (r *record) text(column string) string {
	if i := slices.Index(r.names, column); i >= 0 {
		return strings.TrimSpace(r.fields[i])
	}
	return ""
}

// number returns a field as a finite number; blank is missing.
func (r *record) number(column string) (v float64, ok bool) {
	s := r.text(column)
	if s == "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v-v != 0 {
		r.fail(column, s, "a number")
		return 0, false
	}
	return v, true
}

// positive returns a field that must be there and above zero.
func (r *record) positive(column string) float64 {
	v, ok := r.number(column)
	if !ok || v <= 0 {
		r.fail(column, r.text(column), "a positive number")
	}
	return v
}

// count returns a whole number, or what it is by default where the field is blank.
func (r *record) count(column string, byDefault int) int {
	v, ok := r.number(column)
	if !ok {
		return byDefault
	}
	if v != float64(int(v)) || v < 0 || v > 1e9 {
		r.fail(column, r.text(column), "a whole number")
	}
	return int(v)
}

func (r *record) fail(column, found, expected string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s:%d: %s is %q, expected %s", r.file, r.line, column, found, expected)
	}
}

// figures returns the measured values of the row: metric, column, metric, column, ...; blanks and zeros are left out.
func (r *record) figures(pairs ...string) []Figure {
	var out []Figure
	for i := 0; i+1 < len(pairs); i += 2 {
		if v, ok := r.number(pairs[i+1]); ok && v > 0 {
			out = append(out, Figure{pairs[i], v})
		}
	}
	return out
}
