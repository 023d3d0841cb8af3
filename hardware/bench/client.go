package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"scoville/hardware/results"
)

// Client sends requests to one server.
type Client struct {
	target  Target
	key     string
	http    *http.Client
	model   string
	can     capabilities
	timeout time.Duration

	connections, reused atomic.Int64
}

// capabilities are what the server was found to take.
type capabilities struct {
	chat                bool
	tokenIDs            bool // prompts as lists of token ids
	usage               bool // stream_options.include_usage
	continuousUsage     bool
	ignoreEOS           bool // ignore_eos and min_tokens
	maxTokens           bool
	maxCompletionTokens bool
	tokensPerWord       float64
	overhead            float64 // tokens the server adds to every prompt
	maxLength           int     // 0: unknown
}

// NewClient makes a client. key may be empty; it goes into the Authorization header and nowhere else.
func NewClient(target Target, model, key string, streams int, timeout time.Duration) *Client {
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		MaxIdleConns:          0,
		MaxIdleConnsPerHost:   max(streams, 64),
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		DisableCompression:    true, // a compressed stream arrives in lumps
		ReadBufferSize:        32 << 10,
		WriteBufferSize:       32 << 10,
		ForceAttemptHTTP2:     false, // one connection a stream: no head-of-line blocking between them
		TLSNextProto:          nil,
		ResponseHeaderTimeout: 0,
	}
	p := new(http.Protocols)
	p.SetHTTP1(true)
	t.Protocols = p
	return &Client{target: target, key: key, model: model, timeout: timeout,
		http: &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Close drops the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// redact takes the key out of any text that came from outside.
func (c *Client) redact(s string) string {
	if c.key != "" {
		s = strings.ReplaceAll(s, c.key, "[key]")
	}
	return s
}

func (c *Client) path() string {
	if c.can.chat {
		return "/chat/completions"
	}
	return "/completions"
}

// body builds the request for a prompt.
func (c *Client) body(p Prompt, output int) ([]byte, error) {
	m := map[string]any{"stream": true, "temperature": 0}
	if c.model != "" {
		m["model"] = c.model
	}
	switch {
	case c.can.chat:
		m["messages"] = []map[string]string{{"role": "user", "content": p.Text}}
	case p.IDs != nil:
		m["prompt"] = p.IDs
	default:
		m["prompt"] = p.Text
	}
	if c.can.maxTokens {
		m["max_tokens"] = output
	}
	if c.can.maxCompletionTokens {
		m["max_completion_tokens"] = output
	}
	if c.can.usage {
		o := map[string]bool{"include_usage": true}
		if c.can.continuousUsage {
			o["continuous_usage_stats"] = true
		}
		m["stream_options"] = o
	}
	if c.can.ignoreEOS {
		m["ignore_eos"], m["min_tokens"] = true, output
	}
	return json.Marshal(m)
}

// Do sends one request and reads its stream to the end. It fills the latencies, token counts and error of r; the schedule is the caller's.
// sent is when the request left, on the monotonic clock.
func (c *Client) Do(ctx context.Context, p Prompt, output int, gaps bool, r *results.Record, onToken func(int)) (sent time.Time) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	begun := time.Now()
	sent = begun
	r.RequestedTokens = output
	payload, err := c.body(p, output)
	if err != nil {
		r.Error = &results.Failure{Phase: "client", Message: err.Error()}
		return sent
	}
	var written atomic.Int64 // nanoseconds since begun; 0: not yet
	trace := &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) {
			if i.Reused {
				c.reused.Add(1)
			} else {
				c.connections.Add(1)
			}
		},
		WroteRequest: func(httptrace.WroteRequestInfo) { written.Store(max(1, int64(time.Since(begun)))) },
	}
	resp, err := c.post(httptrace.WithClientTrace(ctx, trace), c.target.Base+c.path(), payload)
	sent = begun.Add(time.Duration(written.Load()))
	if err != nil {
		r.Error = c.failure(ctx, "connect", err)
		return sent
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		r.Error = c.statusFailure(resp)
		return sent
	}
	if !strings.Contains(resp.Header.Get("Content-Type"), "event-stream") && strings.Contains(resp.Header.Get("Content-Type"), "json") {
		r.Error = c.notStreamed(resp)
		return sent
	}
	s := reader{record: r, sent: sent, gaps: gaps, onToken: onToken}
	err = s.read(resp.Body)
	s.finish()
	if err != nil {
		r.Error = c.failure(ctx, "stream", err)
	}
	if r.Error != nil {
		r.Error.Message = c.redact(r.Error.Message)
		r.Error.Code = c.redact(r.Error.Code)
	}
	r.FinishReason = c.redact(r.FinishReason)
	return sent
}

func (c *Client) post(ctx context.Context, url string, payload []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	c.authorise(req)
	return c.http.Do(req)
}

func (c *Client) authorise(req *http.Request) {
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	req.Header.Set("User-Agent", "scoville-bench")
}

func (c *Client) failure(ctx context.Context, phase string, err error) *results.Failure {
	f := &results.Failure{Phase: phase, Message: c.redact(clip(rootCause(err)))}
	var server *serverError
	switch {
	case errors.As(err, &server):
		f.Code, f.Message = c.redact(server.code), c.redact(server.text)
		if f.Code == "" {
			f.Code = "error in the stream"
		}
	case errors.Is(err, errTruncated):
		f.Code = "truncated"
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		f.Code = "timeout"
	case ctx.Err() != nil:
		f.Phase, f.Code = "client", codeCutOff
	}
	return f
}

