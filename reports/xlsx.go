package reports

import (
	"fmt"
	"io"

	"github.com/xuri/excelize/v2"

	"scoville/sim/plan"
)

// XLSX writes a workbook whose costs are formulas: comparison, one cost sheet a candidate with the price, tariff, PUE and
// utilisation to change, cost by month, capacity, and every assumption.
func XLSX(w io.Writer, r *plan.Result, o Options) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	book := &workbook{builder: &builder{newWords(o.Lang), r}, f: excelize.NewFile()}
	defer func() {
		if e := book.f.Close(); err == nil {
			err = e
		}
	}()
	book.all()
	if book.err != nil {
		return fmt.Errorf("XLSX: %w", book.err)
	}
	return book.f.Write(w)
}

// workbook is a file under construction; the first error sticks.
type workbook struct {
	*builder
	f      *excelize.File
	err    error
	styles map[string]int
}

func (b *workbook) all() {
	b.makeStyles()
	priced := b.priced(len(b.r.Candidates))
	first := b.t("Comparison")
	b.check(b.f.SetSheetName("Sheet1", first))
	for i, c := range priced {
		b.costSheet(b.costName(i), c)
		if i < 4 && len(c.Cost.MonthlyCash) > 0 {
			b.monthSheet(b.f2("Months %d", i+1), b.costName(i), c)
		}
	}
	b.comparisonSheet(first, priced)
	b.capacitySheet()
	b.assumptionSheet()
	b.f.SetActiveSheet(0)
	yes := true
	b.check(b.f.SetCalcProps(&excelize.CalcPropsOptions{FullCalcOnLoad: &yes}))
	b.check(b.f.SetDocProps(&excelize.DocProperties{Title: b.r.Title, Creator: "scoville " + b.r.Version, LastModifiedBy: "scoville", Created: "2000-01-01T00:00:00Z", Modified: "2000-01-01T00:00:00Z"}))
}

func (b *workbook) costName(i int) string { return b.f2("Cost %d", i+1) }

// f2 is words.f under a name of its own: the field f is the file.
func (b *workbook) f2(format string, args ...any) string { return b.builder.f(format, args...) }

func (b *workbook) check(err error) {
	if b.err == nil && err != nil {
		b.err = err
	}
}

func (b *workbook) makeStyles() {
	b.styles = map[string]int{}
	border := []excelize.Border{{Type: "bottom", Color: "BBBBBB", Style: 1}}
	money, cents, number, percent, plain := `"$"#,##0.00`, `"$"#,##0.0000`, `#,##0.00`, `0.0%`, "General"
	whole, fine := `#,##0`, `0.0000`
	for _, s := range []struct {
		name string
		of   excelize.Style
	}{
		{"title", excelize.Style{Font: &excelize.Font{Bold: true, Size: 16}}},
		{"head", excelize.Style{Font: &excelize.Font{Bold: true}, Border: []excelize.Border{{Type: "bottom", Color: "333333", Style: 2}}, Alignment: &excelize.Alignment{WrapText: true, Vertical: "bottom", Horizontal: "left", Indent: 1}}},
		{"text", excelize.Style{Border: border, Alignment: &excelize.Alignment{WrapText: true, Vertical: "top", Horizontal: "left", Indent: 1}}},
		{"wrap", excelize.Style{Alignment: &excelize.Alignment{WrapText: true, Vertical: "top"}}},
		{"money", excelize.Style{Border: border, CustomNumFmt: &money}},
		{"price", excelize.Style{Border: border, CustomNumFmt: &cents}},
		{"number", excelize.Style{Border: border, CustomNumFmt: &number}},
		{"whole", excelize.Style{Border: border, CustomNumFmt: &whole}},
		{"fine", excelize.Style{Border: border, CustomNumFmt: &fine}},
		{"percent", excelize.Style{Border: border, CustomNumFmt: &percent}},
		{"plain", excelize.Style{Border: border, CustomNumFmt: &plain}},
		{"input", excelize.Style{Font: &excelize.Font{Color: "0000CC", Bold: true}, Fill: excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{"FFF8DC"}}, Border: border, CustomNumFmt: &plain}},
		{"inputshare", excelize.Style{Font: &excelize.Font{Color: "0000CC", Bold: true}, Fill: excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{"FFF8DC"}}, Border: border, CustomNumFmt: &percent}},
		{"total", excelize.Style{Font: &excelize.Font{Bold: true}, CustomNumFmt: &money, Border: []excelize.Border{{Type: "top", Color: "333333", Style: 1}}}},
		{"totalprice", excelize.Style{Font: &excelize.Font{Bold: true, Size: 13}, CustomNumFmt: &cents}},
	} {
		id, err := b.f.NewStyle(&s.of)
		b.check(err)
		b.styles[s.name] = id
	}
}

// sheet adds a sheet of the given column widths.
func (b *workbook) sheet(name string, widths ...float64) {
	if i, err := b.f.GetSheetIndex(name); err != nil || i < 0 {
		_, err := b.f.NewSheet(name)
		b.check(err)
	}
	for i, w := range widths {
		col, err := excelize.ColumnNumberToName(i + 1)
		b.check(err)
		b.check(b.f.SetColWidth(name, col, col, w))
	}
	b.check(b.f.SetPageLayout(name, &excelize.PageLayoutOptions{Orientation: ptr("landscape"), FitToWidth: ptr(1), FitToHeight: ptr(0)}))
	b.check(b.f.SetSheetProps(name, &excelize.SheetPropsOptions{FitToPage: ptr(true)}))
}

func ptr[T any](v T) *T { return &v }

// formula is a cell computed by the sheet; value is what it gives as planned, kept for readers that don't compute.
type formula struct {
	text  string
	value float64
}

// put writes v at (column, row), both from 1.
func (b *workbook) put(sheet string, column, row int, style string, v any) {
	at, err := excelize.CoordinatesToCellName(column, row)
	b.check(err)
	switch v := v.(type) {
	case formula:
		b.check(b.f.SetCellFloat(sheet, at, v.value, -1, 64))
		b.check(b.f.SetCellFormula(sheet, at, v.text))
	case string:
		b.check(b.f.SetCellStr(sheet, at, v))
	default:
		b.check(b.f.SetCellValue(sheet, at, v))
	}
	if style != "" {
		b.check(b.f.SetCellStyle(sheet, at, at, b.styles[style]))
	}
}

func (b *workbook) row(sheet string, row int, style string, values ...any) {
	for i, v := range values {
		b.put(sheet, i+1, row, style, v)
	}
}

func (b *workbook) freeze(sheet string, row int) {
	at, err := excelize.CoordinatesToCellName(1, row+1)
	b.check(err)
	b.check(b.f.SetPanes(sheet, &excelize.Panes{Freeze: true, YSplit: row, TopLeftCell: at, ActivePane: "bottomLeft"}))
}
