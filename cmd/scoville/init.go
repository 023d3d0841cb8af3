package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"scoville/model/atomicfile"
	"scoville/profiles"
	"scoville/sim/plan"
)

func initCommand() *cli.Command {
	return &cli.Command{
		Name:  "init",
		Usage: "write a commented plan file from a few questions, or from flags",
		Description: `Asks on the terminal, an empty answer taking what stands in brackets; with any of the flags that answer a question it asks nothing and
takes the defaults for the rest. Never writes over a file without --force.

   scoville init
   scoville init --model llama-3.1-70b --users 200000 --chips h200,mi300x --ttft 1.5 --tpot 0.05 --buy -o support-bot.toml
   scoville init --trace requests.csv --model qwen3-32b --chips h100-sxm`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "o", Aliases: []string{"output"}, Value: "plan.toml", Usage: "plan `FILE` to write"},
			&cli.BoolFlag{Name: "force", Usage: "write over an existing file"},
			&cli.StringFlag{Name: "title", Usage: "title of the plan and its report"},
			&cli.StringFlag{Name: "model", Usage: "shipped `MODEL`, config.json or model TOML"},
			&cli.StringFlag{Name: "qps", Usage: "requests per second at the peak"},
			&cli.StringFlag{Name: "users", Usage: "daily active users, instead of --qps"},
			&cli.StringFlag{Name: "workload", Usage: "shipped `WORKLOAD`: what requests look like"},
			&cli.StringFlag{Name: "trace", Usage: "trace `FILE`, instead of --workload"},
			&cli.StringFlag{Name: "chips", Usage: "chips to compare, comma-separated: `A,B`"},
			&cli.StringFlag{Name: "ttft", Usage: "99th percentile of the time to first token, `SECONDS`"},
			&cli.StringFlag{Name: "tpot", Usage: "90th percentile of the time per output token, `SECONDS`"},
			&cli.BoolFlag{Name: "buy", Usage: "chips are bought"},
			&cli.BoolFlag{Name: "rent", Usage: "chips are rented"},
			&cli.StringFlag{Name: "as-of", Usage: "date at which prices are judged, YYYY-MM-DD; default: today"},
			formatFlag(),
		},
		Action: runInit,
	}
}

func runInit(c *cli.Context) error {
	form, err := format(c, "table", "json")
	if err != nil {
		return err
	}
	if err := exactArgs(c); err != nil {
		return err
	}
	path := c.String("o")
	if _, err := os.Stat(path); err == nil && !c.Bool("force") {
		return fmt.Errorf("init: %s exists; --force writes over it, -o names another", path)
	}
	draft, err := answersOf(c)
	if err != nil {
		return err
	}
	text, err := draft.Write(path)
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	if err := atomicfile.WriteBytes(path, text); err != nil {
		return err
	}
	if form == "json" {
		return printJSON(c.App.Writer, map[string]string{"plan": path})
	}
	_, err = fmt.Fprintf(c.App.Writer, "wrote %s; next:\n   scoville plan %s\n", path, path)
	return err
}

// question is one thing asked; its flag answers it beforehand.
type question struct {
	flag, ask, standard string
	take                func(answer string) error
}

// answersOf fills a draft from flags, or from the answers to questions when no flag gives any.
func answersOf(c *cli.Context) (plan.Draft, error) {
	d := plan.Draft{Title: c.String("title"), AsOf: c.String("as-of"), RequestsPerUser: 5, PeakFactor: 2}
	if d.AsOf == "" {
		d.AsOf = time.Now().UTC().Format(time.DateOnly)
	}
	given := map[string]string{"model": c.String("model"), "traffic": c.String("qps"), "requests": c.String("workload"), "chips": c.String("chips"),
		"ttft": c.String("ttft"), "tpot": c.String("tpot")}
	for _, either := range []struct{ key, a, b, value string }{
		{"traffic", "qps", "users", c.String("users") + " users"}, {"requests", "workload", "trace", c.String("trace")}, {"ownership", "rent", "buy", "buy"},
	} {
		if c.IsSet(either.a) && c.IsSet(either.b) {
			return d, fmt.Errorf("init: --%s and --%s exclude each other", either.a, either.b)
		}
		if c.IsSet(either.b) {
			given[either.key] = either.value
		}
	}
	if c.Bool("rent") {
		given["ownership"] = "rent"
	}
	asking := true
	for _, v := range given {
		asking = asking && v == ""
	}
	in := bufio.NewReader(c.App.Reader)
	for _, q := range questions(&d) {
		if err := q.settle(c, in, asking, given[q.flag]); err != nil {
			return d, err
		}
	}
	if d.Title == "" {
		d.Title = "Capacity plan for " + d.Model
	}
	return d, nil
}

