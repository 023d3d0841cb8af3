package cost

import (
	"fmt"
	"math"
)

// Input is a sized fleet and the traffic it serves, usually from a simulation.
type Input struct {
	Name         string `toml:"name" json:"name,omitempty"`
	Chips        int    `toml:"chips" json:"chips"`                   // bought or rented, spares included
	SpareChips   int    `toml:"spare_chips" json:"spare_chips"`       // of these: idle, kept for failures
	ChipsPerNode int    `toml:"chips_per_node" json:"chips_per_node"` // 0: one
	Nodes        int    `toml:"nodes" json:"nodes"`                   // 0: chips / chips per node, rounded up

	// Power is what one serving chip draws, against the fleet's load as a share of Full; between points it is linear,
	// beyond the last flat. A single point is a constant draw. It comes from simulated steps, caps and idle included.
	Power              []PowerPoint `toml:"power" json:"power"`
	NodeOverheadWatts  float64      `toml:"node_overhead_watts" json:"node_overhead_watts"`             // drawn by a node beside its accelerators
	OverheadPerWatt    float64      `toml:"overhead_per_watt" json:"overhead_per_watt"`                 // what a chip's watt above its idle adds in fans and conversion loss
	SparesOff          bool         `toml:"spares_off" json:"spares_off"`                               // spares draw nothing; else they idle
	ProvisionedITWatts float64      `toml:"provisioned_it_watts" json:"provisioned_it_watts,omitempty"` // 0: chips at the highest point + overhead + network share

	Mean Load `toml:"mean" json:"mean"` // over the day, what users get; cost is spread over this
	Peak Load `toml:"peak" json:"peak"` // busiest
	Full Load `toml:"full" json:"full"` // what the fleet holds within its SLA: 100 % utilisation. Zero: Peak

	HourlyMultipliers []float64 `toml:"hourly_multipliers" json:"hourly_multipliers,omitempty"` // 24 hours in proportion; their mean is Mean; none: flat
	PrefillShare      float64   `toml:"prefill_share" json:"prefill_share,omitempty"`           // of busy chip-seconds that went to prefill, simulated; 0: unknown
	RetryShare        float64   `toml:"retry_share" json:"retry_share,omitempty"`               // of the work done that users never got: repeats and failures
	// CeilingOutputTokensPerSecond is what physics allows the serving fleet at its largest batch (memory bandwidth or
	// peak FLOPS, whichever is lower); Full above it is reported. 0: unknown.
	CeilingOutputTokensPerSecond float64 `toml:"ceiling_output_tokens_per_second" json:"ceiling_output_tokens_per_second,omitempty"`
	Users                        float64 `toml:"users" json:"users,omitempty"` // monthly users, for $/user-month; 0: not asked

	// ChipsByMonth and LoadByMonth replace the ramp of the assumptions: chips (spares in proportion) and the load as a
	// multiple of Mean in each month of the horizon. Both empty, or both of the horizon's length.
	ChipsByMonth []int     `toml:"chips_by_month" json:"chips_by_month,omitempty"`
	LoadByMonth  []float64 `toml:"load_by_month" json:"load_by_month,omitempty"`
}

// Load is a rate of traffic. InputTokens includes CachedInputTokens.
type Load struct {
	RequestsPerSecond     float64 `toml:"requests_per_second" json:"requests_per_second"`
	InputTokensPerSecond  float64 `toml:"input_tokens_per_second" json:"input_tokens_per_second"`
	CachedTokensPerSecond float64 `toml:"cached_input_tokens_per_second" json:"cached_input_tokens_per_second"`
	OutputTokensPerSecond float64 `toml:"output_tokens_per_second" json:"output_tokens_per_second"`
}

// Times scales a load.
func (l Load) Times(k float64) Load {
	return Load{l.RequestsPerSecond * k, l.InputTokensPerSecond * k, l.CachedTokensPerSecond * k, l.OutputTokensPerSecond * k}
}

// Tokens are the tokens of so many seconds.
func (l Load) Tokens(seconds float64) Tokens {
	return Tokens{l.InputTokensPerSecond * seconds, l.CachedTokensPerSecond * seconds, l.OutputTokensPerSecond * seconds}
}

// rate is the measure of a load's size: requests, or tokens where requests are not given.
func (l Load) rate(byRequests bool) float64 {
	if byRequests {
		return l.RequestsPerSecond
	}
	return l.InputTokensPerSecond + l.OutputTokensPerSecond
}

