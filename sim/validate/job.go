package validate

import (
	"scoville/model/llm"
	"scoville/model/workload"
	"scoville/sim"
)

// Metrics that tables measure. Latencies are in seconds.
const (
	TTFTMean   = "ttft_mean"
	TTFTP50    = "ttft_p50"
	TTFTP90    = "ttft_p90"
	TTFTP99    = "ttft_p99"
	TPOTMean   = "tpot_mean"
	TPOTP50    = "tpot_p50"
	TPOTP99    = "tpot_p99"
	ITLMean    = "itl_mean" // over requests: (E2E - TTFT) / (output tokens - 1)
	ITLP50     = "itl_p50"  // over gaps
	E2EMean    = "e2e_mean"
	E2EP50     = "e2e_p50"
	E2EP90     = "e2e_p90"
	E2EP99     = "e2e_p99"
	OutTokens  = "output_tokens_per_second"
	AllTokens  = "total_tokens_per_second"
	Watts      = "watts"            // accelerators of the replica
	Joules     = "joules_per_token" // per output token
	NodeWatts  = "node_watts"       // the whole server
	Overloaded = "overloaded"       // 1: unstable
)

// Regimes of load by which scores are split.
const (
	SmallBatch = "batch<=8"
	MidBatch   = "mid"
	Saturated  = "saturated"
	OpenLoop   = "open loop"
)

// regimeOf sorts a closed loop by its concurrency.
func regimeOf(concurrency int) string {
	switch {
	case concurrency <= 8:
		return SmallBatch
	case concurrency <= 64:
		return MidBatch
	}
	return Saturated
}

// Figure is one measured value.
type Figure struct {
	Metric string
	Value  float64
}

// Row is what is scored together: the requests of a job that arrive in a window, the whole run when Until is 0.
type Row struct {
	ID          string
	Regime      string
	From, Until int64 // ns of arrival
	Measured    []Figure
}

// Job is one simulation.
type Job struct {
	Table  string
	Sweep  string // the same set-up at other loads, for calibration on some of them
	Load   float64
	Words  []string // by which a profile may name the job as its calibration
	Deploy Deploy
	Traffic
	Rows []Row
}

// Deploy is the set-up as a table tells it; zero fields take the profiles' defaults.
type Deploy struct {
	Chip, Model, Engine, Version string
	Date                         string // of the measurement, where the table has no version
	Weights, KV                  llm.DType
	Split                        llm.Split
	Replicas                     int // data-parallel replicas that share the load evenly; 0: 1
	MaxBatchedTokens             int
	MaxSequences                 int
	KVBlocks                     int64
	BlockTokens                  int
	MemoryShare                  float64
	PrefixCaching                bool
	ReceiveInterval              int
	Policy                       sim.Policy
	PowerLimitWatts              float64
	library                      *library
}

// Traffic is a job's load: a workload with its options, or a trace.
type Traffic struct {
	Spec    *workload.Workload
	Options workload.SourceOptions
	Trace   []workload.Request
	Steady  bool    // measure the steady part with queue in place, instead of the whole finite run
	Warmup  float64 // share of a steady run that is left out
	Drop    int64   // first requests by ID that are left out of latencies
}

// Skip is a row that isn't scored.
type Skip struct {
	Table, ID, Reason string
}

// skips gathers rows left out.
type skips struct {
	table string
	list  []Skip
}

func (s *skips) add(id, reason string) { s.list = append(s.list, Skip{s.table, id, reason}) }
