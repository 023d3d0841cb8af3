package uncertainty

import (
	"fmt"
	"math"
	"runtime"
	"sort"
	"sync"

	"scoville/model/cost"
	"scoville/model/random"
)

// Candidate is one deployment with what is planned for it.
type Candidate struct {
	Name        string
	Surface     Surface
	Assumptions cost.Assumptions
}

// MaxDraws bounds a study.
const MaxDraws = 10_000_000

// Result is the spread of every candidate's cost.
type Result struct {
	Draws      int       `json:"draws"`
	Seed       uint64    `json:"seed"`
	Candidates []Spread  `json:"candidates"`
	Beats      []Duel    `json:"beats"` // every pair, first against second
	Variables  []Planned `json:"variables"`
}

// Planned is a variable beside its planned value.
type Planned struct {
	Variable
	Planned map[string]float64 `json:"planned"` // by candidate
}

// Spread is the uncertainty of one candidate.
type Spread struct {
	Name               string      `json:"name"`
	PerM               Percentiles `json:"per_m_tokens"`
	TCO                Percentiles `json:"tco"`
	Chips              Percentiles `json:"chips"`
	Cheapest           float64     `json:"probability_cheapest"`
	Drivers            []Driver    `json:"drivers"` // of the price per million tokens, strongest first
	Histogram          []Bin       `json:"histogram"`
	InterpolationError float64     `json:"interpolation_error"`
	Failed             int         `json:"failed_draws,omitempty"` // draws that gave no valid answer; left out
	FirstFailure       string      `json:"first_failure,omitempty"`
}

