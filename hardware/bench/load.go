package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"
	"strings"
	"time"

	"scoville/hardware/results"
	"scoville/model/random"
	"scoville/model/workload"
)

// Load is the load a user asks for; the zero value of the selecting fields (Concurrency, Rate, Trace, Dataset, Duration) asks for the ladder.
type Load struct {
	Concurrency int
	Rate        float64
	Arrivals    string // poisson or uniform
	Duration    time.Duration
	Requests    int
	Input       int
	Output      int
	OutputSet   bool // Output overrides what a dataset says
	Trace       string
	Speed       float64
	Dataset     string
	Seed        uint64
}

func (l *Load) ladder() bool {
	return l.Concurrency == 0 && l.Rate == 0 && l.Trace == "" && l.Dataset == "" && l.Duration == 0
}

// Check refuses contradictory or impossible loads.
func (l *Load) Check() error {
	switch {
	case l.Concurrency < 0 || l.Concurrency > 100_000:
		return fmt.Errorf("--concurrency %d; it must be 1 to 100000", l.Concurrency)
	case l.Rate < 0 || l.Rate > 1e6 || math.IsNaN(l.Rate):
		return fmt.Errorf("--rate %g; it must be positive", l.Rate)
	case l.Arrivals != "poisson" && l.Arrivals != "uniform":
		return fmt.Errorf("--arrivals %q; it must be poisson or uniform", l.Arrivals)
	case l.Duration < 0 || l.Requests < 0:
		return fmt.Errorf("--duration and --requests can't be negative")
	case l.Input < 1 || l.Output < 1:
		return fmt.Errorf("--input %d and --output-tokens %d; both must be at least 1", l.Input, l.Output)
	case l.Trace != "" && (l.Rate > 0 || l.Dataset != ""):
		return fmt.Errorf("--trace brings its own times and lengths: leave out --rate and --dataset")
	case !(l.Speed > 0) || l.Speed > 1e6:
		return fmt.Errorf("--speed %g; it must be positive", l.Speed)
	}
	return nil
}

// Streams is how many connections to keep.
func (l *Load) Streams() int { return max(64, l.Concurrency, int(min(l.Rate*10, 10_000))) }

// Plan makes the plan for a server.
func (l *Load) Plan(ctx context.Context, s *Server) (*Plan, error) {
	if l.ladder() {
		p := Ladder(LadderOptions{MaxLength: s.MaxLength, Seed: l.Seed})
		return &p, nil
	}
	p := &Plan{Seed: l.Seed, Gaps: l.Duration < 10*time.Minute, Grace: 600}
	n := max(2*min(l.Concurrency, 8), 4)
	p.Stages = append(p.Stages, closed("warm-up", results.KindWarmup, 4, 20, repeat(Job{Input: 32, Output: 8}, n)))
	jobs, err := l.jobs(ctx, s)
	if err != nil {
		return nil, err
	}
	main := StagePlan{Stage: results.Stage{Name: "load", Kind: results.KindLoad, Concurrency: l.Concurrency, RatePerSecond: l.Rate}, Jobs: jobs, Seconds: l.Duration.Seconds()}
	if l.Duration > 0 {
		main.Stage.Name, main.Stage.Kind = "soak", results.KindSoak
		p.Grace = 30
	}
	if l.Dataset == "" && l.Trace == "" {
		main.Stage.InputTokens, main.Stage.OutputTokens = l.Input, l.Output
	}
	switch {
	case l.Trace != "":
		main.Open = true
	case l.Rate > 0 && l.Arrivals == "uniform":
		main.Open, main.Jobs = true, Uniform(l.Rate, jobs)
	case l.Rate > 0:
		main.Open, main.Jobs = true, Poisson(l.Seed, l.Rate, l.Duration.Seconds(), jobs)
	default:
		main.Stage.Concurrency = max(l.Concurrency, 1)
	}
	p.Stages = append(p.Stages, main)
	return p, nil
}

// maxJobs bounds what is held in memory.
const maxJobs = 2_000_000

