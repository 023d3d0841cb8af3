package profiles

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"sort"
	"strings"
	"time"

	"scoville/model/cost"
	"scoville/model/fact"
	"scoville/model/tomlfile"
)

// Price tiers. What a renter may pick is on-demand, reserved, spot and marketplace; index and ownership are published
// figures to compare with; purchase is for buying.
const (
	OnDemand    = "on-demand"
	Reserved    = "reserved"
	Spot        = "spot"
	Marketplace = "marketplace"
	Index       = "index"
	Ownership   = "ownership"
	Purchase    = "purchase"
)

func priceTiers() []string {
	return []string{OnDemand, Reserved, Spot, Marketplace, Index, Ownership, Purchase}
}

// Price is one published price of a chip.
type Price struct {
	Key      string `toml:"key" json:"key"` // unique; a user's book overrides by it
	Chip     string `toml:"chip" json:"chip"`
	Provider string `toml:"provider" json:"provider"`
	Tier     string `toml:"tier" json:"tier"`
	Region   string `toml:"region" json:"region,omitempty"`
	SKU      string `toml:"sku" json:"sku,omitempty"`
	// USD is the price of Chips chips (default 1) per "hour", or for good ("chip").
	USD   float64 `toml:"usd" json:"usd"`
	Per   string  `toml:"per" json:"per"`
	Chips float64 `toml:"chips" json:"chips"`
	// Scope says what a purchase holds beside the accelerators: "" nothing, "server" the host too, "rack" also the network.
	Scope  string    `toml:"scope" json:"scope,omitempty"`
	Kind   fact.Kind `toml:"kind" json:"kind"`
	Source string    `toml:"source" json:"source"`
	Date   string    `toml:"date" json:"date"`
	Note   string    `toml:"note" json:"note,omitempty"`
	// User is true for prices from a user's book: they come before shipped ones.
	User bool `toml:"-" json:"user,omitempty"`
}

// USDPerChip is the price of one chip, an hour or for good.
func (p Price) USDPerChip() float64 { return p.USD / p.Chips }

// Figure is USDPerChip with its provenance.
func (p Price) Figure() cost.Figure {
	f := cost.Sourced(p.USDPerChip(), p.Kind, p.Source, p.Date)
	f.Note = strings.Trim(strings.Join([]string{p.Key, p.Note}, "; "), "; ")
	return f
}

// Region is what power and space cost somewhere, and what the grid emits. An unknown figure is zero: the user gives it.
type Region struct {
	Name        string      `toml:"name" json:"name"`
	Usage       string      `toml:"usage" json:"usage"` // "industrial", "commercial", "grid", "colocation"
	Electricity cost.Figure `toml:"electricity_usd_per_kwh" json:"electricity_usd_per_kwh"`
	GridCarbon  cost.Figure `toml:"grid_kgco2e_per_kwh" json:"grid_kgco2e_per_kwh"`
	Colocation  cost.Figure `toml:"colocation_usd_per_kw_month" json:"colocation_usd_per_kw_month"`
}

// PriceBook holds prices and regions, in a fixed order.
type PriceBook struct {
	Prices  []Price  `json:"prices"`
	Regions []Region `json:"regions"`
}

type priceFile struct {
	Prices  []Price  `toml:"price"`
	Regions []Region `toml:"region"`
}

// LoadPrices reads the shipped price book and lays the user's files over it: a price with a known key replaces it, a
// region with a known name and usage too, anything else is added.
func LoadPrices(userFiles ...string) (*PriceBook, error) {
	names, err := fs.Glob(files, "prices/*.toml")
	if err != nil {
		return nil, err
	}
	b := &PriceBook{}
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if err := b.merge(path.Join("profiles", name), data, false); err != nil {
			return nil, err
		}
	}
	for _, name := range userFiles {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, &tomlfile.Error{File: name, Problem: strings.TrimPrefix(err.Error(), "open "+name+": ")}
		}
		if err := b.merge(name, data, true); err != nil {
			return nil, err
		}
	}
	sort.SliceStable(b.Prices, func(i, j int) bool { return b.Prices[i].Key < b.Prices[j].Key })
	return b, nil
}

func (b *PriceBook) merge(name string, data []byte, user bool) error {
	var f priceFile
	if err := tomlfile.Decode(name, data, &f); err != nil {
		return err
	}
	at := make(map[string]int, len(b.Prices))
	for i, p := range b.Prices {
		at[p.Key] = i
	}
	mine := map[string]bool{}
	for i, p := range f.Prices {
		p.User = user
		if p.Chips == 0 {
			p.Chips = 1
		}
		if err := p.check(); err != nil {
			return &tomlfile.Error{File: name, Key: fmt.Sprintf("price[%d] %s", i, p.Key), Problem: err.Error()}
		}
		if mine[p.Key] {
			return &tomlfile.Error{File: name, Key: fmt.Sprintf("price[%d]", i), Problem: fmt.Sprintf("key %q is there twice", p.Key)}
		}
		mine[p.Key] = true
		if j, ok := at[p.Key]; ok {
			b.Prices[j] = p
			continue
		}
		at[p.Key] = len(b.Prices)
		b.Prices = append(b.Prices, p)
	}
	return b.mergeRegions(name, f.Regions)
}

