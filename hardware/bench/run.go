package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"scoville/hardware/results"
	"scoville/model/random"
)

// Progress is the state of a run for a live display.
type Progress struct {
	Stage                      string
	StageNumber, Stages        int
	Sent, Done, Failed, Active int64
	Tokens                     int64
	Elapsed                    time.Duration
}

// Runner runs plans against a server.
type Runner struct {
	Client *Client
	Budget *Budget
	Header results.Run     // what is known of the server; copied into the result
	Writer *results.Writer // gets each record as it ends; nil: none
	// BeforeSummary may add to the run what was measured beside it, as power; nil: nothing.
	BeforeSummary func(*results.Run)
	Progress      func(Progress) // called about twice a second; nil: none

	mu      sync.Mutex // guards run and writing
	run     *results.Run
	sinkErr error
	origin  time.Time
	lags    []float64

	sent, done, failed, active, tokens atomic.Int64
}

// Run carries out the plan. When ctx ends, requests in flight are cut off and what was recorded is returned with the context's error.
func (r *Runner) Run(ctx context.Context, plan *Plan) (*results.Run, error) {
	head := r.Header
	r.run = &head
	r.origin = time.Now()
	r.run.StartUnixSeconds = float64(r.origin.UnixNano()) / 1e9
	watch := startWatch()
	stopProgress := r.showProgress(plan)
	best := 0.0
	var err error
	for i := range plan.Stages {
		if err = ctx.Err(); err != nil {
			break
		}
		s := &plan.Stages[i]
		if s.Later != nil {
			s.Jobs, s.Stage.RatePerSecond = s.Later(best)
			if len(s.Jobs) == 0 {
				r.note("stage %s left out: no stage before it completed a request", s.Stage.Name)
				continue
			}
		}
		stop := r.stage(ctx, plan, s)
		if s.Stage.Kind != results.KindWarmup && s.Stage.Kind != results.KindPrefill {
			if rate := r.stageRate(len(r.run.Stages) - 1); s.Stage.Kind == results.KindMixed || best == 0 {
				best = rate
			}
		}
		if stop != nil {
			r.note("stopped in stage %s: %v", s.Stage.Name, stop)
			break
		}
	}
	if err == nil {
		err = ctx.Err()
	}
	stopProgress()
	r.run.Summarise()
	r.run.Client = r.honesty(watch)
	r.remarks(plan)
	if r.BeforeSummary != nil {
		r.BeforeSummary(r.run)
	}
	if r.Writer != nil && err == nil && r.sinkErr == nil {
		r.sinkErr = r.Writer.Finish(r.run)
	}
	return r.run, errors.Join(err, r.sinkErr)
}

func (r *Runner) note(format string, args ...any) {
	r.run.Warnings = append(r.run.Warnings, fmt.Sprintf(format, args...))
}

// stage runs one stage; the error is a cap reached.
func (r *Runner) stage(ctx context.Context, plan *Plan, s *StagePlan) error {
	index := len(r.run.Stages)
	s.Stage.StartSeconds = time.Since(r.origin).Seconds()
	r.setStage(index, s.Stage)
	prompts := &Prompts{can: r.Client.can, stream: random.New(plan.Seed, index, "bench prompts")}
	cut, cancel := context.WithCancel(ctx)
	defer cancel()
	var wait sync.WaitGroup
	var stop error
	if s.Open {
		stop = r.open(ctx, cut, plan, s, index, prompts, &wait)
	} else {
		stop = r.closed(ctx, cut, plan, s, index, prompts, &wait)
	}
	finished := make(chan struct{})
	go func() { wait.Wait(); close(finished) }()
	grace := time.Duration(plan.Grace * float64(time.Second))
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-finished:
	case <-ctx.Done():
	case <-timer.C:
	}
	cancel()
	<-finished
	s.Stage.EndSeconds = time.Since(r.origin).Seconds()
	r.setStage(index, s.Stage)
	return stop
}

// closed keeps Stage.Concurrency requests in flight.
func (r *Runner) closed(ctx, cut context.Context, plan *Plan, s *StagePlan, index int, prompts *Prompts, wait *sync.WaitGroup) (stop error) {
	until := time.Now().Add(time.Duration(s.Seconds * float64(time.Second)))
	slots := make(chan time.Time, max(s.Stage.Concurrency, 1))
	now := time.Now()
	for range cap(slots) {
		slots <- now
	}
	box := make(<-chan time.Time)
	if s.Seconds > 0 {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		box = t.C
	}
	prompt := r.prompt(prompts, s.Jobs, 0)
	for i := range s.Jobs {
		var free time.Time
		select {
		case free = <-slots:
		case <-box:
			return nil
		case <-ctx.Done():
			return nil
		}
		if s.Seconds > 0 && time.Now().After(until) {
			return nil
		}
		if stop = r.Budget.Take(prompt.Tokens, s.Jobs[i].Output); stop != nil {
			return stop
		}
		wait.Add(1)
		go func(p Prompt, job Job) {
			defer wait.Done()
			r.one(cut, plan, index, p, job, free, free)
			slots <- time.Now()
		}(prompt, s.Jobs[i])
		prompt = r.prompt(prompts, s.Jobs, i+1) // made ahead, so that a free place isn't kept waiting for it
	}
	return nil
}

