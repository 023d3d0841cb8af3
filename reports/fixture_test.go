package reports

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"scoville/model/fact"
	"scoville/sim"
	"scoville/sim/plan"
)

// The fixtures are invented results, plausible in shape, that exercise every block of a report.

func dist(mean float64) sim.Distribution {
	return sim.Distribution{Count: 20000, Mean: mean, P50: mean * 0.86, P90: mean * 1.7, P95: mean * 2.1, P99: mean * 3.4, Max: mean * 6, Exact: true}
}

// loadPoint is a queue-like replica that saturates at sat requests a second.
func loadPoint(rate, sat float64) plan.LoadPoint {
	u := rate / sat
	p := plan.LoadPoint{RequestsPerSecond: rate, Completed: math.Min(rate, sat), Utilisation: math.Min(1, u), AcceleratorWatts: 8 * (180 + 420*math.Min(1, u)), MeanBatch: 4 + 90*u*u, KVShare: math.Min(1, 0.1+0.8*u*u), Verdict: sim.Stable}
	if u >= 0.99 {
		p.Verdict = sim.Unstable
		p.Goodput = sat * 0.2
		return p
	}
	ttft := 0.12 + 0.05*u/(1-u)
	p.TTFT, p.TPOT, p.ITL, p.E2E = dist(ttft), dist(0.011+0.016*u*u), dist(0.012+0.018*u*u), dist(4+6*u*u+ttft)
	p.Met = p.TTFT.P99 <= 1 && p.TPOT.P99 <= 0.05*3.4
	p.Goodput = rate * math.Min(1, 1.02-math.Max(0, u-0.7)*0.6)
	p.Goodput = math.Min(rate, p.Goodput)
	return p
}