func (b *PriceBook) mergeRegions(name string, regions []Region) error {
next:
	for i, r := range regions {
		if r.Name == "" || r.Usage == "" {
			return &tomlfile.Error{File: name, Key: fmt.Sprintf("region[%d]", i), Problem: "name and usage are needed"}
		}
		for j := range b.Regions {
			if b.Regions[j].Name == r.Name && b.Regions[j].Usage == r.Usage {
				b.Regions[j] = r
				continue next
			}
		}
		b.Regions = append(b.Regions, r)
	}
	return nil
}

func (p Price) check() error {
	for _, f := range []struct{ name, value string }{{"key", p.Key}, {"chip", p.Chip}, {"provider", p.Provider}} {
		if f.value == "" {
			return fmt.Errorf("%s is missing", f.name)
		}
	}
	if err := among("tier", p.Tier, priceTiers()); err != nil {
		return err
	}
	wantPer := "hour"
	if p.Tier == Purchase {
		wantPer = "chip"
	}
	switch {
	case p.Per != wantPer:
		return fmt.Errorf("per is %q; expected %q for the tier %s", p.Per, wantPer, p.Tier)
	case !(p.USD > 0) || !(p.Chips >= 1):
		return fmt.Errorf("usd is %g for %g chips; expected above 0 for at least 1", p.USD, p.Chips)
	case p.Scope != "" && p.Scope != "server" && p.Scope != "rack":
		return among("scope", p.Scope, []string{"server", "rack"})
	}
	if _, err := cost.ParseDate(p.Date); err != nil {
		return err
	}
	return fact.Fact{Kind: p.Kind, Source: p.Source, Date: p.Date}.Check()
}

func among(name, value string, valid []string) error {
	for _, v := range valid {
		if v == value {
			return nil
		}
	}
	if near := tomlfile.Nearest(value, valid); near != "" {
		return fmt.Errorf("%s is %q (did you mean %q?)", name, value, near)
	}
	return fmt.Errorf("%s is %q; expected one of %q", name, value, valid)
}

// PriceQuery narrows the book; an empty field matches all.
type PriceQuery struct {
	Chip, Provider, Tier, Region string
}

// Find lists the prices that match, by key. A chip, provider or tier that no price has is an error with the nearest name.
func (b *PriceBook) Find(q PriceQuery) ([]Price, error) {
	var found []Price
	names := [3][]string{}
	for _, p := range b.Prices {
		names[0], names[1], names[2] = append(names[0], p.Chip), append(names[1], p.Provider), append(names[2], p.Region)
		if (q.Chip == "" || p.Chip == q.Chip) && (q.Provider == "" || p.Provider == q.Provider) &&
			(q.Tier == "" || p.Tier == q.Tier) && (q.Region == "" || p.Region == q.Region) {
			found = append(found, p)
		}
	}
	if q.Tier != "" {
		if err := among("tier", q.Tier, priceTiers()); err != nil {
			return nil, err
		}
	}
	for i, f := range []struct{ name, value string }{{"chip", q.Chip}, {"provider", q.Provider}, {"region", q.Region}} {
		if f.value != "" {
			if err := among(f.name, f.value, unique(names[i])); err != nil {
				return found, fmt.Errorf("no price: %w", err)
			}
		}
	}
	return found, nil
}

func unique(names []string) []string {
	sort.Strings(names)
	var out []string
	for _, n := range names {
		if n != "" && (len(out) == 0 || out[len(out)-1] != n) {
			out = append(out, n)
		}
	}
	return out
}

// Quote is the price taken for a chip, and the spread it was taken from.
type Quote struct {
	Price  Price   `json:"price"`
	Low    float64 `json:"low"` // US dollars a chip, over the newest price of each provider
	High   float64 `json:"high"`
	Count  int     `json:"count"` // prices in the spread
	AgeDay int     `json:"age_days"`
}

