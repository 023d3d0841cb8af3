// Package trace reads recorded requests: public production traces, other tools' trace files and plain tables. The format
// is found from the content, files may be gzipped, and reading takes constant memory. Out-of-order, duplicate and
// zero-length rows are read and counted, never silently dropped; a row that can't be understood ends the reading with an
// error that names file, line and column. docs/traces.md describes the formats.
package trace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Record is one recorded request.
type Record struct {
	Line          int64 // in the file, from 1; the number of the call for agent conversations
	Nanoseconds   int64 // when it came, by the file's own clock; meaningless where Reader.Timed is false
	Input, Output int32 // tokens, as recorded: 0 is possible
	Session       uint64
	Class         string  // what the file calls the kind of request, "" for most
	Blocks        []Block // shared head of the prompt; reused by the following call of Next
}

// Block is a run of prompt tokens with the key of its content in its place.
type Block struct {
	Key    uint64
	Tokens int32
}

// Format names a layout.
type Format string

// The formats.
const (
	Own       Format = "scoville" // arrival_seconds,input_tokens,output_tokens[,class,session,prefix]
	Azure     Format = "azure"    // TIMESTAMP,[NumImages,]ContextTokens,GeneratedTokens: 2023, 2024 and 2025
	BurstGPT  Format = "burstgpt" // Timestamp,[Session ID,Elapsed time,]Model,Request tokens,Response tokens,Total tokens,Log Type
	Lengths   Format = "lengths"  // num_prefill_tokens,num_decode_tokens,...: no arrival times
	Mooncake  Format = "mooncake" // JSONL, timestamp in milliseconds, hash_ids of 512 tokens
	Qwen      Format = "qwen"     // JSONL, timestamp in seconds, chat_id, hash_ids of 16 tokens
	RAGPulse  Format = "ragpulse" // JSONL, timestamp a string of seconds, hash_ids an object
	Agent     Format = "agent"    // one JSON document of one conversation, or a folder of them
	ServeGen  Format = "servegen" // folder of chunk-N-trace.csv and chunk-N-dataset.json
	CSV       Format = "csv"      // any table, with Options.Columns
	JSONLines Format = "jsonl"    // any objects, with Options.Columns
)

// Formats lists the names that Options.Format takes.
func Formats() []string {
	return []string{string(Own), string(Azure), string(BurstGPT), string(Lengths), string(Mooncake), string(Qwen), string(RAGPulse), string(Agent), string(ServeGen), string(CSV), string(JSONLines)}
}

// Options rule reading. The zero value finds the format from the content.
type Options struct {
	Format      Format
	Columns     map[string]string // generic files: what to read from which column or key; names: time, input, output, session, class
	TimeUnit    string            // generic files: s, ms, us, ns or datetime; default: from the column's name
	BlockTokens int32             // tokens of a hash id; default: the format's
	Seconds     float64           // ServeGen: draw only the first so many seconds; 0: all
	MaxRows     int64             // default 4e9
	MaxLine     int               // longest line in bytes; default 16 MiB
}

const (
	defaultMaxRows = 4_000_000_000
	defaultMaxLine = 16 << 20
	maxTokens      = 1 << 30
)

// Error is a fault at one place of a file.
type Error struct {
	File    string
	Line    int64 // from 1; 0: the whole file
	Column  int   // byte in the line, from 1; 0: the whole line
	Problem string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
		if e.Column > 0 {
			fmt.Fprintf(&b, ":%d", e.Column)
		}
	}
	return b.String() + ": " + e.Problem
}

// Report counts what a file held. Rows = Emitted + Dropped always.
type Report struct {
	Format          Format   `json:"format"`
	Rows            int64    `json:"rows"`
	Emitted         int64    `json:"emitted"`
	Dropped         int64    `json:"dropped"` // negative token counts, which mean "not recorded"
	BlankLines      int64    `json:"blank_lines"`
	OutOfOrder      int64    `json:"out_of_order"`     // rows earlier than the row before
	EqualTimestamps int64    `json:"equal_timestamps"` // rows at the very time of the row before
	Duplicates      int64    `json:"duplicates"`       // rows equal to an earlier row of the same time in all that is read
	ZeroInput       int64    `json:"zero_input"`
	ZeroOutput      int64    `json:"zero_output"`
	WithBlocks      int64    `json:"with_blocks"`
	BlocksCeil      int64    `json:"blocks_ceil"`  // rows whose hash ids cover the prompt, the last block partly
	BlocksFloor     int64    `json:"blocks_floor"` // rows whose hash ids cover whole blocks only
	BlockTokens     int32    `json:"block_tokens,omitempty"`
	Timed           bool     `json:"timed"` // rows have arrival times on one clock
	Notes           []string `json:"notes,omitempty"`
}