func candidateFixture(rank int, name, chip string, tp int, sat, price float64) plan.Candidate {
	low := sat * 0.79
	replicas := int(math.Ceil(42 / low))
	chips := (replicas + 1) * tp
	nodes := (chips + 7) / 8
	chips = nodes * 8
	cap := plan.Capacity{RequestsPerSecond: low * 1.02, Low: low, High: low * 1.04, SaturationPerSecond: sat, Replications: 10,
		Binding: "TTFT p99 reaches its limit of 1 s while prefill queues behind decode steps", BindingLimit: "ttft_p99", OutputTokensPerSecond: low * 310}
	for _, u := range []float64{0.1, 0.25, 0.4, 0.55, 0.65, 0.72, 0.79, 0.85, 0.9, 0.95, 1.05} {
		cap.Curve = append(cap.Curve, loadPoint(u*sat, sat))
	}
	peak := loadPoint(42/float64(replicas), sat)
	peak.RequestsPerSecond, peak.Goodput, peak.Completed = 42, 41.7, 42
	fewer := loadPoint(42/math.Max(0.5, float64(replicas-1)), sat)
	fewer.RequestsPerSecond, fewer.Met = 42, false
	c := plan.Candidate{
		Rank: rank, Name: name, Chip: chip, ChipTitle: strings.ToUpper(chip), Vendor: "ExampleVendor", ProfileKind: fact.Measured,
		Engine: "vllm 0.11.0", Precision: "fp8", TensorParallel: tp, PipelineParallel: 1, ExpertParallel: 1, ChipsPerReplica: tp,
		EngineSettings: []plan.Setting{{Name: "max_num_batched_tokens", Value: "8192"}, {Name: "max_num_seqs", Value: "256"}, {Name: "prefix_caching", Value: "on"}},
		Feasible:       true,
		Memory:         plan.Memory{ChipBytes: 80e9, WeightBytes: 70.6e9 / float64(tp), ActivationBytes: 2.1e9, ReservedBytes: 8e9, KVBytes: 80e9 - 70.6e9/float64(tp) - 10.1e9, KVTokens: 412e3, MaxConcurrent: 220, LongestRequest: 131072},
		Capacity:       cap,
		Fleet: plan.Fleet{Replicas: replicas, SpareReplicas: 1, Chips: chips, Nodes: nodes, Availability: 0.9994, ReplicasBySaturation: int(math.Ceil(42 / sat)), ReplicasByMemory: 1,
			PeakKilowatts: float64(chips) * 0.92, MeanKilowatts: float64(chips) * 0.61, FacilityKilowatts: float64(chips) * 1.31, Routing: "least outstanding requests", Peak: peak, OneFewer: &fewer},
		Spreadsheet: plan.Spreadsheet{Chips: max(1, chips/3), TokensPerSecond: sat * 310 * 1.9, Formula: "42 requests/s × 310 output tokens ÷ peak throughput of one replica × chips a replica"},
		Accuracy:    plan.Accuracy{Basis: "24 held-out runs of the same chip and engine", TTFTError: 0.118, TPOTError: 0.064, ThroughputError: 0.041, InsideRange: rank%2 == 1},
		Questions:   []plan.Question{{Question: "Can it be bought today, and at what lead time?", Answer: "8 to 12 weeks by the vendor's own statement of 2026-10"}, {Question: "Which engine versions run on it?", Answer: "unknown"}},
	}
	for _, m := range []string{"throughput", "tpot"} {
		for i := 0; i < 8; i++ {
			v := 400 * math.Pow(1.9, float64(i))
			if m == "tpot" {
				v = 0.008 * math.Pow(1.25, float64(i))
			}
			c.Accuracy.Points = append(c.Accuracy.Points, plan.AccuracyPoint{Metric: m, Label: fmt.Sprintf("batch %d", 1<<i), Measured: v, Predicted: v * (1 + 0.07*math.Sin(float64(3*i+rank)))})
		}
	}
	for i := 1; i <= 99; i++ {
		q := float64(i) / 100
		c.Fleet.TTFTQuantiles = append(c.Fleet.TTFTQuantiles, plan.Quantile{Share: q, Seconds: 0.09 * math.Pow(1/(1-q), 0.5)})
		c.Fleet.TPOTQuantiles = append(c.Fleet.TPOTQuantiles, plan.Quantile{Share: q, Seconds: 0.016 * math.Pow(1/(1-q), 0.22)})
	}
	for _, t := range []struct {
		name, unit string
		top        float64
	}{{"utilisation", "share", 0.8}, {"batch", "sequences", 88}, {"kv", "share", 0.7}, {"queue", "requests", 9}} {
		line := sim.Timeline{Name: t.name, Unit: t.unit}
		for i := 0; i <= 120; i++ {
			line.Seconds = append(line.Seconds, float64(i)*30)
			line.Values = append(line.Values, t.top*(0.75+0.2*math.Sin(float64(i)/9)+0.05*math.Sin(float64(i*i))))
		}
		c.Fleet.Timelines = append(c.Fleet.Timelines, line)
	}
	c.Cost = costFixture(float64(chips), price)
	return c
}

