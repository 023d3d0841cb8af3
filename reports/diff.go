package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"sort"
	"strings"

	"scoville/sim/plan"
)

// Change is one difference between two results.
type Change struct {
	What   string  `json:"what"`
	Before string  `json:"before"`
	After  string  `json:"after"`
	Ratio  float64 `json:"ratio,omitempty"` // after / before, of numbers
}

// Difference is what changed between two plans: what was put in, then what came out of it.
type Difference struct {
	Inputs  []Change `json:"inputs"`
	Results []Change `json:"results"`
	Why     []string `json:"why"` // what the changed inputs explain, in words
}

// Diff compares two results. Inputs are the plan's, the workload, the model, the SLA, the version and every assumption;
// results are the answer and each candidate's figures.
func Diff(before, after *plan.Result) Difference {
	var d Difference
	in, out := &d.Inputs, &d.Results
	changed(in, "scoville version", before.Version, after.Version)
	moved(in, "seed", float64(before.Seed), float64(after.Seed), number)
	changed(in, "prices as of", before.AsOf, after.AsOf)
	diffWorkload(in, before.Workload, after.Workload)
	diffModel(in, before.Model, after.Model)
	diffLimits(in, before.SLA, after.SLA)
	diffAssumptions(in, before.Assumptions, after.Assumptions)
	diffPlanText(in, before.PlanText, after.PlanText)
	b0, b1 := winnerOf(before), winnerOf(after)
	changed(out, "first choice", b0, b1)
	old := map[string]plan.Candidate{}
	for _, c := range before.Candidates {
		old[c.Name] = c
	}
	seen := map[string]bool{}
	for _, c := range after.Candidates {
		seen[c.Name] = true
		if o, ok := old[c.Name]; ok {
			diffCandidate(in, out, o, c)
		} else {
			*in = append(*in, Change{What: "candidate", Before: missing, After: c.Name})
		}
	}
	for _, c := range before.Candidates {
		if !seen[c.Name] {
			*in = append(*in, Change{What: "candidate", Before: c.Name, After: missing})
		}
	}
	d.Why = why(before, after, d)
	return d
}

func winnerOf(r *plan.Result) string {
	for _, c := range r.Candidates {
		if c.Feasible {
			return c.Name
		}
	}
	return "none feasible"
}

func changed(to *[]Change, what, a, b string) {
	if a != b {
		*to = append(*to, Change{What: what, Before: orMissing(a), After: orMissing(b)})
	}
}

func orMissing(s string) string {
	if s == "" {
		return missing
	}
	return s
}

// moved notes a changed number; changes below a millionth are rounding.
func moved(to *[]Change, what string, a, b float64, format func(float64) string) {
	if math.Abs(a-b) <= 1e-6*math.Max(math.Abs(a), math.Abs(b)) {
		return
	}
	c := Change{What: what, Before: format(a), After: format(b)}
	if a != 0 {
		c.Ratio = b / a
	}
	*to = append(*to, c)
}

func diffWorkload(to *[]Change, a, b plan.Workload) {
	changed(to, "workload", a.Name, b.Name)
	changed(to, "workload source", a.Source, b.Source)
	changed(to, "arrivals", a.Arrivals, b.Arrivals)
	moved(to, "peak rate, requests/s", a.PeakQPS, b.PeakQPS, number)
	moved(to, "mean rate, requests/s", a.MeanQPS, b.MeanQPS, number)
	moved(to, "mean input tokens", a.MeanInputTokens, b.MeanInputTokens, number)
	moved(to, "mean output tokens", a.MeanOutputTokens, b.MeanOutputTokens, number)
	moved(to, "p99 input tokens", a.P99InputTokens, b.P99InputTokens, number)
	moved(to, "p99 output tokens", a.P99OutputTokens, b.P99OutputTokens, number)
	moved(to, "input shared with other requests", a.PrefixShare, b.PrefixShare, percent)
}

func diffModel(to *[]Change, a, b plan.Model) {
	changed(to, "model", a.Name, b.Name)
	changed(to, "weights", a.Weights, b.Weights)
	changed(to, "KV cache precision", a.KV, b.KV)
	moved(to, "parameters", a.Parameters, b.Parameters, parameters)
	moved(to, "weight bytes", a.WeightBytes, b.WeightBytes, func(v float64) string { return si(v, "B") })
	moved(to, "KV bytes a token", a.KVBytesPerToken, b.KVBytesPerToken, func(v float64) string { return si(v, "B") })
}

func diffLimits(to *[]Change, a, b []plan.Limit) {
	lists(to, len(a), len(b), func(i int) (string, string) { return "SLA " + a[i].Name, quantity(a[i].Limit, a[i].Unit) },
		func(i int) (string, string) { return "SLA " + b[i].Name, quantity(b[i].Limit, b[i].Unit) })
}

