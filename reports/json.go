package reports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"scoville/sim/plan"
)

// JSON writes the result itself, indented: the form `scoville report` reads back.
func JSON(w io.Writer, r *plan.Result) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// maxResultBytes bounds a saved result; a plan of dozens of candidates is a few megabytes.
const maxResultBytes = 256 << 20

// Read reads a saved result strictly: an unknown field, another schema or trailing text is an error that names the file.
func Read(path string) (*plan.Result, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s: is a folder; expected a result saved as JSON", path)
	}
	if info.Size() > maxResultBytes {
		return nil, fmt.Errorf("%s: %d bytes; a saved result has at most %d", path, info.Size(), maxResultBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Decode(path, data)
}

// Decode is Read with the content at hand; name is used in errors.
func Decode(name string, data []byte) (*plan.Result, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("%s: %w", place(name, data, err), err)
	}
	if head.Schema != plan.Schema {
		return nil, fmt.Errorf("%s: schema is %q; this version reads %q", name, head.Schema, plan.Schema)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var r plan.Result
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("%s: %w", place(name, data, err), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: text after the result", name)
	}
	for i, c := range r.Candidates {
		if c.Name == "" {
			return nil, fmt.Errorf("%s: candidates[%d].name is empty", name, i)
		}
	}
	return &r, nil
}

// place is file:line of a JSON error, where the error tells.
func place(name string, data []byte, err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	offset := int64(-1)
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	}
	if offset < 0 || offset > int64(len(data)) {
		return name
	}
	return fmt.Sprintf("%s:%d", name, 1+bytes.Count(data[:offset], []byte("\n")))
}
