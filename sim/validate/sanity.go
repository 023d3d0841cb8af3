package validate

import "scoville/model/workload"

// impossible says why a closed loop's measured row can't be what it says, or "": at the stated load its figures would need more
// arithmetic than the chips' peak, or more KV cache read than their peak bandwidth. No prediction is used. Such rows have a
// concurrency, length or chip count that isn't theirs.
//
// By Little's law the loop finishes load / E2E requests a second, and load x decode time / E2E sequences decode at once.
func impossible(job *Job, row *Row, s *System) string {
	ttft, tpot := value(row, TTFTMean), value(row, TPOTMean)
	if job.Spec == nil || job.Spec.Arrivals.ClosedLoop == nil || ttft <= 0 || tpot <= 0 {
		return ""
	}
	h := &s.Hardware
	in, out := middle(job.Spec.Lengths.Input), middle(job.Spec.Lengths.Output)
	decode := (out - 1) * tpot
	perSecond := job.Load / (ttft + decode)
	flops := perSecond * ((in+out)*h.Model.FLOPsPerToken() + out*h.Model.HeadFLOPs())
	if peak := h.Chip.Peak.Rate(h.Precision.Activations) * float64(h.Split.Chips()); flops > peak {
		return "measured figures need more arithmetic than the chips' peak"
	}
	if h.Model.MLA.IndexHeads == 0 {
		sequences := job.Load * decode / (ttft + decode)
		bytes := sequences * h.Model.KV(h.Precision.KV, h.Split.Tensor).SequenceBytes(in+out/2)
		if bytes/tpot > h.Chip.Memory.BytesPerSecond.Value {
			return "measured figures need more cache read than the chips' peak bandwidth"
		}
	}
	return ""
}

func value(row *Row, metric string) float64 {
	for _, f := range row.Measured {
		if f.Metric == metric {
			return f.Value
		}
	}
	return 0
}

// middle is the mean of the distributions that closed loops of benchmarks draw lengths from; 0, which passes any row, for others.
func middle(d workload.Distribution) float64 {
	switch d.Kind {
	case "fixed":
		return d.Value
	case "uniform":
		return (d.Low + d.High) / 2
	}
	return 0
}
