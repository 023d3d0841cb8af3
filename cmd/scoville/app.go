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
	"time"

	"github.com/urfave/cli/v2"
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
		capacityCommand(),
		simulateCommand(),
		sweepCommand(),
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
		completionCommand(),
		manCommand(),
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
	app := newApp(stdin, stdout, stderr)
	started := time.Now()
	err := app.RunContext(ctx, flagsFirst(app, args))
	logger(app).Info("done", "seconds", time.Since(started).Seconds(), "failed", err != nil)
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "scoville: %s\n", readable(err.Error()))
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	var coded *exitError
	if errors.As(err, &coded) {
		return coded.code
	}
	return exitBadInput
}

// readable puts a message on one line and cuts the middle out of one that quotes pages of a broken input.
func readable(message string) string {
	const most = 1500
	message = strings.ReplaceAll(strings.TrimSpace(message), "\n", "; ")
	if len(message) <= most {
		return message
	}
	return strings.ToValidUTF8(message[:most-300], "") + " ... " + strings.ToValidUTF8(message[len(message)-300:], "")
}

// inFile names the file in an error that does not.
func inFile(path string, err error) error {
	if err == nil || strings.Contains(err.Error(), path) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// newApp is the program as the library sees it. A new one is made for each run.
func newApp(stdin io.Reader, stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name:                      "scoville",
		Usage:                     "how many accelerator chips serve a language model within its SLA, and what a million tokens cost",
		Version:                   version(),
		Description:               "Exit codes: 0 done, 1 a verdict failed (simulate, gate, validate), 2 bad input, 3 no answer within the limits given, 130 interrupted.\nResults go to stdout; progress, warnings and the log go to stderr. Flags may stand before or after arguments.",
		Commands:                  commands(),
		Flags:                     []cli.Flag{&cli.BoolFlag{Name: "verbose", Usage: "a structured log on stderr, with any command", DisableDefaultText: true}},
		DisableSliceFlagSeparator: true, // a comma is a part of the value: --set 'explore.chips=["h100-sxm", "h200"]'
		Suggest:                   true,
		Reader:                    stdin,
		Writer:                    stdout,
		ErrWriter:                 stderr,
		HideHelpCommand:           true,
		ExitErrHandler:            func(*cli.Context, error) {},
		OnUsageError:              usageError,
		Before:                    startLog,
		Action:                    rootAction,
		EnableBashCompletion:      true,
	}
	for _, c := range app.Commands {
		finish(c, "")
	}
	return app
}

func rootAction(c *cli.Context) error {
	if c.Args().Len() == 0 {
		return cli.ShowAppHelp(c)
	}
	return unknownCommand(c.Args().First(), c.App.Commands)
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
