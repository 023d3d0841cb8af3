package reports

import "math"

const cellPad = 5.0

// table sets rows under a head that is repeated on every page.
func (s *setter) table(t Grid) {
	if t.Caption != "" {
		s.paragraph(t.Caption, 9.5, 13, true)
		s.y += 1
	}
	widths := s.columnWidths(t)
	total := 0.0
	for _, w := range widths {
		total += w
	}
	s.tableHead(t, widths, total)
	for i, row := range t.Rows {
		cells, h := s.cells(t, widths, total, row, i == t.Strong)
		if s.y+h > textBottom && s.y > marginTop+60 {
			s.newPage()
			s.tableHead(t, widths, total)
		}
		if i == t.Strong {
			s.doc.SetFillColor(0xea, 0xf3, 0xf9)
			s.doc.Rect(marginSide, s.y, total, h, "F")
		}
		s.row(t, widths, cells, i == t.Strong)
		s.y += h
		s.rule(marginSide, s.y, marginSide+total, 0.3)
	}
}

func (s *setter) tableHead(t Grid, widths []float64, total float64) {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	cells, h := s.cells(t, widths, total, names, true)
	s.colour(0x55, 0x55, 0x55)
	s.row(t, widths, cells, true)
	s.colour(0x22, 0x22, 0x22)
	s.y += h
	s.rule(marginSide, s.y, marginSide+total, 0.9)
}

// gutter is the extra room left of a column set left that follows one set right.
func gutter(t Grid, i int) float64 {
	if i > 0 && i < len(t.Columns) && t.Columns[i-1].Right && !t.Columns[i].Right {
		return 8
	}
	return 0
}

// spans reports a row that is one sentence across the table.
func spans(row []string) bool {
	for _, c := range row[1:] {
		if c != "" {
			return false
		}
	}
	return len(row) > 1
}

// cells wraps a row's cells and tells its height.
func (s *setter) cells(t Grid, widths []float64, total float64, row []string, bold bool) ([][]string, float64) {
	cells := make([][]string, len(row))
	lines := 1
	for i, c := range row {
		w := widths[i] - gutter(t, i)
		if i == 0 && spans(row) {
			w = total
		}
		cells[i] = s.wrap(c, tableSize, bold, w-cellPad)
		lines = max(lines, len(cells[i]))
	}
	return cells, float64(lines)*tableLeading + 4.5
}

func (s *setter) row(t Grid, widths []float64, cells [][]string, bold bool) {
	x := marginSide
	for i, lines := range cells {
		for k, l := range lines {
			at := x + gutter(t, i)
			if i < len(t.Columns) && t.Columns[i].Right {
				at = x + widths[i] - cellPad - s.width(l, tableSize, bold)
				if i == len(widths)-1 {
					at += cellPad
				}
			}
			s.line(at, s.y+2+tableLeading*(float64(k)+0.76), l, tableSize, bold)
		}
		x += widths[i]
	}
}

// columnWidths gives columns their natural widths where these fit the page, and else takes from the widest, never less than
// the longest piece that can't break.
func (s *setter) columnWidths(t Grid) []float64 {
	n := len(t.Columns)
	natural, least := make([]float64, n), make([]float64, n)
	measure := func(i int, text string, bold bool) {
		natural[i] = math.Max(natural[i], s.width(text, tableSize, bold)+cellPad+1+gutter(t, i))
		for _, p := range pieces(text) {
			least[i] = math.Max(least[i], math.Min(s.width(p, tableSize, bold)+cellPad+1, 110)+gutter(t, i))
		}
	}
	for i, c := range t.Columns {
		measure(i, c.Name, true)
	}
	for k, row := range t.Rows {
		if spans(row) {
			continue
		}
		for i, c := range row {
			measure(i, c, k == t.Strong)
		}
	}
	sum := 0.0
	for i := range natural {
		natural[i] = math.Max(natural[i], least[i])
		sum += natural[i]
	}
	if sum <= textWidth {
		want := textWidth
		if n < 4 {
			want = math.Max(sum, textWidth*0.66)
		}
		for i := range natural {
			natural[i] += (want - sum) / float64(n)
		}
		return natural
	}
	return shrink(natural, least, textWidth)
}

// shrink gives every column its least width and shares the rest by what each lacks, to a power below one: a long column gets
// the most, but not at the cost of making every other one narrow.
func shrink(natural, least []float64, total float64) []float64 {
	out := append([]float64(nil), least...)
	rest, lack := total, 0.0
	for i := range out {
		rest -= least[i]
		lack += math.Pow(natural[i]-least[i], 0.75)
	}
	if rest < 0 { // even unbreakable pieces don't fit: scale, and words will be cut
		for i := range out {
			out[i] *= total / (total - rest)
		}
		return out
	}
	for i := range out {
		if lack > 0 {
			out[i] += rest * math.Pow(natural[i]-least[i], 0.75) / lack
		}
	}
	return out
}
