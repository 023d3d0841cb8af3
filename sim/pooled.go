package sim

import (
	"maps"

	"scoville/model/sla"
	"scoville/model/stats"
)

// maxPooledExact is how many requests all replications together may have for their quantiles to be exact.
const maxPooledExact = 1_000_000

// pool fills s.Pooled from the replications.
func (s *Summary) pool(cfg Config) {
	p := &s.Pooled
	n := float64(len(s.Results))
	var offered, good, failed float64
	for _, r := range s.Results {
		p.replicas = r.replicas
		p.Arrived += r.Arrived
		p.Finished += r.Finished
		p.Rejected += r.Rejected
		p.TimedOut += r.TimedOut
		p.Unfinished += r.Unfinished
		p.Preemptions += r.Preemptions
		p.Steps += r.Steps
		p.InputTokens += r.InputTokens
		p.CachedInputTokens += r.CachedInputTokens
		p.OutputTokens += r.OutputTokens
		p.MeasuredRequests += r.MeasuredRequests
		if r.RejectedFor != nil && p.RejectedFor == nil {
			p.RejectedFor = map[string]int64{}
		}
		for reason, k := range maps.All(r.RejectedFor) {
			p.RejectedFor[reason] += k
		}
		p.MaxKVShare = max(p.MaxKVShare, r.MaxKVShare)
		offered += float64(r.MeasuredRequests)
		good += r.Attainment * float64(r.MeasuredRequests)
		failed += r.failedShare * float64(r.MeasuredRequests)
		for _, f := range p.averaged(r) {
			*f.to += f.from / n
		}
	}
	if p.InputTokens > 0 {
		p.PrefixHitRate = float64(p.CachedInputTokens) / float64(p.InputTokens)
	}
	p.Verdict, p.BacklogSlope = s.Verdict, s.BacklogSlope
	p.samples = poolSamples(s.Results)
	e := cfg.SLA.Evaluate(sla.Observed{Quantile: p.samples.quantile, Offered: int64(offered + 0.5), Good: int64(good + 0.5), Failed: int64(failed + 0.5)})
	p.Attainment, p.SLAMet, p.Violations = e.Attainment, e.Met, e.Violations
	if s.Verdict == Unstable {
		p.SLAMet = false
		p.Violations = append([]string{overloaded}, p.Violations...)
		return
	}
	p.TTFT, p.TPOT, p.ITL = p.samples.distribution(sla.TTFT), p.samples.distribution(sla.TPOT), p.samples.distribution(sla.ITL)
	p.E2E, p.QueueWait = p.samples.distribution(sla.E2E), p.samples.distribution(queueWait)
}

type averaged struct {
	to   *float64
	from float64
}

// averaged lists the figures of which a pooled result holds the mean over replications.
func (p *Result) averaged(r *Result) []averaged {
	return []averaged{{&p.Seconds, r.Seconds}, {&p.WarmupSeconds, r.WarmupSeconds}, {&p.RunSeconds, r.RunSeconds}, {&p.BusySeconds, r.BusySeconds},
		{&p.Utilisation, r.Utilisation}, {&p.MeanBatch, r.MeanBatch}, {&p.MeanRunning, r.MeanRunning}, {&p.MeanWaiting, r.MeanWaiting},
		{&p.MeanKVShare, r.MeanKVShare}, {&p.PrefillShare, r.PrefillShare}, {&p.FLOPs, r.FLOPs}, {&p.Bytes, r.Bytes}, {&p.Joules, r.Joules},
		{&p.RequestsPerSecond, r.RequestsPerSecond}, {&p.InputTokensPerSecond, r.InputTokensPerSecond},
		{&p.OutputTokensPerSecond, r.OutputTokensPerSecond}, {&p.GoodputPerSecond, r.GoodputPerSecond}}
}

// poolSamples puts the latencies of all replications together.
func poolSamples(results []*Result) *samples {
	p := &samples{exact: true, itl: stats.NewHistogram(tickSeconds)}
	total := 0
	for _, r := range results {
		p.exact = p.exact && r.samples.exact
		total += len(r.samples.ttft)
		mergeHistograms(&p.itl, r.samples.itl)
	}
	p.exact = p.exact && total <= maxPooledExact
	if p.exact {
		for _, r := range results {
			p.ttft, p.tpot = append(p.ttft, r.samples.ttft...), append(p.tpot, r.samples.tpot...)
			p.e2e, p.wait = append(p.e2e, r.samples.e2e...), append(p.wait, r.samples.wait...)
		}
		p.sort()
		return p
	}
	for _, m := range []sla.Metric{sla.TTFT, sla.TPOT, sla.E2E, queueWait} {
		h := stats.NewHistogram(histogramTicks)
		for _, r := range results {
			values, hist := r.samples.of(m)
			for _, v := range values {
				h.Add(int64(v/histogramTicks+0.5), 1)
			}
			if hist != nil {
				mergeHistograms(&h, hist)
			}
		}
		switch m {
		case sla.TTFT:
			p.ttftHist = h
		case sla.TPOT:
			p.tpotHist = h
		case sla.E2E:
			p.e2eHist = h
		default:
			p.waitHist = h
		}
	}
	return p
}
