package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"
	"scoville/model/cost"
	"scoville/profiles"
)

// costCommand prices a given fleet, without a simulation.
func costCommand() *cli.Command {
	return &cli.Command{
		Name:      "cost",
		Usage:     "TCO and price per million tokens of a given fleet and traffic, without a simulation",
		ArgsUsage: "[FILE.toml]",
		Description: "Prices a fleet from flags, from a cost file (docs/cost.md), or from a file with flags over it.\n" +
			"Example: scoville cost --chip h100-sxm --chips 64 --tokens-in-per-second 40000 --tokens-out-per-second 12000 --utilisation 0.5",
		Flags:  append(fleetFlags(), formatFlag()),
		Action: costAction,
	}
}

// fleetFlags describe a fleet, its traffic and what it costs.
func fleetFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "chip", Usage: "chip profile: price, watts and node come from it where not given"},
		&cli.IntFlag{Name: "chips", Usage: "chips bought or rented, spares included"},
		&cli.IntFlag{Name: "spares", Usage: "of these, kept for failures"},
		&cli.IntFlag{Name: "chips-per-node", Usage: "chips of a server"},
		&cli.Float64Flag{Name: "watts", Usage: "draw of a busy chip"},
		&cli.Float64Flag{Name: "idle-watts", Usage: "draw of an idle chip"},
		&cli.Float64Flag{Name: "tokens-in-per-second", Usage: "mean input tokens a second, cached ones included"},
		&cli.Float64Flag{Name: "tokens-cached-per-second", Usage: "of these, found in the prefix cache"},
		&cli.Float64Flag{Name: "tokens-out-per-second", Usage: "mean output tokens a second"},
		&cli.Float64Flag{Name: "requests-per-second", Usage: "mean requests a second"},
		&cli.Float64Flag{Name: "utilisation", Usage: "mean load / load the fleet holds within its SLA"},
		&cli.Float64Flag{Name: "prefill-share", Usage: "share of busy time that prefill takes, for the chip-second split"},
		&cli.StringFlag{Name: "ownership", Usage: "buy or rent"},
		&cli.Float64Flag{Name: "price", Usage: "US dollars: a chip to buy, a chip-hour to rent; default: the price book's median"},
		&cli.StringFlag{Name: "price-tier", Usage: "on-demand, reserved, spot, marketplace or purchase"},
		&cli.StringFlag{Name: "price-provider", Usage: "provider whose price counts"},
		&cli.StringSliceFlag{Name: "price-book", Usage: "TOML with your own prices; may be repeated"},
		&cli.StringFlag{Name: "region", Usage: "tariff, grid carbon and colocation of a region in the price book"},
		&cli.IntFlag{Name: "horizon-months", Usage: "months the cost is counted over"},
		&cli.StringFlag{Name: "method", Usage: "annuity or straight-line, for what is bought"},
		&cli.Float64Flag{Name: "pue", Usage: "facility power / IT power"},
		&cli.Float64Flag{Name: "usd-per-kwh", Usage: "electricity tariff"},
		&cli.StringFlag{Name: "as-of", Usage: "date at which prices are judged, YYYY-MM-DD; default: today"},
	}
}

// priced is a deployment ready to be evaluated.
type priced struct {
	file  *cost.File
	input cost.Input
	costs cost.Assumptions
	notes []string
}

func costAction(c *cli.Context) error {
	f, err := format(c, "table", "json", "csv")
	if err != nil {
		return err
	}
	if c.Args().Len() > 1 {
		return exactArgs(c, "FILE.toml")
	}
	file, err := readCostFile(c.Args().First())
	if err != nil {
		return err
	}
	if err := fleetOverrides(c, file); err != nil {
		return err
	}
	if file.Hosted != nil {
		return fmt.Errorf("cost: a hosted price list has no cost of its own; compare it with a fleet by scoville breakeven")
	}
	place := "cost"
	if name := c.Args().First(); name != "" {
		place = name
	}
	p, err := completeCost(file, filepath.Dir(c.Args().First()))
	if err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	r, err := cost.Evaluate(p.input, p.costs)
	if err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	switch f {
	case "json":
		return printJSON(c.App.Writer, struct {
			Result      *cost.Result `json:"result"`
			Assumptions []cost.Line  `json:"assumptions"`
			Notes       []string     `json:"notes,omitempty"`
			Input       cost.Input   `json:"input"`
		}{r, p.costs.Lines(), p.notes, p.input})
	case "csv":
		return printCash(c, r)
	}
	return printCost(c, r, p)
}

// readCostFile reads a file, or gives the defaults when there is none.
func readCostFile(name string) (*cost.File, error) {
	if name == "" {
		return cost.DecodeFile("flags", nil)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return cost.DecodeFile(name, data)
}

// fleetOverrides lays the flags that were set over a cost file.
func fleetOverrides(c *cli.Context, f *cost.File) error {
	text := map[string]*string{"chip": &f.Chip, "price-tier": &f.PriceTier, "price-provider": &f.PriceProvider, "region": &f.Region,
		"ownership": &f.Cost.Ownership, "method": &f.Cost.Method, "as-of": &f.AsOf}
	whole := map[string]*int{"chips": &f.Fleet.Chips, "spares": &f.Fleet.SpareChips, "chips-per-node": &f.Fleet.ChipsPerNode, "horizon-months": &f.Cost.HorizonMonths}
	number := map[string]*float64{"tokens-in-per-second": &f.Fleet.Mean.InputTokensPerSecond, "tokens-cached-per-second": &f.Fleet.Mean.CachedTokensPerSecond,
		"tokens-out-per-second": &f.Fleet.Mean.OutputTokensPerSecond, "requests-per-second": &f.Fleet.Mean.RequestsPerSecond,
		"utilisation": &f.Utilisation, "prefill-share": &f.Fleet.PrefillShare}
	for name, to := range text {
		if c.IsSet(name) {
			*to = c.String(name)
		}
	}
	for name, to := range whole {
		if c.IsSet(name) {
			*to = c.Int(name)
		}
	}
	for name, to := range number {
		if c.IsSet(name) {
			*to = c.Float64(name)
		}
	}
	if c.IsSet("watts") || c.IsSet("idle-watts") {
		if !c.IsSet("watts") {
			return fmt.Errorf("%s: --idle-watts needs --watts, the draw of a busy chip", commandName(c))
		}
		f.Fleet.Power = []cost.PowerPoint{{LoadShare: 0, WattsPerChip: c.Float64("idle-watts")}, {LoadShare: 1, WattsPerChip: c.Float64("watts")}}
	}
	if c.IsSet("pue") {
		f.Cost.Running.PUE = cost.Given(c.Float64("pue"))
	}
	if c.IsSet("usd-per-kwh") {
		f.Cost.Running.Electricity = cost.Electricity{USDPerKWh: cost.Given(c.Float64("usd-per-kwh"))}
	}
	if c.IsSet("price") {
		setPrice(&f.Cost, c.Float64("price"))
	}
	f.PriceBooks = append(f.PriceBooks, c.StringSlice("price-book")...)
	return nil
}

func setPrice(a *cost.Assumptions, usd float64) {
	if a.Ownership == cost.Rent {
		a.Renting = []cost.Lease{{Tier: "on-demand", USDPerChipHour: cost.Given(usd)}}
		return
	}
	a.Buying.Accelerator.Price = cost.Given(usd)
}

// completeCost fills in from the price book and the chip profile what a cost file leaves open, and says so in notes.
func completeCost(f *cost.File, folder string) (*priced, error) {
	p := &priced{file: f, input: f.Fleet, costs: f.Cost}
	if f.AsOf == "" {
		f.AsOf = time.Now().UTC().Format(time.DateOnly)
	}
	asOf, err := cost.ParseDate(f.AsOf)
	if err != nil {
		return nil, fmt.Errorf("as_of: %w", err)
	}
	p.costs.AsOf = asOf.Format(time.DateOnly)
	if p.input.Name == "" {
		p.input.Name = f.Title
	}
	if p.input.Name == "" {
		p.input.Name = f.Chip
	}
	if f.Hosted != nil {
		return p, nil
	}
	book, err := loadBooks(f.PriceBooks, folder)
	if err != nil {
		return nil, err
	}
	if err := p.fromBook(book, asOf); err != nil {
		return nil, err
	}
	if err := p.fromProfile(); err != nil {
		return nil, err
	}
	if f.Utilisation != 0 {
		if !(f.Utilisation > 0 && f.Utilisation <= 1) {
			return nil, fmt.Errorf("utilisation is %g; expected above 0, at most 1", f.Utilisation)
		}
		p.input.Full = p.input.Mean.Times(1 / f.Utilisation)
	}
	return p, nil
}

func loadBooks(names []string, folder string) (*profiles.PriceBook, error) {
	var files []string
	for _, n := range names {
		if _, err := os.Stat(n); err != nil && !filepath.IsAbs(n) {
			n = filepath.Join(folder, n)
		}
		files = append(files, n)
	}
	return profiles.LoadPrices(files...)
}

// fromBook takes the price and the region's figures from the price book.
func (p *priced) fromBook(book *profiles.PriceBook, asOf time.Time) error {
	if p.file.Region != "" {
		r, err := book.Tariff(p.file.Region, "")
		if err != nil {
			return err
		}
		r.Apply(&p.costs)
	}
	buying := p.costs.Ownership == cost.Buy
	if p.file.Chip == "" || (buying && p.costs.Buying.Accelerator.Price.Known()) || (!buying && len(p.costs.Renting) > 0) {
		return nil
	}
	q := profiles.PriceQuery{Chip: p.file.Chip, Provider: p.file.PriceProvider, Tier: p.file.PriceTier}
	if q.Tier == "" {
		q.Tier = map[bool]string{true: profiles.Purchase, false: profiles.OnDemand}[buying]
	}
	quote, err := book.Quote(q, asOf)
	if err != nil {
		return err
	}
	quote.Apply(&p.costs)
	p.notes = append(p.notes, fmt.Sprintf("price of %s: median of %d between %.4g and %.4g USD: %s", q.Chip, quote.Count, quote.Low, quote.High, quote.Price.Key))
	return nil
}

// fromProfile takes watts and the node from the chip's profile.
func (p *priced) fromProfile() error {
	if p.file.Chip == "" {
		return nil
	}
	chip, err := profiles.Chip(p.file.Chip)
	if err != nil {
		return err
	}
	if p.input.ChipsPerNode == 0 {
		p.input.ChipsPerNode = chip.Node.Chips
	}
	if p.input.NodeOverheadWatts == 0 {
		p.input.NodeOverheadWatts, p.input.OverheadPerWatt = chip.Node.OverheadWatts.Value, chip.Node.OverheadPerWatt.Value
	}
	if len(p.input.Power) == 0 && chip.Power.LimitWatts.Known() {
		p.input.Power = []cost.PowerPoint{{LoadShare: 0, WattsPerChip: chip.Power.IdleWatts.Value}, {LoadShare: 1, WattsPerChip: chip.Power.LimitWatts.Value}}
		p.notes = append(p.notes, fmt.Sprintf("watts of %s: idle %.0f, and the power limit of %.0f at full load; a simulation (scoville plan) gives the real draw", chip.Name, chip.Power.IdleWatts.Value, chip.Power.LimitWatts.Value))
	}
	return nil
}

func printCash(c *cli.Context, r *cost.Result) error {
	t := plainTable()
	t.SetOutputMirror(c.App.Writer)
	head := table.Row{"month", "cash", "cumulative"}
	for _, p := range r.Components {
		head = append(head, p.Name)
	}
	t.AppendHeader(head)
	for _, m := range r.Cash {
		row := table.Row{m.Month, m.Amount.StringFixed(2), m.Cumulative.StringFixed(2)}
		for _, v := range m.ByComponent {
			row = append(row, v.StringFixed(2))
		}
		t.AppendRow(row)
	}
	t.RenderCSV()
	return nil
}
