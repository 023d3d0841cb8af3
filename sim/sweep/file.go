// Package sweep answers a plan many times: once for each point of a grid or a list over fields of the plan. A point is a
// pure function of its inputs, kept under a hash of them, so a sweep can be broken off and resumed, run in shards by any
// batch scheduler, and merged into the same bytes whichever way it was run.
package sweep

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"
	"scoville/model/tomlfile"
)

// Limits of a sweep file.
const (
	MaxPoints = 100_000
	maxAxes   = 16
	maxValues = 10_000 // of one axis
)

// File is a sweep file as written; docs/sweeps.md is its reference.
type File struct {
	Title   string     `toml:"title"`
	Plan    string     `toml:"plan"`  // plan file, relative to the sweep file
	Seeds   []uint64   `toml:"seeds"` // each point is run with each; default: 1
	Grid    Settings   `toml:"grid"`  // dotted keys of the plan, each with a list of values
	Points  []Settings `toml:"point"` // dotted keys of the plan, each with its value; a grid is laid over each
	Heatmap Heatmap    `toml:"heatmap"`

	path string
	text []byte
	axes []axis
}

// Settings is keys of a plan with their values, dotted or in tables.
type Settings map[string]any

// UnmarshalTOML takes any table; which keys there may be is for the plan to judge.
func (s *Settings) UnmarshalTOML(v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("is %v; a table of keys of the plan is expected", v)
	}
	*s = m
	return nil
}

// Heatmap chooses what heatmap.png shows. The default is the first two axes that vary, and $ per million tokens.
type Heatmap struct {
	X     string `toml:"x"`
	Y     string `toml:"y"`
	Value string `toml:"value"` // a numeric column of the table
}

// axis is one field that varies over the sweep, its values as TOML.
type axis struct {
	key    string
	values []string
}

