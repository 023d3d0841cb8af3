package bench

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func events(t testing.TB, stream string, size int) (out []string) {
	var p Parser
	emit := func(_, data []byte) error { out = append(out, string(data)); return nil }
	for b := []byte(stream); len(b) > 0; {
		n := min(size, len(b))
		if err := p.Feed(b[:n], emit); err != nil {
			t.Fatal(err)
		}
		b = b[n:]
	}
	if err := p.Close(emit); err != nil {
		t.Fatal(err)
	}
	return out
}

// Every stream gives the same events however the network cuts it.
func TestParser(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for name, c := range map[string]struct {
		stream string
		want   []string
	}{
		"LF":                 {"data: a\n\ndata: b\n\n", []string{"a", "b"}},
		"CRLF":               {"data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}},
		"lone CR":            {"data: a\r\rdata: b\r\r", []string{"a", "b"}},
		"mixed ends":         {"data: a\r\n\ndata: b\n\r\n", []string{"a", "b"}},
		"no space":           {"data:a\n\ndata:  b\n\n", []string{"a", " b"}},
		"multi-line data":    {"data: a\ndata: b\n\n", []string{"a\nb"}},
		"comments":           {": ping\n\n:\n\ndata: a\n\n: OPENROUTER PROCESSING\n\n", []string{"a"}},
		"fields":             {"id: 1\nevent: message\nretry: 5\ndata: a\n\n", []string{"a"}},
		"no last blank line": {"data: a\n\ndata: b", []string{"a", "b"}},
		"byte order mark":    {"\xef\xbb\xbfdata: a\n\n", []string{"a"}},
		"split UTF-8":        {"data: 你好 🎉\n\n", []string{"你好 🎉"}},
		"long line":          {"data: " + long + "\n\ndata: b\n\n", []string{long, "b"}},
		"data alone":         {"data\n\ndata:\n\n", []string{"", ""}},
	} {
		for _, size := range []int{1, 2, 3, 7, 64, 1 << 20} {
			if got := events(t, c.stream, size); strings.Join(got, "|") != strings.Join(c.want, "|") || len(got) != len(c.want) {
				t.Errorf("%s in pieces of %d: %.80q, want %.80q", name, size, got, c.want)
			}
		}
	}
}

func TestParserRefusesEndlessLine(t *testing.T) {
	var p Parser
	b := bytes.Repeat([]byte("x"), 1<<20)
	var err error
	for i := 0; i < 20 && err == nil; i++ {
		err = p.Feed(b, func(_, _ []byte) error { return nil })
	}
	if err == nil {
		t.Error("an endless line was taken")
	}
}

func TestParseChunk(t *testing.T) {
	for name, c := range map[string]struct {
		event, data string
		want        Chunk
	}{
		"role only":         {"", `{"choices":[{"delta":{"role":"assistant","content":""}}]}`, Chunk{}},
		"content":           {"", `{"choices":[{"delta":{"content":"hi"}}]}`, Chunk{Text: 2}},
		"null content":      {"", `{"choices":[{"delta":{"content":null,"tool_calls":null}}]}`, Chunk{}},
		"null delta":        {"", `{"choices":[{"delta":null}]}`, Chunk{}},
		"text":              {"", `{"choices":[{"text":"a","finish_reason":null}]}`, Chunk{Text: 1}},
		"reasoning content": {"", `{"choices":[{"delta":{"reasoning_content":"hm"}}]}`, Chunk{Reasoning: 2}},
		"both reasonings":   {"", `{"choices":[{"delta":{"reasoning":"hm","reasoning_content":"hm"}}]}`, Chunk{Reasoning: 2}},
		"tool call":         {"", `{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}`, Chunk{Text: 11}},
		"empty tool calls":  {"", `{"choices":[{"delta":{"tool_calls":[]}}]}`, Chunk{}},
		"finish":            {"", `{"choices":[{"delta":{},"finish_reason":"length"}]}`, Chunk{Finish: "length"}},
		"usage only":        {"", `{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}`, Chunk{HasUsage: true, Usage: Usage{7, 5, 4, 2}}},
		"null usage":        {"", `{"choices":[{"text":"a"}],"usage":null}`, Chunk{Text: 1}},
		"no choices":        {"", `{"id":"x"}`, Chunk{}},
		"TGI token":         {"", `{"token":{"id":1,"text":"ab"},"generated_text":null}`, Chunk{Text: 2}},
		"done":              {"", `[DONE]`, Chunk{Done: true}},
		"wrapped comment":   {"", `: OPENROUTER PROCESSING`, Chunk{}},
		"error":             {"", `{"error":{"message":"out of memory","code":500}}`, Chunk{Error: "out of memory", Code: "500"}},
		"error as text":     {"", `{"error":"boom"}`, Chunk{Error: `"boom"`}},
		"error event":       {"error", `{"detail":"x"}`, Chunk{Error: `{"detail":"x"}`}},
		"null error":        {"", `{"error":null,"choices":[{"text":"a"}]}`, Chunk{Text: 1}},
	} {
		got, err := ParseChunk([]byte(c.event), []byte(c.data))
		if err != nil || got != c.want {
			t.Errorf("%s: %+v (%v), want %+v", name, got, err, c.want)
		}
	}
	if _, err := ParseChunk(nil, []byte(`{"choices":[{`)); err == nil {
		t.Error("cut-off JSON was taken")
	}
}

func FuzzParser(f *testing.F) {
	f.Add([]byte("data: a\r\n\r\ndata: b\n\n: c\n"), 3)
	f.Add([]byte("\xef\xbb\xbfdata:x\r\rdata"), 1)
	f.Fuzz(func(t *testing.T, b []byte, size int) {
		whole := events(t, string(b), len(b)+1)
		cut := events(t, string(b), 1+abs(size)%16)
		if strings.Join(whole, "\x00") != strings.Join(cut, "\x00") {
			t.Errorf("whole %q, cut %q", whole, cut)
		}
	})
}

func abs(n int) int {
	if n < 0 {
		return -(n + 1)
	}
	return n
}

// What encoding/json reads, the walker reads with the same finding of text.
func FuzzParseChunk(f *testing.F) {
	f.Add([]byte(`{"choices":[{"delta":{"content":"a\"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`))
	f.Add([]byte(`{"error":{"message":"x"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseChunk(nil, b)
		var d map[string]any
		if json.Unmarshal(b, &d) != nil || bytes.Count(b, []byte("{"))+bytes.Count(b, []byte("[")) > scanMaxDepth {
			return
		}
		if err != nil {
			t.Fatalf("valid JSON refused: %v", err)
		}
		if bytes.Count(b, []byte(`"choices"`)) != 1 || bytes.Count(b, []byte(`"text"`)) != 1 || bytes.Contains(b, []byte(`"delta"`)) || bytes.Contains(b, []byte(`"token"`)) || bytes.Contains(b, []byte(`"message"`)) {
			return
		}
		if l, ok := d["choices"].([]any); ok && len(l) == 1 {
			m, _ := l[0].(map[string]any)
			text, _ := m["text"].(string)
			if list, isList := m["text"].([]any); isList && len(list) > 0 {
				return
			}
			if o, isObject := m["text"].(map[string]any); isObject && len(o) > 0 {
				return
			}
			if (text != "") != (c.Text > 0) && !strings.Contains(string(b), `"text":[`) {
				t.Errorf("text %q, chunk %+v", text, c)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	event := []byte("data: {\"id\":\"cmpl-0123456789abcdef\",\"object\":\"text_completion\",\"created\":1700000000,\"model\":\"some/model\",\"choices\":[{\"index\":0,\"text\":\" word\",\"logprobs\":null,\"finish_reason\":null}],\"usage\":{\"prompt_tokens\":512,\"total_tokens\":600,\"completion_tokens\":88}}\n\n")
	var p Parser
	n := 0
	emit := func(e, d []byte) error {
		c, err := ParseChunk(e, d)
		n += c.Text
		return err
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(event)))
	for range b.N {
		if err := p.Feed(event, emit); err != nil {
			b.Fatal(err)
		}
	}
	if n == 0 {
		b.Fatal("nothing read")
	}
}

func TestTarget(t *testing.T) {
	for address, want := range map[string]Target{
		"http://localhost:8000":                    {"http://localhost:8000/v1", "http://localhost:8000", ""},
		"127.0.0.1:8000/v1/":                       {"http://127.0.0.1:8000/v1", "http://127.0.0.1:8000", ""},
		"http://[::1]:80/v1/chat/completions":      {"http://[::1]:80/v1", "http://[::1]:80", "/chat/completions"},
		"http://localhost:8000/openai/completions": {"http://localhost:8000/openai", "http://localhost:8000/openai", "/completions"},
	} {
		if got, err := ParseTarget(address, false); err != nil || got != want {
			t.Errorf("%s: %+v, %v", address, got, err)
		}
	}
	for address, reason := range map[string]string{
		"https://api.example.com":     "--i-may-load-this-server",
		"http://10.0.0.1:8000":        "not this machine",
		"http://u:sk-123@localhost":   "credentials",
		"http://localhost/?key=sk-12": "credentials",
		"ftp://localhost":             "http://",
		"http://localhost.evil.com":   "not this machine",
	} {
		if _, err := ParseTarget(address, false); err == nil || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "sk-1") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := ParseTarget("https://api.example.com/v1", true); err != nil {
		t.Error(err)
	}
}
