package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"scoville/sim/sweep"
)

func sweepCommand() *cli.Command {
	return &cli.Command{
		Name:      "sweep",
		Usage:     "answer a plan over a grid of its fields: a table, a heat map, cost against latency",
		ArgsUsage: "SWEEP.toml",
		Description: `Runs the plan once for each point. Finished points are kept under a hash of their inputs: a sweep that was broken off goes on
where it stopped, and a changed input reruns its own points only. docs/sweeps.md describes the file.

   scoville sweep examples/sweep.toml
   scoville sweep examples/sweep.toml -o results --jobs 4 --format csv`,
		Flags:  append(sweepFlags(), formatFlag(), jobsFlag(), quietFlag(), fullFlag()),
		Action: runSweep,
		Subcommands: []*cli.Command{
			{
				Name: "run-shard", Usage: "run one part of a sweep, as a task of a batch scheduler", ArgsUsage: "SWEEP.toml",
				Description: `Without --index, the number is that of the Slurm array task, the Kubernetes Indexed Job's pod or the AWS Batch array child it runs as.

   scoville sweep run-shard examples/sweep.toml --index 2 --shards 8 -o results`,
				Flags: append(sweepFlags(), formatFlag(), jobsFlag(), quietFlag(), fullFlag(),
					&cli.IntFlag{Name: "index", Value: -1, Usage: "number of the part, from 0; default: the scheduler's", DefaultText: "the scheduler's"},
					&cli.IntFlag{Name: "shards", Usage: "parts in all; default: the scheduler's, where it tells", DefaultText: "the scheduler's"}),
				Action: runShard,
			},
			{
				Name: "merge", Usage: "check that every point has run, and write the tables and pictures", ArgsUsage: "SWEEP.toml",
				Description: `Exit code 3 and the missing points by name where some have not run.

   scoville sweep merge examples/sweep.toml -o results`,
				Flags:  append(sweepFlags(), formatFlag(), fullFlag(), &cli.IntFlag{Name: "shards", Usage: "parts the sweep was run in, to name those of missing points"}),
				Action: mergeSweep,
			},
			{
				Name: "export", Usage: "print the job file of a batch scheduler", ArgsUsage: "SWEEP.toml",
				Description: `   scoville sweep export examples/sweep.toml --slurm --shards 16 -o /shared/results > job.sh
   scoville sweep export /data/sweep.toml --kubernetes --image registry.example/scoville:1 --claim shared -o /data/results > job.yaml`,
				Flags: append(sweepFlags(),
					&cli.StringFlag{Name: "format", Value: "table", Usage: "output on stdout: table (the job file as it is) or json (the job file in a string)"},
					&cli.BoolFlag{Name: "slurm", Usage: "a script that submits a Slurm array job"},
					&cli.BoolFlag{Name: "kubernetes", Usage: "the manifest of a Kubernetes Indexed Job; untested on a cluster"},
					&cli.IntFlag{Name: "shards", Usage: "tasks; default: so that each has 30 s of work by --point-seconds", DefaultText: "by --point-seconds"},
					&cli.Float64Flag{Name: "point-seconds", Value: 5, Usage: "time one point takes"},
					&cli.StringFlag{Name: "name", Value: "sweep", Usage: "name of the job"},
					&cli.StringFlag{Name: "program", Value: "scoville", Usage: "path of scoville where the tasks run"},
					&cli.StringFlag{Name: "image", Usage: "container image (Kubernetes)"},
					&cli.StringFlag{Name: "claim", Usage: "PersistentVolumeClaim that all tasks may write (Kubernetes)"}),
				Action: exportSweep,
			},
		},
	}
}

func sweepFlags() []cli.Flag { return []cli.Flag{outFlag("sweep-out")} }

func jobsFlag() *cli.IntFlag {
	return &cli.IntFlag{Name: "jobs", Usage: "points at once; default: all cores", DefaultText: "all cores"}
}

func fullFlag() *cli.BoolFlag {
	return &cli.BoolFlag{Name: "full", Usage: "keep each point's whole plan result too"}
}

// loadSweep reads the sweep and opens its folder; nothing is written before the sweep is known to be sound.
func loadSweep(c *cli.Context) (*sweep.Sweep, *sweep.Store, error) {
	if err := exactArgs(c, "SWEEP.toml"); err != nil {
		return nil, nil, err
	}
	if n := c.Int("jobs"); n < 0 || n > 1024 {
		return nil, nil, fmt.Errorf("%s: --jobs %d: 1 to 1024 are expected", commandName(c), n)
	}
	program, err := buildIdentity()
	if err != nil {
		return nil, nil, err
	}
	s, err := sweep.Load(c.Args().First(), program)
	if err != nil {
		return nil, nil, err
	}
	if err := checkFolder(c.String("o")); err != nil {
		return nil, nil, err
	}
	store, err := sweep.Open(c.String("o"), c.Bool("full"))
	return s, store, err
}

