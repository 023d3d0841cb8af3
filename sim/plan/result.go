package plan

import (
	"scoville/model/fact"
	"scoville/sim"
)

// Schema names the layout of Result; it changes when a field changes meaning or goes away.
const Schema = "scoville.plan/1"

// Result is the answer to a plan: plain data that serialises to JSON. Every report is drawn from it and from nothing else,
// so a saved result can be drawn again later. It holds no wall-clock time: the same plan and seed give the same bytes.
type Result struct {
	Schema      string        `json:"schema"`
	Version     string        `json:"version"` // of scoville
	Title       string        `json:"title"`
	Command     string        `json:"command"` // reproduces this result
	Seed        uint64        `json:"seed"`
	PlanText    string        `json:"plan_text"`       // the plan file, as read
	AsOf        string        `json:"as_of,omitempty"` // date the plan's prices are judged at
	Answer      string        `json:"answer"`          // one sentence
	Workload    Workload      `json:"workload"`
	Model       Model         `json:"model"`
	SLA         []Limit       `json:"sla"`
	Candidates  []Candidate   `json:"candidates"`         // ranked: feasible first, cheapest first
	Explored    *Explored     `json:"explored,omitempty"` // of a search over deployments
	Partial     bool          `json:"partial,omitempty"`  // interrupted: what was done until then
	Growth      []GrowthMonth `json:"growth,omitempty"`   // for the first candidate
	Comparison  *Comparison   `json:"comparison,omitempty"`
	Assumptions []Assumption  `json:"assumptions"`
	Warnings    []string      `json:"warnings,omitempty"`
}

// Workload sums up the traffic planned for.
type Workload struct {
	Name              string    `json:"name"`
	Source            string    `json:"source"`
	PeakQPS           float64   `json:"peak_qps"`
	PeakFrom          string    `json:"peak_from"` // how the peak came about, in words
	MeanQPS           float64   `json:"mean_qps"`  // over the day; cost is spread over this
	Arrivals          string    `json:"arrivals"`
	MeanInputTokens   float64   `json:"mean_input_tokens"`
	MeanOutputTokens  float64   `json:"mean_output_tokens"`
	P99InputTokens    float64   `json:"p99_input_tokens"`
	P99OutputTokens   float64   `json:"p99_output_tokens"`
	PrefixShare       float64   `json:"prefix_share"`                 // share of input tokens that other requests share
	HourlyMultipliers []float64 `json:"hourly_multipliers,omitempty"` // 24, mean 1
}

// Model sums up what is served.
type Model struct {
	Name             string  `json:"name"`
	Parameters       float64 `json:"parameters"`
	ActiveParameters float64 `json:"active_parameters"`
	WeightBytes      float64 `json:"weight_bytes"`
	KVBytesPerToken  float64 `json:"kv_bytes_per_token"`
	Weights          string  `json:"weights"` // precision
	KV               string  `json:"kv"`
	Activations      string  `json:"activations"`
	Source           string  `json:"source"`
}

// Limit is one line of the SLA.
type Limit struct {
	Name  string  `json:"name"` // "ttft_p99", "attainment", ...
	Limit float64 `json:"limit"`
	Unit  string  `json:"unit"`
}

// Candidate is one deployment and its answer.
type Candidate struct {
	Rank             int       `json:"rank"`
	Name             string    `json:"name"`
	Chip             string    `json:"chip"`       // profile name
	ChipTitle        string    `json:"chip_title"` // as people say it
	Vendor           string    `json:"vendor"`
	ProfileKind      fact.Kind `json:"profile_kind"` // least trustworthy kind among the figures used
	Engine           string    `json:"engine"`       // name and version
	Precision        string    `json:"precision"`
	TensorParallel   int       `json:"tensor_parallel"`
	PipelineParallel int       `json:"pipeline_parallel"`
	ExpertParallel   int       `json:"expert_parallel"`
	ChipsPerReplica  int       `json:"chips_per_replica"`
	EngineSettings   []Setting `json:"engine_settings"`

	Feasible bool   `json:"feasible"`
	Reason   string `json:"reason,omitempty"`  // why not feasible, and the nearest thing that is
	Limited  bool   `json:"limited,omitempty"` // the reason is a limit of the plan, not the physics

	Memory      Memory      `json:"memory"`
	Capacity    Capacity    `json:"capacity"`
	Fleet       Fleet       `json:"fleet"`
	Spreadsheet Spreadsheet `json:"spreadsheet"`
	Cost        *Cost       `json:"cost,omitempty"`
	Accuracy    Accuracy    `json:"accuracy"`
	Questions   []Question  `json:"questions,omitempty"` // the buyer's five questions
	Warnings    []string    `json:"warnings,omitempty"`
}