func diffAssumptions(to *[]Change, a, b []plan.Assumption) {
	of := func(v plan.Assumption) (string, string) { return v.Group + ": " + v.Name, v.Value }
	lists(to, len(a), len(b), func(i int) (string, string) { return of(a[i]) }, func(i int) (string, string) { return of(b[i]) })
}

// lists compares two lists of named values, in the order of the second, then what only the first has.
func lists(to *[]Change, n, m int, a, b func(int) (name, value string)) {
	old := map[string]string{}
	for i := 0; i < n; i++ {
		k, v := a(i)
		old[k] = v
	}
	seen := map[string]bool{}
	for i := 0; i < m; i++ {
		k, v := b(i)
		changed(to, k, old[k], v)
		seen[k] = true
	}
	for i := 0; i < n; i++ {
		if k, v := a(i); !seen[k] {
			changed(to, k, v, "")
		}
	}
}

// diffPlanText lists changed lines of the plan file where nothing else shows what was edited.
func diffPlanText(to *[]Change, a, b string) {
	if a == b || a == "" || b == "" {
		return
	}
	inA, inB := lineSet(a), lineSet(b)
	var gone, come []string
	for _, l := range strings.Split(a, "\n") {
		if l = strings.TrimSpace(l); l != "" && !inB[l] {
			gone = append(gone, l)
		}
	}
	for _, l := range strings.Split(b, "\n") {
		if l = strings.TrimSpace(l); l != "" && !inA[l] {
			come = append(come, l)
		}
	}
	for i := 0; i < max(len(gone), len(come)); i++ {
		c := Change{What: "plan file", Before: missing, After: missing}
		if i < len(gone) {
			c.Before = gone[i]
		}
		if i < len(come) {
			c.After = come[i]
		}
		*to = append(*to, c)
	}
}

func lineSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, l := range strings.Split(s, "\n") {
		set[strings.TrimSpace(l)] = true
	}
	return set
}

func diffCandidate(in, out *[]Change, a, b plan.Candidate) {
	at := func(what string) string { return b.Name + ": " + what }
	changed(in, at("chip"), a.Chip, b.Chip)
	changed(in, at("engine"), a.Engine, b.Engine)
	changed(in, at("precision"), a.Precision, b.Precision)
	moved(in, at("chips a replica"), float64(a.ChipsPerReplica), float64(b.ChipsPerReplica), number)
	lists(in, len(a.EngineSettings), len(b.EngineSettings),
		func(i int) (string, string) { return at(a.EngineSettings[i].Name), a.EngineSettings[i].Value },
		func(i int) (string, string) { return at(b.EngineSettings[i].Name), b.EngineSettings[i].Value })
	if a.Cost != nil && b.Cost != nil && a.Cost.Levers != nil && b.Cost.Levers != nil {
		la, lb := a.Cost.Levers, b.Cost.Levers
		moved(in, at(lb.PriceName), la.Price, lb.Price, money)
		moved(in, at("power tariff, USD/kWh"), la.USDPerKWh, lb.USDPerKWh, number)
		moved(in, at("PUE"), la.PUE, lb.PUE, number)
	}
	yes := map[bool]string{true: "feasible", false: "not feasible"}
	changed(out, at("verdict"), yes[a.Feasible], yes[b.Feasible])
	moved(out, at("rank"), float64(a.Rank), float64(b.Rank), number)
	moved(out, at("capacity, requests/s a replica"), a.Capacity.Low, b.Capacity.Low, number)
	moved(out, at("replicas"), float64(a.Fleet.Replicas), float64(b.Fleet.Replicas), number)
	moved(out, at("chips"), float64(a.Fleet.Chips), float64(b.Fleet.Chips), number)
	moved(out, at("kW at the peak"), a.Fleet.PeakKilowatts, b.Fleet.PeakKilowatts, number)
	if a.Cost == nil || b.Cost == nil {
		return
	}
	moved(out, at("utilisation"), a.Cost.Utilisation, b.Cost.Utilisation, percent)
	moved(out, at("TCO"), a.Cost.TCO, b.Cost.TCO, money)
	moved(out, at("$/M tokens"), a.Cost.PerMBoth, b.Cost.PerMBoth, perMillion)
	old := map[string]float64{}
	for _, k := range a.Cost.Components {
		old[k.Name] = k.USD
	}
	for _, k := range b.Cost.Components {
		moved(out, at("TCO, "+k.Name), old[k.Name], k.USD, money)
	}
}

