package workload

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"sort"
	"strings"

	"scoville/model/tomlfile"
)

const (
	maxTokens         = 1 << 27 // longest prompt or answer a description may ask for
	maxTurns          = 1 << 14
	maxSeconds        = 1e9
	defaultMaxContext = 1_000_000
	defaultDocuments  = 1000
	defaultChunk      = 512
	maxPrompts        = 1 << 22 // distinct shared prompts
	maxBlocks         = 1 << 16 // document chunks of a prompt
)

var processes = []string{"poisson", "deterministic", "gamma", "weibull", "on-off", "closed-loop"}

// compiled is a description made ready: everything that can be tabulated once. It is read-only afterwards.
type compiled struct {
	fingerprint uint64
	gaps        *gaps
	onOff       *onOff
	think       *quantile // closed loop
	classes     []compiledClass
	cumulative  []float64 // of the classes' shares, last is 1
	replay      *replay
	meanShape   float64 // mean of the hourly and weekday multipliers: divides them
}

type compiledClass struct {
	*Class
	input, output *quantile
	copula        [][]float64 // cumulative probabilities of output bands by input band
	rho           float64
	prefix        *compiledPrefix
	sessions      *compiledSessions
	priority      int32
	timeoutNanos  int64
}

// Validate checks every field and prepares the workload, so that Source is cheap afterwards. Call it again after a change;
// Source notices a change and prepares anew on each call until then. Errors name the TOML key.
func (w *Workload) Validate() error {
	c, err := w.compile()
	if err != nil {
		return err
	}
	w.made = c
	return nil
}

// ready returns the prepared form, made anew if the description changed since Validate.
func (w *Workload) ready() (*compiled, error) {
	if w.made != nil {
		f, err := w.fingerprint()
		if err != nil {
			return nil, err
		}
		if f == w.made.fingerprint {
			return w.made, nil
		}
	}
	return w.compile()
}

func (w *Workload) fingerprint() (uint64, error) {
	b, err := json.Marshal(w)
	if err != nil {
		return 0, fmt.Errorf("workload %q holds a number that is not finite: %w", w.Name, err)
	}
	h := fnv.New64a()
	h.Write(b)
	h.Write([]byte(w.dir))
	return h.Sum64(), nil
}

func (w *Workload) compile() (*compiled, error) {
	f, err := w.fingerprint()
	if err != nil {
		return nil, err
	}
	c := &compiled{fingerprint: f}
	if err := c.arrivals(&w.Arrivals); err != nil {
		return nil, err
	}
	if err := checkScalars(w); err != nil {
		return nil, err
	}
	if w.Trace != nil {
		if len(w.Classes) > 0 || w.Lengths.Input.Kind != "" || w.Sessions != nil || w.Prefix != nil {
			return nil, fieldError("trace", "a trace brings its own lengths, prefixes and sessions; lengths, prefix, sessions and classes must be left out")
		}
		c.replay, err = w.openReplay()
		return c, err
	}
	classes := w.Classes
	if len(classes) == 0 {
		classes = []Class{{Share: 1, Lengths: w.Lengths, Prefix: w.Prefix, Sessions: w.Sessions}}
	} else if w.Lengths.Input.Kind != "" || w.Lengths.Output.Kind != "" || w.Prefix != nil || w.Sessions != nil {
		return nil, fieldError("classes", "give lengths, prefix and sessions either once at the top or in each class, not both")
	}
	total := 0.0
	seen := map[string]bool{}
	for i := range classes {
		field := ""
		if len(w.Classes) > 0 {
			field = fmt.Sprintf("classes[%d].", i)
			if classes[i].Name == "" || seen[classes[i].Name] {
				return nil, fieldError(field+"name", "each class needs a name of its own, got %q", classes[i].Name)
			}
			seen[classes[i].Name] = true
		}
		if !(classes[i].Share > 0) || math.IsInf(classes[i].Share, 0) {
			return nil, fieldError(field+"share", "%g is not above 0", classes[i].Share)
		}
		cc, err := compileClass(field, &classes[i])
		if err != nil {
			return nil, err
		}
		total += classes[i].Share
		c.classes = append(c.classes, cc)
		c.cumulative = append(c.cumulative, total)
	}
	for i := range c.cumulative {
		c.cumulative[i] /= total
	}
	c.cumulative[len(c.cumulative)-1] = 1
	for i := range c.classes {
		if s := c.classes[i].sessions; s != nil {
			s.meanTurns = c.meanTurns(i, SourceOptions{InputScale: 1, OutputScale: 1})
		}
	}
	if w.Arrivals.Process == "closed-loop" && c.hasSessions() {
		return nil, fieldError("sessions", "a closed loop has no sessions: each client is one conversation slot already")
	}
	return c, nil
}

func (c *compiled) hasSessions() bool {
	for i := range c.classes {
		if c.classes[i].sessions != nil {
			return true
		}
	}
	return false
}

