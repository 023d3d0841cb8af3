package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// flagsFirst moves flags that stand after arguments to before them, because the library would silently ignore them, flags of the program
// to before its command, and turns "help COMMAND" into "COMMAND --help". "--" ends the flags, as usual.
func flagsFirst(app *cli.App, args []string) []string {
	if len(args) < 2 || args[len(args)-1] == "--generate-bash-completion" {
		return args
	}
	if args[1] == "help" {
		args = append(append(args[:1:1], args[2:]...), "--help")
	}
	out, at := args[:1:1], 1
	for at < len(args) && isFlag(args[at]) && declares(app.Flags, args[at]) {
		out = append(out, args[at])
		at++
	}
	flags, level := app.Flags, app.Commands
	var commands []string
	for at < len(args) {
		c := find(level, args[at])
		if c == nil {
			break
		}
		commands = append(commands, args[at])
		flags, level = c.Flags, c.Subcommands
		at++
	}
	var own, rest []string
	for i := at; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			rest = append(rest, args[i:]...)
			i = len(args)
		case !isFlag(a):
			rest = append(rest, a)
		case declares(app.Flags, a) && !declares(flags, a):
			out = append(out, a)
		default:
			own = append(own, a)
			if !strings.Contains(a, "=") && takesValue(flags, a) && i+1 < len(args) {
				i++
				own = append(own, args[i])
			}
		}
	}
	return append(append(append(out, commands...), own...), rest...)
}

func isFlag(arg string) bool { return len(arg) > 1 && arg[0] == '-' }

func find(among []*cli.Command, name string) *cli.Command {
	for _, c := range among {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

func declares(flags []cli.Flag, arg string) bool { return flagOf(flags, arg) != nil }

// flagOf is the flag that an argument such as --seed=3 sets, or nil.
func flagOf(flags []cli.Flag, arg string) cli.Flag {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	for _, f := range flags {
		for _, n := range f.Names() {
			if n == name {
				return f
			}
		}
	}
	return nil
}

func takesValue(flags []cli.Flag, arg string) bool {
	f, ok := flagOf(flags, arg).(cli.DocGenerationFlag)
	return ok && f.TakesValue()
}
