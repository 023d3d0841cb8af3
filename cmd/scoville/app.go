package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"
	"scoville/model/tomlfile"
)

// Exit codes, as documented in docs/cli.md.
const (
	exitOK          = 0
	exitVerdict     = 1   // a gate or a check failed
	exitBadInput    = 2   // the input can't be used; nothing was written
	exitNoAnswer    = 3   // no answer within the limits given
	exitInterrupted = 130 // Ctrl-C or SIGTERM; what was finished is kept
)

// exitError carries an exit code to run.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// verdictFailed and noAnswer wrap an error with its exit code; every other error means bad input.
func verdictFailed(err error) error { return &exitError{exitVerdict, err} }
func noAnswer(err error) error      { return &exitError{exitNoAnswer, err} }

// commands is the whole CLI, in the order of the help page.
func commands() []*cli.Command {
	return []*cli.Command{
		initCommand(),
		planCommand(),
		simulateCommand(),
		profilesCommand(),
		costCommand(),
		pricesCommand(),
		breakevenCommand(),
		compareCommand(),
		modelsCommand(),
		workloadCommand(),
		calibrateCommand(),
		validateCommand(),
		benchCommand(),
		importCommand(),
		gateCommand(),
		reportCommand(),
		diffCommand(),
	}
}

// run is the program: it never exits the process and never panics out.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "scoville: internal error: %v\nThis is a bug in scoville %s; please report it with the command and this trace:\n%s", p, version(), debug.Stack())
			code = exitBadInput
		}
	}()
	app := &cli.App{
		Name:                 "scoville",
		Usage:                "how many accelerator chips serve a language model within its SLA, and what a million tokens cost",
		Version:              version(),
		Commands:             commands(),
		Suggest:              true,
		Reader:               stdin,
		Writer:               stdout,
		ErrWriter:            stderr,
		HideHelpCommand:      true,
		ExitErrHandler:       func(*cli.Context, error) {},
		OnUsageError:         usageError,
		Action:               rootAction,
		EnableBashCompletion: true,
	}
	for _, c := range app.Commands {
		setUsageErrors(c)
	}
	err := app.RunContext(ctx, flagsFirst(app, args))
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "scoville: %v\n", err)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	var coded *exitError
	if errors.As(err, &coded) {
		return coded.code
	}
	return exitBadInput
}

func rootAction(c *cli.Context) error {
	if c.Args().Len() == 0 {
		return cli.ShowAppHelp(c)
	}
	return unknownCommand(c.Args().First(), c.App.Commands)
}

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
	const undefined = "flag provided but not defined: -"
	if name, ok := strings.CutPrefix(err.Error(), undefined); ok {
		var names []string
		for _, f := range c.Command.Flags {
			names = append(names, f.Names()...)
		}
		name = strings.TrimLeft(name, "-")
		if near := tomlfile.Nearest(name, names); near != "" {
			return fmt.Errorf("%s: unknown flag --%s (did you mean --%s?)", c.Command.FullName(), name, near)
		}
		return fmt.Errorf("%s: unknown flag --%s (see scoville %s --help)", c.Command.FullName(), name, c.Command.FullName())
	}
	return fmt.Errorf("%s: %w", c.Command.FullName(), err)
}

func setUsageErrors(c *cli.Command) {
	c.OnUsageError = usageError
	c.HideHelpCommand = true
	if len(c.Subcommands) > 0 && c.Action == nil {
		c.Action = func(ctx *cli.Context) error {
			if ctx.Args().Len() == 0 {
				return cli.ShowSubcommandHelp(ctx)
			}
			return unknownCommand(ctx.Args().First(), c.Subcommands)
		}
	}
	for _, s := range c.Subcommands {
		setUsageErrors(s)
	}
}

// flagsFirst moves flags that stand after arguments to before them, because the library would silently ignore them.
// "--" ends the flags, as usual.
func flagsFirst(app *cli.App, args []string) []string {
	if len(args) < 2 {
		return args
	}
	at, level := 1, app.Commands
	var flags []cli.Flag
	for at < len(args) {
		c := find(level, args[at])
		if c == nil {
			break
		}
		flags, level = c.Flags, c.Subcommands
		at++
	}
	out := append([]string(nil), args[:at]...)
	var rest []string
	for i := at; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			rest = append(rest, args[i:]...)
			break
		}
		if len(a) < 2 || a[0] != '-' {
			rest = append(rest, a)
			continue
		}
		out = append(out, a)
		if !strings.Contains(a, "=") && takesValue(flags, strings.TrimLeft(a, "-")) && i+1 < len(args) {
			i++
			out = append(out, args[i])
		}
	}
	return append(out, rest...)
}

func find(among []*cli.Command, name string) *cli.Command {
	for _, c := range among {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

func takesValue(flags []cli.Flag, name string) bool {
	for _, f := range flags {
		for _, n := range f.Names() {
			if n == name {
				d, ok := f.(cli.DocGenerationFlag)
				return ok && d.TakesValue()
			}
		}
	}
	return false
}

// version is the module version, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return s.Value[:12]
		}
	}
	if info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}
