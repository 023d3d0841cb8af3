package reports

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"codeberg.org/go-fonts/liberation/liberationmonoregular"
	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"codeberg.org/go-pdf/fpdf"
	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"scoville/reports/chart"
	"scoville/reports/page"
	"scoville/sim/plan"
)

// A4 in points, and the frame of its text.
const (
	pageWidth, pageHeight    = 595.28, 841.89
	marginSide               = 51.0
	marginTop, marginBottom  = 58.0, 60.0
	textWidth                = pageWidth - 2*marginSide
	textBottom               = pageHeight - marginBottom
	bodySize, bodyLeading    = 9.5, 13.5
	tableSize, tableLeading  = 8.0, 10.4
	listingSize, listingLead = 7.6, 9.8
	blockGap                 = 9.0
)

// PDF writes the planning report. Warnings name characters that no font at hand can draw. The bytes depend on the result and
// the options alone.
func PDF(w io.Writer, r *plan.Result, o Options) (warnings []string, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	b := &builder{newWords(o.Lang), r}
	d := b.document(o.Lang)
	fonts, err := loadFonts(o, fmt.Sprint(*d))
	if err != nil {
		return nil, err
	}
	first := newSetter(d, b, fonts)
	first.all(nil, 0)
	second := newSetter(d, b, fonts)
	second.all(first.starts, first.doc.PageNo())
	if second.err != nil {
		return nil, second.err
	}
	var out bytes.Buffer
	if err := second.doc.Output(&out); err != nil {
		return nil, fmt.Errorf("PDF: %w", err)
	}
	_, err = w.Write(out.Bytes())
	return fonts.warnings(), err
}

// setter sets a document on pages, top to bottom.
type setter struct {
	words
	doc    *fpdf.Fpdf
	d      *Document
	r      *plan.Result
	fonts  *typefaces
	y      float64
	starts []int // page on which each section starts
	links  []int
	pages  int
	err    error
}

func newSetter(d *Document, b *builder, fonts *typefaces) *setter {
	doc := fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt", Size: fpdf.SizeType{Wd: pageWidth, Ht: pageHeight}})
	doc.SetAutoPageBreak(false, 0)
	doc.SetMargins(0, 0, 0)
	doc.SetCellMargin(0)
	doc.SetCatalogSort(true)
	date := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	if t, err := time.Parse(time.DateOnly, b.r.AsOf); err == nil {
		date = t
	}
	doc.SetCreationDate(date)
	doc.SetModificationDate(date)
	doc.SetTitle(d.Title, true)
	doc.SetSubject(b.headline(), true)
	doc.SetAuthor("scoville "+b.r.Version, true)
	doc.SetCreator("scoville "+b.r.Version, true)
	doc.SetProducer("scoville", true)
	doc.SetKeywords("capacity planning, LLM inference, SLA, TCO", true)
	doc.SetLang(d.Lang)
	doc.AddUTF8FontFromBytes("sans", "", liberationsansregular.TTF)
	doc.AddUTF8FontFromBytes("sans", "B", liberationsansbold.TTF)
	doc.AddUTF8FontFromBytes("mono", "", liberationmonoregular.TTF)
	if len(fonts.han) > 0 {
		doc.AddUTF8FontFromBytes("han", "", fonts.han)
		doc.AddUTF8FontFromBytes("han", "B", fonts.han)
	}
	return &setter{words: b.words, doc: doc, d: d, r: b.r, fonts: fonts}
}

func family(t font.Typeface) string {
	if t == chart.Han {
		return "han"
	}
	return "sans"
}

// all sets everything; starts and pages come from an earlier pass.
func (s *setter) all(starts []int, pages int) {
	s.pages = pages
	for range s.d.Sections {
		s.links = append(s.links, s.doc.AddLink())
	}
	s.newPage()
	s.head()
	for i, section := range s.d.Sections {
		if i == 1 {
			s.contents(starts)
			s.newPage()
		}
		s.section(i, section)
	}
	if s.err == nil {
		s.err = s.doc.Error()
	}
}