// PowerPoint is the draw of one serving chip at a share of the fleet's full load.
type PowerPoint struct {
	LoadShare    float64 `toml:"load_share" json:"load_share"`
	WattsPerChip float64 `toml:"watts_per_chip" json:"watts_per_chip"`
}

// maxChips bounds a fleet, so that sums stay finite.
const maxChips = 100_000_000

// Check refuses an input out of range; months is the horizon.
func (in Input) Check(months int) error {
	switch {
	case in.Chips < 1 || in.Chips > maxChips:
		return fmt.Errorf("chips is %d; expected 1 to %d", in.Chips, maxChips)
	case in.SpareChips < 0 || in.SpareChips >= in.Chips:
		return fmt.Errorf("spare chips are %d; expected 0 to %d", in.SpareChips, in.Chips-1)
	case in.ChipsPerNode < 0 || in.ChipsPerNode > maxChips || in.Nodes < 0 || in.Nodes > maxChips:
		return fmt.Errorf("chips per node is %d and nodes %d; expected 0 to %d", in.ChipsPerNode, in.Nodes, maxChips)
	case !(in.OverheadPerWatt >= 0 && in.OverheadPerWatt < 10):
		return fmt.Errorf("overhead per watt is %g; expected 0 to 10", in.OverheadPerWatt)
	case !(in.NodeOverheadWatts >= 0 && in.NodeOverheadWatts < 1e9) || !(in.ProvisionedITWatts >= 0 && in.ProvisionedITWatts < 1e15):
		return fmt.Errorf("node overhead is %g W and provisioned IT power %g W; expected 0 or more, below 1e9 and 1e15", in.NodeOverheadWatts, in.ProvisionedITWatts)
	case !(in.Users >= 0 && in.Users < 1e12) || !(in.CeilingOutputTokensPerSecond >= 0):
		return fmt.Errorf("users are %g and the ceiling %g tokens/s; expected 0 or more", in.Users, in.CeilingOutputTokensPerSecond)
	case !(in.PrefillShare >= 0 && in.PrefillShare <= 1):
		return fmt.Errorf("prefill share is %g; expected 0 to 1", in.PrefillShare)
	case !(in.RetryShare >= 0 && in.RetryShare < 1):
		return fmt.Errorf("retry share is %g; expected 0 to below 1", in.RetryShare)
	}
	for i, p := range in.Power {
		if !(p.WattsPerChip >= 0 && p.WattsPerChip < 1e9) || !(p.LoadShare >= 0 && p.LoadShare < 1e9) || (i > 0 && p.LoadShare <= in.Power[i-1].LoadShare) {
			return fmt.Errorf("power point %d is %g W at load share %g; expected rising shares and 0 W or more", i, p.WattsPerChip, p.LoadShare)
		}
	}
	for _, l := range []struct {
		name string
		Load
	}{{"mean", in.Mean}, {"peak", in.Peak}, {"full", in.Full}} {
		if err := l.check(); err != nil {
			return fmt.Errorf("%s load: %w", l.name, err)
		}
	}
	if in.Mean.InputTokensPerSecond+in.Mean.OutputTokensPerSecond < 1e-9 {
		return fmt.Errorf("mean load has no tokens (below 1e-9 a second): there is nothing to spread the cost over")
	}
	if (len(in.ChipsByMonth) != 0 || len(in.LoadByMonth) != 0) && (len(in.ChipsByMonth) != months || len(in.LoadByMonth) != months) {
		return fmt.Errorf("chips by month (%d) and load by month (%d) must both have the horizon's %d months", len(in.ChipsByMonth), len(in.LoadByMonth), months)
	}
	for i, c := range in.ChipsByMonth {
		if c < 0 || c > maxChips || !(in.LoadByMonth[i] >= 0 && in.LoadByMonth[i] < 1e9) {
			return fmt.Errorf("month %d: %d chips at %g of the load; expected 0 or more", i+1, c, in.LoadByMonth[i])
		}
	}
	return checkHourly("hourly multipliers", in.HourlyMultipliers)
}