func (c *compiled) arrivals(a *Arrivals) (err error) {
	if !(a.RequestsPerSecond >= 0) || a.RequestsPerSecond > 1e9 {
		return fieldError("arrivals.requests_per_second", "%g is not between 0 and 1e9", a.RequestsPerSecond)
	}
	if a.OnOff != nil && a.Process != "on-off" {
		return fieldError("arrivals.on_off", "belongs to process \"on-off\", not %q", a.Process)
	}
	if a.ClosedLoop != nil && a.Process != "closed-loop" {
		return fieldError("arrivals.closed_loop", "belongs to process \"closed-loop\", not %q", a.Process)
	}
	switch a.Process {
	case "", "poisson", "deterministic", "gamma", "weibull":
		process := a.Process
		if process == "" {
			process = "poisson"
		}
		if c.gaps, err = compileGaps(process, a.CV); err != nil {
			return err
		}
	case "on-off":
		if a.OnOff == nil {
			return fieldError("arrivals.on_off", "is missing: on_seconds and off_seconds of the on-off process")
		}
		inner := "poisson"
		if a.CV != 0 && a.CV != 1 {
			inner = "gamma"
		}
		if c.gaps, err = compileGaps(inner, a.CV); err != nil {
			return err
		}
		if c.onOff, err = a.OnOff.compile(); err != nil {
			return err
		}
	case "closed-loop":
		if c.gaps, err = compileGaps("poisson", 0); err != nil { // for when it is offered openly, at a rate
			return err
		}
		if a.ClosedLoop == nil || a.ClosedLoop.Concurrency < 1 || a.ClosedLoop.Concurrency > 1<<20 {
			return fieldError("arrivals.closed_loop.concurrency", "a closed loop needs 1 to %d clients", 1<<20)
		}
		if !(a.ClosedLoop.RampSeconds >= 0) || a.ClosedLoop.RampSeconds > maxSeconds {
			return fieldError("arrivals.closed_loop.ramp_seconds", "%g is not a time of at least 0", a.ClosedLoop.RampSeconds)
		}
		if a.ClosedLoop.Think != nil {
			if c.think, err = a.ClosedLoop.Think.compile("arrivals.closed_loop.think_seconds", maxSeconds); err != nil {
				return err
			}
		}
	default:
		hint := ""
		if near := tomlfile.Nearest(a.Process, processes); near != "" {
			hint = fmt.Sprintf(" (did you mean %q?)", near)
		}
		return fieldError("arrivals.process", "%q is not a process%s; the processes are %s", a.Process, hint, strings.Join(processes, ", "))
	}
	return c.shape(a)
}

// shape checks the modulation and finds the mean of the weekly multipliers, by which they are divided.
func (c *compiled) shape(a *Arrivals) error {
	meanOf := func(field string, v []float64, n int) (float64, error) {
		if len(v) == 0 {
			return 1, nil
		}
		if n > 0 && len(v) != n {
			return 0, fieldError(field, "needs %d multipliers, got %d", n, len(v))
		}
		sum := 0.0
		for i, x := range v {
			if !(x >= 0) || x > 1e6 {
				return 0, fieldError(field, "multiplier %d is %g, not between 0 and 1e6", i, x)
			}
			sum += x
		}
		if sum == 0 {
			return 0, fieldError(field, "all multipliers are 0")
		}
		return sum / float64(len(v)), nil
	}
	hours, err := meanOf("arrivals.hourly", a.Hourly, 24)
	if err != nil {
		return err
	}
	days, err := meanOf("arrivals.weekday", a.Weekday, 7)
	if err != nil {
		return err
	}
	c.meanShape = hours * days
	if s := a.Shape; s != nil {
		mean, err := meanOf("arrivals.shape.multipliers", s.Multipliers, 0)
		if err != nil {
			return err
		}
		if !(s.StepSeconds > 0) || s.StepSeconds > maxSeconds || len(s.Multipliers) == 0 {
			return fieldError("arrivals.shape", "needs step_seconds > 0 and multipliers; got %g and %d", s.StepSeconds, len(s.Multipliers))
		}
		c.meanShape *= mean
	}
	if !(a.StartHour >= 0) || a.StartHour > 168 {
		return fieldError("arrivals.start_hour", "%g is not between 0 and 168 (hours since Monday 00:00)", a.StartHour)
	}
	if a.PeakToMean != 0 && !(a.PeakToMean >= 1 && a.PeakToMean < 1e4) {
		return fieldError("arrivals.peak_to_mean_hour", "%g is not at least 1", a.PeakToMean)
	}
	if r := a.Ramp; r != nil && (!(r.Seconds > 0) || !(r.From >= 0) || !(r.To > 0) || max(r.From, r.To, r.Seconds) > maxSeconds) {
		return fieldError("arrivals.ramp", "needs seconds > 0, from >= 0 and to > 0; got %g, %g and %g", r.Seconds, r.From, r.To)
	}
	if s := a.Spike; s != nil && (!(s.Seconds > 0) || !(s.AtSeconds >= 0) || !(s.Factor >= 0) || max(s.Seconds, s.AtSeconds, s.Factor) > maxSeconds) {
		return fieldError("arrivals.spike", "needs seconds > 0, at_seconds >= 0 and factor >= 0; got %g, %g and %g", s.Seconds, s.AtSeconds, s.Factor)
	}
	return nil
}

