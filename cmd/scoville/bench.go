package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"scoville/hardware/bench"
	"scoville/hardware/power"
	"scoville/hardware/results"
)

// benchCommand loads a server and records what it does.
func benchCommand() *cli.Command {
	return &cli.Command{
		Name: "bench", Usage: "measure an OpenAI-compatible server: a calibration ladder of at most five minutes, or a load of your own", ArgsUsage: "URL", Action: benchRun,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "o", Aliases: []string{"output"}, Usage: "write the records to this JSONL file, which must not exist; default: bench-DATE-TIME.jsonl"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "don't wait five seconds after saying what will be sent"},
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would be sent, and stop"},
			&cli.StringFlag{Name: "model", Usage: "name of the model; default: the first the server lists"},
			&cli.StringFlag{Name: "api-key-env", Value: "OPENAI_API_KEY", Usage: "environment variable that holds the key; a key is taken from nowhere else"},
			&cli.BoolFlag{Name: "i-may-load-this-server", Usage: "allow a server that isn't this machine"},
			&cli.IntFlag{Name: "concurrency", Usage: "closed loop with this many in flight; with --rate: the most in flight"},
			&cli.Float64Flag{Name: "rate", Usage: "open loop: requests per second"},
			&cli.StringFlag{Name: "arrivals", Value: "poisson", Usage: "of --rate: poisson or uniform"},
			&cli.DurationFlag{Name: "duration", Usage: "soak for this long, and check for drift"},
			&cli.IntFlag{Name: "requests", Usage: "how many to send; default 200, or what --duration takes"},
			&cli.IntFlag{Name: "input", Value: 256, Usage: "prompt tokens of each request"},
			&cli.IntFlag{Name: "output-tokens", Value: 128, Usage: "tokens to generate for each request"},
			&cli.StringFlag{Name: "trace", Usage: "replay this trace's times and lengths"},
			&cli.Float64Flag{Name: "speed", Value: 1, Usage: "of --trace: 2 replays twice as fast"},
			&cli.StringFlag{Name: "dataset", Usage: "your own prompts: JSONL with prompt, text or messages, and optionally output_tokens"},
			&cli.IntFlag{Name: "max-requests", Usage: "send at most so many"},
			&cli.Int64Flag{Name: "max-tokens-total", Value: 5_000_000, Usage: "send and ask for at most so many tokens"},
			&cli.Float64Flag{Name: "max-dollars", Usage: "spend at most so much; needs the prices"},
			&cli.Float64Flag{Name: "price-input", Usage: "dollars per million input tokens"},
			&cli.Float64Flag{Name: "price-output", Usage: "dollars per million output tokens"},
			&cli.DurationFlag{Name: "timeout", Value: 5 * time.Minute, Usage: "of one request; a request that takes longer has failed"},
			&cli.StringFlag{Name: "power", Usage: "measure power: nvidia-smi, amd-smi, rocm-smi, npu-smi, hl-smi, rapl, or the http address of a Prometheus exporter"},
			&cli.StringFlag{Name: "power-log", Usage: "join this power log, recorded apart; its end must reach past the run's"},
			&cli.StringFlag{Name: "engine", Usage: "name of the engine, for the record"},
			&cli.StringFlag{Name: "engine-version", Usage: "version of the engine, for the record"},
			&cli.StringFlag{Name: "chip", Usage: "accelerator, for the record"},
			&cli.IntFlag{Name: "chips", Usage: "how many of them, for the record"},
			seedFlag(), formatFlag(), quietFlag(),
		},
	}
}

func benchRun(c *cli.Context) error {
	f, err := format(c, "table", "json")
	if err != nil {
		return err
	}
	if err := exactArgs(c, "URL"); err != nil {
		return err
	}
	target, err := bench.ParseTarget(c.Args().First(), c.Bool("i-may-load-this-server"))
	if err != nil {
		return err
	}
	if c.Float64("max-dollars") > 0 && c.Float64("price-input")+c.Float64("price-output") <= 0 {
		return fmt.Errorf("bench: --max-dollars needs --price-input and --price-output")
	}
	budget := &bench.Budget{MaxRequests: c.Int("max-requests"), MaxTokens: c.Int64("max-tokens-total"), MaxDollars: c.Float64("max-dollars"),
		DollarsPerMIn: c.Float64("price-input"), DollarsPerMOut: c.Float64("price-output")}
	load := benchLoad(c)
	if err := load.Check(); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	client := bench.NewClient(target, c.String("model"), os.Getenv(c.String("api-key-env")), load.Streams(), c.Duration("timeout"))
	defer client.Close()
	server, err := client.Probe(c.Context, budget)
	if err != nil {
		return err
	}
	plan, err := load.Plan(c.Context, server)
	if err != nil {
		return err
	}
	requests, tokens, seconds := plan.Size()
	if !c.Bool("quiet") {
		fmt.Fprintf(c.App.ErrWriter, "%s, model %s: at most %d requests and %d tokens", target.Base, server.Model, requests, tokens)
		if seconds > 0 {
			fmt.Fprintf(c.App.ErrWriter, ", at most %.0f s", seconds)
		}
		fmt.Fprintln(c.App.ErrWriter)
	}
	if c.Bool("dry-run") {
		return printJSON(c.App.Writer, map[string]any{"server": server, "requests": requests, "tokens": tokens, "seconds": seconds})
	}
	if interactive(c.App.ErrWriter) && !c.Bool("yes") {
		fmt.Fprintln(c.App.ErrWriter, "starting in 5 s; Ctrl-C stops it")
		select {
		case <-time.After(5 * time.Second):
		case <-c.Context.Done():
			return c.Context.Err()
		}
	}
	return benchMeasure(c, f, client, server, plan, budget)
}

