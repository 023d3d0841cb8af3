package sim

import (
	"scoville/hardware"
	"scoville/model/sla"
)

// Engine is the configuration of one replica's scheduler, vLLM V1 semantics by default.
type Engine struct {
	Policy              Policy
	MaxBatchedTokens    int     // token budget of a step
	MaxSequences        int     // sequences running at once
	ChunkedPrefill      bool    // split prompts over steps by what budget remains
	BlockTokens         int     // tokens in a KV block
	KVBlocks            int64   // blocks in the pool; 0: unbounded
	PrefixCaching       bool    // reuse blocks by hash, least recently used out first
	PriorityQueue       bool    // waiting requests by (priority, arrival) instead of arrival
	QueueLimit          int     // waiting requests beyond this are rejected; 0: no limit
	MaxModelLen         int     // longest input + output accepted; 0: what the KV pool holds
	WindowTokens        int     // sliding window of the window layers; 0: none
	WindowShare         float64 // share of the KV bytes of a token that lies in window layers
	Speculative         Speculative
	OverheadTTFTSeconds float64 // server-side time outside the steps before the first token (tokenise, dispatch, network)
}

// Policy names a batching policy.
type Policy string

// The policies.
const (
	VLLMV1  Policy = "vllm-v1"             // running first, then waiting; preempts the youngest by recompute
	Static  Policy = "static"              // a batch is filled, run to its last token, then replaced
	NoEvict Policy = "guaranteed-no-evict" // admits only what fits to its last token (TensorRT-LLM)
)

// Speculative is speculative decoding: Draft tokens proposed a step, each accepted with probability Acceptance given the one before.
type Speculative struct {
	Draft      int
	Acceptance float64
}

// Config is one replica to simulate.
type Config struct {
	Engine  Engine
	Steps   hardware.StepModel
	SLA     sla.Limits
	Options Options
}

// Options rule a run, not the system.
type Options struct {
	WarmupShare    float64 // share of the run left out of the figures; 0: the default of 0.05
	MaxRequests    int64   // stop admitting arrivals after so many; 0: when the source ends
	HorizonNanos   int64   // stop at this time; 0: run until all is done
	TimelinePoints int     // bound on the points of each timeline; 0: none are kept
	KeepRequests   bool    // keep one Record a request in Result.Records
	DisableLeap    bool    // walk step by step: the oracle
}

// Record is one request as measured.
type Record struct {
	ID                                                  int64
	InputTokens, OutputTokens                           int32
	CachedTokens                                        int32 // prompt tokens found in the prefix cache
	Class                                               int32
	Outcome                                             Outcome
	Preemptions                                         int32
	ArrivalNanos, StartNanos, FirstTokenNanos, EndNanos int64
}

// Outcome says how a request ended.
type Outcome uint8

// The outcomes.
const (
	Finished   Outcome = iota
	Rejected           // queue full, or larger than the KV cache or the longest length
	TimedOut           // the client gave up
	Unfinished         // still in flight when the run stopped
)

// Distribution is a measured distribution over requests (ITL: over gaps). Seconds, or what the field's name says.
type Distribution struct {
	Count                         int64
	Mean, P50, P90, P95, P99, Max float64
	// Exact is false where quantiles come from a histogram; RelativeError then bounds their error.
	Exact         bool
	RelativeError float64
}

// Verdict says whether a run has a steady state to speak of.
type Verdict string

// The verdicts.
const (
	Stable       Verdict = "stable"
	Unstable     Verdict = "unstable"      // the backlog grows: no latency is reported
	NotConverged Verdict = "not-converged" // stable so far, but too short for the precision asked
)

// Result is what one run of one replica (or fleet) measured after warm-up. It is plain data.
type Result struct {
	Verdict                                                                Verdict
	BacklogSlope                                                           float64 // requests a second by which the backlog grows, when unstable
	Warnings                                                               []string
	Arrived, Finished, Rejected, TimedOut, Unfinished, Preemptions, Steps  int64
	InputTokens, CachedInputTokens, OutputTokens                           int64
	Seconds                                                                float64 // measured window, warm-up excluded
	BusySeconds                                                            float64
	TTFT, TPOT, ITL, E2E, QueueWait                                        Distribution
	MeanBatch, MeanRunning, MeanWaiting                                    float64
	MeanKVShare, MaxKVShare                                                float64
	FLOPs, Bytes, Joules                                                   float64 // in the measured window; Joules include idle draw
	RequestsPerSecond, OutputTokensPerSecond, GoodputPerSecond, Attainment float64
	SLAMet                                                                 bool
	Violations                                                             []string // limits not met, in words
	Timelines                                                              []Timeline
	Records                                                                []Record
}

// Timeline is a quantity over time, thinned to a bounded number of points.
type Timeline struct {
	Name    string
	Unit    string
	Seconds []float64
	Values  []float64
}
