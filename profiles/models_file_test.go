package profiles

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestModelFileRoundTrip(t *testing.T) {
	all, err := Models()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		data, err := EncodeModel(m)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "m.toml")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		a, p, err := LoadModel(path)
		if err != nil {
			t.Fatalf("%s: %v\n%s", m.Name, err, data)
		}
		if d := cmp.Diff(m.Architecture, a) + cmp.Diff(m.Precision(), p); d != "" {
			t.Errorf("%s: -written +read\n%s", m.Name, d)
		}
	}
}
