package main

import (
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/urfave/cli/v2"
)

// leaves calls visit for each command that does something, with its full name.
func leaves(commands []*cli.Command, parents string, visit func(full string, c *cli.Command)) {
	for _, c := range commands {
		full := strings.TrimSpace(parents + " " + c.Name)
		if len(c.Subcommands) == 0 || c.ArgsUsage != "" {
			visit(full, c)
		}
		leaves(c.Subcommands, full, visit)
	}
}

func TestLateFlagsCountForEveryCommand(t *testing.T) {
	app := newApp(strings.NewReader(""), io.Discard, io.Discard)
	leaves(app.Commands, "", func(full string, c *cli.Command) {
		command := append([]string{"scoville"}, strings.Fields(full)...)
		for _, f := range c.Flags {
			for _, name := range f.Names() {
				flag := []string{"--" + name}
				if f.(cli.DocGenerationFlag).TakesValue() {
					flag = append(flag, "value")
				}
				want := slices.Concat(command, flag, []string{"file"})
				if got := flagsFirst(app, slices.Concat(command, []string{"file"}, flag)); !slices.Equal(got, want) {
					t.Errorf("%v, want %v", got, want)
				}
				joined := slices.Concat(command, []string{"file", "--" + name + "=x"})
				if got := flagsFirst(app, joined); got[len(got)-1] != "file" {
					t.Errorf("%v stays %v", joined, got)
				}
			}
		}
	})
}

func TestFlagsFirst(t *testing.T) {
	app := newApp(strings.NewReader(""), io.Discard, io.Discard)
	for _, c := range []struct{ in, want string }{
		{"plan a.toml --seed 3 --verbose", "--verbose plan --seed 3 a.toml"},
		{"--verbose plan a.toml --seed 3", "--verbose plan --seed 3 a.toml"},
		{"plan a.toml --set x=--verbose", "plan --set x=--verbose a.toml"},
		{"plan -- --seed 3", "plan -- --seed 3"},
		{"simulate a.toml --rate -3", "simulate --rate -3 a.toml"},
		{"help models show", "models show --help"},
		{"plan a.toml --unknown 3", "plan --unknown a.toml 3"},
		{"models show - --tp 2", "models show --tp 2 -"},
		{"plan a --se --generate-bash-completion", "plan a --se --generate-bash-completion"},
	} {
		got := flagsFirst(app, append([]string{"scoville"}, strings.Fields(c.in)...))
		if s := strings.Join(got[1:], " "); s != c.want {
			t.Errorf("%q becomes %q, want %q", c.in, s, c.want)
		}
	}
}

func TestEveryCommandHasAnExampleAndAFormat(t *testing.T) {
	textOnly := []string{"completion bash", "completion zsh", "completion fish", "man"}
	app := newApp(strings.NewReader(""), io.Discard, io.Discard)
	leaves(app.Commands, "", func(full string, c *cli.Command) {
		if !strings.Contains(c.Description, "scoville "+full) {
			t.Errorf("%s: no example in its help", full)
		}
		if !slices.Contains(textOnly, full) && !declares(c.Flags, "--format") {
			t.Errorf("%s: no --format", full)
		}
		for _, f := range c.Flags {
			if d := f.(cli.DocGenerationFlag); d.GetUsage() == "" {
				t.Errorf("%s: --%s says nothing", full, f.Names()[0])
			}
		}
	})
}

const smallPlan = `as_of = "2026-11-30"
workload = { profile = "azure-2023-conversation", peak_qps = 20 }
model = { name = "llama-3.1-8b" }
sla = { ttft_p99 = 2.0 }
search = { requests = 500, replications = 2, monte_carlo_draws = -1 }
cost = { ownership = "rent" }
candidate = [{ chip = "h100-sxm" }]
`

func writeSmallPlan(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.toml")
	if err := os.WriteFile(path, []byte(smallPlan), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExitCodes(t *testing.T) {
	plan := writeSmallPlan(t)
	for _, c := range []struct {
		want int
		args []string
	}{
		{exitOK, []string{"models", "list"}},
		{exitOK, []string{"plan", plan, "-o", "none"}},
		{exitVerdict, []string{"simulate", plan, "--rate", "150"}},
		{exitBadInput, []string{"plan", "nothing.toml"}},
		{exitBadInput, []string{"plan", plan, "-o", "none", "--set", "sla.ttft_p99=0"}},
		{exitBadInput, []string{"plan", plan, "--no-such-flag"}},
		{exitNoAnswer, []string{"plan", plan, "-o", "none", "--set", "fleet.max_replicas=1", "--set", "workload.peak_qps=500"}},
	} {
		stdout, stderr, code := costRun(c.args...)
		if code != c.want {
			t.Errorf("%v: exit %d, want %d; %s", c.args, code, c.want, stderr)
		}
		if code == exitBadInput && (stdout != "" || strings.Count(stderr, "\n") != 1) {
			t.Errorf("%v: stdout %q, stderr %q; one line on stderr is expected", c.args, stdout, stderr)
		}
	}
}

// TestInterrupt sends the process the signal of Ctrl-C until the program ends.
func TestInterrupt(t *testing.T) {
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGINT) // keeps the test alive whenever the program does not listen
	defer signal.Stop(ignored)
	path, done := writeSmallPlan(t), make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
				if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	out := filepath.Join(t.TempDir(), "out")
	_, stderr, code := costRun("plan", path, "-o", out, "--set", "search.requests=200000", "--set", "search.replications=20")
	close(done)
	if code != exitInterrupted {
		t.Errorf("exit %d, want %d; %s", code, exitInterrupted, stderr)
	}
	// What was finished before may be kept, whole and marked as a part.
	left, err := os.ReadFile(filepath.Join(out, "plan.json"))
	if err == nil && !strings.Contains(string(left), `"partial": true`) {
		t.Error("an interrupted plan left a result that is not marked as a part")
	}
}
