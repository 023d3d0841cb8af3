package bench

import (
	"bytes"
	"fmt"
)

// maxEventBytes bounds one event of the stream.
const maxEventBytes = 16 << 20

var bom = []byte("\xef\xbb\xbf")

// Parser reads server-sent events byte by byte as they come: lines end in LF, CRLF or CR, a blank line ends an event, data lines are joined
// by LF, one space after the colon is dropped, comments and id and retry fields are passed over. The zero value is ready.
type Parser struct {
	line    []byte // the part of a line seen so far
	data    []byte
	event   []byte
	hasData bool
	skipLF  bool // the last byte was a CR: a LF that follows belongs to it
	begun   bool // past the first line, where a byte order mark may stand
}

// Feed takes the next bytes and calls emit for every finished event. data is valid during the call only.
func (p *Parser) Feed(b []byte, emit func(event, data []byte) error) error {
	for len(b) > 0 {
		if p.skipLF {
			p.skipLF = false
			if b[0] == '\n' {
				b = b[1:]
				continue
			}
		}
		end := bytes.IndexByte(b, '\n')
		part := b
		if end >= 0 {
			part = b[:end]
		}
		if cr := bytes.IndexByte(part, '\r'); cr >= 0 {
			end = cr
			p.skipLF = true
		}
		if end < 0 {
			p.line = append(p.line, b...)
			return p.tooLong(len(p.line))
		}
		line := b[:end]
		if len(p.line) > 0 {
			p.line = append(p.line, line...)
			line = p.line
		}
		err := p.take(line, emit)
		p.line = p.line[:0]
		if err != nil {
			return err
		}
		b = b[end+1:]
	}
	return nil
}

// Close ends the stream: an event without its blank line still counts.
func (p *Parser) Close(emit func(event, data []byte) error) error {
	if len(p.line) > 0 {
		if err := p.take(p.line, emit); err != nil {
			return err
		}
		p.line = p.line[:0]
	}
	return p.dispatch(emit)
}

func (p *Parser) tooLong(n int) error {
	if n+len(p.data) > maxEventBytes {
		return fmt.Errorf("an event of more than %d bytes", maxEventBytes)
	}
	return nil
}

func (p *Parser) take(line []byte, emit func(event, data []byte) error) error {
	if !p.begun {
		p.begun = true
		line = bytes.TrimPrefix(line, bom)
	}
	if len(line) == 0 {
		return p.dispatch(emit)
	}
	name, value, _ := bytes.Cut(line, []byte{':'})
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "data":
		if p.hasData {
			p.data = append(p.data, '\n')
		}
		p.data = append(p.data, value...)
		p.hasData = true
		return p.tooLong(0)
	case "event":
		p.event = append(p.event[:0], value...)
	}
	return nil // a comment has an empty name; id, retry and unknown fields don't matter here
}

func (p *Parser) dispatch(emit func(event, data []byte) error) error {
	if !p.hasData {
		p.event = p.event[:0]
		return nil
	}
	err := emit(p.event, p.data)
	p.data, p.event, p.hasData = p.data[:0], p.event[:0], false
	return err
}
