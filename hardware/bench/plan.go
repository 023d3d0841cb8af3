package bench

import (
	"fmt"
	"math"

	"scoville/hardware/results"
	"scoville/model/random"
)

// Job is one request to send.
type Job struct {
	AtSeconds float64 // from the start of the stage; open loop only
	Input     int     // prompt tokens
	Output    int     // tokens to generate
	Text      string  // the user's own prompt; empty: made up
}

// StagePlan is one stage and its jobs. Closed loop: Stage.Concurrency in flight until the jobs or the seconds run out. Open loop (Open set): each
// job at its time, at most Stage.Concurrency in flight when that isn't 0; what waits for a place waits in the client, and is counted.
type StagePlan struct {
	Stage   results.Stage
	Open    bool
	Seconds float64 // no new request after this; 0: none
	Jobs    []Job
	// Later makes the jobs when the stage begins, from the best rate (requests per second) of the stages before it. Most is then an upper bound.
	Later func(bestRate float64) (jobs []Job, rate float64)
	Most  int
	// LaterTokens bounds the tokens of the jobs made later.
	LaterTokens int64
}

// Plan is a whole run.
type Plan struct {
	Stages []StagePlan
	Seed   uint64
	Gaps   bool    // keep the gap of every token; ITL needs it
	Grace  float64 // seconds that requests in flight get at the end of a stage before they are cut off
}

// Size is the most a plan sends, announced before it starts.
func (p *Plan) Size() (requests int, tokens int64, seconds float64) {
	for _, s := range p.Stages {
		requests += len(s.Jobs) + s.Most
		tokens += s.LaterTokens
		for _, j := range s.Jobs {
			tokens += int64(j.Input + j.Output)
		}
		seconds += s.Seconds + p.Grace
	}
	return requests, tokens, seconds
}

// LadderOptions bound the calibration ladder.
type LadderOptions struct {
	MaxLength     int // of the model; 0: unknown
	Seed          uint64
	PrefillTokens []int   // default 128, 512, 2048
	Concurrency   []int   // default 1, 4, 16, 64
	OutputTokens  int     // of a decode point; default 128
	Scale         float64 // of all time boxes; default 1: at most five minutes
}

func (o *LadderOptions) defaults() {
	if len(o.PrefillTokens) == 0 {
		o.PrefillTokens = []int{128, 512, 2048}
	}
	if len(o.Concurrency) == 0 {
		o.Concurrency = []int{1, 4, 16, 64}
	}
	if o.OutputTokens == 0 {
		o.OutputTokens = 128
	}
	if o.Scale == 0 {
		o.Scale = 1
	}
}

// Ladder is the default calibration: warm-up, prefill points, decode points, a mixed point, and a held-out open-loop Poisson run at 70 % of the
// request rate that the mixed point reached. Its time boxes add up to less than five minutes.
func Ladder(o LadderOptions) Plan {
	o.defaults()
	limit := o.MaxLength
	if limit == 0 {
		limit = math.MaxInt32
	}
	p := Plan{Seed: o.Seed, Gaps: true, Grace: 2 * o.Scale}
	out := min(o.OutputTokens, limit/4)
	widest := 1
	for _, c := range o.Concurrency {
		widest = max(widest, c)
	}
	p.Stages = append(p.Stages, closed("warm-up", results.KindWarmup, min(8, widest), 20*o.Scale, repeat(Job{Input: min(64, limit/4), Output: min(16, out)}, 16)))
	for _, n := range o.PrefillTokens {
		if n+1 < limit {
			p.Stages = append(p.Stages, closed(fmt.Sprintf("prefill %d", n), results.KindPrefill, 1, 12*o.Scale, repeat(Job{Input: n, Output: 1}, 6)))
		}
	}
	for _, c := range o.Concurrency {
		p.Stages = append(p.Stages, closed(fmt.Sprintf("decode x%d", c), results.KindDecode, c, 22*o.Scale, repeat(Job{Input: min(32, limit/4), Output: out}, max(3, 2*c))))
	}
	mixed := mixedJobs(o.Seed, "mixed", min(1024, limit/2), out, 3*min(16, widest))
	p.Stages = append(p.Stages, closed("mixed", results.KindMixed, min(16, widest), 35*o.Scale, mixed))
	const most = 400
	seconds := 60 * o.Scale
	heldOut := StagePlan{Stage: results.Stage{Name: "held-out", Kind: results.KindHeldOut}, Open: true, Seconds: seconds, Most: most}
	pool := mixedJobs(o.Seed, "held-out", min(1024, limit/2), out, most)
	for _, j := range pool {
		heldOut.LaterTokens += int64(j.Input + j.Output)
	}
	heldOut.Later = func(best float64) ([]Job, float64) {
		rate := 0.7 * best
		if rate <= 0 {
			return nil, 0
		}
		return Poisson(o.Seed, rate, seconds, pool), rate
	}
	p.Stages = append(p.Stages, heldOut)
	return p
}

func closed(name, kind string, concurrency int, seconds float64, jobs []Job) StagePlan {
	s := results.Stage{Name: name, Kind: kind, Concurrency: concurrency}
	if kind != results.KindMixed && len(jobs) > 0 {
		s.InputTokens, s.OutputTokens = jobs[0].Input, jobs[0].Output
	}
	return StagePlan{Stage: s, Seconds: seconds, Jobs: jobs}
}

func repeat(j Job, n int) []Job {
	jobs := make([]Job, n)
	for i := range jobs {
		jobs[i] = j
	}
	return jobs
}

// mixedJobs draws lengths log-uniformly: inputs from 16 to longest, outputs from 8 to out.
func mixedJobs(seed uint64, name string, longest, out, n int) []Job {
	s := random.New(seed, 0, "bench lengths "+name)
	draw := func(lo, hi int) int {
		lo, hi = max(1, min(lo, hi)), max(1, hi)
		return int(math.Round(float64(lo) * math.Pow(float64(hi)/float64(lo), s.Open())))
	}
	jobs := make([]Job, n)
	for i := range jobs {
		jobs[i] = Job{Input: draw(16, longest), Output: draw(8, out)}
	}
	return jobs
}

// Poisson gives the jobs, in order, exponential gaps at the rate, until seconds or the jobs run out.
func Poisson(seed uint64, rate, seconds float64, jobs []Job) []Job {
	s := random.New(seed, 0, "bench arrivals")
	var out []Job
	t := 0.0
	for _, j := range jobs {
		t += -math.Log(s.Open()) / rate
		if seconds > 0 && t > seconds {
			break
		}
		j.AtSeconds = t
		out = append(out, j)
	}
	return out
}

// Uniform spaces the jobs evenly at the rate, the first one at 0.
func Uniform(rate float64, jobs []Job) []Job {
	out := append([]Job(nil), jobs...)
	for i := range out {
		out[i].AtSeconds = float64(i) / rate
	}
	return out
}
