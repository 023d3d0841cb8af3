package calibrate

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"scoville/hardware"
	"scoville/hardware/results"
	"scoville/model/tomlfile"
)

// Schema names the format of a calibration file; docs/calibration.md describes it.
const Schema = "scoville-calibration-1"

// Profile is a calibration as a file: what was measured, the factors found, and how far off they were on records not fitted.
type Profile struct {
	Schema        string   `toml:"schema" json:"schema"`
	Chip          string   `toml:"chip" json:"chip"`
	Chips         int      `toml:"chips" json:"chips"` // of a replica
	Model         string   `toml:"model" json:"model"`
	Engine        string   `toml:"engine" json:"engine"`
	EngineVersion string   `toml:"engine_version" json:"engine_version"` // as the server named it, else that of the shipped profile
	Base          string   `toml:"base" json:"base"`                     // the shipped engine profile that the factors multiply
	Weights       string   `toml:"weights" json:"weights"`
	KV            string   `toml:"kv" json:"kv"`
	Measured      string   `toml:"measured" json:"measured"` // date; empty: the records don't say
	Sources       []string `toml:"sources" json:"sources"`   // record files
	Requests      int      `toml:"requests" json:"requests"`
	Loads         []string `toml:"loads" json:"loads"`
	Converged     bool     `toml:"converged" json:"converged"`
	Notes         []string `toml:"notes" json:"notes,omitempty"`

	Factors    hardware.Factors `toml:"factors" json:"factors"`
	Range      Range            `toml:"range" json:"range"`
	ModelError ModelError       `toml:"model_error" json:"model_error"`
	Errors     Errors           `toml:"errors" json:"errors"`
	Estimates  []Estimate       `toml:"estimate" json:"estimates"`
	Confused   []Pair           `toml:"confused" json:"confused,omitempty"`
	HeldOut    []Residual       `toml:"held_out" json:"held_out,omitempty"`
}

// Errors are mean absolute relative errors on the loads kept back; 0: none was kept back.
type Errors struct {
	Loads      int     `toml:"loads" json:"loads"`
	TTFT       float64 `toml:"ttft" json:"ttft"` // of the mean and the median
	TTFTP99    float64 `toml:"ttft_p99" json:"ttft_p99"`
	TPOT       float64 `toml:"tpot" json:"tpot"` // of the mean
	Throughput float64 `toml:"throughput" json:"throughput"`
	E2E        float64 `toml:"e2e" json:"e2e"` // of the median
}

// NewProfile writes up a fit.
func NewProfile(d *Deployment, f *Fit, loads []Load, runs []*results.Run, heldOut []Residual) *Profile {
	h := d.Hardware
	p := &Profile{
		Schema: Schema, Chip: h.Chip.Name, Chips: h.Split.Normal().Chips(), Model: h.Model.Name, Engine: h.Engine.Name, EngineVersion: h.Engine.Version,
		Base: h.Engine.Name + " " + h.Engine.Version, Weights: string(h.Precision.Weights), KV: string(h.Precision.KV),
		ModelError: f.ModelError, Converged: f.Converged, Notes: f.Notes, Factors: f.Factors, Range: f.Range,
		Estimates: f.Estimates, Confused: f.Confusion, HeldOut: heldOut, Errors: errorsOf(heldOut),
	}
	for _, r := range runs {
		p.Sources = append(p.Sources, r.File)
		if r.EngineVersion != "" {
			p.EngineVersion = r.EngineVersion
		}
		if r.StartUnixSeconds > 0 {
			p.Measured = time.Unix(int64(r.StartUnixSeconds), 0).UTC().Format(time.DateOnly)
		}
	}
	for _, l := range loads {
		p.Requests += l.Requests
		p.Loads = append(p.Loads, l.Name)
	}
	return p
}

