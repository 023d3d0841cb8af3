package cost

import (
	"fmt"
	"math"

	"github.com/shopspring/decimal"
)

// Evaluate prices a fleet under assumptions.
func Evaluate(in Input, a Assumptions) (*Result, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	if err := in.Check(a.HorizonMonths); err != nil {
		return nil, err
	}
	return assemble(in, a, compute(in, a)), nil
}

// totals are the unrounded figures of an evaluation, in the currency of the results.
type totals struct {
	lines
	npv                    float64
	tco, fullTCO           float64
	tokens, fullTokens     Tokens
	requests, fullRequests float64
	utilisation            float64
	use                    [4]float64 // served, retries, idle, spares
	chipHours, busyHours   float64
	day                    day // of the last month
	kWh, fullKWh           float64
	itKWh                  float64
	itWatts                float64
}

// Unit is the cost per million tokens, input and output together, and the TCO: the fast path for draws and solvers.
// in and a must have passed Check.
func Unit(in Input, a Assumptions) (perMillion, tco float64) {
	t := compute(in, a)
	return divide(t.tco*million, t.tokens.Both()), t.tco
}

// compute is the arithmetic of Evaluate, without rounding.
func compute(in Input, a Assumptions) *totals {
	chips, load := in.schedule(a)
	t := &totals{lines: lines{months: a.HorizonMonths}, itWatts: in.itWatts(float64(in.Chips), a.Running.NetworkPowerShare.Value)}
	owned := t.acquire(in, a, chips)
	fullEnergy := t.run(in, a, chips, load, owned)
	t.staff(a)
	for _, row := range t.cash {
		for m := range row {
			row[m] *= a.PerUSD
		}
	}
	t.tco = t.total()
	energy := t.sumOf(Energy)
	// At full load only energy (and what is taken as a share of the total) changes.
	t.fullTCO = t.tco + (fullEnergy*a.PerUSD-energy)*(1+a.Running.TaxShare.Value)*a.staffFactor()
	t.npv = NPV(MonthlyRate(a.Discount()), t.byMonth())
	t.attribute(in, energy)
	return t
}

// schedule is chips and load factor of each month: the input's own, or the ramp.
func (in *Input) schedule(a Assumptions) (chips, load []float64) {
	chips, load = make([]float64, a.HorizonMonths), make([]float64, a.HorizonMonths)
	for m := range chips {
		switch {
		case len(in.ChipsByMonth) > 0:
			chips[m], load[m] = float64(in.ChipsByMonth[m]), in.LoadByMonth[m]
		case m < a.RampMonths:
			share := float64(m+1) / float64(a.RampMonths)
			chips[m], load[m] = math.Ceil(float64(in.Chips)*share-1e-9), share
		default:
			chips[m], load[m] = float64(in.Chips), 1
		}
	}
	return chips, load
}

// acquire adds purchases or rent. It returns the purchase value owned by month of what is maintained (accelerators, hosts,
// network) and of everything.
func (t *totals) acquire(in Input, a Assumptions, chips []float64) (owned [2][]float64) {
	owned = [2][]float64{make([]float64, len(chips)), make([]float64, len(chips))}
	if a.Ownership == Rent {
		row := t.add(Rental, false)
		for _, l := range a.Renting {
			share := l.Share
			if len(a.Renting) == 1 {
				share = 1
			}
			rent(row, chips, l, share, a.HoursPerMonth)
		}
		return owned
	}
	b := a.Buying
	spares, tax := make([]float64, a.HorizonMonths+1), make([]float64, a.HorizonMonths+1)
	for i, c := range b.classes() {
		row := t.add(c.name, true)
		value := purchase(row, in.units(c.Per, chips, a), c.Asset, a.Method, a.CostOfCapital.Value, b.PriceChangeYearly.Value)
		for m, v := range value {
			owned[1][m] += v
			if i < 3 {
				owned[0][m] += v
			}
		}
		for m, v := range row {
			if i < 3 {
				spares[m] += v * b.SparePartsShare.Value
			}
			tax[m] += v * b.SalesTaxShare.Value
		}
	}
	copy(t.add(SpareParts, true), spares)
	copy(t.add(SalesTax, true), tax)
	return owned
}

// units is how many units of an asset class each month needs.
func (in *Input) units(per string, chips []float64, a Assumptions) []float64 {
	out := make([]float64, len(chips))
	for m, c := range chips {
		switch per {
		case "chip":
			out[m] = c
		case "node":
			out[m] = in.nodes(c)
		case "kw":
			out[m] = in.itWatts(c, a.Running.NetworkPowerShare.Value) / 1000
		case "fleet":
			out[m] = 1
		}
	}
	return out
}

