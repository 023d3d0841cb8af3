package sim

import (
	"fmt"

	"scoville/model/workload"
)

// Feed hands a source's requests to an event loop in order, one look ahead at most, and for sources with feedback none at all: what
// comes next may depend on what is still running.
type Feed struct {
	src      workload.Source
	feedback workload.Feedback // nil for an open source
	limit    int64             // requests; 0: no limit
	taken    int64
	last     int64
	next     workload.Request
	have     bool
	ended    bool
	err      error
}

// NewFeed starts to read a source, of which at most limit requests are taken (0: all).
func NewFeed(src workload.Source, limit int64) *Feed {
	f := &Feed{src: src, limit: limit}
	f.feedback, _ = src.(workload.Feedback)
	return f
}

// Next returns the arrival time of the next request, math.MaxInt64 when there is none (at present, for a source with feedback).
func (f *Feed) Next() int64 {
	if f.err != nil || f.limit > 0 && f.taken >= f.limit {
		return never
	}
	if f.feedback != nil {
		if at, ok := f.feedback.Peek(); ok {
			return at
		}
		return never
	}
	if !f.have && !f.ended {
		f.have = f.src.Next(&f.next)
		f.ended = !f.have
	}
	if !f.have {
		return never
	}
	return f.next.ArrivalNanoseconds
}

// Take returns the request that Next announced; it is valid until the next call. It returns nil when the source breaks its contract,
// see Err.
func (f *Feed) Take() *workload.Request {
	if f.feedback != nil {
		f.have = f.src.Next(&f.next)
	}
	if !f.have {
		f.fail("source: announced a request and had none")
		return nil
	}
	f.have = false
	q := &f.next
	switch {
	case q.ArrivalNanoseconds < f.last:
		f.fail("source: request %d arrives at %d ns, before the one ahead of it (%d ns)", q.ID, q.ArrivalNanoseconds, f.last)
	case q.InputTokens < 1 || q.OutputTokens < 1:
		f.fail("source: request %d has %d input and %d output tokens; at least 1 of each is needed", q.ID, q.InputTokens, q.OutputTokens)
	default:
		f.last = q.ArrivalNanoseconds
		f.taken++
		return q
	}
	return nil
}

func (f *Feed) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

// Done tells a source with feedback that a request has left.
func (f *Feed) Done(q *workload.Request, at int64) {
	if f.feedback != nil {
		f.feedback.Done(q, at)
	}
}

// Feedback reports whether the source wants to be told of requests that leave.
func (f *Feed) Feedback() bool { return f.feedback != nil }

// Err returns what ended the feed early, nil at a normal end.
func (f *Feed) Err() error {
	if f.err != nil {
		return f.err
	}
	return f.src.Err()
}
