// Package fact holds a number together with where it came from. Every figure a plan rests on is a Fact,
// so that a report can print its source, its date and how far it may be trusted.
package fact

import "fmt"

// Kind says how a figure was obtained.
type Kind string

// The kinds, most to least trustworthy.
const (
	Measured     Kind = "measured"     // read off a real machine, or an invoice actually paid
	Datasheet    Kind = "datasheet"    // the vendor's own figure, or a published list price
	Estimate     Kind = "estimate"     // derived or relayed; the source says how
	Hypothetical Kind = "hypothetical" // a what-if: nobody vouches for it
)

// Kinds lists the valid kinds in the order above.
func Kinds() []string {
	return []string{string(Measured), string(Datasheet), string(Estimate), string(Hypothetical)}
}

// Fact is one figure in SI units (or US dollars) with its provenance. The unit is in the name of the field that holds it.
type Fact struct {
	Value  float64 `toml:"value" json:"value"`
	Kind   Kind    `toml:"kind" json:"kind"`
	Source string  `toml:"source" json:"source"` // who says so: document, URL or repository@commit
	Date   string  `toml:"date" json:"date"`     // when it was published or measured: YYYY, YYYY-MM or YYYY-MM-DD
	Note   string  `toml:"note,omitempty" json:"note,omitempty"`
}

// Known reports whether the figure was given at all; an unknown figure is the zero Fact.
func (f Fact) Known() bool { return f.Kind != "" }

// Check refuses a fact without kind, source or date. The error names no file; the caller adds the place.
func (f Fact) Check() error {
	switch f.Kind {
	case Measured, Datasheet, Estimate, Hypothetical:
	default:
		return fmt.Errorf("kind %q is not one of measured, datasheet, estimate, hypothetical", f.Kind)
	}
	if f.Source == "" {
		return fmt.Errorf("source is missing")
	}
	if f.Date == "" {
		return fmt.Errorf("date is missing")
	}
	return nil
}
