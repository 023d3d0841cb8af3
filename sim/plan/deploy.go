package plan

import (
	"fmt"
	"strings"

	"scoville/hardware"
	"scoville/hardware/calibrate"
	"scoville/model/cost"
	"scoville/model/llm"
	"scoville/profiles"
	"scoville/sim"
)

// served is the resolved model section.
type served struct {
	arch      llm.Architecture
	precision llm.Precision
}

func (f *File) model() (*served, error) {
	m := &served{}
	key, name := "model.name", f.Model.Name
	if f.Model.Config != "" {
		key, name = "model.config", f.inFolder(f.Model.Config)
	}
	var err error
	if m.arch, m.precision, err = profiles.LoadModel(name); err != nil {
		return nil, f.errorAt(key, "%v", err)
	}
	m.precision, err = withPrecision(m.precision, f.Model.Weights, f.Model.KV, f.Model.Activations)
	if err != nil {
		return nil, f.errorAt("model", "%v", err)
	}
	return m, nil
}

// withPrecision lays named formats over a precision.
func withPrecision(p llm.Precision, weights, kv, activations string) (llm.Precision, error) {
	if weights != "" {
		w, err := llm.ParseDType(weights)
		if err != nil {
			return p, fmt.Errorf("weights: %w", err)
		}
		if w != p.Weights {
			p = llm.NewPrecision(w)
		}
	}
	for _, part := range []struct {
		name, given string
		to          *llm.DType
	}{{"kv", kv, &p.KV}, {"activations", activations, &p.Activations}} {
		if part.given == "" {
			continue
		}
		d, err := llm.ParseDType(part.given)
		if err != nil {
			return p, fmt.Errorf("%s: %w", part.name, err)
		}
		*part.to = d
	}
	return p, p.Check()
}

// deployment is one candidate, resolved.
type deployment struct {
	section          *CandidateSection
	name             string
	chip             hardware.Chip
	engine           hardware.EngineProfile
	model            *served
	hw               hardware.Deployment
	fit              *hardware.MemoryFit
	steps            hardware.StepModel
	calibrated       *calibrate.Profile // nil: shipped speeds
	calibrationNotes []string
	config           sim.Config
	refusal          string // why it can't run at all

	answered *Candidate
	input    cost.Input
	costs    cost.Assumptions
	quote    *profiles.Quote
}

// defaultEngine serves where a candidate names none.
const defaultEngine = "vllm"

// deploy resolves candidate i. A model that doesn't fit is a refusal, not an error: other candidates may still serve.
func (p *planner) deploy(i int) (*deployment, error) {
	d, err := p.deploySection(&p.file.Candidates[i])
	if err != nil {
		return nil, p.file.candidateError(i, "%v", err)
	}
	return d, nil
}

// deploySection resolves a candidate's section.
func (p *planner) deploySection(c *CandidateSection) (*deployment, error) {
	d := &deployment{section: c, name: c.Name}
	if err := d.resolve(p.file); err != nil {
		return nil, err
	}
	precision, err := withPrecision(p.model.precision, c.Weights, c.KV, c.Activations)
	if err != nil {
		return nil, err
	}
	d.model = &served{p.model.arch, precision}
	d.hw = hardware.Deployment{
		Chip: d.chip, Model: d.model.arch, Precision: precision, Engine: d.engine, PowerLimitWatts: c.PowerLimitWatts,
		Split: llm.Split{Tensor: c.TensorParallel, Pipeline: c.PipelineParallel, Expert: c.ExpertParallel}.Normal(),
	}
	if err := d.calibrate(p.file); err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	if err := d.build(p); err != nil {
		return nil, fmt.Errorf("%s: %w", d.chip.Name, err)
	}
	if d.name == "" {
		d.name = d.defaultName()
	}
	return d, nil
}