// Setting is a named engine setting, as echoed.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Question is a buyer's question with its answer from the profile, "unknown" where nothing is public.
type Question struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

// Memory is how a model fits one chip of the replica.
type Memory struct {
	ChipBytes       float64 `json:"chip_bytes"`
	WeightBytes     float64 `json:"weight_bytes"`
	ActivationBytes float64 `json:"activation_bytes"`
	ReservedBytes   float64 `json:"reserved_bytes"` // engine, graphs and what utilisation leaves out
	KVBytes         float64 `json:"kv_bytes"`
	KVTokens        float64 `json:"kv_tokens"`      // of the replica
	MaxConcurrent   float64 `json:"max_concurrent"` // requests of mean length that fit
	LongestRequest  float64 `json:"longest_request"`
}

// Capacity is the load one replica holds within the SLA.
type Capacity struct {
	RequestsPerSecond     float64     `json:"requests_per_second"` // mean over replications
	Low                   float64     `json:"low"`                 // 95 % interval; plans use Low
	High                  float64     `json:"high"`
	SaturationPerSecond   float64     `json:"saturation_per_second"` // what it completes when overloaded
	Replications          int         `json:"replications"`
	Binding               string      `json:"binding"`                  // the constraint that binds, in words
	BindingLimit          string      `json:"binding_limit"`            // the SLA line that breaks first, e.g. "ttft_p99"
	OutputTokensPerSecond float64     `json:"output_tokens_per_second"` // at Low, one replica
	CeilingPerSecond      float64     `json:"ceiling_per_second"`       // no schedule lets the replica exceed this rate
	Concurrency           float64     `json:"concurrency"`              // requests running at once at Low, one replica
	Curve                 []LoadPoint `json:"curve"`
	Warnings              []string    `json:"warnings,omitempty"`
}

// LoadPoint is one point of latency against load, one replica.
type LoadPoint struct {
	RequestsPerSecond float64          `json:"requests_per_second"` // offered
	Completed         float64          `json:"completed_per_second"`
	Goodput           float64          `json:"goodput_per_second"`
	Verdict           sim.Verdict      `json:"verdict"` // latencies are absent when unstable
	TTFT              sim.Distribution `json:"ttft"`
	TPOT              sim.Distribution `json:"tpot"`
	ITL               sim.Distribution `json:"itl"`
	E2E               sim.Distribution `json:"e2e"`
	Utilisation       float64          `json:"utilisation"`
	MeanBatch         float64          `json:"mean_batch"`
	KVShare           float64          `json:"kv_share"`
	AcceleratorWatts  float64          `json:"accelerator_watts"` // one replica
	Met               bool             `json:"met"`
}

// Fleet is the sized deployment and how it does at the peak, simulated.
type Fleet struct {
	Replicas             int            `json:"replicas"` // serving
	SpareReplicas        int            `json:"spare_replicas"`
	Chips                int            `json:"chips"` // spares and whole nodes included
	Nodes                int            `json:"nodes"`
	Racks                int            `json:"racks,omitempty"`
	PrefillReplicas      int            `json:"prefill_replicas,omitempty"`       // of Replicas: those that only compute prompts
	Availability         float64        `json:"availability,omitempty"`           // probability that at least Replicas are up, by the binomial tail
	AvailabilitySeen     float64        `json:"availability_simulated,omitempty"` // share of time that they were, with failures simulated
	ReplicasBySaturation int            `json:"replicas_by_saturation"`           // zero headroom: peak / saturation
	ReplicasByMemory     int            `json:"replicas_by_memory"`               // minimum that holds the model: 1 where it fits
	ReplicasByKnee       int            `json:"replicas_by_knee"`                 // peak / load one replica holds within the SLA, by division
	ChipsByMemory        int            `json:"chips_by_memory"`                  // the fewest chips of this kind that hold the model and one longest request; 0: none do
	PeakKilowatts        float64        `json:"peak_kilowatts"`                   // at the wall, PUE excluded
	MeanKilowatts        float64        `json:"mean_kilowatts"`
	FacilityKilowatts    float64        `json:"facility_kilowatts"` // provisioned, PUE included
	PrefixHitRate        float64        `json:"prefix_hit_rate"`    // share of input tokens found in the prefix cache, at the peak
	PrefillShare         float64        `json:"prefill_share"`      // of busy time at the peak that prompts took
	Routing              string         `json:"routing"`
	Peak                 LoadPoint      `json:"peak"`                // whole fleet at the peak rate
	OneFewer             *LoadPoint     `json:"one_fewer,omitempty"` // the fleet with one replica fewer, which must not pass
	Timelines            []sim.Timeline `json:"timelines,omitempty"` // utilisation, batch, KV, queue over the peak
	TTFTQuantiles        []Quantile     `json:"ttft_quantiles,omitempty"`
	TPOTQuantiles        []Quantile     `json:"tpot_quantiles,omitempty"`
}

