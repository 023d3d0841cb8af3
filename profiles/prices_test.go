package profiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"scoville/model/cost"
)

func asOf(t *testing.T) time.Time {
	t.Helper()
	day, err := cost.ParseDate("2026-11-30")
	if err != nil {
		t.Fatal(err)
	}
	return day
}

func book(t *testing.T, files ...string) *PriceBook {
	t.Helper()
	b, err := LoadPrices(files...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestShippedPrices(t *testing.T) {
	b := book(t)
	if len(b.Prices) < 150 || len(b.Regions) < 30 {
		t.Errorf("%d prices and %d regions; the book has shrunk", len(b.Prices), len(b.Regions))
	}
	for _, p := range b.Prices {
		if _, err := os.Stat(filepath.Join("chips", p.Chip+".toml")); err != nil {
			t.Logf("%s prices a chip without a profile", p.Key)
		}
		if p.Tier == Purchase {
			if v := p.USDPerChip(); v < 500 || v > 3.5e6 {
				t.Errorf("%s is %g a chip", p.Key, v)
			}
		} else if v := p.USDPerChip(); v < 0.1 || v > 20 {
			t.Errorf("%s is %g a chip-hour", p.Key, v)
		}
	}
	for _, chip := range []string{"h100-sxm", "h200-sxm", "b200-sxm", "mi300x", "l40s", "tpu-v6e", "trainium2"} {
		if _, err := b.Quote(PriceQuery{Chip: chip, Tier: OnDemand}, asOf(t)); err != nil {
			t.Error(err)
		}
	}
	for _, chip := range []string{"h100-sxm", "h200-sxm", "b200-sxm", "mi300x", "gaudi3"} {
		if _, err := b.Quote(PriceQuery{Chip: chip, Tier: Purchase}, asOf(t)); err != nil {
			t.Error(err)
		}
	}
}

// The newest price of each provider on 2026-11-30: RunPod 2.69, Hyperstack 3.20, Crusoe 3.90, Lambda 3.99, Nebius 4.50,
// CoreWeave 6.155, AWS 6.88, GCP 10.98, Azure 12.29. The median is an offer, not an average.
func TestQuoteIsTheMedianProvider(t *testing.T) {
	q, err := book(t).Quote(PriceQuery{Chip: "h100-sxm", Tier: OnDemand}, asOf(t))
	if err != nil {
		t.Fatal(err)
	}
	if q.Price.Provider != "nebius" || q.Price.USDPerChip() != 4.5 || q.Low != 2.69 || q.High != 12.29 || q.Count != 9 {
		t.Errorf("%+v", q)
	}
}

func TestPurchaseQuoteIsTheMidpoint(t *testing.T) {
	q, err := book(t).Quote(PriceQuery{Chip: "h100-sxm", Tier: Purchase}, asOf(t))
	if err != nil {
		t.Fatal(err)
	}
	if q.Price.USDPerChip() != 27500 || q.Price.Scope != "" {
		t.Errorf("%+v", q)
	}
	a := cost.Default()
	q, err = book(t).Quote(PriceQuery{Chip: "b300-sxm", Tier: Purchase}, asOf(t))
	if err != nil {
		t.Fatal(err)
	}
	q.Apply(&a)
	if a.Buying.Accelerator.Price.Value != 325000.0/8 || a.Buying.Host.Price.Value != 0 || a.Buying.Network.Price.Value == 0 {
		t.Errorf("a server's price must stand for its host, not for the network: %+v", a.Buying)
	}
}

func TestUserBookOverridesByKey(t *testing.T) {
	name := filepath.Join(t.TempDir(), "mine.toml")
	const shipped = "aws/h100-sxm/on-demand/p5.48xlarge/us-east-1"
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(`[[price]]
key = "` + shipped + `"
chip = "h100-sxm"
provider = "aws"
tier = "on-demand"
usd = 30.0
per = "hour"
chips = 8
kind = "measured"
source = "our invoice 2026-11"
date = "2026-11-28"
[[region]]
name = "Ohio"
usage = "industrial"
electricity_usd_per_kwh = 0.061
`)
	b := book(t, name)
	if len(b.Prices) != len(book(t).Prices) {
		t.Error("an override must replace, not add")
	}
	q, err := b.Quote(PriceQuery{Chip: "h100-sxm", Tier: OnDemand}, asOf(t))
	if err != nil || q.Price.USDPerChip() != 3.75 || !q.Price.User {
		t.Errorf("%+v, %v", q, err)
	}
	if r, err := b.Tariff("ohio", "industrial"); err != nil || r.Electricity.Value != 0.061 {
		t.Errorf("%+v, %v", r, err)
	}
	for text, want := range map[string]string{
		"[[price]]\nkey=\"a\"\nchip=\"x\"\nprovider=\"p\"\ntier=\"on-demnd\"\nusd=1\nper=\"hour\"\nkind=\"measured\"\nsource=\"s\"\ndate=\"2026\"":  `did you mean "on-demand"`,
		"[[price]]\nkey=\"a\"\nchip=\"x\"\nprovider=\"p\"\ntier=\"spot\"\nusd=1\nper=\"hour\"\nkind=\"measured\"\nsource=\"s\"\ndate=\"last week\"": "not YYYY",
		"[[price]]\nky=\"a\"": `did you mean "key"`,
		"[[price]]\nkey=\"a\"\nchip=\"x\"\nprovider=\"p\"\ntier=\"spot\"\nusd=-1\nper=\"hour\"\nkind=\"measured\"\nsource=\"s\"\ndate=\"2026\"": "expected above 0",
		"[[price]]\nkey=\"a\"\nchip=\"x\"\nprovider=\"p\"\ntier=\"spot\"\nusd=1\nper=\"chip\"\nkind=\"measured\"\nsource=\"s\"\ndate=\"2026\"":  `expected "hour"`,
	} {
		write(text)
		if _, err := LoadPrices(name); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "mine.toml") {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if _, err := LoadPrices(filepath.Join(t.TempDir(), "none.toml")); err == nil {
		t.Error("a missing price book must be an error")
	}
}

func TestUnknownNamesAreErrors(t *testing.T) {
	b := book(t)
	for q, want := range map[PriceQuery]string{
		{Chip: "h100-sxn"}:               `did you mean "h100-sxm"`,
		{Tier: "on-deman"}:               `did you mean "on-demand"`,
		{Provider: "lamda"}:              `did you mean "lambda"`,
		{Chip: "gaudi3", Tier: OnDemand}: "",
	} {
		_, err := b.Find(q)
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: error %v, want %q", q, err, want)
		}
	}
	if _, err := b.Quote(PriceQuery{Chip: "gaudi3", Tier: OnDemand}, asOf(t)); err == nil || !strings.Contains(err.Error(), "no on-demand price of gaudi3") {
		t.Errorf("error %v", err)
	}
	if _, err := b.Tariff("Ohia", ""); err == nil || !strings.Contains(err.Error(), `did you mean "Ohio"`) {
		t.Errorf("error %v", err)
	}
}

func FuzzPriceBook(f *testing.F) {
	f.Add([]byte("[[price]]\nkey=\"a\"\nchip=\"x\"\nprovider=\"p\"\ntier=\"spot\"\nusd=1\nper=\"hour\"\nkind=\"measured\"\nsource=\"s\"\ndate=\"2026\""))
	f.Add([]byte("[[region]]\nname=\"a\"\nusage=\"grid\"\ngrid_kgco2e_per_kwh={value=0.1,kind=\"x\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := &PriceBook{}
		if err := b.merge("fuzz.toml", data, true); err != nil {
			return
		}
		for _, p := range b.Prices {
			if !(p.USDPerChip() > 0) {
				t.Errorf("accepted a price of %g", p.USDPerChip())
			}
		}
	})
}
