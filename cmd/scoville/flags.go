package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"
)

// formatFlag, seedFlag, outFlag and quietFlag are shared by the commands that take them.
func formatFlag() *cli.StringFlag {
	return &cli.StringFlag{Name: "format", Value: "table", Usage: "output on stdout: table, json or csv where the command has one"}
}

func seedFlag() *cli.Uint64Flag {
	return &cli.Uint64Flag{Name: "seed", Value: 1, Usage: "root of every random stream; the same seed gives the same bytes"}
}

func outFlag(value string) *cli.StringFlag {
	return &cli.StringFlag{Name: "o", Aliases: []string{"output"}, Value: value, Usage: "folder for the files written"}
}

func quietFlag() *cli.BoolFlag {
	return &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "no progress on stderr"}
}

// format checks --format against what the command can print.
func format(c *cli.Context, valid ...string) (string, error) {
	f := c.String("format")
	for _, v := range valid {
		if f == v {
			return f, nil
		}
	}
	return "", fmt.Errorf("%s: --format %q is not one of %v", commandName(c), f, valid)
}

// exactArgs refuses a missing or surplus argument by name.
func exactArgs(c *cli.Context, names ...string) error {
	given := c.Args().Slice()
	if len(given) < len(names) {
		return fmt.Errorf("%s: %s is missing; usage: scoville %s [flags] %s", commandName(c), names[len(given)], commandName(c), strings.Join(names, " "))
	}
	if len(given) > len(names) {
		return fmt.Errorf("%s: %q is one argument too many (see scoville %s --help)", commandName(c), given[len(names)], commandName(c))
	}
	return nil
}

// commandName is the command as typed after "scoville".
func commandName(c *cli.Context) string {
	return strings.TrimPrefix(c.Command.HelpName, c.App.Name+" ")
}

// printJSON writes v indented, ending in a newline.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// interactive reports whether w is a terminal on which progress may be drawn.
func interactive(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// plainTable is a table in the one look all commands have.
func plainTable() table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	return t
}
