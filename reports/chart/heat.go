package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Heat is a table of cells coloured by their value, each with its text. NaN is a cell without a value, left blank.
type Heat struct {
	X, Y    string   // what varies across and upwards
	Columns []string // values of X
	Rows    []string // values of Y, from the bottom
	Values  [][]float64
	Texts   [][]string
	Keys    [2]string // what the lightest and the darkest colour mean
}

// Draw implements Drawer.
func (h Heat) Draw(p *pen, c draw.Canvas) {
	if len(h.Rows) == 0 || len(h.Columns) == 0 {
		return
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	left := vg.Length(0)
	for i, r := range h.Rows {
		left = max(left, p.width(r))
		for _, v := range h.Values[i] {
			if !math.IsNaN(v) {
				lo, hi = math.Min(lo, v), math.Max(hi, v)
			}
		}
	}
	left = min(left, c.Size().X*0.3)
	p.left(c, c.Min.X, c.Max.Y-lineGap/2, p.fit(h.Y, c.Size().X), faintInk())
	area := draw.Crop(c, left+6, 0, lineGap*3.6, -lineGap-4)
	wide, high := area.Size().X/vg.Length(len(h.Columns)), area.Size().Y/vg.Length(len(h.Rows))
	for i, r := range h.Rows {
		y := area.Min.Y + high*vg.Length(i)
		if high > lineGap*0.8 || i%int(lineGap/high+1) == 0 {
			p.write(c, area.Min.X-5, y+high/2, p.fit(r, left), faintInk(), text.XRight)
		}
		for k := range h.Columns {
			h.cell(p, c, box{area.Min.X + wide*vg.Length(k), y, area.Min.X + wide*vg.Length(k+1), y + high}, i, k, lo, hi)
		}
	}
	last := vg.Length(math.Inf(-1))
	for k, name := range h.Columns {
		at, name := area.Min.X+wide*(vg.Length(k)+0.5), p.fit(name, max(wide, 40))
		if half := p.width(name) / 2; at-half > last+4 {
			p.write(c, at, area.Min.Y-lineGap*0.7, name, faintInk(), text.XCenter)
			last = at + half
		}
	}
	p.write(c, area.Min.X+area.Size().X/2, area.Min.Y-lineGap*1.8, p.fit(h.X, area.Size().X), faintInk(), text.XCenter)
	h.legend(p, c, area)
}

func (h Heat) cell(p *pen, c draw.Canvas, b box, i, k int, lo, hi float64) {
	v := h.Values[i][k]
	if math.IsNaN(v) {
		c.StrokeLine2(stroke(ruleInk(), 0.6), b.x0, b.y0, b.x1, b.y1)
	} else {
		share := 0.0
		if hi > lo {
			share = (v - lo) / (hi - lo)
		}
		fillBox(c, box{b.x0 + 0.4, b.y0 + 0.4, b.x1 - 0.4, b.y1 - 0.4}, shade(share))
		if s := h.Texts[i][k]; p.width(s)+4 < b.x1-b.x0 && lineGap < b.y1-b.y0 {
			col := ink()
			if share > 0.55 {
				col = whiteInk()
			}
			p.write(c, (b.x0+b.x1)/2, (b.y0+b.y1)/2, s, col, text.XCenter)
		}
	}
}

// shade runs from a pale to a dark blue: lightness alone orders it, in grey print too.
func shade(share float64) color.NRGBA {
	mix := func(a, b uint8) uint8 { return uint8(float64(a) + share*(float64(b)-float64(a))) }
	return color.NRGBA{mix(0xE8, 0x00), mix(0xF1, 0x35), mix(0xF8, 0x5C), 0xff}
}

func (h Heat) legend(p *pen, c draw.Canvas, area draw.Canvas) {
	const steps, width = 40, vg.Length(100)
	y := c.Min.Y + lineGap*0.5
	x := area.Min.X + p.width(h.Keys[0]) + 6
	p.left(c, area.Min.X, y, h.Keys[0], faintInk())
	for i := range steps {
		fillBox(c, box{x + width*vg.Length(i)/steps, y - 3, x + width*vg.Length(i+1)/steps, y + 3}, shade(float64(i)/(steps-1)))
	}
	p.left(c, x+width+6, y, h.Keys[1], faintInk())
}
