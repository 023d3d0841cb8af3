package breakeven

import (
	"fmt"

	"scoville/model/cost"
	"scoville/model/tomlfile"
)

// Study is a target-costing question as written in TOML (whole replicas are bought: ask for enough traffic that rounding
// does not blur the answer); docs/cost.md is its reference. Both chips serve the same model
// and traffic through Analytic, so that the answer rests on their specifications alone.
type Study struct {
	Chip       string           `toml:"chip"` // name of the unknown one
	Incumbent  string           `toml:"incumbent"`
	Margin     float64          `toml:"margin"` // 0.30: 30 % cheaper
	Dimensions []Dimension      `toml:"solve"`  // default: all
	Bandwidths []float64        `toml:"frontier_bytes_per_second"`
	Assumed    SpecTable        `toml:"assumed"`
	Known      SpecTable        `toml:"known"`                      // of the incumbent
	Price      float64          `toml:"incumbent_usd_per_m_tokens"` // instead of known
	Serve      ServeTable       `toml:"serve"`
	Cost       cost.Assumptions `toml:"cost"`
}

// SpecTable is a Spec with the provenance of each figure.
type SpecTable struct {
	BytesPerSecond cost.Figure `toml:"bytes_per_second"`
	FLOPS          cost.Figure `toml:"flops"`
	MemoryBytes    cost.Figure `toml:"memory_bytes"`
	Watts          cost.Figure `toml:"watts"`
	PriceUSD       cost.Figure `toml:"price_usd"`
	Chips          int         `toml:"chips_per_replica"`
}

// Spec drops the provenance.
func (s SpecTable) Spec() Spec {
	return Spec{s.BytesPerSecond.Value, s.FLOPS.Value, s.MemoryBytes.Value, s.Watts.Value, s.PriceUSD.Value}
}

// ServeTable is what both chips serve, and how well.
type ServeTable struct {
	WeightBytes         float64 `toml:"weight_bytes"`
	ActiveParameters    float64 `toml:"active_parameters"`
	KVBytesPerToken     float64 `toml:"kv_bytes_per_token"`
	InputTokens         float64 `toml:"input_tokens"`
	OutputTokens        float64 `toml:"output_tokens"`
	TPOTSeconds         float64 `toml:"tpot_seconds"`
	RequestsPerSecond   float64 `toml:"requests_per_second"`
	Utilisation         float64 `toml:"utilisation"`
	SpareShare          float64 `toml:"spare_share"`
	BandwidthEfficiency float64 `toml:"bandwidth_efficiency"`
	ComputeEfficiency   float64 `toml:"compute_efficiency"`
	StepOverheadSeconds float64 `toml:"step_overhead_seconds"`
	MemoryShare         float64 `toml:"memory_share"`
	IdleShare           float64 `toml:"idle_share"`
	ChipsPerNode        int     `toml:"chips_per_node"`
	NodeOverheadWatts   float64 `toml:"node_overhead_watts"`
}

// StudyResult is the answer.
type StudyResult struct {
	Chip           string        `json:"chip"`
	Incumbent      string        `json:"incumbent"`
	IncumbentPrice float64       `json:"incumbent_usd_per_m_tokens"`
	Margin         float64       `json:"margin"`
	Goal           float64       `json:"goal_usd_per_m_tokens"`
	AsAssumed      float64       `json:"as_assumed_usd_per_m_tokens"`
	Needed         []Requirement `json:"needed"`
	Frontier       []Point       `json:"price_by_bandwidth,omitempty"`
	Notes          []string      `json:"notes"`
}