func runSweep(c *cli.Context) error {
	form, err := format(c, "table", "json", "csv")
	if err != nil {
		return err
	}
	s, store, err := loadSweep(c)
	if err != nil {
		return err
	}
	if err := s.WriteManifest(store); err != nil {
		return err
	}
	if err := runPoints(c, s, store, s.Points); err != nil {
		return err
	}
	return finishSweep(c, s, store, form)
}

// runPoints runs points with progress.
func runPoints(c *cli.Context, s *sweep.Sweep, store *sweep.Store, points []sweep.Point) error {
	bar, started := newProgress(c), time.Now()
	defer bar.stop()
	return s.Run(c.Context, store, points, sweep.Options{Parallel: c.Int("jobs"), Progress: func(done, kept, all int) {
		left := ""
		if ran := done - kept; ran > 0 && done < all {
			eta := time.Duration(float64(time.Since(started)) / float64(ran) * float64(all-done))
			left = ", " + eta.Round(time.Second).String() + " left"
		}
		bar.stage("points"+left, done, all)
	}})
}

func finishSweep(c *cli.Context, s *sweep.Sweep, store *sweep.Store, form string) error {
	written, err := s.Merge(store, c.Int("shards"))
	var missing *sweep.Missing
	if errors.As(err, &missing) {
		return noAnswer(err)
	}
	if err != nil {
		return err
	}
	switch form {
	case "json":
		return s.JSON(c.App.Writer, store)
	case "csv":
		return s.CSV(c.App.Writer, store)
	}
	if err := s.Table(c.App.Writer, store); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "%d points; wrote %s\n", len(s.Points), strings.Join(written, ", "))
	return err
}

func runShard(c *cli.Context) error {
	form, err := format(c, "table", "json")
	if err != nil {
		return err
	}
	index, shards := c.Int("index"), c.Int("shards")
	if !c.IsSet("index") {
		i, n, found, err := sweep.ShardFromEnvironment()
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("sweep run-shard: --index is missing, and no scheduler set SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX or AWS_BATCH_JOB_ARRAY_INDEX")
		}
		if index = i; !c.IsSet("shards") {
			shards = n
		}
	}
	if shards == 0 {
		return fmt.Errorf("sweep run-shard: --shards is missing: the number of parts in all")
	}
	s, store, err := loadSweep(c)
	if err != nil {
		return err
	}
	points, err := s.Shard(index, shards)
	if err != nil {
		return err
	}
	if err := runPoints(c, s, store, points); err != nil {
		return err
	}
	if form == "json" {
		return printJSON(c.App.Writer, map[string]int{"shard": index, "shards": shards, "points": len(points)})
	}
	_, err = fmt.Fprintf(c.App.Writer, "shard %d of %d: %d points done\n", index, shards, len(points))
	return err
}

func mergeSweep(c *cli.Context) error {
	form, err := format(c, "table", "json", "csv")
	if err != nil {
		return err
	}
	s, store, err := loadSweep(c)
	if err != nil {
		return err
	}
	return finishSweep(c, s, store, form)
}

func exportSweep(c *cli.Context) error {
	form, err := format(c, "table", "json")
	if err != nil {
		return err
	}
	if err := exactArgs(c, "SWEEP.toml"); err != nil {
		return err
	}
	if c.Bool("slurm") == c.Bool("kubernetes") {
		return fmt.Errorf("sweep export: one of --slurm and --kubernetes is needed")
	}
	path := c.Args().First()
	f, err := sweep.Read(path)
	if err != nil {
		return err
	}
	shards := c.Int("shards")
	if !c.IsSet("shards") {
		if !(c.Float64("point-seconds") > 0) {
			return fmt.Errorf("sweep export: --point-seconds %g: a positive time is expected", c.Float64("point-seconds"))
		}
		shards = f.Shards(c.Float64("point-seconds"))
	}
	e := sweep.Export{Name: c.String("name"), Sweep: path, Out: c.String("o"), Program: c.String("program"), Shards: shards, Image: c.String("image"), Claim: c.String("claim")}
	make := e.Slurm
	if c.Bool("kubernetes") {
		make = e.Kubernetes
	}
	text, err := make()
	if err != nil {
		return fmt.Errorf("sweep export: %w", err)
	}
	if form == "json" {
		return printJSON(c.App.Writer, map[string]any{"job": text, "shards": shards})
	}
	_, err = io.WriteString(c.App.Writer, text)
	return err
}

// buildIdentity tells builds apart whose answers may differ: the version of a clean build, else a hash of the program itself.
func buildIdentity() (string, error) {
	v := version()
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.modified" && s.Value == "false" {
				return v, nil
			}
		}
		if v != "(devel)" && v != "devel" && info.Main.Version == v && !strings.Contains(v, "dirty") {
			return v, nil
		}
	}
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	in, err := os.Open(filepath.Clean(path))
	if err != nil {
		return "", err
	}
	defer in.Close() // opened for reading: nothing is lost
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return "", err
	}
	return v + "+" + hex.EncodeToString(h.Sum(nil))[:16], nil
}
