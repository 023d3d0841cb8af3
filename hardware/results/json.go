package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// doc is a decoded JSON object; lookups tolerate missing keys and odd types.
type doc map[string]any

// clean drops a byte order mark and quotes the bare Infinity and NaN that Python writes.
func clean(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !bytes.Contains(data, []byte("Infinity")) && !bytes.Contains(data, []byte("NaN")) {
		return data
	}
	out := make([]byte, 0, len(data)+64)
	inString := false
	for i := 0; i < len(data); i++ {
		c := data[i]
		switch {
		case inString && c == '\\' && i+1 < len(data):
			out = append(out, c, data[i+1])
			i++
			continue
		case c == '"':
			inString = !inString
		case !inString && (c == 'I' || c == 'N' || c == '-'):
			if word := bareWord(data[i:]); word != "" {
				out = append(append(append(out, '"'), word...), '"')
				i += len(word) - 1
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

func bareWord(b []byte) string {
	for _, w := range []string{"Infinity", "-Infinity", "NaN"} {
		if bytes.HasPrefix(b, []byte(w)) {
			return w
		}
	}
	return ""
}

// documents decodes one or several concatenated JSON values. A last value that is cut off is dropped when others came before it.
func documents(data []byte) (docs []any, truncated bool, err error) {
	dec := json.NewDecoder(bytes.NewReader(clean(data)))
	for {
		var v any
		err := dec.Decode(&v)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if len(docs) > 0 && errors.Is(err, io.ErrUnexpectedEOF) {
				return docs, true, nil
			}
			return nil, false, jsonError(data, dec.InputOffset(), err)
		}
		docs = append(docs, v)
	}
	if len(docs) == 0 {
		return nil, false, errors.New("no JSON value")
	}
	return docs, false, nil
}

func jsonError(data []byte, offset int64, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset = max(offset, syntax.Offset)
	}
	line := 1 + bytes.Count(data[:min(int(offset), len(data))], []byte("\n"))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("line %d: the file is cut off inside a JSON value", line)
	}
	return fmt.Errorf("line %d: not JSON: %w", line, err)
}

// number reads a JSON number, or a string that holds one; ok is false for anything else and for NaN.
func number(v any) (float64, bool) {
	switch x := v.(type) {
	case float64:
		return x, true
	case bool, nil:
		return 0, false
	case string:
		s := strings.TrimSpace(x)
		switch strings.ToLower(s) {
		case "inf", "infinity":
			return math.Inf(1), true
		}
		f, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
		return f, err == nil && !math.IsNaN(f)
	}
	return 0, false
}

func (d doc) num(keys ...string) float64 { f, _ := d.opt(keys...); return f }

// opt returns the first of the keys that holds a number.
func (d doc) opt(keys ...string) (float64, bool) {
	for _, k := range keys {
		if f, ok := number(d[k]); ok {
			return f, true
		}
	}
	return 0, false
}

func (d doc) count(keys ...string) int { return whole(d.num(keys...)) }

// whole converts without overflow.
func whole(f float64) int {
	if math.IsNaN(f) || math.Abs(f) > 1e15 {
		return 0
	}
	return int(math.Round(f))
}

func (d doc) str(keys ...string) string {
	for _, k := range keys {
		if s, ok := d[k].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

func (d doc) has(keys ...string) bool {
	for _, k := range keys {
		if _, ok := d[k]; !ok {
			return false
		}
	}
	return true
}

func (d doc) sub(keys ...string) doc {
	for _, k := range keys {
		if m, ok := d[k].(map[string]any); ok {
			return m
		}
	}
	return nil
}

func (d doc) list(key string) []any {
	l, _ := d[key].([]any)
	return l
}

func (d doc) path(keys ...string) doc {
	for _, k := range keys {
		d = d.sub(k)
	}
	return d
}

func asDoc(v any) doc {
	m, _ := v.(map[string]any)
	return m
}

func floats(v any) []float64 {
	l, ok := v.([]any)
	if !ok {
		return nil
	}
	out := make([]float64, len(l))
	for i, x := range l {
		out[i], _ = number(x)
	}
	return out
}

// scalarText renders a parameter; ok is false for lists and objects.
func scalarText(v any) (string, bool) {
	switch x := v.(type) {
	case string:
		return x, x != ""
	case bool:
		return strconv.FormatBool(x), true
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64), true
	}
	return "", false
}