// Quote picks one price for a chip. Of each provider only the newest counts; prices older than cost.StaleDays at asOf
// are left out if any fresher exist; a user's prices come before shipped ones. Of the rest it takes the median by price, the
// lower of the two middle ones: a real offer, neither the cheapest nor the dearest. For a purchase, prices of the bare
// accelerator come before those of servers and racks, and the median of low and high estimates is their midpoint.
func (b *PriceBook) Quote(q PriceQuery, asOf time.Time) (Quote, error) {
	found, err := b.Find(q)
	if err != nil {
		return Quote{}, err
	}
	found = newest(preferred(found, asOf), q.Tier != Purchase)
	if len(found) == 0 {
		return Quote{}, fmt.Errorf("the price book has no %s price of %s%s; give one in the plan or in a price book", q.Tier, q.Chip, where(q))
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].USDPerChip() < found[j].USDPerChip() })
	n := len(found)
	quote := Quote{Price: found[(n-1)/2], Low: found[0].USDPerChip(), High: found[n-1].USDPerChip(), Count: n}
	if q.Tier == Purchase && n%2 == 0 {
		quote.Price = midpoint(found[n/2-1], found[n/2])
	}
	quote.AgeDay = ageDays(quote.Price, asOf)
	return quote, nil
}

func where(q PriceQuery) string {
	var b strings.Builder
	if q.Provider != "" {
		b.WriteString(" at " + q.Provider)
	}
	if q.Region != "" {
		b.WriteString(" in " + q.Region)
	}
	return b.String()
}

// preferred drops shipped prices where the user has some, stale ones where fresh ones exist, wider scopes where bare chips exist.
func preferred(prices []Price, asOf time.Time) []Price {
	for _, keep := range []func(Price) bool{
		func(p Price) bool { return p.User },
		func(p Price) bool { return p.Scope == "" },
		func(p Price) bool { return p.Scope != "rack" },
		func(p Price) bool { return ageDays(p, asOf) <= cost.StaleDays },
	} {
		var kept []Price
		for _, p := range prices {
			if keep(p) {
				kept = append(kept, p)
			}
		}
		if len(kept) > 0 {
			prices = kept
		}
	}
	return prices
}

// newest keeps the latest prices of each provider, the cheapest of equal dates; all of them when not one per provider.
func newest(prices []Price, onePerProvider bool) []Price {
	if !onePerProvider {
		return prices
	}
	var out []Price
next:
	for _, p := range prices {
		for i, o := range out {
			if o.Provider != p.Provider {
				continue
			}
			if p.Date > o.Date || (p.Date == o.Date && p.USDPerChip() < o.USDPerChip()) {
				out[i] = p
			}
			continue next
		}
		out = append(out, p)
	}
	return out
}

func midpoint(a, b Price) Price {
	m := a
	m.USD, m.Chips = (a.USDPerChip()+b.USDPerChip())/2, 1
	m.Key = a.Key + " and " + b.Key
	m.Note = fmt.Sprintf("midpoint of %.0f and %.0f", a.USDPerChip(), b.USDPerChip())
	return m
}

func ageDays(p Price, asOf time.Time) int {
	day, err := cost.ParseDate(p.Date)
	if err != nil {
		return 0 // check has refused such a date
	}
	return int(asOf.Sub(day).Hours() / 24)
}

// Apply puts the quote into assumptions: as a lease when they rent, as the accelerator's price when they buy. A server's
// or rack's price stands for host (and network) as well.
func (q Quote) Apply(a *cost.Assumptions) {
	figure := q.Price.Figure()
	if a.Ownership == cost.Rent {
		tier := q.Price.Tier
		if tier != Reserved && tier != Spot {
			tier = OnDemand
		}
		a.Renting = []cost.Lease{{Tier: tier, USDPerChipHour: figure}}
		return
	}
	a.Buying.Accelerator.Price = figure
	if q.Price.Scope != "" {
		a.Buying.Host.Price = cost.Figure{}
	}
	if q.Price.Scope == "rack" {
		a.Buying.Network.Price = cost.Figure{}
	}
}

// Tariff finds a region by name, and by usage where that is given; the first in the book otherwise.
func (b *PriceBook) Tariff(name, usage string) (Region, error) {
	var names []string
	for _, r := range b.Regions {
		names = append(names, r.Name)
		if strings.EqualFold(r.Name, name) && (usage == "" || r.Usage == usage) {
			return r, nil
		}
	}
	return Region{}, among("region", name, unique(names))
}

// Apply puts what is known of a region into assumptions; the rest stays.
func (r Region) Apply(a *cost.Assumptions) {
	if r.Electricity.Known() {
		a.Running.Electricity.USDPerKWh = r.Electricity
		a.Running.Electricity.Region = r.Name
	}
	if r.GridCarbon.Known() {
		a.Running.GridKgCO2ePerKWh = r.GridCarbon
	}
	if r.Colocation.Known() {
		a.Running.ColocationUSDPerKW = r.Colocation
	}
}

// Stale reports whether a price is older than cost.StaleDays at asOf.
func (p Price) Stale(asOf time.Time) bool { return ageDays(p, asOf) > cost.StaleDays }
