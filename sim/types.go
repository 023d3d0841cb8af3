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
	AsyncScheduling     bool    // a step is planned while the one before it runs: a request joins one step later than it could
	ReceiveInterval     int     // decode steps between two looks for new requests; 0 or 1: before each step. SGLang's scheduler_recv_interval
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
//
// A step yields (1 - a^(d+1)) / (1 - a) tokens a sequence on average (Leviathan et al. 2023, eq. 1). The simulator advances every
// sequence by that expectation in each step, kept in 1/256 of a token, instead of drawing: over the tens to hundreds of steps of
// an answer the draws average out, and time to the last token then costs no draw a token.
type Speculative struct {
	Draft      int
	Acceptance float64
	DraftCost  float64 // time and work to draft one token, as a share of a plain decode step of the target model
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
	WarmupShare    float64 // share of the run left out of the figures; 0: the default of 0.05; negative: none, see Finite
	MaxRequests    int64   // stop admitting arrivals after so many; 0: when the source ends
	HorizonNanos   int64   // stop at this time; 0: run until all is done
	TimelinePoints int     // bound on the points of each timeline; 0: none are kept
	KeepRequests   bool    // keep one Record a request in Result.Records
	DisableLeap    bool    // walk step by step: the oracle
	ExactRequests  int     // quantiles over requests are exact up to so many, from a histogram beyond; 0: 200,000
}

// Record is one request as measured.
type Record struct {
	ID                                                  int64
	InputTokens, OutputTokens                           int32
	CachedTokens                                        int32 // prompt tokens found in the prefix cache
	Class                                               int32
	Replica                                             int32
	Outcome                                             Outcome
	Reason                                              Reason
	Preemptions                                         int32
	ArrivalNanos, StartNanos, FirstTokenNanos, EndNanos int64
}

// Outcome says how a request ended.
type Outcome uint8

// The outcomes.
const (
	Finished   Outcome = iota
	Rejected           // see its Reason
	TimedOut           // the client gave up
	Unfinished         // still in flight when the run stopped
)

// Reason says why a request was rejected.
type Reason uint8

// The reasons.
const (
	Accepted    Reason = iota
	QueueFull          // as many requests waited as QueueLimit allows
	TooLong            // input + output exceed MaxModelLen
	OverKVCache        // input + output need more blocks than the KV pool has
	OverBudget         // without chunked prefill, the prompt exceeds MaxBatchedTokens
)

// String says the reason in words.
func (r Reason) String() string {
	switch r {
	case QueueFull:
		return "queue full"
	case TooLong:
		return "input + output exceed the longest model length"
	case OverKVCache:
		return "input + output exceed the KV cache"
	case OverBudget:
		return "prompt exceeds the token budget of a step and chunked prefill is off"
	}
	return "accepted"
}

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
	Finite       Verdict = "finite"        // WarmupShare < 0: the whole of a finite job was measured, no steady state is claimed
)

// Result is what one run of one replica (or fleet) measured. It is plain data. Counts are of the whole run, so that they balance;
// latencies are of the requests that arrived in the measured window, and rates, means, work and energy are of that window.
type Result struct {
	Verdict      Verdict
	BacklogSlope float64 // requests a second by which the backlog grows, when unstable
	Warnings     []string

	// Counts of the whole run: Arrived = Finished + Rejected + TimedOut + Unfinished.
	Arrived, Finished, Rejected, TimedOut, Unfinished, Preemptions, Steps int64
	RejectedFor                                                           map[string]int64 `json:",omitempty"` // Rejected by reason
	InputTokens, CachedInputTokens, OutputTokens                          int64            // of finished requests

	Seconds, WarmupSeconds, RunSeconds float64 // the measured window, what went before it, and the whole run
	BusySeconds                        float64 // in the window, all replicas together
	PrefillShare                       float64 // of BusySeconds: what prompts took beyond the decode part of their steps
	Utilisation                        float64 // BusySeconds / (Seconds x replicas)
	MeasuredRequests                   int64   // requests that arrived in the window

	TTFT, TPOT, ITL, E2E, QueueWait Distribution
	MeanBatch                       float64 // sequences in a step, over steps
	MeanRunning, MeanWaiting        float64 // requests, over time, all replicas together
	MeanKVShare, MaxKVShare         float64 // blocks held over blocks in the pool, over busy time
	PrefixHitRate                   float64 // CachedInputTokens / InputTokens
	FLOPs, Bytes, Joules            float64 // in the window; Joules include idle draw
	RequestsPerSecond               float64 // finished
	InputTokensPerSecond            float64 // prompt tokens computed or found in the cache
	OutputTokensPerSecond           float64
	GoodputPerSecond, Attainment    float64 // requests that met every limit, a second and as a share of those offered
	SLAMet                          bool
	Violations                      []string // limits not met, in words
	Timelines                       []Timeline
	Records                         []Record

	samples     *samples
	replicas    int
	failedShare float64 // of the requests that arrived in the window
	trajectory  []float64
}

// Timeline is a quantity over time, thinned to a bounded number of points.
type Timeline struct {
	Name    string
	Unit    string
	Seconds []float64
	Values  []float64
}
