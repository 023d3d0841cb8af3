package main

import (
	"log/slog"
	"runtime"
	"strings"

	"github.com/urfave/cli/v2"
)

// logKey is where the program keeps its logger.
const logKey = "log"

// startLog makes the logger: to stderr with --verbose, else to nowhere.
func startLog(c *cli.Context) error {
	if c.App.Metadata == nil {
		c.App.Metadata = map[string]any{}
	}
	log := slog.New(slog.DiscardHandler)
	if c.Bool("verbose") {
		log = slog.New(slog.NewTextHandler(c.App.ErrWriter, nil))
	}
	c.App.Metadata[logKey] = log
	log.Info("start", "command", strings.Join(c.Args().Slice(), " "), "version", version(), "go", runtime.Version(), "cpus", runtime.GOMAXPROCS(0))
	return nil
}

// logger is the program's logger; before it is made, one to nowhere.
func logger(app *cli.App) *slog.Logger {
	if log, ok := app.Metadata[logKey].(*slog.Logger); ok {
		return log
	}
	return slog.New(slog.DiscardHandler)
}
