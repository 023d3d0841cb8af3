// Package page draws gonum/plot charts as vectors on the pages of a PDF, beside text set with the same fonts.
package page

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"

	"codeberg.org/go-pdf/fpdf"
	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Canvas is a rectangle of a page as a vg.Canvas: points, origin bottom left, text through embedded Unicode fonts.
// gonum's own vgpdf writes text in code page 1252 and premultiplies translucent colours; this one does neither.
type Canvas struct {
	doc    *fpdf.Fpdf
	family func(font.Typeface) string // the document's family for a typeface
	now    state
	stack  []state
	images int
	err    error
}

// state is what Push saves. The matrix maps (x, y) to (a x + c y + e, b x + d y + f), in page points with y downward.
type state struct {
	a, b, c, d, e, f float64
	width            vg.Length
	dash             []vg.Length
	offset           vg.Length
	colour           color.NRGBA
}

var _ vg.Canvas = (*Canvas)(nil)

// Draw draws into the rectangle with its top left corner at (x, y), width x height points, and leaves the document's pen as
// it found it but for colours.
func Draw(doc *fpdf.Fpdf, family func(font.Typeface) string, x, y, width, height float64, fill func(draw.Canvas)) error {
	c := &Canvas{doc: doc, family: family, now: state{a: 1, d: -1, e: x, f: y + height, width: 1, colour: color.NRGBA{A: 0xff}}}
	lineWidth := doc.GetLineWidth()
	doc.SetLineCapStyle("butt")
	doc.SetLineJoinStyle("round")
	fill(draw.NewCanvas(c, vg.Length(width), vg.Length(height)))
	doc.SetDashPattern(nil, 0)
	doc.SetAlpha(1, "Normal")
	doc.SetLineWidth(lineWidth)
	return c.err
}

// SetLineWidth implements vg.Canvas.
func (c *Canvas) SetLineWidth(w vg.Length) { c.now.width = w }

// SetLineDash implements vg.Canvas.
func (c *Canvas) SetLineDash(pattern []vg.Length, offset vg.Length) {
	c.now.dash, c.now.offset = pattern, offset
}

// SetColor implements vg.Canvas.
func (c *Canvas) SetColor(col color.Color) {
	if col == nil {
		col = color.Black
	}
	c.now.colour = color.NRGBAModel.Convert(col).(color.NRGBA)
}

// Rotate implements vg.Canvas.
func (c *Canvas) Rotate(rad float64) {
	sin, cos := math.Sincos(rad)
	s := &c.now
	s.a, s.b, s.c, s.d = s.a*cos+s.c*sin, s.b*cos+s.d*sin, s.c*cos-s.a*sin, s.d*cos-s.b*sin
}

// Translate implements vg.Canvas.
func (c *Canvas) Translate(pt vg.Point) { c.now.e, c.now.f = c.at(pt) }

// Scale implements vg.Canvas.
func (c *Canvas) Scale(x, y float64) {
	c.now.a, c.now.b, c.now.c, c.now.d = c.now.a*x, c.now.b*x, c.now.c*y, c.now.d*y
}

// Push implements vg.Canvas.
func (c *Canvas) Push() { c.stack = append(c.stack, c.now) }

// Pop implements vg.Canvas.
func (c *Canvas) Pop() {
	if n := len(c.stack); n > 0 {
		c.now, c.stack = c.stack[n-1], c.stack[:n-1]
	}
}

func (c *Canvas) at(pt vg.Point) (x, y float64) {
	px, py := pt.X.Points(), pt.Y.Points()
	return c.now.a*px + c.now.c*py + c.now.e, c.now.b*px + c.now.d*py + c.now.f
}

// scale is the mean stretch of the matrix.
func (c *Canvas) scale() float64 {
	return math.Sqrt(math.Abs(c.now.a*c.now.d - c.now.b*c.now.c))
}

// Stroke implements vg.Canvas.
func (c *Canvas) Stroke(p vg.Path) {
	if c.now.width <= 0 {
		return
	}
	k := c.scale()
	c.doc.SetLineWidth(c.now.width.Points() * k)
	dash := make([]float64, len(c.now.dash))
	for i, d := range c.now.dash {
		dash[i] = d.Points() * k
	}
	c.doc.SetDashPattern(dash, c.now.offset.Points()*k)
	c.ink()
	c.path(p)
	c.doc.DrawPath("D")
}

