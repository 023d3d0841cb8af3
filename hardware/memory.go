package hardware

import (
	"fmt"
	"math"
	"strings"

	"scoville/model/llm"
)

// The rules by which engines turn a fraction into KV cache; see MemoryRule.
const (
	RuleAll       = "all"        // vLLM: the fraction of all memory covers weights, activations, non-torch memory and cache
	RuleWeightsKV = "weights+kv" // SGLang: the fraction of what is free before loading covers weights and cache
	RuleFree      = "free"       // TensorRT-LLM: the fraction of what is free after weights and activations is cache
)

const gibibyte = 1 << 30

// MemoryInput is what decides whether a model fits, in plain numbers.
type MemoryInput struct {
	MemoryBytes      float64   // of one chip, as the engine sees it (H100: 79.19 GiB)
	Utilisation      float64   // the engine's fraction
	Rule             string    // RuleAll, RuleWeightsKV or RuleFree; empty: RuleAll
	Engine           string    // "vllm", "sglang", "tensorrt-llm"; informative but for the overheads of its version
	Version          string    // "0.19"; empty: newest
	Split            llm.Split // degrees of parallelism; zero: one chip
	MaxBatchedTokens int       // tokens of one step; 0: 8192
	MaxSequences     int       // sequences of one step; 0: the default of vLLM's server, 1024 from 70 GiB on, else 256
	BlockTokens      int       // 0: 16
	MaxLength        int       // longest request to admit, prompt and output; 0: any
	ReserveBytes     float64   // kept free beside everything else
	KeepWindow       bool      // the engine keeps window layers' whole context (vLLM before hybrid cache groups)

	Measured Overheads // read off a start-up log; positive fields replace predictions
	Blocks   int       // measured number of KV blocks; replaces the arithmetic when positive

	MaxTensorParallel int // largest degree a refusal may propose; 0: 64
}

// Overheads is memory of one chip that is not KV cache, in bytes.
type Overheads struct {
	Weights    float64 `json:"weight_bytes"`
	Activation float64 `json:"activation_bytes"` // peak of a step
	NonTorch   float64 `json:"non_torch_bytes"`  // context, communication buffers
	Graphs     float64 `json:"cuda_graph_bytes"`
}

// MemoryFit is how the memory of one chip is used, and what the cache holds.
type MemoryFit struct {
	Overheads
	BudgetBytes   float64   `json:"budget_bytes"` // what the engine allots itself
	KVBytes       float64   `json:"kv_bytes"`     // what of it is left for the cache
	Cache         Cache     `json:"cache"`
	Blocks        int       `json:"blocks"`         // of one rank; with data parallelism each rank has as many
	KVTokens      int       `json:"kv_tokens"`      // as the engine prints it, of one data-parallel rank
	LongestLength int       `json:"longest_length"` // longest single request
	Concurrency   float64   `json:"concurrency"`    // requests of MaxLength at once in one data-parallel rank; 0 when MaxLength is 0
	Split         llm.Split `json:"split"`
	Chips         int       `json:"chips"`
	Measured      bool      `json:"measured"` // Blocks was given
}

// Refusal says why a deployment doesn't fit and what would.
type Refusal struct {
	Model                  string
	Weights                llm.DType
	Memory                 MemoryFit // as far as it was computed
	Need, Have             float64
	MaxLength              int
	SmallestTensorParallel int // 0: no degree up to the limit fits
	Chips                  int // at that degree
	Limit                  int // the largest degree tried
}

func (r *Refusal) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s) does not fit at tensor parallel %d: ", r.Model, r.Weights, r.Memory.Split.Tensor)
	if r.Memory.LongestLength > 0 {
		fmt.Fprintf(&b, "a request of %d tokens needs %.2f GiB of KV cache a chip, %.2f GiB are left; the longest that fits has %d tokens",
			r.MaxLength, r.Need/gibibyte, r.Have/gibibyte, r.Memory.LongestLength)
	} else {
		fmt.Fprintf(&b, "weights %.2f GiB, activations and buffers %.2f GiB a chip, of %.2f GiB allotted",
			r.Memory.Weights/gibibyte, (r.Memory.Activation+r.Memory.NonTorch)/gibibyte, r.Memory.BudgetBytes/gibibyte)
	}
	if r.SmallestTensorParallel > 0 {
		fmt.Fprintf(&b, "; the smallest tensor parallel degree that fits is %d (%d chips)", r.SmallestTensorParallel, r.Chips)
	} else {
		fmt.Fprintf(&b, "; no tensor parallel degree up to %d fits", r.Limit)
	}
	return b.String()
}

// FitMemory lays a model out in the memory of its chips. It refuses, with a *Refusal, a deployment that has no room for weights, for one
// block, or for one request of MaxLength.
func FitMemory(a llm.Architecture, p llm.Precision, in MemoryInput) (MemoryFit, error) {
	if err := in.check(a, p); err != nil {
		return MemoryFit{}, err
	}
	in = in.withDefaults()
	m, need := layOut(a, p, in)
	if m.fits(in) {
		return m, nil
	}
	r := &Refusal{Model: a.Name, Weights: p.Weights, Memory: m, Need: need, Have: m.KVBytes, MaxLength: in.MaxLength, Limit: in.MaxTensorParallel}
	for _, tp := range a.TensorParallelDegrees(in.MaxTensorParallel) {
		if tp <= in.Split.Tensor {
			continue
		}
		try := in
		try.Measured, try.Blocks = Overheads{}, 0 // measured at another degree
		try.Split.Tensor = tp
		if in.Split.Expert > 1 {
			try.Split.Expert = tp * in.Split.Data
		}
		if other, _ := layOut(a, p, try); other.fits(try) {
			r.SmallestTensorParallel, r.Chips = tp, try.Split.Chips()
			break
		}
	}
	return m, r
}

