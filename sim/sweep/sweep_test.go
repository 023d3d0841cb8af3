package sweep

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

var update = flag.Bool("update", false, "write golden files")

const smallPlan = `as_of = "2026-11-30"
workload = { profile = "azure-2023-conversation", peak_qps = 5 }
model = { name = "llama-3.1-8b" }
sla = { ttft_p99 = 2.0 }
search = { requests = 200, replications = 2, monte_carlo_draws = -1 }
cost = { ownership = "rent" }
[[candidate]]
chip = "h100-sxm"
`

const smallSweep = `plan = "plan.toml"
[grid]
candidate.0.chip = ["h100-sxm", "h200"]
"workload.peak_qps" = [5, 10]
`

// folder writes a sweep and its plan.
func folder(t *testing.T, sweep, plan string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"sweep.toml": sweep, "plan.toml": plan} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "sweep.toml")
}

func load(t *testing.T, path, program string) *Sweep {
	t.Helper()
	s, err := Load(path, program)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func open(t *testing.T) *Store {
	t.Helper()
	st, err := Open(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func runAll(t *testing.T, s *Sweep, st *Store, points []Point) (ran int) {
	t.Helper()
	if err := s.Run(t.Context(), st, points, Options{Progress: func(done, kept, all int) { ran = done - kept }}); err != nil {
		t.Fatal(err)
	}
	return ran
}

// tree is every file of a store by name.
func tree(t *testing.T, st *Store) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(st.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(st.dir, path)
		out[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func same(t *testing.T, a, b map[string]string) {
	t.Helper()
	for name := range a {
		if a[name] != b[name] {
			t.Errorf("%s differs", name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			t.Errorf("%s is surplus", name)
		}
	}
}

func TestShardsInAnyOrderEqualOneRun(t *testing.T) {
	s := load(t, folder(t, smallSweep, smallPlan), "v1")
	whole, parts := open(t), open(t)
	runAll(t, s, whole, s.Points)
	if _, err := s.Merge(whole, 0); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{2, 0, 1} {
		points, err := s.Shard(i, 3)
		if err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			var missing *Missing
			if _, err := s.Merge(parts, 3); !errors.As(err, &missing) || !strings.Contains(err.Error(), "shard 1: point 1 (") {
				t.Errorf("merge before the last shard: %v", err)
			}
			if len(tree(t, parts)) != 3 {
				t.Error("a merge that can't be wrote files")
			}
		}
		runAll(t, s, parts, points)
	}
	if ran := runAll(t, s, parts, s.Points); ran != 0 {
		t.Errorf("%d points ran twice", ran)
	}
	if _, err := s.Merge(parts, 3); err != nil {
		t.Fatal(err)
	}
	same(t, tree(t, whole), tree(t, parts))
	checkTables(t, s, whole)
}

// checkTables reads both tables back: the same rows in both.
func checkTables(t *testing.T, s *Sweep, st *Store) {
	t.Helper()
	files := tree(t, st)
	for _, name := range []string{"heatmap.png", "pareto.png", "manifest.json"} {
		if len(files[name]) == 0 {
			t.Errorf("no %s", name)
		}
	}
	lines, err := csv.NewReader(strings.NewReader(files["table.csv"])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	pf, err := parquet.OpenFile(strings.NewReader(files["table.parquet"]), int64(len(files["table.parquet"])))
	if err != nil {
		t.Fatal(err)
	}
	if got := int(pf.NumRows()); got != len(lines)-1 || got != len(s.Points) {
		t.Errorf("%d rows in Parquet, %d in CSV, %d points", got, len(lines)-1, len(s.Points))
	}
	columnOf := map[string]int{}
	for i, c := range pf.Schema().Columns() {
		columnOf[c[0]] = i
	}
	rows := pf.RowGroups()[0].Rows()
	defer rows.Close()
	buffer := make([]parquet.Row, len(lines))
	n, err := rows.ReadRows(buffer)
	if err != nil && err != io.EOF {
		t.Fatal(err)
	}
	for i := range n {
		for k, name := range lines[0] {
			v := buffer[i][columnOf[name]]
			got := v.String()
			if v.IsNull() {
				got = ""
			}
			if got != lines[i+1][k] {
				t.Errorf("row %d, %s: %q in Parquet, %q in CSV", i, name, got, lines[i+1][k])
			}
		}
	}
}

func TestChangedInputsRerunOnlyTheirPoints(t *testing.T) {
	path := folder(t, smallSweep, smallPlan)
	s := load(t, path, "v1")
	st := open(t)
	runAll(t, s, st, s.Points)
	grown := strings.Replace(smallSweep, "[5, 10]", "[5, 7, 10]", 1)
	if err := os.WriteFile(path, []byte(grown), 0o644); err != nil {
		t.Fatal(err)
	}
	s = load(t, path, "v1")
	if ran := runAll(t, s, st, s.Points); ran != 2 {
		t.Errorf("%d points ran after a value was added; 2 are new", ran)
	}
	if a, b := s.Points[0].Key, load(t, path, "v2").Points[0].Key; a == b {
		t.Error("another build has the same keys")
	}
	planPath := filepath.Join(filepath.Dir(path), "plan.toml")
	if err := os.WriteFile(planPath, []byte(smallPlan+"# a remark\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if a, b := s.Points[0].Key, load(t, path, "v1").Points[0].Key; a == b {
		t.Error("another plan has the same keys")
	}
}

func TestAFileThatThePlanNamesIsAnInput(t *testing.T) {
	plan := strings.Replace(smallPlan, "[[candidate]]", "price_books = [\"book.toml\"]\n[[candidate]]", 1)
	path := folder(t, smallSweep, plan)
	book := filepath.Join(filepath.Dir(path), "book.toml")
	if _, err := Load(path, "v1"); err == nil || !strings.Contains(err.Error(), "book.toml") {
		t.Errorf("a missing input: %v", err)
	}
	var keys []string
	for _, text := range []string{"# one", "# two"} {
		if err := os.WriteFile(book, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, load(t, path, "v1").Points[0].Key)
	}
	if keys[0] == keys[1] {
		t.Error("the content of a price book is not in the key")
	}
}

func TestInfeasiblePointsAreResults(t *testing.T) {
	sweep := "plan = \"plan.toml\"\n[[point]]\nsla.ttft_p99 = 1e-6\n[[point]]\nsla.ttft_p99 = 2.0\n"
	s := load(t, folder(t, sweep, smallPlan), "v1")
	st := open(t)
	runAll(t, s, st, s.Points)
	o, err := st.Get(s.Points[0])
	if err != nil || o == nil || o.Feasible || o.Reason == "" {
		t.Fatalf("%+v, %v; an outcome with a reason is expected", o, err)
	}
	if _, err := s.Merge(st, 0); err != nil {
		t.Fatal(err)
	}
	if table := tree(t, st)["table.csv"]; !strings.Contains(table, "false") || !strings.Contains(table, "true") {
		t.Errorf("table: %s", table)
	}
}

func TestADamagedPointRunsAgain(t *testing.T) {
	s := load(t, folder(t, "plan = \"plan.toml\"\n[grid]\nworkload.peak_qps = [5]\n", smallPlan), "v1")
	st := open(t)
	runAll(t, s, st, s.Points)
	want := tree(t, st)
	for _, damage := range []string{"", "{", "null", `{"schema":"scoville.sweep.point/1","key":"other"}`} {
		if err := os.WriteFile(st.path(s.Points[0]), []byte(damage), 0o644); err != nil {
			t.Fatal(err)
		}
		if ran := runAll(t, s, st, s.Points); ran != 1 {
			t.Errorf("%q: %d points ran", damage, ran)
		}
		same(t, want, tree(t, st))
	}
}

func TestBrokenOffKeepsFinishedPoints(t *testing.T) {
	s := load(t, folder(t, smallSweep, smallPlan), "v1")
	st := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Run(ctx, st, s.Points, Options{Parallel: 1, Progress: func(done, kept, all int) {
		if done == 2 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	if n := len(tree(t, st)); n != 2 {
		t.Errorf("%d files are kept of 2 points", n)
	}
	if ran := runAll(t, s, st, s.Points); ran != 2 {
		t.Errorf("%d points ran on resuming; 2 were missing", ran)
	}
}

func TestSymbolicLinksAreNotWrittenThrough(t *testing.T) {
	s := load(t, folder(t, "plan = \"plan.toml\"\n[grid]\nworkload.peak_qps = [5]\n", smallPlan), "v1")
	st := open(t)
	target := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(target, []byte("keep"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, st.path(s.Points[0])); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), st, s.Points, Options{}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("err = %v", err)
	}
	if got, err := os.ReadFile(target); err != nil || string(got) != "keep" {
		t.Errorf("the target is %q, %v", got, err)
	}
}

func TestBadSweepFiles(t *testing.T) {
	for name, c := range map[string]struct{ sweep, want string }{
		"no plan":        {"[grid]\nsla.ttft_p99 = [1]", "plan: is missing"},
		"unknown key":    {"plam = \"plan.toml\"", `sweep.toml:1: plam: unknown key (did you mean "plan"?)`},
		"no points":      {"plan = \"plan.toml\"", "neither [grid] nor [[point]]"},
		"no list":        {"plan = \"plan.toml\"\n[grid]\nsla.ttft_p99 = 1", "a list of values is expected"},
		"empty list":     {"plan = \"plan.toml\"\n[grid]\nsla.ttft_p99 = []", "has 0 values"},
		"twice":          {"plan = \"plan.toml\"\n[grid]\nsla.ttft_p99 = [1, 1]", "the value 1 twice"},
		"in both":        {"plan = \"plan.toml\"\n[grid]\nsla.ttft_p99 = [1]\n[[point]]\nsla.ttft_p99 = 1", "stands in [grid] too"},
		"wrong plan key": {"plan = \"plan.toml\"\n[grid]\nworkload.peak_qqs = [1]", `did you mean "peak_qps"?`},
		"wrong index":    {"plan = \"plan.toml\"\n[grid]\ncandidate.7.chip = [\"h200\"]", `"7" is not a number from 0 to 0`},
		"date":           {"plan = \"plan.toml\"\n[grid]\nas_of = [2026-11-30]", "neither text, number"},
		"too many":       {"plan = \"plan.toml\"\nseeds = [1,2]\n[grid]\n" + manyAxes(), "more than 100000 points"},
		"absent plan":    {"plan = \"none.toml\"\n[grid]\nsla.ttft_p99 = [1]", "none.toml: no such file"},
		"plan is folder": {"plan = \".\"\n[grid]\nsla.ttft_p99 = [1]", "is not a regular file"},
	} {
		_, err := Load(folder(t, c.sweep, smallPlan), "v1")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}

// manyAxes makes 10^5 combinations.
func manyAxes() string {
	var b strings.Builder
	for _, key := range []string{"workload.peak_qps", "sla.ttft_p99", "sla.tpot_p90", "fleet.spares", "workload.input_scale"} {
		b.WriteString(key + " = [1,2,3,4,5,6,7,8,9,10]\n")
	}
	return b.String()
}

func TestExportGolden(t *testing.T) {
	e := Export{Name: "peaks", Sweep: "/data/it's a sweep.toml", Out: "/data/out", Program: "/opt/scoville", Shards: 24, Image: "registry.example/scoville:1", Claim: "shared"}
	for name, make := range map[string]func() (string, error){"slurm.sh": e.Slurm, "kubernetes.yaml": e.Kubernetes} {
		got, err := make()
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal([]byte(got), want) {
			t.Errorf("%s differs; -update writes it:\n%s", golden, got)
		}
	}
	for _, bad := range []Export{{Name: "UPPER", Shards: 1}, {Name: "a", Shards: 0}, {Name: "a", Shards: 1001}, {Name: "a", Shards: 1, Out: "a\nb"}} {
		if _, err := bad.Slurm(); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	if _, err := (Export{Name: "a", Shards: 1}).Kubernetes(); err == nil {
		t.Error("no image is accepted")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(smallSweep)
	f.Add("plan = \"p\"\nseeds = [1, 2]\n[[point]]\na.b = \"x\"\n[grid]\nc = [[1, 2], [3]]\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("sweep.toml", []byte(text))
		if err != nil || s.Shards(1) > 50 {
			return
		}
		if _, err := s.settings(); err == nil && s.Plan == "" {
			t.Error("accepted without a plan")
		}
	})
}

func FuzzOutcome(f *testing.F) {
	f.Add([]byte(`{"schema":"scoville.sweep.point/1","key":"k","candidates":[{"rank":1,"usd_per_m_tokens":1}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if o, err := decodeOutcome(data); err == nil && o.Schema != pointSchema {
			t.Errorf("accepted schema %q", o.Schema)
		}
	})
}
