// Package fakeserver is an OpenAI-compatible server without a model: its step times are what you set them to, and it can speak every dialect
// of the protocol. Tests hold the load generator and the calibration against it.
package fakeserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Options set the step model. One step serves all running sequences: it takes
// Fixed + PerSequence x running + PerPromptToken x prompt tokens taken in this step + PerContextToken x tokens held by running sequences.
// A sequence's first token leaves with the step that takes its prompt. All zero: tokens flow as fast as they can be written.
type Options struct {
	Model           string
	Fixed           time.Duration
	PerSequence     time.Duration
	PerPromptToken  time.Duration
	PerContextToken time.Duration
	MaxSequences    int           // 0: no limit
	Service         time.Duration // instead of steps: one token after this time, one request at a time a slot
	Dialect         Dialect
	Key             string // required key; empty: none
}

// Dialect is how the server speaks.
type Dialect struct {
	LineEnd            string // default LF
	NoSpace            bool   // "data:x"
	Comments           bool   // pings and wrapped comments between events
	SplitData          bool   // each event on two data lines
	RoleChunk          bool   // an empty chunk with the role first
	EmptyChunks        bool   // chunks without text between the others
	NoDone             bool
	NoFinish           bool
	Usage              string // "": as asked for; "never", "nulls"
	Reasoning          int    // this many of the tokens are reasoning
	ReasoningField     string // default reasoning_content
	ToolCalls          bool
	TokensPerChunk     int
	ErrorAfter         int      // tokens before an error inside the stream; 0: none
	ErrorEvent         bool     // the error is an event of type error
	Status             int      // answer with this status
	JSONError          bool     // status 200 and a JSON body with an error
	NoTokens           bool     // a stream that ends well without any token
	Refuse             []string // fields answered with status 400
	IgnoreFields       []string // fields without effect
	WriteBytes         int      // flush after this many bytes: splits events and characters
	Pad                int      // bytes of text in each token
	CutAfter           int      // close the connection after this many tokens
	NoModels           bool
	CachedTokens       int
	OnlyChat           bool
	NoTokenIDs         bool
	TokensPerWord      int  // default 1
	EchoKey            bool // errors repeat the key
	MaxTokensPerAnswer int  // the answer ends after so many with reason stop
}

// Server answers requests; use it as an http.Handler.
type Server struct {
	o                Options
	mu               sync.Mutex
	wake             *sync.Cond
	waiting, running []*sequence
	closed           bool
	slots            chan struct{}
	seen             []Request
}

// Request is what a client asked for.
type Request struct {
	Path   string
	Prompt string
	Fields map[string]any
}

type sequence struct {
	prompt, output, made int
	step                 chan struct{}
	gone                 bool
}

// New starts a server's step loop. Close ends it.
func New(o Options) *Server {
	if o.Model == "" {
		o.Model = "fake"
	}
	s := &Server{o: o}
	s.wake = sync.NewCond(&s.mu)
	if o.Service > 0 {
		s.slots = make(chan struct{}, max(o.MaxSequences, 1))
	}
	if s.stepped() {
		go s.loop()
	}
	return s
}

func (s *Server) stepped() bool {
	return s.o.Fixed+s.o.PerSequence+s.o.PerPromptToken+s.o.PerContextToken > 0
}

// Close ends the step loop.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.wake.Broadcast()
}

// Seen returns the requests so far.
func (s *Server) Seen() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.seen...)
}

