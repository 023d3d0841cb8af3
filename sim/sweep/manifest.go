package sweep

import (
	"fmt"
	"path/filepath"
	"strings"
)

const manifestSchema = "scoville.sweep/1"

// Manifest lists a sweep: manifest.json. It holds no time and no path, so every shard writes the same bytes.
type Manifest struct {
	Schema  string   `json:"schema"`
	Title   string   `json:"title,omitempty"`
	Program string   `json:"program"`
	Plan    string   `json:"plan"` // as the sweep file names it
	Columns []string `json:"columns"`
	Points  []Point  `json:"points"`
}

// WriteManifest writes manifest.json.
func (s *Sweep) WriteManifest(store *Store) error {
	return writeJSON(filepath.Join(store.dir, "manifest.json"), Manifest{Schema: manifestSchema, Title: s.File.Title, Program: s.Program, Plan: s.File.Plan, Columns: columnNames(s.columns()), Points: s.Points})
}

// Missing says which points of a sweep have no result.
type Missing struct {
	Points []Point
	All    int
	Shards int // 0: not known
}

func (m *Missing) Error() string {
	const most = 10
	var names []string
	for _, p := range m.Points[:min(most, len(m.Points))] {
		n := p.name()
		if m.Shards > 0 {
			n = fmt.Sprintf("shard %d: %s", p.Index%m.Shards, n)
		}
		names = append(names, n)
	}
	if more := len(m.Points) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%d of %d points have no result (of these inputs and this build): %s", len(m.Points), m.All, strings.Join(names, "; "))
}

// Merge writes the tables and pictures of a sweep whose points are all there; else it writes nothing and the error is
// *Missing. shards only serves to name the shards of missing points. It returns the files written.
func (s *Sweep) Merge(store *Store, shards int) ([]string, error) {
	var missing []Point
	for _, p := range s.Points {
		o, err := store.Get(p)
		if err != nil {
			return nil, err
		}
		if o == nil {
			missing = append(missing, p)
		}
	}
	if len(missing) > 0 {
		return nil, &Missing{missing, len(s.Points), shards}
	}
	if err := s.WriteManifest(store); err != nil {
		return nil, err
	}
	written := []string{filepath.Join(store.dir, "manifest.json")}
	tables, err := s.writeTables(store)
	if err != nil {
		return nil, err
	}
	pictures, err := s.writePictures(store)
	return append(append(written, tables...), pictures...), err
}