func costFixture(chips, price float64) *plan.Cost {
	const months, kwh0, pue, tariff, outTokens, inTokens = 48, 26.3e6 / 1000, 1.25, 0.11, 3.1e6 * 1e5, 12.4e6 * 1e5
	itKWh := chips * 0.61 * 730 * months
	_ = kwh0
	accelerators := chips * price
	energy := itKWh * pue * tariff
	c := &plan.Cost{Ownership: "buy", HorizonMonths: months, Allocation: "by price ratio: an output token costs 4 uncached input tokens, a cached one 0.1", Utilisation: 0.42,
		Components: []plan.Component{
			{Name: "accelerators", Kind: "capex", USD: accelerators, PerPrice: chips},
			{Name: "hosts", Kind: "capex", USD: chips * 4100}, {Name: "network", Kind: "capex", USD: chips * 2300},
			{Name: "spare parts", Kind: "capex", USD: accelerators * 0.03, PerPrice: chips * 0.03},
			{Name: "energy", Kind: "opex", USD: energy, PerEnergy: 1}, {Name: "colocation", Kind: "opex", USD: chips * 1.3 * 160 * months},
			{Name: "maintenance", Kind: "opex", USD: accelerators * 0.12, PerPrice: chips * 0.12}, {Name: "software", Kind: "opex", USD: chips * 1100},
			{Name: "staff", Kind: "opex", USD: 2 * 14000 * months}, {Name: "bandwidth", Kind: "opex", USD: 400 * months},
		},
		Definitions: []string{"$/M tokens: whole cost over input and output tokens together, cached input included, at the mean load.", "Utilisation: mean load over the load the serving chips hold within the SLA.", "TCO: all cash over 48 months, not discounted; NPV discounts it at 8 % a year."},
		Warnings:    []string{"The power tariff is 14 months old."},
	}
	for i := range c.Components {
		c.Components[i].USD = math.Round(c.Components[i].USD*100) / 100
		c.TCO += c.Components[i].USD
	}
	cumulative := 0.0
	for m := 0; m <= months; m++ {
		row := plan.MonthCash{Month: m}
		for _, k := range c.Components {
			v := 0.0
			switch {
			case k.Kind == "capex" && m == 0:
				v = k.USD
			case k.Kind == "opex" && m > 0:
				v = k.USD / months
			}
			row.ByComponent = append(row.ByComponent, v)
			row.USD += v
		}
		cumulative += row.USD
		row.Cumulative = cumulative
		c.MonthlyCash = append(c.MonthlyCash, row)
	}
	tokens := inTokens + outTokens
	c.NPV, c.Monthly = c.TCO*0.93, c.TCO/months
	c.PerMBoth = c.TCO * 1e6 / tokens
	unit := c.TCO * 1e6 / (inTokens*0.7 + 0.1*inTokens*0.3 + 4*outTokens)
	c.PerMInput, c.PerMCachedInput, c.PerMOutput = unit, unit*0.1, 4*unit
	c.PerMBothFull = c.PerMBoth * 0.46
	c.PerRequest = c.PerMBoth * 1550 / 1e6
	c.JoulesPerToken = itKWh * pue * 3.6e6 / tokens
	c.KWhPerMTokens = itKWh * pue * 1e6 / tokens
	c.KgCO2ePerMTokens = c.KWhPerMTokens * 0.38
	c.TokensPerDollar = tokens / c.TCO
	c.TokensPerSecondPerWatt = 3.9
	c.Levers = &plan.Levers{PriceName: "accelerator price", PriceUnit: "USD/chip", Price: price, USDPerKWh: tariff, PUE: pue}
	for i := 1; i <= 20; i++ {
		u := 0.05 * float64(i)
		if i == 8 {
			u = 0.42
			c.Levers.PointsSelf = i - 1
		}
		k := u / 0.42
		c.Levers.Points = append(c.Levers.Points, plan.UtilisationPoint{Utilisation: u, InputTokens: inTokens * k, OutputTokens: outTokens * k, ITKWh: itKWh * (0.45 + 0.55*k)})
	}
	for i, n := range []string{"utilisation", "accelerator price", "lifetime", "power tariff", "hosts and network", "PUE", "staff", "cost of capital"} {
		d := 0.32 / float64(i+1)
		c.Tornado = append(c.Tornado, plan.TornadoBar{Name: n, LowLabel: "-20 %", HighLabel: "+20 %", Low: c.PerMBoth * (1 - d*0.8), High: c.PerMBoth * (1 + d)})
	}
	c.Tornado[0].Low, c.Tornado[0].High = c.Tornado[0].High, c.Tornado[0].Low
	mc := &plan.MonteCarlo{Draws: 10000, PerM: plan.Spread{P10: c.PerMBoth * 0.82, P50: c.PerMBoth * 1.01, P90: c.PerMBoth * 1.29}, TCO: plan.Spread{P10: c.TCO * 0.88, P50: c.TCO, P90: c.TCO * 1.14}, Chips: plan.Spread{P10: chips - 8, P50: chips, P90: chips + 8}}
	for i := 0; i < 30; i++ {
		x := 0.6 + float64(i)*0.04
		mc.Histogram = append(mc.Histogram, plan.HistogramBin{Low: c.PerMBoth * x, High: c.PerMBoth * (x + 0.04), Count: int(900 * math.Exp(-math.Pow((x-1)/0.2, 2)))})
	}
	for i, n := range []string{"utilisation", "accelerator price", "power tariff"} {
		mc.Drivers = append(mc.Drivers, plan.Driver{Name: n, Correlation: []float64{-0.81, 0.44, 0.12}[i]})
	}
	c.MonteCarlo = mc
	return c
}

