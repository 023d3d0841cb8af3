package plan

import (
	"math"

	"scoville/hardware"
)

// ceilingQPS is a rate that no schedule lets one replica exceed: each step is as full as the token budget allows, with no time for
// anything that a full step does not share. Every token, read or written, costs its part of such a step; every token written
// also reads its context; and a step writes at most one token (with speculation: as many as are accepted) for each sequence.
func (d *deployment) ceilingQPS(t *traffic) float64 {
	in, out := t.summary.MeanInput, t.summary.MeanOutput
	fresh := in
	if d.config.Engine.PrefixCaching {
		fresh *= 1 - t.summary.PrefixShare
	}
	budget := d.config.Engine.MaxBatchedTokens
	full := d.steps.Step(hardware.Batch{PrefillSequences: 1, PrefillTokens: budget}).Seconds / float64(budget)
	n := d.config.Engine.MaxSequences
	decode := d.steps.Decode(n)
	perStep := 1.0
	if s := d.config.Engine.Speculative; s.Draft > 0 {
		perStep = float64(1 + s.Draft)
	}
	window := math.Min(in, float64(windowOf(d)))
	steps := out / perStep
	dense := math.Min(decode.Base.Seconds/float64(n), full)
	seconds := math.Max(fresh*full+steps*dense, steps*decode.Base.Seconds/float64(n)) + steps*(in*decode.PerKV.Seconds+window*decode.PerKVWin.Seconds)*contextShare
	return 1 / seconds
}

// contextShare leaves room for means: a mean of products may lie below the product of means.
const contextShare = 0.5

func windowOf(d *deployment) int { return d.config.Engine.WindowTokens }

// interactivityCeiling is the tokens a second that a request alone on the replica gets.
func (d *deployment) interactivityCeiling() float64 {
	perStep := 1.0
	if s := d.config.Engine.Speculative; s.Draft > 0 {
		perStep = float64(1 + s.Draft)
	}
	return perStep / d.steps.Decode(1).Base.Seconds
}

// minimumChips is the least number of chips of this kind that hold the model and one request of the greatest length, 0 where no
// tensor-parallel degree within a node does. Load has no say in it.
func (d *deployment) minimumChips() int {
	section := *d.section
	section.KVBlocks = 0 // measured at another degree
	for _, tp := range d.model.arch.TensorParallelDegrees(maxTensorParallel(d.chip)) {
		try := *d
		try.section, try.refusal, try.hw.Split.Tensor = &section, "", tp
		if err := try.fitMemory(d.config.Engine, d.config.Engine.MaxModelLen); err == nil && try.refusal == "" {
			return try.hw.Split.Chips()
		}
	}
	return 0
}
