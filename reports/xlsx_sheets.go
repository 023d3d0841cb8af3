package reports

import (
	"fmt"
	"strings"

	"github.com/xuri/excelize/v2"

	"scoville/sim/plan"
)

// Rows of a cost sheet. The inputs stand at the top so that they are seen.
const (
	rowPrice, rowTariff, rowPUE, rowUtilisation        = 4, 5, 6, 7
	rowInput, rowOutput, rowKWh, rowBill, rowPlanned   = 9, 10, 11, 12, 13
	rowPerM, rowPerMIn, rowPerMOut, rowTCO, rowMonthly = 15, 16, 17, 18, 19
	rowComponents                                      = 22 // first component; its head is the row before
	columnPoints                                       = 8  // H: the table of utilisation
)

// costSheet holds one candidate's cost as formulas of four inputs.
func (b *workbook) costSheet(name string, c plan.Candidate) {
	b.sheet(name, 34, 20, 20, 16, 16, 18, 4, 14, 20, 20, 16)
	k := c.Cost
	b.put(name, 1, 1, "title", c.Name)
	b.put(name, 1, 2, "", b.t("Change a cell in blue; everything below follows."))
	n := len(k.Components)
	last := rowComponents + n - 1
	live := movable(k)
	if live {
		b.inputs(name, k)
	} else {
		b.put(name, 1, rowPrice, "wrap", b.t("This result carries no levers: the costs below are as planned and do not move."))
	}
	b.results(name, k, last, live)
	b.row(name, rowComponents-1, "head", b.t("component"), b.t("US dollars"), b.t("as planned"), b.t("kind"), b.t("per $ of price"), b.t("per $ of energy"))
	for i, m := range k.Components {
		row := rowComponents + i
		b.put(name, 1, row, "text", b.name(m.Name))
		text := fmt.Sprintf("C%d", row)
		if live {
			text = fmt.Sprintf("C%d+E%d*($B$%d-$C$%d)+F%d*($B$%d-$B$%d)", row, row, rowPrice, rowPrice, row, rowBill, rowPlanned)
		}
		b.put(name, 2, row, "money", formula{text, m.USD})
		b.put(name, 3, row, "money", m.USD)
		b.put(name, 4, row, "text", b.name(m.Kind))
		b.put(name, 5, row, "number", m.PerPrice)
		b.put(name, 6, row, "number", m.PerEnergy)
	}
	b.put(name, 1, last+1, "total", b.t("TCO"))
	b.put(name, 2, last+1, "total", formula{fmt.Sprintf("SUM(B%d:B%d)", rowComponents, max(last, rowComponents)), k.TCO})
	b.put(name, 3, last+1, "total", formula{fmt.Sprintf("SUM(C%d:C%d)", rowComponents, max(last, rowComponents)), k.TCO})
}

// inputs writes the levers, the table of utilisation, and what follows from it.
func (b *workbook) inputs(name string, k *plan.Cost) {
	l := k.Levers
	self := l.Points[l.PointsSelf]
	b.row(name, rowPrice-1, "head", b.t("input"), b.t("value"), b.t("as planned"), b.t("unit"))
	for _, in := range []struct {
		row         int
		label, unit string
		v           float64
		style       string
	}{
		{rowPrice, b.name(l.PriceName), l.PriceUnit, l.Price, "input"},
		{rowTariff, b.t("power tariff"), "USD/kWh", l.USDPerKWh, "input"},
		{rowPUE, "PUE", "", l.PUE, "input"},
		{rowUtilisation, b.t("utilisation"), "", self.Utilisation, "inputshare"},
	} {
		b.put(name, 1, in.row, "text", in.label)
		b.put(name, 2, in.row, in.style, in.v)
		b.put(name, 3, in.row, map[bool]string{true: "percent", false: "plain"}[in.style == "inputshare"], in.v)
		b.put(name, 4, in.row, "text", in.unit)
	}
	b.validate(name, k)
	top, end := rowPrice, rowPrice+len(l.Points)-1
	for i, h := range []string{b.t("utilisation"), b.t("input tokens"), b.t("output tokens"), b.t("IT kWh")} {
		b.put(name, columnPoints+i, top-1, "head", h)
	}
	for i, p := range l.Points {
		for j, v := range []float64{p.Utilisation, p.InputTokens, p.OutputTokens, p.ITKWh} {
			b.put(name, columnPoints+j, top+i, map[bool]string{true: "percent", false: "whole"}[j == 0], v)
		}
	}
	for _, q := range []struct {
		row   int
		label string
		col   string
		v     float64
	}{
		{rowInput, b.t("input tokens over the horizon"), "I", self.InputTokens},
		{rowOutput, b.t("output tokens over the horizon"), "J", self.OutputTokens},
		{rowKWh, b.t("IT energy over the horizon, kWh"), "K", self.ITKWh},
	} {
		b.put(name, 1, q.row, "text", q.label)
		b.put(name, 2, q.row, "whole", formula{interpolate(q.col, top, end), q.v})
	}
	b.put(name, 1, rowBill, "text", b.t("energy bill: IT kWh × PUE × tariff"))
	b.put(name, 2, rowBill, "money", formula{fmt.Sprintf("B%d*B%d*B%d", rowKWh, rowPUE, rowTariff), self.ITKWh * l.PUE * l.USDPerKWh})
	b.put(name, 1, rowPlanned, "text", b.t("energy bill as planned"))
	b.put(name, 2, rowPlanned, "money", formula{fmt.Sprintf("K%d*C%d*C%d", top+l.PointsSelf, rowPUE, rowTariff), self.ITKWh * l.PUE * l.USDPerKWh})
}