func benchLoad(c *cli.Context) *bench.Load {
	return &bench.Load{Concurrency: c.Int("concurrency"), Rate: c.Float64("rate"), Arrivals: c.String("arrivals"), Duration: c.Duration("duration"), Requests: c.Int("requests"),
		Input: c.Int("input"), Output: c.Int("output-tokens"), OutputSet: c.IsSet("output-tokens"), Trace: c.String("trace"), Speed: c.Float64("speed"), Dataset: c.String("dataset"), Seed: c.Uint64("seed")}
}

// benchMeasure runs the plan, with power beside it, into the records file.
func benchMeasure(c *cli.Context, f string, client *bench.Client, server *bench.Server, plan *bench.Plan, budget *bench.Budget) (err error) {
	path := c.String("o")
	if path == "" {
		path = time.Now().Format("bench-20060102-150405.jsonl")
	}
	header := results.Run{Tool: "scoville bench", ToolVersion: version(), Model: server.Model, Engine: orElse(c.String("engine"), server.Engine), EngineVersion: orElse(c.String("engine-version"), server.EngineVersion),
		Hardware: c.String("chip"), Chips: c.Int("chips"), Endpoint: server.Endpoint, Warnings: server.Notes, StartUnixSeconds: float64(time.Now().UnixNano()) / 1e9}
	var sampler *power.Sampler
	if name := c.String("power"); name != "" {
		if sampler, err = power.NewSampler(c.Context, name, 500*time.Millisecond); err != nil {
			return err
		}
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists already; give another file with -o", path)
	}
	if err != nil {
		return err
	}
	out := &flushed{w: bufio.NewWriterSize(file, 64<<10)}
	defer func() { err = errors.Join(err, out.close(), file.Close()) }()
	w, err := results.NewWriter(out, &header)
	if err != nil {
		return err
	}
	r := &bench.Runner{Client: client, Budget: budget, Header: header, Writer: w, Progress: benchProgress(c)}
	if sampler != nil {
		sampler.Start()
		r.BeforeSummary = func(run *results.Run) { joinPower(run, sampler.Stop()) }
	} else if log := c.String("power-log"); log != "" {
		r.BeforeSummary = func(run *results.Run) {
			l, err := power.ReadFile(log, power.Options{})
			if err != nil {
				run.Warnings = append(run.Warnings, err.Error())
				return
			}
			joinPower(run, l)
		}
	}
	run, err := r.Run(c.Context, plan)
	if run != nil {
		run.File = path
		if perr := printRuns(c.App.Writer, f, []*results.Run{run}, true); perr != nil {
			return errors.Join(err, perr)
		}
		if !c.Bool("quiet") {
			fmt.Fprintf(c.App.ErrWriter, "records: %s\n", path)
		}
		if err == nil && run.Client != nil && run.Client.Bottleneck != "" {
			return noAnswer(fmt.Errorf("the client was the bottleneck: %s", run.Client.Bottleneck))
		}
		if err == nil && run.Completed == 0 {
			return noAnswer(fmt.Errorf("no request succeeded: %v", run.ErrorKinds))
		}
	}
	return err
}

func joinPower(run *results.Run, l *power.Log) {
	if err := l.Join(run); err != nil {
		run.Warnings = append(run.Warnings, "no power figures: "+err.Error())
	}
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// flushed is a buffered writer that gets to the file at least every half second, so that little is lost when the process is killed.
type flushed struct {
	mu   sync.Mutex
	w    *bufio.Writer
	last time.Time
}

func (f *flushed) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.w.Write(b)
	if now := time.Now(); err == nil && now.Sub(f.last) > 500*time.Millisecond {
		f.last = now
		err = f.w.Flush()
	}
	return n, err
}

func (f *flushed) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.w.Flush()
}

func benchProgress(c *cli.Context) func(bench.Progress) {
	if c.Bool("quiet") || !interactive(c.App.ErrWriter) {
		return nil
	}
	var last int64
	var at time.Duration
	return func(p bench.Progress) {
		rate := 0.0
		if p.Elapsed > at {
			rate = float64(p.Tokens-last) / (p.Elapsed - at).Seconds()
		}
		last, at = p.Tokens, p.Elapsed
		showProgress(c.App.ErrWriter, p, rate)
	}
}

func showProgress(w io.Writer, p bench.Progress, rate float64) {
	fmt.Fprintf(w, "\r\x1b[K%4.0f s  stage %d/%d %-12s  %d sent, %d done, %d failed, %d in flight, %.0f tokens/s", p.Elapsed.Seconds(), p.StageNumber, p.Stages, p.Stage, p.Sent, p.Done, p.Failed, p.Active, rate)
}
