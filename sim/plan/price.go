package plan

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"scoville/hardware"
	"scoville/model/cost"
	"scoville/model/sla"
	"scoville/profiles"
)

// pricing is what every candidate's cost shares.
type pricing struct {
	book *profiles.PriceBook
	asOf time.Time
}

func (f *File) pricing() (*pricing, error) {
	var files []string
	for _, p := range f.PriceBooks {
		files = append(files, f.inFolder(p))
	}
	book, err := profiles.LoadPrices(files...)
	if err != nil {
		return nil, err
	}
	if f.AsOf == "" {
		return nil, f.errorAt("as_of", "is missing: the date at which prices are judged, such as as_of = \"2026-11-30\"")
	}
	asOf, err := cost.ParseDate(f.AsOf)
	if err != nil {
		return nil, f.errorAt("as_of", "%v", err)
	}
	return &pricing{book, asOf}, nil
}

// assumptions completes a candidate's cost section from the price book, where it gives no price itself.
func (p *pricing) assumptions(c *CandidateSection, chip *hardware.Chip) (a cost.Assumptions, quoted *profiles.Quote, err error) {
	a = c.Cost.Clone()
	a.AsOf = p.asOf.Format(time.DateOnly)
	buying := a.Ownership == cost.Buy
	if (buying && a.Buying.Accelerator.Price.Known()) || (!buying && len(a.Renting) > 0) {
		return a, nil, a.Check()
	}
	tier := profiles.OnDemand
	if buying {
		tier = profiles.Purchase
	}
	if c.PriceTier != "" {
		tier = c.PriceTier
	}
	q, err := p.book.Quote(profiles.PriceQuery{Chip: chip.Name, Tier: tier, Provider: c.PriceProvider}, p.asOf)
	if err != nil {
		return a, nil, &noPrice{err}
	}
	q.Apply(&a)
	return a, &q, a.Check()
}

// noPrice says that neither the plan nor the price book has a price: the candidate is answered in chips, without dollars.
type noPrice struct{ error }

// priceInput turns a sized fleet into what model/cost asks for; each is the load one of its replicas holds.
func (d *deployment) priceInput(t *traffic, c *Candidate, each float64) cost.Input {
	load := func(qps float64) cost.Load {
		in := t.summary.MeanInput * qps
		return cost.Load{RequestsPerSecond: qps, InputTokensPerSecond: in, CachedTokensPerSecond: in * c.Fleet.PrefixHitRate, OutputTokensPerSecond: t.summary.MeanOutput * qps}
	}
	serving := float64(c.Fleet.Replicas)
	in := cost.Input{
		Name: c.Name, Chips: c.Fleet.Chips, ChipsPerNode: d.chip.Node.Chips, Nodes: c.Fleet.Nodes,
		SpareChips:        c.Fleet.Chips - c.Fleet.Replicas*c.ChipsPerReplica,
		NodeOverheadWatts: d.chip.Node.OverheadWatts.Value, OverheadPerWatt: d.chip.Node.OverheadPerWatt.Value,
		CeilingOutputTokensPerSecond: serving * d.ceiling(t), PrefillShare: c.Fleet.PrefillShare,
		Mean: load(t.meanQPS), Peak: load(t.peakQPS), Full: load(each * serving),
		HourlyMultipliers: t.workload.Arrivals.Hourly,
	}
	chips := float64(c.ChipsPerReplica)
	in.Power = append(in.Power, cost.PowerPoint{LoadShare: 0, WattsPerChip: d.steps.IdleWatts() / chips})
	for _, p := range c.Capacity.Curve {
		share := p.RequestsPerSecond / c.Capacity.Low
		if p.AcceleratorWatts > 0 && share > in.Power[len(in.Power)-1].LoadShare {
			in.Power = append(in.Power, cost.PowerPoint{LoadShare: share, WattsPerChip: p.AcceleratorWatts / chips})
		}
	}
	return in
}

// ceiling is the output tokens a second that the datasheet's bandwidth and peak allow one replica at its largest batch, with
// no time for prompts or the host.
func (d *deployment) ceiling(t *traffic) float64 {
	tokens := t.summary.MeanInput + t.summary.MeanOutput
	n := d.fullBatch(tokens)
	w := d.steps.Decode(n)
	chips := float64(d.hw.Split.Chips())
	bytes := w.Base.Bytes + w.PerKV.Bytes*float64(n)*t.summary.MeanInput
	seconds := math.Max(bytes/(d.chip.Memory.BytesPerSecond.Value*chips), w.Base.FLOPs/(d.chip.Peak.Rate(d.model.precision.Activations)*chips))
	return float64(n) / seconds
}