// validate keeps the utilisation within the table.
func (b *workbook) validate(name string, k *plan.Cost) {
	p := k.Levers.Points
	v := excelize.NewDataValidation(true)
	v.Sqref = fmt.Sprintf("B%d", rowUtilisation)
	b.check(v.SetRange(p[0].Utilisation, p[len(p)-1].Utilisation, excelize.DataValidationTypeDecimal, excelize.DataValidationOperatorBetween))
	v.SetError(excelize.DataValidationErrorStyleStop, b.t("utilisation"), b.f2("from %s to %s", percent(p[0].Utilisation), percent(p[len(p)-1].Utilisation)))
	b.check(b.f.AddDataValidation(name, v))
}

// interpolate reads a column of the table of utilisation at the input, linearly between rows.
func interpolate(col string, top, end int) string {
	if end == top {
		return fmt.Sprintf("%s%d", col, top)
	}
	u, h := fmt.Sprintf("$B$%d", rowUtilisation), fmt.Sprintf("$H$%d:$H$%d", top, end)
	v := fmt.Sprintf("$%s$%d:$%s$%d", col, top, col, end)
	i := fmt.Sprintf("MIN(MATCH(%s,%s,1),%d)", u, h, end-top)
	return fmt.Sprintf("INDEX(%[1]s,%[2]s)+(%[3]s-INDEX(%[4]s,%[2]s))*(INDEX(%[1]s,%[2]s+1)-INDEX(%[1]s,%[2]s))/(INDEX(%[4]s,%[2]s+1)-INDEX(%[4]s,%[2]s))", v, i, u, h)
}

// results writes the prices that follow.
func (b *workbook) results(name string, k *plan.Cost, last int, live bool) {
	perM := formula{raw(k.PerMBoth), k.PerMBoth}
	if live {
		perM.text = fmt.Sprintf("IF(B%d+B%d>0,B%d*1000000/(B%d+B%d),0)", rowInput, rowOutput, rowTCO, rowInput, rowOutput)
	}
	class := func(v float64) formula {
		if k.PerMBoth <= 0 {
			return formula{raw(v), v}
		}
		return formula{fmt.Sprintf("B%d*%s", rowPerM, raw(v/k.PerMBoth)), v}
	}
	b.put(name, 1, rowPerM, "totalprice", b.t("$/M tokens"))
	b.put(name, 2, rowPerM, "totalprice", perM)
	b.put(name, 1, rowPerMIn, "text", b.t("$/M input tokens"))
	b.put(name, 2, rowPerMIn, "price", class(k.PerMInput))
	b.put(name, 1, rowPerMOut, "text", b.t("$/M output tokens"))
	b.put(name, 2, rowPerMOut, "price", class(k.PerMOutput))
	b.put(name, 1, rowTCO, "text", b.t("TCO"))
	b.put(name, 2, rowTCO, "money", formula{fmt.Sprintf("B%d", last+1), k.TCO})
	b.put(name, 1, rowMonthly, "text", b.t("a month"))
	b.put(name, 2, rowMonthly, "money", formula{fmt.Sprintf("B%d/%d", rowTCO, max(1, k.HorizonMonths)), k.Monthly})
}

// monthSheet spreads the components over months as planned, scaled with what the cost sheet makes of them.
func (b *workbook) monthSheet(name, cost string, c plan.Candidate) {
	k := c.Cost
	widths := []float64{10}
	for range k.Components {
		widths = append(widths, 16)
	}
	b.sheet(name, append(widths, 18, 18)...)
	b.put(name, 1, 1, "title", c.Name)
	b.put(name, 1, 2, "head", b.t("month"))
	n := len(k.Components)
	for i, m := range k.Components {
		b.put(name, i+2, 2, "head", b.name(m.Name))
	}
	b.put(name, n+2, 2, "head", b.t("all"))
	b.put(name, n+3, 2, "head", b.t("spent so far"))
	lastColumn, err := excelize.ColumnNumberToName(n + 1)
	b.check(err)
	allColumn, err := excelize.ColumnNumberToName(n + 2)
	b.check(err)
	for i, m := range k.MonthlyCash {
		row := i + 3
		b.put(name, 1, row, "plain", m.Month)
		for j, v := range m.ByComponent {
			if j >= n {
				break
			}
			at := rowComponents + j
			text := raw(v)
			if k.Components[j].USD != 0 {
				text = fmt.Sprintf("%s*'%s'!$B$%d/'%s'!$C$%d", raw(v), cost, at, cost, at)
			}
			b.put(name, j+2, row, "money", formula{text, v})
		}
		b.put(name, n+2, row, "money", formula{fmt.Sprintf("SUM(B%d:%s%d)", row, lastColumn, row), m.USD})
		b.put(name, n+3, row, "money", formula{fmt.Sprintf("SUM(%s$3:%s%d)", allColumn, allColumn, row), m.Cumulative})
	}
	b.freeze(name, 2)
}