func (in MemoryInput) check(a llm.Architecture, p llm.Precision) error {
	if !(in.MemoryBytes > 0) || math.IsInf(in.MemoryBytes, 0) {
		return fmt.Errorf("memory of %g bytes is not positive", in.MemoryBytes)
	}
	if !(in.Utilisation > 0 && in.Utilisation <= 1) {
		return fmt.Errorf("memory fraction %g is not in (0, 1]", in.Utilisation)
	}
	switch in.Rule {
	case "", RuleAll, RuleWeightsKV, RuleFree:
	default:
		return fmt.Errorf("memory rule %q is not one of %s, %s, %s", in.Rule, RuleAll, RuleWeightsKV, RuleFree)
	}
	if in.MaxBatchedTokens < 0 || in.MaxSequences < 0 || in.BlockTokens < 0 || in.MaxLength < 0 || in.Blocks < 0 {
		return fmt.Errorf("batched tokens, sequences, block tokens, length and blocks must not be negative")
	}
	if err := p.Check(); err != nil {
		return err
	}
	if err := a.Validate(); err != nil {
		return err
	}
	if in.MaxLength > 0 && in.MaxLength > a.MaxContext {
		return fmt.Errorf("length %d is beyond the %d tokens of %s", in.MaxLength, a.MaxContext, a.Name)
	}
	if s := in.Split.Normal(); s.Pipeline > a.Layers {
		return fmt.Errorf("pipeline parallel degree %d is more than the %d layers of %s", s.Pipeline, a.Layers, a.Name)
	}
	return a.CheckTensorParallel(in.Split.Normal().Tensor)
}

func (in MemoryInput) withDefaults() MemoryInput {
	in.Split = in.Split.Normal()
	if in.Rule == "" {
		in.Rule = RuleAll
	}
	if in.MaxBatchedTokens == 0 {
		in.MaxBatchedTokens = 8192
	}
	if in.MaxSequences == 0 {
		in.MaxSequences = 256
		if in.MemoryBytes >= 70*gibibyte {
			in.MaxSequences = 1024
		}
	}
	if in.BlockTokens == 0 {
		in.BlockTokens = 16
	}
	if in.MaxTensorParallel == 0 {
		in.MaxTensorParallel = 64
	}
	return in
}

// fits reports whether one request of the greatest length, or at least of one block, can be held.
func (m MemoryFit) fits(in MemoryInput) bool {
	return m.LongestLength >= max(1, in.MaxLength)
}

// layOut does the arithmetic without judging it. need is what one request of MaxLength takes, in bytes.
func layOut(a llm.Architecture, p llm.Precision, in MemoryInput) (m MemoryFit, need float64) {
	m = MemoryFit{Overheads: predictOverheads(a, p, in), Split: in.Split, Chips: in.Split.Chips()}
	replace(&m.Weights, in.Measured.Weights)
	replace(&m.Activation, in.Measured.Activation)
	replace(&m.NonTorch, in.Measured.NonTorch)
	replace(&m.Graphs, in.Measured.Graphs)
	usable := in.MemoryBytes - in.ReserveBytes
	switch in.Rule {
	case RuleAll:
		m.BudgetBytes = in.Utilisation * usable
		m.KVBytes = m.BudgetBytes - m.Weights - m.Activation - m.NonTorch
		if countsGraphs(in) {
			m.KVBytes -= m.Graphs
		}
	case RuleWeightsKV:
		m.BudgetBytes = in.Utilisation * (usable - m.NonTorch)
		m.KVBytes = m.BudgetBytes - m.Weights
	case RuleFree:
		m.BudgetBytes = usable
		m.KVBytes = in.Utilisation * (usable - m.Weights - m.Activation - m.NonTorch)
	}
	m.Cache = newCache(a, p.KV, in)
	m.Blocks = in.Blocks
	m.Measured = in.Blocks > 0
	if m.Measured {
		m.KVBytes = float64(m.Blocks) * m.Cache.BlockBytes
	} else {
		m.Blocks = int(max(0, math.Floor(m.KVBytes/m.Cache.BlockBytes)))
	}
	m.KVTokens = m.Cache.Tokens(m.Blocks)
	m.LongestLength = m.Cache.longest(m.Blocks, a.MaxContext)
	if in.MaxLength > 0 {
		need = m.Cache.BlocksFor(in.MaxLength) * m.Cache.BlockBytes
		m.Concurrency = m.ConcurrencyAt(in.MaxLength)
	}
	return m, need
}

// ConcurrencyAt is how many requests of a length the cache of one data-parallel rank holds at once; 0 when they need none.
func (m MemoryFit) ConcurrencyAt(tokens int) float64 {
	blocks := m.Cache.BlocksFor(tokens)
	if blocks <= 0 {
		return 0
	}
	return float64(m.Blocks) / blocks
}

// SequencesAt is how many whole requests of a length the replica admits, all data-parallel ranks together.
func (m MemoryFit) SequencesAt(tokens int) int {
	return int(m.ConcurrencyAt(tokens)) * max(1, m.Split.Data)
}

// ReplicaKVTokens is the cache of the replica in tokens, all data-parallel ranks together.
func (m MemoryFit) ReplicaKVTokens() int { return m.KVTokens * max(1, m.Split.Data) }

func replace(value *float64, measured float64) {
	if measured > 0 {
		*value = measured
	}
}
