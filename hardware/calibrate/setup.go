package calibrate

import (
	"errors"
	"fmt"
	"strings"

	"scoville/hardware"
	"scoville/model/llm"
	"scoville/profiles"
	"scoville/sim"
)

// Setup names what was measured as a user would. Zero fields take the defaults of the profiles.
type Setup struct {
	Chip             string // a shipped chip
	ChipFile         string // or a chip profile of the user's own
	Model            string // a shipped model, a config.json or a model TOML
	Engine           string // "vllm 0.11"
	Weights, KV      string
	TensorParallel   int
	PipelineParallel int
	ExpertParallel   int
	MaxSequences     int
	MaxBatchedTokens int
	KVBlocks         int64
	PowerLimitWatts  float64
}

// Resolve finds the profiles. notes say what was assumed.
func (s Setup) Resolve() (d *Deployment, notes []string, err error) {
	if s.Model == "" || s.Chip == "" && s.ChipFile == "" {
		return nil, nil, errors.New("the model and the chip that served it are both needed")
	}
	d = &Deployment{}
	h := &d.Hardware
	if s.ChipFile != "" {
		h.Chip, err = profiles.ReadChip(s.ChipFile, "")
	} else {
		h.Chip, err = profiles.Chip(s.Chip)
	}
	if err != nil {
		return nil, nil, err
	}
	if h.Model, h.Precision, err = profiles.LoadModel(s.Model); err != nil {
		return nil, nil, err
	}
	if err := s.precision(&h.Precision); err != nil {
		return nil, nil, err
	}
	name, version, _ := strings.Cut(strings.TrimSpace(s.Engine), " ")
	if name == "" {
		name = "vllm"
	}
	if h.Engine, err = profiles.Engine(name, version); err != nil {
		return nil, nil, err
	}
	h.Split = llm.Split{Tensor: s.TensorParallel, Pipeline: s.PipelineParallel, Expert: s.ExpertParallel}.Normal()
	h.PowerLimitWatts = s.PowerLimitWatts
	d.scheduler(s)
	if err := h.Check(); err != nil {
		return nil, nil, err
	}
	if err := h.Model.CheckTensorParallel(h.Split.Tensor); err != nil {
		return nil, nil, err
	}
	if d.Engine.KVBlocks == 0 {
		notes = d.blocks()
	}
	return d, notes, nil
}

func (s Setup) precision(p *llm.Precision) error {
	if s.Weights != "" {
		w, err := llm.ParseDType(s.Weights)
		if err != nil {
			return fmt.Errorf("weights: %w", err)
		}
		if w != p.Weights {
			*p = llm.NewPrecision(w)
		}
	}
	if s.KV != "" {
		k, err := llm.ParseDType(s.KV)
		if err != nil {
			return fmt.Errorf("KV cache: %w", err)
		}
		p.KV = k
	}
	return p.Check()
}

// scheduler is the engine's, with what the set-up changes.
func (d *Deployment) scheduler(s Setup) {
	h := &d.Hardware
	sch := &h.Engine.Scheduler
	if s.MaxSequences > 0 {
		sch.MaxSequences = s.MaxSequences
	}
	if s.MaxBatchedTokens > 0 {
		sch.MaxBatchedTokens = s.MaxBatchedTokens
	}
	d.Engine = sim.Engine{
		Policy: sim.Policy(sch.Policy), MaxBatchedTokens: max(sch.MaxBatchedTokens, sch.MaxSequences), MaxSequences: sch.MaxSequences, ChunkedPrefill: sch.ChunkedPrefill,
		BlockTokens: sch.BlockTokens, AsyncScheduling: sch.AsyncScheduling, ReceiveInterval: sch.ReceiveInterval, KVBlocks: s.KVBlocks,
	}
	if w := h.Model.Window; w.Tokens > 0 && h.Model.AttentionLayers() > 0 {
		d.Engine.WindowTokens, d.Engine.WindowShare = w.Tokens, float64(w.Layers)/float64(h.Model.AttentionLayers())
	}
}

// blocks sizes the cache by the engine's own rule. A model that is predicted not to fit, but ran, gets a cache without bound.
func (d *Deployment) blocks() (notes []string) {
	h := &d.Hardware
	fit, err := hardware.FitMemory(h.Model, h.Precision, hardware.MemoryInput{
		MemoryBytes: h.Chip.Memory.Bytes.Value, Utilisation: h.Engine.Memory.Fraction, Rule: h.Engine.Memory.Rule, Engine: h.Engine.Name,
		Version: h.Engine.Version, Split: h.Split, MaxBatchedTokens: d.Engine.MaxBatchedTokens, MaxSequences: d.Engine.MaxSequences, BlockTokens: d.Engine.BlockTokens,
	})
	if err != nil {
		return []string{fmt.Sprintf("KV cache taken as unbounded: %v", err)}
	}
	d.Engine.KVBlocks = int64(fit.KVTokens / d.Engine.BlockTokens)
	return nil
}