// run adds the running costs month by month, and returns what energy would cost at full load.
func (t *totals) run(in Input, a Assumptions, chips, load []float64, owned [2][]float64) (fullEnergy float64) {
	r := a.Running
	energy, colo, maintenance := t.add(Energy, false), t.add(Colocation, false), t.add(Maintenance, false)
	software, hosting, bandwidth := t.add(Software, false), t.add(Hosting, false), t.add(Bandwidth, false)
	property, tax := t.add(PropertyTax, false), t.add(Tax, false)
	power := 1.0 // share of the fleet whose power is paid apart from rent
	if a.Ownership == Rent {
		power = 0
		for _, l := range a.Renting {
			if l.PowerExcluded {
				power += l.Share
				if len(a.Renting) == 1 {
					power = 1
				}
			}
		}
	}
	seconds := a.HoursPerMonth * SecondsPerHour
	full := in.full().rate(in.Mean.RequestsPerSecond > 0) / in.Mean.rate(in.Mean.RequestsPerSecond > 0) * (1 - in.RetryShare)
	var d, atFull day
	for m := range chips {
		if m == 0 || chips[m] != chips[m-1] || load[m] != load[m-1] {
			d, atFull = in.dayOf(chips[m], load[m], a, false), in.dayOf(chips[m], load[m], a, true)
		}
		days := a.HoursPerMonth / hoursPerDay
		kw := in.itWatts(chips[m], r.NetworkPowerShare.Value) / 1000
		nodes := in.nodes(chips[m])
		if !(r.ColocationHasEnergy && r.ColocationUSDPerKW.Value > 0 && a.Buying.Facility.Price.Value == 0) {
			energy[m+1] = d.usd * days * power
			fullEnergy += atFull.usd * days * power
		}
		if a.Ownership == Rent || a.Buying.Facility.Price.Value == 0 { // an own building needs no colocation
			colo[m+1] = kw * r.ColocationUSDPerKW.Value * power
		}
		maintenance[m+1] = owned[0][m] * r.MaintenanceShare.Value / monthsPerYear
		software[m+1] = chips[m] * r.SoftwareUSDPerChipYear.Value / monthsPerYear
		if a.Ownership == Buy {
			hosting[m+1] = nodes * r.HostingUSDPerNodeYear.Value / monthsPerYear
		}
		bandwidth[m+1] = r.BandwidthUSDPerMonth.Value
		property[m+1] = owned[1][m] * a.Buying.PropertyTaxShare.Value / monthsPerYear
		t.count(in, chips[m], load[m], full, seconds, days, d, atFull)
	}
	for i, row := range t.cash {
		if t.capex[i] || t.names[i] == PropertyTax || t.names[i] == Tax {
			continue
		}
		for m, v := range row {
			tax[m] += v * r.TaxShare.Value
		}
	}
	t.day = d
	if t.chipHours > 0 {
		t.utilisation = t.busyHours / (t.chipHours * in.servingShare())
	}
	return fullEnergy
}

// count adds a month's tokens, requests, hours and energy.
func (t *totals) count(in Input, chips, load, full, seconds, days float64, d, atFull day) {
	add := func(to *Tokens, v Tokens) {
		to.Input += v.Input
		to.Cached += v.Cached
		to.Output += v.Output
	}
	fleet := chips / float64(in.Chips)
	add(&t.tokens, in.Mean.Times(load).Tokens(seconds))
	add(&t.fullTokens, in.Mean.Times(full*fleet).Tokens(seconds))
	t.requests += in.Mean.RequestsPerSecond * load * seconds
	t.fullRequests += in.Mean.RequestsPerSecond * full * fleet * seconds
	hours := seconds / SecondsPerHour
	t.chipHours += chips * hours
	t.busyHours += chips * in.servingShare() * d.utilisation * hours
	t.kWh += d.facilityKWh * days
	t.itKWh += d.itKWh * days
	t.fullKWh += atFull.facilityKWh * days
}

func (in *Input) servingShare() float64 { return 1 - float64(in.SpareChips)/float64(in.Chips) }

// staffFactor is total over total without staff, where staff is a share of the total.
func (a Assumptions) staffFactor() float64 {
	if a.Running.StaffUSDPerMonth.Value > 0 {
		return 1
	}
	return 1 / (1 - a.Running.StaffShare.Value)
}

// staff adds the staff bill: a monthly sum, or else a share of the total, spread evenly.
func (t *totals) staff(a Assumptions) {
	monthly := a.Running.StaffUSDPerMonth.Value
	if monthly == 0 {
		monthly = t.total() * (a.staffFactor() - 1) / float64(t.months)
	}
	row := t.add(Staff, false)
	for m := 1; m <= t.months; m++ {
		row[m] = monthly
	}
}

