package trace

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Writer writes requests in the format of our own (see docs/traces.md).
type Writer struct {
	w    *bufio.Writer
	line []byte
	err  error
}

// NewWriter writes the header. Call Flush at the end.
func NewWriter(w io.Writer) *Writer {
	t := &Writer{w: bufio.NewWriterSize(w, 1<<16)}
	_, t.err = t.w.WriteString("arrival_seconds,input_tokens,output_tokens,class,session,prefix\n")
	return t
}

// Write appends one record; its time is written in seconds with nine digits.
func (t *Writer) Write(r *Record) error {
	if t.err != nil {
		return t.err
	}
	if strings.ContainsAny(r.Class, ",\"\r\n") {
		return fmt.Errorf("class name %q holds a comma, a quote or a line end", r.Class)
	}
	if r.Nanoseconds < 0 {
		return fmt.Errorf("time %d ns is before the start of the trace", r.Nanoseconds)
	}
	b := t.line[:0]
	b = strconv.AppendInt(b, r.Nanoseconds/1e9, 10)
	b = append(b, '.')
	fraction := r.Nanoseconds % 1e9
	for unit := int64(1e8); unit > 0; unit /= 10 {
		b = append(b, byte('0'+fraction/unit%10))
	}
	b = append(b, ',')
	b = strconv.AppendInt(b, int64(r.Input), 10)
	b = append(b, ',')
	b = strconv.AppendInt(b, int64(r.Output), 10)
	b = append(b, ',')
	b = append(b, r.Class...)
	b = append(b, ',')
	if r.Session != 0 {
		b = strconv.AppendUint(b, r.Session, 10)
	}
	b = append(b, ',')
	for i, k := range r.Blocks {
		if i > 0 {
			b = append(b, ';')
		}
		b = strconv.AppendUint(b, k.Key, 16)
		b = append(b, ':')
		b = strconv.AppendInt(b, int64(k.Tokens), 10)
	}
	b = append(b, '\n')
	t.line = b
	_, t.err = t.w.Write(b)
	return t.err
}

// Flush writes out what is buffered.
func (t *Writer) Flush() error {
	if t.err != nil {
		return t.err
	}
	return t.w.Flush()
}
