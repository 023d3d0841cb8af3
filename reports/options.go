package reports

import (
	"fmt"
	"os"
	"strings"

	"scoville/reports/chart"
)

// Options rule how a result is drawn, never what it says.
type Options struct {
	Lang string // "en" (default) or "zh"
	Font string // TrueType file for characters the embedded font lacks; empty: one is looked for where Lang or the text needs it
}

// Langs lists the languages of reports.
func Langs() []string { return []string{"en", "zh"} }

func (o Options) check() error {
	switch o.Lang {
	case "", "en", "zh":
		return nil
	}
	return fmt.Errorf("language %q is not one of %s", o.Lang, strings.Join(Langs(), ", "))
}

// hanFonts are places where systems keep a TrueType font with Chinese characters. Collections (.ttc) and CFF outlines can't
// be embedded in the PDF and are not listed.
func hanFonts() []string {
	return []string{
		"/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf",
		"/usr/share/fonts/truetype/droid/DroidSansFallback.ttf",
		"/usr/share/fonts/truetype/arphic-gbsn00lp/gbsn00lp.ttf",
		"/usr/share/fonts/truetype/lxgw-wenkai/LXGWWenKai-Regular.ttf",
		"/usr/share/fonts/google-droid-sans-fonts/DroidSansFallbackFull.ttf",
		"/usr/share/fonts/droid/DroidSansFallbackFull.ttf",
		"/Library/Fonts/Arial Unicode.ttf",
		"/System/Library/Fonts/Supplemental/Arial Unicode.ttf",
		`C:\Windows\Fonts\simhei.ttf`,
		`C:\Windows\Fonts\Deng.ttf`,
	}
}

// typefaces are the fonts of one report: for measuring and drawing charts, and the bytes to embed.
type typefaces struct {
	*chart.Fonts
	han     []byte
	hanPath string
}

// loadFonts loads the fonts that text needs. A font named by the user must load; one that is only looked for may be absent.
func loadFonts(o Options, text string) (*typefaces, error) {
	latin, err := chart.NewFonts(nil)
	if err != nil {
		return nil, err
	}
	if o.Font != "" {
		data, err := os.ReadFile(o.Font)
		if err != nil {
			return nil, fmt.Errorf("font: %w", err)
		}
		if err := trueType(data); err != nil {
			return nil, fmt.Errorf("font %s: %w", o.Font, err)
		}
		f, err := chart.NewFonts(data)
		if err != nil {
			return nil, fmt.Errorf("font %s: %w", o.Font, err)
		}
		return &typefaces{f, data, o.Font}, nil
	}
	latin.Runs(text)
	if len(latin.Missing()) == 0 {
		return &typefaces{latin, nil, ""}, nil
	}
	for _, path := range hanFonts() {
		data, err := os.ReadFile(path)
		if err != nil || trueType(data) != nil {
			continue
		}
		if f, err := chart.NewFonts(data); err == nil {
			return &typefaces{f, data, path}, nil
		}
	}
	latin, err = chart.NewFonts(nil)
	return &typefaces{latin, nil, ""}, err
}

// trueType refuses font files whose outlines the PDF can't hold.
func trueType(data []byte) error {
	if len(data) < 12 {
		return fmt.Errorf("not a font file")
	}
	switch string(data[:4]) {
	case "\x00\x01\x00\x00", "true":
		return nil
	case "ttcf":
		return fmt.Errorf("is a collection (.ttc); name a single TrueType font (.ttf)")
	case "OTTO":
		return fmt.Errorf("has CFF outlines (.otf); name a font with TrueType outlines (.ttf)")
	}
	return fmt.Errorf("not a TrueType font (.ttf)")
}

// warnings says which characters could not be drawn.
func (t *typefaces) warnings() []string {
	missing := t.Missing()
	if len(missing) == 0 {
		return nil
	}
	shown := missing[:min(len(missing), 12)]
	what := fmt.Sprintf("%d characters have no glyph in the fonts at hand and are drawn as boxes: %s", len(missing), strings.Join(strings.Split(string(shown), ""), " "))
	if len(missing) > len(shown) {
		what += " …"
	}
	if !t.HasHan() {
		what += "; name a TrueType font that has them with --font (Debian: fonts-droid-fallback)"
	}
	return []string{what}
}