// DecodeStudy reads a study over defaults: 80 % of bandwidth and 60 % of peak FLOPS achieved, 90 % of memory used, 50 %
// utilisation, 15 % of the watts when idle.
func DecodeStudy(name string, data []byte) (*Study, error) {
	s := &Study{Margin: 0.3, Cost: cost.Default(), Serve: ServeTable{BandwidthEfficiency: 0.8, ComputeEfficiency: 0.6, MemoryShare: 0.9, Utilisation: 0.5, IdleShare: 0.15, ChipsPerNode: 8}}
	if err := tomlfile.Decode(name, data, s); err != nil {
		return nil, err
	}
	fail := func(key, form string, args ...any) error {
		return &tomlfile.Error{File: name, Line: tomlfile.LineOf(data, []string{key}), Key: key, Problem: fmt.Sprintf(form, args...)}
	}
	if !(s.Margin >= 0 && s.Margin < 1) {
		return nil, fail("margin", "is %g; expected 0 to below 1, such as 0.30 for 30 %% cheaper", s.Margin)
	}
	if s.Price == 0 && !s.Known.BytesPerSecond.Known() {
		return nil, fail("known", "is missing: the incumbent's specifications, or incumbent_usd_per_m_tokens")
	}
	v := s.Serve
	for _, c := range []struct {
		key   string
		value float64
	}{
		{"weight_bytes", v.WeightBytes}, {"active_parameters", v.ActiveParameters}, {"kv_bytes_per_token", v.KVBytesPerToken},
		{"input_tokens", v.InputTokens}, {"output_tokens", v.OutputTokens}, {"requests_per_second", v.RequestsPerSecond},
		{"bandwidth_efficiency", v.BandwidthEfficiency}, {"compute_efficiency", v.ComputeEfficiency}, {"memory_share", v.MemoryShare}, {"utilisation", v.Utilisation},
	} {
		if !(c.value > 0) {
			return nil, fail("serve."+c.key, "is %g; expected above 0", c.value)
		}
	}
	if v.BandwidthEfficiency > 1 || v.ComputeEfficiency > 1 || v.MemoryShare > 1 || v.Utilisation > 1 {
		return nil, fail("serve", "efficiencies, memory share and utilisation are shares, at most 1")
	}
	return s, nil
}

// Run answers the study.
func (s *Study) Run() (*StudyResult, error) {
	r := &StudyResult{Chip: s.Chip, Incumbent: s.Incumbent, IncumbentPrice: s.Price, Margin: s.Margin}
	if r.IncumbentPrice == 0 {
		var err error
		if r.IncumbentPrice, err = s.model(s.Known.Chips).PerMillion(s.Known.Spec()); err != nil {
			return nil, fmt.Errorf("incumbent %s: %w", s.Incumbent, err)
		}
	}
	r.Goal = r.IncumbentPrice * (1 - s.Margin)
	eval := s.model(s.Assumed.Chips).PerMillion
	var err error
	if r.AsAssumed, err = eval(s.Assumed.Spec()); err != nil {
		return nil, fmt.Errorf("%s as assumed: %w", s.Chip, err)
	}
	dimensions := s.Dimensions
	if len(dimensions) == 0 {
		dimensions = []Dimension{Bandwidth, Compute, Memory, Power, ChipPrice}
	}
	if r.Needed, err = Target(s.Assumed.Spec(), r.IncumbentPrice, s.Margin, eval, dimensions...); err != nil {
		return nil, err
	}
	if r.Frontier, err = Frontier(s.Assumed.Spec(), r.IncumbentPrice, s.Margin, eval, s.Bandwidths); err != nil {
		return nil, err
	}
	r.Notes = s.notes()
	return r, nil
}

func (s *Study) model(chips int) Analytic {
	v := s.Serve
	return Analytic{
		WeightBytes: v.WeightBytes, ActiveParameters: v.ActiveParameters, KVBytesPerToken: v.KVBytesPerToken,
		InputTokens: v.InputTokens, OutputTokens: v.OutputTokens, TPOTSeconds: v.TPOTSeconds, ChipsPerReplica: max(1, chips),
		BandwidthEfficiency: v.BandwidthEfficiency, ComputeEfficiency: v.ComputeEfficiency, StepOverheadSeconds: v.StepOverheadSeconds,
		MemoryShare: v.MemoryShare, IdleShare: v.IdleShare, Utilisation: v.Utilisation, RequestsPerSecond: v.RequestsPerSecond,
		SpareShare: v.SpareShare, ChipsPerNode: v.ChipsPerNode, NodeOverheadWatts: v.NodeOverheadWatts, Assumptions: s.Cost,
	}
}

// notes name the provenance of the assumed and known figures.
func (s *Study) notes() []string {
	notes := []string{"analytic roofline without queues, optimistic for both chips: confirm a promising answer by simulation (scoville plan with a chip file)"}
	for _, t := range []struct {
		name string
		SpecTable
	}{{s.Chip, s.Assumed}, {s.Incumbent, s.Known}} {
		for _, f := range []struct {
			what string
			cost.Figure
		}{{"bandwidth", t.BytesPerSecond}, {"FLOPS", t.FLOPS}, {"memory", t.MemoryBytes}, {"watts", t.Watts}, {"price", t.PriceUSD}} {
			if f.Known() {
				notes = append(notes, fmt.Sprintf("%s %s %.4g: %s, %s %s", t.name, f.what, f.Value, f.Kind, f.Source, f.Date))
			}
		}
	}
	return notes
}

// Bound words which side of Needed is good.
func (r Requirement) Bound() string {
	if r.Dimension.better() < 0 {
		return "at most"
	}
	return "at least"
}
