package breakeven

import (
	"fmt"
	"math"

	"scoville/model/tomlfile"
)

// Spec is a chip as far as cost is concerned. A what-if fills in what nobody has published.
type Spec struct {
	BytesPerSecond float64 `json:"bytes_per_second"` // memory bandwidth
	FLOPS          float64 `json:"flops"`            // dense peak at the precision served
	MemoryBytes    float64 `json:"memory_bytes"`
	Watts          float64 `json:"watts"`     // drawn when busy
	PriceUSD       float64 `json:"price_usd"` // to buy one chip, or its rent per hour where the plan rents
}

// Evaluator prices a chip: US dollars per million tokens, input and output. It may be a simulation, or Analytic.
type Evaluator func(Spec) (float64, error)

// Dimension is a specification that may be solved for.
type Dimension string

// The dimensions.
const (
	Bandwidth Dimension = "bandwidth"
	Compute   Dimension = "compute"
	Memory    Dimension = "memory"
	Power     Dimension = "power"
	ChipPrice Dimension = "price"
)

// Dimensions lists the valid names with their units.
func Dimensions() []string {
	return []string{string(Bandwidth), string(Compute), string(Memory), string(Power), string(ChipPrice)}
}

func (d Dimension) field(s *Spec) (*float64, string) {
	switch d {
	case Bandwidth:
		return &s.BytesPerSecond, "bytes/s"
	case Compute:
		return &s.FLOPS, "FLOP/s"
	case Memory:
		return &s.MemoryBytes, "bytes"
	case Power:
		return &s.Watts, "W"
	case ChipPrice:
		return &s.PriceUSD, "USD"
	}
	return nil, ""
}

// better is +1 where more of a dimension lowers the cost, -1 where less does.
func (d Dimension) better() float64 {
	if d == Power || d == ChipPrice {
		return -1
	}
	return 1
}

// Requirement is what one specification must reach, the others as assumed.
type Requirement struct {
	Dimension Dimension `json:"dimension"`
	Unit      string    `json:"unit"`
	Assumed   float64   `json:"assumed"`
	Needed    float64   `json:"needed"` // at least, or at most for power and price
	Exists    bool      `json:"exists"`
	Note      string    `json:"note"`
}

// Target asks what each dimension must reach, one at a time, for the chip to cost (1 - margin) of the incumbent's price
// per million tokens. base holds the assumed values of the others; all must be above 0.
func Target(base Spec, incumbent, margin float64, eval Evaluator, dimensions ...Dimension) ([]Requirement, error) {
	goal := incumbent * (1 - margin)
	if !(goal > 0) {
		return nil, fmt.Errorf("target of %g per million tokens less %.0f %% is not above 0", incumbent, 100*margin)
	}
	if _, err := eval(base); err != nil {
		return nil, err
	}
	var out []Requirement
	for _, d := range dimensions {
		r, err := require(base, goal, eval, d)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// require solves one dimension on [assumed/1000, assumed x 1000]; the cost is taken to be monotone in it.
func require(base Spec, goal float64, eval Evaluator, d Dimension) (Requirement, error) {
	field, unit := d.field(&base)
	if field == nil {
		msg := fmt.Sprintf("unknown dimension %q; expected one of %q", d, Dimensions())
		if near := tomlfile.Nearest(string(d), Dimensions()); near != "" {
			msg += fmt.Sprintf(" (did you mean %q?)", near)
		}
		return Requirement{}, fmt.Errorf("%s", msg)
	}
	r := Requirement{Dimension: d, Unit: unit, Assumed: *field}
	if !(r.Assumed > 0) {
		return r, fmt.Errorf("%s is %g; every specification needs an assumed value above 0", d, r.Assumed)
	}
	gap := func(x float64) float64 {
		s := base
		f, _ := d.field(&s)
		*f = x
		usd, err := eval(s)
		if err != nil {
			return math.Inf(1) // can't serve at all: dearer than anything
		}
		return usd - goal
	}
	good, bad := r.Assumed*math.Pow(1000, d.better()), r.Assumed*math.Pow(1000, -d.better())
	word := map[float64]string{1: "at least", -1: "at most"}[d.better()]
	switch {
	case gap(good) > 0:
		r.Note = fmt.Sprintf("no %s up to a thousandfold is enough: another specification binds", d)
		if d.better() < 0 {
			r.Note = fmt.Sprintf("no %s down to a thousandth is enough: another specification binds", d)
		}
	case gap(bad) <= 0:
		r.Note = fmt.Sprintf("%s does not matter between a thousandth and a thousandfold of what is assumed", d)
	default:
		r.Needed, r.Exists = frontier(gap, good, bad), true
		r.Note = fmt.Sprintf("%s must be %s %.4g %s (assumed %.4g)", d, word, r.Needed, unit, r.Assumed)
	}
	return r, nil
}

// frontier bisects between a value that meets the goal and one that doesn't, and returns one that does.
func frontier(gap func(float64) float64, good, bad float64) float64 {
	for range 200 {
		if math.Abs(math.Log(good/bad)) < 1e-9 {
			break
		}
		mid := math.Sqrt(good * bad)
		if gap(mid) <= 0 {
			good = mid
		} else {
			bad = mid
		}
	}
	return good
}

// Point is a bandwidth and the highest price at which the chip meets the target with it.
type Point struct {
	BytesPerSecond float64 `json:"bytes_per_second"`
	PriceUSD       float64 `json:"highest_price_usd"` // meaningless unless Exists
	Exists         bool    `json:"exists"`            // false: no price is low enough, or every price is
	Note           string  `json:"note"`
}

// Frontier is the highest price at which the chip meets the target for each bandwidth, the rest as assumed: the line that
// an unannounced chip must lie below.
func Frontier(base Spec, incumbent, margin float64, eval Evaluator, bandwidths []float64) ([]Point, error) {
	var out []Point
	for _, b := range bandwidths {
		s := base
		s.BytesPerSecond = b
		r, err := require(s, incumbent*(1-margin), eval, ChipPrice)
		if err != nil {
			return nil, err
		}
		out = append(out, Point{b, r.Needed, r.Exists, r.Note})
	}
	return out, nil
}
