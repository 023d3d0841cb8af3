package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asProgram makes this test binary the program itself, see TestMain.
const asProgram = "SCOVILLE_TEST_AS_PROGRAM"

// program is a command that runs scoville in a process of its own.
func program(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, args...)
	c.Dir, c.Env = dir, append(os.Environ(), asProgram+"=1")
	return c
}

func mustRun(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := program(t, dir, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// sweepFolder holds a sweep of small points.
func sweepFolder(t *testing.T, rates int) string {
	t.Helper()
	dir := t.TempDir()
	var list []string
	for i := range rates {
		list = append(list, fmt.Sprint(2+i))
	}
	plan := strings.Replace(smallPlan, "requests = 500", "requests = 150", 1)
	for name, text := range map[string]string{"plan.toml": plan, "sweep.toml": "plan = \"plan.toml\"\n[grid]\nsla.ttft_p99 = [1.0, 2.0]\nworkload.peak_qps = [" + strings.Join(list, ", ") + "]\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// files is every file below a folder, with its content.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func equalFolders(t *testing.T, want, got string) {
	t.Helper()
	a, b := files(t, want), files(t, got)
	for name := range a {
		if a[name] != b[name] {
			t.Errorf("%s is not as in the undisturbed run", name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok && !strings.Contains(name, ".tmp-") { // what SIGKILL leaves is never taken for a result
			t.Errorf("%s is surplus", name)
		}
	}
}

// TestSweepKilledAtRandom kills a sweep with SIGKILL, goes on, and compares with one that was left alone; so does a
// sweep cut into shards that run as processes at once.
func TestSweepKilledAtRandom(t *testing.T) {
	dir := sweepFolder(t, 12)
	mustRun(t, dir, "sweep", "sweep.toml", "-o", "whole", "--quiet")
	random := rand.New(rand.NewPCG(9, 1))
	for range 20 {
		c := program(t, dir, "sweep", "sweep.toml", "-o", "killed", "--quiet", "--jobs", "1")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(30+random.IntN(200)) * time.Millisecond)
		if err := c.Process.Kill(); err != nil && !strings.Contains(err.Error(), "finished") {
			t.Fatal(err)
		}
		_ = c.Wait() // killed: that is its error
	}
	mustRun(t, dir, "sweep", "sweep.toml", "-o", "killed", "--quiet")
	equalFolders(t, filepath.Join(dir, "whole"), filepath.Join(dir, "killed"))

	var running []*exec.Cmd
	for i := range 3 {
		c := program(t, dir, "sweep", "run-shard", "sweep.toml", "-o", "parts", "--shards", "3", "--quiet")
		c.Env = append(c.Env, fmt.Sprintf("JOB_COMPLETION_INDEX=%d", i))
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, c)
	}
	for _, c := range running {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	mustRun(t, dir, "sweep", "merge", "sweep.toml", "-o", "parts")
	equalFolders(t, filepath.Join(dir, "whole"), filepath.Join(dir, "parts"))
}

// TestSweepInterrupted sends SIGINT and SIGTERM: exit code 130 soon, finished points kept whole, no temporary file.
func TestSweepInterrupted(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		dir := sweepFolder(t, 200)
		c := program(t, dir, "sweep", "sweep.toml", "-o", "out", "--quiet")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		done := func() int {
			list, _ := filepath.Glob(filepath.Join(dir, "out/points/*.json"))
			return len(list)
		}
		for deadline := time.Now().Add(30 * time.Second); done() < 2 && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond)
		}
		if err := c.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		err := c.Wait()
		if code := c.ProcessState.ExitCode(); code != exitInterrupted {
			t.Errorf("%v: exit %d (%v), want %d", sig, code, err, exitInterrupted)
		}
		if n := done(); n < 2 || n >= 400 {
			t.Errorf("%v: %d points are kept", sig, n)
		}
		for name, text := range files(t, filepath.Join(dir, "out")) {
			if strings.Contains(name, ".tmp-") || !strings.HasSuffix(text, "}\n") {
				t.Errorf("%v: %s is left half-written", sig, name)
			}
		}
	}
}

func TestSweepErrors(t *testing.T) {
	dir := sweepFolder(t, 1)
	path := filepath.Join(dir, "sweep.toml")
	out := filepath.Join(dir, "out")
	for _, c := range []struct {
		want int
		text string
		args []string
	}{
		{exitNoAnswer, "2 of 2 points have no result", []string{"sweep", "merge", path, "-o", out}},
		{exitBadInput, "--index is missing", []string{"sweep", "run-shard", path, "-o", out}},
		{exitBadInput, "shard 4 of 2", []string{"sweep", "run-shard", path, "--index", "4", "--shards", "2", "-o", out}},
		{exitBadInput, "one of --slurm and --kubernetes", []string{"sweep", "export", path}},
		{exitBadInput, "SWEEP.toml is missing", []string{"sweep"}},
		{exitBadInput, "is not a folder", []string{"sweep", path, "-o", path}},
	} {
		stdout, stderr, code := costRun(c.args...)
		if code != c.want || stdout != "" || !strings.Contains(stderr, c.text) {
			t.Errorf("%v: exit %d, stdout %q, stderr %q; want %d and %q", c.args, code, stdout, stderr, c.want, c.text)
		}
	}
}