// Reader yields the records of a file in the file's order.
type Reader struct {
	name   string
	opt    Options
	report Report
	next   func(*Record) error // io.EOF at the end; sets all but Line if the source counts lines itself
	closer io.Closer
	err    error

	last   int64             // time of the row before
	atTime map[uint64]bool   // fingerprints of the rows of that time
	class  map[string]string // interned class names
}

// Open opens a file or folder. The caller closes the Reader.
func Open(path string, opt Options) (*Reader, error) {
	info, err := os.Stat(path)
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) {
			return nil, &Error{File: path, Problem: pe.Err.Error()}
		}
		return nil, err
	}
	if info.IsDir() {
		return openFolder(path, opt)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := newReader(f, path, opt)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r.closer = f
	return r, nil
}

// NewReader reads from r; name is used in errors.
func NewReader(r io.Reader, name string, opt Options) (*Reader, error) {
	return newReader(r, name, opt)
}

// Close closes the file.
func (r *Reader) Close() error {
	if r.closer == nil {
		return nil
	}
	return r.closer.Close()
}

// Format is the layout found.
func (r *Reader) Format() Format { return r.report.Format }

// Timed reports whether records have arrival times on one clock.
func (r *Reader) Timed() bool { return r.report.Timed }

// Report returns the counts so far.
func (r *Reader) Report() Report { return r.report }

// Err returns what ended the reading, nil at the end of the file.
func (r *Reader) Err() error { return r.err }

// Next reads the next record, false at the end or on an error.
func (r *Reader) Next(rec *Record) bool {
	for r.err == nil {
		blocks := rec.Blocks[:0]
		*rec = Record{Blocks: blocks}
		err := r.next(rec)
		if err == io.EOF {
			return false
		}
		if err != nil {
			r.err = err
			return false
		}
		r.report.Rows++
		if r.report.Rows > r.opt.MaxRows {
			r.err = &Error{File: r.name, Line: rec.Line, Problem: fmt.Sprintf("more than %d rows; raise the limit if that is meant", r.opt.MaxRows)}
			return false
		}
		if rec.Input < 0 || rec.Output < 0 {
			r.report.Dropped++
			continue
		}
		r.count(rec)
		return true
	}
	return false
}

// count keeps the report.
func (r *Reader) count(rec *Record) {
	p := &r.report
	p.Emitted++
	if rec.Input == 0 {
		p.ZeroInput++
	}
	if rec.Output == 0 {
		p.ZeroOutput++
	}
	if len(rec.Blocks) > 0 {
		p.WithBlocks++
	}
	if !p.Timed {
		return
	}
	if p.Emitted > 1 && rec.Nanoseconds < r.last {
		p.OutOfOrder++
	}
	if p.Emitted > 1 && rec.Nanoseconds == r.last {
		p.EqualTimestamps++
	} else {
		clear(r.atTime)
	}
	r.last = rec.Nanoseconds
	f := fingerprint(rec)
	if r.atTime[f] {
		p.Duplicates++
	} else if len(r.atTime) < 1<<16 {
		r.atTime[f] = true
	}
}

// fingerprint mixes all of a record but its line and time (FNV-1a over its words).
func fingerprint(rec *Record) uint64 {
	h := uint64(14695981039346656037)
	mix := func(x uint64) { h = (h ^ x) * 1099511628211 }
	mix(uint64(rec.Input)<<32 | uint64(rec.Output))
	mix(rec.Session)
	for i := range len(rec.Class) {
		mix(uint64(rec.Class[i]))
	}
	for _, b := range rec.Blocks {
		mix(b.Key)
	}
	return h
}

// fnv64 hashes a string.
func fnv64(s []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range s {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

func (r *Reader) note(format string, args ...any) {
	const most = 20
	if len(r.report.Notes) < most {
		r.report.Notes = append(r.report.Notes, fmt.Sprintf(format, args...))
	}
}

func (r *Reader) intern(b []byte) string {
	if s, ok := r.class[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(r.class) < 1<<12 {
		r.class[s] = s
	}
	return s
}