// Percentiles of a quantity over the draws.
type Percentiles struct {
	P10  float64 `json:"p10"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	Mean float64 `json:"mean"`
}

// Driver is how strongly a variable drives a candidate's price: Spearman's rank correlation.
type Driver struct {
	Name        string  `json:"name"`
	Correlation float64 `json:"rank_correlation"`
}

// Bin counts draws with a price in [Low, High), the last one closed.
type Bin struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Count int     `json:"count"`
}

// Duel is the probability that First costs less than Second, over the draws where both have an answer.
type Duel struct {
	First       string  `json:"first"`
	Second      string  `json:"second"`
	Probability float64 `json:"probability"`
	Error       float64 `json:"standard_error"` // of that probability, from the number of draws
}

// outcome is one draw of one candidate; perM is NaN where it failed.
type outcome struct{ perM, tco, chips float64 }

// MonteCarlo draws all variables together, the same draw for every candidate, and prices each. Streams are named by
// variable: adding one leaves the draws of the others as they were.
func MonteCarlo(candidates []Candidate, variables []Variable, draws int, seed uint64) (*Result, error) {
	if err := check(candidates, variables, draws); err != nil {
		return nil, err
	}
	u := uniforms(variables, draws, seed, 0)
	outcomes, failures := evaluate(candidates, variables, u, draws)
	r := &Result{Draws: draws, Seed: seed, Variables: planned(candidates, variables)}
	for i, c := range candidates {
		s := summarise(outcomes[i])
		s.Name, s.InterpolationError, s.FirstFailure = c.Name, c.Surface.InterpolationError(), failures[i]
		s.Drivers = drivers(c, variables, u, outcomes[i])
		r.Candidates = append(r.Candidates, s)
	}
	r.contest(outcomes)
	return r, nil
}

func check(candidates []Candidate, variables []Variable, draws int) error {
	if draws < 10 || draws > MaxDraws {
		return fmt.Errorf("draws are %d; expected 10 to %d", draws, MaxDraws)
	}
	names := map[string]bool{}
	for _, c := range candidates {
		if names[c.Name] {
			return fmt.Errorf("two candidates are named %q", c.Name)
		}
		names[c.Name] = true
		in, err := c.Surface.Fleet(Conditions{1, 1, 1})
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		if _, err := cost.Evaluate(in, c.Assumptions); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	seen := map[string]bool{}
	for _, v := range variables {
		if err := v.Check(); err != nil {
			return err
		}
		if v.Candidate != "" && !names[v.Candidate] {
			return fmt.Errorf("variable %s: no candidate is named %q", v.Name, v.Candidate)
		}
		if seen[v.key()] {
			return fmt.Errorf("variable %s is there twice", v.key())
		}
		seen[v.key()] = true
	}
	return nil
}

// uniforms draws one column for each variable.
func uniforms(variables []Variable, draws int, seed uint64, replication int) [][]float64 {
	out := make([][]float64, len(variables))
	for i, v := range variables {
		stream := random.New(seed, replication, "uncertainty/"+v.key())
		out[i] = make([]float64, draws)
		for k := range out[i] {
			out[i][k] = stream.Open()
		}
	}
	return out
}

// evaluate prices every draw of every candidate. Draws are split over the processors by index, so the result does not
// depend on how many there are.
func evaluate(candidates []Candidate, variables []Variable, u [][]float64, draws int) ([][]outcome, []string) {
	out := make([][]outcome, len(candidates))
	failures := make([]string, len(candidates))
	for i, c := range candidates {
		out[i] = make([]outcome, draws)
		apply := plan(c, variables)
		first := make([]error, draws)
		workers := runtime.GOMAXPROCS(0)
		var wait sync.WaitGroup
		for w := range workers {
			wait.Go(func() {
				for k := w * draws / workers; k < (w+1)*draws/workers; k++ {
					out[i][k], first[k] = price(c, apply, u, k)
				}
			})
		}
		wait.Wait()
		for _, err := range first {
			if err != nil {
				failures[i] = err.Error()
				break
			}
		}
	}
	return out, failures
}

// step sets one variable of a state from column col of the uniforms.
type step struct {
	at       func(*state) *float64
	v        Variable
	col      int
	relative bool
}

// plan resolves the variables that concern a candidate.
func plan(c Candidate, variables []Variable) []step {
	var out []step
	for i, v := range variables {
		if v.Candidate != "" && v.Candidate != c.Name {
			continue
		}
		s, err := v.setting()
		if err != nil {
			continue // check has refused these
		}
		out = append(out, step{s.at, v, i, v.Relative})
	}
	return out
}

func price(c Candidate, apply []step, u [][]float64, k int) (outcome, error) {
	s := state{c: Conditions{1, 1, 1}, a: c.Assumptions, watts: 1}
	s.a.Renting = append([]cost.Lease(nil), c.Assumptions.Renting...)
	for _, p := range apply {
		s.set(p.at, p.v, u[p.col][k])
	}
	return s.price(c.Surface)
}

func (s *state) set(at func(*state) *float64, v Variable, u float64) {
	x := v.Quantile(u)
	if v.Relative {
		x *= *at(s)
	}
	*at(s) = x
}

func (s *state) price(surface Surface) (outcome, error) {
	failed := outcome{math.NaN(), math.NaN(), math.NaN()}
	if !(s.c.Load > 0) || !(s.c.Speed > 0) || !(s.c.Output > 0) || !(s.watts >= 0) {
		return failed, fmt.Errorf("drew load %g, speed %g, output length %g, watts %g; expected above 0", s.c.Load, s.c.Speed, s.c.Output, s.watts)
	}
	in, err := surface.Fleet(s.c)
	if err != nil {
		return failed, err
	}
	if s.watts != 1 {
		power := append([]cost.PowerPoint(nil), in.Power...)
		for i := range power {
			power[i].WattsPerChip *= s.watts
		}
		in.Power = power
	}
	// The accelerator's life and residual are those of the host too.
	s.a.Buying.Host.LifeYears, s.a.Buying.Host.ResidualShare = s.a.Buying.Accelerator.LifeYears, s.a.Buying.Accelerator.ResidualShare
	if err := s.a.Check(); err != nil {
		return failed, err
	}
	perM, tco := cost.Unit(in, s.a)
	return outcome{perM, tco, float64(in.Chips)}, nil
}

func planned(candidates []Candidate, variables []Variable) []Planned {
	var out []Planned
	for _, v := range variables {
		p := Planned{Variable: v, Planned: map[string]float64{}}
		for _, c := range candidates {
			for _, step := range plan(c, []Variable{v}) {
				s := state{c: Conditions{1, 1, 1}, a: c.Assumptions, watts: 1}
				p.Planned[c.Name] = *step.at(&s)
			}
		}
		out = append(out, p)
	}
	return out
}

func summarise(o []outcome) Spread {
	columns := [3][]float64{}
	var s Spread
	for _, x := range o {
		if math.IsNaN(x.perM) {
			s.Failed++
			continue
		}
		columns[0], columns[1], columns[2] = append(columns[0], x.perM), append(columns[1], x.tco), append(columns[2], x.chips)
	}
	for i, to := range []*Percentiles{&s.PerM, &s.TCO, &s.Chips} {
		sort.Float64s(columns[i])
		*to = Percentiles{quantile(columns[i], 0.1), quantile(columns[i], 0.5), quantile(columns[i], 0.9), mean(columns[i])}
	}
	s.Histogram = histogram(columns[0])
	return s
}

// quantile of sorted values, interpolated (Hyndman and Fan's type 7).
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	if len(v) == 0 {
		return 0
	}
	return sum / float64(len(v))
}

// histogram has 30 bins from the 0.5th to the 99.5th percentile; the outer bins hold the tails.
func histogram(sorted []float64) []Bin {
	if len(sorted) == 0 {
		return nil
	}
	low, high := quantile(sorted, 0.005), quantile(sorted, 0.995)
	if !(high > low) {
		return []Bin{{sorted[0], sorted[len(sorted)-1], len(sorted)}}
	}
	const n = 30
	bins := make([]Bin, n)
	width := (high - low) / n
	for i := range bins {
		bins[i].Low, bins[i].High = low+float64(i)*width, low+float64(i+1)*width
	}
	for _, x := range sorted {
		bins[min(n-1, max(0, int((x-low)/width)))].Count++
	}
	bins[0].Low, bins[n-1].High = sorted[0], sorted[len(sorted)-1]
	return bins
}

// contest counts who is cheapest and who beats whom.
func (r *Result) contest(o [][]outcome) {
	for k := range r.Draws {
		best := -1
		for i := range o {
			if !math.IsNaN(o[i][k].perM) && (best < 0 || o[i][k].perM < o[best][k].perM) {
				best = i
			}
		}
		if best >= 0 {
			r.Candidates[best].Cheapest += 1 / float64(r.Draws)
		}
	}
	for i := range o {
		for j := i + 1; j < len(o); j++ {
			wins, both := 0.0, 0.0
			for k := range r.Draws {
				a, b := o[i][k].perM, o[j][k].perM
				if math.IsNaN(a) || math.IsNaN(b) {
					continue
				}
				both++
				switch {
				case a < b:
					wins++
				case a == b:
					wins += 0.5
				}
			}
			if both == 0 {
				continue
			}
			p := wins / both
			r.Beats = append(r.Beats, Duel{r.Candidates[i].Name, r.Candidates[j].Name, p, math.Sqrt(p * (1 - p) / both)})
		}
	}
}
