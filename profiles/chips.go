package profiles

import (
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"

	"scoville/hardware"
	"scoville/model/tomlfile"
)

// Chips lists the names of the shipped chips in alphabetical order, templates included.
func Chips() ([]string, error) { return names("chips") }

func names(dir string) ([]string, error) {
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		return nil, fmt.Errorf("shipped %s: %w", dir, err)
	}
	var out []string
	for _, e := range entries {
		if n, ok := strings.CutSuffix(e.Name(), ".toml"); ok {
			out = append(out, n)
		}
	}
	sort.Strings(out)
	return out, nil
}

// Chip finds a shipped chip by its name or one of its aliases, spelling of case, spaces, dashes and underscores aside. A template
// is returned as it stands: see hardware.Chip.Blanks for what it lacks.
func Chip(name string) (hardware.Chip, error) {
	all, err := Chips()
	if err != nil {
		return hardware.Chip{}, err
	}
	want := plain(name)
	var known []string
	for _, n := range all {
		if plain(n) == want {
			return loadChip(n)
		}
		known = append(known, n)
	}
	for _, n := range all {
		c, err := readChip("chips/"+n+".toml", nil)
		if err != nil {
			return hardware.Chip{}, err
		}
		for _, a := range c.Aliases {
			if plain(a) == want {
				return loadChip(n)
			}
			known = append(known, a)
		}
	}
	if near := tomlfile.Nearest(name, known); near != "" {
		return hardware.Chip{}, fmt.Errorf("unknown chip %q (did you mean %q?)", name, near)
	}
	return hardware.Chip{}, fmt.Errorf("unknown chip %q; the shipped chips are %s", name, strings.Join(all, ", "))
}

// plain folds spellings of one name together.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case ' ', '-', '_', '.', '(', ')', ',':
			return -1
		}
		return r
	}, strings.ToLower(s))
}

func loadChip(name string) (hardware.Chip, error) {
	c, err := readChip(path.Join("chips", name+".toml"), nil)
	if err != nil {
		return c, err
	}
	return withCurves(c)
}

// ReadChip loads a chip file of the user's own. Its curves come from the shipped chip it names in model.curves_like, or from
// curves, the path of a file written by "scoville profiles derive"; "" for none.
func ReadChip(file, curves string) (hardware.Chip, error) {
	var c hardware.Chip
	if err := tomlfile.ReadFile(file, &c); err != nil {
		return c, err
	}
	if curves != "" {
		if err := tomlfile.ReadFile(curves, &c.Curves); err != nil {
			return c, err
		}
	} else {
		var err error
		if c, err = withCurves(c); err != nil {
			return c, &tomlfile.Error{File: file, Key: "model.curves_like", Problem: err.Error()}
		}
	}
	if err := c.Check(); err != nil {
		return c, &tomlfile.Error{File: file, Problem: err.Error()}
	}
	return c, nil
}

// readChip decodes a shipped chip without its curves.
func readChip(file string, data []byte) (hardware.Chip, error) {
	var c hardware.Chip
	if data == nil {
		var err error
		if data, err = files.ReadFile(file); err != nil {
			return c, fmt.Errorf("shipped chip: %w", err)
		}
	}
	if err := tomlfile.Decode("profiles/"+file, data, &c); err != nil {
		return c, err
	}
	if err := c.Check(); err != nil {
		return c, &tomlfile.Error{File: "profiles/" + file, Problem: err.Error()}
	}
	return c, nil
}

// withCurves attaches the chip's own shipped curves, or those of the chip it resembles.
func withCurves(c hardware.Chip) (hardware.Chip, error) {
	from := c.Name
	data, err := files.ReadFile(path.Join("curves", from+".toml"))
	if err != nil && c.Model.CurvesLike != "" {
		from = c.Model.CurvesLike
		data, err = files.ReadFile(path.Join("curves", from+".toml"))
	}
	if err != nil {
		if c.Model.CurvesLike == "" {
			return c, nil // smooth default curves, see hardware.NewStepModel
		}
		all, listErr := names("curves")
		if listErr != nil {
			return c, listErr
		}
		return c, fmt.Errorf("%s: curves_like %q has no shipped curves; those with are %s", c.Name, c.Model.CurvesLike, strings.Join(all, ", "))
	}
	if err := tomlfile.Decode("profiles/curves/"+from+".toml", data, &c.Curves); err != nil {
		return c, err
	}
	if err := c.Check(); err != nil {
		return c, &tomlfile.Error{File: "profiles/curves/" + from + ".toml", Problem: err.Error()}
	}
	return c, nil
}
