package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"scoville/model/tomlfile"
	"scoville/sim/plan"
)

// Point is one run of the plan.
type Point struct {
	Index     int      `json:"index"` // from 0
	Key       string   `json:"key"`   // hash of everything that the result depends on
	Seed      uint64   `json:"seed"`
	Overrides []string `json:"set"` // as after --set
}

// name is the point for people.
func (p Point) name() string {
	s := fmt.Sprintf("point %d", p.Index)
	if len(p.Overrides) > 0 {
		s += " (" + strings.Join(p.Overrides, ", ") + ")"
	}
	return s
}

// Sweep is a sweep file with its plan and its points.
type Sweep struct {
	File    *File
	Program string // identity of the program: its version, shipped profiles included
	Points  []Point

	planText []byte
}

// Load reads a sweep file and its plan, and lists the points. Every point's plan is read, so that a mistake in any is found
// before the first is run. program says which build answers the points; results of another build are not reused.
func Load(path, program string) (*Sweep, error) {
	f, err := Read(path)
	if err != nil {
		return nil, err
	}
	s := &Sweep{File: f, Program: program}
	if s.planText, err = readBounded(f.planPath(), tomlfile.MaxBytes); err != nil {
		return nil, err
	}
	settings, err := f.settings()
	if err != nil {
		return nil, err
	}
	hashes := map[string]string{} // of input files by path: a trace is read once, not once a point
	for _, set := range settings {
		p := Point{Overrides: set}
		parsed, err := s.parse(p)
		if err != nil {
			p.Index = len(s.Points)
			return nil, fmt.Errorf("%s: %s: %w", f.path, p.name(), err)
		}
		inputs, err := hashInputs(parsed.Inputs(), hashes)
		if err != nil {
			return nil, err
		}
		for _, seed := range f.Seeds {
			p := Point{Index: len(s.Points), Seed: seed, Overrides: set}
			p.Key = s.key(p, inputs)
			s.Points = append(s.Points, p)
		}
	}
	return s, s.checkHeatmap()
}

// parse reads the plan of a point.
func (s *Sweep) parse(p Point) (*plan.File, error) {
	return plan.Parse(s.File.planPath(), s.planText, p.Overrides)
}

// key hashes what the result of a point depends on. Each part is preceded by its length, so that no two differ only in
// where one part ends and the next begins.
func (s *Sweep) key(p Point, inputs []string) string {
	h := sha256.New()
	part := func(b string) { fmt.Fprintf(h, "%d:%s", len(b), b) }
	part(pointSchema)
	part(s.Program)
	part(string(s.planText))
	part(strconv.FormatUint(p.Seed, 10))
	part(strconv.Itoa(len(p.Overrides)))
	for _, o := range p.Overrides {
		part(o)
	}
	for _, in := range inputs {
		part(in)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// hashInputs is the hash of each file's content.
func hashInputs(paths []string, known map[string]string) ([]string, error) {
	out := make([]string, 0, len(paths))
	for _, path := range paths {
		if known[path] == "" {
			sum, err := hashFile(path)
			if err != nil {
				return nil, err
			}
			known[path] = sum
		}
		out = append(out, known[path])
	}
	return out, nil
}

// hashFile is the SHA-256 of a file's content.
func hashFile(path string) (sum string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return "", &tomlfile.Error{File: path, Problem: "is not a regular file"}
	}
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close() // opened for reading: nothing is lost
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Shard is the points that shard i of n runs: each nth, so that neighbours, which take alike long, spread.
func (s *Sweep) Shard(i, n int) ([]Point, error) {
	if n < 1 || i < 0 || i >= n {
		return nil, fmt.Errorf("shard %d of %d: the number must be from 0 to one less than the shards", i, n)
	}
	var out []Point
	for at := i; at < len(s.Points); at += n {
		out = append(out, s.Points[at])
	}
	return out, nil
}