// loop runs the steps on an absolute clock, so that late wake-ups don't add up.
func (s *Server) loop() {
	next := time.Now()
	for {
		s.mu.Lock()
		for len(s.waiting)+len(s.running) == 0 && !s.closed {
			s.wake.Wait()
			next = time.Now()
		}
		if s.closed {
			s.mu.Unlock()
			return
		}
		prompt := 0
		for len(s.waiting) > 0 && (s.o.MaxSequences == 0 || len(s.running) < s.o.MaxSequences) {
			q := s.waiting[0]
			s.waiting = s.waiting[1:]
			prompt += q.prompt
			s.running = append(s.running, q)
		}
		held := 0
		for _, q := range s.running {
			held += q.prompt + q.made
		}
		d := s.o.Fixed + s.o.PerSequence*time.Duration(len(s.running)) + s.o.PerPromptToken*time.Duration(prompt) + s.o.PerContextToken*time.Duration(held)
		s.mu.Unlock()
		next = next.Add(d)
		time.Sleep(time.Until(next))
		s.mu.Lock()
		left := s.running[:0]
		for _, q := range s.running {
			q.made++
			select {
			case q.step <- struct{}{}:
			default: // its reader is a step behind; the channel holds the whole output, so this can't lose one
			}
			if q.made < q.output && !q.gone {
				left = append(left, q)
			}
		}
		s.running = left
		s.mu.Unlock()
	}
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/models") && !s.o.Dialect.NoModels:
		writeJSON(w, map[string]any{"data": []map[string]any{{"id": s.o.Model, "owned_by": "fakeserver", "max_model_len": 8192}}})
	case r.URL.Path == "/version":
		writeJSON(w, map[string]any{"version": "1.2.3"})
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		s.complete(w, r, true)
	case strings.HasSuffix(r.URL.Path, "/completions") && !s.o.Dialect.OnlyChat:
		s.complete(w, r, false)
	default:
		http.NotFound(w, r)
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		return // the client has gone
	}
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request, chat bool) {
	d := &s.o.Dialect
	var fields map[string]any
	if err := json.NewDecoder(r.Body).Decode(&fields); err != nil {
		http.Error(w, `{"error":{"message":"not JSON"}}`, http.StatusBadRequest)
		return
	}
	sent := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if s.o.Key != "" && sent != s.o.Key {
		http.Error(w, `{"error":{"message":"bad key `+sent+`"}}`, http.StatusUnauthorized)
		return
	}
	echo := ""
	if d.EchoKey {
		echo = " (your key is " + sent + ")"
	}
	prompt, n := promptOf(fields, chat, max(d.TokensPerWord, 1))
	s.mu.Lock()
	s.seen = append(s.seen, Request{r.URL.Path, prompt, fields})
	s.mu.Unlock()
	if d.Status != 0 {
		w.Header().Set("Retry-After", "1")
		http.Error(w, `{"error":{"message":"no`+echo+`"}}`, d.Status)
		return
	}
	for _, f := range d.Refuse {
		if has(fields, f) {
			http.Error(w, `{"error":{"message":"unknown field `+f+`"}}`, http.StatusBadRequest)
			return
		}
	}
	if _, ids := fields["prompt"].([]any); ids && d.NoTokenIDs {
		http.Error(w, `{"error":{"message":"prompt must be text"}}`, http.StatusBadRequest)
		return
	}
	if d.JSONError {
		writeJSON(w, map[string]any{"error": map[string]any{"message": "out of memory" + echo, "code": 500}})
		return
	}
	out := &stream{w: w, d: d, chat: chat, id: fmt.Sprint(len(prompt)), echo: echo, prompt: n, usage: usageMode(fields, d)}
	out.flusher, _ = w.(http.Flusher)
	w.Header().Set("Content-Type", "text/event-stream")
	s.generate(r, out, n, outputOf(fields, d))
}

// has finds a field, also one inside stream_options.
func has(fields map[string]any, name string) bool {
	if _, ok := fields[name]; ok {
		return true
	}
	o, _ := fields["stream_options"].(map[string]any)
	_, ok := o[name]
	return ok
}

func promptOf(fields map[string]any, chat bool, perWord int) (string, int) {
	if chat {
		l, _ := fields["messages"].([]any)
		if len(l) == 0 {
			return "", 0
		}
		m, _ := l[0].(map[string]any)
		text, _ := m["content"].(string)
		return text, len(strings.Fields(text))*perWord + 10
	}
	switch p := fields["prompt"].(type) {
	case string:
		return p, len(strings.Fields(p)) * perWord
	case []any:
		return fmt.Sprint(p), len(p)
	}
	return "", 0
}

func outputOf(fields map[string]any, d *Dialect) int {
	n := 64 // what it generates when nothing limits it
	for _, f := range []string{"max_tokens", "max_completion_tokens"} {
		if x, ok := fields[f].(float64); ok && !contains(d.IgnoreFields, f) {
			n = int(x)
		}
	}
	if d.MaxTokensPerAnswer > 0 {
		n = min(n, d.MaxTokensPerAnswer)
	}
	return max(n, 1)
}

func usageMode(fields map[string]any, d *Dialect) string {
	o, _ := fields["stream_options"].(map[string]any)
	switch {
	case d.Usage != "":
		return d.Usage
	case o["continuous_usage_stats"] == true:
		return "every"
	case o["include_usage"] == true:
		return "last"
	}
	return "never"
}

func contains(l []string, s string) bool {
	for _, x := range l {
		if x == s {
			return true
		}
	}
	return false
}

// generate emits the tokens at the times of the steps.
func (s *Server) generate(r *http.Request, out *stream, prompt, n int) {
	next := func() bool { return r.Context().Err() == nil }
	switch {
	case s.slots != nil:
		s.slots <- struct{}{}
		defer func() { <-s.slots }()
		first := true
		next = func() bool {
			if first {
				time.Sleep(s.o.Service)
			}
			first = false
			return r.Context().Err() == nil
		}
	case s.stepped():
		q := &sequence{prompt: prompt, output: n, step: make(chan struct{}, n+1)}
		s.mu.Lock()
		s.waiting = append(s.waiting, q)
		s.mu.Unlock()
		s.wake.Broadcast()
		next = func() bool {
			select {
			case <-q.step:
				return true
			case <-r.Context().Done():
				s.mu.Lock()
				q.gone = true
				s.mu.Unlock()
				return false
			}
		}
	}
	out.run(n, next)
}