// open sends each job at its time on an absolute schedule.
func (r *Runner) open(ctx, cut context.Context, plan *Plan, s *StagePlan, index int, prompts *Prompts, wait *sync.WaitGroup) (stop error) {
	var slots chan time.Time
	if s.Stage.Concurrency > 0 {
		slots = make(chan time.Time, s.Stage.Concurrency)
		for range cap(slots) {
			slots <- time.Time{}
		}
	}
	start := time.Now()
	prompt := r.prompt(prompts, s.Jobs, 0)
	for i := range s.Jobs {
		job := s.Jobs[i]
		if s.Seconds > 0 && job.AtSeconds > s.Seconds {
			return nil
		}
		at := start.Add(time.Duration(job.AtSeconds * float64(time.Second)))
		if !sleepUntil(ctx, at) {
			return nil
		}
		if stop = r.Budget.Take(prompt.Tokens, job.Output); stop != nil {
			return stop
		}
		wait.Add(1)
		go func(p Prompt) {
			defer wait.Done()
			ready := at
			if slots != nil {
				select {
				case free := <-slots:
					if free.After(at) {
						ready = free
					}
				case <-cut.Done():
					r.cutOff(index, at, job)
					return
				}
				defer func() { slots <- time.Now() }()
			}
			r.one(cut, plan, index, p, job, at, ready)
		}(prompt)
		prompt = r.prompt(prompts, s.Jobs, i+1)
	}
	return nil
}

func sleepUntil(ctx context.Context, at time.Time) bool {
	d := time.Until(at)
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (r *Runner) prompt(prompts *Prompts, jobs []Job, i int) Prompt {
	if i >= len(jobs) {
		return Prompt{}
	}
	if jobs[i].Text != "" {
		return Prompt{Text: jobs[i].Text, Tokens: jobs[i].Input}
	}
	return prompts.Make(jobs[i].Input)
}

// one sends a request that was due at scheduled and allowed to go at ready, and records it.
func (r *Runner) one(ctx context.Context, plan *Plan, stage int, p Prompt, job Job, scheduled, ready time.Time) {
	r.sent.Add(1)
	r.active.Add(1)
	q := results.Record{Stage: stage, Clocked: true, InputTokens: p.Tokens}
	begun := time.Now()
	sent := r.Client.Do(ctx, p, job.Output, plan.Gaps, &q, func(n int) { r.tokens.Add(int64(n)) })
	q.ScheduledSeconds = scheduled.Sub(r.origin).Seconds()
	q.SentSeconds = sent.Sub(r.origin).Seconds()
	q.QueueSeconds = max(0, ready.Sub(scheduled).Seconds())
	r.active.Add(-1)
	r.record(&q, begun.Sub(ready).Seconds())
}

// cutOff records a request that never left the client.
func (r *Runner) cutOff(stage int, scheduled time.Time, job Job) {
	q := results.Record{Stage: stage, Clocked: true, ScheduledSeconds: scheduled.Sub(r.origin).Seconds(), InputTokens: job.Input, RequestedTokens: job.Output,
		Error: &results.Failure{Phase: "client", Code: codeCutOff, Message: "still waiting in the client when the stage ended"}}
	q.SentSeconds = time.Since(r.origin).Seconds()
	q.QueueSeconds = q.SentSeconds - q.ScheduledSeconds
	r.record(&q, 0)
}

func (r *Runner) record(q *results.Record, lag float64) {
	if q.Error == nil && q.OutputTokens == 0 {
		q.Error = &results.Failure{Phase: "output", Code: "no token", Message: "the stream ended well without any generated token"}
	}
	if q.Error != nil {
		r.failed.Add(1)
	}
	r.done.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.Records = append(r.run.Records, *q)
	r.lags = append(r.lags, lag)
	if r.Writer != nil && r.sinkErr == nil {
		r.sinkErr = r.Writer.Record(q)
	}
}

func (r *Runner) setStage(index int, s results.Stage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if index == len(r.run.Stages) {
		r.run.Stages = append(r.run.Stages, s)
	} else {
		r.run.Stages[index] = s
	}
	if r.Writer != nil && r.sinkErr == nil {
		r.sinkErr = r.Writer.Stage(index, s)
	}
}

// stageRate is the sustained rate of completions of a stage.
func (r *Runner) stageRate(stage int) float64 {
	if stage < 0 {
		return 0
	}
	var ends []float64
	first := math.Inf(1)
	for i := range r.run.Records {
		if q := &r.run.Records[i]; q.Stage == stage && q.OK() {
			ends = append(ends, q.SentSeconds+q.E2ESeconds)
			first = min(first, q.SentSeconds)
		}
	}
	if len(ends) == 0 {
		return 0
	}
	sort.Float64s(ends)
	return float64(len(ends)) / (ends[len(ends)-1] - first)
}

func (r *Runner) showProgress(plan *Plan) (stop func()) {
	if r.Progress == nil {
		return func() {}
	}
	quit, gone := make(chan struct{}), make(chan struct{})
	show := func() {
		r.mu.Lock()
		p := Progress{StageNumber: len(r.run.Stages), Stages: len(plan.Stages)}
		if p.StageNumber > 0 {
			p.Stage = r.run.Stages[p.StageNumber-1].Name
		}
		r.mu.Unlock()
		p.Sent, p.Done, p.Failed, p.Active, p.Tokens = r.sent.Load(), r.done.Load(), r.failed.Load(), r.active.Load(), r.tokens.Load()
		p.Elapsed = time.Since(r.origin)
		r.Progress(p)
	}
	go func() {
		defer close(gone)
		t := time.NewTicker(500 * time.Millisecond)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				show()
			case <-quit:
				show()
				return
			}
		}
	}()
	return func() { close(quit); <-gone }
}
