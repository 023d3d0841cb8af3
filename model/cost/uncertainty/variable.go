package uncertainty

import (
	"fmt"

	"scoville/model/cost"
	"scoville/model/tomlfile"
)

// Variable is one uncertain assumption.
type Variable struct {
	// Name is one of Names.
	Name string `toml:"variable" json:"variable"`
	// Candidate names the candidate that it belongs to (a chip's price); empty: all, with the same draw.
	Candidate string `toml:"candidate" json:"candidate,omitempty"`
	// Relative: the draw multiplies the planned value instead of replacing it.
	Relative bool `toml:"relative" json:"relative,omitempty"`
	Distribution
}

// key names the random stream and the driver.
func (v Variable) key() string {
	if v.Candidate != "" {
		return v.Name + " (" + v.Candidate + ")"
	}
	return v.Name
}

// Conditions are the physical circumstances of a draw, as multiples of the plan's.
type Conditions struct {
	Load   float64 // of the mean and peak traffic
	Speed  float64 // of the hardware: 1 + the profile's error
	Output float64 // of the output length
}

// state is what a draw changes.
type state struct {
	c     Conditions
	a     cost.Assumptions
	watts float64
}

// setting reads or writes one variable in a state.
type setting struct {
	name string
	unit string
	at   func(*state) *float64
}

// settings is the table of variables.
func settings() []setting {
	return []setting{
		{"load", "x", func(s *state) *float64 { return &s.c.Load }},
		{"speed", "x", func(s *state) *float64 { return &s.c.Speed }},
		{"output-length", "x", func(s *state) *float64 { return &s.c.Output }},
		{"watts", "x", func(s *state) *float64 { return &s.watts }},
		{"accelerator-price", "USD", func(s *state) *float64 { return &s.a.Buying.Accelerator.Price.Value }},
		{"host-price", "USD", func(s *state) *float64 { return &s.a.Buying.Host.Price.Value }},
		{"network-price", "USD", func(s *state) *float64 { return &s.a.Buying.Network.Price.Value }},
		{"life", "years", func(s *state) *float64 { return &s.a.Buying.Accelerator.LifeYears.Value }},
		{"residual", "share", func(s *state) *float64 { return &s.a.Buying.Accelerator.ResidualShare.Value }},
		{"rent", "USD/chip-hour", func(s *state) *float64 {
			if len(s.a.Renting) == 0 {
				return new(float64)
			}
			return &s.a.Renting[0].USDPerChipHour.Value
		}},
		{"cost-of-capital", "per year", func(s *state) *float64 { return &s.a.CostOfCapital.Value }},
		{"pue", "", func(s *state) *float64 { return &s.a.Running.PUE.Value }},
		{"electricity", "USD/kWh", func(s *state) *float64 { return &s.a.Running.Electricity.USDPerKWh.Value }},
		{"colocation", "USD/kW-month", func(s *state) *float64 { return &s.a.Running.ColocationUSDPerKW.Value }},
		{"maintenance", "share/year", func(s *state) *float64 { return &s.a.Running.MaintenanceShare.Value }},
		{"software", "USD/chip-year", func(s *state) *float64 { return &s.a.Running.SoftwareUSDPerChipYear.Value }},
		{"staff", "USD/month", func(s *state) *float64 { return &s.a.Running.StaffUSDPerMonth.Value }},
	}
}

// Names lists the variables.
func Names() []string {
	var out []string
	for _, s := range settings() {
		out = append(out, s.name)
	}
	return out
}

// Check refuses an unknown variable or a bad distribution.
func (v Variable) Check() error {
	if _, err := v.setting(); err != nil {
		return err
	}
	if err := v.Distribution.Check(); err != nil {
		return fmt.Errorf("%s: %w", v.key(), err)
	}
	return nil
}

func (v Variable) setting() (setting, error) {
	for _, s := range settings() {
		if s.name == v.Name {
			return s, nil
		}
	}
	msg := fmt.Sprintf("variable is %q; expected one of %q", v.Name, Names())
	if near := tomlfile.Nearest(v.Name, Names()); near != "" {
		msg += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return setting{}, fmt.Errorf("%s", msg)
}

// Usual are the spreads that public sources give for what every owner pays, around assumptions a. Prices, rents and the
// profile's error differ by chip: add them from the price book and the validation.
func Usual(a cost.Assumptions) []Variable {
	if a.Ownership == cost.Rent {
		return nil
	}
	tri := func(name string, low, mode, high float64) Variable {
		return Variable{Name: name, Distribution: Distribution{Kind: "triangular", Low: min(low, mode), Mode: mode, High: max(high, mode)}}
	}
	r := a.Running
	return []Variable{
		tri("cost-of-capital", 0.059, a.CostOfCapital.Value, 0.15),        // CoreWeave's loans, 2025-06-30 to 2026
		tri("electricity", 0.0604, r.Electricity.USDPerKWh.Value, 0.1729), // EIA 5.6.A: Iowa to New England
		tri("pue", 1.09, r.PUE.Value, 1.54),                               // Google's fleet to Uptime's 2025 mean
		tri("colocation", 137.5, r.ColocationUSDPerKW.Value, 217.3),       // wholesale AI lease to CBRE's global average
		tri("life", 3, a.Buying.Accelerator.LifeYears.Value, 6),           // sceptics to hyperscalers' 10-Ks
	}
}