func (l Load) check() error {
	for _, r := range []float64{l.RequestsPerSecond, l.InputTokensPerSecond, l.CachedTokensPerSecond, l.OutputTokensPerSecond} {
		if !(r >= 0 && r < 1e15) {
			return fmt.Errorf("rates are %+v; expected 0 to 1e15 a second", l)
		}
	}
	if l.CachedTokensPerSecond > l.InputTokensPerSecond {
		return fmt.Errorf("cached input %g tokens/s exceeds input %g: input includes cached", l.CachedTokensPerSecond, l.InputTokensPerSecond)
	}
	return nil
}

// watts is the draw of one serving chip at a share of full load, with what it adds to its node.
func (in *Input) watts(share float64) float64 {
	w := in.chipWatts(share)
	return w + in.OverheadPerWatt*max(0, w-in.chipWatts(0))
}

// chipWatts interpolates Power.
func (in *Input) chipWatts(share float64) float64 {
	n := len(in.Power)
	if n == 0 {
		return 0
	}
	if share <= in.Power[0].LoadShare {
		return in.Power[0].WattsPerChip
	}
	for i := 1; i < n; i++ {
		a, b := in.Power[i-1], in.Power[i]
		if share <= b.LoadShare {
			t := (share - a.LoadShare) / (b.LoadShare - a.LoadShare)
			return a.WattsPerChip + t*(b.WattsPerChip-a.WattsPerChip)
		}
	}
	return in.Power[n-1].WattsPerChip
}

func (in *Input) nodes(chips float64) float64 {
	if chips <= 0 {
		return 0
	}
	if in.Nodes > 0 {
		return float64(in.Nodes) * chips / float64(in.Chips)
	}
	per := max(1, in.ChipsPerNode)
	return float64((int(chips) + per - 1) / per)
}

// full is what counts as 100 %: Full, or else Peak, or else Mean.
func (in *Input) full() Load {
	byRequests := in.Mean.RequestsPerSecond > 0
	for _, l := range []Load{in.Full, in.Peak} {
		if l.rate(byRequests) > 0 {
			return l
		}
	}
	return in.Mean
}

// itWatts is the power to provision for chips: highest draw, node overhead, network share.
func (in *Input) itWatts(chips float64, networkShare float64) float64 {
	if in.ProvisionedITWatts > 0 {
		return in.ProvisionedITWatts * chips / float64(in.Chips)
	}
	highest := 0.0
	for _, p := range in.Power {
		highest = max(highest, in.watts(p.LoadShare))
	}
	return (chips*highest + in.nodes(chips)*in.NodeOverheadWatts) * (1 + networkShare)
}

// Utilisation is the work of the mean load over what the fleet holds within its SLA.
func (in Input) Utilisation() float64 {
	byRequests := in.Mean.RequestsPerSecond > 0
	return in.Mean.rate(byRequests) / (in.full().rate(byRequests) * (1 - in.RetryShare))
}

// Faster is the fleet if the same chips, at the same watts, served k times the traffic.
func (in Input) Faster(k float64) Input {
	in.Full = in.full().Times(k)
	in.Mean, in.Peak = in.Mean.Times(k), in.Peak.Times(k)
	in.CeilingOutputTokensPerSecond *= k
	return in
}

// Resized is the fleet for k times the traffic: as many more serving chips, rounded up to whole replicas of so many chips,
// at least one, and the same spares.
func (in Input) Resized(k float64, replica int) Input {
	serving := in.Chips - in.SpareChips
	now := replica * max(1, int(math.Ceil(float64(serving)*k/float64(replica)-1e-9)))
	grown := float64(now) / float64(serving)
	in.Full = in.full().Times(grown)
	in.Mean, in.Peak = in.Mean.Times(k), in.Peak.Times(k)
	if in.Nodes > 0 {
		in.Nodes = int(math.Ceil(float64(in.Nodes)*float64(now+in.SpareChips)/float64(in.Chips) - 1e-9))
	}
	in.ProvisionedITWatts *= float64(now+in.SpareChips) / float64(in.Chips)
	in.CeilingOutputTokensPerSecond *= grown
	in.Chips = now + in.SpareChips
	return in
}

// hourly are the multipliers scaled to a mean of 1.
func (in *Input) hourly() []float64 {
	sum := 0.0
	for _, m := range in.HourlyMultipliers {
		sum += m
	}
	if sum == 0 {
		return nil
	}
	out := make([]float64, len(in.HourlyMultipliers))
	for i, m := range in.HourlyMultipliers {
		out[i] = m * float64(len(out)) / sum
	}
	return out
}