// sumOf is a component's total.
func (t *totals) sumOf(name string) float64 {
	sum := 0.0
	for i, n := range t.names {
		if n == name {
			for _, v := range t.cash[i] {
				sum += v
			}
		}
	}
	return sum
}

// attribute splits the TCO by what it was spent on. Energy goes where it was drawn, everything else by chip-hours.
func (t *totals) attribute(in Input, energy float64) {
	other := t.tco - energy
	serving, busy := in.servingShare(), min(1, t.utilisation)
	drawn := t.day.busyKWh + t.day.idleKWh + t.day.spareKWh
	part := func(kWh float64) float64 { return divide(energy*kWh, drawn) }
	work := other*serving*busy + part(t.day.busyKWh)
	t.use = [4]float64{
		work * (1 - in.RetryShare), work * in.RetryShare,
		other*serving*(1-busy) + part(t.day.idleKWh),
		other*(1-serving) + part(t.day.spareKWh),
	}
	if drawn == 0 {
		t.use[0] += energy
	}
}

// day is a typical day of one month.
type day struct {
	usd                        float64 // energy bill
	itKWh, facilityKWh         float64
	busyKWh, idleKWh, spareKWh float64 // IT energy by what it was drawn for; sums to itKWh
	utilisation                float64 // of the serving chips
	overloaded                 bool    // some hour asks for more than the fleet holds
}

// dayOf integrates power over the 24 hours at a month's chips and load; full means 100 % all day.
func (in *Input) dayOf(chips, load float64, a Assumptions, full bool) day {
	byRequests := in.Mean.RequestsPerSecond > 0
	var d day
	if chips <= 0 {
		return d
	}
	capacity := in.full().rate(byRequests) * chips / float64(in.Chips) * (1 - in.RetryShare)
	network := 1 + a.Running.NetworkPowerShare.Value
	overhead := in.nodes(chips) * in.NodeOverheadWatts
	serving := in.servingShare()
	hourly := in.hourly()
	for h := range hoursPerDay {
		share := in.Mean.rate(byRequests) * load * at(hourly, h) / capacity
		if full {
			share = 1
		}
		d.overloaded = d.overloaded || share > 1+1e-9
		d.utilisation += share / hoursPerDay
		in.hour(&d, chips, serving, overhead, network, share, a.Running.PUE.Value, a.Running.Electricity.USDPerKWh.Value*at(a.Running.Electricity.Hourly, h))
	}
	return d
}

// hour adds one hour's energy.
func (in *Input) hour(d *day, chips, serving, overhead, network, share, pue, tariff float64) {
	idleWatts, busyShare := in.watts(0), min(1, share)
	idle := serving * (1 - busyShare) * (chips*idleWatts + overhead)
	drawn := serving * (chips*in.watts(share) + overhead)
	spare := (1 - serving) * (chips*idleWatts + overhead)
	if in.SparesOff {
		spare = 0
	}
	idle = min(idle, drawn)
	kWh := network / 1000
	d.busyKWh += (drawn - idle) * kWh
	d.idleKWh += idle * kWh
	d.spareKWh += spare * kWh
	it := (drawn + spare) * kWh
	d.itKWh += it
	d.facilityKWh += it * pue
	d.usd += EnergyUSD(it, pue, 1, tariff)
}

// at is the multiplier of an hour, 1 where there are none.
func at(multipliers []float64, hour int) float64 {
	if len(multipliers) == 0 {
		return 1
	}
	return multipliers[hour]
}

// assemble rounds and words a result.
func assemble(in Input, a Assumptions, t *totals) *Result {
	r := &Result{
		Name: in.Name, Ownership: a.Ownership, Currency: a.Currency, HorizonMonths: a.HorizonMonths,
		NPV: cents(t.npv), DiscountRate: a.Discount(), Tokens: t.tokens, Requests: t.requests, Utilisation: t.utilisation,
		ChipHours: t.chipHours, BusyChipHours: t.busyHours,
	}
	r.tabulate(&t.lines)
	r.Monthly = Money{r.TCO.DivRound(decimal.NewFromInt(int64(a.HorizonMonths)), 2)}
	for i, part := range apportion(r.TCO, t.use[:]) {
		r.Use = append(r.Use, Component{[]string{"served traffic", "retries", "idle time", "spares"}[i], "use", part})
	}
	users := in.Users * float64(a.HorizonMonths)
	r.Actual = prices(in, a, t.tco, t.tokens, t.requests, users, t.kWh)
	r.FullLoad = prices(in, a, t.fullTCO, t.fullTokens, t.fullRequests, 0, t.fullKWh)
	r.Energy = energyOf(a, t)
	if a.Ownership == Buy {
		r.Method = a.Method
		other := a
		other.Method = AnnuityTerms
		if a.Method == AnnuityTerms {
			other.Method = StraightTerm
		}
		both, tco := Unit(in, other)
		r.OtherMethod = &Other{other.Method, cents(tco), both}
	}
	r.Definitions = definitions(in, a)
	r.Warnings = Lint(in, a, r)
	return r
}

