package chart

import (
	"fmt"
	"sort"
	"strings"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// The typefaces of a report. Latin is embedded; Han is the font found or named, and may be absent.
const (
	Latin font.Typeface = "Latin"
	Han   font.Typeface = "Han"
)

// Fonts measures and draws text in two typefaces: Latin where it has the glyph, Han where only that has it. It implements
// gonum/plot's text.Handler. A value is for one goroutine.
type Fonts struct {
	cache     *font.Cache
	latin     *opentype.Font
	han       *opentype.Font
	buffer    sfnt.Buffer
	missing   map[rune]bool
	placement map[rune]font.Typeface
}

var _ text.Handler = (*Fonts)(nil)

// NewFonts loads the embedded Latin faces and, where han is not empty, a TrueType font for what they lack.
func NewFonts(han []byte) (*Fonts, error) {
	f := &Fonts{cache: font.NewCache(nil), missing: map[rune]bool{}, placement: map[rune]font.Typeface{}}
	for _, s := range []struct {
		ttf    []byte
		weight xfont.Weight
	}{{liberationsansregular.TTF, xfont.WeightNormal}, {liberationsansbold.TTF, xfont.WeightBold}} {
		face, err := opentype.Parse(s.ttf)
		if err != nil {
			return nil, fmt.Errorf("embedded font: %w", err)
		}
		if f.latin == nil {
			f.latin = face
		}
		f.cache.Add(font.Collection{{Font: font.Font{Typeface: Latin, Weight: s.weight}, Face: face}})
	}
	if len(han) > 0 {
		face, err := opentype.Parse(han)
		if err != nil {
			return nil, fmt.Errorf("not a TrueType font: %w", err)
		}
		f.han = face
		f.cache.Add(font.Collection{{Font: font.Font{Typeface: Han}, Face: face}})
	}
	return f, nil
}

// HasHan reports whether a second font was loaded.
func (f *Fonts) HasHan() bool { return f.han != nil }

// Run is a stretch of text in one typeface.
type Run struct {
	Text     string
	Typeface font.Typeface
}

// Runs splits s by the typeface that has its glyphs. A character that neither has is remembered for Missing and left to Latin.
func (f *Fonts) Runs(s string) []Run {
	var runs []Run
	start, current := 0, font.Typeface("")
	for i, r := range s {
		t := f.typeface(r)
		if t != current {
			if i > start {
				runs = append(runs, Run{s[start:i], current})
			}
			start, current = i, t
		}
	}
	if start < len(s) {
		runs = append(runs, Run{s[start:], current})
	}
	return runs
}

func (f *Fonts) typeface(r rune) font.Typeface {
	if t, ok := f.placement[r]; ok {
		return t
	}
	t := Latin
	switch {
	case r == '\n' || r == '\t' || f.has(f.latin, r):
	case f.han != nil && f.has(f.han, r):
		t = Han
	default:
		f.missing[r] = true
	}
	f.placement[r] = t
	return t
}

func (f *Fonts) has(face *opentype.Font, r rune) bool {
	i, err := face.GlyphIndex(&f.buffer, r)
	return err == nil && i != 0
}

// Missing lists the characters asked for so far that no font has, in order.
func (f *Fonts) Missing() []rune {
	var out []rune
	for r := range f.missing {
		out = append(out, r)
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}

// Face is a typeface at a size and weight.
func (f *Fonts) Face(t font.Typeface, size vg.Length, weight xfont.Weight) font.Face {
	if t == Han {
		weight = xfont.WeightNormal
	}
	return f.cache.Lookup(font.Font{Typeface: t, Weight: weight}, size)
}

// Width measures one line of text.
func (f *Fonts) Width(s string, size vg.Length, weight xfont.Weight) vg.Length {
	w := vg.Length(0)
	for _, r := range f.Runs(s) {
		face := f.Face(r.Typeface, size, weight)
		w += face.Width(r.Text)
	}
	return w
}

// Fit shortens s with an ellipsis until it is no wider than width.
func (f *Fonts) Fit(s string, size vg.Length, weight xfont.Weight, width vg.Length) string {
	if f.Width(s, size, weight) <= width {
		return s
	}
	runes := []rune(s)
	lo, hi := 0, len(runes)
	for lo < hi {
		mid := (lo + hi + 1) / 2
		if f.Width(string(runes[:mid])+"…", size, weight) <= width {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return strings.TrimRight(string(runes[:lo]), " -") + "…"
}

// Cache implements text.Handler.
func (f *Fonts) Cache() *font.Cache { return f.cache }

// Extents implements text.Handler.
func (f *Fonts) Extents(fnt font.Font) font.Extents {
	face := f.Face(Latin, fnt.Size, fnt.Weight)
	return face.Extents()
}

// Lines implements text.Handler.
func (f *Fonts) Lines(s string) []string { return strings.Split(strings.TrimRight(s, "\n"), "\n") }

// Box implements text.Handler.
func (f *Fonts) Box(s string, fnt font.Font) (width, height, depth vg.Length) {
	e := f.Extents(fnt)
	return f.Width(s, fnt.Size, fnt.Weight), e.Ascent, e.Descent
}

// Draw implements text.Handler; it follows gonum's plain handler, run by run.
func (f *Fonts) Draw(c vg.Canvas, s string, sty text.Style, pt vg.Point) {
	if s = strings.TrimRight(s, "\n"); s == "" {
		return
	}
	c.SetColor(sty.Color)
	lines := f.Lines(s)
	pt.Y += sty.Height(s)*vg.Length(sty.YAlign) - f.Extents(sty.Font).Ascent
	for i, line := range lines {
		x := pt.X + vg.Length(sty.XAlign)*f.Width(line, sty.Font.Size, sty.Font.Weight)
		y := pt.Y + vg.Length(len(lines)-i)*sty.Font.Size
		for _, r := range f.Runs(line) {
			face := f.Face(r.Typeface, sty.Font.Size, sty.Font.Weight)
			c.FillString(face, vg.Point{X: x, Y: y}, r.Text)
			x += face.Width(r.Text)
		}
	}
}
