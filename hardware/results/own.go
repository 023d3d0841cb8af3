package results

import (
	"encoding/json"
	"fmt"
	"io"
)

// ownFormat names the format of scoville bench: JSONL. The first line is a header {"scoville_records": 1, "run": {...}}; then one line a request
// {"record": {...}} or a stage that began {"stage": {...}}; a finished run ends with {"summary": {...}}. A file without its last line is complete
// up to where it was interrupted.
const ownFormat = 1

type ownLine struct {
	Format  int     `json:"scoville_records,omitempty"`
	Run     *Run    `json:"run,omitempty"`
	Stage   *Stage  `json:"stage,omitempty"`
	Index   int     `json:"index,omitempty"`
	Record  *Record `json:"record,omitempty"`
	Summary *Run    `json:"summary,omitempty"`
}

// Writer appends the lines of a run to w as they come. It isn't safe for concurrent use.
type Writer struct {
	enc *json.Encoder
}

// NewWriter writes the header line.
func NewWriter(w io.Writer, header *Run) (*Writer, error) {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return &Writer{e}, e.Encode(ownLine{Format: ownFormat, Run: header})
}

// Stage writes or rewrites a stage.
func (w *Writer) Stage(index int, s Stage) error {
	return w.enc.Encode(ownLine{Index: index, Stage: &s})
}

// Record writes one request.
func (w *Writer) Record(r *Record) error { return w.enc.Encode(ownLine{Record: r}) }

// Finish writes the summary.
func (w *Writer) Finish(r *Run) error { return w.enc.Encode(ownLine{Summary: r}) }

func isOwn(first any, _ *input) bool { return asDoc(first).has("scoville_records") }

func readOwn(in *input) ([]*Run, error) {
	var r *Run
	var summary *Run
	for i, v := range in.docs {
		text, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		var l ownLine
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		switch {
		case l.Format != 0:
			if l.Format != ownFormat {
				return nil, refuse("written in format %d; this version reads format %d", l.Format, ownFormat)
			}
			if l.Run == nil || r != nil {
				return nil, refuse("line %d: not the header of one run", i+1)
			}
			r = l.Run
			r.Stages = nil
		case r == nil:
			return nil, refuse("line %d stands before the header", i+1)
		case l.Stage != nil:
			if l.Index < 0 || l.Index > len(r.Stages) {
				return nil, refuse("line %d: stage %d after %d stages", i+1, l.Index, len(r.Stages))
			}
			if l.Index == len(r.Stages) {
				r.Stages = append(r.Stages, Stage{})
			}
			r.Stages[l.Index] = *l.Stage
		case l.Record != nil:
			if l.Record.Stage < 0 || l.Record.Stage >= len(r.Stages) {
				return nil, refuse("line %d: a record of stage %d, which the file doesn't have", i+1, l.Record.Stage)
			}
			r.Records = append(r.Records, *l.Record)
		case l.Summary != nil:
			summary = l.Summary
		}
	}
	if r == nil {
		return nil, refuse("has no header")
	}
	r.DurationSeconds = 0
	r.Summarise()
	if summary != nil {
		r.Client, r.Power = summary.Client, summary.Power
		for _, w := range summary.Warnings {
			r.warn("%s", w)
		}
	} else {
		r.warn("the run was interrupted: no summary line")
	}
	return []*Run{r}, nil
}
