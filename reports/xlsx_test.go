package reports

import (
	"bytes"
	"context"
	"encoding/csv"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"
)

// recalculate lets LibreOffice compute workbooks and returns the cells of sheets as text.
func recalculate(t *testing.T, books [][]byte) func(book int, sheet string) [][]string {
	t.Helper()
	if testing.Short() {
		t.Skip("starting LibreOffice takes seconds")
	}
	office, err := exec.LookPath("soffice")
	if err != nil {
		t.Skip("soffice is absent: the workbook can't be recalculated")
	}
	dir := t.TempDir()
	var files []string
	for i, b := range books {
		files = append(files, filepath.Join(dir, strconv.Itoa(i)+".xlsx"))
		write(t, files[i], b)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	// Token 12 = -1 writes every sheet as book-SHEET.csv; values as shown would lose digits, so 8 (as shown) is off.
	filter := "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,-1"
	args := append([]string{"-env:UserInstallation=file://" + dir + "/profile", "--headless", "--convert-to", filter, "--outdir", dir}, files...)
	cmd := exec.CommandContext(ctx, office, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("soffice: %v\n%s", err, out)
	}
	return func(book int, sheet string) [][]string {
		f, err := os.Open(filepath.Join(dir, strconv.Itoa(book)+"-"+sheet+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r := csv.NewReader(f)
		r.FieldsPerRecord = -1
		rows, err := r.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range rows {
			for k, cell := range row {
				if strings.HasPrefix(cell, "#") && len(cell) > 1 || strings.HasPrefix(cell, "Err:") {
					t.Errorf("%s row %d column %d: %s", sheet, i+1, k+1, cell)
				}
			}
		}
		return rows
	}
}

func cell(t *testing.T, rows [][]string, column, row int) float64 {
	t.Helper()
	if row > len(rows) || column > len(rows[row-1]) {
		t.Fatalf("no cell at column %d row %d", column, row)
	}
	s := strings.NewReplacer("$", "", ",", "").Replace(rows[row-1][column-1])
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatalf("column %d row %d: %v", column, row, err)
	}
	return v
}

func cents(v float64) float64 { return math.Round(v * 100) }

// TestWorkbookRecalculates moves the inputs in the sheet and asks LibreOffice for the costs: to the cent what Move says, and
// what the plan says where nothing moved.
func TestWorkbookRecalculates(t *testing.T) {
	r := resultFixture(3)
	var b bytes.Buffer
	if err := XLSX(&b, r, Options{}); err != nil {
		t.Fatal(err)
	}
	k := r.Candidates[0].Cost
	l := k.Levers
	moves := []struct {
		name                            string
		price, tariff, pue, utilisation float64
	}{
		{"as planned", l.Price, l.USDPerKWh, l.PUE, l.Points[l.PointsSelf].Utilisation},
		{"all moved", 31000, 0.19, 1.4, 0.6},
		{"between points", l.Price, 0.08, l.PUE, 0.573},
		{"free energy", 0, 0, 1, 1},
	}
	var books [][]byte
	for _, m := range moves {
		f, err := excelize.OpenReader(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		for row, v := range map[int]float64{rowPrice: m.price, rowTariff: m.tariff, rowPUE: m.pue, rowUtilisation: m.utilisation} {
			if err := f.SetCellFloat("Cost 1", "B"+strconv.Itoa(row), v, -1, 64); err != nil {
				t.Fatal(err)
			}
		}
		var moved bytes.Buffer
		if err := f.Write(&moved); err != nil {
			t.Fatal(err)
		}
		books = append(books, moved.Bytes())
	}
	sheets := recalculate(t, books)
	for at, m := range moves {
		t.Run(m.name, func(t *testing.T) {
			rows := sheets(at, "Cost 1")
			want := Move(k, m.price, m.tariff, m.pue, m.utilisation)
			for row, v := range map[int]float64{rowPerM: want.PerM, rowPerMIn: want.PerMIn, rowPerMOut: want.PerMOut, rowTCO: want.TCO, rowMonthly: want.Monthly} {
				if got := cell(t, rows, 2, row); cents(got) != cents(v) {
					t.Errorf("row %d: the sheet says %v, Move %v", row, got, v)
				}
			}
			if m.name == "as planned" {
				comparison := sheets(at, "Comparison")
				for i, c := range r.Candidates[:2] {
					if got := cell(t, comparison, 8, 5+i); cents(got) != cents(c.Cost.PerMBoth) {
						t.Errorf("%s: the sheet says %v per million tokens, the plan %v", c.Name, got, c.Cost.PerMBoth)
					}
				}
			}
			months := sheets(at, "Months 1")
			n := len(k.Components)
			if got := cell(t, months, n+3, 3+k.HorizonMonths); math.Abs(got-want.TCO) > 0.02 {
				t.Errorf("months add up to %v, TCO is %v", got, want.TCO)
			}
		})
	}
}

// TestMoveIsThePlan checks that nothing moved changes nothing, and that each lever moves the cost the way it must.
func TestMoveIsThePlan(t *testing.T) {
	k := resultFixture(1).Candidates[0].Cost
	l := k.Levers
	u := l.Points[l.PointsSelf].Utilisation
	same := Move(k, l.Price, l.USDPerKWh, l.PUE, u)
	if cents(same.TCO) != cents(k.TCO) || math.Abs(same.PerM-k.PerMBoth) > 1e-9 {
		t.Errorf("nothing moved, yet TCO is %v for %v and $/M %v for %v", same.TCO, k.TCO, same.PerM, k.PerMBoth)
	}
	for name, m := range map[string]Moved{
		"price":  Move(k, l.Price*1.1, l.USDPerKWh, l.PUE, u),
		"tariff": Move(k, l.Price, l.USDPerKWh*1.1, l.PUE, u),
		"PUE":    Move(k, l.Price, l.USDPerKWh, l.PUE*1.1, u),
		"idle":   Move(k, l.Price, l.USDPerKWh, l.PUE, u*0.9),
	} {
		if m.PerM <= same.PerM {
			t.Errorf("%s: $/M did not rise: %v after %v", name, m.PerM, same.PerM)
		}
	}
}

func TestWorkbookOfEveryFixture(t *testing.T) {
	for name, r := range fixtures() {
		for _, lang := range Langs() {
			var a, b bytes.Buffer
			if err := XLSX(&a, r, Options{Lang: lang}); err != nil {
				t.Fatalf("%s %s: %v", name, lang, err)
			}
			if err := XLSX(&b, r, Options{Lang: lang}); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(a.Bytes(), b.Bytes()) {
				t.Errorf("%s %s: two workbooks of one result differ", name, lang)
			}
		}
	}
}
