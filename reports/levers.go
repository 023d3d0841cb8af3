package reports

import (
	"math"

	"scoville/sim/plan"
)

// Moved is a cost with its levers moved: the sheet's formulas and the page's script compute the same.
type Moved struct {
	Components         []float64 // US dollars, in the order of Cost.Components
	TCO, Monthly       float64
	PerM, PerMIn       float64
	PerMOut            float64
	InputTokens, ITKWh float64
	OutputTokens       float64
}

// Move recomputes c at another price, tariff, PUE and utilisation by the formula of plan.Levers. Tokens and energy between
// two points of utilisation are interpolated; beyond the outer ones they are held.
func Move(c *plan.Cost, price, usdPerKWh, pue, utilisation float64) Moved {
	l := c.Levers
	self, at := l.Points[l.PointsSelf], pointAt(l.Points, utilisation)
	bill := at.ITKWh * pue * usdPerKWh
	planned := self.ITKWh * l.PUE * l.USDPerKWh
	m := Moved{InputTokens: at.InputTokens, OutputTokens: at.OutputTokens, ITKWh: at.ITKWh}
	for _, k := range c.Components {
		usd := k.USD + k.PerPrice*(price-l.Price) + k.PerEnergy*(bill-planned)
		m.Components = append(m.Components, usd)
		m.TCO += usd
	}
	m.Monthly = m.TCO / float64(max(1, c.HorizonMonths))
	if tokens := at.InputTokens + at.OutputTokens; tokens > 0 {
		m.PerM = m.TCO * 1e6 / tokens
	}
	if c.PerMBoth > 0 { // the mix of tokens does not change, so the classes keep their ratio to the whole
		m.PerMIn, m.PerMOut = c.PerMInput*m.PerM/c.PerMBoth, c.PerMOutput*m.PerM/c.PerMBoth
	}
	return m
}

func pointAt(points []plan.UtilisationPoint, u float64) plan.UtilisationPoint {
	if u <= points[0].Utilisation {
		return points[0]
	}
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		if u > b.Utilisation {
			continue
		}
		t := (u - a.Utilisation) / (b.Utilisation - a.Utilisation)
		mix := func(x, y float64) float64 { return x + t*(y-x) }
		return plan.UtilisationPoint{Utilisation: u, InputTokens: mix(a.InputTokens, b.InputTokens), OutputTokens: mix(a.OutputTokens, b.OutputTokens), ITKWh: mix(a.ITKWh, b.ITKWh)}
	}
	return points[len(points)-1]
}

// movable reports whether a cost has levers that make sense.
func movable(c *plan.Cost) bool {
	if c == nil || c.Levers == nil {
		return false
	}
	l := c.Levers
	if len(l.Points) == 0 || l.PointsSelf < 0 || l.PointsSelf >= len(l.Points) {
		return false
	}
	for i, p := range l.Points {
		if math.IsNaN(p.Utilisation) || i > 0 && p.Utilisation <= l.Points[i-1].Utilisation {
			return false
		}
	}
	return true
}
