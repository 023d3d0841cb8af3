package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
	"scoville/hardware"
	"scoville/model/fact"
	"scoville/model/llm"
	"scoville/profiles"
	"scoville/sim/plan"
)

var update = flag.Bool("update", false, "write the generated parts of docs/")

// TestGeneratedReferences compares what stands in docs/ between "<!-- generated: NAME -->" and "<!-- end -->" with the code.
func TestGeneratedReferences(t *testing.T) {
	for _, c := range []struct {
		file, name string
		make       func(t *testing.T) string
	}{
		{"cli.md", "commands", commandReference},
		{"result-json.md", "fields", func(t *testing.T) string { return typeReference(t, "json", reflect.TypeFor[plan.Result]()) }},
		{"profile-file.md", "chip", func(t *testing.T) string { return typeReference(t, "toml", reflect.TypeFor[hardware.Chip]()) }},
		{"profile-file.md", "engine", func(t *testing.T) string { return typeReference(t, "toml", reflect.TypeFor[hardware.EngineProfile]()) }},
		{"profile-file.md", "model", func(t *testing.T) string { return typeReference(t, "toml", reflect.TypeFor[profiles.ModelProfile]()) }},
		{"profile-file.md", "price", func(t *testing.T) string { return typeReference(t, "toml", reflect.TypeFor[profiles.Price]()) }},
	} {
		path := filepath.Join("../../docs", c.file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		begin := []byte("<!-- generated: " + c.name + " -->\n")
		_, after, found := bytes.Cut(text, begin)
		before, rest, _ := bytes.Cut(text, begin)
		had, tail, closed := bytes.Cut(after, []byte("<!-- end -->"))
		if !found || !closed || len(rest) == 0 {
			t.Errorf("%s: no generated part %q", path, c.name)
			continue
		}
		want := []byte(c.make(t))
		if bytes.Equal(had, want) {
			continue
		}
		if !*update {
			t.Errorf("%s: the part %q is not what the code says; go test ./cmd/scoville -run Generated -update writes it", path, c.name)
			continue
		}
		whole := bytes.Join([][]byte{before, begin, want, []byte("<!-- end -->"), tail}, nil)
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// commandReference is every command with its flags, in Markdown.
func commandReference(*testing.T) string {
	var b strings.Builder
	app := newApp(strings.NewReader(""), io.Discard, io.Discard)
	leaves(app.Commands, "", func(full string, c *cli.Command) {
		fmt.Fprintf(&b, "\n## scoville %s\n\n%s.\n\n```\n%s\n```\n", full, capital(c.Usage), strings.TrimSpace(strings.Join([]string{"scoville", full, "[flags]", c.ArgsUsage}, " ")))
		var prose, examples []string
		for line := range strings.Lines(c.Description) {
			switch s := strings.TrimSpace(line); {
			case strings.HasPrefix(s, "scoville "), strings.HasPrefix(s, "source "):
				examples = append(examples, s)
			case s != "Examples:" && s != "Example:":
				prose = append(prose, s)
			}
		}
		if s := strings.TrimSpace(strings.Join(prose, "\n")); s != "" {
			fmt.Fprintf(&b, "\n%s\n", s)
		}
		if len(examples) > 0 {
			fmt.Fprintf(&b, "\nExamples:\n\n```\n%s\n```\n", strings.Join(examples, "\n"))
		}
		if len(c.Flags) == 0 {
			return
		}
		b.WriteString("\n| flag | meaning | default |\n|---|---|---|\n")
		for _, f := range c.Flags {
			d := f.(cli.DocGenerationFlag)
			if d.GetUsage() == "show help" {
				continue
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", flagNames(f, d), cell(strings.ReplaceAll(d.GetUsage(), "`", "")), cell(flagDefault(f, d)))
		}
	})
	return b.String()
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
func cell(s string) string    { return strings.ReplaceAll(strings.ReplaceAll(s, "|", "\\|"), "\n", " ") }

func flagNames(f cli.Flag, d cli.DocGenerationFlag) string {
	var names []string
	for _, n := range f.Names() {
		dashes := "--"
		if len(n) == 1 {
			dashes = "-"
		}
		names = append(names, "`"+dashes+n+"`")
	}
	s := strings.Join(names, ", ")
	if _, placeholder, ok := strings.Cut(d.GetUsage(), "`"); ok && d.TakesValue() {
		name, _, _ := strings.Cut(placeholder, "`")
		s += " " + name
	}
	return s
}

func flagDefault(f cli.Flag, d cli.DocGenerationFlag) string {
	if _, isBool := f.(*cli.BoolFlag); isBool {
		return ""
	}
	return strings.Trim(d.GetDefaultText(), `"`)
}

// typeReference is a table for a struct and one for each struct below it, with the comments of the source. tag is json or toml.
func typeReference(t *testing.T, tag string, root reflect.Type) string {
	t.Helper()
	var b strings.Builder
	seen, queue := map[reflect.Type]bool{root: true}, []reflect.Type{root}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		doc, comments := sourceOf(t, at)
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n| key | type | meaning |\n|---|---|---|\n", at.Name(), cell(doc))
		var write func(at reflect.Type, comments map[string]string)
		write = func(at reflect.Type, comments map[string]string) {
			for i := range at.NumField() {
				f := at.Field(i)
				if f.Anonymous {
					_, inner := sourceOf(t, f.Type)
					write(f.Type, inner)
					continue
				}
				key, options, _ := strings.Cut(f.Tag.Get(tag), ",")
				if key == "-" || !f.IsExported() {
					continue
				}
				if key == "" {
					key = f.Name
				}
				meaning := cell(comments[f.Name])
				if strings.Contains(options, "omitempty") && tag == "json" {
					meaning = strings.TrimSpace(meaning + " (left out where empty)")
				}
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", key, typeName(f.Type), meaning)
				if in := inner(f.Type); in != nil && !seen[in] {
					seen[in] = true
					queue = append(queue, in)
				}
			}
		}
		write(at, comments)
	}
	return b.String()
}

// inner is the struct of ours in a field's type that needs a table of its own, or nil.
func inner(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct && strings.HasPrefix(t.PkgPath(), "scoville/") && t != reflect.TypeFor[fact.Fact]() {
		return t
	}
	return nil
}

func typeName(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[fact.Fact]():
		return "figure"
	case t == reflect.TypeFor[llm.DType]():
		return "number format"
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return "list of " + typeName(t.Elem())
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Map:
		return "table of " + typeName(t.Elem())
	case reflect.Struct:
		return "[" + t.Name() + "](#" + strings.ToLower(t.Name()) + ")"
	case reflect.Float64:
		return "number"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Interface:
		return "any"
	}
	return "whole number"
}

// sourceOf reads the comments of a struct type of ours: its own and those of its fields.
func sourceOf(t *testing.T, of reflect.Type) (doc string, fields map[string]string) {
	t.Helper()
	dir := filepath.Join("../..", strings.TrimPrefix(of.PkgPath(), "scoville/"))
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	fields = map[string]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				ts, ok := s.(*ast.TypeSpec)
				if !ok || ts.Name.Name != of.Name() {
					continue
				}
				st, ok := ts.Type.(*ast.StructType)
				if !ok {
					continue
				}
				doc = oneLine(g.Doc)
				for _, f := range st.Fields.List {
					for _, n := range f.Names {
						fields[n.Name] = strings.TrimSpace(oneLine(f.Doc) + " " + oneLine(f.Comment))
					}
				}
			}
		}
	}
	if doc == "" {
		t.Errorf("%s: no comment found in %s", of, dir)
	}
	return doc, fields
}

func oneLine(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }
