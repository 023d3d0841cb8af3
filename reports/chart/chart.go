package chart

import (
	"bytes"
	"html"
	"io"
	"strings"

	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Drawer is the data of a picture that knows how to draw itself.
type Drawer interface {
	Draw(p *pen, c draw.Canvas)
}

// Chart is one picture of a report.
type Chart struct {
	Name          string // of its file, without extension
	Title         string // says what it shows
	Description   string // what a reader who can't see it is told
	Width, Height float64
	Drawer        Drawer
}

const margin = vg.Length(10)

// Draw draws the chart without its title, for a page that has the title as text.
func (ch Chart) Draw(f *Fonts, c draw.Canvas) { ch.Drawer.Draw(&pen{f}, c) }

// full draws the chart with its title on white.
func (ch Chart) full(f *Fonts, c draw.Canvas) {
	p := &pen{f}
	fillBox(c, box{c.Min.X, c.Min.Y, c.Max.X, c.Max.Y}, whiteInk())
	c = draw.Crop(c, margin, -margin, margin, -margin)
	sty := p.style(titleSize, ink(), true, text.XLeft, text.YBottom)
	p.baseline(c, sty, c.Min.X, c.Max.Y-titleSize*0.8, f.Fit(ch.Title, titleSize, sty.Font.Weight, c.Size().X))
	ch.Drawer.Draw(p, draw.Crop(c, 0, 0, 0, -titleSize*1.7))
}

// PNG writes the chart with its title at twice the usual 96 dots an inch.
func (ch Chart) PNG(w io.Writer, f *Fonts) error {
	c := vgimg.NewWith(vgimg.UseWH(vg.Length(ch.Width), vg.Length(ch.Height)), vgimg.UseDPI(192))
	ch.full(f, draw.New(c))
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

// SVG writes the chart with its title as a file. Text stays text: a reader without the fonts sees ones of the same widths.
func (ch Chart) SVG(w io.Writer, f *Fonts) error { return ch.svg(w, f, ch.full) }

// SVGBody writes the chart without its title, as an element for a page that has the title as text.
func (ch Chart) SVGBody(w io.Writer, f *Fonts) error {
	var b bytes.Buffer
	if err := ch.svg(&b, f, ch.Draw); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes()[max(0, bytes.Index(b.Bytes(), []byte("<svg"))):])
	return err
}

func (ch Chart) svg(w io.Writer, f *Fonts, fill func(*Fonts, draw.Canvas)) error {
	c := vgsvg.New(vg.Length(ch.Width), vg.Length(ch.Height))
	fill(f, draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	s := strings.ReplaceAll(b.String(), "font-family:Liberation Sans", "font-family:'Liberation Sans',Arial,Helvetica,sans-serif")
	if f.han != nil {
		if name, err := f.han.Name(&f.buffer, sfnt.NameIDFamily); err == nil {
			s = strings.ReplaceAll(s, "font-family:"+name+";", "font-family:'"+html.EscapeString(name)+"','Noto Sans CJK SC','Microsoft YaHei','PingFang SC',sans-serif;")
		}
	}
	if i := strings.Index(s, "<svg"); i >= 0 {
		if j := strings.IndexByte(s[i:], '>'); j >= 0 {
			at := i + j + 1
			s = s[:at] + "\n<title>" + html.EscapeString(ch.Title) + "</title><desc>" + html.EscapeString(ch.Description) + "</desc>" + s[at:]
		}
	}
	_, err := io.WriteString(w, s)
	return err
}
