package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"testing"

	"pgregory.net/rapid"
	"scoville/model/workload"
)

// audit recounts everything a replica keeps as counters.
func (r *Replica) audit() error {
	d := &r.decode
	var n, running, units, unitsWin, growing, private, waiting int64
	pinned := map[int32]int32{}
	for i := r.first; i != none; i = r.slots[i].next {
		s := &r.slots[i]
		running++
		w := s.private
		if s.join >= 0 {
			gained := (d.step - s.joinStep) * r.advance
			n++
			units += s.context + gained
			switch {
			case r.window > 0 && s.growing:
				growing++
				unitsWin += s.context + gained
			case r.window > 0:
				unitsWin += r.window
			}
			if r.counted() {
				w += r.grown(s, gained)
			}
		}
		private += w
		for u := s.runs; u != none; u = r.runs[u].next {
			if e := r.runs[u].held; e != none {
				pinned[e]++
			}
		}
	}
	for i := range r.slots {
		if s := &r.slots[i]; s.serial >= 0 && !s.running && !s.dead {
			waiting++
			if s.private != 0 {
				return fmt.Errorf("waiting request %d holds blocks", s.id)
			}
		}
	}
	pins := int64(0)
	for e, refs := range pinned {
		if r.pool.elements[e].refs != refs {
			return fmt.Errorf("run %d has %d users, counted %d", e, r.pool.elements[e].refs, refs)
		}
		pins += r.pool.elements[e].weight
	}
	queued := int64(0)
	if r.pool.caching {
		for i := r.pool.head; i != none; i = r.pool.elements[i].next {
			queued += r.pool.elements[i].weight
		}
	} else {
		queued = r.pool.free
	}
	for _, c := range []struct {
		name      string
		got, want int64
	}{{"decoding", d.n, n}, {"running", int64(r.running), running}, {"units", d.units, units}, {"window units", d.unitsWin, unitsWin},
		{"growing", d.growingBlocks.n, growing}, {"waiting", int64(r.waitingLive), waiting}, {"blocks used", r.pool.used(), private + pins + r.taken},
		{"free queue", queued, r.pool.free}, {"recorded waiting", r.rec.waiting, waiting}, {"recorded running", r.rec.running, running}} {
		if c.got != c.want {
			return fmt.Errorf("%s: kept %d, counted %d", c.name, c.got, c.want)
		}
	}
	t := r.rec.totals
	switch {
	case r.pool.free < 0:
		return fmt.Errorf("%d of KV weight more in use than there is", -r.pool.free)
	case t.arrived != t.finished+t.rejected+t.timedOut+waiting+running:
		return fmt.Errorf("arrived %d, accounted for %d", t.arrived, t.finished+t.rejected+t.timedOut+waiting+running)
	case t.busy > r.now.ns:
		return fmt.Errorf("busy %d ns of %d", t.busy, r.now.ns)
	}
	return nil
}

// TestInvariantsAtEveryEvent drives a replica by hand on random scenarios and audits it after each event: conservation of requests and
// blocks, one step at a time, time never runs backwards.
func TestInvariantsAtEveryEvent(t *testing.T) {
	for range 4 {
		rapid.Check(t, func(t *rapid.T) {
			s := drawScenario(t)
			s.cfg.Options.DisableLeap = rapid.Bool().Draw(t, "walk")
			rec, err := NewRecorder(s.cfg, 1)
			if err != nil {
				t.Fatal(err)
			}
			r, err := NewReplica(s.cfg, 0, rec)
			if err != nil {
				t.Fatal(err)
			}
			feed := NewFeed(&list{requests: s.requests}, 0)
			for last := int64(0); ; {
				arrival, step := feed.Next(), r.Next()
				if min(arrival, step) == never {
					break
				}
				if step < last {
					t.Fatalf("time runs from %d back to %d", last, step)
				}
				last = min(arrival, step)
				if arrival <= step {
					r.Submit(arrival, feed.Take())
				} else if err := r.Advance(); err != nil {
					t.Fatal(err)
				}
				if err := r.audit(); err != nil {
					t.Fatal(err)
				}
			}
			if r.waitingLive+r.running != 0 {
				t.Fatalf("%d waiting and %d running at the end", r.waitingLive, r.running)
			}
		})
	}
}

// TestSane: no scenario hangs, gives NaN, or has times out of order, whether it is cut off or not.
func TestSane(t *testing.T) { rapid.Check(t, sane) }

// FuzzScenario is TestSane driven by the fuzzer.
func FuzzScenario(f *testing.F) { f.Fuzz(rapid.MakeFuzz(sane)) }

