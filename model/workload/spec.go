package workload

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"scoville/model/fact"
	"scoville/model/sla"
	"scoville/model/tomlfile"
)

// Workload describes traffic. It is what a workload TOML holds; docs/workloads.md is its reference.
//
// Either the workload has one kind of request (Lengths, Prefix and Sessions at the top), or several Classes. Requests
// may instead be read from a Trace.
type Workload struct {
	Name        string    `toml:"name" json:"name"`
	Description string    `toml:"description" json:"description"`
	From        string    `toml:"source" json:"source"` // who says so: paper, repository, measurement
	Date        string    `toml:"date,omitempty" json:"date,omitempty"`
	Kind        fact.Kind `toml:"kind,omitempty" json:"kind,omitempty"`
	Note        string    `toml:"note,omitempty" json:"note,omitempty"`

	Arrivals Arrivals  `toml:"arrivals" json:"arrivals"`
	Lengths  Lengths   `toml:"lengths,omitempty" json:"lengths"`
	Prefix   *Prefix   `toml:"prefix,omitempty" json:"prefix,omitempty"`
	Sessions *Sessions `toml:"sessions,omitempty" json:"sessions,omitempty"`
	Classes  []Class   `toml:"classes,omitempty" json:"classes,omitempty"`
	Trace    *Trace    `toml:"trace,omitempty" json:"trace,omitempty"`
	Users    *Users    `toml:"users,omitempty" json:"users,omitempty"`
	Growth   *Growth   `toml:"growth,omitempty" json:"growth,omitempty"`

	dir  string    // folder that a relative Trace.File is looked up in
	made *compiled // by Validate; used while the description is unchanged
}

// Class is one kind of request in a mix.
type Class struct {
	Name           string             `toml:"name" json:"name"`
	Share          float64            `toml:"share" json:"share"`                           // of the requests (of the sessions, where it has them); shares are normalised
	Priority       int32              `toml:"priority,omitempty" json:"priority,omitempty"` // lower is served first
	TimeoutSeconds float64            `toml:"timeout_seconds,omitempty" json:"timeout_seconds,omitempty"`
	SLA            map[string]float64 `toml:"sla,omitempty" json:"sla,omitempty"` // limit in seconds by name: ttft_p99, tpot_mean, ...
	Lengths        Lengths            `toml:"lengths" json:"lengths"`
	Prefix         *Prefix            `toml:"prefix,omitempty" json:"prefix,omitempty"`
	Sessions       *Sessions          `toml:"sessions,omitempty" json:"sessions,omitempty"`
}

// Arrivals says when requests come. A renewal process (poisson, deterministic, gamma, weibull) gives the gaps at unit
// rate; modulation (hours, weekdays, ramp, spike, on-off) bends time so that the rate follows it. Both are drawn once
// for a seed and don't depend on the rate, so two rates meet the same requests.
type Arrivals struct {
	Process           string      `toml:"process" json:"process"`                                             // poisson (default), deterministic, gamma, weibull, on-off, closed-loop
	RequestsPerSecond float64     `toml:"requests_per_second,omitempty" json:"requests_per_second,omitempty"` // long-run mean
	CV                float64     `toml:"cv,omitempty" json:"cv,omitempty"`                                   // of the gaps: gamma, weibull; inside bursts: on-off
	OnOff             *OnOff      `toml:"on_off,omitempty" json:"on_off,omitempty"`                           // parameters of on-off
	Hourly            []float64   `toml:"hourly,omitempty" json:"hourly,omitempty"`                           // 24 multipliers of the mean rate
	Weekday           []float64   `toml:"weekday,omitempty" json:"weekday,omitempty"`                         // 7 multipliers, Monday first
	StartHour         float64     `toml:"start_hour,omitempty" json:"start_hour,omitempty"`                   // hours since Monday 00:00 at which a run starts
	Shape             *Shape      `toml:"shape,omitempty" json:"shape,omitempty"`                             // any rate over time
	Ramp              *Ramp       `toml:"ramp,omitempty" json:"ramp,omitempty"`                               //
	Spike             *Spike      `toml:"spike,omitempty" json:"spike,omitempty"`                             //
	ClosedLoop        *ClosedLoop `toml:"closed_loop,omitempty" json:"closed_loop,omitempty"`                 // parameters of closed-loop
	PeakToMean        float64     `toml:"peak_to_mean_hour,omitempty" json:"peak_to_mean_hour,omitempty"`     // busiest hour over mean, where no hourly shape is given
	PeakSource        string      `toml:"peak_to_mean_source,omitempty" json:"peak_to_mean_source,omitempty"` // where that comes from
}

