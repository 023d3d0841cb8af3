package results

import "math"

// Stage kinds. Warm-up stages are never part of a summary.
const (
	KindWarmup  = "warmup"
	KindPrefill = "prefill"  // prompts of one length, one token out
	KindDecode  = "decode"   // fixed concurrency, short prompts, many tokens out
	KindMixed   = "mixed"    // prompts and outputs of many lengths
	KindHeldOut = "held-out" // never used to fit
	KindSoak    = "soak"
	KindLoad    = "load" // anything else, and all runs of other tools
)

// Sources of a token count, from the most to the least trustworthy.
const (
	CountServer    = "server_usage"
	CountTokenizer = "client_tokenizer"
	CountChunks    = "chunk_count"
	CountRequested = "requested_length"
)

// Stage is one load applied to the server.
type Stage struct {
	Name          string  `json:"name"`
	Kind          string  `json:"kind"`
	Concurrency   int     `json:"concurrency,omitempty"`     // requests kept in flight; 0: open loop or unknown
	RatePerSecond float64 `json:"rate_per_second,omitempty"` // offered arrivals; 0: closed loop or unknown
	InputTokens   int     `json:"input_tokens,omitempty"`    // asked for; 0: varied or unknown
	OutputTokens  int     `json:"output_tokens,omitempty"`
	StartSeconds  float64 `json:"start_s"` // on the run's clock
	EndSeconds    float64 `json:"end_s"`
}

