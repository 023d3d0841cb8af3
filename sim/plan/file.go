package plan

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"scoville/model/cost"
	"scoville/model/cost/uncertainty"
	"scoville/model/tomlfile"
	"scoville/model/workload"
)

// File is a plan file as written; docs/plan-file.md is its reference. Zero fields take the defaults named there.
type File struct {
	Title       string                 `toml:"title"`
	AsOf        string                 `toml:"as_of"` // date the plan's prices are judged at: YYYY-MM-DD
	Workload    TrafficSection         `toml:"workload"`
	Model       ModelSection           `toml:"model"`
	SLA         map[string]float64     `toml:"sla"`
	Fleet       FleetSection           `toml:"fleet"`
	Cost        cost.Assumptions       `toml:"cost"`
	PriceBooks  []string               `toml:"price_books"` // TOML files laid over the shipped price book
	Growth      GrowthSection          `toml:"growth"`
	Uncertainty []uncertainty.Variable `toml:"uncertainty"` // default: profile error and the spread of offers
	Search      SearchSection          `toml:"search"`
	Explore     *ExploreSection        `toml:"explore"` // deployments to generate and search; the best join the candidates
	Candidates  []CandidateSection     `toml:"candidate"`

	path      string
	text      []byte
	rewritten bool // by overrides: line numbers are not those of the file
}

// TrafficSection says what traffic to plan for. One of Profile, Trace, File and Custom is the shape; one of PeakQPS,
// Users and (with a trace) PeakWindowSeconds is the peak.
type TrafficSection struct {
	Profile           string             `toml:"profile"` // a shipped workload
	Trace             string             `toml:"trace"`   // a trace file, in any format docs/traces.md lists
	File              string             `toml:"file"`    // a workload TOML
	Custom            *workload.Workload `toml:"custom"`  // a workload written here
	PeakQPS           float64            `toml:"peak_qps"`
	MeanQPS           float64            `toml:"mean_qps"` // over the day, for the cost; default: peak / peak-to-mean of the shape
	PeakWindowSeconds float64            `toml:"peak_window_seconds"`
	RateScale         float64            `toml:"rate_scale"` // multiplies a trace's own rate
	Users             *workload.Users    `toml:"users"`
	InputScale        float64            `toml:"input_scale"`
	OutputScale       float64            `toml:"output_scale"`
}

// ModelSection says what is served.
type ModelSection struct {
	Name        string `toml:"name"`   // a shipped architecture
	Config      string `toml:"config"` // or a Hugging Face config.json, or a model TOML
	Weights     string `toml:"weights"`
	KV          string `toml:"kv"`
	Activations string `toml:"activations"`
}

// FleetSection says how replicas work together.
type FleetSection struct {
	Spares              int     `toml:"spares"`       // replicas beyond what the peak needs
	Availability        float64 `toml:"availability"` // instead of spares: probability that enough replicas are up
	FailuresPerChipYear float64 `toml:"failures_per_chip_year"`
	RepairHours         float64 `toml:"repair_hours"`
	Routing             string  `toml:"routing"`
	WholeNodes          bool    `toml:"whole_nodes"` // buy nodes whole, and use what they hold
	MaxReplicas         int     `toml:"max_replicas"`
	RackKilowatts       float64 `toml:"rack_kilowatts"`
	PrefillShare        float64 `toml:"prefill_share"` // of the replicas that only compute prompts and send their KV cache; 0: none
	Shed                int     `toml:"shed"`          // requests in flight at a replica from which on further ones are turned away
	RetryAttempts       int     `toml:"retry_attempts"`
	RetryBackoffSeconds float64 `toml:"retry_backoff_seconds"`
	ConfirmYears        float64 `toml:"confirm_years"` // of simulated failures that confirm the availability; 0: 20, negative: none
}

// GrowthSection asks for the fleet of each month.
type GrowthSection struct {
	Months  int     `toml:"months"`
	Monthly float64 `toml:"rate_per_month"`
}

// SearchSection trades time for precision.
type SearchSection struct {
	Replications int     `toml:"replications"`
	Precision    float64 `toml:"precision"`
	Requests     int64   `toml:"requests"` // of one run
	MonteCarlo   int     `toml:"monte_carlo_draws"`
}

