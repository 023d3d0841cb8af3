package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// ragTables are the token lengths of the parts of RAGPulse prompts, from the side tables that lie beside the trace.
type ragTables struct {
	length map[uint64]int32 // nil: no tables, so blocks have no lengths and are left out
}

// ragParts are the parts of a prompt in order, and the key of their id in the side tables.
var ragParts = []struct{ part, table, id string }{
	{"sys_prompt", "1_sys_prompt.jsonl", "sys_prompt_id"},
	{"passages_ids", "2_passages.jsonl", "passage_id"},
	{"history", "3_history.jsonl", "history_id"},
	{"web_search", "5_web_search.jsonl", "web_search_id"},
	{"user_input", "4_user_input.jsonl", "user_input_id"},
}

// readRAGTables looks for the side tables beside the trace.
func readRAGTables(r *Reader) (*ragTables, error) {
	t := &ragTables{}
	found := map[uint64]int32{}
	for k, p := range ragParts {
		path := filepath.Join(filepath.Dir(r.name), p.table)
		if _, err := os.Stat(path); err != nil {
			path += ".gz"
		}
		f, err := os.Open(path)
		if err != nil {
			r.note("side table %s is not beside the trace, so what prompts share is not known", p.table)
			return t, nil
		}
		err = readRAGTable(f, path, r.opt.MaxLine, p.id, func(id uint64, tokens int32) { found[ragKey(k, id)] = tokens })
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return nil, err
		}
	}
	t.length = found
	return t, nil
}

func ragKey(part int, id uint64) uint64 { return uint64(part+1)<<56 | id&(1<<56-1) }

func readRAGTable(f io.Reader, path string, maxLine int, idKey string, add func(uint64, int32)) error {
	b, err := decompress(f, path)
	if err != nil {
		return err
	}
	in := &lines{name: path, r: b, max: maxLine}
	var blank int64
	for {
		line, err := in.nonBlank(&blank)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var row map[string]uint64
		if err := json.Unmarshal(line, &row); err != nil {
			return jsonFault(path, in.n, line, err)
		}
		id, hasID := row[idKey]
		tokens, hasTokens := row["token_length"]
		if !hasID || !hasTokens || tokens > maxTokens {
			return &Error{File: path, Line: in.n, Column: 1, Problem: fmt.Sprintf("%q and \"token_length\" are expected", idKey)}
		}
		add(id, int32(tokens))
	}
}

// blocks turns the object of id lists into blocks, in the order in which the prompt is put together.
func (t *ragTables) blocks(rec *Record, raw json.RawMessage) error {
	var parts map[string][]uint64
	if err := json.Unmarshal(raw, &parts); err != nil {
		return fmt.Errorf("hash_ids is not an object of lists of numbers: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if t.length == nil {
		return nil
	}
	for k, p := range ragParts {
		for _, id := range parts[p.part] {
			tokens, ok := t.length[ragKey(k, id)]
			if !ok {
				return fmt.Errorf("%s %d is not in %s", p.part, id, p.table)
			}
			if tokens > 0 {
				rec.Blocks = append(rec.Blocks, Block{ragKey(k, id), tokens})
			}
		}
	}
	return nil
}
