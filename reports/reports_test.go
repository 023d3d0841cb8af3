package reports

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jedib0t/go-pretty/v6/text"

	"scoville/sim/plan"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with testdata/name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		write(t, path, got)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got; -update rewrites):\n%s", path, d)
	}
}

func TestGolden(t *testing.T) {
	r := resultFixture(3)
	for _, f := range []struct {
		name string
		fill func(*bytes.Buffer) error
	}{
		{"three.json", func(b *bytes.Buffer) error { return JSON(b, r) }},
		{"three.txt", func(b *bytes.Buffer) error { return Table(b, r) }},
		{"three.zh.txt", func(b *bytes.Buffer) error { return TableIn(b, r, Options{Lang: "zh"}) }},
		{"none.txt", func(b *bytes.Buffer) error { return Table(b, fixtures()["none"]) }},
		{"three.csv", func(b *bytes.Buffer) error { return CSV(b, r) }},
		{"three-load.csv", func(b *bytes.Buffer) error { return LoadCSV(b, r) }},
		{"diff.txt", func(b *bytes.Buffer) error { return DiffText(b, Diff(r, changed3())) }},
	} {
		t.Run(f.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := f.fill(&b); err != nil {
				t.Fatal(err)
			}
			golden(t, f.name, b.Bytes())
		})
	}
}

// changed3 is the fixture after a price cut and a rise of traffic.
func changed3() *plan.Result {
	r := resultFixture(3)
	r.Workload.PeakQPS = 55
	r.AsOf = "2026-12-01"
	r.Assumptions[2].Value = "$24,000 a chip"
	r.PlanText = strings.Replace(r.PlanText, "42", "55", 1)
	c := &r.Candidates[0]
	c.Cost = costFixture(float64(c.Fleet.Chips+8), 24000)
	c.Fleet.Chips, c.Fleet.Replicas = c.Fleet.Chips+8, c.Fleet.Replicas+3
	return r
}

func TestSVGGolden(t *testing.T) {
	dir := t.TempDir()
	if _, err := SVGs(dir, resultFixture(3), Options{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"latency-ttft.svg", "tornado.svg"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, got)
	}
}

// TestReadBack reads a saved result and finds it unchanged.
func TestReadBack(t *testing.T) {
	for name, r := range fixtures() {
		var b bytes.Buffer
		if err := JSON(&b, r); err != nil {
			t.Fatal(err)
		}
		back, err := Decode(name, b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		var again bytes.Buffer
		if err := JSON(&again, back); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Errorf("%s changed by being saved and read", name)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"schema", `{"schema":"scoville.plan/0"}`, `schema is "scoville.plan/0"; this version reads "scoville.plan/1"`},
		{"no schema", `{}`, `schema is ""`},
		{"unknown field", "{\"schema\":\"scoville.plan/1\",\n\"tilte\":\"x\"}", `unknown field "tilte"`},
		{"wrong type", "{\"schema\":\"scoville.plan/1\",\n\n\"seed\":\"x\"}", "f.json:3: "},
		{"syntax", "{\"schema\":\n\n]}", "f.json:3: "},
		{"tail", `{"schema":"scoville.plan/1"} {}`, "f.json"},
		{"nameless", `{"schema":"scoville.plan/1","candidates":[{}]}`, "candidates[0].name is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Decode("f.json", []byte(c.in))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v; expected it to say %q", err, c.want)
			}
		})
	}
}

// FuzzDecode draws whatever decodes: no input may bring a report down.
func FuzzDecode(f *testing.F) {
	var b bytes.Buffer
	if err := JSON(&b, resultFixture(2)); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"schema":"scoville.plan/1","candidates":[{"name":"a","feasible":true,"cost":{"levers":{"points":[{}]}}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Decode("fuzz", data)
		if err != nil {
			return
		}
		for _, lang := range Langs() {
			var out bytes.Buffer
			if err := TableIn(&out, r, Options{Lang: lang}); err != nil {
				t.Fatal(err)
			}
			Build(r, lang)
		}
	})
}

// TestTableFits80 holds for every fixture: no line is wider than the terminal.
func TestTableFits80(t *testing.T) {
	for name, r := range fixtures() {
		for _, lang := range Langs() {
			var b bytes.Buffer
			if err := TableIn(&b, r, Options{Lang: lang}); err != nil {
				t.Fatal(err)
			}
			for _, l := range strings.Split(b.String(), "\n") {
				if w := text.StringWidth(l); w > 80 {
					t.Errorf("%s %s: %d columns: %s", name, lang, w, l)
				}
			}
			if strings.Contains(b.String(), "\x1b") {
				t.Errorf("%s %s: colour without a terminal", name, lang)
			}
		}
	}
}

