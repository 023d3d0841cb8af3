package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// lines splits a stream into lines, CR LF or LF, with or without a last newline, and counts them.
type lines struct {
	name string
	r    *bufio.Reader
	n    int64 // of the line last returned
	max  int
	long []byte // buffer of lines longer than the reader's
}

// next returns the next line without its end. It is valid until the following call.
func (l *lines) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = append(l.long[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(l.long) > l.max {
				return nil, &Error{File: l.name, Line: l.n + 1, Problem: fmt.Sprintf("the line is longer than %d bytes", l.max)}
			}
			line, err = l.r.ReadSlice('\n')
			l.long = append(l.long, line...)
		}
		line = l.long
	}
	if err != nil && (err != io.EOF || len(line) == 0) {
		if err == io.EOF {
			return nil, io.EOF
		}
		return nil, &Error{File: l.name, Line: l.n + 1, Problem: err.Error()}
	}
	l.n++
	line = bytes.TrimSuffix(line, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if l.n == 1 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	return line, nil
}

// nonBlank skips blank lines, counting them.
func (l *lines) nonBlank(blank *int64) ([]byte, error) {
	for {
		line, err := l.next()
		if err != nil || len(bytes.TrimSpace(line)) > 0 {
			return line, err
		}
		*blank++
	}
}

// decompress returns a reader of the plain content: gzip is found by its magic number.
func decompress(r io.Reader, name string) (*bufio.Reader, error) {
	const buffer = 256 << 10
	b := bufio.NewReaderSize(r, buffer)
	magic, err := b.Peek(2)
	if err != nil && err != io.EOF {
		return nil, &Error{File: name, Problem: err.Error()}
	}
	if len(magic) < 2 || magic[0] != 0x1f || magic[1] != 0x8b {
		return b, nil
	}
	counted := &counter{r: b}
	z, err := gzip.NewReader(counted)
	if err != nil {
		return nil, &Error{File: name, Problem: "starts like gzip but is not: " + err.Error()}
	}
	return bufio.NewReaderSize(&ratioGuard{z: z, in: counted}, buffer), nil
}

// counter counts bytes read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// ratioGuard stops a gzip bomb: traces compress 3 to 30 times, a bomb about 1000 times.
type ratioGuard struct {
	z   io.Reader
	in  *counter
	out int64
}

const (
	maxRatio    = 300
	ratioIgnore = 16 << 20 // bytes before the ratio is looked at
)

func (g *ratioGuard) Read(p []byte) (int, error) {
	n, err := g.z.Read(p)
	g.out += int64(n)
	if g.out > ratioIgnore && g.out > maxRatio*g.in.n {
		return 0, fmt.Errorf("gzip content expands more than %d times, which no trace does; unpack it by hand if it is meant", maxRatio)
	}
	return n, err
}
