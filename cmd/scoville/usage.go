package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"
	"scoville/model/tomlfile"
)

func unknownCommand(name string, among []*cli.Command) error {
	var names []string
	for _, c := range among {
		names = append(names, c.Name)
	}
	if near := tomlfile.Nearest(name, names); near != "" {
		return fmt.Errorf("unknown command %q (did you mean %q?)", name, near)
	}
	return fmt.Errorf("unknown command %q; the commands are %s", name, strings.Join(names, ", "))
}

// usageError turns the library's flag message into one line with the nearest flag.
func usageError(c *cli.Context, err error, _ bool) error {
	prefix, help, flags := commandName(c)+": ", "scoville "+commandName(c)+" --help", append(c.Command.Flags[:len(c.Command.Flags):len(c.Command.Flags)], c.App.Flags...)
	if c.Command.Name == c.App.Name {
		prefix, help, flags = "", "scoville --help", c.App.Flags
	}
	if m := regexp.MustCompile(`^invalid value (".*") for flag -(\S+): `).FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("%s--%s can't be %s (see %s)", prefix, m[2], m[1], help)
	}
	const undefined = "flag provided but not defined: -"
	name, ok := strings.CutPrefix(err.Error(), undefined)
	if !ok {
		return fmt.Errorf("%s%w", prefix, err)
	}
	var names []string
	for _, f := range flags {
		names = append(names, f.Names()...)
	}
	name = strings.TrimLeft(name, "-")
	if near := tomlfile.Nearest(name, names); near != "" {
		return fmt.Errorf("%sunknown flag --%s (did you mean --%s?)", prefix, name, near)
	}
	return fmt.Errorf("%sunknown flag --%s (see %s)", prefix, name, help)
}

// finish gives a command and those below it what all have: errors in one line, examples, defaults in one form.
func finish(c *cli.Command, parents string) {
	full := strings.TrimSpace(parents + " " + c.Name)
	c.OnUsageError = usageError
	c.HideHelpCommand = true
	if lines := examplesOf(full); len(lines) > 0 {
		c.Description = strings.TrimSpace(c.Description + "\n\n   " + strings.Join(lines, "\n   "))
	}
	var needed []string
	for _, f := range c.Flags {
		oneDefault(f)
		if isNeeded(f) {
			needed = append(needed, f.Names()[0])
		}
	}
	if act := c.Action; len(needed) > 0 {
		c.Action = func(ctx *cli.Context) error {
			for _, n := range needed {
				if !ctx.IsSet(n) {
					return fmt.Errorf("%s: --%s is needed (see scoville %s --help)", full, n, full)
				}
			}
			return act(ctx)
		}
	}
	if len(c.Subcommands) > 0 && c.Action == nil {
		c.Action = func(ctx *cli.Context) error {
			if ctx.Args().Len() == 0 {
				return cli.ShowSubcommandHelp(ctx)
			}
			return unknownCommand(ctx.Args().First(), c.Subcommands)
		}
	}
	for _, s := range c.Subcommands {
		finish(s, full)
	}
}

// oneDefault moves a default that the usage text names to where the library prints defaults, which would otherwise say 0 there.
func oneDefault(f cli.Flag) {
	named := regexp.MustCompile(`^(.*?)(?:; default:? | \(default: )(.*?)\)?$`)
	move := func(usage, text *string) {
		if m := named.FindStringSubmatch(*usage); m != nil && *text == "" {
			*usage, *text = m[1], m[2]
		}
	}
	switch f := f.(type) {
	case *cli.BoolFlag:
		f.DisableDefaultText = true
	case *cli.StringFlag:
		move(&f.Usage, &f.DefaultText)
	case *cli.IntFlag:
		move(&f.Usage, &f.DefaultText)
	case *cli.Int64Flag:
		move(&f.Usage, &f.DefaultText)
	case *cli.Float64Flag:
		move(&f.Usage, &f.DefaultText)
	}
}

// isNeeded reports whether a flag is required, and says so in its usage instead: the library would print its help to stdout.
func isNeeded(f cli.Flag) bool {
	need := func(required *bool, usage *string) bool {
		was := *required
		if was {
			*required, *usage = false, *usage+" (needed)"
		}
		return was
	}
	switch f := f.(type) {
	case *cli.StringFlag:
		return need(&f.Required, &f.Usage)
	case *cli.Float64Flag:
		return need(&f.Required, &f.Usage)
	}
	return false
}