// TestPDF checks every fixture: same bytes twice, under 2 MB, and free of the marks of a number gone wrong.
func TestPDF(t *testing.T) {
	for _, name := range []string{"three", "none", "free", "chinese", "empty"} {
		var a, b bytes.Buffer
		if _, err := PDF(&a, fixtures()[name], Options{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := PDF(&b, fixtures()[name], Options{}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s: two PDFs of one result differ", name)
		}
		if a.Len() >= 2<<20 {
			t.Errorf("%s: %d bytes; the limit is 2 MB", name, a.Len())
		}
	}
}

// TestPDFSaysEverything finds what the document claims to show in the text of the PDF: every cell of every table, every
// headline figure, and the values of the result that they come from.
func TestPDFSaysEverything(t *testing.T) {
	tool, err := exec.LookPath("pdftotext")
	if err != nil {
		t.Skip("pdftotext is absent: the text of the PDF can't be read back")
	}
	for _, name := range []string{"three", "twelve", "long"} {
		r := fixtures()[name]
		var b bytes.Buffer
		if _, err := PDF(&b, r, Options{}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "r.pdf")
		write(t, path, b.Bytes())
		out, err := exec.Command(tool, "-layout", path, "-").Output()
		if err != nil {
			t.Fatal(err)
		}
		shown := squeeze(string(out))
		for _, s := range Build(r, "en").Sections {
			for _, block := range s.Blocks {
				for _, want := range claims(block) {
					if !strings.Contains(shown, squeeze(want)) {
						t.Errorf("%s: the PDF lacks %q of %q", name, want, s.Title)
					}
				}
			}
		}
		k := r.Candidates[0].Cost
		for _, want := range []string{perMillion(k.PerMBoth), money(k.TCO), money(k.NPV), perMillion(k.MonteCarlo.PerM.P10), strconv.Itoa(r.Candidates[0].Fleet.Chips), number(r.Candidates[0].Capacity.Low), r.Version, r.Command} {
			if !strings.Contains(shown, squeeze(want)) {
				t.Errorf("%s: the PDF lacks %q", name, want)
			}
		}
		for _, bad := range []string{"NaN", "Inf", "%!", "<nil>"} {
			if strings.Contains(string(out), bad) {
				t.Errorf("%s: the PDF shows %q", name, bad)
			}
		}
	}
}

// claims are the figures of a block: texts that hold a digit and fit one line, so that wrapping can't part them.
func claims(b Block) []string {
	var out []string
	digit := func(s string) {
		if strings.ContainsAny(s, "0123456789") && len(s) < 24 && !strings.Contains(s, "-") {
			out = append(out, s)
		}
	}
	switch v := b.(type) {
	case Figures:
		for _, f := range v {
			out = append(out, f.Value)
		}
	case Grid:
		for _, row := range v.Rows {
			for _, c := range row[1:] {
				digit(c)
			}
		}
	}
	return out
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// TestPDFFontsAreEmbedded asks pdffonts.
func TestPDFFontsAreEmbedded(t *testing.T) {
	tool, err := exec.LookPath("pdffonts")
	if err != nil {
		t.Skip("pdffonts is absent: embedding can't be checked")
	}
	var b bytes.Buffer
	if _, err := PDF(&b, resultFixture(3), Options{}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "r.pdf")
	write(t, path, b.Bytes())
	out, err := exec.Command(tool, path).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) < 4 {
		t.Fatalf("no fonts listed:\n%s", out)
	}
	for _, l := range lines[2:] {
		// name, type, encoding, emb, sub, uni, object ID (two numbers)
		f := strings.Fields(l)
		if n := len(f); n < 5 || f[n-5] != "yes" {
			t.Errorf("not embedded: %s", l)
		}
	}
}

func TestMissingGlyphsAreWarned(t *testing.T) {
	r := resultFixture(1)
	r.Title = "Plan \U0001F600"
	warnings, err := PDF(&bytes.Buffer{}, r, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "\U0001F600") {
		t.Errorf("warnings are %q; expected one that names the character", warnings)
	}
}

func TestFontIsChecked(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ content, want string }{{"OTTO01234567890", "CFF"}, {"ttcf01234567890", "collection"}, {"hello, this is text", "not a TrueType font"}} {
		path := filepath.Join(dir, "f.ttf")
		write(t, path, []byte(c.content))
		if _, err := PDF(&bytes.Buffer{}, resultFixture(1), Options{Font: path}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error is %v; expected %q", err, c.want)
		}
	}
	if _, err := PDF(&bytes.Buffer{}, resultFixture(1), Options{Lang: "de"}); err == nil {
		t.Error("an unknown language is accepted")
	}
}

// TestPageNeedsNothing checks that the page loads nothing and lets nothing of the result in as markup.
func TestPageNeedsNothing(t *testing.T) {
	r := resultFixture(2)
	r.Title = `<script>alert(1)</script>`
	r.Candidates[0].Name = `</script><b>"x"`
	var b bytes.Buffer
	if _, err := HTML(&b, r, Options{}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, bad := range []string{"<script>alert", `</script><b>`, "<link", "<img", "@import", "fetch(", "XMLHttpRequest"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if m := regexp.MustCompile(`(?:src|href)="([^"#][^"]*)"`).FindAllString(page, -1); len(m) > 0 {
		t.Errorf("the page refers to %q", m)
	}
	if n := strings.Count(pageScript, "\n"); n > 150 {
		t.Errorf("the script has %d lines; the limit is 150", n)
	}
}

// TestPageComputes moves the sliders in a browser and compares with Move.
func TestPageComputes(t *testing.T) {
	if testing.Short() {
		t.Skip("starting Chromium takes seconds")
	}
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Skip("no Chromium: the page's script can't be run")
	}
	r := resultFixture(3)
	dir := t.TempDir()
	var b bytes.Buffer
	if _, err := HTML(&b, r, Options{}); err != nil {
		t.Fatal(err)
	}
	type move struct{ Which, Price, Tariff, PUE, Utilisation float64 }
	moves := []move{{0, 32000, 0.11, 1.25, 0.42}, {1, 24500, 0.19, 1.5, 0.6}, {0, 0, 0, 1, 0.573}}
	// A hand on the sliders: choose, drag each, read what the page then says.
	hand := "<script>const said=[];"
	for _, m := range moves {
		hand += fmt.Sprintf(`$("which").value=%g;$("which").dispatchEvent(new Event("change"));`, m.Which)
		for _, s := range []struct {
			id string
			v  float64
		}{{"price", m.Price}, {"tariff", m.Tariff}, {"pue", m.PUE}, {"utilisation", m.Utilisation}} {
			hand += fmt.Sprintf(`$(%q).value=%g;$(%q).dispatchEvent(new Event("input"));`, s.id, s.v, s.id)
		}
		hand += `said.push(["perm","in","out","tco","month"].map(k=>$("out-"+k).textContent));`
	}
	hand += `document.title=said.map(r=>r.join("|")).join(";");</script></body>`
	path := filepath.Join(dir, "report.html")
	write(t, path, []byte(strings.Replace(b.String(), "</body>", hand, 1)))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+dir, "--dump-dom", "file://"+path).Output()
	if err != nil {
		t.Skipf("the browser does not run here: %v", err)
	}
	title := regexp.MustCompile(`<title>([^<]*)</title>`).FindStringSubmatch(string(out))
	if title == nil {
		t.Fatal("the page has no title")
	}
	said := strings.Split(title[1], ";")
	if len(said) != len(moves) {
		t.Fatalf("the page said %q", title[1])
	}
	for i, m := range moves {
		k := r.Candidates[int(m.Which)].Cost
		want := Move(k, m.Price, m.Tariff, m.PUE, m.Utilisation)
		if i == 0 && cents(want.PerM) != cents(k.PerMBoth) {
			t.Errorf("nothing moved, yet Move says %v for %v", want.PerM, k.PerMBoth)
		}
		got := strings.Split(said[i], "|")
		for j, v := range []float64{want.PerM, want.PerMIn, want.PerMOut, want.TCO, want.Monthly} {
			g, err := strconv.ParseFloat(strings.NewReplacer("$", "", ",", "").Replace(got[j]), 64)
			if err != nil || cents(g) != cents(v) {
				t.Errorf("%+v: the page says %q for figure %d, Move %v", m, got[j], j, v)
			}
		}
	}
}

func TestFormats(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{money(0), "$0"}, {money(1234567.4), "$1,234,567"}, {money(12.345), "$12.35"}, {money(999.996), "$1,000"}, {money(-5), "-$5.00"}, {money(0.00123), "$0.00123"},
		{moneyShort(12345678), "$12.3 M"}, {moneyShort(999999), "$1.00 M"}, {moneyShort(950), "$950.00"},
		{perMillion(1.005), "$1.00"}, {perMillion(0.4213), "$0.421"}, {perMillion(0.9999), "$1.00"}, {perMillion(0.0012), "$0.0012"},
		{seconds(0.4123), "412 ms"}, {seconds(0.9996), "1.00 s"}, {seconds(1.834), "1.83 s"}, {seconds(0.0231), "23.1 ms"}, {seconds(0.00085), "850 µs"},
		{limitText(1), "1 s"}, {limitText(0.05), "50 ms"}, {limitText(0.1235), "124 ms"},
		{percent(0.1234), "12.3 %"}, {percent(1), "100 %"}, {percent(0), "0 %"}, {percent(12.5), "1,250.0 %"},
		{number(1234.6), "1,235"}, {number(9.996), "10.0"}, {number(42), "42"}, {number(0.0123), "0.0123"},
		{si(141e9, "B"), "141 GB"}, {si(163840, "B"), "164 kB"}, {parameters(70.6e9), "70.6 B"}, {parameters(1.04e12), "1.04 T"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func BenchmarkPDF(b *testing.B) {
	r := resultFixture(12)
	for b.Loop() {
		if _, err := PDF(&bytes.Buffer{}, r, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPDFChinese(b *testing.B) {
	r := resultFixture(3)
	for b.Loop() {
		if _, err := PDF(&bytes.Buffer{}, r, Options{Lang: "zh"}); err != nil {
			b.Fatal(err)
		}
	}
}