// Score predicts loads with factors and lays every measured figure beside its prediction.
func Score(ctx context.Context, f hardware.Factors, loads []Load) ([]Residual, error) {
	var out []Residual
	for _, l := range loads {
		predicted, err := l.Predict(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, m := range Metrics() {
			v, ok := l.Measured[m]
			if q, known := predicted[m]; ok && known && v > 0 {
				out = append(out, Residual{Load: l.Name, Metric: m, Measured: v, Predicted: q})
			}
		}
	}
	return out, nil
}

func errorsOf(list []Residual) Errors {
	mean := func(metrics ...Metric) float64 {
		sum, n := 0.0, 0
		for _, r := range list {
			for _, m := range metrics {
				if r.Metric == m {
					sum += math.Abs(r.Error())
					n++
				}
			}
		}
		if n == 0 {
			return 0
		}
		return sum / float64(n)
	}
	loads := map[string]bool{}
	for _, r := range list {
		loads[r.Load] = true
	}
	return Errors{Loads: len(loads), TTFT: mean(TTFTMean, TTFTP50), TTFTP99: mean(TTFTP99), TPOT: mean(TPOTMean), Throughput: mean(Throughput), E2E: mean(E2EP50)}
}

// Encode is the file's text.
func (p *Profile) Encode() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Calibration of %s serving %s with %s, by scoville calibrate. See docs/calibration.md.\n", p.Chip, p.Model, p.Engine)
	e := toml.NewEncoder(&b)
	e.Indent = ""
	if err := e.Encode(p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// ReadProfile reads and checks a calibration file.
func ReadProfile(path string) (*Profile, error) {
	p := &Profile{}
	if err := tomlfile.ReadFile(path, p); err != nil {
		return nil, err
	}
	return p, p.check(path)
}

// Decode is ReadProfile with the text at hand.
func Decode(name string, text []byte) (*Profile, error) {
	p := &Profile{}
	if err := tomlfile.Decode(name, text, p); err != nil {
		return nil, err
	}
	return p, p.check(name)
}

func (p *Profile) check(path string) error {
	bad := func(key, format string, args ...any) error {
		return &tomlfile.Error{File: path, Key: key, Problem: fmt.Sprintf(format, args...)}
	}
	if p.Schema != Schema {
		return bad("schema", "is %q; this version reads %q", p.Schema, Schema)
	}
	if p.Chip == "" || p.Engine == "" || p.Model == "" {
		return bad("", "chip, model and engine are all needed")
	}
	if err := p.Factors.Check(); err != nil {
		return bad("factors", "%v", err)
	}
	return nil
}

// Apply puts the factors on a deployment. Those of another chip are refused; another model, engine, precision or split is used
// with a note, since the factors are of physical parts, but lies outside what was measured.
func (p *Profile) Apply(d hardware.Deployment) (adjusted hardware.Deployment, notes []string, err error) {
	if d.Chip.Name != p.Chip {
		return d, nil, fmt.Errorf("the calibration is of chip %q, not of %q", p.Chip, d.Chip.Name)
	}
	for _, c := range []struct{ what, measured, planned string }{
		{"engine", p.Base, d.Engine.Name + " " + d.Engine.Version}, {"model", p.Model, d.Model.Name},
		{"weights", p.Weights, string(d.Precision.Weights)}, {"KV cache", p.KV, string(d.Precision.KV)},
		{"chips of a replica", fmt.Sprint(p.Chips), fmt.Sprint(d.Split.Normal().Chips())},
	} {
		if c.measured != c.planned {
			notes = append(notes, fmt.Sprintf("calibrated with %s %s, planned with %s", c.what, c.measured, c.planned))
		}
	}
	return d.Adjusted(p.Factors), notes, nil
}

// Covers reports whether traffic lies within what was measured, and if not, why.
func (r Range) Covers(input, output float64) (inside bool, why string) {
	var out []string
	check := func(what string, v float64, low, high int) {
		if v < float64(low) || v > float64(high) {
			out = append(out, fmt.Sprintf("%s of %.0f tokens outside the %d to %d calibrated", what, v, low, high))
		}
	}
	check("inputs", input, r.MinInputTokens, r.MaxInputTokens)
	check("outputs", output, r.MinOutputTokens, r.MaxOutputTokens)
	return len(out) == 0, strings.Join(out, "; ")
}

// Basis says in a sentence what a prediction rests on.
func (p *Profile) Basis() string {
	s := fmt.Sprintf("calibrated on %d requests to %s %s on %s", p.Requests, p.Engine, p.EngineVersion, p.Chip)
	if p.Measured != "" {
		s += ", " + p.Measured
	}
	if p.Errors.Loads == 0 {
		return s + "; no load was kept back to score it"
	}
	loads := "one load"
	if p.Errors.Loads > 1 {
		loads = fmt.Sprintf("%d loads", p.Errors.Loads)
	}
	return fmt.Sprintf("%s; scored on %s kept back", s, loads)
}