func checkScalars(w *Workload) error {
	if u := w.Users; u != nil {
		if _, err := PeakFromUsers(u.DailyActive, u.PerDay, max(u.PeakFactor, 1)); err != nil {
			return fmt.Errorf("users: %w", err)
		}
	}
	if g := w.Growth; g != nil {
		for _, p := range []struct {
			name string
			v    float64
		}{{"rate_per_month", g.RatePerMonth}, {"input_per_month", g.InputPerMonth}, {"output_per_month", g.OutputPerMonth}} {
			if !(p.v > -1 && p.v <= 10) {
				return fieldError("growth."+p.name, "%g is not above -1 and at most 10 (0.05 is 5 %% a month)", p.v)
			}
		}
	}
	return nil
}

func compileClass(field string, c *Class) (compiledClass, error) {
	out := compiledClass{Class: c, priority: c.Priority, timeoutNanos: int64(c.TimeoutSeconds * 1e9)}
	var err error
	if _, err = c.Limits(); err != nil {
		return out, fmt.Errorf("%s%w", field, err)
	}
	if !(c.TimeoutSeconds >= 0) || c.TimeoutSeconds > maxSeconds {
		return out, fieldError(field+"timeout_seconds", "%g is not a time of at least 0", c.TimeoutSeconds)
	}
	if out.input, err = c.Lengths.Input.compile(field+"lengths.input", maxTokens); err != nil {
		return out, err
	}
	if out.output, err = c.Lengths.Output.compile(field+"lengths.output", maxTokens); err != nil {
		return out, err
	}
	if out.rho = c.Lengths.Correlation; !(out.rho > -1 && out.rho < 1) {
		return out, fieldError(field+"lengths.correlation", "%g is not between -1 and 1", out.rho)
	}
	if len(c.Lengths.Copula) > 0 {
		if out.rho != 0 {
			return out, fieldError(field+"lengths.correlation", "give either correlation or copula, not both")
		}
		if out.copula, err = compileCopula(field+"lengths.copula", c.Lengths.Copula); err != nil {
			return out, err
		}
	}
	if c.Prefix != nil {
		if out.prefix, err = compilePrefix(field+"prefix.", c.Prefix); err != nil {
			return out, err
		}
		if most := out.input.max / float64(out.prefix.chunk); out.prefix.reuse != nil && most > maxBlocks {
			return out, fieldError(field+"prefix.chunk_tokens", "%d makes up to %.0f blocks a prompt; at most %d are allowed, so chunks of %.0f tokens", out.prefix.chunk, most, maxBlocks, math.Ceil(out.input.max/maxBlocks))
		}
	}
	if c.Sessions != nil {
		out.sessions, err = compileSessions(field+"sessions.", c)
	}
	return out, err
}

// compileCopula checks that both margins are uniform, as a copula's are, and accumulates each row.
func compileCopula(field string, m [][]float64) ([][]float64, error) {
	rows, columns := len(m), len(m[0])
	if columns == 0 {
		return nil, fieldError(field, "has an empty row")
	}
	total := 0.0
	sums := make([]float64, columns)
	out := make([][]float64, rows)
	for i, row := range m {
		if len(row) != columns {
			return nil, fieldError(field, "row %d has %d entries, the first has %d", i+1, len(row), columns)
		}
		out[i] = make([]float64, columns)
		sum := 0.0
		for j, p := range row {
			if !(p >= 0) || math.IsInf(p, 0) {
				return nil, fieldError(field, "row %d column %d is %g, not a probability", i+1, j+1, p)
			}
			sum += p
			sums[j] += p
			out[i][j] = sum
		}
		if sum == 0 {
			return nil, fieldError(field, "row %d sums to 0", i+1)
		}
		for j := range out[i] {
			out[i][j] /= sum
		}
		out[i][columns-1] = 1
		total += sum
	}
	const tolerance = 0.02
	for j, s := range sums {
		if math.Abs(s/total*float64(columns)-1) > tolerance {
			return nil, fieldError(field, "column %d sums to %.4g, not the 1/%d of the whole that rank bands have", j+1, s/total, columns)
		}
	}
	return out, nil
}

// draw returns the lengths for two uniform numbers.
func (c *compiledClass) draw(u, v float64) (input, output int32) {
	switch {
	case c.copula != nil:
		n := len(c.copula)
		row := c.copula[min(int(u*float64(n)), n-1)]
		j := sort.SearchFloat64s(row, v)
		below := 0.0
		if j > 0 {
			below = row[j-1]
		}
		v = (float64(j) + (v-below)/(row[j]-below)) / float64(len(row))
	case c.rho != 0:
		z := c.rho*normalQuantile(u) + math.Sqrt(1-c.rho*c.rho)*normalQuantile(v)
		v = 0.5 * math.Erfc(-z/math.Sqrt2)
	}
	return c.input.tokens(u), c.output.tokens(v)
}
