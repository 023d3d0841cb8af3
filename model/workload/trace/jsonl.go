package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// jsonRow is a line of any of the JSON line formats.
type jsonRow struct {
	Timestamp json.RawMessage `json:"timestamp"`
	Input     *json.Number    `json:"input_length"`
	Output    *json.Number    `json:"output_length"`
	HashIDs   json.RawMessage `json:"hash_ids"`
	Session   json.RawMessage `json:"session_id"`
	Chat      *int64          `json:"chat_id"`
	Parent    *int64          `json:"parent_chat_id"`
	Type      string          `json:"type"`
}

// jsonLines reads one object a line.
type jsonLines struct {
	r     *Reader
	in    *lines
	unit  float64 // nanoseconds of a timestamp's unit
	roots map[int64]int64
	rag   *ragTables
}

const (
	mooncakeBlock = 512
	qwenBlock     = 16
	// maxRoots bounds the memory for conversation ids; beyond it turns start sessions of their own.
	maxRoots = 1 << 22
)

// openJSON tells the formats apart by the keys of the first object.
func openJSON(r *Reader, b *bufio.Reader, in *lines, start []byte) error {
	if len(r.opt.Columns) > 0 || r.opt.Format == JSONLines {
		return openGenericJSON(r, in)
	}
	first, _, _ := bytes.Cut(start, []byte("\n"))
	has := func(key string) bool { return bytes.Contains(first, []byte(`"`+key+`"`)) }
	format := r.opt.Format
	if format == "" {
		switch {
		case bytes.Contains(start, []byte(`"requests"`)) && bytes.Contains(start, []byte(`"block_size"`)):
			return agentDocument(r, b)
		case has("chat_id") && has("input_length"):
			format = Qwen
		case has("sys_prompt") || has("passages_ids"):
			format = RAGPulse
		case has("input_length"):
			format = Mooncake
		default:
			return openGenericJSON(r, in)
		}
	}
	j := &jsonLines{r: r, in: in}
	block := int32(0)
	switch format {
	case Mooncake:
		j.unit, block = 1e6, mooncakeBlock
	case Qwen:
		j.unit, block, j.roots = 1e9, qwenBlock, map[int64]int64{}
	case RAGPulse:
		j.unit = 1e9
		var err error
		if j.rag, err = readRAGTables(r); err != nil {
			return err
		}
	default:
		return &Error{File: r.name, Line: 1, Problem: fmt.Sprintf("is JSON, which format %q is not", format)}
	}
	if r.opt.BlockTokens > 0 {
		block = r.opt.BlockTokens
	}
	r.report.Format, r.report.BlockTokens = format, block
	r.report.Timed = has("timestamp")
	r.next = j.next
	return nil
}

func (j *jsonLines) next(rec *Record) error {
	line, err := j.in.nonBlank(&j.r.report.BlankLines)
	if err != nil {
		return err
	}
	rec.Line = j.in.n
	var row jsonRow
	if err := json.Unmarshal(line, &row); err != nil {
		return jsonFault(j.r.name, j.in.n, line, err)
	}
	if rec.Input, err = jsonTokens(row.Input, "input_length"); err == nil {
		rec.Output, err = jsonTokens(row.Output, "output_length")
	}
	if err == nil && j.r.report.Timed {
		rec.Nanoseconds, err = j.time(row.Timestamp)
	}
	if err == nil {
		rec.Session, err = j.session(&row)
		rec.Class = row.Type
	}
	if err == nil && len(row.HashIDs) > 0 && string(row.HashIDs) != "null" {
		if j.rag != nil {
			err = j.rag.blocks(rec, row.HashIDs)
		} else {
			err = j.blocks(rec, row.HashIDs)
		}
	}
	if err != nil {
		return &Error{File: j.r.name, Line: j.in.n, Column: 1, Problem: err.Error()}
	}
	return nil
}