// resultFixture is a plan of n candidates, the last of them infeasible when n > 2.
func resultFixture(n int) *plan.Result {
	r := &plan.Result{
		Schema: plan.Schema, Version: "v1.0.0-test", Title: "Chat assistant, winter peak", Command: "scoville plan chat.toml --seed 7", Seed: 7, AsOf: "2026-11-15",
		PlanText: "title = \"Chat assistant, winter peak\"\n\n[traffic]\npeak_qps = 42\n",
		Answer:   "Buy 40 chips.",
		Workload: plan.Workload{Name: "chat", Source: "BurstGPT sample, 2023", PeakQPS: 42, PeakFrom: "120,000 users × 9 requests a day × peak-to-mean 3.4", MeanQPS: 12.4, Arrivals: "Gamma, coefficient of variation 1.8", MeanInputTokens: 1240, MeanOutputTokens: 310, P99InputTokens: 7900, P99OutputTokens: 1450, PrefixShare: 0.31},
		Model:    plan.Model{Name: "Llama-3.3-70B", Parameters: 70.6e9, ActiveParameters: 70.6e9, WeightBytes: 70.6e9, KVBytesPerToken: 163840, Weights: "fp8", KV: "fp8", Activations: "bf16", Source: "config.json of the model card"},
		SLA:      []plan.Limit{{Name: "ttft_p99", Limit: 1, Unit: "s"}, {Name: "tpot_p99", Limit: 0.17, Unit: "s"}, {Name: "attainment", Limit: 0.99, Unit: "share"}},
		Warnings: []string{"The trace is of 2023; lengths have grown since."},
	}
	kinds := []struct {
		name, chip string
		tp         int
		sat, price float64
	}{{"h100-tp4", "h100-sxm", 4, 9.2, 27000}, {"h200-tp2", "h200-sxm", 2, 5.1, 32000}, {"mi300x-tp2", "mi300x", 2, 3.6, 21000}, {"b200-tp2", "b200", 2, 8.8, 46000}, {"gaudi3-tp4", "gaudi3", 4, 4.2, 15600}, {"l40s-tp8", "l40s", 8, 2.3, 8200}, {"910c-tp8", "ascend-910c", 8, 6.0, 19000}, {"a100-tp4", "a100-80g", 4, 3.1, 12000}, {"h20-tp4", "h20", 4, 3.4, 13500}, {"tpu-v6e-tp8", "tpu-v6e", 8, 5.5, 9800}, {"mi355x-tp1", "mi355x", 1, 4.4, 30000}, {"rtx6000-tp4", "rtx-pro-6000", 4, 2.6, 8500}}
	for i := 0; i < n; i++ {
		k := kinds[i%len(kinds)]
		r.Candidates = append(r.Candidates, candidateFixture(i+1, k.name, k.chip, k.tp, k.sat, k.price))
	}
	sort.SliceStable(r.Candidates, func(i, j int) bool { return r.Candidates[i].Cost.PerMBoth < r.Candidates[j].Cost.PerMBoth })
	for i := range r.Candidates {
		r.Candidates[i].Rank = i + 1
	}
	if n > 2 {
		infeasible(&r.Candidates[n-1])
	}
	for m := 1; m <= 48; m++ {
		q := 42 * math.Pow(1.04, float64(m-1))
		rep := int(math.Ceil(q/7.3)) + 1
		r.Growth = append(r.Growth, plan.GrowthMonth{Month: m, PeakQPS: q, Replicas: rep, Chips: (rep*4 + 7) / 8 * 8})
	}
	if n > 1 {
		r.Comparison = &plan.Comparison{Winner: r.Candidates[0].Name, ProbabilityCheapest: []plan.Share{{Name: r.Candidates[0].Name, Share: 0.71}, {Name: r.Candidates[1].Name, Share: 0.29}},
			BreakEvens: []plan.BreakEven{{Candidate: r.Candidates[1].Name, Against: r.Candidates[0].Name, Variable: "accelerator price", Unit: "USD/chip", Now: 32000, At: 26150, Exists: true}, {Candidate: r.Candidates[1].Name, Against: r.Candidates[0].Name, Variable: "power tariff", Unit: "USD/kWh", Now: 0.11, Note: "no tariff makes them equal"}}}
	}
	for i, k := range []fact.Kind{fact.Measured, fact.Datasheet, fact.Estimate, fact.Hypothetical} {
		r.Assumptions = append(r.Assumptions,
			plan.Assumption{Group: []string{"traffic", "hardware", "engine", "cost"}[i], Name: []string{"peak rate", "accelerator price", "step overhead", "power tariff"}[i], Value: []string{"42 requests/s", "$27,000 a chip", "3.1 ms", "$0.11/kWh"}[i], Kind: k, Source: "https://example.org/a/rather/long/address/that/has/to/be/wrapped/somewhere/2026/price-list.html", Date: "2026-10-02"},
			plan.Assumption{Group: []string{"traffic", "hardware", "engine", "cost"}[i], Name: "a default", Value: "as shipped"})
	}
	return r
}