func (s *setter) newPage() {
	s.doc.AddPage()
	s.y = marginTop
	n := s.doc.PageNo()
	s.colour(0x66, 0x66, 0x66)
	foot := pageHeight - 34
	s.line(marginSide, foot, s.fonts.Fit(s.d.Title, 7.5, xfont.WeightNormal, textWidth*0.6), 7.5, false)
	right := s.f("page %d of %d", n, max(n, s.pages))
	s.line(pageWidth-marginSide-s.width(right, 7.5, false), foot, right, 7.5, false)
	s.colour(0x22, 0x22, 0x22)
}

func (s *setter) head() {
	s.paragraph(s.d.Title, 21, 26, true)
	s.colour(0x66, 0x66, 0x66)
	s.paragraph(s.d.Subtitle, 10, 14, false)
	s.colour(0x22, 0x22, 0x22)
	s.y += 8
}

func (s *setter) section(i int, section Section) {
	if s.y > marginTop+1 && i > 0 {
		s.y += 16
	}
	if len(section.Blocks) > 0 {
		if need := 40 + s.height(section.Blocks[0]); s.y+need > textBottom && s.y > marginTop+1 {
			s.newPage()
		}
	}
	s.starts = append(s.starts, s.doc.PageNo())
	s.doc.SetFont("sans", "", bodySize)
	s.doc.Bookmark(section.Title, 0, s.y)
	s.doc.SetLink(s.links[i], s.y, s.doc.PageNo())
	if i > 0 {
		s.paragraph(fmt.Sprintf("%d  %s", i+1, section.Title), 16, 21, true)
		s.y += 5
	}
	for _, b := range section.Blocks {
		s.block(b)
	}
}

func (s *setter) contents(starts []int) {
	need := 40 + 16*float64(len(s.d.Sections))
	if s.y+need+24 > textBottom {
		s.newPage()
	} else {
		s.y += 14
	}
	s.paragraph(s.t("Contents"), 12, 18, true)
	s.y += 2
	for i, section := range s.d.Sections {
		number, at := fmt.Sprintf("%d", i+1), ""
		if i < len(starts) {
			at = fmt.Sprintf("%d", starts[i])
		}
		base := s.y + bodySize
		s.line(marginSide, base, number, bodySize, false)
		s.line(marginSide+20, base, section.Title, bodySize, false)
		end := marginSide + 20 + s.width(section.Title, bodySize, false)
		x := pageWidth - marginSide - s.width(at, bodySize, false)
		s.line(x, base, at, bodySize, false)
		s.rule(end+6, base-1, x-6, 0.3)
		s.doc.Link(marginSide, s.y-1, textWidth, 15, s.links[i])
		s.y += 15
	}
}

// height is the room a block needs to start; tables and texts may then run over pages.
func (s *setter) height(b Block) float64 {
	switch v := b.(type) {
	case Picture:
		return v.Chart.Height*pictureScale + s.captionHeight(v) + 30
	case Grid:
		whole := 30 + float64(len(v.Rows)+1)*(tableLeading+4.5)
		if whole < (textBottom-marginTop)*0.5 { // short tables stay whole
			return whole
		}
		return 20 + 6*tableLeading
	case Figures:
		return 70
	}
	return 3 * bodyLeading
}

func (s *setter) block(b Block) {
	if need := s.height(b); s.y+need > textBottom && s.y > marginTop+1 {
		s.newPage()
	}
	switch v := b.(type) {
	case Text:
		switch {
		case v.Lead:
			s.paragraph(v.Text, 13.5, 18.5, true)
		case v.Heading:
			s.paragraph(v.Text, 10.5, 14, true)
			s.y -= 4
		default:
			s.paragraph(v.Text, bodySize, bodyLeading, false)
		}
	case Note:
		s.note(v)
	case Figures:
		s.figures(v)
	case Grid:
		s.table(v)
	case Picture:
		s.picture(v)
	case Listing:
		s.listing(v)
	}
	s.y += blockGap
}

// pictureScale enlarges a chart's nominal size to the width of the text.
const pictureScale = textWidth / pictureWidth