func (b *workbook) comparisonSheet(name string, priced []plan.Candidate) {
	b.sheet(name, 6, 34, 10, 12, 10, 12, 16, 16, 16, 16, 20, 18, 48)
	b.put(name, 1, 1, "title", b.r.Title)
	b.put(name, 1, 2, "", b.headline())
	b.row(name, 4, "head", "#", b.t("candidate"), b.t("chips"), b.t("by division"), b.t("nodes"), b.t("peak kW"), b.t("req/s per replica"), b.t("$/M tokens"), "P10", "P90", b.t("TCO"), b.t("a month"), b.t("note"))
	sheet := map[string]string{}
	for i, c := range priced {
		sheet[c.Name] = b.costName(i)
	}
	for i, c := range b.r.Candidates {
		row := 5 + i
		b.row(name, row, "text", c.Rank, c.Name)
		b.put(name, 13, row, "text", c.Reason)
		if c.Spreadsheet.Chips > 0 {
			b.put(name, 4, row, "plain", c.Spreadsheet.Chips)
		}
		if !c.Feasible {
			b.put(name, 3, row, "text", b.t("none"))
			continue
		}
		b.put(name, 3, row, "plain", c.Fleet.Chips)
		b.put(name, 5, row, "plain", c.Fleet.Nodes)
		b.put(name, 6, row, "number", c.Fleet.PeakKilowatts)
		b.put(name, 7, row, "number", c.Capacity.Low)
		s, ok := sheet[c.Name]
		if !ok {
			continue
		}
		b.put(name, 8, row, "price", formula{fmt.Sprintf("'%s'!B%d", s, rowPerM), c.Cost.PerMBoth})
		if m := c.Cost.MonteCarlo; m != nil {
			b.put(name, 9, row, "price", m.PerM.P10)
			b.put(name, 10, row, "price", m.PerM.P90)
		}
		b.put(name, 11, row, "money", formula{fmt.Sprintf("'%s'!B%d", s, rowTCO), c.Cost.TCO})
		b.put(name, 12, row, "money", formula{fmt.Sprintf("'%s'!B%d", s, rowMonthly), c.Cost.Monthly})
	}
	b.freeze(name, 4)
}

func (b *workbook) capacitySheet() {
	name := b.t("Capacity")
	b.sheet(name, 34, 14, 14, 14, 16, 14, 14, 14, 14, 12, 12, 12)
	b.row(name, 1, "head", b.t("candidate"), b.t("req/s"), b.t("within SLA"), b.t("verdict"), "TTFT p50, s", "TTFT p99, s", "TPOT p50, s", "TPOT p99, s", "E2E p99, s", b.t("busy"), b.t("batch"), b.t("KV"))
	row := 2
	for _, c := range b.r.Candidates {
		for _, p := range c.Capacity.Curve {
			b.put(name, 1, row, "text", c.Name)
			b.put(name, 2, row, "number", p.RequestsPerSecond)
			b.put(name, 3, row, "number", p.Goodput)
			b.put(name, 4, row, "text", b.verdict(p))
			if hasLatency(p) {
				for i, v := range []float64{p.TTFT.P50, p.TTFT.P99, p.TPOT.P50, p.TPOT.P99, p.E2E.P99} {
					b.put(name, 5+i, row, "fine", v)
				}
			}
			b.put(name, 10, row, "percent", p.Utilisation)
			b.put(name, 11, row, "number", p.MeanBatch)
			b.put(name, 12, row, "percent", p.KVShare)
			row++
		}
	}
	b.freeze(name, 1)
}

func (b *workbook) assumptionSheet() {
	name := b.t("Assumptions")
	b.sheet(name, 14, 34, 26, 14, 70, 14)
	b.row(name, 1, "head", b.t("group"), b.t("assumption"), b.t("value"), b.t("kind"), b.t("source"), b.t("date"))
	row := 2
	for _, a := range b.r.Assumptions {
		b.row(name, row, "text", b.name(a.Group), b.said(a.Name), b.said(a.Value), b.kind(a.Kind), b.said(a.Source), a.Date)
		row++
	}
	row++
	b.put(name, 1, row, "", b.f2("Version %s, seed %d. The same plan, version and seed give the same bytes.", b.r.Version, b.r.Seed))
	b.put(name, 1, row+1, "", strings.TrimSpace(b.r.Command))
	b.freeze(name, 1)
}
