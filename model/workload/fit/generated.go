package fit

import (
	"fmt"

	"scoville/model/workload"
	"scoville/model/workload/describe"
	"scoville/model/workload/trace"
)

// Generated describes the traffic that a workload makes. For Feedback sources see
// workload.AssumedServiceNanoseconds.
// A workload without a rate of its own is drawn at 1 request a second.
func Generated(w *workload.Workload, o workload.SourceOptions) (*describe.Trace, error) {
	if o.RequestsPerSecond == 0 && o.Concurrency == 0 && w.OwnRate() == 0 {
		o.RequestsPerSecond = 1
	}
	s, err := w.Source(o)
	if err != nil {
		return nil, err
	}
	feedback, _ := s.(workload.Feedback)
	set := &trace.Set{Timed: true, Report: trace.Report{Format: "generated", Timed: true}}
	var r workload.Request
	for s.Next(&r) {
		set.Nanos = append(set.Nanos, r.ArrivalNanoseconds)
		set.Input, set.Output = append(set.Input, r.InputTokens), append(set.Output, r.OutputTokens)
		set.Session = append(set.Session, uint64(r.Session))
		for _, b := range r.Blocks {
			set.Blocks = append(set.Blocks, trace.Block(b))
		}
		set.BlockEnd = append(set.BlockEnd, len(set.Blocks))
		if feedback != nil {
			feedback.Done(&r, r.ArrivalNanoseconds+workload.AssumedServiceNanoseconds)
		}
	}
	if s.Err() != nil {
		return nil, s.Err()
	}
	if set.Len() < 2 {
		return nil, fmt.Errorf("workload %q made %d requests; at least 2 are needed", w.Name, set.Len())
	}
	set.Report.Rows, set.Report.Emitted = int64(set.Len()), int64(set.Len())
	return describe.Set(w.Name, set), nil
}