// price fills the candidate's cost.
func (p *planner) price(d *deployment, c *Candidate) error {
	a, quoted, err := p.pricing.assumptions(d.section, &d.chip)
	var none *noPrice
	if errors.As(err, &none) {
		c.Warnings = append(c.Warnings, "no cost: "+none.Error())
		return nil
	}
	if err != nil {
		return fmt.Errorf("cost: %w", err)
	}
	in := d.priceInput(p.traffic, c, p.perReplica(c))
	for m := range p.file.growing(a.HorizonMonths) {
		factor := p.file.Growth.at(m)
		in.LoadByMonth = append(in.LoadByMonth, factor)
		in.ChipsByMonth = append(in.ChipsByMonth, p.growthMonth(c, m).Chips)
	}
	r, err := cost.Evaluate(in, a)
	if err != nil {
		return fmt.Errorf("cost: %w", err)
	}
	c.Cost = summarise(r)
	for _, w := range r.Warnings {
		c.Cost.Warnings = append(c.Cost.Warnings, w.Message)
	}
	d.input, d.costs, d.quote = in, a, quoted
	return c.Cost.addLevers(in, a)
}

func summarise(r *cost.Result) *Cost {
	split, name := r.Actual.ByPriceRatio, "by price ratio: an output token costs a fixed multiple of an input token"
	if r.Actual.ByChipSeconds != nil {
		split, name = *r.Actual.ByChipSeconds, "by simulated chip-seconds of prefill and decode"
	}
	out := &Cost{
		Ownership: r.Ownership, HorizonMonths: r.HorizonMonths, TCO: r.TCO.Float(), NPV: r.NPV.Float(), Monthly: r.Monthly.Float(),
		PerMInput: split.Input, PerMCachedInput: split.CachedInput, PerMOutput: split.Output, Allocation: name,
		PerMBoth: r.Actual.Both, PerMBothFull: r.FullLoad.Both, PerRequest: r.Actual.PerRequest,
		JoulesPerToken: r.Actual.JoulesPerTok, KWhPerMTokens: r.Actual.KWhPerM, TokensPerDollar: r.Actual.PerDollar,
		TokensPerSecondPerWatt: r.Energy.FullTokensPerSecondPerW, Utilisation: r.Utilisation, Definitions: r.Definitions,
	}
	if r.Actual.KgCO2ePerM != nil {
		out.KgCO2ePerMTokens = *r.Actual.KgCO2ePerM
	}
	for _, c := range r.Components {
		out.Components = append(out.Components, Component{Name: c.Name, Kind: c.Kind, USD: c.Amount.Float()})
	}
	for _, m := range r.Cash {
		month := MonthCash{Month: m.Month, USD: m.Amount.Float(), Cumulative: m.Cumulative.Float()}
		for _, by := range m.ByComponent {
			month.ByComponent = append(month.ByComponent, by.Float())
		}
		out.MonthlyCash = append(out.MonthlyCash, month)
	}
	return out
}

// addLevers works out how each component moves with the price and the energy bill, by evaluating the plan at a much higher
// price: cost is linear in both, so one step tells the slope, and a long one keeps it clear of the rounding to cents.
func (c *Cost) addLevers(in cost.Input, a cost.Assumptions) error {
	base, err := cost.Evaluate(in, a)
	if err != nil {
		return err
	}
	l := &Levers{PUE: a.Running.PUE.Value, PriceName: "rent per chip-hour", PriceUnit: "USD/chip-hour"}
	dearer, warmer := a.Clone(), a.Clone()
	if a.Ownership == cost.Buy {
		l.PriceName, l.PriceUnit, l.Price = "accelerator price", "USD/chip", a.Buying.Accelerator.Price.Value
		dearer.Buying.Accelerator.Price.Value += priceStep
	} else {
		for _, lease := range a.Renting {
			l.Price += lease.USDPerChipHour.Value * max(lease.Share, onlyShare(a.Renting))
		}
		for i := range dearer.Renting {
			dearer.Renting[i].USDPerChipHour.Value += priceStep
		}
	}
	if err := c.slopes(in, base, dearer, func(comp *Component, usd float64) { comp.PerPrice = usd / priceStep }); err != nil {
		return err
	}
	bill := base.Energy.FacilityKWh * a.Running.Electricity.USDPerKWh.Value
	warmer.Running.Electricity.USDPerKWh.Value *= 2
	if err := c.slopes(in, base, warmer, func(comp *Component, usd float64) {
		if bill > 0 {
			comp.PerEnergy = usd / bill
		}
	}); err != nil {
		return err
	}
	for _, comp := range c.Components {
		if comp.PerEnergy != 0 {
			l.USDPerKWh = a.Running.Electricity.USDPerKWh.Value
		}
	}
	if err := l.addPoints(in, a, base); err != nil {
		return err
	}
	c.Levers = l
	return nil
}