// why splits what happened to each candidate's price into its parts: $/M = $ a chip x chips / tokens, and chips = load / capacity.
func why(before, after *plan.Result, d Difference) []string {
	var out []string
	if len(d.Inputs) == 0 && len(d.Results) > 0 {
		return []string{"No input changed, yet results differ: the files were written by different code, or edited by hand."}
	}
	old := map[string]plan.Candidate{}
	for _, c := range before.Candidates {
		old[c.Name] = c
	}
	for _, b := range after.Candidates {
		a, ok := old[b.Name]
		if !ok || !a.Feasible || !b.Feasible {
			continue
		}
		if s := whyChips(before, after, a, b); s != "" {
			out = append(out, s)
		}
		if s := whyPrice(a, b); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func whyChips(before, after *plan.Result, a, b plan.Candidate) string {
	if a.Fleet.Chips == b.Fleet.Chips {
		return ""
	}
	var parts []string
	factor := func(name string, x, y float64) {
		if x > 0 && y > 0 && math.Abs(y/x-1) > 1e-3 {
			parts = append(parts, fmt.Sprintf("%s %s", name, change(y/x)))
		}
	}
	factor("peak rate", before.Workload.PeakQPS, after.Workload.PeakQPS)
	factor("capacity of a replica", a.Capacity.Low, b.Capacity.Low)
	factor("chips a replica", float64(a.ChipsPerReplica), float64(b.ChipsPerReplica))
	factor("spares", float64(a.Fleet.SpareReplicas), float64(b.Fleet.SpareReplicas))
	if a.Capacity.Binding != b.Capacity.Binding {
		parts = append(parts, fmt.Sprintf("what binds was %q, is %q", a.Capacity.Binding, b.Capacity.Binding))
	}
	if len(parts) == 0 {
		parts = []string{"rounding to replicas and nodes"}
	}
	return fmt.Sprintf("%s: chips %s to %s (%s): %s.", b.Name, count(a.Fleet.Chips), count(b.Fleet.Chips), change(float64(b.Fleet.Chips)/float64(a.Fleet.Chips)), strings.Join(parts, "; "))
}

// whyPrice names the components that moved the TCO most, and what the tokens did.
func whyPrice(a, b plan.Candidate) string {
	if a.Cost == nil || b.Cost == nil || a.Cost.PerMBoth <= 0 || math.Abs(b.Cost.PerMBoth/a.Cost.PerMBoth-1) < 1e-6 {
		return ""
	}
	old := map[string]float64{}
	for _, k := range a.Cost.Components {
		old[k.Name] = k.USD
	}
	type move struct {
		name string
		usd  float64
	}
	var moves []move
	for _, k := range b.Cost.Components {
		moves = append(moves, move{k.Name, k.USD - old[k.Name]})
	}
	sort.SliceStable(moves, func(i, j int) bool { return math.Abs(moves[i].usd) > math.Abs(moves[j].usd) })
	var parts []string
	for _, m := range moves[:min(3, len(moves))] {
		if math.Abs(m.usd) >= 0.01 {
			parts = append(parts, fmt.Sprintf("%s %s%s", m.name, map[bool]string{true: "+"}[m.usd > 0], moneyShort(m.usd)))
		}
	}
	s := fmt.Sprintf("%s: $/M tokens %s to %s (%s): TCO %s", b.Name, perMillion(a.Cost.PerMBoth), perMillion(b.Cost.PerMBoth), change(b.Cost.PerMBoth/a.Cost.PerMBoth), change(b.Cost.TCO/a.Cost.TCO))
	if len(parts) > 0 {
		s += " (" + strings.Join(parts, ", ") + ")"
	}
	tokens := (b.Cost.TCO / b.Cost.PerMBoth) / (a.Cost.TCO / a.Cost.PerMBoth)
	return s + fmt.Sprintf(", tokens %s.", change(tokens))
}

// change writes a ratio as a change: 1.1 is +10.0 %.
func change(ratio float64) string {
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return "from nothing"
	}
	if math.Abs(ratio-1) < 5e-4 {
		return "unchanged"
	}
	return map[bool]string{true: "+"}[ratio > 1] + percent(ratio-1)
}

// DiffText writes a difference for a terminal: inputs first, then why, then results.
func DiffText(w io.Writer, d Difference) error {
	var out strings.Builder
	section := func(title string, changes []Change) {
		if len(changes) == 0 {
			fmt.Fprintf(&out, "%s: no change\n", title)
			return
		}
		fmt.Fprintf(&out, "%s\n", title)
		for _, c := range changes {
			tail := ""
			if c.Ratio != 0 {
				tail = " (" + change(c.Ratio) + ")"
			}
			for i, l := range wrapColumns(fmt.Sprintf("%s: %s -> %s%s", c.What, c.Before, c.After, tail), tableWidth-4) {
				out.WriteString(map[bool]string{true: "  ", false: "    "}[i == 0] + l + "\n")
			}
		}
	}
	section("Inputs", d.Inputs)
	if len(d.Why) > 0 {
		out.WriteString("Why\n")
		for _, s := range d.Why {
			for i, l := range wrapColumns(s, tableWidth-4) {
				out.WriteString(map[bool]string{true: "  ", false: "    "}[i == 0] + l + "\n")
			}
		}
	}
	section("Results", d.Results)
	_, err := io.WriteString(w, out.String())
	return err
}

// DiffJSON writes a difference as JSON.
func DiffJSON(w io.Writer, d Difference) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(d)
}
