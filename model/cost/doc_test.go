package cost

import (
	"os"
	"strings"
	"testing"
)

// The TOML in docs/cost.md must be what the reader accepts.
func TestDocumentedTOML(t *testing.T) {
	text, err := os.ReadFile("../../docs/cost.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```toml\n")[1:]
	if len(blocks) < 2 {
		t.Fatalf("%d TOML blocks in docs/cost.md", len(blocks))
	}
	for _, b := range blocks {
		b, _, _ = strings.Cut(b, "```")
		f, err := DecodeFile("docs/cost.md", []byte(b))
		if err != nil {
			t.Errorf("%v in\n%s", err, b)
			continue
		}
		if len(f.Cost.Renting) > 0 {
			if err := checkLeases(f.Cost.Renting); err != nil {
				t.Errorf("%v in\n%s", err, b)
			}
		}
	}
	for _, key := range []string{"horizon_months", "spare_parts_share", "hourly_multipliers", "staff_usd_per_month"} {
		if !strings.Contains(string(text), key) {
			t.Errorf("docs/cost.md does not name %s", key)
		}
	}
}
