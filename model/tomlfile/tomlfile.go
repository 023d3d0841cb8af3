// Package tomlfile reads TOML strictly: an unknown key, a wrong type or a syntax error is an error that names the file,
// the line and the nearest valid key. Every file a user writes (plan, profile, price book, sweep) is read through it.
package tomlfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// MaxBytes bounds a TOML file; a plan or a profile is a few kilobytes.
const MaxBytes = 4 << 20

// Error is a fault in one place of one file.
type Error struct {
	File    string
	Line    int    // 1-based; 0 when the place is a whole file
	Key     string // dotted key, may be empty
	Problem string // what was found, what was expected
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Problem)
	return b.String()
}

// ReadFile decodes the file at path into v (a pointer to a struct). See Decode.
func ReadFile(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			return &Error{File: path, Problem: pe.Err.Error()}
		}
		return err
	}
	return Decode(path, data, v)
}

// Decode decodes data into v; name is used in errors. Unknown keys are errors.
func Decode(name string, data []byte, v any) error {
	if err := checkLimits(name, data); err != nil {
		return err
	}
	md, err := toml.Decode(string(data), v)
	if err != nil {
		return decodeError(name, err)
	}
	if un := md.Undecoded(); len(un) > 0 {
		key := un[0]
		last := key[len(key)-1]
		msg := "unknown key"
		if near := Nearest(last, knownKeys(reflect.TypeOf(v), nil)); near != "" {
			if near == last {
				near = pathTo(reflect.TypeOf(v), last, nil)
			}
			msg += fmt.Sprintf(" (did you mean %q?)", near)
		}
		return &Error{File: name, Line: LineOf(data, key), Key: key.String(), Problem: msg}
	}
	return nil
}

// Tree decodes data into nested maps, without a check of its keys.
func Tree(name string, data []byte) (map[string]any, error) {
	var tree map[string]any
	if err := checkLimits(name, data); err != nil {
		return nil, err
	}
	if _, err := toml.Decode(string(data), &tree); err != nil {
		return nil, decodeError(name, err)
	}
	return tree, nil
}

func decodeError(name string, err error) error {
	var pe toml.ParseError
	if errors.As(err, &pe) {
		return &Error{File: name, Line: pe.Position.Line, Key: pe.LastKey, Problem: pe.Message}
	}
	return typeError(name, err)
}

// typeErrorForm is how the decoder words a value of the wrong type; it carries the place only as text.
var typeErrorForm = regexp.MustCompile(`^toml: line (\d+) \(last key "(.*?)"\): (.*)$`)

func typeError(name string, err error) error {
	m := typeErrorForm.FindStringSubmatch(err.Error())
	if m == nil {
		return &Error{File: name, Problem: strings.TrimPrefix(err.Error(), "toml: ")}
	}
	line, _ := strconv.Atoi(m[1]) // the form admits digits only
	return &Error{File: name, Line: line, Key: m[2], Problem: m[3]}
}

// LineOf finds the line on which a dotted key is assigned, 0 if it can't be told. It is a text search that follows
// [table] headers, good enough to point a reader at the place.
func LineOf(data []byte, key []string) int {
	if len(key) == 0 {
		return 0
	}
	table, last := "", key[len(key)-1]
	wantTable := strings.Join(key[:len(key)-1], ".")
	fallback := 0
	for i, line := range strings.Split(string(data), "\n") {
		t := strings.TrimSpace(line)
		if strings.HasPrefix(t, "[") {
			table = strings.Trim(strings.SplitN(t, "#", 2)[0], "[] \t\r")
			if table == strings.Join(key, ".") {
				return i + 1
			}
			continue
		}
		name, _, ok := strings.Cut(t, "=")
		if !ok {
			continue
		}
		name = strings.Trim(strings.TrimSpace(name), `"'`)
		if name == last && table == wantTable {
			return i + 1
		}
		if fallback == 0 && (strings.Contains(t, last+" ") || strings.Contains(t, last+"=")) && strings.HasSuffix(wantTable, name) {
			fallback = i + 1
		}
	}
	return fallback
}

func knownKeys(t reflect.Type, seen []reflect.Type) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, s := range seen {
		if s == t {
			return nil
		}
	}
	seen = append(seen, t)
	var keys []string
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		if tag == "-" || !f.IsExported() {
			continue
		}
		if tag == "" {
			tag = strings.ToLower(f.Name)
		}
		keys = append(keys, tag)
		keys = append(keys, knownKeys(f.Type, seen)...)
	}
	return keys
}

// pathTo is the first dotted key of t, in the order of its fields and the shallowest of a level first, that ends in last.
func pathTo(t reflect.Type, last string, seen []reflect.Type) string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || slices.Contains(seen, t) {
		return ""
	}
	seen = append(seen[:len(seen):len(seen)], t)
	deeper := ""
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		if tag == "-" || !f.IsExported() {
			continue
		}
		if tag == "" {
			tag = strings.ToLower(f.Name)
		}
		if tag == last {
			return tag
		}
		if in := pathTo(f.Type, last, seen); in != "" && deeper == "" {
			deeper = tag + "." + in
		}
	}
	return deeper
}

// Nearest returns the candidate closest to name by edit distance, or "" when none is within a third of its length.
// Ties go to the alphabetically first, so that messages are reproducible.
func Nearest(name string, candidates []string) string {
	sorted := append([]string(nil), candidates...)
	sort.Strings(sorted)
	best, bestDistance := "", max(2, len(name)/3)+1
	fold := strings.ToLower(name)
	for _, c := range sorted {
		d := distance(fold, strings.ToLower(c))
		if strings.HasPrefix(strings.ToLower(c), fold) && len(fold) >= 3 {
			d = min(d, 2)
		}
		if d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance is the optimal string alignment distance in bytes: insertions, deletions, substitutions and swaps of neighbours.
func distance(a, b string) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, above, row = above, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