// CandidateSection is one deployment to judge.
type CandidateSection struct {
	Name             string           `toml:"name"`
	Chip             string           `toml:"chip"`
	ChipFile         string           `toml:"chip_file"` // a chip profile TOML of the user's
	Engine           string           `toml:"engine"`
	Calibration      string           `toml:"calibration"` // a file of scoville calibrate for this chip
	TensorParallel   int              `toml:"tensor_parallel"`
	PipelineParallel int              `toml:"pipeline_parallel"`
	ExpertParallel   int              `toml:"expert_parallel"`
	Weights          string           `toml:"weights"` // precision, where it differs from the plan's
	KV               string           `toml:"kv"`
	Activations      string           `toml:"activations"`
	PowerLimitWatts  float64          `toml:"power_limit_watts"`
	MaxBatchedTokens int              `toml:"max_batched_tokens"`
	MaxSequences     int              `toml:"max_sequences"`
	ChunkedPrefill   *bool            `toml:"chunked_prefill"`
	PrefixCaching    *bool            `toml:"prefix_caching"`
	ReceiveInterval  int              `toml:"receive_interval"`
	MaxModelLen      int              `toml:"max_model_len"`
	MemoryShare      float64          `toml:"memory_share"` // of the chip's memory that the engine may use
	KVBlocks         int64            `toml:"kv_blocks"`    // as the engine logged them; instead of the memory rule
	DraftTokens      int              `toml:"draft_tokens"`
	Acceptance       float64          `toml:"acceptance"`
	PriceTier        string           `toml:"price_tier"` // of the price book: on-demand, reserved, spot, purchase
	PriceProvider    string           `toml:"price_provider"`
	Cost             cost.Assumptions `toml:"cost"` // what differs from the plan's [cost]
}

// Read reads a plan file with overrides, each "dotted.key=value" as in --set. Numbers index candidates: candidate.0.chip.
func Read(path string, overrides []string) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	return Parse(path, text, overrides)
}

func fileError(path string, err error) error {
	if pe, ok := err.(*os.PathError); ok {
		return &tomlfile.Error{File: path, Problem: pe.Err.Error()}
	}
	return err
}

// Parse is Read with the text at hand; paths inside are relative to the folder of path.
func Parse(path string, text []byte, overrides []string) (*File, error) {
	changed, err := applyOverrides(path, text, overrides)
	if err != nil {
		return nil, err
	}
	f, err := parse(path, changed)
	if len(overrides) > 0 {
		err = withoutLine(err) // lines of the rewritten text mean nothing to a reader
		if f != nil {
			f.rewritten = true
		}
	}
	return f, err
}

func withoutLine(err error) error {
	var e *tomlfile.Error
	if errors.As(err, &e) {
		e.Line = 0
	}
	return err
}

func parse(path string, text []byte) (*File, error) {
	first := File{Cost: cost.Default()}
	if err := tomlfile.Decode(path, text, &first); err != nil {
		return nil, err
	}
	// Decoding again into candidates that start from the plan's [cost] lays each candidate's own figures over it.
	f := File{path: path, text: text, Cost: cost.Default(), Candidates: make([]CandidateSection, len(first.Candidates))}
	for i := range f.Candidates {
		f.Candidates[i].Cost = first.Cost.Clone()
	}
	if err := tomlfile.Decode(path, text, &f); err != nil {
		return nil, err
	}
	return &f, f.check()
}

