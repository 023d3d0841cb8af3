package reports

import "fmt"

// words says the report's own sentences in its language. The English sentence is the key, as in gettext; one without a
// translation stays English.
type words struct {
	chinese   map[string]string // nil: English
	sentences []sentence        // forms of what results say; none: English
	unknown   map[string]bool   // keys without a translation, for the test that there are none
}

func newWords(lang string) words {
	if lang == "zh" {
		return words{chinese(), chineseSentences(), map[string]bool{}}
	}
	return words{}
}

// t translates a sentence.
func (w words) t(s string) string {
	if w.chinese == nil {
		return s
	}
	if z, ok := w.chinese[s]; ok {
		return z
	}
	w.unknown[s] = true
	return s
}

// name translates a name that the result brings, where there is a translation.
func (w words) name(s string) string {
	if z, ok := w.chinese[s]; ok {
		return z
	}
	return s
}

// f translates a format and fills it. Translations may reorder with %[n]s.
func (w words) f(format string, args ...any) string { return fmt.Sprintf(w.t(format), args...) }