// tabulate rounds the cash so that components, months and the total agree to the cent. Lines of zeros are left out.
func (r *Result) tabulate(l *lines) {
	r.Cash = make([]Month, l.months+1)
	for i, row := range l.cash {
		empty := true
		for _, v := range row {
			empty = empty && v == 0
		}
		if empty {
			continue
		}
		c := Component{Name: l.names[i], Kind: "opex"}
		if l.capex[i] {
			c.Kind = "capex"
		}
		for m, v := range running(row) {
			c.Amount = Money{c.Amount.Add(v.Decimal)}
			r.Cash[m].ByComponent = append(r.Cash[m].ByComponent, v)
			r.Cash[m].Amount = Money{r.Cash[m].Amount.Add(v.Decimal)}
		}
		if l.capex[i] {
			r.Capex = Money{r.Capex.Add(c.Amount.Decimal)}
		} else {
			r.Opex = Money{r.Opex.Add(c.Amount.Decimal)}
		}
		r.Components = append(r.Components, c)
	}
	r.TCO = Money{r.Capex.Add(r.Opex.Decimal)}
	var cumulative Money
	for m := range r.Cash {
		cumulative = Money{cumulative.Add(r.Cash[m].Amount.Decimal)}
		r.Cash[m].Month, r.Cash[m].Cumulative = m, cumulative
	}
}

func prices(in Input, a Assumptions, cost float64, t Tokens, requests, userMonths, kWh float64) Prices {
	p := Prices{
		Both: divide(cost*million, t.Both()), PerOutput: divide(cost*million, t.Output),
		ByPriceRatio: ByPriceRatio(cost, t, a.OutputRatio, a.CachedRatio),
		PerRequest:   divide(cost, requests), PerUserMonth: divide(cost, userMonths),
		JoulesPerTok: divide(kWh*joulesPerKWh, t.Both()), KWhPerM: divide(kWh*million, t.Both()),
		PerDollar: divide(t.Both(), cost),
	}
	if in.PrefillShare > 0 {
		split := ByChipSeconds(cost, t, in.PrefillShare)
		p.ByChipSeconds = &split
	}
	if g := a.Running.GridKgCO2ePerKWh; g.Known() {
		kg := p.KWhPerM * g.Value
		p.KgCO2ePerM = &kg
	}
	return p
}

func energyOf(a Assumptions, t *totals) Power {
	hours := float64(a.HorizonMonths) * a.HoursPerMonth
	p := Power{
		MeanITKilowatts: t.itKWh / hours, MeanFacilityKilowatts: t.kWh / hours,
		ProvisionedITKilowatts: t.itWatts / 1000, FacilityKWh: t.kWh,
	}
	perKWh := divide(t.fullTokens.Both(), t.fullKWh) // tokens for a facility kWh at 100 %
	p.FullTokensPerSecondPerMW = perKWh * 1000 / SecondsPerHour
	p.FullTokensPerSecondPerW = perKWh * a.Running.PUE.Value / (1000 * SecondsPerHour)
	if g := a.Running.GridKgCO2ePerKWh; g.Known() {
		kg := t.kWh * g.Value
		p.FacilityKgCO2e = &kg
	}
	return p
}

func definitions(in Input, a Assumptions) []string {
	capex := fmt.Sprintf("Capex is an annuity over each class's own life at %.1f %% a year, less its residual.", 100*a.CostOfCapital.Value)
	switch {
	case a.Ownership == Rent:
		capex = "Rented: there is no capex; the rent carries it."
	case a.Method == StraightTerm:
		capex = "Capex is straight-line: what is bought, less book value at the end of the horizon; no cost of capital in the TCO."
	}
	d := []string{
		"TCO: capex less residual plus opex over the horizon, not discounted. NPV: the same cash discounted monthly.",
		capex,
		"$/M tokens (both): TCO over all useful input and output tokens of the horizon, cached input included.",
		"$/M output tokens, all cost: the same TCO over output tokens alone.",
		fmt.Sprintf("By price ratio: an output token costs %g times an uncached input token, a cached one %g times it; the three sum to the TCO.", a.OutputRatio, a.CachedRatio),
		"At 100 %: the same fleet at its SLA-bounded load in every hour; it is a lower bound, not a price.",
		"J and kWh are at the facility: accelerators (idle and spares included), node overhead, network, times PUE.",
	}
	if in.PrefillShare > 0 {
		d = append(d, fmt.Sprintf("By chip-seconds: uncached input pays the %.1f %% of busy time that prefill took in the simulation, output the rest.", 100*in.PrefillShare))
	}
	return d
}
