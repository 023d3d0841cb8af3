package hardware

// Batch is what one engine step works on.
type Batch struct {
	DecodeSequences  int     // sequences that generate one token each in this step
	DecodeKVTokens   float64 // KV tokens these read in full-attention layers: the sum of their contexts
	DecodeKVWindow   float64 // the same for sliding-window layers: the sum of min(context, window)
	PrefillSequences int     // sequences with a prefill chunk in this step
	PrefillTokens    int     // prompt tokens computed in this step, cached ones excluded
	PrefillPairs     float64 // query-key pairs of these in full-attention layers: sum over chunks of c*(past + (c+1)/2)
	PrefillPairsWin  float64 // the same in sliding-window layers
	PrefillKVTokens  float64 // KV tokens of earlier chunks or cached prefix that the chunks read
	Speculative      int     // tokens verified per decode sequence, 1 without speculation
}

// Work is what a step takes: time, and what was done in it.
type Work struct {
	Seconds float64
	FLOPs   float64 // on one replica, all chips together
	Bytes   float64 // read and written in device memory, all chips together
	Joules  float64 // drawn by the accelerators of the replica in this time, idle draw included
}

// Plus adds two pieces of work.
func (w Work) Plus(v Work) Work {
	return Work{w.Seconds + v.Seconds, w.FLOPs + v.FLOPs, w.Bytes + v.Bytes, w.Joules + v.Joules}
}

// Times scales work.
func (w Work) Times(k float64) Work {
	return Work{w.Seconds * k, w.FLOPs * k, w.Bytes * k, w.Joules * k}
}

// DecodeWork is the work of a pure decode step, linear in the KV tokens read. At a fixed number of sequences the steps of a
// leap therefore form an arithmetic progression.
type DecodeWork struct {
	Base     Work // at zero context
	PerKV    Work // for each KV token read in full-attention layers
	PerKVWin Work // for each KV token read in sliding-window layers
}

// StepModel tells how long an engine step takes on one replica. It is a pure function; implementations are safe for
// concurrent use. For a batch without prefill, Step must equal Decode to rounding.
type StepModel interface {
	Step(b Batch) Work
	Decode(sequences int) DecodeWork
	// IdleWatts is the draw of the replica's accelerators when no step runs.
	IdleWatts() float64
}
