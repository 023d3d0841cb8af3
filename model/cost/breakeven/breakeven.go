// Package breakeven finds at what price, rent, utilisation, efficiency or volume one deployment costs the same as another,
// and, turned round (target costing), what a chip of unknown specifications must reach to beat an incumbent.
package breakeven

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"scoville/model/cost"
	"scoville/model/tomlfile"
)

// Variable is what is moved until two deployments cost the same per million tokens.
type Variable string

// The variables. All are of the first deployment except Volume, which both serve.
const (
	Price       Variable = "price"       // purchase price of an accelerator
	Rental      Variable = "rent"        // rent of a chip-hour, every lease set to it
	Utilisation Variable = "utilisation" // mean load over what the fleet holds; the fleet stays
	Efficiency  Variable = "efficiency"  // tokens for the same chips, watts and time, as a multiple of today's
	Volume      Variable = "volume"      // mean tokens per month of both; fleets grow and shrink with it, not below one replica
)

// Variables lists the valid names.
func Variables() []string {
	return []string{string(Price), string(Rental), string(Utilisation), string(Efficiency), string(Volume)}
}

// Deployment is one side of a comparison: a fleet under assumptions, or a hosted API at a price per token class.
type Deployment struct {
	Name        string
	Input       cost.Input
	Assumptions cost.Assumptions
	Hosted      *cost.PerClass // US dollars per million tokens; then Input.Mean is only the traffic, Assumptions are not used
	// ReplicaChips is the step in which the fleet grows, and its smallest size; 0: one node.
	ReplicaChips int
}

// Answer is where the first deployment costs what the second does.
type Answer struct {
	Candidate string   `json:"candidate"`
	Against   string   `json:"against"`
	Variable  Variable `json:"variable"`
	Unit      string   `json:"unit"`
	Now       float64  `json:"now"`
	At        float64  `json:"at"` // meaningless unless Exists
	Exists    bool     `json:"exists"`
	Cost      float64  `json:"cost"`         // of the candidate now, per million tokens, input and output
	Versus    float64  `json:"cost_against"` // of the other now
	Note      string   `json:"note"`
}

// Check refuses a deployment that can't be priced.
func (d Deployment) Check() error {
	if d.Hosted != nil {
		if d.Input.Mean.InputTokensPerSecond+d.Input.Mean.OutputTokensPerSecond <= 0 {
			return fmt.Errorf("%s: a hosted price needs the traffic it is for", d.Name)
		}
		return nil
	}
	if err := d.Assumptions.Check(); err != nil {
		return fmt.Errorf("%s: %w", d.Name, err)
	}
	if err := d.Input.Check(d.Assumptions.HorizonMonths); err != nil {
		return fmt.Errorf("%s: %w", d.Name, err)
	}
	return nil
}

// PerMillion is the cost per million tokens, input and output together.
func (d Deployment) PerMillion() float64 {
	if d.Hosted != nil {
		t := d.Input.Mean.Tokens(1)
		return d.Hosted.Total(t) / t.Both() * 1e6
	}
	usd, _ := cost.Unit(d.Input, d.Assumptions)
	return usd
}

// at returns both deployments with the variable at x.
func at(a, b Deployment, v Variable, x, now float64) (Deployment, Deployment) {
	switch v {
	case Price:
		a.Assumptions.Buying.Accelerator.Price.Value = x
	case Rental:
		leases := append([]cost.Lease(nil), a.Assumptions.Renting...)
		for i := range leases {
			leases[i].USDPerChipHour.Value = x
		}
		a.Assumptions.Renting = leases
	case Utilisation:
		a.Input.Mean = a.Input.Mean.Times(x / now)
	case Efficiency:
		a.Input = a.Input.Faster(x)
	case Volume:
		a, b = a.scaled(x/now), b.scaled(x/now)
	}
	return a, b
}

// scaled is the deployment for k times the traffic, in whole replicas.
func (d Deployment) scaled(k float64) Deployment {
	if d.Hosted != nil {
		d.Input.Mean = d.Input.Mean.Times(k)
		return d
	}
	replica := d.ReplicaChips
	if replica <= 0 {
		replica = max(d.Input.ChipsPerNode, 1)
	}
	d.Input = d.Input.Resized(k, replica)
	return d
}

// notApplicable marks a variable that a deployment does not have.
type notApplicable struct{ error }

// NotApplicable reports whether Solve refused because the deployment has no such variable (rent of what is bought).
func NotApplicable(err error) bool {
	var n notApplicable
	return errors.As(err, &n)
}

