package cost

import (
	"fmt"
	"sort"

	"scoville/model/tomlfile"
)

// File is a deployment whose cost is asked without a simulation: the fleet and its traffic are given, not sized.
// docs/cost.md is its reference.
type File struct {
	Title         string      `toml:"title"`
	AsOf          string      `toml:"as_of"`          // YYYY-MM-DD at which prices are judged
	Chip          string      `toml:"chip"`           // looked up in the price book and the chip profiles for what is not given
	PriceTier     string      `toml:"price_tier"`     // default on-demand, or purchase
	PriceProvider string      `toml:"price_provider"` // default: the median provider
	PriceBooks    []string    `toml:"price_books"`    // the user's, relative to the file
	Region        string      `toml:"region"`         // tariff, grid carbon and colocation from the price book
	Fleet         Input       `toml:"fleet"`
	ReplicaChips  int         `toml:"replica_chips"` // step in which the fleet grows with volume; default: a node
	Utilisation   float64     `toml:"utilisation"`   // instead of fleet.full: mean load / what the fleet holds
	Cost          Assumptions `toml:"cost"`
	Hosted        *Hosted     `toml:"hosted"` // a hosted API instead of a fleet; fleet.mean is the traffic
}

// Hosted is an API's price list, US dollars per million tokens.
type Hosted struct {
	Input       Figure `toml:"usd_per_m_input"`
	CachedInput Figure `toml:"usd_per_m_cached_input"`
	Output      Figure `toml:"usd_per_m_output"`
}

// Prices are the list's prices; a cached token without a price of its own costs what an uncached one does.
func (h Hosted) Prices() PerClass {
	p := PerClass{Input: h.Input.Value, CachedInput: h.CachedInput.Value, Output: h.Output.Value}
	if !h.CachedInput.Known() {
		p.CachedInput = p.Input
	}
	return p
}

// DecodeFile reads a cost file over the defaults.
func DecodeFile(name string, data []byte) (*File, error) {
	f := &File{Cost: Default()}
	if err := tomlfile.Decode(name, data, f); err != nil {
		return nil, err
	}
	if h := f.Hosted; h != nil {
		if !h.Input.Known() || !h.Output.Known() {
			return nil, &tomlfile.Error{File: name, Line: tomlfile.LineOf(data, []string{"hosted"}), Key: "hosted", Problem: "price missing: usd_per_m_input and usd_per_m_output are needed"}
		}
	}
	if f.AsOf != "" {
		if _, err := ParseDate(f.AsOf); err != nil {
			return nil, &tomlfile.Error{File: name, Line: tomlfile.LineOf(data, []string{"as_of"}), Key: "as_of", Problem: err.Error()}
		}
		f.Cost.AsOf = f.AsOf
	}
	return f, nil
}

// Line is one assumption as printed: name, value with its unit, provenance.
type Line struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	Figure
}

// Lines are the figures that a result rests on, zero ones left out.
func (a Assumptions) Lines() []Line {
	var out []Line
	add := func(name, unit string, f Figure) {
		if f.Value != 0 {
			out = append(out, Line{name, unit, f})
		}
	}
	if a.Ownership == Buy {
		add("cost of capital", "per year", a.CostOfCapital)
		for _, c := range a.Buying.classes() {
			if c.Price.Value != 0 {
				add(c.name, "USD per "+c.Per, c.Price)
				add("life of "+c.name, "years", c.LifeYears)
				add("residual of "+c.name, "share", c.ResidualShare)
			}
		}
		add("spare parts", "share of hardware", a.Buying.SparePartsShare)
		add("sales tax", "share of capex", a.Buying.SalesTaxShare)
		add("property tax", "share a year", a.Buying.PropertyTaxShare)
		add("price change of hardware", "per year", a.Buying.PriceChangeYearly)
	} else {
		for _, l := range a.Renting {
			add("rent, "+l.Tier, "USD/chip-hour", l.USDPerChipHour)
		}
	}
	r := a.Running
	if a.paysPower() {
		add("PUE", "", r.PUE)
		add("electricity", "USD/kWh", r.Electricity.USDPerKWh)
		add("network power", "share of server watts", r.NetworkPowerShare)
		add("colocation", "USD/kW-month", r.ColocationUSDPerKW)
	}
	add("maintenance", "share of hardware a year", r.MaintenanceShare)
	add("software", "USD/chip-year", r.SoftwareUSDPerChipYear)
	add("hosting", "USD/node-year", r.HostingUSDPerNodeYear)
	add("staff", "USD/month", r.StaffUSDPerMonth)
	if r.StaffUSDPerMonth.Value == 0 {
		add("staff", "share of total", r.StaffShare)
	}
	add("bandwidth", "USD/month", r.BandwidthUSDPerMonth)
	add("tax on running cost", "share", r.TaxShare)
	add("grid carbon", "kgCO2e/kWh", r.GridKgCO2ePerKWh)
	return out
}

// paysPower reports whether energy and space are paid apart from rent.
func (a Assumptions) paysPower() bool {
	if a.Ownership == Buy {
		return true
	}
	for _, l := range a.Renting {
		if l.PowerExcluded {
			return true
		}
	}
	return false
}

// Order sorts findings by rule, keeping the order within a rule: a report lists like with like.
func Order(found []Finding) []Finding {
	out := append([]Finding(nil), found...)
	sort.SliceStable(out, func(i, j int) bool { return out[i].Rule < out[j].Rule })
	return out
}

// String is a finding as printed.
func (f Finding) String() string { return fmt.Sprintf("[%s] %s", f.Rule, f.Message) }
