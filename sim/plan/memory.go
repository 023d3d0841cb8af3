package plan

import (
	"errors"

	"scoville/hardware"
	"scoville/sim"
)

// fitMemory lays the model out in the chips' memory; a model that doesn't fit sets d.refusal.
func (d *deployment) fitMemory(e sim.Engine, longest int) error {
	c := d.section
	in := hardware.MemoryInput{
		MemoryBytes: d.chip.Memory.Bytes.Value, Utilisation: d.engine.Memory.Fraction, Rule: d.engine.Memory.Rule,
		Engine: d.engine.Name, Version: d.engine.Version, Split: d.hw.Split,
		MaxBatchedTokens: e.MaxBatchedTokens, MaxSequences: e.MaxSequences, BlockTokens: e.BlockTokens,
		MaxLength: min(longest, d.model.arch.MaxContext), Blocks: int(c.KVBlocks), MaxTensorParallel: maxTensorParallel(d.chip),
	}
	if c.MemoryShare > 0 {
		in.Utilisation = c.MemoryShare
	}
	fit, err := hardware.FitMemory(d.model.arch, d.model.precision, in)
	d.fit = &fit
	var refusal *hardware.Refusal
	if errors.As(err, &refusal) {
		d.refusal = refusal.Error()
		return nil
	}
	return err
}

// maxTensorParallel is the largest degree a refusal may propose: what the chip's fast links reach.
func maxTensorParallel(c hardware.Chip) int { return max(c.Link.ScaleUpDomain, c.Node.Chips) }

// memory sums the fit up for the result.
func (d *deployment) memory(meanTokens float64) Memory {
	f := d.fit
	if f.Cache.BlockTokens == 0 { // a template: nothing was laid out
		return Memory{ChipBytes: d.chip.Memory.Bytes.Value}
	}
	return Memory{
		ChipBytes: d.chip.Memory.Bytes.Value, WeightBytes: f.Weights, ActivationBytes: f.Activation,
		ReservedBytes: d.chip.Memory.Bytes.Value - f.Weights - f.Activation - max(0, f.KVBytes), KVBytes: max(0, f.KVBytes),
		KVTokens: float64(f.ReplicaKVTokens()), MaxConcurrent: float64(f.SequencesAt(max(1, int(meanTokens)))), LongestRequest: float64(f.LongestLength),
	}
}