func (l *Load) jobs(ctx context.Context, s *Server) ([]Job, error) {
	if l.Trace != "" {
		return l.traceJobs(ctx)
	}
	n := l.Requests
	if n == 0 {
		n = 200
		if l.Duration > 0 {
			// As many as the time could take: the rate's, or a request every 20 ms for each place.
			n = int(min(max(l.Rate*1.5, float64(max(l.Concurrency, 1))*50)*l.Duration.Seconds(), maxJobs)) + 100
		}
	}
	if n > maxJobs {
		return nil, fmt.Errorf("--requests %d; at most %d", n, maxJobs)
	}
	if l.Dataset == "" {
		return repeat(Job{Input: l.Input, Output: l.Output}, n), nil
	}
	pool, err := ReadDataset(l.Dataset, s.TokensPerWord, l.Output, l.OutputSet)
	if err != nil {
		return nil, err
	}
	return stratify(pool, n, l.Seed), nil
}

// stratify draws n prompts so that short and long ones come in their true proportion in every part of the run: the prompts are sorted by length
// and cut into ten strata, and each round takes one of each stratum in random order.
func stratify(pool []Job, n int, seed uint64) []Job {
	sorted := append([]Job(nil), pool...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].Input < sorted[j].Input })
	strata := min(10, len(sorted))
	s := random.New(seed, 0, "bench dataset")
	var out []Job
	order := make([]int, strata)
	for len(out) < n {
		for i := range order {
			order[i] = i
		}
		for i := strata - 1; i > 0; i-- {
			j := s.IntN(i + 1)
			order[i], order[j] = order[j], order[i]
		}
		for _, k := range order {
			lo, hi := k*len(sorted)/strata, (k+1)*len(sorted)/strata
			if len(out) < n {
				out = append(out, sorted[lo+s.IntN(hi-lo)])
			}
		}
	}
	return out
}

// ReadDataset reads the user's prompts: one JSON object a line, with prompt, text, or messages (their contents are joined), and optionally output_tokens.
func ReadDataset(path string, tokensPerWord float64, output int, outputSet bool) ([]Job, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if tokensPerWord <= 0 {
		tokensPerWord = 1.3
	}
	var jobs []Job
	in := bufio.NewScanner(f)
	in.Buffer(make([]byte, 64<<10), 16<<20)
	for line := 1; in.Scan(); line++ {
		if strings.TrimSpace(in.Text()) == "" {
			continue
		}
		var d struct {
			Prompt   string `json:"prompt"`
			Text     string `json:"text"`
			Output   int    `json:"output_tokens"`
			Messages []struct {
				Content string `json:"content"`
			} `json:"messages"`
		}
		if err := json.Unmarshal(in.Bytes(), &d); err != nil {
			return nil, fmt.Errorf("%s:%d: not a JSON object with prompt, text or messages: %w", path, line, err)
		}
		text := d.Prompt + d.Text
		for _, m := range d.Messages {
			text += m.Content + "\n"
		}
		if strings.TrimSpace(text) == "" {
			return nil, fmt.Errorf("%s:%d: prompt is empty", path, line)
		}
		j := Job{Text: text, Input: max(1, int(float64(len(strings.Fields(text)))*tokensPerWord)), Output: output}
		if d.Output > 0 && !outputSet {
			j.Output = d.Output
		}
		jobs = append(jobs, j)
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("%s: holds no prompt", path)
	}
	return jobs, nil
}

// traceJobs takes arrival times and lengths of a trace of any format the workload package reads.
func (l *Load) traceJobs(ctx context.Context) ([]Job, error) {
	w := &workload.Workload{Name: "replay", Trace: &workload.Trace{File: l.Trace}}
	src, err := w.Source(workload.SourceOptions{Seed: l.Seed, MaxRequests: int64(max(l.Requests, 0))})
	if err != nil {
		return nil, err
	}
	var jobs []Job
	var r workload.Request
	for src.Next(&r) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(jobs) == maxJobs {
			return nil, fmt.Errorf("%s: more than %d requests; give --requests", l.Trace, maxJobs)
		}
		jobs = append(jobs, Job{AtSeconds: float64(r.ArrivalNanoseconds) / 1e9 / l.Speed, Input: int(r.InputTokens), Output: int(max(r.OutputTokens, 1))})
	}
	if err := src.Err(); err != nil {
		return nil, err
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("%s: holds no request", l.Trace)
	}
	first := jobs[0].AtSeconds
	for i := range jobs {
		jobs[i].AtSeconds -= first
	}
	return jobs, nil
}
