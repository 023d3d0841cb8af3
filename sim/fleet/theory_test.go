package fleet

import (
	"context"
	"fmt"
	"math"
	"testing"

	"scoville/hardware"
	"scoville/model/random"
	"scoville/model/sla"
	"scoville/model/workload"
	"scoville/sim"
)

// oneSlot is a replica that serves one request at a time in 10 us a prompt token: a server of a queue.
func oneSlot() sim.Config {
	return sim.Config{Engine: sim.Engine{MaxBatchedTokens: math.MaxInt32, MaxSequences: 1, ChunkedPrefill: true, BlockTokens: 16},
		Steps: linearModel{prompt: 1e-5}, Options: sim.Options{ExactRequests: 1000}}
}

// customers is Poisson with exponential prompts of mean 100,000 tokens: 1 s of service.
type customers struct {
	rate               float64
	n, max             int64
	clock              float64
	arrivals, services *random.Stream
}

func (c *customers) Next(r *workload.Request) bool {
	if c.n == c.max {
		return false
	}
	c.n++
	c.clock -= math.Log(c.arrivals.Open()) / c.rate
	*r = workload.Request{ID: c.n, ArrivalNanoseconds: int64(c.clock * 1e9), InputTokens: int32(1 - 1e5*math.Log(c.services.Open())), OutputTokens: 1}
	return true
}

func (c *customers) Err() error { return nil }

func newCustomers(rate float64, n int64, replication int) *customers {
	return &customers{rate: rate, max: n, arrivals: random.New(1, replication, "arrivals"), services: random.New(1, replication, "services")}
}

// erlangC is the probability of waiting in M/M/c at offered load a.
func erlangC(c int, a float64) float64 {
	term, sum := 1.0, 1.0
	for k := 1; k < c; k++ {
		term *= a / float64(k)
		sum += term
	}
	term *= a / float64(c) * float64(c) / (float64(c) - a)
	return term / (sum + term)
}

// TestMMc: c one-slot replicas behind a central queue are M/M/c.
func TestMMc(t *testing.T) {
	for _, c := range []int{2, 8} {
		for _, k := range []struct {
			rho       float64
			n         int64
			precision float64
		}{{0.3, 20_000, 0.6}, {0.7, 20_000, 0.25}, {0.9, 40_000, 0.4}, {0.95, 40_000, 0.6}} {
			t.Run(fmt.Sprintf("%d servers at %g", c, k.rho), func(t *testing.T) {
				rate := k.rho * float64(c)
				s, err := RunReplications(context.Background(), Config{Replica: oneSlot(), Replicas: c, Routing: Central},
					func(r int) (workload.Source, error) { return newCustomers(rate, k.n, r), nil }, sim.ReplicationOptions{Confidence: 0.999})
				if err != nil {
					t.Fatal(err)
				}
				wait := erlangC(c, rate) / (float64(c) - rate)
				e, _ := s.Estimate(sla.E2E, 0)
				if e.Low > 1+wait || e.High < 1+wait {
					t.Errorf("mean time in system: [%.4g, %.4g] does not hold %.4g", e.Low, e.High, 1+wait)
				}
				w, _ := s.Estimate("queue wait", 0)
				if w.Low > wait || w.High < wait {
					t.Errorf("mean wait: [%.4g, %.4g] does not hold %.4g", w.Low, w.High, wait)
				}
				if w.RelativeHalfWidth() > k.precision {
					t.Errorf("mean wait: ±%.3g %%, too wide to tell anything", 100*w.RelativeHalfWidth())
				}
			})
		}
	}
}

// TestRoutingOrder: at the same traffic, knowing more of the queues waits less: random, round robin, two choices, least outstanding,
// one queue.
func TestRoutingOrder(t *testing.T) {
	last := math.Inf(1)
	for _, routing := range []Routing{Random, PowerOfTwo, LeastOutstanding, Central} {
		r, err := Run(context.Background(), Config{Replica: oneSlot(), Replicas: 8, Routing: routing, Seed: 1}, newCustomers(8*0.8, 50_000, 0))
		if err != nil {
			t.Fatal(err)
		}
		if r.QueueWait.Mean >= last {
			t.Errorf("%s: mean wait %g s, not below %g s", routing, r.QueueWait.Mean, last)
		}
		last = r.QueueWait.Mean
	}
}

// TestMoreReplicasMoreGoodput: on the same traffic, more chips never lower goodput.
func TestMoreReplicasMoreGoodput(t *testing.T) {
	limits := sla.Limits{PerRequest: []sla.Limit{{Metric: sla.TTFT, Seconds: 0.5}, {Metric: sla.TPOT, Seconds: 0.02}}, Attainment: 0.99}
	for _, routing := range everyRouting {
		last := 0.0
		for n := 1; n <= 6; n++ {
			cfg := Config{Replica: sim.Config{Engine: vllm(), Steps: llama8B(), SLA: limits}, Replicas: n, Routing: routing, Seed: 3}
			r, err := Run(context.Background(), cfg, newTraffic(100, 3000, 0))
			if err != nil {
				t.Fatal(err)
			}
			if r.GoodputPerSecond < last*0.99 { // windows differ by a segment
				t.Errorf("%s: %d replicas give %g requests a second, one fewer %g", routing, n, r.GoodputPerSecond, last)
			}
			last = r.GoodputPerSecond
		}
	}
}

// loop is a closed loop: users ask again a second after their answer.
type loop struct {
	due  []workload.Request
	next int
	left int
	done int
}

func (l *loop) Peek() (int64, bool) {
	if l.next == len(l.due) {
		return 0, false
	}
	return l.due[l.next].ArrivalNanoseconds, true
}

func (l *loop) Next(r *workload.Request) bool {
	if l.next == len(l.due) {
		return false
	}
	*r = l.due[l.next]
	l.next++
	return true
}

func (l *loop) Done(r *workload.Request, at int64) {
	l.done++
	if l.left > 0 {
		l.left--
		q := *r
		q.ArrivalNanoseconds = at + 1e9
		l.due = append(l.due, q)
	}
}

func (l *loop) Err() error { return nil }

// TestClosedLoop: completions come in order of time, so that a loop's arrivals do too; each request is told done once.
func TestClosedLoop(t *testing.T) {
	for _, routing := range everyRouting {
		l := &loop{left: 200}
		for k := range 40 {
			l.due = append(l.due, workload.Request{ID: int64(k), Session: int64(k + 1), InputTokens: 100 + int32(k), OutputTokens: 50 + 3*int32(k)})
		}
		r, err := Run(context.Background(), Config{Replica: sim.Config{Engine: vllm(), Steps: llama8B()}, Replicas: 3, Routing: routing}, l)
		if err != nil {
			t.Fatalf("%s: %v", routing, err)
		}
		if l.done != 240 || r.Finished != 240 {
			t.Errorf("%s: %d done, %d finished", routing, l.done, r.Finished)
		}
	}
}

func TestBadConfig(t *testing.T) {
	good := sim.Config{Engine: vllm(), Steps: llama8B()}
	for _, c := range []Config{{Replica: good}, {Replica: good, Replicas: -1}, {Replica: good, Replicas: 1, Routing: "best"}, {Replicas: 1}} {
		if _, err := Run(context.Background(), c, newTraffic(1, 1, 0)); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

var _ hardware.StepModel = linearModel{}
