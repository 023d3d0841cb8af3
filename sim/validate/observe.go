package validate

import (
	"sort"

	"scoville/sim"
)

// observe reads the metrics of one row off a run. A metric that the run can't tell is missing.
func observe(job *Job, row *Row, s *System, r *sim.Result) map[string]float64 {
	replicas := float64(max(1, job.Deploy.Replicas))
	m := latencies(job, row, r.Records)
	m[Overloaded] = 0
	if r.Verdict == sim.Unstable {
		m[Overloaded] = 1
	}
	if r.Verdict != sim.Unstable && r.ITL.Count > 0 {
		m[ITLP50] = r.ITL.P50
	}
	out, all := r.OutputTokensPerSecond, r.OutputTokensPerSecond+r.InputTokensPerSecond
	if !job.Steady {
		out, all = rates(r.Records)
	}
	if out > 0 {
		m[OutTokens], m[AllTokens] = out*replicas, all*replicas
	}
	if r.Seconds > 0 && r.Joules > 0 && out > 0 {
		watts := r.Joules / r.Seconds
		m[Watts], m[Joules] = watts*replicas, watts/out
		m[NodeWatts] = nodeWatts(s, watts*replicas, job.Deploy.Split.Normal().Chips()*int(replicas))
	}
	return m
}

// nodeWatts adds what servers draw beside their accelerators; chips fill whole servers.
func nodeWatts(s *System, watts float64, chips int) float64 {
	n := s.Hardware.Chip.Node
	per := max(1, n.Chips)
	nodes := float64((chips + per - 1) / per)
	idle := s.Hardware.Chip.Power.IdleWatts.Value * float64(chips)
	return watts + nodes*n.OverheadWatts.Value + n.OverheadPerWatt.Value*max(0, watts-idle)
}

// rates are tokens a second from the first arrival to the last token, as benchmark clients count.
func rates(records []sim.Record) (out, all float64) {
	first, last := int64(-1), int64(0)
	for i := range records {
		q := &records[i]
		if q.Outcome != sim.Finished {
			continue
		}
		if first < 0 || q.ArrivalNanos < first {
			first = q.ArrivalNanos
		}
		last = max(last, q.EndNanos)
		out += float64(q.OutputTokens)
		all += float64(q.InputTokens) + float64(q.OutputTokens)
	}
	if last <= first {
		return 0, 0
	}
	seconds := float64(last-first) * 1e-9
	return out / seconds, all / seconds
}

// latencies sums up the finished requests that belong to a row.
func latencies(job *Job, row *Row, records []sim.Record) map[string]float64 {
	var ttft, tpot, e2e []float64
	for i := range records {
		q := &records[i]
		if q.Outcome != sim.Finished || q.ID <= job.Drop || q.ArrivalNanos < row.From || row.Until > 0 && q.ArrivalNanos >= row.Until {
			continue
		}
		ttft = append(ttft, float64(q.FirstTokenNanos-q.ArrivalNanos)*1e-9)
		e2e = append(e2e, float64(q.EndNanos-q.ArrivalNanos)*1e-9)
		if q.OutputTokens > 1 {
			tpot = append(tpot, float64(q.EndNanos-q.FirstTokenNanos)*1e-9/float64(q.OutputTokens-1))
		}
	}
	m := map[string]float64{}
	put := func(values []float64, mean, p50, p90, p99 string) {
		if len(values) == 0 {
			return
		}
		sort.Float64s(values)
		sum := 0.0
		for _, v := range values {
			sum += v
		}
		m[mean] = sum / float64(len(values))
		m[p50], m[p90], m[p99] = quantile(values, 0.5), quantile(values, 0.9), quantile(values, 0.99)
	}
	put(ttft, TTFTMean, TTFTP50, TTFTP90, TTFTP99)
	put(tpot, TPOTMean, TPOTP50, "tpot_p90", TPOTP99)
	put(e2e, E2EMean, E2EP50, E2EP90, E2EP99)
	if v, ok := m[TPOTMean]; ok {
		m[ITLMean] = v
	}
	return m
}

// quantile of sorted values, linear between neighbours.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