// OnOff is a process that alternates between bursts and silence (an interrupted renewal process; Poisson inside bursts
// when the CV is 1). Lengths of time don't change with the rate: a higher rate makes bursts denser, not shorter.
type OnOff struct {
	OnSeconds  float64 `toml:"on_seconds" json:"on_seconds"`                         // mean length of a burst
	OnCV       float64 `toml:"on_cv,omitempty" json:"on_cv,omitempty"`               // default 1
	OffSeconds float64 `toml:"off_seconds" json:"off_seconds"`                       // mean length of a silence
	OffCV      float64 `toml:"off_cv,omitempty" json:"off_cv,omitempty"`             // default 1
	RateCV     float64 `toml:"rate_cv,omitempty" json:"rate_cv,omitempty"`           // of the rate between episodes inside a burst; default 0
	RateHold   float64 `toml:"rate_seconds,omitempty" json:"rate_seconds,omitempty"` // mean length of an episode of one rate; default: the burst
	OffShare   float64 `toml:"off_share,omitempty" json:"off_share,omitempty"`       // rate in a silence over the mean rate; default 0
}

// Shape is a rate over time in equal steps, as multiples of the mean; it repeats.
type Shape struct {
	StepSeconds float64   `toml:"step_seconds" json:"step_seconds"`
	Multipliers []float64 `toml:"multipliers" json:"multipliers"`
}

// Ramp changes the rate linearly between two multiples of the mean over a time, then holds.
type Ramp struct {
	From    float64 `toml:"from" json:"from"`
	To      float64 `toml:"to" json:"to"`
	Seconds float64 `toml:"seconds" json:"seconds"`
}

// Spike multiplies the rate for a while.
type Spike struct {
	AtSeconds float64 `toml:"at_seconds" json:"at_seconds"`
	Seconds   float64 `toml:"seconds" json:"seconds"`
	Factor    float64 `toml:"factor" json:"factor"`
}

// ClosedLoop keeps a number of clients, each sending its next request when the last is done and thought over.
type ClosedLoop struct {
	Concurrency  int           `toml:"concurrency" json:"concurrency"`
	InitialBurst bool          `toml:"initial_burst,omitempty" json:"initial_burst,omitempty"` // all clients start at once, as benchmarks do
	RampSeconds  float64       `toml:"ramp_seconds,omitempty" json:"ramp_seconds,omitempty"`   // otherwise clients start evenly over this time
	Think        *Distribution `toml:"think_seconds,omitempty" json:"think_seconds,omitempty"` // default: none
}

// Lengths says how many tokens a request has. Input is the whole prompt (for sessions: what a turn adds to it).
// Without Copula and Correlation the two are independent.
type Lengths struct {
	Input       Distribution `toml:"input" json:"input"`
	Output      Distribution `toml:"output" json:"output"`
	Correlation float64      `toml:"correlation,omitempty" json:"correlation,omitempty"` // Pearson, of the normal scores (Gaussian copula)
	Copula      [][]float64  `toml:"copula,omitempty" json:"copula,omitempty"`           // rank bands of input (rows) by rank bands of output; every row and column has the same sum
}

// Prefix says what prompts share. The head of a prompt is a system prompt, then a document, then what is unique.
type Prefix struct {
	SystemTokens   int           `toml:"system_tokens,omitempty" json:"system_tokens,omitempty"`
	SystemPrompts  int           `toml:"system_prompts,omitempty" json:"system_prompts,omitempty"`         // distinct ones; default 1
	PromptsPer     int           `toml:"prompts_per_system,omitempty" json:"prompts_per_system,omitempty"` // distinct whole prompts for each system prompt, repeated in turn; 0: every prompt is new
	Reuse          *Distribution `toml:"reuse,omitempty" json:"reuse,omitempty"`                           // share of the rest of the prompt that belongs to a shared document
	Documents      int           `toml:"documents,omitempty" json:"documents,omitempty"`                   // how many documents; default 1000
	Skew           float64       `toml:"skew,omitempty" json:"skew,omitempty"`                             // Zipf exponent of system prompts and documents; 0: all equally popular
	DocumentChunks int           `toml:"chunk_tokens,omitempty" json:"chunk_tokens,omitempty"`             // documents share whole chunks of so many tokens; default 512
}

