// Package chart draws the pictures of a report with gonum/plot: one look for PNG, SVG and PDF, a palette that colour-blind
// readers can tell apart, labels on the data instead of legends, and no two labels on top of each other at any data.
package chart

import (
	"image/color"
	"math"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Colour returns colour i of the palette of Okabe and Ito (jfly.uni-koeln.de/color), which stays distinct under the common
// forms of colour blindness. Yellow comes last: it is faint on white.
func Colour(i int) color.NRGBA {
	palette := [...]color.NRGBA{
		{0x00, 0x72, 0xB2, 0xff}, {0xD5, 0x5E, 0x00, 0xff}, {0x00, 0x9E, 0x73, 0xff}, {0xCC, 0x79, 0xA7, 0xff},
		{0xE6, 0x9F, 0x00, 0xff}, {0x56, 0xB4, 0xE9, 0xff}, {0x55, 0x55, 0x55, 0xff}, {0xF0, 0xE4, 0x42, 0xff},
	}
	return palette[((i%len(palette))+len(palette))%len(palette)]
}

// Ink returns the greys of text and rules.
func ink() color.NRGBA      { return color.NRGBA{0x22, 0x22, 0x22, 0xff} }
func faintInk() color.NRGBA { return color.NRGBA{0x66, 0x66, 0x66, 0xff} }
func ruleInk() color.NRGBA  { return color.NRGBA{0xdd, 0xdd, 0xdd, 0xff} }
func whiteInk() color.NRGBA { return color.NRGBA{0xff, 0xff, 0xff, 0xff} }
func limitInk() color.NRGBA { return color.NRGBA{0xb0, 0x1c, 0x1c, 0xff} }

// darker makes a colour fit for text on white.
func darker(c color.NRGBA) color.NRGBA {
	luminance := 0.2126*float64(c.R) + 0.7152*float64(c.G) + 0.0722*float64(c.B)
	k := math.Min(1, 105/math.Max(1, luminance))
	return color.NRGBA{uint8(float64(c.R) * k), uint8(float64(c.G) * k), uint8(float64(c.B) * k), 0xff}
}

func faded(c color.NRGBA, alpha uint8) color.NRGBA { c.A = alpha; return c }

// Sizes of text in points.
const (
	labelSize = vg.Length(8)
	titleSize = vg.Length(11)
	lineGap   = labelSize * 1.25
)

// pen draws with the fonts of the report.
type pen struct{ fonts *Fonts }

func (p *pen) style(size vg.Length, c color.Color, bold bool, x text.XAlignment, y text.YAlignment) text.Style {
	w := xfont.WeightNormal
	if bold {
		w = xfont.WeightBold
	}
	return text.Style{Color: c, Font: font.Font{Typeface: Latin, Weight: w, Size: size}, XAlign: x, YAlign: y, Handler: p.fonts}
}

func (p *pen) width(s string) vg.Length { return p.fonts.Width(s, labelSize, xfont.WeightNormal) }

func (p *pen) fit(s string, width vg.Length) string {
	return p.fonts.Fit(s, labelSize, xfont.WeightNormal, width)
}

// left writes s with its left edge at x and its middle at y.
func (p *pen) left(c draw.Canvas, x, y vg.Length, s string, col color.Color) {
	p.write(c, x, y, s, col, text.XLeft)
}

func (p *pen) write(c draw.Canvas, x, y vg.Length, s string, col color.Color, align text.XAlignment) {
	// The middle of lower-case letters lies about a third of the size above the baseline.
	sty := p.style(labelSize, col, false, align, text.YBottom)
	p.baseline(c, sty, x, y-labelSize*0.34, s)
}

// baseline draws s with its baseline at y.
func (p *pen) baseline(c draw.Canvas, sty text.Style, x, y vg.Length, s string) {
	w := p.fonts.Width(s, sty.Font.Size, sty.Font.Weight)
	x += vg.Length(sty.XAlign) * w
	c.SetColor(sty.Color)
	for _, r := range p.fonts.Runs(s) {
		face := p.fonts.Face(r.Typeface, sty.Font.Size, sty.Font.Weight)
		c.FillString(face, vg.Point{X: x, Y: y}, r.Text)
		x += face.Width(r.Text)
	}
}

func stroke(col color.Color, width vg.Length, dash ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: col, Width: width, Dashes: dash}
}

// newPlot is an empty plot in the theme: no frame, light horizontal rules drawn by the plotters, small grey tick labels.
func (p *pen) newPlot(x, y Axis) *plot.Plot {
	q := plot.New()
	q.BackgroundColor = nil
	q.TextHandler = p.fonts
	for _, a := range []struct {
		to   *plot.Axis
		from Axis
	}{{&q.X, x}, {&q.Y, y}} {
		a.to.LineStyle = stroke(faintInk(), 0.6)
		a.to.Tick.LineStyle = stroke(faintInk(), 0.6)
		a.to.Tick.Length = 3
		a.to.Padding = 0
		a.to.Tick.Label.Font = font.Font{Typeface: Latin, Size: labelSize}
		a.to.Tick.Label.Color = faintInk()
		a.to.Tick.Label.Handler = p.fonts
		a.to.Tick.Marker = a.from
		a.to.Label.TextStyle.Handler = p.fonts
		a.to.Min, a.to.Max = a.from.Min, a.from.Max
		if a.from.Log {
			a.to.Scale = plot.LogScale{}
		}
	}
	q.Y.LineStyle.Width = 0
	q.Y.Tick.Length = 0
	q.X.Label.Text = x.Label
	q.X.Label.Padding = 2
	q.X.Label.TextStyle.Font = font.Font{Typeface: Latin, Size: labelSize}
	q.X.Label.TextStyle.Color = faintInk()
	return q
}