// priceStep is how much dearer, in dollars a chip or a chip-hour.
const priceStep = 10_000

// onlyShare is 1 for a single lease, whose share may be left out.
func onlyShare(leases []cost.Lease) float64 {
	if len(leases) == 1 {
		return 1
	}
	return 0
}

func (c *Cost) slopes(in cost.Input, base *cost.Result, moved cost.Assumptions, set func(*Component, float64)) error {
	r, err := cost.Evaluate(in, moved)
	if err != nil {
		return err
	}
	by := map[string]float64{}
	for _, m := range r.Components {
		by[m.Name] = m.Amount.Float()
	}
	for i, b := range base.Components {
		if delta := by[b.Name] - b.Amount.Float(); delta != 0 {
			set(&c.Components[i], delta)
		}
	}
	return nil
}

// addPoints evaluates the fleet under other mean loads, from 5 % of what it holds to all of it.
func (l *Levers) addPoints(in cost.Input, a cost.Assumptions, base *cost.Result) error {
	point := func(r *cost.Result) UtilisationPoint {
		return UtilisationPoint{Utilisation: r.Utilisation, InputTokens: r.Tokens.Input, OutputTokens: r.Tokens.Output, ITKWh: r.Energy.FacilityKWh / a.Running.PUE.Value}
	}
	self := point(base)
	placed := false
	for i := 1; i <= 20; i++ {
		u := float64(i) / 20
		if !placed && u >= self.Utilisation {
			l.PointsSelf, placed = len(l.Points), true
			l.Points = append(l.Points, self)
			if u == self.Utilisation {
				continue
			}
		}
		other := in
		other.Mean = in.Mean.Times(u / base.Utilisation)
		r, err := cost.Evaluate(other, a)
		if err != nil {
			return err
		}
		l.Points = append(l.Points, point(r))
	}
	if !placed {
		l.PointsSelf = len(l.Points)
		l.Points = append(l.Points, self)
	}
	return nil
}

// costAssumptions lists the figures a candidate's cost rests on.
func costAssumptions(a cost.Assumptions, quoted *profiles.Quote, candidate string) []Assumption {
	figure := func(name string, f cost.Figure, format string) Assumption {
		return Assumption{Group: "cost", Name: strings.TrimPrefix(candidate+": "+name, ": "), Value: fmt.Sprintf(format, f.Value), Kind: f.Kind, Source: f.Source, Date: f.Date}
	}
	var out []Assumption
	if a.Ownership == cost.Buy {
		out = append(out, figure("accelerator price", a.Buying.Accelerator.Price, "%.0f USD a chip"), figure("life of accelerators", a.Buying.Accelerator.LifeYears, "%g years"))
	} else {
		for _, l := range a.Renting {
			out = append(out, figure("rent, "+l.Tier, l.USDPerChipHour, "%.3f USD a chip-hour"))
		}
	}
	if quoted != nil && quoted.Count > 1 {
		last := &out[0]
		last.Source = fmt.Sprintf("median of %d offers from %.2f to %.2f USD: %s", quoted.Count, quoted.Low, quoted.High, last.Source)
	}
	return out
}

// questions are the buyer's five questions of a candidate, answered from the profiles.
func (p *planner) questions(d *deployment) []Question {
	b := profiles.Buyer{
		Chip: d.chip, Engine: d.engine, Model: d.model.arch.Name, Weights: d.model.precision.Weights, Chips: d.hw.Split.Chips(),
		NeedBytes: (d.fit.Weights + d.fit.Activation) * float64(d.hw.Split.Chips()), ReadBytes: d.model.arch.DenseWeightBytes(d.model.precision),
	}
	for _, l := range p.limits.Percentiles {
		if l.Metric == sla.TPOT && (b.TPOTLimit == 0 || l.Seconds < b.TPOTLimit) {
			b.TPOTLimit = l.Seconds
		}
	}
	quote := func(tier string) *profiles.Quote {
		q, err := p.pricing.book.Quote(profiles.PriceQuery{Chip: d.chip.Name, Tier: tier}, p.pricing.asOf)
		if err != nil {
			return nil // no such price is public: the answer says so
		}
		return &q
	}
	b.Purchase, b.Rent = quote(profiles.Purchase), quote(profiles.OnDemand)
	var out []Question
	for _, a := range b.Questions() {
		text := a.Answer
		if a.Source != "" {
			text += " [" + a.Source + "]"
		}
		out = append(out, Question{a.Question, text})
	}
	return out
}