// Sessions makes requests come in conversations (or agent loops): a turn's prompt is all that went before plus new
// tokens, and it comes a think time after the answer to the last.
type Sessions struct {
	Turns      Distribution  `toml:"turns" json:"turns"`
	Think      Distribution  `toml:"think_seconds" json:"think_seconds"`
	FirstInput *Distribution `toml:"first_input,omitempty" json:"first_input,omitempty"` // prompt of the first turn; default: like the others
	MaxContext int           `toml:"max_context,omitempty" json:"max_context,omitempty"` // a session ends before a prompt exceeds this; default 1,000,000
}

// Trace is a file of recorded requests, replayed or resampled.
type Trace struct {
	File        string            `toml:"file" json:"file"`
	Format      string            `toml:"format,omitempty" json:"format,omitempty"` // default: found from the content
	Mode        string            `toml:"mode,omitempty" json:"mode,omitempty"`     // replay (default) or resample
	Loop        bool              `toml:"loop,omitempty" json:"loop,omitempty"`     // start over at the end; resampling always does
	SpreadTies  bool              `toml:"spread_ties,omitempty" json:"spread_ties,omitempty"`
	BlockTokens int               `toml:"block_tokens,omitempty" json:"block_tokens,omitempty"` // of hash ids; default: the format's own
	Columns     map[string]string `toml:"columns,omitempty" json:"columns,omitempty"`           // of a generic file
}

// Users derives the peak rate from people.
type Users struct {
	DailyActive float64 `toml:"daily_active" json:"daily_active"`
	PerDay      float64 `toml:"requests_per_user_per_day" json:"requests_per_user_per_day"`
	PeakFactor  float64 `toml:"peak_factor,omitempty" json:"peak_factor,omitempty"` // busiest hour over mean; default: from the hourly shape
}

// Growth is by compound monthly factors: 0.05 is 5 % more every month.
type Growth struct {
	RatePerMonth   float64 `toml:"rate_per_month,omitempty" json:"rate_per_month,omitempty"`
	InputPerMonth  float64 `toml:"input_per_month,omitempty" json:"input_per_month,omitempty"`
	OutputPerMonth float64 `toml:"output_per_month,omitempty" json:"output_per_month,omitempty"`
}

// ReadFile reads and validates a workload TOML. Relative trace files are looked up beside it.
func ReadFile(path string) (*Workload, error) {
	w := &Workload{dir: filepath.Dir(path)}
	if err := tomlfile.ReadFile(path, w); err != nil {
		return nil, err
	}
	if err := w.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return w, nil
}

// Decode reads and validates a workload TOML at hand; name is used in errors.
func Decode(name string, data []byte) (*Workload, error) {
	w := &Workload{}
	if err := tomlfile.Decode(name, data, w); err != nil {
		return nil, err
	}
	if err := w.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return w, nil
}

// SetDir sets the folder that a relative trace file is looked up in; a plan that embeds a workload calls it.
func (w *Workload) SetDir(dir string) { w.dir = dir }

// Limits returns the class's own SLA, in the keys of a plan's [sla]; none when the class has none.
func (c *Class) Limits() (sla.Limits, error) {
	if len(c.SLA) == 0 {
		return sla.Limits{}, nil
	}
	limits, err := sla.Parse(c.SLA)
	var key *sla.KeyError
	if errors.As(err, &key) {
		return limits, fieldError(strings.TrimSuffix("sla."+key.Key, "."), "%s", key.Problem)
	}
	return limits, err
}

// FieldError is a fault in one field of a workload.
type FieldError struct {
	Field   string // dotted TOML key
	Problem string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

func fieldError(field, format string, args ...any) error {
	return &FieldError{field, fmt.Sprintf(format, args...)}
}
