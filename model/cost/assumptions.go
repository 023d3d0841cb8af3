package cost

import (
	"fmt"

	"scoville/model/fact"
	"scoville/model/tomlfile"
)

// Ownership and depreciation methods, as spelled in TOML.
const (
	Buy          = "buy"
	Rent         = "rent"
	AnnuityTerms = "annuity"       // capital is repaid with interest over an asset's life, less the value of its residual
	StraightTerm = "straight-line" // bought with cash; book value at the end of the horizon counts back
)

// Assumptions are what things cost. The zero value is not usable; start from Default. Shares are of 1, money is US dollars.
type Assumptions struct {
	AsOf          string  `toml:"as_of" json:"as_of,omitempty"`           // YYYY-MM-DD at which prices are judged stale; empty: not judged
	Ownership     string  `toml:"ownership" json:"ownership"`             // "buy" or "rent"
	HorizonMonths int     `toml:"horizon_months" json:"horizon_months"`   // 1 to 240
	HoursPerMonth float64 `toml:"hours_per_month" json:"hours_per_month"` // 730, or 720 where a table counts 30 days
	Method        string  `toml:"method" json:"method"`                   // "annuity" or "straight-line", for capex
	CostOfCapital Figure  `toml:"cost_of_capital" json:"cost_of_capital"` // per year
	DiscountRate  *Figure `toml:"discount_rate" json:"discount_rate,omitempty"`
	Currency      string  `toml:"currency" json:"currency"`                // label of the results
	PerUSD        float64 `toml:"currency_per_usd" json:"per_usd"`         // results are US dollars times this
	RampMonths    int     `toml:"ramp_months" json:"ramp_months"`          // fleet and load grow linearly to full over so many months
	OutputRatio   float64 `toml:"output_input_price_ratio" json:"r_out"`   // price of an output token over an input token, for the price-ratio split
	CachedRatio   float64 `toml:"cached_input_price_ratio" json:"r_cache"` // price of a cached input token over an uncached one, same split
	Buying        Buying  `toml:"buy" json:"buy"`
	Renting       []Lease `toml:"rent" json:"rent"`
	Running       Running `toml:"running" json:"running"`
}

// Buying is what an owned fleet is made of. Each class has its own life.
type Buying struct {
	Accelerator       Asset  `toml:"accelerator" json:"accelerator"` // the chip, or its share of a kit
	Host              Asset  `toml:"host" json:"host"`               // chassis, CPUs, memory, local disks
	Network           Asset  `toml:"network" json:"network"`         // NICs, switches, cables
	Storage           Asset  `toml:"storage" json:"storage"`
	Installation      Asset  `toml:"installation" json:"installation"`
	Facility          Asset  `toml:"facility" json:"facility"`                       // own building, instead of colocation
	SparePartsShare   Figure `toml:"spare_parts_share" json:"spare_parts_share"`     // stock on the shelf, share of accelerators, hosts and network
	SalesTaxShare     Figure `toml:"sales_tax_share" json:"sales_tax_share"`         // on all capex
	PropertyTaxShare  Figure `toml:"property_tax_share" json:"property_tax_share"`   // of purchase prices, per year
	PriceChangeYearly Figure `toml:"price_change_per_year" json:"price_change_year"` // of what is bought later: ramp and refresh
}

// Asset is one class of things bought.
type Asset struct {
	Price         Figure `toml:"price" json:"price"`           // US dollars for one unit
	Per           string `toml:"per" json:"per"`               // unit: "chip", "node", "kw" of provisioned IT power, or "fleet"
	LifeYears     Figure `toml:"life_years" json:"life_years"` // useful life; bought again when it ends within the horizon
	ResidualShare Figure `toml:"residual_share" json:"residual_share"`
}

// Lease is a way of renting chips by the hour, for a share of the fleet.
type Lease struct {
	Tier                 string  `toml:"tier" json:"tier"`                     // "on-demand", "reserved" or "spot"
	Share                float64 `toml:"share" json:"share"`                   // of the fleet; shares sum to 1; 0 in a single lease means all
	USDPerChipHour       Figure  `toml:"usd_per_chip_hour" json:"usd_chip_hr"` // of the chip in use
	UpfrontShare         float64 `toml:"upfront_share" json:"upfront_share"`   // of the contract, paid at its start
	CommitMonths         int     `toml:"commit_months" json:"commit_months"`   // length of a contract; 0: the whole horizon
	InterruptionsPerHour float64 `toml:"interruptions_per_hour" json:"interruptions_per_hour"`
	LostSeconds          float64 `toml:"lost_seconds_per_interruption" json:"lost_seconds"` // until a replacement serves
	PowerExcluded        bool    `toml:"power_excluded" json:"power_excluded"`              // energy and colocation come on top of the rent
}

