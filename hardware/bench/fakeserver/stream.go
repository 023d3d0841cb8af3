package fakeserver

import (
	"fmt"
	"net/http"
	"strings"
)

// stream writes one answer in the dialect asked for.
type stream struct {
	w       http.ResponseWriter
	flusher http.Flusher
	d       *Dialect
	chat    bool
	id      string
	echo    string
	usage   string
	prompt  int
	made    int
	buf     []byte
}

func (s *stream) run(n int, next func() bool) {
	d := s.d
	s.flush() // headers
	if d.RoleChunk {
		s.chunk(`{"role":"assistant","content":""}`, `""`, "null")
	}
	per := max(d.TokensPerChunk, 1)
	for s.made < n && !d.NoTokens {
		batch := min(per, n-s.made)
		for range batch {
			if !next() {
				return
			}
		}
		s.made += batch
		if d.ErrorAfter > 0 && s.made > d.ErrorAfter {
			s.fail()
			return
		}
		if d.EmptyChunks {
			s.chunk(`{"content":null,"tool_calls":null}`, `""`, "null")
		}
		finish := "null"
		if s.made >= n && !d.NoFinish {
			finish = `"length"`
			if d.MaxTokensPerAnswer > 0 {
				finish = `"stop"`
			}
		}
		s.token(strings.Repeat(" 好", batch)+strings.Repeat("x", d.Pad), finish)
		if d.CutAfter > 0 && s.made >= d.CutAfter {
			panic(http.ErrAbortHandler)
		}
		if d.Comments {
			s.line(": ping")
			s.line("")
			s.event(": OPENROUTER PROCESSING")
		}
	}
	if s.usage == "last" || s.usage == "nulls" || s.usage == "every" {
		s.event(fmt.Sprintf(`{"id":"%s","choices":[],"usage":%s}`, s.id, s.counts()))
	}
	if !d.NoDone {
		s.event("[DONE]")
	}
	s.flush()
}

func (s *stream) counts() string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}`, s.prompt, s.made, s.prompt+s.made, s.d.CachedTokens)
}

func (s *stream) token(text, finish string) {
	delta := fmt.Sprintf(`{"content":"%s"}`, text)
	if s.made <= s.d.Reasoning {
		field := s.d.ReasoningField
		if field == "" {
			field = "reasoning_content"
		}
		delta = fmt.Sprintf(`{"%s":"%s","content":null}`, field, text)
	} else if s.d.ToolCalls {
		delta = fmt.Sprintf(`{"content":null,"tool_calls":[{"index":0,"function":{"arguments":"%s"}}]}`, text)
	}
	s.chunk(delta, `"`+text+`"`, finish)
}

func (s *stream) chunk(delta, text, finish string) {
	usage := ""
	switch s.usage {
	case "every":
		usage = `,"usage":` + s.counts()
	case "nulls":
		usage = `,"usage":null`
	}
	if s.chat {
		s.event(fmt.Sprintf(`{"id":"%s","object":"chat.completion.chunk","choices":[{"index":0,"delta":%s,"finish_reason":%s}]%s}`, s.id, delta, finish, usage))
		return
	}
	s.event(fmt.Sprintf(`{"id":"%s","object":"text_completion","choices":[{"index":0,"text":%s,"finish_reason":%s}]%s}`, s.id, text, finish, usage))
}

func (s *stream) fail() {
	if s.d.ErrorEvent {
		s.line("event: error")
	}
	s.event(`{"error":{"message":"CUDA out of memory` + s.echo + `","code":500}}`)
	s.event("[DONE]")
	s.flush()
}

func (s *stream) event(data string) {
	prefix := "data: "
	if s.d.NoSpace {
		prefix = "data:"
	}
	if s.d.SplitData && strings.HasPrefix(data, "{") {
		s.line(prefix + "{")
		data = data[1:]
	}
	s.line(prefix + data)
	s.line("")
	if s.d.WriteBytes == 0 {
		s.flush()
	}
}

func (s *stream) line(text string) {
	end := s.d.LineEnd
	if end == "" {
		end = "\n"
	}
	s.buf = append(append(s.buf, text...), end...)
	for n := s.d.WriteBytes; n > 0 && len(s.buf) >= n; {
		s.write(s.buf[:n])
		s.buf = s.buf[n:]
	}
}

func (s *stream) flush() {
	s.write(s.buf)
	s.buf = s.buf[:0]
}

func (s *stream) write(b []byte) {
	if _, err := s.w.Write(b); err != nil {
		return // the client has gone
	}
	if s.flusher != nil {
		s.flusher.Flush()
	}
}
