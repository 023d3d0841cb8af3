package hardware

import (
	"fmt"
	"slices"

	"scoville/model/fact"
	"scoville/model/llm"
)

// EngineProfile is one version of a serving engine: what its scheduler does by default, how it divides device memory, and what
// its host side adds to the kernels. Constants move by 8 % to 10x between versions, so a profile is of one version.
type EngineProfile struct {
	Name     string   `toml:"name"`    // "vllm"
	Version  string   `toml:"version"` // "0.11"; versions match by prefix, see profiles.Engine
	Aliases  []string `toml:"aliases"`
	Released string   `toml:"released"`
	Source   string   `toml:"source"`
	Note     string   `toml:"note"`

	Scheduler Scheduler    `toml:"scheduler"`
	Memory    MemoryRule   `toml:"memory"`
	Host      HostOverhead `toml:"host"`
	Kernels   KernelUse    `toml:"kernels"`

	CalibratedOn []Calibration `toml:"calibrated_on"`
}

// Scheduler holds the defaults of the batching policy.
type Scheduler struct {
	Policy           string `toml:"policy"` // vllm-v1, guaranteed-no-evict or static
	MaxBatchedTokens int    `toml:"max_num_batched_tokens"`
	MaxSequences     int    `toml:"max_num_seqs"`
	BlockTokens      int    `toml:"block_tokens"`
	ChunkedPrefill   bool   `toml:"chunked_prefill"`
	PrefixCaching    bool   `toml:"prefix_caching"`
	AsyncScheduling  bool   `toml:"async_scheduling"`
	ReceiveInterval  int    `toml:"receive_interval"` // decode steps between two looks for new requests; 0: each step. SGLang's scheduler_recv_interval
}

// MemoryRule says what share of device memory becomes KV cache.
type MemoryRule struct {
	Rule     string  `toml:"rule"`     // "all": fraction x all memory covers everything (vLLM); "weights+kv": fraction covers weights and KV (SGLang); "free": fraction of what is free after weights (TensorRT-LLM)
	Fraction float64 `toml:"fraction"` // gpu_memory_utilization, mem_fraction_static, free_gpu_memory_fraction
}

// HostOverhead is what a step takes beyond its kernels: scheduling, input preparation, launches the graph doesn't hide, sampling,
// detokenising. Seconds.
type HostOverhead struct {
	StepSeconds           fact.Fact `toml:"step_seconds"`            // each step
	LayerSeconds          fact.Fact `toml:"layer_seconds"`           // each layer of a step: gaps between kernels and small kernels not modelled
	SequenceSeconds       fact.Fact `toml:"sequence_seconds"`        // each sequence in the step
	TokenSeconds          fact.Fact `toml:"token_seconds"`           // each prompt token in the step
	PrefillRequestSeconds fact.Fact `toml:"prefill_request_seconds"` // each sequence with a prefill chunk
	EagerLayerSeconds     fact.Fact `toml:"eager_layer_seconds"`     // least time of a layer in a step outside CUDA graphs: launches bound by the host; of a dense layer, three times it with experts, half as much again with latent or linear attention
	GraphTokens           int       `toml:"graph_tokens"`            // steps with prompt tokens run in graphs up to so many tokens
	FrontendTokenSeconds  fact.Fact `toml:"frontend_token_seconds"`  // least seconds a step for each sequence: one process detokenises and sends every token beside the GPU
	TTFTSeconds           fact.Fact `toml:"ttft_seconds"`            // outside the steps, before the first token: HTTP, tokenise, dispatch
}

// KernelUse is how an engine's kernels differ from the fastest in the tables that the chips' curves come from.
type KernelUse struct {
	// LaunchShare is what remains of the launch floors where kernels start before their predecessor ends (programmatic
	// dependent launch, fused small kernels); 0: all of it.
	LaunchShare fact.Fact     `toml:"launch_share"`
	Scale       []KernelScale `toml:"scale"`
}