// calibrate lays the factors of a calibration file over the shipped speeds.
func (d *deployment) calibrate(f *File) (err error) {
	if d.section.Calibration == "" || len(d.chip.Blanks()) > 0 {
		return nil
	}
	if d.calibrated, err = calibrate.ReadProfile(f.inFolder(d.section.Calibration)); err != nil {
		return err
	}
	d.hw, d.calibrationNotes, err = d.calibrated.Apply(d.hw)
	d.engine, d.chip = d.hw.Engine, d.hw.Chip
	return err
}

func (d *deployment) resolve(f *File) (err error) {
	c := d.section
	if c.ChipFile != "" {
		d.chip, err = profiles.ReadChip(f.inFolder(c.ChipFile), "")
	} else {
		d.chip, err = profiles.Chip(c.Chip)
	}
	if err != nil {
		return err
	}
	name, version, _ := strings.Cut(c.Engine, " ")
	if name == "" {
		name = defaultEngine
	}
	d.engine, err = profiles.Engine(name, version)
	return err
}

func (d *deployment) defaultName() string {
	n := d.chip.Name
	s := d.hw.Split
	for _, part := range []struct {
		letters string
		degree  int
	}{{"TP", s.Tensor}, {"PP", s.Pipeline}, {"EP", s.Expert}} {
		if part.degree > 1 {
			n += fmt.Sprintf(" %s%d", part.letters, part.degree)
		}
	}
	return n
}

// build checks memory and makes the step model and the engine's settings.
func (d *deployment) build(p *planner) error {
	c := d.section
	if blanks := d.chip.Blanks(); len(blanks) > 0 {
		d.fit = &hardware.MemoryFit{Split: d.hw.Split}
		d.refusal = fmt.Sprintf("%s is a what-if template: nothing public gives its %s; fill them in a copy and name it as chip_file", d.chip.Name, strings.Join(blanks, ", "))
		return nil
	}
	if err := d.model.arch.CheckTensorParallel(d.hw.Split.Tensor); err != nil {
		return err
	}
	scheduler := d.engine.Scheduler
	e := sim.Engine{
		Policy: sim.Policy(scheduler.Policy), MaxBatchedTokens: orDefault(c.MaxBatchedTokens, scheduler.MaxBatchedTokens),
		MaxSequences: orDefault(c.MaxSequences, scheduler.MaxSequences), ChunkedPrefill: scheduler.ChunkedPrefill,
		BlockTokens: scheduler.BlockTokens, PrefixCaching: scheduler.PrefixCaching, AsyncScheduling: scheduler.AsyncScheduling,
		ReceiveInterval:     orDefault(c.ReceiveInterval, scheduler.ReceiveInterval),
		Speculative:         sim.Speculative{Draft: c.DraftTokens, Acceptance: c.Acceptance},
		OverheadTTFTSeconds: d.engine.Host.TTFTSeconds.Value,
	}
	if c.ChunkedPrefill != nil {
		e.ChunkedPrefill = *c.ChunkedPrefill
	}
	if c.PrefixCaching != nil {
		e.PrefixCaching = *c.PrefixCaching
	}
	if w := d.model.arch.Window; w.Tokens > 0 && d.model.arch.Layers > 0 {
		e.WindowTokens, e.WindowShare = w.Tokens, float64(w.Layers)/float64(d.model.arch.AttentionLayers())
	}
	longest := orDefault(c.MaxModelLen, p.traffic.summary.MaxLength)
	e.MaxModelLen = longest
	if err := d.fitMemory(e, longest); err != nil {
		return err
	}
	if d.refusal != "" {
		return nil
	}
	// The simulator's blocks hold tokens of all layers; the engine's may belong to one group of layers.
	e.KVBlocks = int64(d.fit.KVTokens / e.BlockTokens)
	var err error
	if d.steps, err = hardware.NewStepModel(d.hw); err != nil {
		return err
	}
	d.config = sim.Config{Engine: e, Steps: d.steps, SLA: p.limits}
	return nil
}