// Quantile is one point of a distribution function.
type Quantile struct {
	Share   float64 `json:"share"`
	Seconds float64 `json:"seconds"`
}

// Spreadsheet is the answer people get by dividing: peak QPS x mean output tokens / single-replica peak throughput.
type Spreadsheet struct {
	Chips           int     `json:"chips"`
	TokensPerSecond float64 `json:"tokens_per_second"` // the throughput figure divided by
	Formula         string  `json:"formula"`
}

// Cost sums up model/cost's result for reports. US dollars of the plan's price date.
type Cost struct {
	Ownership              string       `json:"ownership"` // "buy" or "rent"
	HorizonMonths          int          `json:"horizon_months"`
	TCO                    float64      `json:"tco_usd"`
	NPV                    float64      `json:"npv_usd"`
	Monthly                float64      `json:"monthly_usd"` // TCO / months
	PerMInput              float64      `json:"usd_per_m_input_tokens"`
	PerMCachedInput        float64      `json:"usd_per_m_cached_input_tokens,omitempty"`
	PerMOutput             float64      `json:"usd_per_m_output_tokens"`
	PerMBoth               float64      `json:"usd_per_m_tokens"`           // input and output together
	PerMBothFull           float64      `json:"usd_per_m_tokens_full_load"` // at 100 % of the fleet's SLA-bounded load
	Allocation             string       `json:"allocation"`                 // how input and output share the cost, in words
	PerRequest             float64      `json:"usd_per_request"`
	JoulesPerToken         float64      `json:"joules_per_token"`
	KWhPerMTokens          float64      `json:"kwh_per_m_tokens"`
	KgCO2ePerMTokens       float64      `json:"kgco2e_per_m_tokens,omitempty"`
	TokensPerDollar        float64      `json:"tokens_per_dollar"`
	TokensPerSecondPerWatt float64      `json:"tokens_per_second_per_watt"`
	Utilisation            float64      `json:"utilisation"` // mean load / SLA-bounded load of the fleet
	Components             []Component  `json:"components"`  // sum to TCO
	MonthlyCash            []MonthCash  `json:"monthly_cash"`
	Tornado                []TornadoBar `json:"tornado,omitempty"`
	MonteCarlo             *MonteCarlo  `json:"monte_carlo,omitempty"`
	Levers                 *Levers      `json:"levers,omitempty"`
	Definitions            []string     `json:"definitions"`
	Warnings               []string     `json:"warnings,omitempty"`
}

// Levers are what a reader may move in the sheet and on the page. The TCO is linear in them, component by component:
//
//	component = USD + PerPrice x (price - Price) + PerEnergy x (energy bill - energy bill as planned)
//	energy bill = ITKWh(utilisation) x PUE x USDPerKWh
//	$/M tokens = sum of components x 10^6 / tokens(utilisation)
type Levers struct {
	PriceName  string             `json:"price_name"` // "accelerator price" or "rent per chip-hour"
	PriceUnit  string             `json:"price_unit"` // "USD/chip" or "USD/chip-hour"
	Price      float64            `json:"price"`
	USDPerKWh  float64            `json:"usd_per_kwh"` // mean over the energy used; 0: energy is in the rent
	PUE        float64            `json:"pue"`
	Points     []UtilisationPoint `json:"points"`      // by rising utilisation, the plan's own among them
	PointsSelf int                `json:"points_self"` // index of the plan's own
}

// UtilisationPoint is the fleet of the plan under another mean load: tokens and energy over the whole horizon.
type UtilisationPoint struct {
	Utilisation  float64 `json:"utilisation"`
	InputTokens  float64 `json:"input_tokens"`
	OutputTokens float64 `json:"output_tokens"`
	ITKWh        float64 `json:"it_kwh"` // PUE excluded
}

