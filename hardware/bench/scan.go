package bench

import (
	"errors"
	"strconv"
)

// A JSON walker without allocation: at two hundred thousand events a second a general decoder would be the bottleneck.
// It checks structure, not every rule of JSON; the fuzz test holds it against encoding/json.

var errJSON = errors.New("not JSON")

const scanMaxDepth = 64

type scanner struct {
	b     []byte
	i     int
	depth int
}

func (s *scanner) space() byte {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return s.b[s.i]
		}
	}
	return 0
}

// str returns the raw text between the quotes.
func (s *scanner) str() ([]byte, error) {
	if s.space() != '"' {
		return nil, errJSON
	}
	s.i++
	start := s.i
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case '\\':
			s.i++
		case '"':
			s.i++
			return s.b[start : s.i-1], nil
		}
		s.i++
	}
	return nil, errJSON
}

// object calls f for each key, with the scanner at the value; f must consume it.
func (s *scanner) object(f func(key []byte) error) error {
	return s.items('{', '}', func() error {
		key, err := s.str()
		if err != nil {
			return err
		}
		if s.space() != ':' {
			return errJSON
		}
		s.i++
		return f(key)
	})
}

// array calls f with the scanner at each element; f must consume it.
func (s *scanner) array(f func() error) error { return s.items('[', ']', f) }

func (s *scanner) items(open, end byte, f func() error) error {
	if s.space() != open {
		return errJSON
	}
	s.i++
	if s.depth++; s.depth > scanMaxDepth {
		return errJSON
	}
	defer func() { s.depth-- }()
	if s.space() == end {
		s.i++
		return nil
	}
	for {
		if err := f(); err != nil {
			return err
		}
		switch s.space() {
		case ',':
			s.i++
		case end:
			s.i++
			return nil
		default:
			return errJSON
		}
	}
}

// skip passes over any value.
func (s *scanner) skip() error {
	switch c := s.space(); {
	case c == '{':
		return s.object(func([]byte) error { return s.skip() })
	case c == '[':
		return s.array(s.skip)
	case c == '"':
		_, err := s.str()
		return err
	case c == 0:
		return errJSON
	}
	start := s.i
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '+' || c == '.':
			s.i++
			continue
		}
		break
	}
	if s.i == start {
		return errJSON
	}
	return nil
}

// raw returns the bytes of any value.
func (s *scanner) raw() ([]byte, error) {
	s.space()
	start := s.i
	err := s.skip()
	return s.b[start:s.i], err
}

// integer reads a number; null and anything else is skipped and gives ok false.
func (s *scanner) integer() (n int, ok bool, err error) {
	raw, err := s.raw()
	if err != nil || len(raw) == 0 || len(raw) > 18 || raw[0] == '"' {
		return 0, false, err
	}
	f, failed := strconv.ParseFloat(string(raw), 64)
	return int(f), failed == nil, nil
}

// filled reports whether the value is a non-empty string, array or object, and how many bytes it has.
func (s *scanner) filled() (size int, err error) {
	c := s.space()
	raw, err := s.raw()
	if err != nil || len(raw) <= 2 || c != '"' && c != '[' && c != '{' {
		return 0, err
	}
	return len(raw) - 2, nil
}