// codeCutOff marks requests that the end of a stage or Ctrl-C cut off: neither answered nor failed by the server.
const codeCutOff = "cut off"

// rootCause leaves out the URL that net/http puts before an error.
func rootCause(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

func (c *Client) statusFailure(resp *http.Response) *results.Failure {
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil && len(text) == 0 {
		text = []byte(err.Error())
	}
	f := &results.Failure{Phase: "headers", HTTP: resp.StatusCode, Message: c.redact(clip(strings.TrimSpace(string(text))))}
	if after := resp.Header.Get("Retry-After"); after != "" {
		f.Code = c.redact(clip("retry after " + after))
	}
	return f
}

// notStreamed reads an answer that came as one JSON body: an error, or a server that doesn't stream.
func (c *Client) notStreamed(resp *http.Response) *results.Failure {
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return &results.Failure{Phase: "stream", Message: c.redact(rootCause(err))}
	}
	if chunk, err := ParseChunk(nil, text); err == nil && chunk.Error != "" {
		return &results.Failure{Phase: "stream", Code: c.redact(chunk.Code), Message: c.redact(chunk.Error)}
	}
	return &results.Failure{Phase: "stream", Code: "not streamed", Message: "the server answered with one JSON body instead of a stream"}
}

// serverError is an error the server reported inside a stream that had begun with status 200.
type serverError struct{ text, code string }

func (e *serverError) Error() string { return e.text }

// reader follows one stream.
type reader struct {
	record  *results.Record
	sent    time.Time
	gaps    bool
	onToken func(int)

	parser              Parser
	now                 time.Duration // since sent, at the last read
	first, last, visual time.Duration
	firstTokens         int
	chunks              int
	gap                 []float64
	perChunk            []int
	usage               Usage
	lastCompletion      int
	continuous          bool
	hasUsage, done      bool
}

func (s *reader) read(body io.Reader) error {
	buf := make([]byte, 8<<10)
	for {
		n, err := body.Read(buf)
		s.now = time.Since(s.sent)
		if n > 0 {
			if err := s.parser.Feed(buf[:n], s.event); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if err := s.parser.Close(s.event); err != nil {
		return err
	}
	if !s.done && s.record.FinishReason == "" {
		return errTruncated
	}
	return nil
}

func (s *reader) event(event, data []byte) error {
	c, err := ParseChunk(event, data)
	if err != nil {
		return err
	}
	if c.Error != "" {
		return &serverError{c.Error, c.Code}
	}
	s.done = s.done || c.Done
	if c.Finish != "" {
		s.record.FinishReason = c.Finish
	}
	generated := c.Generated()
	tokens := 1
	if c.HasUsage {
		if generated && c.Usage.Completion > s.lastCompletion {
			tokens = c.Usage.Completion - s.lastCompletion
			s.continuous = true
		}
		s.lastCompletion = max(s.lastCompletion, c.Usage.Completion)
		s.usage, s.hasUsage = c.Usage, true
	}
	if !generated {
		return nil
	}
	s.chunks++
	if s.chunks == 1 {
		s.first, s.firstTokens = s.now, tokens
	} else if s.gaps {
		s.gap = append(s.gap, (s.now - s.last).Seconds())
		s.perChunk = append(s.perChunk, tokens)
	}
	s.last = s.now
	if s.visual == 0 && c.Text > 0 {
		s.visual = s.now
	}
	if s.onToken != nil {
		s.onToken(tokens)
	}
	return nil
}

// finish turns what was seen into the record.
func (s *reader) finish() {
	r := s.record
	r.TTFTSeconds, r.TTFOSeconds, r.E2ESeconds, r.DoneSeconds = s.first.Seconds(), s.visual.Seconds(), s.last.Seconds(), s.now.Seconds()
	r.OutputTokens, r.TokenCount, r.FirstTokens = s.chunks, results.CountChunks, s.firstTokens
	if s.hasUsage {
		r.InputTokens, r.CachedTokens, r.ReasoningTokens = s.usage.Prompt, s.usage.Cached, s.usage.Reasoning
		if n := max(s.usage.Completion, s.lastCompletion); n > 0 && s.chunks > 0 {
			r.OutputTokens, r.TokenCount = n, results.CountServer
		}
	}
	r.GapsSeconds = s.gap
	switch {
	case s.continuous:
		r.ChunkTokens = compact(s.perChunk)
	case r.OutputTokens > s.chunks+1 && s.chunks > 0:
		// The server says only the total: share it out evenly.
		each, more := r.OutputTokens/s.chunks, r.OutputTokens%s.chunks
		if r.FirstTokens = each; more > 0 {
			r.FirstTokens++
		}
		for i := range s.gap {
			n := each
			if i+1 < more {
				n++
			}
			r.ChunkTokens = append(r.ChunkTokens, n)
		}
	}
	if s.chunks == 0 {
		r.FirstTokens = 0
	}
}

// compact returns nil when every chunk is one token.
func compact(n []int) []int {
	for _, v := range n {
		if v != 1 {
			return n
		}
	}
	return nil
}

// get fetches a JSON document.
func (c *Client) get(ctx context.Context, url string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	c.authorise(req)
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s", c.redact(rootCause(err)))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	return json.NewDecoder(io.LimitReader(resp.Body, 4<<20)).Decode(into)
}