func (s *setter) captionHeight(p Picture) float64 {
	if p.Caption == "" {
		return 0
	}
	return float64(len(s.wrap(p.Caption, 8.5, false, textWidth))) * 11.5
}

func (s *setter) picture(p Picture) {
	s.paragraph(p.Chart.Title, 10.5, 14, true)
	if p.Caption != "" {
		s.colour(0x55, 0x55, 0x55)
		s.paragraph(p.Caption, 8.5, 11.5, false)
		s.colour(0x22, 0x22, 0x22)
	}
	s.y += 4
	h := p.Chart.Height * pictureScale
	if err := page.Draw(s.doc, family, marginSide, s.y, textWidth, h, func(c draw.Canvas) { p.Chart.Draw(s.fonts.Fonts, c) }); err != nil && s.err == nil {
		s.err = err
	}
	s.colour(0x22, 0x22, 0x22)
	s.y += h + 4
}

// figures sets headline numbers side by side between two rules.
func (s *setter) figures(f Figures) {
	s.rule(marginSide, s.y, pageWidth-marginSide, 0.8)
	w := textWidth / float64(max(1, len(f)))
	bottom := s.y
	for i, k := range f {
		x := marginSide + w*float64(i)
		if i > 0 {
			x += 4
		}
		size := 19.0
		for size > 9 && s.width(k.Value, size, true) > w-8 {
			size--
		}
		s.colour(0x66, 0x66, 0x66)
		s.line(x, s.y+13, s.fonts.Fit(k.Label, 8, xfont.WeightNormal, vg.Length(w-8)), 8, false)
		s.colour(0x00, 0x4f, 0x7d)
		s.line(x, s.y+34, k.Value, size, true)
		s.colour(0x66, 0x66, 0x66)
		y := s.y + 46
		for _, l := range s.wrap(k.Detail, 7.5, false, w-8) {
			s.line(x, y, l, 7.5, false)
			y += 9.5
		}
		bottom = max(bottom, y)
	}
	s.colour(0x22, 0x22, 0x22)
	s.y = bottom
	s.rule(marginSide, s.y, pageWidth-marginSide, 0.8)
	s.y += 4
}

func (s *setter) note(n Note) {
	lines := s.wrap(n.Text, 8.8, false, textWidth-14)
	if h := float64(len(lines)) * 12; s.y+h > textBottom && h < 300 {
		s.newPage()
	}
	top := s.y
	for _, l := range lines {
		s.breakAt(12)
		if s.y < top {
			top = s.y
		}
		s.line(marginSide+12, s.y+9, l, 8.8, false)
		s.y += 12
	}
	s.doc.SetFillColor(0xE6, 0x9F, 0x00)
	s.doc.Rect(marginSide, top+0.5, 3, s.y-top-1, "F")
	s.y -= 3
}

func (s *setter) listing(l Listing) {
	width := textWidth - 16
	perLine := int(width / (listingSize * 0.6))
	for _, line := range splitListing(l.Text, perLine) {
		s.breakAt(listingLead)
		s.doc.SetFillColor(0xf3, 0xf3, 0xf3)
		s.doc.Rect(marginSide, s.y, textWidth, listingLead+0.2, "F")
		x := marginSide + 8
		for _, r := range s.fonts.Runs(line) {
			text := bmp(r.Text)
			fam := "mono"
			if r.Typeface == chart.Han {
				fam = "han"
			}
			s.doc.SetFont(fam, "", listingSize)
			s.doc.Text(x, s.y+listingLead*0.76, text)
			x += s.doc.GetStringWidth(text)
		}
		s.y += listingLead
	}
}

func (s *setter) breakAt(need float64) {
	if s.y+need > textBottom {
		s.newPage()
	}
}

func (s *setter) colour(r, g, b int) { s.doc.SetTextColor(r, g, b) }

func (s *setter) rule(x0, y, x1, width float64) {
	if x1 <= x0 {
		return
	}
	s.doc.SetDrawColor(0xbb, 0xbb, 0xbb)
	s.doc.SetLineWidth(width)
	s.doc.Line(x0, y, x1, y)
}
