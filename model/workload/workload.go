// Package workload describes the traffic a deployment must serve: when requests come, how long they are, what they share.
package workload

// Request is one call for tokens, complete before any system sees it, so that two designs compared meet the same traffic.
type Request struct {
	ID                 int64
	ArrivalNanoseconds int64 // since the start of the run
	InputTokens        int32 // prompt, system prompt and history included; at least 1
	OutputTokens       int32 // generated tokens, the first included; at least 1
	Class              int32 // index into the workload's classes
	Priority           int32 // lower is served first where the engine has a priority queue
	Session            int64 // 0: no session
	TimeoutNanoseconds int64 // the client gives up this long after arrival; 0: never
	Blocks             []PrefixBlock
	// OutputKey is the key under which a later prompt (the next turn of a session) may hold the tokens generated for this
	// request, as a block of OutputTokens right after this whole prompt; 0: no prompt ever does.
	OutputKey uint64
}

// PrefixBlock names a run of prompt tokens that other requests may share, head to tail: equal keys at equal positions
// after equal heads mean equal content. Blocks cover the head of the prompt; what they don't cover is unique.
type PrefixBlock struct {
	Key    uint64
	Tokens int32
}

// Source yields requests in order of arrival.
type Source interface {
	// Next fills r with the next request and returns true, or returns false when none is left (see Err) or,
	// for a Feedback source, when none can come before another request is Done.
	// r.Blocks may alias memory that the source reuses at the following call.
	Next(r *Request) bool
	// Err returns what ended the source early, nil at a normal end.
	Err() error
}

// Feedback is a source whose arrivals depend on completions: closed loops and sessions.
type Feedback interface {
	Source
	// Peek returns the arrival time of the next request without taking it.
	Peek() (arrivalNanoseconds int64, ok bool)
	// Done tells that a request left the system, finished or failed, at that time. It may create arrivals at or after it.
	Done(r *Request, atNanoseconds int64)
}