// Availability is the share of paid time in which an interruptible lease serves.
func (l Lease) Availability() float64 {
	return 1 - l.InterruptionsPerHour*l.LostSeconds/SecondsPerHour
}

// Running is what it costs to keep a fleet going.
type Running struct {
	PUE                    Figure      `toml:"pue" json:"pue"`
	Electricity            Electricity `toml:"electricity" json:"electricity"`
	NetworkPowerShare      Figure      `toml:"network_power_share" json:"network_power_share"` // switches and storage, over server watts
	ColocationUSDPerKW     Figure      `toml:"colocation_usd_per_kw_month" json:"colocation"`  // of provisioned IT kW
	ColocationHasEnergy    bool        `toml:"colocation_includes_energy" json:"colo_has_energy"`
	MaintenanceShare       Figure      `toml:"maintenance_share" json:"maintenance_share"` // of accelerator, host and network prices, per year
	SoftwareUSDPerChipYear Figure      `toml:"software_usd_per_chip_year" json:"software"`
	HostingUSDPerNodeYear  Figure      `toml:"hosting_usd_per_node_year" json:"hosting"` // flat, beside or instead of colocation
	StaffUSDPerMonth       Figure      `toml:"staff_usd_per_month" json:"staff"`
	StaffShare             Figure      `toml:"staff_share" json:"staff_share"` // of the total, where no staff bill is given
	BandwidthUSDPerMonth   Figure      `toml:"bandwidth_usd_per_month" json:"bandwidth"`
	TaxShare               Figure      `toml:"tax_share" json:"tax_share"` // on rent and all running cost
	GridKgCO2ePerKWh       Figure      `toml:"grid_kgco2e_per_kwh" json:"grid_carbon"`
}

// Electricity is a tariff.
type Electricity struct {
	USDPerKWh Figure `toml:"usd_per_kwh" json:"usd_per_kwh"`
	Region    string `toml:"region" json:"region,omitempty"`
	// Hourly are 24 multipliers of USDPerKWh, from midnight of the traffic's day; none: flat.
	Hourly []float64 `toml:"hourly_multipliers" json:"hourly_multipliers,omitempty"`
}

// Default is a plain set of assumptions, each figure with its source. It holds no price of any chip: that comes from the
// price book or the user. What no public source gives is left at zero and said so by Lint.
func Default() Assumptions {
	bom := func(v float64, note string) Figure {
		f := Sourced(v, fact.Estimate, "infra-economics.com, bill of materials of an 8-GPU H100 node", "2026")
		f.Note = note
		return f
	}
	life := Sourced(5, fact.Estimate, "Epoch AI, AI data centre cost breakdown: IT equipment life", "2026-05-14")
	none := Given(0)
	return Assumptions{
		Ownership: Buy, HorizonMonths: 48, HoursPerMonth: MonthHours, Method: AnnuityTerms,
		CostOfCapital: Sourced(0.11, fact.Estimate, "CoreWeave 10-Q 2025-06-30 (relayed): DDTL2; its loans span 7 to 15 %", "2025-06-30"),
		Currency:      "USD", PerUSD: 1, OutputRatio: 4, CachedRatio: 0.1,
		Buying: Buying{
			Accelerator:     Asset{Per: "chip", LifeYears: life, ResidualShare: none},
			Host:            Asset{Price: bom(8750, "($40k chassis + $30k CPU, memory, NVMe) / 8"), Per: "chip", LifeYears: life, ResidualShare: none},
			Network:         Asset{Price: bom(15000, "10 NICs at $12k / 8; switches not included"), Per: "chip", LifeYears: life, ResidualShare: none},
			Storage:         Asset{Per: "chip", LifeYears: life},
			Installation:    Asset{Per: "node", LifeYears: life},
			Facility:        Asset{Per: "kw", LifeYears: Sourced(14, fact.Estimate, "Epoch AI, AI data centre cost breakdown: facility life", "2026-05-14")},
			SparePartsShare: none, SalesTaxShare: none, PropertyTaxShare: none, PriceChangeYearly: none,
		},
		Running: Running{
			PUE:                Sourced(1.3, fact.Estimate, "Uptime Institute survey 2025 (relayed): new builds at most 1.3; all sites 1.54", "2025"),
			Electricity:        Electricity{USDPerKWh: Sourced(0.1437, fact.Estimate, "EIA table 5.6.A, US commercial average (relayed)", "2026-02"), Region: "US"},
			NetworkPowerShare:  Sourced(0.14, fact.Estimate, "Epoch AI: IT power / server power 1.14", "2025-12-18"),
			ColocationUSDPerKW: Sourced(194.95, fact.Estimate, "CBRE, US primary markets, year-end 2025 (relayed); without energy", "2025-12"),
			MaintenanceShare:   none, SoftwareUSDPerChipYear: none, HostingUSDPerNodeYear: none, StaffUSDPerMonth: none,
			StaffShare:           Sourced(0.02, fact.Estimate, "Hamilton 2010, people share of an 8 MW site; small sites pay far more", "2010-09-22"),
			BandwidthUSDPerMonth: none, TaxShare: none,
		},
	}
}