// KernelScale multiplies the time of one family of kernels beyond physics' least: below one for kernels newer than the tables.
type KernelScale struct {
	Family string      `toml:"family"` // gemm or experts
	DTypes []llm.DType `toml:"dtypes"`
	Chips  []string    `toml:"chips"` // names; empty: all
	Factor fact.Fact   `toml:"factor"`
}

// factor is the scale of a family for a format on a chip, 1 where none is given.
func (k KernelUse) factor(family string, d llm.DType, chip string) float64 {
	for _, s := range k.Scale {
		if s.Family == family && slices.Contains(s.DTypes, d) && (len(s.Chips) == 0 || slices.Contains(s.Chips, chip)) {
			return s.Factor.Value
		}
	}
	return 1
}

// Calibration names measured rows that a constant above was read off, so that a score can leave them out.
type Calibration struct {
	Table string   `toml:"table"`
	Rows  []string `toml:"rows"`
	Use   string   `toml:"use"`
}

// Check refuses an engine profile that can't run.
func (e EngineProfile) Check() error {
	if e.Name == "" || e.Version == "" {
		return fmt.Errorf("name and version are both needed")
	}
	switch e.Scheduler.Policy {
	case "vllm-v1", "guaranteed-no-evict", "static":
	default:
		return fmt.Errorf("scheduler.policy %q is not one of vllm-v1, guaranteed-no-evict, static", e.Scheduler.Policy)
	}
	switch e.Memory.Rule {
	case "all", "weights+kv", "free":
	default:
		return fmt.Errorf("memory.rule %q is not one of all, weights+kv, free", e.Memory.Rule)
	}
	if f := e.Memory.Fraction; !(f > 0 && f <= 1) {
		return fmt.Errorf("memory.fraction %g is not in (0, 1]", f)
	}
	if e.Scheduler.MaxBatchedTokens <= 0 || e.Scheduler.MaxSequences <= 0 || e.Scheduler.BlockTokens <= 0 {
		return fmt.Errorf("scheduler.max_num_batched_tokens, max_num_seqs and block_tokens must be positive")
	}
	h := e.Host
	for _, f := range []namedFact{
		{"host.step_seconds", h.StepSeconds}, {"host.layer_seconds", h.LayerSeconds}, {"host.sequence_seconds", h.SequenceSeconds},
		{"host.token_seconds", h.TokenSeconds}, {"host.prefill_request_seconds", h.PrefillRequestSeconds},
		{"host.eager_layer_seconds", h.EagerLayerSeconds}, {"host.ttft_seconds", h.TTFTSeconds}, {"host.frontend_token_seconds", h.FrontendTokenSeconds},
	} {
		if !f.fact.Known() {
			continue
		}
		if err := f.fact.Check(); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if !(f.fact.Value >= 0) || f.fact.Value > 10 {
			return fmt.Errorf("%s: %g s is not a plausible overhead", f.name, f.fact.Value)
		}
	}
	return e.Kernels.check()
}

func (k KernelUse) check() error {
	if f := k.LaunchShare; f.Known() {
		if err := f.Check(); err != nil {
			return fmt.Errorf("kernels.launch_share: %w", err)
		}
		if !(f.Value > 0 && f.Value <= 1) {
			return fmt.Errorf("kernels.launch_share %g is not in (0, 1]", f.Value)
		}
	}
	for _, s := range k.Scale {
		if s.Family != "gemm" && s.Family != "experts" {
			return fmt.Errorf("kernels.scale family %q is not gemm or experts", s.Family)
		}
		if err := s.Factor.Check(); err != nil {
			return fmt.Errorf("kernels.scale %s: %w", s.Family, err)
		}
		if !(s.Factor.Value > 0.1 && s.Factor.Value < 10) {
			return fmt.Errorf("kernels.scale %s: factor %g is not in (0.1, 10)", s.Family, s.Factor.Value)
		}
	}
	return nil
}
