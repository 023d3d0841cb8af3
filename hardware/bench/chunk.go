package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Usage is the server's own count of tokens.
type Usage struct {
	Prompt, Completion, Cached, Reasoning int
}

// Chunk is what one event of a stream says.
type Chunk struct {
	Text      int // bytes of visible text, tool calls included
	Reasoning int // bytes of reasoning
	Finish    string
	Usage     Usage
	HasUsage  bool
	Done      bool
	Error     string // the server's error, in the body of a stream that began well
	Code      string
}

// Generated reports whether the chunk carries generated tokens of any channel.
func (c *Chunk) Generated() bool { return c.Text > 0 || c.Reasoning > 0 }

// ParseChunk reads the data of one event. Comments that a proxy wrapped in data, and empty data, give an empty chunk.
func ParseChunk(event, data []byte) (c Chunk, err error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || data[0] == ':' {
		return c, nil
	}
	if string(data) == "[DONE]" {
		c.Done = true
		return c, nil
	}
	if data[0] != '{' {
		if string(event) == "error" {
			c.Error = clip(string(data))
			return c, nil
		}
		return c, fmt.Errorf("event is not JSON: %q", clip(string(data)))
	}
	s := scanner{b: data}
	if err = s.object(func(key []byte) error { return c.field(&s, key) }); err == nil && s.space() != 0 {
		err = errJSON
	}
	if err != nil {
		return c, fmt.Errorf("event is not JSON: %q", clip(string(data)))
	}
	if string(event) == "error" && c.Error == "" {
		c.Error = clip(string(data))
	}
	return c, nil
}

func (c *Chunk) field(s *scanner, key []byte) (err error) {
	switch string(key) {
	case "choices":
		if s.space() == '[' {
			return s.array(func() error { return c.choice(s) })
		}
	case "usage":
		if s.space() == '{' {
			c.HasUsage = true
			return s.object(func(key []byte) error { return c.usage(s, key) })
		}
	case "error":
		raw, err := s.raw()
		if err == nil && string(raw) != "null" {
			c.Error, c.Code = errorText(raw)
		}
		return err
	case "token": // text-generation-inference's own protocol
		if s.space() == '{' {
			return s.object(func(key []byte) error {
				if string(key) == "text" {
					n, err := s.filled()
					c.Text += n
					return err
				}
				return s.skip()
			})
		}
	}
	return s.skip()
}

func (c *Chunk) choice(s *scanner) error {
	if s.space() != '{' {
		return s.skip()
	}
	return s.object(func(key []byte) error {
		switch string(key) {
		case "delta", "message":
			if s.space() == '{' {
				return s.object(func(key []byte) error { return c.delta(s, key) })
			}
		case "text":
			n, err := s.filled()
			c.Text += n
			return err
		case "finish_reason":
			if s.space() == '"' {
				text, err := s.str()
				c.Finish = finish(text)
				return err
			}
		}
		return s.skip()
	})
}

func (c *Chunk) delta(s *scanner, key []byte) error {
	switch string(key) {
	case "content", "tool_calls", "function_call", "refusal":
		n, err := s.filled()
		c.Text += n
		return err
	case "reasoning_content", "reasoning":
		n, err := s.filled()
		c.Reasoning = max(c.Reasoning, n) // some servers send both names
		return err
	}
	return s.skip()
}

func (c *Chunk) usage(s *scanner, key []byte) (err error) {
	switch string(key) {
	case "prompt_tokens":
		c.Usage.Prompt, _, err = s.integer()
	case "completion_tokens":
		c.Usage.Completion, _, err = s.integer()
	case "prompt_tokens_details", "completion_tokens_details":
		if s.space() != '{' {
			return s.skip()
		}
		return s.object(func(key []byte) (err error) {
			switch string(key) {
			case "cached_tokens":
				c.Usage.Cached, _, err = s.integer()
			case "reasoning_tokens":
				c.Usage.Reasoning, _, err = s.integer()
			default:
				err = s.skip()
			}
			return err
		})
	default:
		err = s.skip()
	}
	return err
}

// finish interns the usual reasons, so that no chunk allocates for them.
func finish(text []byte) string {
	switch string(text) {
	case "stop":
		return "stop"
	case "length":
		return "length"
	}
	return clip(string(text))
}

func errorText(raw []byte) (text, code string) {
	var e struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
	}
	if json.Unmarshal(raw, &e) == nil && e.Message != "" {
		if e.Code != nil {
			code = fmt.Sprint(e.Code)
		}
		return clip(e.Message), clip(code)
	}
	return clip(string(raw)), ""
}

func clip(s string) string {
	const most = 200
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

var errTruncated = errors.New("the stream ended without [DONE] and without a finish reason")