// now is the variable as planned, and its unit.
func now(a Deployment, v Variable) (float64, string, error) {
	hosted := notApplicable{fmt.Errorf("%s is a hosted price: it has no %s to solve for", a.Name, v)}
	switch v {
	case Price:
		if a.Hosted != nil {
			return 0, "", hosted
		}
		if a.Assumptions.Ownership != cost.Buy {
			return 0, "", notApplicable{fmt.Errorf("%s is rented: solve for %q, not %q", a.Name, Rental, Price)}
		}
		return a.Assumptions.Buying.Accelerator.Price.Value, "USD/chip", nil
	case Rental:
		if a.Hosted != nil {
			return 0, "", hosted
		}
		if a.Assumptions.Ownership != cost.Rent {
			return 0, "", notApplicable{fmt.Errorf("%s is bought: solve for %q, not %q", a.Name, Price, Rental)}
		}
		sum, shares := 0.0, 0.0
		for _, l := range a.Assumptions.Renting {
			share := l.Share
			if len(a.Assumptions.Renting) == 1 {
				share = 1
			}
			sum, shares = sum+share*l.USDPerChipHour.Value, shares+share
		}
		return sum / shares, "USD/chip-hour", nil
	case Utilisation:
		if a.Hosted != nil {
			return 0, "", hosted
		}
		return a.Input.Utilisation(), "share", nil
	case Efficiency:
		if a.Hosted != nil {
			return 0, "", hosted
		}
		return 1, "x", nil
	case Volume:
		return (a.Input.Mean.InputTokensPerSecond + a.Input.Mean.OutputTokensPerSecond) * cost.MonthHours * cost.SecondsPerHour, "tokens/month", nil
	}
	msg := fmt.Sprintf("unknown variable %q; expected one of %q", v, Variables())
	if near := tomlfile.Nearest(string(v), Variables()); near != "" {
		msg += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return 0, "", fmt.Errorf("%s", msg)
}

// Solve finds the value of v at which a and b cost the same per million tokens. It looks from a
// thousandth to a thousand times today's value (utilisation: up to 1) on a logarithmic grid and bisects the crossings. Of
// several it takes the one nearest to today's value, for Volume the first.
func Solve(a, b Deployment, v Variable) (Answer, error) {
	if err := a.Check(); err != nil {
		return Answer{}, err
	}
	if err := b.Check(); err != nil {
		return Answer{}, err
	}
	x0, unit, err := now(a, v)
	if err != nil {
		return Answer{}, err
	}
	if !(x0 > 0) {
		return Answer{}, fmt.Errorf("%s: %s is %g now; a break-even needs a start above 0", a.Name, v, x0)
	}
	ans := Answer{Candidate: a.Name, Against: b.Name, Variable: v, Unit: unit, Now: x0, Cost: a.PerMillion(), Versus: b.PerMillion()}
	gap := func(x float64) float64 {
		p, q := at(a, b, v, x, x0)
		return p.PerMillion() - q.PerMillion()
	}
	low, high := x0/1000, x0*1000
	if v == Utilisation {
		high = 1
	}
	all := crossings(gap, low, high)
	if len(all) > 0 {
		ans.Exists = true
		ans.At = nearest(all, x0)
		if v == Volume {
			ans.At = all[0] // fleets grow in steps: the first volume is the one to remember
		}
	}
	ans.Note = ans.note(gap(low), low, high)
	if v == Volume && len(all) > 1 {
		ans.Note += fmt.Sprintf("; whole replicas make it alternate up to %.4g %s", all[len(all)-1], ans.Unit)
	}
	return ans, nil
}

// note says the answer in words.
func (a Answer) note(gapAtLow, low, high float64) string {
	if !a.Exists {
		word := "dearer"
		if gapAtLow < 0 {
			word = "cheaper"
		}
		return fmt.Sprintf("%s is %s than %s at any %s from %s to %s %s", a.Candidate, word, a.Against, a.Variable, digits(low), digits(high), a.Unit)
	}
	side := "below"
	if gapAtLow > 0 {
		side = "above"
	}
	return fmt.Sprintf("%s is cheaper than %s with %s %s %s %s (now %s)", a.Candidate, a.Against, a.Variable, side, digits(a.At), a.Unit, digits(a.Now))
}

// digits writes four significant digits, without an exponent up to a billion.
func digits(v float64) string {
	if math.Abs(v) >= 1e4 && math.Abs(v) < 1e9 {
		unit := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-3)
		return strconv.FormatFloat(math.Round(v/unit)*unit, 'f', 0, 64)
	}
	return fmt.Sprintf("%.4g", v)
}

// crossings finds the sign changes of f in [low, high], rising, that a logarithmic grid of 240 steps resolves.
func crossings(f func(float64) float64, low, high float64) []float64 {
	const steps = 240
	var all []float64
	ratio := math.Log(high / low)
	x := low
	fx := f(x)
	for i := 1; i <= steps; i++ {
		y := low * math.Exp(ratio*float64(i)/steps)
		fy := f(y)
		switch {
		case fx == 0:
			all = append(all, x)
		case fx*fy < 0:
			all = append(all, bisect(f, x, y, fx))
		}
		x, fx = y, fy
	}
	return all
}

// nearest is the value closest to x0 in ratio.
func nearest(all []float64, x0 float64) float64 {
	best := all[0]
	for _, x := range all[1:] {
		if math.Abs(math.Log(x/x0)) < math.Abs(math.Log(best/x0)) {
			best = x
		}
	}
	return best
}

// bisect narrows a sign change to a relative 1e-10.
func bisect(f func(float64) float64, low, high, fLow float64) float64 {
	for high/low-1 > 1e-10 {
		mid := math.Sqrt(low * high)
		if m := f(mid); m == 0 {
			return mid
		} else if m*fLow < 0 {
			high = mid
		} else {
			low, fLow = mid, m
		}
	}
	return math.Sqrt(low * high)
}
