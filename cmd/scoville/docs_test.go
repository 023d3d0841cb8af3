package main

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
	"scoville/model/cost"
	"scoville/model/workload"
	"scoville/sim/plan"
)

// docBlock is a fenced block of commands in a Markdown file.
type docBlock struct {
	file   string
	line   int
	lines  []string
	reason string // why it is not run; "": it is
}

// docBlocks are the blocks marked sh of a Markdown text.
func docBlocks(file, text string) []docBlock {
	var out []docBlock
	var at *docBlock
	reason := ""
	for n, line := range strings.Split(text, "\n") {
		switch {
		case at != nil && line == "```":
			out = append(out, *at)
			at, reason = nil, ""
		case at != nil:
			at.lines = append(at.lines, line)
		case line == "```sh":
			at = &docBlock{file: file, line: n + 1, reason: reason}
		case strings.HasPrefix(line, "<!-- not run: "):
			reason = strings.TrimSuffix(strings.TrimPrefix(line, "<!-- not run: "), " -->")
		case strings.TrimSpace(line) != "":
			reason = ""
		}
	}
	return out
}

// words splits a command line as a shell does, as far as documents need it: quotes, and comments.
func words(line string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`#.*|(?:[^\s"']+|"[^"]*"|'[^']*')+`).FindAllString(line, -1) {
		if strings.HasPrefix(m, "#") {
			break
		}
		out = append(out, strings.NewReplacer(`"`, "", `'`, "").Replace(m))
	}
	return out
}

// docCommand is a line of a document as arguments of the program; ok is false for other programs.
func docCommand(line string) (args []string, ok bool) {
	w := words(line)
	for _, prefix := range [][]string{{"go", "run", "./cmd/scoville"}, {"scoville"}} {
		if len(w) > len(prefix) && slices.Equal(w[:len(prefix)], prefix) {
			args = w[len(prefix):]
			if i := slices.Index(args, ">"); i >= 0 {
				args = args[:i]
			}
			return args, true
		}
	}
	return nil, false
}

// small are settings that make any plan quick; what a document claims about its numbers is not tested here.
func small(args []string) []string {
	if len(args) > 1 && args[1] == "generate" {
		return append(args, "--requests", "600")
	}
	simulates := args[0] == "plan" || args[0] == "simulate" || args[0] == "compare" && strings.HasSuffix(args[1], ".toml") && len(args) == 2
	if !simulates || slices.Contains(args, "--help") {
		return args
	}
	for _, s := range []string{"search.requests=400", "search.replications=3", "search.precision=0.1", "search.monte_carlo_draws=20"} {
		args = append(args, "--set", s)
	}
	return args
}

// smallExamples copies examples/ and lightens the traffic of its plans.
func smallExamples(t *testing.T, to string) {
	t.Helper()
	if err := os.CopyFS(filepath.Join(to, "examples"), os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	for file, change := range map[string][2]string{"chat.toml": {"daily_active = 1_000_000", "daily_active = 20_000"}, "gpu-vs-asic.toml": {"peak_qps = 20", "peak_qps = 1"}} {
		path := filepath.Join(to, "examples", file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(text), change[0], change[1], 1)
		if changed == string(text) {
			t.Fatalf("%s has no %q", path, change[0])
		}
		if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCommandsInDocs runs every scoville command line of the README and docs/ in a folder of its own. Blocks build on those before them.
func TestCommandsInDocs(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every command of the documents; not in -short")
	}
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	back, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "../../README.md") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(back, file))
			if err != nil {
				t.Fatal(err)
			}
			blocks := docBlocks(filepath.Base(file), string(text))
			if len(blocks) == 0 {
				return
			}
			dir := t.TempDir()
			smallExamples(t, dir)
			t.Chdir(dir)
			documentFixtures(t, file)
			for _, b := range blocks {
				runBlock(t, b)
			}
		})
	}
}

