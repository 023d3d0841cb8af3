package main

import (
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"
	"scoville/model/cost"
	"scoville/profiles"
)

// pricesCommand shows the price book.
func pricesCommand() *cli.Command {
	filters := []cli.Flag{
		&cli.StringFlag{Name: "chip", Usage: "only this chip"},
		&cli.StringFlag{Name: "provider", Usage: "only this provider"},
		&cli.StringFlag{Name: "tier", Usage: "on-demand, reserved, spot, marketplace, index, ownership or purchase"},
		&cli.StringFlag{Name: "region", Usage: "only this region"},
		&cli.StringSliceFlag{Name: "price-book", Usage: "TOML with your own prices, laid over the shipped ones; may be repeated"},
		&cli.StringFlag{Name: "as-of", Usage: "date at which prices are judged stale, YYYY-MM-DD; default: today"},
		formatFlag(),
	}
	return &cli.Command{
		Name:  "prices",
		Usage: "the shipped price book: what chips cost to rent and to buy, with source and date",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "prices that match", Flags: filters, Action: pricesList},
			{Name: "regions", Usage: "electricity tariffs, grid carbon and colocation rents", Flags: filters[len(filters)-3:], Action: pricesRegions},
		},
	}
}

// asOfDate is --as-of, or today.
func asOfDate(c *cli.Context) (time.Time, error) {
	if !c.IsSet("as-of") {
		return time.Now().UTC(), nil
	}
	day, err := cost.ParseDate(c.String("as-of"))
	if err != nil {
		return day, fmt.Errorf("--as-of: %w", err)
	}
	return day, nil
}

func pricesList(c *cli.Context) error {
	f, err := format(c, "table", "json", "csv")
	if err != nil {
		return err
	}
	if err := exactArgs(c); err != nil {
		return err
	}
	asOf, err := asOfDate(c)
	if err != nil {
		return err
	}
	book, err := profiles.LoadPrices(c.StringSlice("price-book")...)
	if err != nil {
		return err
	}
	found, err := book.Find(profiles.PriceQuery{Chip: c.String("chip"), Provider: c.String("provider"), Tier: c.String("tier"), Region: c.String("region")})
	if err != nil {
		return err
	}
	if f == "json" {
		return printJSON(c.App.Writer, found)
	}
	t := costTable(c.App.Writer, 6)
	head := table.Row{"chip", "provider", "tier", "region", "sku", "USD/chip", "per", "date", "stale", "kind", "source", "key", "note"}
	columns := len(head)
	if f == "table" {
		columns = 11 // key and note are for machines
	}
	t.AppendHeader(head[:columns])
	for _, p := range found {
		row := table.Row{p.Chip, p.Provider, p.Tier, p.Region, p.SKU, fmt.Sprintf("%.4f", p.USDPerChip()), p.Per, p.Date, p.Stale(asOf), p.Kind, p.Source, p.Key, p.Note}
		t.AppendRow(row[:columns])
	}
	if f == "csv" {
		t.RenderCSV()
		return nil
	}
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 11, WidthMax: 48}})
	t.Render()
	fmt.Fprintf(c.App.Writer, "%d prices; stale: older than %d days on %s. Your own: --price-book FILE, by key.\n", len(found), cost.StaleDays, asOf.Format(time.DateOnly))
	return nil
}

func pricesRegions(c *cli.Context) error {
	f, err := format(c, "table", "json", "csv")
	if err != nil {
		return err
	}
	if err := exactArgs(c); err != nil {
		return err
	}
	book, err := profiles.LoadPrices(c.StringSlice("price-book")...)
	if err != nil {
		return err
	}
	if f == "json" {
		return printJSON(c.App.Writer, book.Regions)
	}
	t := costTable(c.App.Writer, 3, 4, 5)
	t.AppendHeader(table.Row{"region", "usage", "USD/kWh", "kgCO2e/kWh", "USD/kW-month", "date", "source"})
	known := func(f cost.Figure) string {
		if !f.Known() {
			return "unknown"
		}
		return fmt.Sprintf("%.4g", f.Value)
	}
	for _, r := range book.Regions {
		from := r.Electricity
		if !from.Known() {
			from = r.GridCarbon
		}
		if !from.Known() {
			from = r.Colocation
		}
		t.AppendRow(table.Row{r.Name, r.Usage, known(r.Electricity), known(r.GridCarbon), known(r.Colocation), from.Date, from.Source})
	}
	if f == "csv" {
		t.RenderCSV()
		return nil
	}
	t.Render()
	return nil
}