func sane(t *rapid.T) {
	s := drawScenario(t)
	s.cfg.Options.WarmupShare = rapid.SampledFrom([]float64{-1, 0, 0.3}).Draw(t, "warmup")
	s.cfg.Options.TimelinePoints = rapid.IntRange(0, 20).Draw(t, "points")
	s.cfg.Options.ExactRequests = rapid.SampledFrom([]int{1, 1000}).Draw(t, "exact")
	if rapid.Bool().Draw(t, "cut") {
		s.cfg.Options.HorizonNanos = int64(rapid.IntRange(1, 2_000_000_000).Draw(t, "horizon"))
	}
	r, err := s.run(false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(r); err != nil { // JSON has no NaN
		t.Fatal(err)
	}
	if r.Arrived != r.Finished+r.Rejected+r.TimedOut+r.Unfinished || int64(len(r.Records)) != r.Arrived {
		t.Fatalf("%+v", r)
	}
	if r.BusySeconds > r.Seconds*(1+1e-12) || r.MaxKVShare > 1 || r.Attainment > 1 {
		t.Fatalf("busy %g s of %g s, KV use %g, attainment %g", r.BusySeconds, r.Seconds, r.MaxKVShare, r.Attainment)
	}
	for _, q := range r.Records {
		started := q.StartNanos < 0 || q.StartNanos >= q.ArrivalNanos
		told := q.FirstTokenNanos < 0 || q.FirstTokenNanos > q.StartNanos && q.FirstTokenNanos <= q.EndNanos
		if !started || !told || q.EndNanos < q.ArrivalNanos || q.Outcome == Finished && q.FirstTokenNanos < 0 || q.CachedTokens >= q.InputTokens {
			t.Fatalf("%+v", q)
		}
	}
	for _, l := range r.Timelines {
		if len(l.Seconds) > s.cfg.Options.TimelinePoints || len(l.Values) != len(l.Seconds) {
			t.Fatalf("timeline %s has %d points of %d", l.Name, len(l.Seconds), s.cfg.Options.TimelinePoints)
		}
	}
}

// TestLittle: requests in the system are arrivals a second times their time in it, in the queue and in service.
func TestLittle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t)
		s.cfg.Engine.OverheadTTFTSeconds, s.cfg.Engine.QueueLimit = 0, 0
		r, err := s.run(false)
		if err != nil {
			t.Fatal(err)
		}
		var area, queue float64
		for _, q := range r.Records {
			if q.Outcome == Rejected {
				continue
			}
			area += float64(q.EndNanos-q.ArrivalNanos) * nanosecond
			if q.Preemptions == 0 && q.StartNanos >= 0 {
				queue += float64(q.StartNanos-q.ArrivalNanos) * nanosecond
			}
		}
		if got := (r.MeanRunning + r.MeanWaiting) * r.Seconds; math.Abs(got-area) > 1e-9*area {
			t.Fatalf("%g request seconds in the system, their times add up to %g", got, area)
		}
		if got := r.MeanWaiting * r.Seconds; r.Preemptions == 0 && r.TimedOut == 0 && math.Abs(got-queue) > 1e-9*area {
			t.Fatalf("%g request seconds in the queue, waits add up to %g", got, queue)
		}
	})
}

// TestPhysics: no run achieves more than the machine's peaks, and power lies between idle and what a busy step draws.
func TestPhysics(t *testing.T) {
	for _, rate := range []float64{1, 16, 60} {
		r := mustRun(t, Config{Engine: vllm(), Steps: llama8B()}, newPoisson(rate, 512, 256, 3000, 1, 0))
		if f := r.FLOPs / r.Seconds; f <= 0 || f > 700e12 {
			t.Errorf("%g req/s: %g FLOP/s", rate, f)
		}
		if b := r.Bytes / r.Seconds; b <= 0 || b > 3.1e12 {
			t.Errorf("%g req/s: %g B/s", rate, b)
		}
		if w := r.Joules / r.Seconds; w < 100 || w > 700 {
			t.Errorf("%g req/s: %g W", rate, w)
		}
	}
}

// TestTwiceAsFast: with all step times halved and arrivals twice as fast, every time is half.
func TestTwiceAsFast(t *testing.T) {
	slow := llama8B()
	fast := slow
	fast.fixed, fast.weights, fast.flops, fast.perKV = slow.fixed/2, slow.weights/2, slow.flops/2, slow.perKV/2
	a := mustRun(t, Config{Engine: vllm(), Steps: slow, Options: Options{WarmupShare: -1}}, newPoisson(10, 512, 256, 2000, 1, 0))
	b := mustRun(t, Config{Engine: vllm(), Steps: fast, Options: Options{WarmupShare: -1}}, newPoisson(20, 512, 256, 2000, 1, 0))
	for _, v := range [][2]float64{{a.TTFT.P99, b.TTFT.P99}, {a.E2E.Mean, b.E2E.Mean}, {a.ITL.P50, b.ITL.P50}, {a.BusySeconds, b.BusySeconds}} {
		if math.Abs(v[0]/v[1]-2) > 0.01 { // histogram buckets and whole nanoseconds
			t.Errorf("%g and %g: ratio %g", v[0], v[1], v[0]/v[1])
		}
	}
}

// TestDeterminism: the same bytes from every run, and from replications however many run at once.
func TestDeterminism(t *testing.T) {
	once := func(parallel int) []byte {
		old := runtime.GOMAXPROCS(parallel)
		defer runtime.GOMAXPROCS(old)
		s, err := RunReplications(context.Background(), Config{Engine: vllm(), Steps: llama8B(), Options: Options{TimelinePoints: 10}},
			func(k int) (workload.Source, error) { return newPoisson(16, 512, 256, 500, 1, k), nil }, ReplicationOptions{Parallel: parallel})
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	want := once(1)
	for _, parallel := range []int{1, 2, 8} {
		if got := once(parallel); !bytes.Equal(got, want) {
			t.Errorf("%d at once: another result", parallel)
		}
	}
}