// Failure says why a request counts as failed.
type Failure struct {
	Phase   string `json:"phase"` // connect, send, headers, stream, output, client
	HTTP    int    `json:"http,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// Record is one request. Durations are seconds since the request was sent; 0 means not known.
type Record struct {
	ID               string    `json:"id,omitempty"`
	Stage            int       `json:"stage"` // index into Run.Stages
	Clocked          bool      `json:"clocked"`
	ScheduledSeconds float64   `json:"scheduled_s"` // intended send on the run's clock; meaningless unless Clocked
	SentSeconds      float64   `json:"sent_s"`
	QueueSeconds     float64   `json:"queue_s,omitempty"` // wait in the client between scheduled and sent
	TTFTSeconds      float64   `json:"ttft_s,omitempty"`
	TTFOSeconds      float64   `json:"ttfo_s,omitempty"` // first token that isn't reasoning
	E2ESeconds       float64   `json:"e2e_s,omitempty"`
	DoneSeconds      float64   `json:"done_s,omitempty"` // stream closed
	InputTokens      int       `json:"input_tokens"`
	CachedTokens     int       `json:"cached_tokens,omitempty"` // part of the input found in a prefix cache
	OutputTokens     int       `json:"output_tokens"`
	RequestedTokens  int       `json:"requested_tokens,omitempty"`
	ReasoningTokens  int       `json:"reasoning_tokens,omitempty"`
	FirstTokens      int       `json:"first_tokens,omitempty"` // tokens in the first chunk; 0: taken as 1
	TokenCount       string    `json:"token_count,omitempty"`  // source of OutputTokens
	GapsSeconds      []float64 `json:"gaps_s,omitempty"`       // between chunks that carried tokens
	ChunkTokens      []int     `json:"chunk_tokens,omitempty"` // tokens of each such chunk after the first; nil: one each
	DecodeOnly       bool      `json:"decode_only,omitempty"`  // no prefill in E2E: TPOT is E2E / output tokens
	Retries          int       `json:"retries,omitempty"`
	FinishReason     string    `json:"finish_reason,omitempty"`
	Error            *Failure  `json:"error,omitempty"`
}

// OK reports whether the request produced its answer.
func (r *Record) OK() bool { return r.Error == nil }

// TPOT is the mean seconds a token after the first; ok is false where the record can't say.
func (r *Record) TPOT() (seconds float64, ok bool) {
	if r.DecodeOnly {
		return r.E2ESeconds / float64(max(r.OutputTokens, 1)), r.OutputTokens > 0 && r.E2ESeconds > 0
	}
	n := r.OutputTokens - max(r.FirstTokens, 1)
	if n <= 0 || r.TTFTSeconds <= 0 || r.E2ESeconds < r.TTFTSeconds {
		return 0, false
	}
	return (r.E2ESeconds - r.TTFTSeconds) / float64(n), true
}

// Gaps appends the gaps between tokens: a chunk's gap is shared out evenly over its tokens.
func (r *Record) Gaps(to []float64) []float64 {
	for i, g := range r.GapsSeconds {
		n := 1
		if i < len(r.ChunkTokens) {
			n = max(r.ChunkTokens[i], 1)
		}
		for range n {
			to = append(to, g/float64(n))
		}
	}
	return to
}

// Quantile is one point of a distribution: P in (0, 1).
type Quantile struct {
	P     float64 `json:"p"`
	Value float64 `json:"value"`
}

// Distribution is what is known of a quantity. Definition names what was measured where it isn't ours.
type Distribution struct {
	Count      int        `json:"count,omitempty"`
	Mean       float64    `json:"mean"`
	Std        float64    `json:"std,omitempty"`
	Min        float64    `json:"min,omitempty"`
	Max        float64    `json:"max,omitempty"`
	Quantiles  []Quantile `json:"quantiles,omitempty"`
	Estimator  string     `json:"estimator,omitempty"` // how the quantiles were taken
	Definition string     `json:"definition,omitempty"`
}

// Known reports whether anything is known.
func (d *Distribution) Known() bool { return d != nil && d.Mean > 0 && !math.IsInf(d.Mean, 0) }

// At returns the quantile at p if the file has it.
func (d *Distribution) At(p float64) (float64, bool) {
	if d == nil {
		return 0, false
	}
	for _, q := range d.Quantiles {
		if math.Abs(q.P-p) < 1e-9 {
			return q.Value, true
		}
	}
	return 0, false
}

// Latency holds the four distributions, in seconds; nil where unknown.
type Latency struct {
	TTFT *Distribution `json:"ttft,omitempty"`
	TPOT *Distribution `json:"tpot,omitempty"`
	ITL  *Distribution `json:"itl,omitempty"`
	E2E  *Distribution `json:"e2e,omitempty"`
	// TTFTScheduled and E2EScheduled count from the scheduled time: the wait in the client is part of them.
	TTFTScheduled *Distribution `json:"ttft_from_schedule,omitempty"`
	E2EScheduled  *Distribution `json:"e2e_from_schedule,omitempty"`
	ClientQueue   *Distribution `json:"client_queue,omitempty"`
}

// Client says how honest the load generator was; only scoville's own runs have it.
type Client struct {
	LagP99Seconds   float64 `json:"lag_p99_s"` // request handed to the network later than its time
	LagMaxSeconds   float64 `json:"lag_max_s"`
	Connections     int     `json:"connections"`
	ReusedShare     float64 `json:"reused_share"`
	CPUShare        float64 `json:"cpu_share"` // of all cores of the client's machine
	GCPauseSeconds  float64 `json:"gc_pause_max_s"`
	CoalescedShare  float64 `json:"coalesced_share"` // gaps below 0.1 ms: a proxy or the client joined chunks
	LengthMissShare float64 `json:"length_miss_share"`
	Bottleneck      string  `json:"bottleneck,omitempty"` // why the run must not be used; empty: fine
}

// Power is what the chips drew while the run lasted.
type Power struct {
	Source            string  `json:"source"`
	Devices           int     `json:"devices"`
	Seconds           float64 `json:"seconds"`
	Joules            float64 `json:"joules"`
	MeanWatts         float64 `json:"mean_watts"`
	PeakWatts         float64 `json:"peak_watts"`
	JoulesPerToken    float64 `json:"joules_per_output_token,omitempty"`
	TokensPerSecondW  float64 `json:"tokens_per_second_per_watt,omitempty"`
	TemperatureMaxC   float64 `json:"temperature_max_c,omitempty"`
	ClockMinMegahertz float64 `json:"clock_min_mhz,omitempty"`
	Throttled         string  `json:"throttled,omitempty"` // why; empty: not seen
}

// Run is one run of a load generator against one server.
type Run struct {
	Tool          string            `json:"tool"`
	ToolVersion   string            `json:"tool_version,omitempty"`
	File          string            `json:"file,omitempty"`
	Label         string            `json:"label,omitempty"`
	Model         string            `json:"model,omitempty"`
	Engine        string            `json:"engine,omitempty"`
	EngineVersion string            `json:"engine_version,omitempty"`
	Hardware      string            `json:"hardware,omitempty"`
	Chips         int               `json:"chips,omitempty"`
	Endpoint      string            `json:"endpoint,omitempty"`
	Parameters    map[string]string `json:"parameters,omitempty"` // what else the file says of the server and the load

	// StartUnixSeconds anchors the clock of the records to unix time; 0: the file's clock has no known origin, so nothing else (a power log) can be joined.
	StartUnixSeconds float64 `json:"start_unix_s,omitempty"`
	DurationSeconds  float64 `json:"duration_s,omitempty"`
	Stages           []Stage `json:"stages"`

	Requests   int            `json:"requests"` // sent
	Completed  int            `json:"completed"`
	Failed     int            `json:"failed"`
	Incomplete int            `json:"incomplete,omitempty"` // cut off by the end of the run
	ErrorKinds map[string]int `json:"error_kinds,omitempty"`

	MeanInputTokens  float64 `json:"mean_input_tokens,omitempty"`
	MeanOutputTokens float64 `json:"mean_output_tokens,omitempty"`
	StdOutputTokens  float64 `json:"std_output_tokens,omitempty"` // of a completed request; 0: equal, or unknown (see StdKnown)
	StdKnown         bool    `json:"-"`
	InputTokens      int64   `json:"input_tokens,omitempty"` // of completed requests
	CachedTokens     int64   `json:"cached_tokens,omitempty"`
	OutputTokens     int64   `json:"output_tokens,omitempty"`

	RequestsPerSecond       float64 `json:"requests_per_second,omitempty"` // completed / duration
	SteadyRequestsPerSecond float64 `json:"steady_requests_per_second,omitempty"`
	OutputTokensPerSecond   float64 `json:"output_tokens_per_second,omitempty"`
	TotalTokensPerSecond    float64 `json:"total_tokens_per_second,omitempty"`

	Latency  Latency  `json:"latency"`           // ours: converted and checked
	Printed  Latency  `json:"printed,omitempty"` // as the tool wrote it, its own definitions, in seconds
	Client   *Client  `json:"client,omitempty"`
	Power    *Power   `json:"power,omitempty"`
	Warnings []string `json:"warnings,omitempty"`

	Records []Record `json:"-"`
}
