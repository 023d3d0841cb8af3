package validate

import (
	"errors"
	"fmt"
	"strings"

	"scoville/hardware"
	"scoville/model/llm"
	"scoville/profiles"
	"scoville/sim"
)

// System is a set-up resolved to profiles: ready to simulate.
type System struct {
	Hardware hardware.Deployment
	Engine   sim.Engine
	Nominal  string // chip, model and engine as the profiles name them
}

// unsupported is a reason to skip a row, not a fault of the input.
type unsupported struct{ reason string }

func (u *unsupported) Error() string { return u.reason }

func skip(format string, args ...any) error { return &unsupported{fmt.Sprintf(format, args...)} }

// resolve finds the profiles and lays the model out in memory. An *unsupported error says why a row must be skipped.
func (d *Deploy) resolve() (*System, error) {
	chip, err := profiles.Chip(d.Chip)
	if err != nil {
		return nil, skip("no profile of chip %q", d.Chip)
	}
	if len(chip.Blanks()) > 0 {
		return nil, skip("chip %s is a template", chip.Name)
	}
	model, published, err := profiles.Model(d.Model)
	if err != nil {
		return nil, skip("no profile of model %q", d.Model)
	}
	release := d.Version
	if release == "" {
		if release, err = d.library.versionAt(d.Engine, d.Date); err != nil {
			return nil, err
		}
	}
	engine, err := d.library.engine(d.Engine, release)
	if err != nil {
		return nil, skip("no profile of engine %q", d.Engine)
	}
	split := d.Split.Normal()
	if err := model.CheckTensorParallel(split.Tensor); err != nil {
		return nil, skip("%s at TP%d: %v", model.Name, split.Tensor, err)
	}
	s := &System{Hardware: hardware.Deployment{
		Chip: chip, Model: model, Precision: d.precision(published), Split: split, Engine: engine, PowerLimitWatts: d.PowerLimitWatts}}
	s.Engine = d.engine(engine, model)
	if s.Engine.KVBlocks == 0 {
		if s.Engine.KVBlocks, err = d.blocks(s); err != nil {
			return nil, err
		}
	}
	s.Hardware.Engine.Scheduler.MaxSequences = s.Engine.MaxSequences
	if err := s.Hardware.Check(); err != nil {
		return nil, skip("%v", err)
	}
	return s, nil
}

// precision lays the table's weight format over the published one. Checkpoints mix formats, so where a model is published in
// the table's format, or its 4-bit format is meant by a plain "fp4", the published mix stands.
func (d *Deploy) precision(published llm.Precision) llm.Precision {
	p := published
	same := d.Weights == "" || d.Weights == published.Weights || d.Weights == llm.FP4 && published.Weights == llm.MXFP4
	if !same {
		p = llm.NewPrecision(d.Weights)
	}
	if d.KV != "" {
		p.KV = d.KV
	}
	return p
}

func (d *Deploy) engine(p hardware.EngineProfile, m llm.Architecture) sim.Engine {
	sch := p.Scheduler
	e := sim.Engine{
		Policy: sim.Policy(sch.Policy), MaxBatchedTokens: sch.MaxBatchedTokens, MaxSequences: sch.MaxSequences,
		ChunkedPrefill: sch.ChunkedPrefill, BlockTokens: sch.BlockTokens, PrefixCaching: d.PrefixCaching, KVBlocks: d.KVBlocks,
		AsyncScheduling: sch.AsyncScheduling, ReceiveInterval: d.ReceiveInterval, OverheadTTFTSeconds: p.Host.TTFTSeconds.Value,
	}
	if d.Policy != "" {
		e.Policy = d.Policy
	}
	if d.MaxBatchedTokens > 0 {
		e.MaxBatchedTokens = d.MaxBatchedTokens
	}
	if d.MaxSequences > 0 {
		e.MaxSequences = d.MaxSequences
	}
	if d.BlockTokens > 0 {
		e.BlockTokens = d.BlockTokens
	}
	e.MaxBatchedTokens = max(e.MaxBatchedTokens, e.MaxSequences)
	if w := m.Window; w.Tokens > 0 && m.AttentionLayers() > 0 {
		e.WindowTokens, e.WindowShare = w.Tokens, float64(w.Layers)/float64(m.AttentionLayers())
	}
	return e
}

// blocks is the KV cache by the engine's own memory rule.
func (d *Deploy) blocks(s *System) (int64, error) {
	h := &s.Hardware
	in := hardware.MemoryInput{
		MemoryBytes: h.Chip.Memory.Bytes.Value, Utilisation: h.Engine.Memory.Fraction, Rule: h.Engine.Memory.Rule,
		Engine: h.Engine.Name, Version: h.Engine.Version, Split: h.Split,
		MaxBatchedTokens: s.Engine.MaxBatchedTokens, MaxSequences: s.Engine.MaxSequences, BlockTokens: s.Engine.BlockTokens,
	}
	if d.MemoryShare > 0 {
		in.Utilisation = d.MemoryShare
	}
	fit, err := hardware.FitMemory(h.Model, h.Precision, in)
	if err != nil {
		var refusal *hardware.Refusal
		if errors.As(err, &refusal) {
			return 0, skip("memory: %s is predicted not to fit %s TP%d, but ran", h.Model.Name, h.Chip.Name, h.Split.Tensor)
		}
		return 0, skip("memory: %v", err)
	}
	return int64(fit.KVTokens / s.Engine.BlockTokens), nil
}

// dtype reads a format as tables spell it; blank stays blank, "fp16/bf16" is 16 bits.
func dtype(s string) (llm.DType, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	switch s {
	case "", "unset":
		return "", nil
	case "fp16/bf16":
		return llm.BF16, nil
	}
	t, err := llm.ParseDType(s)
	if err != nil {
		return "", skip("number format %q", s)
	}
	return t, nil
}