// documentFixtures makes the files that a document speaks of without making them.
func documentFixtures(t *testing.T, file string) {
	t.Helper()
	if filepath.Base(file) != "reports.md" {
		return
	}
	must(t, small([]string{"plan", "examples/chat.toml", "-q"})...)
	for _, name := range []string{"october.json", "november.json"} {
		text, err := os.ReadFile("out/plan.json")
		if err == nil {
			err = os.WriteFile(name, text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func must(t *testing.T, args ...string) {
	t.Helper()
	if _, stderr, code := costRun(args...); code != exitOK {
		t.Fatalf("%v: exit %d, %s", args, code, stderr)
	}
}

func runBlock(t *testing.T, b docBlock) {
	for i, line := range b.lines {
		args, ok := docCommand(line)
		if !ok {
			continue
		}
		if b.reason != "" {
			parses(t, args)
			continue
		}
		_, stderr, code := costRun(small(args)...)
		// A command may give a verdict or find no answer in the small setting; it may not be wrong.
		if needsFont := strings.Contains(line, "--font"); code == exitBadInput && !needsFont {
			t.Errorf("%s:%d: %s\nexit %d, %s", b.file, b.line+i+1, line, code, stderr)
		}
	}
}

// parses checks a command that isn't run: it and its flags exist.
func parses(t *testing.T, args []string) {
	t.Helper()
	app := newApp(strings.NewReader(""), io.Discard, io.Discard)
	var c *cli.Command
	level, rest := app.Commands, args
	for len(rest) > 0 {
		next := find(level, rest[0])
		if next == nil {
			break
		}
		c, level, rest = next, next.Subcommands, rest[1:]
	}
	if c == nil {
		t.Errorf("%v: no such command", args)
		return
	}
	for i := 0; i < len(rest); i++ {
		if !isFlag(rest[i]) {
			continue
		}
		if !declares(c.Flags, rest[i]) && !declares(app.Flags, rest[i]) {
			t.Errorf("%v: %s has no flag %s", args, c.Name, rest[i])
		}
		if takesValue(c.Flags, rest[i]) && !strings.Contains(rest[i], "=") {
			i++
		}
	}
}

// TestExamplesInHelpParse checks that commands and flags in the examples of --help exist.
func TestExamplesInHelpParse(t *testing.T) {
	leaves(commands(), "", func(full string, c *cli.Command) {
		finish(c, strings.TrimSpace(strings.TrimSuffix(full, c.Name)))
		for line := range strings.Lines(c.Description) {
			if args, ok := docCommand(strings.TrimSpace(line)); ok {
				parses(t, args)
			}
		}
	})
}

// TestFileReferencesAreComplete finds each TOML key in the document that describes its file, between backquotes or in a block.
func TestFileReferencesAreComplete(t *testing.T) {
	for _, c := range []struct {
		file  string
		of    reflect.Type
		apart []string // keys whose table another document describes
	}{
		{"plan-file.md", reflect.TypeFor[plan.File](), []string{"cost", "custom"}},
		{"cost.md", reflect.TypeFor[cost.Assumptions](), nil},
		{"workloads.md", reflect.TypeFor[workload.Workload](), nil},
	} {
		text, err := os.ReadFile(filepath.Join("../../docs", c.file))
		if err != nil {
			t.Fatal(err)
		}
		keys := map[string]bool{}
		for _, code := range regexp.MustCompile("(?s)```.*?```|`[^`]*`").FindAllString(string(text), -1) {
			for _, word := range regexp.MustCompile("[a-z][a-z0-9_]*").FindAllString(code, -1) {
				keys[word] = true
			}
		}
		if missing := keysMissing(c.of, keys, c.apart); len(missing) > 0 {
			t.Errorf("docs/%s says nothing of %v", c.file, missing)
		}
	}
}

func keysMissing(root reflect.Type, described map[string]bool, apart []string) []string {
	var missing []string
	var walk func(at string, of reflect.Type, seen []reflect.Type)
	walk = func(at string, of reflect.Type, seen []reflect.Type) {
		for i := range of.NumField() {
			f := of.Field(i)
			key, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
			if key == "" || key == "-" {
				continue
			}
			if !described[key] {
				missing = append(missing, at+key)
			}
			if in := inner(f.Type); in != nil && in != reflect.TypeFor[cost.Figure]() && !slices.Contains(apart, key) && !slices.Contains(seen, in) {
				walk(at+key+".", in, append(seen, in))
			}
		}
	}
	walk("", root, nil)
	return missing
}

func TestKeysMissingFindsOne(t *testing.T) {
	type table struct {
		There float64 `toml:"there"`
		Gone  float64 `toml:"gone"`
	}
	if got := keysMissing(reflect.TypeFor[table](), map[string]bool{"there": true}, nil); !slices.Equal(got, []string{"gone"}) {
		t.Errorf("%v", got)
	}
}

// TestDocLinks finds the file behind every relative link.
func TestDocLinks(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
	for _, file := range append(files, "../../README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", file, m[1])
			}
		}
	}
}

func TestDocCommandsAreRead(t *testing.T) {
	text := "<!-- not run: needs a server -->\n```sh\nscoville bench URL # what\n```\ntext\n```sh\ngo run ./cmd/scoville init --title \"Support bot\" --x='a b'  > file\ngo test ./...\n```\n"
	blocks := docBlocks("a.md", text)
	if len(blocks) != 2 || blocks[0].reason != "needs a server" || blocks[1].reason != "" || blocks[1].line != 6 {
		t.Fatalf("%+v", blocks)
	}
	got, ok := docCommand(blocks[1].lines[0])
	if want := []string{"init", "--title", "Support bot", "--x=a b"}; !ok || !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, ok := docCommand(blocks[1].lines[1]); ok {
		t.Error("go test is taken for a command of the program")
	}
}

// TestPlanInReadme parses the plan that the README shows.
func TestPlanInReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```toml\n(.*?)```").FindSubmatch(text)
	if found == nil {
		t.Fatal("the README shows no plan")
	}
	if _, err := plan.Parse("README.md", found[1], nil); err != nil {
		t.Error(err)
	}
}