func infeasible(c *plan.Candidate) {
	c.Feasible, c.Cost = false, nil
	c.Reason = "TTFT p99 is 1.9 s at the lightest load, above the limit of 1 s; the nearest that holds it is tensor parallel 8 on the same chip"
	c.Fleet = plan.Fleet{ReplicasByMemory: 2}
	c.Capacity.Low, c.Capacity.RequestsPerSecond, c.Capacity.High = 0, 0, 0
	for i := range c.Capacity.Curve {
		c.Capacity.Curve[i].Met = false
	}
}

// fixtures are the variants every back end has to draw.
func fixtures() map[string]*plan.Result {
	one := resultFixture(1)
	free := resultFixture(2)
	for i := range free.Candidates {
		c := free.Candidates[i].Cost
		*c = plan.Cost{Ownership: "buy", HorizonMonths: 48, Components: []plan.Component{{Name: "accelerators", Kind: "capex"}, {Name: "energy", Kind: "opex"}}, Definitions: c.Definitions}
		for m := 0; m <= 48; m++ {
			c.MonthlyCash = append(c.MonthlyCash, plan.MonthCash{Month: m, ByComponent: []float64{0, 0}})
		}
	}
	none := resultFixture(3)
	for i := range none.Candidates {
		infeasible(&none.Candidates[i])
	}
	none.Growth, none.Comparison = nil, nil
	long := resultFixture(3)
	long.Title = "Retrieval-augmented customer-service assistant for the consolidated European and Asia-Pacific regions, winter peak of 2027 with contingency"
	for i := range long.Candidates {
		c := &long.Candidates[i]
		c.Name = fmt.Sprintf("%s-disaggregated-prefill-decode-speculative-eagle3-kv-offload-long-context-%d", c.Name, i)
		c.ChipTitle = "Very Long Vendor Name Accelerator Module X9000 Ultra 288 GB Liquid Cooled"
	}
	chinese := resultFixture(2)
	chinese.Title, chinese.Candidates[0].Name = "智能客服冬季高峰容量规划", "昇腾集群-方案一"
	bare := resultFixture(2)
	bare.Growth, bare.Comparison, bare.Warnings = nil, nil, nil
	for i := range bare.Candidates {
		c := &bare.Candidates[i]
		c.Cost.MonteCarlo, c.Cost.Tornado, c.Cost.Levers = nil, nil, nil
		c.Accuracy = plan.Accuracy{Basis: "no measured run of this chip was available"}
		c.Fleet.Timelines, c.Fleet.TTFTQuantiles, c.Fleet.TPOTQuantiles, c.Fleet.OneFewer, c.Questions = nil, nil, nil, nil, nil
	}
	return map[string]*plan.Result{"three": resultFixture(3), "one": one, "twelve": resultFixture(12), "free": free, "none": none, "long": long, "chinese": chinese, "bare": bare, "empty": {Schema: plan.Schema, Title: "Nothing yet"}}
}