// applyOverrides sets keys in the text. The text is only rewritten when there are any, so that line numbers in errors
// stay those of the file.
func applyOverrides(path string, text []byte, overrides []string) ([]byte, error) {
	if len(overrides) == 0 {
		return text, nil
	}
	tree, err := tomlfile.Tree(path, text)
	if err != nil {
		return nil, err
	}
	for _, o := range overrides {
		key, value, ok := strings.Cut(o, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--set %q is not key=value", o)
		}
		if err := setKey(tree, strings.Split(strings.TrimSpace(key), "."), parseValue(value)); err != nil {
			return nil, fmt.Errorf("--set %s: %w", key, err)
		}
	}
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(tree); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// parseValue reads a TOML value; what is none is a string, so that quotes may be left out.
func parseValue(s string) any {
	var v struct {
		V any `toml:"v"`
	}
	if _, err := toml.Decode("v = "+s, &v); err == nil {
		return v.V
	}
	return s
}

func setKey(node any, key []string, value any) error {
	switch n := node.(type) {
	case map[string]any:
		if len(key) == 1 {
			n[key[0]] = value
			return nil
		}
		if n[key[0]] == nil {
			n[key[0]] = map[string]any{}
		}
		return setKey(n[key[0]], key[1:], value)
	case []any: // of inline tables: candidate = [{ chip = "h200" }]
		tables := make([]map[string]any, len(n))
		for i, v := range n {
			t, ok := v.(map[string]any)
			if !ok {
				return fmt.Errorf("%q is inside a plain value", key[0])
			}
			tables[i] = t
		}
		return setKey(tables, key, value)
	case []map[string]any:
		i, err := strconv.Atoi(key[0])
		if err != nil || i < 0 || i >= len(n) {
			return fmt.Errorf("%q is not a number from 0 to %d", key[0], len(n)-1)
		}
		if len(key) == 1 {
			return fmt.Errorf("names a whole table; add the key in it")
		}
		return setKey(n[i], key[1:], value)
	}
	return fmt.Errorf("%q is inside a plain value", key[0])
}

// errorAt is a fault at a key of the plan file.
func (f *File) errorAt(key, format string, args ...any) error {
	e := &tomlfile.Error{File: f.path, Key: key, Problem: fmt.Sprintf(format, args...)}
	if key != "" && !f.rewritten {
		e.Line = tomlfile.LineOf(f.text, strings.Split(key, "."))
	}
	return e
}

// candidateError is a fault in candidate i, counted from 0.
func (f *File) candidateError(i int, format string, args ...any) error {
	e := &tomlfile.Error{File: f.path, Key: fmt.Sprintf("candidate %d", i+1), Problem: fmt.Sprintf(format, args...)}
	if f.rewritten {
		return e
	}
	seen := -1
	for n, line := range strings.Split(string(f.text), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "[[candidate]]") {
			if seen++; seen == i {
				e.Line = n + 1
			}
		}
	}
	return e
}

// check refuses what no resolution can mend.
func (f *File) check() error {
	w := &f.Workload
	if n := count(w.Profile != "", w.Trace != "", w.File != "", w.Custom != nil); n != 1 {
		return f.errorAt("workload", "%d of profile, trace, file and custom are given; exactly one is needed", n)
	}
	for _, p := range []struct {
		key string
		v   float64
	}{{"peak_qps", w.PeakQPS}, {"mean_qps", w.MeanQPS}, {"peak_window_seconds", w.PeakWindowSeconds}, {"rate_scale", w.RateScale}, {"input_scale", w.InputScale}, {"output_scale", w.OutputScale}} {
		if !(p.v >= 0) || p.v > 1e9 {
			return f.errorAt("workload."+p.key, "is %g; a positive number is expected", p.v)
		}
	}
	if n := count(f.Model.Name != "", f.Model.Config != ""); n != 1 {
		return f.errorAt("model", "%d of name and config are given; exactly one is needed", n)
	}
	if len(f.Candidates) == 0 && f.Explore == nil {
		return f.errorAt("", "no [[candidate]] is given; at least one chip is needed")
	}
	if err := f.checkExplore(); err != nil {
		return err
	}
	for i, c := range f.Candidates {
		if n := count(c.Chip != "", c.ChipFile != ""); n != 1 {
			return f.candidateError(i, "%d of chip and chip_file are given; exactly one is needed", n)
		}
		for _, p := range []struct {
			key string
			v   int
		}{{"tensor_parallel", c.TensorParallel}, {"pipeline_parallel", c.PipelineParallel}, {"expert_parallel", c.ExpertParallel}, {"max_batched_tokens", c.MaxBatchedTokens}, {"max_sequences", c.MaxSequences}, {"max_model_len", c.MaxModelLen}, {"receive_interval", c.ReceiveInterval}, {"draft_tokens", c.DraftTokens}} {
			if p.v < 0 {
				return f.candidateError(i, "%s is %d; a positive number is expected", p.key, p.v)
			}
		}
	}
	if s := f.Fleet.Spares; s < 0 {
		return f.errorAt("fleet.spares", "is %d; 0 or more is expected", s)
	}
	if v := f.Fleet.PrefillShare; v < 0 || v >= 1 {
		return f.errorAt("fleet.prefill_share", "is %g; a share below 1 such as 0.4 is expected", v)
	}
	if f.Fleet.Shed < 0 || f.Fleet.RetryAttempts < 0 || f.Fleet.RetryBackoffSeconds < 0 {
		return f.errorAt("fleet", "shed, retry_attempts and retry_backoff_seconds must not be negative")
	}
	if a := f.Fleet.Availability; a < 0 || a >= 1 {
		return f.errorAt("fleet.availability", "is %g; a share below 1 such as 0.999 is expected", a)
	}
	return nil
}

func count(given ...bool) int {
	n := 0
	for _, g := range given {
		if g {
			n++
		}
	}
	return n
}

// inFolder resolves a path that the plan file names.
func (f *File) inFolder(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(f.path), name)
}
