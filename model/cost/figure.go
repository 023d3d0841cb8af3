package cost

import (
	"fmt"
	"math"
	"sort"

	"scoville/model/fact"
	"scoville/model/tomlfile"
)

// Figure is a fact that may be written in TOML as a bare number, the reader's own assumption, or in full:
// { value = 2.5, kind = "datasheet", source = "...", date = "2026-11-09" }.
type Figure struct{ fact.Fact }

// given is the source of a bare number.
const given = "given by the user"

// Given is a figure that the user vouches for.
func Given(v float64) Figure {
	return Figure{fact.Fact{Value: v, Kind: fact.Estimate, Source: given}}
}

// Sourced is a figure with its provenance.
func Sourced(v float64, kind fact.Kind, source, date string) Figure {
	return Figure{fact.Fact{Value: v, Kind: kind, Source: source, Date: date}}
}

// UnmarshalTOML reads either form.
func (f *Figure) UnmarshalTOML(v any) error {
	switch v := v.(type) {
	case int64:
		*f = Given(float64(v))
	case float64:
		*f = Given(v)
	case map[string]any:
		return f.fromTable(v)
	default:
		return fmt.Errorf("found %v; expected a number or { value = ..., kind = ..., source = ..., date = ... }", v)
	}
	return nil
}

func (f *Figure) fromTable(t map[string]any) error {
	*f = Figure{}
	text := map[string]*string{"source": &f.Source, "date": &f.Date, "note": &f.Note}
	keys := make([]string, 0, len(t))
	for k := range t {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		switch k {
		case "value":
			switch n := t[k].(type) {
			case int64:
				f.Value = float64(n)
			case float64:
				f.Value = n
			default:
				return fmt.Errorf("value is %v; expected a number", t[k])
			}
		case "kind":
			f.Kind = fact.Kind(fmt.Sprint(t[k]))
		case "source", "date", "note":
			*text[k] = fmt.Sprint(t[k])
		default:
			msg := fmt.Sprintf("unknown key %q", k)
			if near := tomlfile.Nearest(k, []string{"value", "kind", "source", "date", "note"}); near != "" {
				msg += fmt.Sprintf(" (did you mean %q?)", near)
			}
			return fmt.Errorf("%s", msg)
		}
	}
	if _, ok := t["value"]; !ok {
		return fmt.Errorf("value is missing")
	}
	return f.Check()
}

// within refuses a figure outside [low, high].
func (f Figure) within(name string, low, high float64) error {
	if math.IsNaN(f.Value) || f.Value < low || f.Value > high {
		return fmt.Errorf("%s is %g; expected between %g and %g", name, f.Value, low, high)
	}
	return nil
}