// Fill implements vg.Canvas.
func (c *Canvas) Fill(p vg.Path) {
	c.ink()
	c.path(p)
	c.doc.DrawPath("F")
}

func (c *Canvas) ink() {
	k := c.now.colour
	r, g, b := int(k.R), int(k.G), int(k.B)
	c.doc.SetDrawColor(r, g, b)
	c.doc.SetFillColor(r, g, b)
	c.doc.SetTextColor(r, g, b)
	if a, _ := c.doc.GetAlpha(); a != float64(k.A)/0xff {
		c.doc.SetAlpha(float64(k.A)/0xff, "Normal")
	}
}

func (c *Canvas) path(p vg.Path) {
	for _, s := range p {
		switch s.Type {
		case vg.MoveComp:
			c.doc.MoveTo(c.at(s.Pos))
		case vg.LineComp:
			c.doc.LineTo(c.at(s.Pos))
		case vg.ArcComp:
			c.arc(s)
		case vg.CurveComp:
			c.curve(s)
		case vg.CloseComp:
			c.doc.ClosePath()
		}
	}
}

func (c *Canvas) curve(s vg.PathComp) {
	x, y := c.at(s.Pos)
	switch len(s.Control) {
	case 1:
		a, b := c.at(s.Control[0])
		c.doc.CurveTo(a, b, x, y)
	case 2:
		a0, b0 := c.at(s.Control[0])
		a1, b1 := c.at(s.Control[1])
		c.doc.CurveBezierCubicTo(a0, b0, a1, b1, x, y)
	}
}

// arc draws a circle's arc as Bezier curves of at most a quarter turn; the control points lie 4/3 tan(angle/4) radii along
// the tangents.
func (c *Canvas) arc(s vg.PathComp) {
	n := math.Max(1, math.Ceil(math.Abs(s.Angle)/(math.Pi/2)-1e-9))
	step := s.Angle / n
	k := vg.Length(4.0 / 3 * math.Tan(step/4))
	on := func(angle float64) (pt, tangent vg.Point) {
		sin, cos := math.Sincos(angle)
		r := s.Radius
		return vg.Point{X: s.Pos.X + r*vg.Length(cos), Y: s.Pos.Y + r*vg.Length(sin)}, vg.Point{X: -r * vg.Length(sin), Y: r * vg.Length(cos)}
	}
	from, tangent := on(s.Start)
	c.doc.LineTo(c.at(from))
	for i := 1.0; i <= n; i++ {
		to, next := on(s.Start + i*step)
		x0, y0 := c.at(vg.Point{X: from.X + k*tangent.X, Y: from.Y + k*tangent.Y})
		x1, y1 := c.at(vg.Point{X: to.X - k*next.X, Y: to.Y - k*next.Y})
		x, y := c.at(to)
		c.doc.CurveBezierCubicTo(x0, y0, x1, y1, x, y)
		from, tangent = to, next
	}
}

// FillString implements vg.Canvas.
func (c *Canvas) FillString(f font.Face, pt vg.Point, s string) {
	if f.Font.Size <= 0 || s == "" {
		return
	}
	style := ""
	if f.Font.Weight == xfont.WeightBold {
		style = "B"
	}
	c.doc.SetFont(c.family(f.Font.Typeface), style, f.Font.Size.Points()*c.scale())
	c.ink()
	x, y := c.at(pt)
	angle := math.Atan2(-c.now.b, c.now.a) * 180 / math.Pi
	if math.Abs(angle) < 0.01 {
		c.doc.Text(x, y, s)
		return
	}
	c.doc.TransformBegin()
	c.doc.TransformRotate(angle, x, y)
	c.doc.Text(x, y, s)
	c.doc.TransformEnd()
}

// DrawImage implements vg.Canvas.
func (c *Canvas) DrawImage(r vg.Rectangle, img image.Image) {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		c.err = err
		return
	}
	c.images++
	name := fmt.Sprintf("chart-%d-%d", c.doc.PageNo(), c.images)
	options := fpdf.ImageOptions{ImageType: "png"}
	c.doc.RegisterImageOptionsReader(name, options, &b)
	x0, y0 := c.at(r.Min)
	x1, y1 := c.at(r.Max)
	c.doc.ImageOptions(name, math.Min(x0, x1), math.Min(y0, y1), math.Abs(x1-x0), math.Abs(y1-y0), false, options, 0, "")
}
