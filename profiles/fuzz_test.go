package profiles

import (
	"os"
	"path/filepath"
	"testing"

	"scoville/hardware"
	"scoville/model/tomlfile"
)

// seeds adds shipped files of a folder, so that mutations start from what is sound.
func seeds(f *testing.F, folder string) {
	f.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.toml"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names[:min(4, len(names))] {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
}

func FuzzChip(f *testing.F) {
	seeds(f, "chips")
	f.Fuzz(func(t *testing.T, data []byte) {
		if data == nil {
			return // means the shipped file
		}
		if c, err := readChip("fuzz.toml", data); err == nil && c.Check() != nil {
			t.Error("a chip that does not pass its own check")
		}
	})
}

func FuzzEngine(f *testing.F) {
	seeds(f, "engines")
	f.Fuzz(func(t *testing.T, data []byte) {
		if e, err := decodeEngine("fuzz.toml", data); err == nil && e.Check() != nil {
			t.Error("an engine that does not pass its own check")
		}
	})
}

func FuzzModels(f *testing.F) {
	seeds(f, "models")
	f.Fuzz(func(t *testing.T, data []byte) {
		models, err := DecodeModels("fuzz.toml", data)
		if err != nil {
			return
		}
		for _, m := range models {
			if m.Validate() != nil {
				t.Errorf("model %q does not pass its own check", m.Name)
			}
			if _, err := EncodeModel(m); err != nil {
				t.Errorf("model %q can't be written: %v", m.Name, err)
			}
		}
	})
}

func FuzzCurves(f *testing.F) {
	seeds(f, "curves")
	f.Fuzz(func(t *testing.T, data []byte) {
		var c hardware.Curves
		if err := tomlfile.Decode("fuzz.toml", data, &c); err != nil {
			return
		}
		if text, err := CurvesTOML(c); err == nil && len(text) == 0 {
			t.Error("curves are written as nothing")
		}
	})
}