// Component is one line of the TCO over the horizon.
type Component struct {
	Name string  `json:"name"`
	Kind string  `json:"kind"` // "capex" or "opex"
	USD  float64 `json:"usd"`

	PerPrice  float64 `json:"per_price,omitempty"`  // dollars of this component per dollar of Levers.Price
	PerEnergy float64 `json:"per_energy,omitempty"` // dollars of this component per dollar of the energy bill: 1 for energy, more where taxes follow it
}

// MonthCash is the cash of one month, by component in the order of Components.
type MonthCash struct {
	Month       int       `json:"month"` // 0: before the first month
	USD         float64   `json:"usd"`
	Cumulative  float64   `json:"cumulative_usd"`
	ByComponent []float64 `json:"by_component"`
}

// TornadoBar is the effect of one assumption moved to its low and high value, others as planned.
type TornadoBar struct {
	Name      string  `json:"name"`
	LowLabel  string  `json:"low_label"`
	HighLabel string  `json:"high_label"`
	Low       float64 `json:"low_usd_per_m_tokens"`
	High      float64 `json:"high_usd_per_m_tokens"`
}

// MonteCarlo is the spread of the answer under the uncertainty given.
type MonteCarlo struct {
	Draws     int            `json:"draws"`
	PerM      Spread         `json:"usd_per_m_tokens"`
	TCO       Spread         `json:"tco_usd"`
	Chips     Spread         `json:"chips"`
	Histogram []HistogramBin `json:"histogram"` // of $/M tokens
	Drivers   []Driver       `json:"drivers"`   // rank correlation with $/M tokens, largest first
}

// Spread is three percentiles.
type Spread struct {
	P10 float64 `json:"p10"`
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
}

// HistogramBin counts draws in [Low, High).
type HistogramBin struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Count int     `json:"count"`
}

// Driver is how strongly an assumption drives the spread.
type Driver struct {
	Name        string  `json:"name"`
	Correlation float64 `json:"correlation"`
}

// GrowthMonth is the fleet needed in one month of the horizon.
type GrowthMonth struct {
	Month    int     `json:"month"`
	PeakQPS  float64 `json:"peak_qps"`
	Replicas int     `json:"replicas"`
	Chips    int     `json:"chips"`
}

// Comparison sets the candidates against each other.
type Comparison struct {
	Winner              string      `json:"winner"`
	ProbabilityCheapest []Share     `json:"probability_cheapest,omitempty"`
	Beats               []Duel      `json:"beats,omitempty"` // every pair, the better ranked first
	BreakEvens          []BreakEven `json:"break_evens,omitempty"`
}

// Share is a candidate's share of something.
type Share struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"`
}

// Duel is how likely one candidate costs less a token than another, both under the same draws.
type Duel struct {
	Candidate   string  `json:"candidate"`
	Against     string  `json:"against"`
	Probability float64 `json:"probability"`
}

// BreakEven is the value of one assumption at which the runner-up costs the same as the winner.
type BreakEven struct {
	Candidate string  `json:"candidate"`
	Against   string  `json:"against"`
	Variable  string  `json:"variable"`
	Unit      string  `json:"unit"`
	Now       float64 `json:"now"`
	At        float64 `json:"at"`
	Exists    bool    `json:"exists"`
	Note      string  `json:"note,omitempty"`
}

// Accuracy is how far predictions like this one were off on measured runs they had not seen.
type Accuracy struct {
	Basis           string          `json:"basis"`                // which runs, or why none
	TTFTError       float64         `json:"ttft_error,omitempty"` // mean absolute relative error; 0: unknown
	TPOTError       float64         `json:"tpot_error,omitempty"`
	ThroughputError float64         `json:"throughput_error,omitempty"`
	InsideRange     bool            `json:"inside_range"` // the plan lies within the lengths and batches calibrated
	Points          []AccuracyPoint `json:"points,omitempty"`
}

// AccuracyPoint is one measured value beside its prediction.
type AccuracyPoint struct {
	Metric    string  `json:"metric"`
	Label     string  `json:"label"`
	Measured  float64 `json:"measured"`
	Predicted float64 `json:"predicted"`
}

// Assumption is one input of the answer, defaults included.
type Assumption struct {
	Group  string    `json:"group"` // "traffic", "hardware", "engine", "cost", ...
	Name   string    `json:"name"`
	Value  string    `json:"value"` // formatted with its unit
	Kind   fact.Kind `json:"kind,omitempty"`
	Source string    `json:"source,omitempty"`
	Date   string    `json:"date,omitempty"`
}
