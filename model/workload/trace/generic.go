package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"scoville/model/tomlfile"
)

// openGenericJSON reads objects by the mapping of Options.Columns.
func openGenericJSON(r *Reader, in *lines) error {
	if err := checkColumns(r.name, &r.opt); err != nil {
		return err
	}
	g := &genericJSON{r: r, in: in}
	if c := r.opt.Columns["time"]; c != "" {
		var err error
		if g.parse, err = timeParser(r.name, r.opt.TimeUnit, c); err != nil {
			return err
		}
	}
	r.report.Format, r.report.Timed = JSONLines, g.parse != nil
	r.next = g.next
	return nil
}

type genericJSON struct {
	r     *Reader
	in    *lines
	parse func([]byte) (int64, error)
}

func (g *genericJSON) next(rec *Record) error {
	line, err := g.in.nonBlank(&g.r.report.BlankLines)
	if err != nil {
		return err
	}
	rec.Line = g.in.n
	var row map[string]json.RawMessage
	if err := json.Unmarshal(line, &row); err != nil {
		return jsonFault(g.r.name, g.in.n, line, err)
	}
	field := func(what string) ([]byte, error) {
		name := g.r.opt.Columns[what]
		v, ok := row[name]
		if !ok || string(v) == "null" {
			return nil, fmt.Errorf("key %q is missing%s", name, nearestKey(name, row))
		}
		return bytes.Trim(v, `"`), nil
	}
	err = func() error {
		if g.parse != nil {
			b, err := field("time")
			if err != nil {
				return err
			}
			if rec.Nanoseconds, err = g.parse(b); err != nil {
				return err
			}
		}
		for _, p := range []struct {
			what string
			to   *int32
		}{{"input", &rec.Input}, {"output", &rec.Output}} {
			b, err := field(p.what)
			if err != nil {
				return err
			}
			if *p.to, err = parseTokens(b); err != nil {
				return fmt.Errorf("%s: %w", g.r.opt.Columns[p.what], err)
			}
		}
		// Session and class may be absent from a row: not every request has them.
		if b, err := field("session"); err == nil {
			rec.Session = sessionID(b)
		}
		if b, err := field("class"); err == nil {
			rec.Class = g.r.intern(b)
		}
		return nil
	}()
	if err != nil {
		return &Error{File: g.r.name, Line: g.in.n, Column: 1, Problem: err.Error()}
	}
	return nil
}

func nearestKey(name string, row map[string]json.RawMessage) string {
	keys := make([]string, 0, len(row))
	for k := range row {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	if near := tomlfile.Nearest(name, keys); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return "; the keys are " + strings.Join(keys, ", ")
}
