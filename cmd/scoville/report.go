package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"scoville/model/atomicfile"
	"scoville/reports"
	"scoville/sim/plan"
)

// reportFlags choose what is written; they are shared with plan.
func reportFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "pdf", Usage: "planning report, report.pdf"},
		&cli.BoolFlag{Name: "html", Usage: "one self-contained page with sliders, report.html"},
		&cli.BoolFlag{Name: "xlsx", Usage: "workbook with live formulas, report.xlsx"},
		&cli.BoolFlag{Name: "png", Usage: "every chart as NAME.png"},
		&cli.BoolFlag{Name: "svg", Usage: "every chart as NAME.svg"},
		&cli.BoolFlag{Name: "csv", Usage: "candidates.csv and load.csv"},
		&cli.StringFlag{Name: "lang", Value: "en", Usage: "language of the reports: en or zh"},
		&cli.StringFlag{Name: "font", Usage: "TrueType `FILE` for characters the embedded font lacks, such as Chinese"},
	}
}

func reportCommand() *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "draw a saved result again: table, PDF, HTML, XLSX, PNG, SVG, CSV",
		ArgsUsage: "RESULT.json",
		Description: "Without a format the answer is printed as a table. Files go to the folder of -o.\n\n" +
			"Examples:\n" +
			"   scoville report result.json\n" +
			"   scoville report result.json --pdf --html --xlsx -o board\n" +
			"   scoville report result.json --pdf --lang zh --font NotoSansSC-Regular.ttf",
		Flags: append(reportFlags(), outFlag("."), formatFlag(), quietFlag()),
		Action: func(c *cli.Context) error {
			if err := exactArgs(c, "RESULT.json"); err != nil {
				return err
			}
			f, err := format(c, "table", "json", "csv")
			if err != nil {
				return err
			}
			r, err := reports.Read(c.Args().First())
			if err != nil {
				return err
			}
			written, err := writeReports(c, r, "report")
			if err != nil {
				return err
			}
			if len(written) > 0 && !c.IsSet("format") {
				if !c.Bool("quiet") {
					for _, path := range written {
						fmt.Fprintln(c.App.Writer, path)
					}
				}
				return nil
			}
			return printResult(c.App.Writer, r, f, reportOptions(c))
		},
	}
}

// printResult writes a result to stdout in one of the formats table, json and csv.
func printResult(w io.Writer, r *plan.Result, format string, o reports.Options) error {
	switch format {
	case "json":
		return reports.JSON(w, r)
	case "csv":
		return reports.CSV(w, r)
	}
	return reports.TableIn(w, r, o)
}

func reportOptions(c *cli.Context) reports.Options {
	return reports.Options{Lang: c.String("lang"), Font: c.String("font")}
}

// writeReports writes the files that the flags of reportFlags ask for into the folder of -o and returns their paths, a folder
// for pictures. Warnings go to stderr.
func writeReports(c *cli.Context, r *plan.Result, name string, always ...string) ([]string, error) {
	dir, o := c.String("o"), reportOptions(c)
	kinds := []struct {
		flag, path string
		write      func(path string) ([]string, error)
	}{
		{"pdf", name + ".pdf", toFile(func(w io.Writer) ([]string, error) { return reports.PDF(w, r, o) })},
		{"html", name + ".html", toFile(func(w io.Writer) ([]string, error) { return reports.HTML(w, r, o) })},
		{"xlsx", name + ".xlsx", toFile(func(w io.Writer) ([]string, error) { return nil, reports.XLSX(w, r, o) })},
		{"png", "*.png", func(string) ([]string, error) { return reports.PNGs(dir, r, o) }},
		{"svg", "*.svg", func(string) ([]string, error) { return reports.SVGs(dir, r, o) }},
		{"csv", "*.csv", func(string) ([]string, error) { return nil, reports.CSVs(dir, r) }},
	}
	var written []string
	said := map[string]bool{}
	for _, k := range kinds {
		if !c.Bool(k.flag) && !slices.Contains(always, k.flag) {
			continue
		}
		if len(written) == 0 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return nil, err
			}
		}
		path := filepath.Join(dir, k.path)
		warnings, err := k.write(path)
		if err != nil {
			return written, fmt.Errorf("%s: %w", path, err)
		}
		for _, w := range warnings {
			if !said[w] {
				fmt.Fprintf(c.App.ErrWriter, "scoville: warning: %s\n", w)
				said[w] = true
			}
		}
		logger(c.App).Info("wrote", "path", path)
		written = append(written, path)
	}
	return written, nil
}

func toFile(write func(io.Writer) ([]string, error)) func(string) ([]string, error) {
	return func(path string) (warnings []string, err error) {
		err = atomicfile.Write(path, func(w io.Writer) error {
			warnings, err = write(w)
			return err
		})
		return warnings, err
	}
}