// Clone is a copy that shares no memory with a, so that decoding over it leaves a alone.
func (a Assumptions) Clone() Assumptions {
	a.Renting = append([]Lease(nil), a.Renting...)
	a.Running.Electricity.Hourly = append([]float64(nil), a.Running.Electricity.Hourly...)
	if a.DiscountRate != nil {
		rate := *a.DiscountRate
		a.DiscountRate = &rate
	}
	return a
}

// Discount is the yearly rate at which NPV discounts: discount_rate, or else the cost of capital.
func (a Assumptions) Discount() float64 {
	if a.DiscountRate != nil {
		return a.DiscountRate.Value
	}
	return a.CostOfCapital.Value
}

// Check refuses assumptions out of range; the error starts with the key.
func (a Assumptions) Check() error {
	switch {
	case a.Ownership != Buy && a.Ownership != Rent:
		return oneOf("ownership", a.Ownership, Buy, Rent)
	case a.Method != AnnuityTerms && a.Method != StraightTerm:
		return oneOf("method", a.Method, AnnuityTerms, StraightTerm)
	case a.HorizonMonths < 1 || a.HorizonMonths > 240:
		return fmt.Errorf("horizon_months is %d; expected 1 to 240", a.HorizonMonths)
	case !(a.HoursPerMonth >= 600 && a.HoursPerMonth <= 744):
		return fmt.Errorf("hours_per_month is %g; expected 600 to 744", a.HoursPerMonth)
	case !(a.PerUSD > 0):
		return fmt.Errorf("currency_per_usd is %g; expected above 0", a.PerUSD)
	case a.RampMonths < 0 || a.RampMonths > a.HorizonMonths:
		return fmt.Errorf("ramp_months is %d; expected 0 to horizon_months (%d)", a.RampMonths, a.HorizonMonths)
	case !(a.OutputRatio > 0):
		return fmt.Errorf("output_input_price_ratio is %g; expected above 0", a.OutputRatio)
	case !(a.CachedRatio >= 0 && a.CachedRatio <= 1):
		return fmt.Errorf("cached_input_price_ratio is %g; expected 0 to 1", a.CachedRatio)
	}
	if err := a.CostOfCapital.within("cost_of_capital", 0, 1); err != nil {
		return err
	}
	if a.DiscountRate != nil {
		if err := a.DiscountRate.within("discount_rate", 0, 1); err != nil {
			return err
		}
	}
	if err := a.Running.check(); err != nil {
		return fmt.Errorf("running.%w", err)
	}
	if a.Ownership == Rent {
		return checkLeases(a.Renting)
	}
	return a.Buying.check()
}

func (b Buying) check() error {
	if !b.Accelerator.Price.Known() {
		return fmt.Errorf("buy.accelerator.price is missing: US dollars per chip (see scoville prices list)")
	}
	for _, c := range b.classes() {
		if err := c.check(); err != nil {
			return fmt.Errorf("buy.%s.%w", c.key, err)
		}
	}
	for _, s := range []struct {
		name      string
		f         Figure
		low, high float64
	}{
		{"spare_parts_share", b.SparePartsShare, 0, 1}, {"sales_tax_share", b.SalesTaxShare, 0, 1},
		{"property_tax_share", b.PropertyTaxShare, 0, 1}, {"price_change_per_year", b.PriceChangeYearly, -0.9, 1},
	} {
		if err := s.f.within(s.name, s.low, s.high); err != nil {
			return fmt.Errorf("buy.%w", err)
		}
	}
	return nil
}

type class struct {
	key, name string
	Asset
}

// classes are the asset classes in the order of reports.
func (b Buying) classes() []class {
	return []class{
		{"accelerator", Accelerators, b.Accelerator}, {"host", Hosts, b.Host}, {"network", Network, b.Network},
		{"storage", Storage, b.Storage}, {"installation", Installation, b.Installation}, {"facility", Facility, b.Facility},
	}
}

func (a Asset) check() error {
	if err := a.Price.within("price", 0, 1e12); err != nil {
		return err
	}
	if a.Price.Value == 0 {
		return nil
	}
	switch a.Per {
	case "chip", "node", "kw", "fleet":
	default:
		return oneOf("per", a.Per, "chip", "node", "kw", "fleet")
	}
	if err := a.LifeYears.within("life_years", 1.0/12, 40); err != nil {
		return err
	}
	return a.ResidualShare.within("residual_share", 0, 1)
}

func checkLeases(leases []Lease) error {
	if len(leases) == 0 {
		return fmt.Errorf("rent is missing: at least one [[rent]] with usd_per_chip_hour (see scoville prices list)")
	}
	sum := 0.0
	for i, l := range leases {
		at := fmt.Sprintf("rent[%d].", i)
		switch {
		case l.Tier != "on-demand" && l.Tier != "reserved" && l.Tier != "spot":
			return fmt.Errorf("%s%w", at, oneOf("tier", l.Tier, "on-demand", "reserved", "spot"))
		case !l.USDPerChipHour.Known():
			return fmt.Errorf("%susd_per_chip_hour is missing", at)
		case !(l.Share >= 0 && l.Share <= 1):
			return fmt.Errorf("%sshare is %g; expected 0 to 1", at, l.Share)
		case !(l.UpfrontShare >= 0 && l.UpfrontShare <= 1):
			return fmt.Errorf("%supfront_share is %g; expected 0 to 1", at, l.UpfrontShare)
		case l.CommitMonths < 0:
			return fmt.Errorf("%scommit_months is %d; expected 0 or more", at, l.CommitMonths)
		case !(l.InterruptionsPerHour >= 0) || !(l.LostSeconds >= 0) || !(l.Availability() > 0):
			return fmt.Errorf("%sinterruptions_per_hour (%g) and lost_seconds_per_interruption (%g) leave no time to serve", at, l.InterruptionsPerHour, l.LostSeconds)
		}
		if err := l.USDPerChipHour.within("usd_per_chip_hour", 0, 1e6); err != nil {
			return fmt.Errorf("%s%w", at, err)
		}
		sum += l.Share
	}
	if len(leases) == 1 && sum == 0 {
		return nil
	}
	if sum < 1-1e-9 || sum > 1+1e-9 {
		return fmt.Errorf("rent shares sum to %g; expected 1", sum)
	}
	return nil
}

func (r Running) check() error {
	for _, c := range []struct {
		name      string
		f         Figure
		low, high float64
	}{
		{"pue", r.PUE, 1, 5}, {"electricity.usd_per_kwh", r.Electricity.USDPerKWh, 0, 10},
		{"network_power_share", r.NetworkPowerShare, 0, 2}, {"colocation_usd_per_kw_month", r.ColocationUSDPerKW, 0, 1e5},
		{"maintenance_share", r.MaintenanceShare, 0, 1}, {"software_usd_per_chip_year", r.SoftwareUSDPerChipYear, 0, 1e7},
		{"hosting_usd_per_node_year", r.HostingUSDPerNodeYear, 0, 1e8}, {"staff_usd_per_month", r.StaffUSDPerMonth, 0, 1e9},
		{"staff_share", r.StaffShare, 0, 0.9}, {"bandwidth_usd_per_month", r.BandwidthUSDPerMonth, 0, 1e9},
		{"tax_share", r.TaxShare, 0, 1}, {"grid_kgco2e_per_kwh", r.GridKgCO2ePerKWh, 0, 5},
	} {
		if err := c.f.within(c.name, c.low, c.high); err != nil {
			return err
		}
	}
	return checkHourly("electricity.hourly_multipliers", r.Electricity.Hourly)
}

func checkHourly(name string, m []float64) error {
	if len(m) != 0 && len(m) != hoursPerDay {
		return fmt.Errorf("%s has %d values; expected 24", name, len(m))
	}
	for i, v := range m {
		if !(v >= 0 && v < 1e6) {
			return fmt.Errorf("%s[%d] is %g; expected 0 or more", name, i, v)
		}
	}
	return nil
}

func oneOf(key, found string, valid ...string) error {
	msg := fmt.Sprintf("%s is %q; expected one of %q", key, found, valid)
	if near := tomlfile.Nearest(found, valid); near != "" {
		msg += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return fmt.Errorf("%s", msg)
}
