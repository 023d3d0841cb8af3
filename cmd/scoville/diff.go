package main

import (
	"errors"

	"github.com/urfave/cli/v2"

	"scoville/reports"
)

func diffCommand() *cli.Command {
	return &cli.Command{
		Name:      "diff",
		Usage:     "what changed between two saved results, and why",
		ArgsUsage: "BEFORE.json AFTER.json",
		Description: "Inputs that changed come first, then what they explain, then the results.\n\n" +
			"Example:\n" +
			"   scoville diff october.json november.json",
		Flags: []cli.Flag{formatFlag()},
		Action: func(c *cli.Context) error {
			if err := exactArgs(c, "BEFORE.json", "AFTER.json"); err != nil {
				return err
			}
			f, err := format(c, "table", "json")
			if err != nil {
				return err
			}
			before, errBefore := reports.Read(c.Args().Get(0))
			after, errAfter := reports.Read(c.Args().Get(1))
			if err := errors.Join(errBefore, errAfter); err != nil {
				return err
			}
			d := reports.Diff(before, after)
			if f == "json" {
				return reports.DiffJSON(c.App.Writer, d)
			}
			return reports.DiffText(c.App.Writer, d)
		},
	}
}
