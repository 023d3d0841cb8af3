package plan

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sort"
	"strings"

	"scoville/hardware"
	"scoville/model/cost"
	"scoville/profiles"
	"scoville/sim"
	"scoville/sim/explore"
)

// ExploreSection asks for a search over deployments: each combination of what is listed that an engine accepts and that fits. An empty list
// leaves the default of a candidate.
type ExploreSection struct {
	Chips            []string `toml:"chips"`
	Engines          []string `toml:"engines"`
	TensorParallel   Degrees  `toml:"tensor_parallel"`
	PipelineParallel Degrees  `toml:"pipeline_parallel"`
	ExpertParallel   Degrees  `toml:"expert_parallel"`
	Weights          []string `toml:"weights"`
	KV               []string `toml:"kv"`
	MaxBatchedTokens []int    `toml:"max_batched_tokens"`
	MaxSequences     []int    `toml:"max_sequences"`
	ChunkedPrefill   []bool   `toml:"chunked_prefill"`
	DraftTokens      []int    `toml:"draft_tokens"`
	Acceptance       float64  `toml:"acceptance"`
	Keep             int      `toml:"keep"`      // how many of the cheapest are then sized and priced as candidates
	Requests         int64    `toml:"requests"`  // of a run in the first pass
	Precision        float64  `toml:"precision"` // of each capacity
	Replications     int      `toml:"replications"`
	PriceTier        string   `toml:"price_tier"`
	PriceProvider    string   `toml:"price_provider"`
}

// Degrees is a list of degrees of parallelism, or "all": those that an engine accepts, from 1 to the chips of a node.
type Degrees struct {
	All  bool
	List []int
}

// UnmarshalTOML reads a list, one number, or "all".
func (d *Degrees) UnmarshalTOML(v any) error {
	*d = Degrees{}
	switch v := v.(type) {
	case string:
		if v == "all" {
			d.All = true
			return nil
		}
	case int64:
		return d.add(v)
	case []any:
		for _, e := range v {
			n, ok := e.(int64)
			if !ok {
				return fmt.Errorf("found %v; expected a degree such as 4", e)
			}
			if err := d.add(n); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("found %v; expected a list of degrees such as [1, 2, 4], or \"all\"", v)
}

func (d *Degrees) add(n int64) error {
	if n < 1 || n > 4096 {
		return fmt.Errorf("found %d; expected a degree of at least 1", n)
	}
	d.List = append(d.List, int(n))
	return nil
}

const (
	largestDegree     = 16 // of "all"
	defaultKeep       = 3
	maxExplored       = 20_000
	exploreAcceptance = 0.7
)

// Explored is what a search over deployments found.
type Explored struct {
	Combinations int             `json:"combinations"`
	Precision    float64         `json:"precision"`
	Partial      bool            `json:"partial,omitempty"` // broken off: points without replications were not judged
	Points       []ExploredPoint `json:"points"`            // cheapest first, then those without an answer
}

// ExploredPoint is one deployment at the load it holds within the SLA.
type ExploredPoint struct {
	Name             string    `json:"name"`
	Chip             string    `json:"chip"`
	Engine           string    `json:"engine"`
	Weights          string    `json:"weights"`
	TensorParallel   int       `json:"tensor_parallel"`
	PipelineParallel int       `json:"pipeline_parallel"`
	ExpertParallel   int       `json:"expert_parallel"`
	ChipsPerReplica  int       `json:"chips_per_replica"`
	Settings         []Setting `json:"settings,omitempty"` // what differs from the engine's defaults

	Replications      int     `json:"replications"`
	RequestsPerSecond float64 `json:"requests_per_second"` // one replica: mean over replications
	Low               float64 `json:"low"`                 // 95 % interval
	High              float64 `json:"high"`
	GoodputPerChip    float64 `json:"goodput_per_chip"` // requests a second within the SLA, at Low
	OutputPerChip     float64 `json:"output_tokens_per_second_per_chip"`
	Interactivity     float64 `json:"interactivity"` // output tokens a second that a user sees: 1/TPOT
	TTFTSeconds       float64 `json:"ttft_p99_seconds"`
	E2ESeconds        float64 `json:"e2e_mean_seconds"`
	PerM              float64 `json:"usd_per_m_tokens_full_load,omitempty"` // input and output together, whole nodes, always at this load
	NoPrice           string  `json:"no_price,omitempty"`                   // why PerM is missing
	BindingLimit      string  `json:"binding_limit,omitempty"`

	SpeedFront bool   `json:"speed_front"` // nobody has both more goodput a chip and more interactivity
	CostFront  bool   `json:"cost_front"`  // nobody is both cheaper and sooner done
	Kept       bool   `json:"kept"`        // sized and priced as a candidate
	Left       string `json:"left,omitempty"`
}

func (f *File) checkExplore() error {
	e := f.Explore
	if e == nil {
		return nil
	}
	if len(e.Chips) == 0 {
		return f.errorAt("explore.chips", "is empty; name at least one chip")
	}
	for _, p := range []struct {
		key  string
		list []int
	}{{"max_batched_tokens", e.MaxBatchedTokens}, {"max_sequences", e.MaxSequences}} {
		for _, v := range p.list {
			if v < 1 {
				return f.errorAt("explore."+p.key, "holds %d; positive numbers are expected", v)
			}
		}
	}
	for _, v := range e.DraftTokens {
		if v < 0 {
			return f.errorAt("explore.draft_tokens", "holds %d; 0 or more is expected", v)
		}
	}
	if e.Keep < 0 || e.Requests < 0 || e.Replications < 0 || e.Precision < 0 || e.Precision > 0.5 || e.Acceptance < 0 || e.Acceptance >= 1 {
		return f.errorAt("explore", "keep, requests and replications must not be negative, precision at most 0.5, acceptance below 1")
	}
	return nil
}

// combinations lists the candidates that the section asks for, in a fixed order.
func (p *planner) combinations() ([]CandidateSection, error) {
	e := p.file.Explore
	var out []CandidateSection
	for _, name := range e.Chips {
		chip, err := profiles.Chip(name)
		if err != nil {
			return nil, p.file.errorAt("explore.chips", "%v", err)
		}
		for _, split := range p.splits(chip) {
			for _, c := range settings(e, e.Weights, e.KV, e.Engines) {
				c.Chip, c.TensorParallel, c.PipelineParallel, c.ExpertParallel = name, split[0], split[1], split[2]
				c.PriceTier, c.PriceProvider, c.Cost = e.PriceTier, e.PriceProvider, p.file.Cost.Clone()
				out = append(out, c)
			}
			if len(out) > maxExplored {
				return nil, p.file.errorAt("explore", "asks for more than %d combinations", maxExplored)
			}
		}
	}
	return out, nil
}

// splits lists the degrees that an engine accepts: tensor, pipeline, expert.
func (p *planner) splits(chip hardware.Chip) (out [][3]int) {
	e, arch := p.file.Explore, p.model.arch
	tensor := e.TensorParallel.List
	if e.TensorParallel.All {
		tensor = arch.TensorParallelDegrees(min(maxTensorParallel(chip), largestDegree))
	}
	for _, tp := range orOne(tensor) {
		pipeline := e.PipelineParallel.List
		if e.PipelineParallel.All {
			pipeline = nil
			for pp := 1; pp <= largestDegree && tp*pp <= max(1, chip.Node.Chips); pp *= 2 {
				pipeline = append(pipeline, pp)
			}
		}
		for _, pp := range orOne(pipeline) {
			expert := e.ExpertParallel.List
			if e.ExpertParallel.All {
				expert = []int{1}
				if n := arch.MoE.Experts; n > 0 && tp > 1 && n%tp == 0 {
					expert = append(expert, tp)
				}
			}
			for _, ep := range orOne(expert) {
				out = append(out, [3]int{tp, pp, ep})
			}
		}
	}
	return out
}

// settings lists the combinations of all that is not the chip or the split.
func settings(e *ExploreSection, weights, kv, engines []string) []CandidateSection {
	list := []CandidateSection{{}}
	list = each(list, engines, func(c *CandidateSection, v string) { c.Engine = v })
	list = each(list, weights, func(c *CandidateSection, v string) { c.Weights = v })
	list = each(list, kv, func(c *CandidateSection, v string) { c.KV = v })
	list = each(list, e.MaxBatchedTokens, func(c *CandidateSection, v int) { c.MaxBatchedTokens = v })
	list = each(list, e.MaxSequences, func(c *CandidateSection, v int) { c.MaxSequences = v })
	list = each(list, e.ChunkedPrefill, func(c *CandidateSection, v bool) { c.ChunkedPrefill = &v })
	return each(list, e.DraftTokens, func(c *CandidateSection, v int) {
		if c.DraftTokens = v; v > 0 {
			c.Acceptance = e.Acceptance
			if c.Acceptance == 0 {
				c.Acceptance = exploreAcceptance
			}
		}
	})
}

// each multiplies a list by the values of one setting; no values leave it as it is.
func each[T any](list []CandidateSection, values []T, set func(*CandidateSection, T)) []CandidateSection {
	if len(values) == 0 {
		return list
	}
	out := make([]CandidateSection, 0, len(list)*len(values))
	for _, c := range list {
		for _, v := range values {
			one := c
			set(&one, v)
			out = append(out, one)
		}
	}
	return out
}

func orOne(list []int) []int {
	if len(list) == 0 {
		return []int{1}
	}
	return list
}

// explore searches and returns what was found with the sections of those to be answered in full.
func (p *planner) explore(ctx context.Context) (*Explored, []CandidateSection, error) {
	e := p.file.Explore
	sections, err := p.combinations()
	if err != nil {
		return nil, nil, err
	}
	deployments := make([]*deployment, len(sections))
	points := make([]ExploredPoint, len(sections))
	var fit []int
	var search []explore.Deployment
	for i := range sections {
		d, err := p.deploySection(&sections[i])
		if err != nil {
			points[i] = ExploredPoint{Name: sections[i].Chip, Chip: sections[i].Chip, Weights: sections[i].Weights, TensorParallel: sections[i].TensorParallel,
				PipelineParallel: sections[i].PipelineParallel, ExpertParallel: sections[i].ExpertParallel, Left: err.Error()}
			continue
		}
		deployments[i] = d
		points[i] = d.point(e)
		if d.refusal != "" {
			points[i].Left = d.refusal
			continue
		}
		sections[i].Name = points[i].Name
		fit = append(fit, i)
		search = append(search, p.toExplore(d, points[i].Name))
	}
	precision := e.Precision
	if precision == 0 {
		precision = defaultPrecision
	}
	found, err := explore.Search(ctx, search, explore.Options{Precision: precision, Requests: e.Requests, Replications: e.Replications, Parallel: runtime.GOMAXPROCS(0),
		Progress: func(done, total int) { p.progress("exploring deployments", done, total) }})
	if err != nil {
		return nil, nil, err
	}
	for k, i := range fit {
		p.judge(deployments[i], &points[i], found.Judged[k])
	}
	markFronts(points)
	kept := keep(points, orDefault(e.Keep, defaultKeep))
	var chosen []CandidateSection
	for _, i := range kept {
		points[i].Kept = true
		chosen = append(chosen, sections[i])
	}
	sort.SliceStable(points, func(a, b int) bool { return cheaper(&points[a], &points[b]) })
	return &Explored{Combinations: len(sections), Precision: precision, Partial: found.Partial, Points: points}, chosen, nil
}

// toExplore states a deployment for the search.
func (p *planner) toExplore(d *deployment, name string) explore.Deployment {
	return explore.Deployment{
		Name: name, Group: d.chip.Name, Chips: d.hw.Split.Chips(), Ceiling: d.ceilingQPS(p.traffic), Interactivity: d.interactivityCeiling(), Start: d.guess(p.traffic),
		Probe: func(ctx context.Context, rate float64, replication int, requests int64) (*sim.Result, error) {
			if p.traffic.isTrace {
				requests = 0
			}
			return p.replica(ctx, d.config, rate, replication, requests)
		},
	}
}

// point starts the report of a deployment; its name tells apart all that the section varies.
func (d *deployment) point(e *ExploreSection) ExploredPoint {
	s, c := d.hw.Split, d.section
	pt := ExploredPoint{Chip: d.chip.Name, Engine: d.engine.Name + " " + d.engine.Version, Weights: string(d.model.precision.Weights),
		TensorParallel: s.Tensor, PipelineParallel: s.Pipeline, ExpertParallel: s.Expert, ChipsPerReplica: s.Chips()}
	name := []string{d.defaultName()}
	vary := func(n int, setting, value, short string) {
		pt.Settings = append(pt.Settings, Setting{setting, value})
		if n > 1 {
			name = append(name, short)
		}
	}
	if len(e.Engines) > 1 {
		name = append(name, d.engine.Name)
	}
	if len(e.Weights) > 1 {
		name = append(name, pt.Weights)
	}
	if len(e.KV) > 1 {
		name = append(name, "KV "+string(d.model.precision.KV))
	}
	if v := c.MaxBatchedTokens; v > 0 {
		vary(len(e.MaxBatchedTokens), "max_batched_tokens", fmt.Sprint(v), fmt.Sprintf("%d tokens", v))
	}
	if v := c.MaxSequences; v > 0 {
		vary(len(e.MaxSequences), "max_sequences", fmt.Sprint(v), fmt.Sprintf("%d seqs", v))
	}
	if v := c.ChunkedPrefill; v != nil {
		vary(len(e.ChunkedPrefill), "chunked_prefill", fmt.Sprint(*v), map[bool]string{true: "chunked", false: "whole prompts"}[*v])
	}
	if len(e.DraftTokens) > 0 {
		vary(len(e.DraftTokens), "draft_tokens", fmt.Sprint(c.DraftTokens), fmt.Sprintf("draft %d", c.DraftTokens))
	}
	pt.Name = strings.Join(name, ", ")
	return pt
}

// judge fills a point from what the search found.
func (p *planner) judge(d *deployment, pt *ExploredPoint, j explore.Judged) {
	pt.Replications, pt.Left, pt.BindingLimit = j.Replications, j.Left, j.Binding
	if j.At == nil {
		return
	}
	pt.RequestsPerSecond, pt.Low, pt.High, pt.GoodputPerChip = j.Capacity, j.Low, j.High, j.PerChip
	pt.OutputPerChip = j.PerChip * p.traffic.summary.MeanOutput
	pt.Interactivity, pt.TTFTSeconds, pt.E2ESeconds = j.Interactivity, j.TTFT, j.At.E2E.Mean
	if perM, err := p.priceAtCapacity(d, j); err != nil {
		pt.NoPrice = err.Error()
	} else {
		pt.PerM = perM
	}
}

// priceAtCapacity is dollars for a million tokens of whole nodes of these replicas, all the time at the load they hold.
func (p *planner) priceAtCapacity(d *deployment, j explore.Judged) (float64, error) {
	a, _, err := p.pricing.assumptions(d.section, &d.chip)
	if err != nil {
		return 0, err
	}
	each, perNode := d.hw.Split.Chips(), max(1, d.chip.Node.Chips)
	replicas := 1
	if each < perNode {
		replicas = perNode / each
	}
	c := &Candidate{Name: d.name, ChipsPerReplica: each, Fleet: Fleet{Replicas: replicas, Chips: replicas * each, Nodes: (replicas*each + perNode - 1) / perNode, PrefixHitRate: j.At.PrefixHitRate, PrefillShare: j.At.PrefillShare},
		Capacity: Capacity{Low: j.Low, Curve: []LoadPoint{loadPoint(j.At, j.Low, 1)}}}
	t := *p.traffic
	t.peakQPS, t.meanQPS = j.Low*float64(replicas), j.Low*float64(replicas)
	in := d.priceInput(&t, c, c.Capacity.Low)
	in.HourlyMultipliers = nil // always at this load
	r, err := cost.Evaluate(in, a)
	if err != nil {
		return 0, err
	}
	return r.Actual.Both, nil
}

// markFronts marks the fronts among those judged with replications: of the others only one rough run is known.
func markFronts(points []ExploredPoint) {
	sure := 0
	for i := range points {
		sure = max(sure, points[i].Replications)
	}
	known := func(i int, v float64) float64 {
		if points[i].Replications < sure {
			return 0
		}
		return v
	}
	inverse := func(v float64) float64 {
		if v <= 0 {
			return 0
		}
		return 1 / v
	}
	speed := explore.Front(len(points), func(i int) float64 { return known(i, points[i].GoodputPerChip) }, func(i int) float64 { return points[i].Interactivity })
	price := explore.Front(len(points), func(i int) float64 { return known(i, inverse(points[i].PerM)) }, func(i int) float64 { return inverse(points[i].E2ESeconds) })
	for i := range points {
		points[i].SpeedFront, points[i].CostFront = speed[i], price[i]
	}
}

// cheaper orders points: those with an answer first, by cost, then by goodput a chip.
func cheaper(a, b *ExploredPoint) bool {
	cost := func(p *ExploredPoint) float64 {
		if p.PerM > 0 {
			return p.PerM
		}
		return math.Inf(1)
	}
	if cost(a) != cost(b) {
		return cost(a) < cost(b)
	}
	return a.GoodputPerChip > b.GoodputPerChip
}

// keep chooses the n cheapest to answer in full, those without a price last: first the best of each chip, since chips are what a buyer compares, then the rest.
func keep(points []ExploredPoint, n int) []int {
	order := make([]int, 0, len(points))
	for i := range points {
		if points[i].Low > 0 {
			order = append(order, i)
		}
	}
	sort.SliceStable(order, func(a, b int) bool { return cheaper(&points[order[a]], &points[order[b]]) })
	seen := map[string]bool{}
	var first, rest []int
	for _, i := range order {
		if seen[points[i].Chip] {
			rest = append(rest, i)
			continue
		}
		seen[points[i].Chip] = true
		first = append(first, i)
	}
	all := append(first, rest...)
	return all[:min(n, len(all))]
}