// jsonFault names the column of a JSON error.
func jsonFault(name string, n int64, line []byte, err error) error {
	column := 1
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	problem := err.Error()
	switch {
	case errors.As(err, &syntax):
		column = int(syntax.Offset)
		problem = syntax.Error()
	case errors.As(err, &typed):
		column = int(typed.Offset)
		problem = fmt.Sprintf("%s is a %s; %s is expected", typed.Field, typed.Value, typed.Type)
	}
	return &Error{File: name, Line: n, Column: min(max(column, 1), len(line)+1), Problem: problem}
}

func jsonTokens(n *json.Number, key string) (int32, error) {
	if n == nil {
		return 0, fmt.Errorf("%q is missing", key)
	}
	t, err := parseTokens([]byte(*n))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", key, err)
	}
	return t, nil
}

// time reads a timestamp that may be a number or a number in a string.
func (j *jsonLines) time(raw json.RawMessage) (int64, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return 0, errors.New(`"timestamp" is missing`)
	}
	t, err := parseNumber(bytes.Trim(raw, `"`), j.unit)
	if err != nil {
		return 0, fmt.Errorf("timestamp: %w", err)
	}
	return t, nil
}

func (j *jsonLines) session(row *jsonRow) (uint64, error) {
	if len(row.Session) > 0 && string(row.Session) != "null" {
		return sessionID(bytes.Trim(row.Session, `"`)), nil
	}
	if j.roots == nil || row.Chat == nil {
		return 0, nil
	}
	root := *row.Chat
	if row.Parent != nil && *row.Parent >= 0 {
		if r, ok := j.roots[*row.Parent]; ok {
			root = r
		} else {
			root = *row.Parent
		}
	}
	if len(j.roots) < maxRoots {
		j.roots[*row.Chat] = root
	}
	return uint64(root) + 1, nil
}

// blocks reads hash ids, each of the block size, the last possibly partial.
func (j *jsonLines) blocks(rec *Record, raw json.RawMessage) error {
	size := j.r.report.BlockTokens
	ids, err := parseIDs(rec.Blocks, raw)
	if err != nil {
		return err
	}
	n, floor := int32(len(ids)), rec.Input/size
	ceil := (rec.Input + size - 1) / size
	switch {
	case n > ceil:
		return fmt.Errorf("%d hash ids for %d input tokens don't fit blocks of %d tokens; give the block size they were made with (%d would fit)", n, rec.Input, size, fittingBlock(rec.Input, n))
	case n == ceil:
		j.r.report.BlocksCeil++
	case n == floor:
		j.r.report.BlocksFloor++
	}
	for i := range ids {
		ids[i].Tokens = size
	}
	if n > 0 && n > floor {
		ids[n-1].Tokens = rec.Input - floor*size
		if j.r.report.Format == Qwen { // the hash of a partial block may differ for the same content
			ids = ids[:n-1]
		}
	}
	rec.Blocks = ids
	return nil
}

// fittingBlock is the largest power of two at which that many blocks cover the prompt.
func fittingBlock(input, blocks int32) int32 {
	size := int32(1)
	for size*2*(blocks-1) < input {
		size *= 2
	}
	return size
}

// parseIDs reads [1, 2, 3] as unsigned 64-bit keys.
func parseIDs(out []Block, raw []byte) ([]Block, error) {
	b := bytes.TrimSpace(raw)
	if len(b) < 2 || b[0] != '[' {
		return nil, fmt.Errorf("hash_ids is %q; a list of numbers is expected", clip(b))
	}
	b = b[1 : len(b)-1]
	for len(bytes.TrimSpace(b)) > 0 {
		var item []byte
		item, b, _ = bytes.Cut(b, []byte(","))
		item = bytes.TrimSpace(item)
		id, err := strconv.ParseUint(string(item), 10, 64)
		if err != nil {
			signed, serr := strconv.ParseInt(string(item), 10, 64)
			if serr != nil {
				return nil, fmt.Errorf("hash id %q is not a 64-bit whole number", clip(item))
			}
			id = uint64(signed)
		}
		out = append(out, Block{Key: id})
	}
	return out, nil
}
