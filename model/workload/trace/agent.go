package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// agentDoc is one recorded conversation of a coding agent.
type agentDoc struct {
	ID        string      `json:"id"`
	BlockSize int32       `json:"block_size"`
	Scope     string      `json:"hash_id_scope"`
	Requests  []agentCall `json:"requests"`
}

// agentCall is a call of the model, or a subagent with calls of its own.
type agentCall struct {
	T        float64     `json:"t"`
	Type     string      `json:"type"`
	In       *int64      `json:"in"`
	Out      *int64      `json:"out"`
	HashIDs  []uint64    `json:"hash_ids"`
	Requests []agentCall `json:"requests"`
}

// maxDocument bounds one conversation: it is one JSON value and is held in memory whole.
const maxDocument = 256 << 20

// agentReader yields the calls of one document after another.
type agentReader struct {
	r     *Reader
	files []string // still to read
	calls []Record
	at    int
}

// agentDocument reads a single conversation.
func agentDocument(r *Reader, src io.Reader) error {
	a := &agentReader{r: r}
	r.report.Format, r.report.Timed = Agent, true
	r.next = a.next
	return a.read(src, r.name)
}

// agentFolder reads all conversations of a folder, by name. Each has a clock of its own.
func agentFolder(r *Reader, files []string) {
	a := &agentReader{r: r, files: files}
	r.report.Format, r.report.Timed = Agent, len(files) == 1
	if len(files) > 1 {
		r.note("%d conversations, each with its own clock: they have no common arrival process", len(files))
	}
	r.next = a.next
}

func (a *agentReader) next(rec *Record) error {
	for a.at >= len(a.calls) {
		if len(a.files) == 0 {
			return io.EOF
		}
		path := a.files[0]
		a.files = a.files[1:]
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		b, err := decompress(f, path)
		if err == nil {
			err = a.read(b, path)
		}
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
	}
	*rec = a.calls[a.at]
	rec.Line = int64(a.at + 1)
	a.at++
	return nil
}

// read decodes a document into calls in order of time; nested subagents' clocks start at their own call.
func (a *agentReader) read(src io.Reader, name string) error {
	data, err := io.ReadAll(io.LimitReader(src, maxDocument+1))
	if err != nil {
		return &Error{File: name, Problem: err.Error()}
	}
	if len(data) > maxDocument {
		return &Error{File: name, Problem: fmt.Sprintf("the document is larger than %d bytes", maxDocument)}
	}
	var doc agentDoc
	if err := json.Unmarshal(data, &doc); err != nil {
		e := jsonFault(name, 1, data, err).(*Error)
		if head := data[:e.Column-1]; true {
			e.Line += int64(strings.Count(string(head), "\n"))
			e.Column -= strings.LastIndexByte(string(head), '\n') + 1
		}
		return e
	}
	if len(doc.Requests) == 0 {
		return &Error{File: name, Problem: `has no "requests"; a conversation with its calls is expected`}
	}
	size := doc.BlockSize
	if a.r.opt.BlockTokens > 0 {
		size = a.r.opt.BlockTokens
	}
	if size < 1 {
		return &Error{File: name, Problem: fmt.Sprintf("block_size is %d; a positive number of tokens is expected", size)}
	}
	a.r.report.BlockTokens = size
	scope := uint64(0)
	if doc.Scope != "global" { // ids of different conversations don't name the same content
		scope = fnv64([]byte(doc.ID + name))
	}
	a.calls, a.at = a.calls[:0], 0
	if err := a.flatten(doc.Requests, 0, size, scope, max(fnv64([]byte(doc.ID))>>1, 1), 0); err != nil {
		return &Error{File: name, Problem: err.Error()}
	}
	slices.SortStableFunc(a.calls, func(x, y Record) int { return int(min(max(x.Nanoseconds-y.Nanoseconds, -1), 1)) })
	return nil
}

func (a *agentReader) flatten(calls []agentCall, from float64, size int32, scope, session uint64, depth int) error {
	const deepest = 16
	if depth > deepest {
		return fmt.Errorf("subagents are nested more than %d deep", deepest)
	}
	for i := range calls {
		c := &calls[i]
		at := from + c.T
		if !(at >= 0 && at < 9e9) {
			return fmt.Errorf("request %d: t is %g; seconds since the start are expected", i+1, c.T)
		}
		if len(c.Requests) > 0 {
			if err := a.flatten(c.Requests, at, size, scope, session, depth+1); err != nil {
				return err
			}
			continue
		}
		if c.In == nil || c.Out == nil {
			if c.Type == "subagent" {
				continue // a subagent that made no calls
			}
			return fmt.Errorf("request %d at %g s has no \"in\" or \"out\"", i+1, at)
		}
		if max(*c.In, *c.Out) > maxTokens {
			return fmt.Errorf("request %d: more than %d tokens", i+1, maxTokens)
		}
		rec := Record{Nanoseconds: int64(at * 1e9), Input: int32(*c.In), Output: int32(*c.Out), Session: session, Class: c.Type}
		n := int32(len(c.HashIDs))
		if int64(n)*int64(size) >= int64(rec.Input)+int64(size) {
			return fmt.Errorf("request %d: %d hash ids for %d input tokens don't fit blocks of %d tokens", i+1, n, rec.Input, size)
		}
		if n == rec.Input/size {
			a.r.report.BlocksFloor++
		} else if n == (rec.Input+size-1)/size {
			a.r.report.BlocksCeil++
		}
		for k, id := range c.HashIDs {
			rec.Blocks = append(rec.Blocks, Block{id ^ scope, min(size, rec.Input-int32(k)*size)})
		}
		a.calls = append(a.calls, rec)
	}
	return nil
}

// openFolder reads a ServeGen folder or a folder of conversations.
func openFolder(path string, opt Options) (*Reader, error) {
	r, err := blankReader(path, opt)
	if err != nil {
		return nil, err
	}
	clients, err := filepath.Glob(filepath.Join(path, "chunk-*-trace.csv"))
	if err != nil {
		return nil, err
	}
	if len(clients) > 0 && (opt.Format == "" || opt.Format == ServeGen) {
		return openServeGen(r, path)
	}
	var files []string
	for _, pattern := range []string{"*.json", "*.json.gz"} {
		found, err := filepath.Glob(filepath.Join(path, pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	if len(files) == 0 {
		return nil, &Error{File: path, Problem: "is a folder without chunk-N-trace.csv (ServeGen) or *.json (agent conversations)"}
	}
	agentFolder(r, files)
	return r, nil
}