// Read reads a sweep file.
func Read(path string) (*File, error) {
	text, err := readBounded(path, tomlfile.MaxBytes)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Parse is Read with the text at hand.
func Parse(path string, text []byte) (*File, error) {
	f := &File{path: path, text: text}
	if err := tomlfile.Decode(path, text, f); err != nil {
		return nil, err
	}
	if f.Plan == "" {
		return nil, f.errorAt("plan", "is missing: the plan file that the sweep varies")
	}
	if len(f.Seeds) == 0 {
		f.Seeds = []uint64{1}
	}
	flat, err := f.flatten("grid", f.Grid)
	if err != nil {
		return nil, err
	}
	for _, key := range sortedKeys(flat) {
		list, ok := flat[key].([]any)
		if !ok {
			return nil, f.errorAt("grid."+key, "is %v; a list of values is expected", flat[key])
		}
		a, err := f.axis(key, list)
		if err != nil {
			return nil, err
		}
		f.axes = append(f.axes, a)
	}
	return f, f.check()
}

func (f *File) axis(key string, list []any) (axis, error) {
	a := axis{key: key}
	if len(list) == 0 || len(list) > maxValues {
		return a, f.errorAt("grid."+key, "has %d values; 1 to %d are expected", len(list), maxValues)
	}
	seen := map[string]bool{}
	for _, v := range list {
		s, err := literal(v)
		if err != nil {
			return a, f.errorAt("grid."+key, "%v", err)
		}
		if seen[s] {
			return a, f.errorAt("grid."+key, "has the value %s twice", s)
		}
		seen[s] = true
		a.values = append(a.values, s)
	}
	return a, nil
}

func (f *File) check() error {
	if len(f.axes) == 0 && len(f.Points) == 0 {
		return f.errorAt("", "neither [grid] nor [[point]] is given; at least one is needed")
	}
	if len(f.axes) > maxAxes {
		return f.errorAt("grid", "has %d keys; at most %d are expected", len(f.axes), maxAxes)
	}
	n := max(1, len(f.Points)) * len(f.Seeds)
	for _, a := range f.axes {
		if n *= len(a.values); n > MaxPoints {
			break // before it can overflow
		}
	}
	if n > MaxPoints {
		return f.errorAt("grid", "makes more than %d points; at most that many are run", MaxPoints)
	}
	seen := map[uint64]bool{}
	for _, s := range f.Seeds {
		if seen[s] {
			return f.errorAt("seeds", "has %d twice", s)
		}
		seen[s] = true
	}
	return nil
}

// settings lists the overrides of each point, in the order of the sweep: [[point]]s, then the grid with its last key
// fastest, then seeds.
func (f *File) settings() ([][]string, error) {
	base := [][]string{nil}
	if len(f.Points) > 0 {
		base = nil
	}
	for i, p := range f.Points {
		place := fmt.Sprintf("point %d", i+1)
		flat, err := f.flatten(place, p)
		if err != nil {
			return nil, err
		}
		var set []string
		for _, key := range sortedKeys(flat) {
			s, err := literal(flat[key])
			if err != nil {
				return nil, f.errorAt(place+": "+key, "%v", err)
			}
			for _, a := range f.axes {
				if a.key == key {
					return nil, f.errorAt(place+": "+key, "stands in [grid] too")
				}
			}
			set = append(set, key+"="+s)
		}
		base = append(base, set)
	}
	for _, a := range f.axes {
		var next [][]string
		for _, set := range base {
			for _, v := range a.values {
				next = append(next, append(set[:len(set):len(set)], a.key+"="+v))
			}
		}
		base = next
	}
	return base, nil
}

// flatten turns nested tables into dotted keys: [grid] sla.ttft_p99 = [...] and "sla.ttft_p99" = [...] mean the same.
func (f *File) flatten(place string, tree map[string]any) (map[string]any, error) {
	out := map[string]any{}
	var walk func(prefix string, node map[string]any) error
	walk = func(prefix string, node map[string]any) error {
		for _, k := range sortedKeys(node) {
			key := strings.TrimPrefix(prefix+"."+k, ".")
			if strings.ContainsAny(key, "= \t\r\n") || strings.Contains(key, "..") || strings.HasSuffix(key, ".") {
				return f.errorAt(place, "%q is no key of a plan", key)
			}
			if sub, ok := node[k].(map[string]any); ok {
				if err := walk(key, sub); err != nil {
					return err
				}
				continue
			}
			if _, twice := out[key]; twice {
				return f.errorAt(place, "%q is given twice", key)
			}
			out[key] = node[k]
		}
		return nil
	}
	return out, walk("", tree)
}

// literal writes a value as TOML on one line. Tables and dates are no values of a plan's fields.
func literal(v any) (string, error) {
	switch v := v.(type) {
	case string, bool, int64, float64:
		var b bytes.Buffer
		if err := toml.NewEncoder(&b).Encode(map[string]any{"v": v}); err != nil {
			return "", err
		}
		return strings.TrimSpace(strings.TrimPrefix(b.String(), "v = ")), nil
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			if _, nested := e.([]any); nested {
				return "", fmt.Errorf("%v is a list in a list in a list; a value or a list of values is expected", v)
			}
			s, err := literal(e)
			if err != nil {
				return "", err
			}
			parts[i] = s
		}
		return "[" + strings.Join(parts, ", ") + "]", nil
	}
	return "", fmt.Errorf("%v is neither text, number, true or false, nor a list of these", v)
}

func (f *File) errorAt(key, form string, args ...any) error {
	e := &tomlfile.Error{File: f.path, Key: key, Problem: fmt.Sprintf(form, args...)}
	if key != "" {
		e.Line = tomlfile.LineOf(f.text, strings.Split(key, "."))
	}
	return e
}

// planPath is the plan file's path.
func (f *File) planPath() string {
	if filepath.IsAbs(f.Plan) {
		return f.Plan
	}
	return filepath.Join(filepath.Dir(f.path), f.Plan)
}

// readBounded reads a file of at most limit bytes. Devices and pipes, which may never end, are refused.
func readBounded(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			return nil, &tomlfile.Error{File: path, Problem: pe.Err.Error()}
		}
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &tomlfile.Error{File: path, Problem: "is not a regular file"}
	}
	if info.Size() > limit {
		return nil, &tomlfile.Error{File: path, Problem: fmt.Sprintf("file is %d bytes; at most %d are read", info.Size(), limit)}
	}
	return os.ReadFile(path)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
