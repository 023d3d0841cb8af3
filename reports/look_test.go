package reports

import (
	"bytes"
	"os"
	"path/filepath"
	"sort"
	"testing"

	"github.com/xuri/excelize/v2"
)

// TestLook writes every report of every fixture into $SCOVILLE_LOOK, for eyes.
func TestLook(t *testing.T) {
	dir := os.Getenv("SCOVILLE_LOOK")
	if dir == "" {
		t.Skip("SCOVILLE_LOOK names no folder")
	}
	for name, r := range fixtures() {
		for _, lang := range Langs() {
			to := filepath.Join(dir, name+"-"+lang)
			if err := os.MkdirAll(to, 0o755); err != nil {
				t.Fatal(err)
			}
			o := Options{Lang: lang}
			var pdf, tab bytes.Buffer
			warn, err := PDF(&pdf, r, o)
			if err != nil {
				t.Fatal(name, err)
			}
			if err := TableIn(&tab, r, o); err != nil {
				t.Fatal(name, err)
			}
			t.Log(name, lang, pdf.Len(), warn)
			write(t, filepath.Join(to, "report.pdf"), pdf.Bytes())
			write(t, filepath.Join(to, "table.txt"), tab.Bytes())
			var page, book bytes.Buffer
			if _, err := HTML(&page, r, o); err != nil {
				t.Fatal(name, err)
			}
			if err := XLSX(&book, r, o); err != nil {
				t.Fatal(name, err)
			}
			write(t, filepath.Join(to, "report.html"), page.Bytes())
			write(t, filepath.Join(to, "report.xlsx"), book.Bytes())
			if _, err := PNGs(to, r, o); err != nil {
				t.Fatal(name, err)
			}
			if _, err := SVGs(to, r, o); err != nil {
				t.Fatal(name, err)
			}
		}
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestEverySentenceIsTranslated builds every fixture in Chinese and lists sentences that stay English.
func TestEverySentenceIsTranslated(t *testing.T) {
	unknown := map[string]bool{}
	for _, r := range fixtures() {
		b := &builder{newWords("zh"), r}
		b.document("zh")
		b.pageWords()
		book := &workbook{builder: b, f: excelize.NewFile()}
		book.all()
		if book.err != nil {
			t.Fatal(book.err)
		}
		b.terminal(false)
		for k := range b.unknown {
			unknown[k] = true
		}
	}
	var list []string
	for k := range unknown {
		list = append(list, k)
	}
	sort.Strings(list)
	for _, k := range list {
		t.Errorf("no Chinese for %q", k)
	}
}