func questions(d *plan.Draft) []question {
	return []question{
		{"model", "Model: a shipped name (scoville models list), or a config.json", "llama-3.1-8b", func(a string) error {
			d.Model = a
			_, _, err := profiles.LoadModel(a)
			return err
		}},
		{"requests", "Requests: a shipped workload such as chat, rag, agent-coding (scoville workload list), or a trace file", "azure-2023-conversation", func(a string) error {
			_, err := profiles.Workload(a)
			if d.Profile = a; err != nil {
				if _, statErr := os.Stat(a); statErr == nil {
					d.Profile, d.Trace, err = "", a, nil
				}
			}
			return err
		}},
		{"traffic", `Peak: requests a second, or people a day as in "200000 users"; "trace" takes a trace's own rate`, "", func(a string) error { return takeTraffic(d, a) }},
		{"chips", "Chips to compare, comma-separated (scoville profiles list), or chip files", "h100-sxm,h200-sxm,mi300x", func(a string) error {
			d.Chips = nil
			for name := range strings.SplitSeq(a, ",") {
				name = strings.TrimSpace(name)
				if !strings.HasSuffix(name, ".toml") {
					if _, err := profiles.Chip(name); err != nil {
						return err
					}
				}
				d.Chips = append(d.Chips, name)
			}
			return nil
		}},
		{"ttft", "Time to first token, 99th percentile, seconds", "1.5", func(a string) error { return positive(a, &d.TTFTSeconds) }},
		{"tpot", "Time per output token, 90th percentile, seconds", "0.05", func(a string) error { return positive(a, &d.TPOTSeconds) }},
		{"ownership", "Buy or rent", "rent", func(a string) error {
			if d.Ownership = strings.ToLower(a); d.Ownership != "buy" && d.Ownership != "rent" {
				return fmt.Errorf("%q is neither buy nor rent", a)
			}
			return nil
		}},
	}
}

// takeTraffic reads the peak. A trace may go at its own rate; anything else needs a number.
func takeTraffic(d *plan.Draft, answer string) error {
	if answer == "" || answer == "trace" {
		if d.Trace != "" {
			return nil
		}
		if answer == "trace" {
			return errors.New("only a trace file has a rate of its own")
		}
		answer = "10"
	}
	if people, ok := strings.CutSuffix(answer, "users"); ok {
		return positive(people, &d.DailyUsers)
	}
	return positive(answer, &d.PeakQPS)
}

func positive(answer string, to *float64) error {
	v, err := strconv.ParseFloat(strings.TrimSpace(answer), 64)
	if err != nil || !(v > 0) || math.IsInf(v, 0) {
		return fmt.Errorf("%q is not a positive number", strings.TrimSpace(answer))
	}
	*to = v
	return nil
}

// settle takes the given answer, or asks until one is good, or the input ends, which takes the standard.
func (q question) settle(c *cli.Context, in *bufio.Reader, asking bool, given string) error {
	if given == "" && !asking {
		given = q.standard
		return q.take(given)
	}
	if given != "" {
		if err := q.take(given); err != nil {
			return fmt.Errorf("init: %s: %w", q.flag, err)
		}
		return nil
	}
	shown := q.standard
	if shown == "" {
		shown = "10, or the trace's"
	}
	var refused error
	for {
		fmt.Fprintf(c.App.ErrWriter, "%s [%s]: ", q.ask, shown)
		line, readErr := in.ReadString('\n')
		answer := strings.TrimSpace(line)
		if answer == "" {
			if readErr != nil {
				fmt.Fprintln(c.App.ErrWriter)
				if refused != nil {
					return refused
				}
			}
			answer = q.standard
		}
		err := q.take(answer)
		if err == nil {
			return nil
		}
		refused = fmt.Errorf("init: %s: %w", q.flag, err)
		if errors.Is(readErr, io.EOF) {
			return refused
		}
		if readErr != nil {
			return fmt.Errorf("init: reading the answer: %w", readErr)
		}
		fmt.Fprintf(c.App.ErrWriter, "   %v\n", err)
	}
}
