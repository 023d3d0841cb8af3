package reports

import (
	"bytes"
	_ "embed" // the page's markup and script
	"fmt"
	"html/template"
	"io"
	"strings"

	"scoville/sim/plan"
)

//go:embed page.html
var pageTemplate string

//go:embed script.js
var pageScript string

// HTML writes one page that needs nothing else: inline charts, no request to anywhere, sliders that recompute the cost by the
// formula of plan.Levers. Without a script everything but the sliders can be read. See PDF for warnings.
func HTML(w io.Writer, r *plan.Result, o Options) (warnings []string, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	b := &builder{newWords(o.Lang), r}
	d := b.document(o.Lang)
	fonts, err := loadFonts(o, fmt.Sprint(*d))
	if err != nil {
		return nil, err
	}
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("HTML: %w", err)
	}
	p := pageData{Lang: map[string]string{"en": "en", "zh": "zh-CN"}[d.Lang], Version: r.Version, Title: d.Title, Subtitle: d.Subtitle, Words: b.pageWords()}
	for _, s := range d.Sections {
		section := pageSection{Title: s.Title, Anchor: s.Anchor}
		for _, block := range s.Blocks {
			h, err := blockHTML(block, fonts)
			if err != nil {
				return nil, fmt.Errorf("HTML: %w", err)
			}
			section.Blocks = append(section.Blocks, h)
		}
		p.Sections = append(p.Sections, section)
	}
	if levers := b.pageLevers(); len(levers) > 0 {
		p.Levers, p.Script = levers, template.JS(pageScript)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, p); err != nil {
		return nil, fmt.Errorf("HTML: %w", err)
	}
	_, err = w.Write(out.Bytes())
	return fonts.warnings(), err
}

type pageData struct {
	Lang, Version, Title, Subtitle string
	Sections                       []pageSection
	Levers                         []pageLevers
	Script                         template.JS
	Words                          pageWords
}

type pageSection struct {
	Title, Anchor string
	Blocks        []template.HTML
}

type pageWords struct {
	WhatIf, Candidate, Tariff, Utilisation, PerM, PerMIn, PerMOut, Month, Reset, Contents string
}

func (b *builder) pageWords() pageWords {
	return pageWords{WhatIf: b.t("What if?"), Candidate: b.t("candidate"), Tariff: b.t("power tariff"), Utilisation: b.t("utilisation"), PerM: b.t("$/M tokens"),
		PerMIn: b.t("$/M input tokens"), PerMOut: b.t("$/M output tokens"), Month: b.t("a month"), Reset: b.t("as planned"), Contents: b.t("Contents")}
}

// pageLevers is what the script computes with.
type pageLevers struct {
	Name       string           `json:"name"`
	Months     int              `json:"months"`
	PerM       float64          `json:"per_m"`
	PerMIn     float64          `json:"per_m_in"`
	PerMOut    float64          `json:"per_m_out"`
	Components []plan.Component `json:"components"`
	Levers     plan.Levers      `json:"levers"`
}

func (b *builder) pageLevers() []pageLevers {
	var out []pageLevers
	for _, c := range b.priced(len(b.r.Candidates)) {
		if movable(c.Cost) {
			l := *c.Cost.Levers
			l.PriceName = b.name(l.PriceName)
			out = append(out, pageLevers{c.Name, c.Cost.HorizonMonths, c.Cost.PerMBoth, c.Cost.PerMInput, c.Cost.PerMOutput, c.Cost.Components, l})
		}
	}
	return out
}

// blockHTML is a block as markup; every text is escaped.
func blockHTML(block Block, fonts *typefaces) (template.HTML, error) {
	esc := template.HTMLEscapeString
	var s strings.Builder
	switch v := block.(type) {
	case Text:
		switch {
		case v.Lead:
			s.WriteString(`<p class="lead">` + esc(v.Text) + "</p>")
		case v.Heading:
			s.WriteString("<h3>" + esc(v.Text) + "</h3>")
		default:
			s.WriteString("<p>" + esc(v.Text) + "</p>")
		}
	case Note:
		s.WriteString(`<p class="note">` + esc(v.Text) + "</p>")
	case Listing:
		s.WriteString("<pre>" + esc(v.Text) + "</pre>")
	case Figures:
		s.WriteString(`<div class="figures">`)
		for _, f := range v {
			s.WriteString("<div><span>" + esc(f.Label) + "</span><b>" + esc(f.Value) + "</b><span>" + esc(f.Detail) + "</span></div>")
		}
		s.WriteString("</div>")
	case Grid:
		gridHTML(&s, v)
	case Picture:
		var svg bytes.Buffer
		if err := v.Chart.SVGBody(&svg, fonts.Fonts); err != nil {
			return "", err
		}
		s.WriteString("<figure><figcaption><h3>" + esc(v.Chart.Title) + `</h3><p class="cap">` + esc(v.Caption) + "</p></figcaption>")
		s.Write(svg.Bytes())
		s.WriteString("</figure>")
	}
	return template.HTML(s.String()), nil
}

func gridHTML(s *strings.Builder, t Grid) {
	esc := template.HTMLEscapeString
	right := func(i int) string {
		if i < len(t.Columns) && t.Columns[i].Right {
			return ` class="r"`
		}
		return ""
	}
	s.WriteString("<h3>" + esc(t.Caption) + `</h3><div class="scroll"><table><thead><tr>`)
	for i, c := range t.Columns {
		s.WriteString("<th" + right(i) + ">" + esc(c.Name) + "</th>")
	}
	s.WriteString("</tr></thead><tbody>")
	for k, row := range t.Rows {
		if k == t.Strong {
			s.WriteString(`<tr class="strong">`)
		} else {
			s.WriteString("<tr>")
		}
		if spans(row) {
			fmt.Fprintf(s, `<td colspan="%d">%s</td>`, len(row), esc(row[0]))
		} else {
			for i, c := range row {
				class := right(i)
				if class != "" && len(c) < 24 { // a number keeps its unit
					class = ` class="r n"`
				}
				s.WriteString("<td" + class + ">" + esc(c) + "</td>")
			}
		}
		s.WriteString("</tr>")
	}
	s.WriteString("</tbody></table></div>")
}
