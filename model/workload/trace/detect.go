package trace

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"scoville/model/tomlfile"
)

// newReader finds the format from the first bytes and sets up its reader.
func newReader(src io.Reader, name string, opt Options) (*Reader, error) {
	r, err := blankReader(name, opt)
	if err != nil {
		return nil, err
	}
	b, err := decompress(src, name)
	if err != nil {
		return nil, err
	}
	in := &lines{name: name, r: b, max: r.opt.MaxLine}
	const look = 64 << 10
	head, err := b.Peek(look)
	if err != nil && err != io.EOF && len(head) == 0 {
		return nil, &Error{File: name, Problem: err.Error()}
	}
	start := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(start) == 0 {
		return nil, &Error{File: name, Problem: "is empty"}
	}
	switch opt.Format {
	case ServeGen:
		return nil, &Error{File: name, Problem: "ServeGen data is a folder of chunk-N-trace.csv files; give the folder"}
	case Agent:
		return r, agentDocument(r, b)
	}
	if start[0] == '{' {
		return r, openJSON(r, b, in, start)
	}
	if start[0] == '[' {
		return nil, &Error{File: name, Line: 1, Column: 1, Problem: "is one JSON array; one object a line is expected"}
	}
	return r, openCSV(r, in, start)
}

func blankReader(name string, opt Options) (*Reader, error) {
	if opt.Format != "" {
		known := false
		for _, f := range Formats() {
			known = known || f == string(opt.Format)
		}
		if !known {
			near := tomlfile.Nearest(string(opt.Format), Formats())
			if near != "" {
				near = fmt.Sprintf(" (did you mean %q?)", near)
			}
			return nil, &Error{File: name, Problem: fmt.Sprintf("format %q is not known%s; the formats are %s", opt.Format, near, strings.Join(Formats(), ", "))}
		}
	}
	if opt.MaxRows <= 0 {
		opt.MaxRows = defaultMaxRows
	}
	if opt.MaxLine <= 0 {
		opt.MaxLine = defaultMaxLine
	}
	if opt.BlockTokens < 0 || opt.BlockTokens > 1<<20 {
		return nil, &Error{File: name, Problem: fmt.Sprintf("block size %d is not between 1 and %d tokens", opt.BlockTokens, 1<<20)}
	}
	return &Reader{name: name, opt: opt, atTime: map[uint64]bool{}, class: map[string]string{}, report: Report{Timed: true}}, nil
}

func openCSV(r *Reader, in *lines, start []byte) error {
	first, _, _ := bytes.Cut(start, []byte("\n"))
	first = bytes.TrimSuffix(first, []byte("\r"))
	var layout *csvLayout
	for i := range csvLayouts {
		l := &csvLayouts[i]
		if r.opt.Format == l.format || (r.opt.Format == "" && len(r.opt.Columns) == 0 && l.matches(first)) {
			layout = l
		}
	}
	if layout == nil && len(r.opt.Columns) == 0 && looksLikeServeGen(first) {
		return &Error{File: r.name, Line: 1, Problem: "looks like one client of a ServeGen folder (six numbers, no header); give the folder"}
	}
	if layout == nil && len(r.opt.Columns) == 0 && !bytes.ContainsRune(first, ',') {
		return &Error{File: r.name, Line: 1, Column: 1, Problem: fmt.Sprintf("starts with %q, which is neither a CSV header nor a JSON object", clip(first))}
	}
	t, err := newTable(r, in, layout)
	if err != nil {
		return err
	}
	r.next = t.next
	return nil
}

// matches reports whether a header line has the columns of the layout.
func (l *csvLayout) matches(header []byte) bool {
	has := map[string]bool{}
	for _, h := range strings.Split(string(header), ",") {
		has[strings.TrimSpace(h)] = true
	}
	return has[l.input] && has[l.output] && (l.time == "" || has[l.time])
}

func looksLikeServeGen(line []byte) bool {
	f := bytes.Split(line, []byte(","))
	if len(f) != 6 {
		return false
	}
	_, err := parseNumber(f[0], 1)
	return err == nil
}
