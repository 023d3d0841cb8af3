package reports

import (
	"strings"
	"unicode"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/vg"
)

func weight(bold bool) xfont.Weight {
	if bold {
		return xfont.WeightBold
	}
	return xfont.WeightNormal
}

func (s *setter) width(text string, size float64, bold bool) float64 {
	return s.fonts.Width(text, vg.Length(size), weight(bold)).Points()
}

// line writes one line with its baseline at y.
func (s *setter) line(x, y float64, text string, size float64, bold bool) {
	style := ""
	if bold {
		style = "B"
	}
	for _, r := range s.fonts.Runs(text) {
		s.doc.SetFont(family(r.Typeface), style, size)
		s.doc.Text(x, y, bmp(r.Text))
		x += s.width(r.Text, size, bold)
	}
}

// bmp replaces what the PDF's text encoding can't hold: control characters and those beyond the basic plane.
func bmp(s string) string {
	return strings.Map(func(r rune) rune {
		if r > 0xffff || unicode.IsControl(r) {
			return '\ufffd'
		}
		return r
	}, s)
}

func (s *setter) paragraph(text string, size, leading float64, bold bool) {
	for _, l := range s.wrap(text, size, bold, textWidth) {
		s.breakAt(leading)
		s.line(marginSide, s.y+size, l, size, bold)
		s.y += leading
	}
}

// wrap breaks text into lines no wider than width: at spaces, after Chinese characters and after punctuation inside long
// words such as addresses; a piece too wide even so is cut.
func (s *setter) wrap(text string, size float64, bold bool, width float64) []string {
	var lines []string
	for _, par := range strings.Split(text, "\n") {
		line := ""
		for _, piece := range pieces(par) {
			if s.width(strings.TrimRight(line+piece, " "), size, bold) <= width {
				line += piece
				continue
			}
			if strings.TrimSpace(line) != "" {
				lines = append(lines, strings.TrimRight(line, " "))
			}
			line = strings.TrimLeft(piece, " ")
			for s.width(strings.TrimRight(line, " "), size, bold) > width {
				head, tail := s.cut(line, size, bold, width)
				lines = append(lines, head)
				line = tail
			}
		}
		if line = strings.TrimRight(line, " "); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// cut splits a word after as many characters as fit, at least one.
func (s *setter) cut(word string, size float64, bold bool, width float64) (head, tail string) {
	runes := []rune(word)
	lo, hi := 1, len(runes)
	for lo < hi {
		mid := (lo + hi + 1) / 2
		if s.width(string(runes[:mid]), size, bold) <= width {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return string(runes[:lo]), string(runes[lo:])
}

// pieces splits a paragraph where a line may break, keeping every character.
func pieces(s string) []string {
	var out []string
	start := 0
	runes := []rune(s)
	for i, r := range runes {
		if i+1 == len(runes) {
			break
		}
		next := runes[i+1]
		switch {
		case r == ' ' && next != ' ':
		case wide(r) && !closing(next) && !opening(r):
		case wide(next) && !closing(next) && !opening(r) && r != ' ':
		case strings.ContainsRune("/-_?&=.,", r) && unicode.IsLetter(next) && i-start > 7:
		default:
			continue
		}
		out = append(out, string(runes[start:i+1]))
		start = i + 1
	}
	return append(out, string(runes[start:]))
}

func wide(r rune) bool { return r >= 0x2e80 && r <= 0xffef }

func closing(r rune) bool {
	return strings.ContainsRune("，。、；：？！）】》」』”’,.;:!?)]}%", r)
}

func opening(r rune) bool { return strings.ContainsRune("（【《「『“‘([{", r) }

// splitListing cuts lines to n columns; Chinese characters count double.
func splitListing(text string, n int) []string {
	var out []string
	for _, line := range strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n") {
		var b strings.Builder
		used := 0
		for _, r := range line {
			w := 1
			if wide(r) {
				w = 2
			}
			if used+w > n {
				out = append(out, b.String())
				b.Reset()
				b.WriteString("  ")
				used = 2
			}
			b.WriteRune(r)
			used += w
		}
		out = append(out, b.String())
	}
	return out
}
