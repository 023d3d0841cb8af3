package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"scoville/model/atomicfile"
	"scoville/sim/plan"
)

const pointSchema = "scoville.sweep.point/1"

// Outcome is what is kept of a point: points/KEY.json. It holds no place in the sweep, so that a point keeps its result
// when the sweep around it changes.
type Outcome struct {
	Schema     string      `json:"schema"`
	Key        string      `json:"key"`
	Seed       uint64      `json:"seed"`
	Overrides  []string    `json:"set"`
	Feasible   bool        `json:"feasible"`
	Reason     string      `json:"reason,omitempty"` // why no candidate serves the plan
	PeakQPS    float64     `json:"peak_qps"`
	Candidates []Candidate `json:"candidates"` // ranked
}

// Candidate sums up a candidate's answer at a point. Figures are absent where it is not feasible.
type Candidate struct {
	Rank              int      `json:"rank"`
	Name              string   `json:"name"`
	Chip              string   `json:"chip"`
	Precision         string   `json:"precision"`
	TensorParallel    int      `json:"tensor_parallel"`
	Feasible          bool     `json:"feasible"`
	Reason            string   `json:"reason,omitempty"`
	Replicas          int      `json:"replicas"`
	Chips             int      `json:"chips"`
	RequestsPerSecond *float64 `json:"requests_per_second,omitempty"` // one replica within the SLA
	TTFTP99           *float64 `json:"ttft_p99_seconds,omitempty"`    // at the peak, whole fleet
	TPOTP90           *float64 `json:"tpot_p90_seconds,omitempty"`
	PeakKilowatts     *float64 `json:"peak_kilowatts,omitempty"`
	USDPerMTokens     *float64 `json:"usd_per_m_tokens,omitempty"`
	TCO               *float64 `json:"tco_usd,omitempty"`
}

// summarise keeps of a plan's result what the table holds.
func summarise(p Point, r *plan.Result, none *plan.NoAnswer) Outcome {
	o := Outcome{Schema: pointSchema, Key: p.Key, Seed: p.Seed, Overrides: append([]string{}, p.Overrides...), Feasible: none == nil, PeakQPS: r.Workload.PeakQPS, Candidates: []Candidate{}}
	if none != nil {
		o.Reason = none.Error()
	}
	for i := range r.Candidates {
		from := &r.Candidates[i]
		c := Candidate{Rank: from.Rank, Name: from.Name, Chip: from.Chip, Precision: from.Precision, TensorParallel: from.TensorParallel, Feasible: from.Feasible, Reason: from.Reason}
		if from.Feasible {
			c.Replicas, c.Chips = from.Fleet.Replicas, from.Fleet.Chips
			peak := &from.Fleet.Peak
			c.RequestsPerSecond, c.PeakKilowatts = &from.Capacity.Low, &from.Fleet.PeakKilowatts
			c.TTFTP99, c.TPOTP90 = &peak.TTFT.P99, &peak.TPOT.P90
			if from.Cost != nil {
				c.USDPerMTokens, c.TCO = &from.Cost.PerMBoth, &from.Cost.TCO
			}
		}
		o.Candidates = append(o.Candidates, c)
	}
	return o
}

func (s *Store) path(p Point) string     { return filepath.Join(s.dir, "points", p.Key+".json") }
func (s *Store) fullPath(p Point) string { return filepath.Join(s.dir, "points", p.Key+".plan.json") }

// Store is the folder of a sweep's results.
type Store struct {
	dir  string
	full bool // whole plan results are kept too
}

// Open makes the folder where it is missing. full keeps each point's whole plan result beside its summary.
func Open(dir string, full bool) (*Store, error) {
	points := filepath.Join(dir, "points")
	if info, err := os.Lstat(points); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s: exists and is not a folder", points)
	}
	if err := os.MkdirAll(points, 0o755); err != nil {
		return nil, err
	}
	return &Store{dir: dir, full: full}, nil
}

const maxOutcomeBytes = 16 << 20

// Get reads a point's kept outcome; nil where there is none that can be used, such as one of other inputs or one damaged.
func (s *Store) Get(p Point) (*Outcome, error) {
	data, err := readBounded(s.path(p), maxOutcomeBytes)
	if err != nil {
		if _, statErr := os.Lstat(s.path(p)); errors.Is(statErr, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	o, err := decodeOutcome(data)
	if err != nil || o.Key != p.Key {
		return nil, nil
	}
	if s.full {
		if _, err := os.Stat(s.fullPath(p)); err != nil {
			return nil, nil
		}
	}
	return o, nil
}

// decodeOutcome reads a kept outcome and checks that it is whole.
func decodeOutcome(data []byte) (*Outcome, error) {
	var o Outcome
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, err
	}
	if o.Schema != pointSchema {
		return nil, fmt.Errorf("schema is %q; %q is expected", o.Schema, pointSchema)
	}
	return &o, nil
}

// put keeps an outcome, and before it the whole result where asked for: what Get finds is complete.
func (s *Store) put(p Point, o Outcome, r *plan.Result) error {
	if s.full {
		if err := writeJSON(s.fullPath(p), r); err != nil {
			return err
		}
	}
	return writeJSON(s.path(p), o)
}

func writeJSON(path string, v any) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(v)
	})
}
