package workload

import (
	"io"

	"scoville/model/workload/trace"
)

// AssumedServiceNanoseconds is how long a request is taken to last where traffic with feedback (sessions, closed loops) is
// written out or described without a system that serves it: 1 s.
const AssumedServiceNanoseconds = 1_000_000_000

// WriteTrace writes all requests of a source as a trace of our own format, class by name. See AssumedServiceNanoseconds.
func WriteTrace(out io.Writer, w *Workload, s Source) error {
	t := trace.NewWriter(out)
	feedback, _ := s.(Feedback)
	var r Request
	var rec trace.Record
	for s.Next(&r) {
		rec = trace.Record{Nanoseconds: r.ArrivalNanoseconds, Input: r.InputTokens, Output: r.OutputTokens, Session: uint64(r.Session), Blocks: rec.Blocks[:0]}
		if len(w.Classes) > 0 {
			rec.Class = w.Classes[r.Class].Name
		}
		for _, b := range r.Blocks {
			rec.Blocks = append(rec.Blocks, trace.Block(b))
		}
		if err := t.Write(&rec); err != nil {
			return err
		}
		if feedback != nil {
			feedback.Done(&r, r.ArrivalNanoseconds+AssumedServiceNanoseconds)
		}
	}
	if err := s.Err(); err != nil {
		return err
	}
	return t.Flush()
}
