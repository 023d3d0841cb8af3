package tomlfile

import (
	"strings"
	"testing"
)

func TestLimits(t *testing.T) {
	deep := strings.Repeat("a.", 20_000)
	for name, c := range map[string]struct{ text, want string }{
		"dotted key":   {"b = 1\n" + deep + "a = 1", "x.toml:2: is nested more than 32 deep"},
		"table header": {"[" + deep + "a]", "x.toml:1: is nested more than 32 deep"},
		"inline key":   {"b = { " + deep + "a = 1 }", "nested more than 32"},
		"arrays":       {"b = " + strings.Repeat("[", 1000), "nested more than 32"},
		"long line":    {"\nb = \"" + strings.Repeat("x", 2<<20) + "\"", "x.toml:2: line is longer"},
	} {
		var v map[string]any
		if err := Decode("x.toml", []byte(c.text), &v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.200v; want %q", name, err, c.want)
		}
		if _, err := Tree("x.toml", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.200v; want %q", name, err, c.want)
		}
	}
	for _, fine := range []string{
		"a = \"" + strings.Repeat("[.", 100) + "\"", "a = '" + strings.Repeat("{", 100) + "'", "# " + strings.Repeat("[", 100),
		"a = \"\"\"\n" + strings.Repeat("[\"\\\"", 100) + "\n\"\"\"\nb = [1.5, 2.5]", "a = [" + strings.Repeat("1.5, ", 1000) + "]",
		"a = \"x\\\"" + strings.Repeat("[", 100) + "\"",
	} {
		var v map[string]any
		if err := Decode("x.toml", []byte(fine), &v); err != nil {
			t.Errorf("%.60q: %v", fine, err)
		}
	}
}
