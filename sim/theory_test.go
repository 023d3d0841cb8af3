package sim

import (
	"context"
	"flag"
	"fmt"
	"math"
	"testing"

	"scoville/model/random"
	"scoville/model/sla"
	"scoville/model/workload"
)

// server is a replica that is a queue with one server: one sequence at once, answers of one token, service time proportional to the
// prompt: 10 us a token.
func server() Config {
	return Config{Engine: Engine{MaxBatchedTokens: math.MaxInt32, MaxSequences: 1, ChunkedPrefill: true, BlockTokens: 16},
		Steps: fakeModel{perToken: 1e-5}, Options: Options{ExactRequests: 1000}}
}

// customers arrive as a Poisson stream for a server with mean service of 1 s.
type customers struct {
	rate               float64
	service            func(u float64) float64 // inverse distribution function, mean 1
	n, max             int64
	clock              float64
	arrivals, services *random.Stream
}

func newCustomers(rate float64, service func(float64) float64, max, seed int64, replication int) *customers {
	return &customers{rate: rate, service: service, max: max, arrivals: random.New(uint64(seed), replication, "arrivals"),
		services: random.New(uint64(seed), replication, "services")}
}

func (c *customers) Next(r *workload.Request) bool {
	if c.n == c.max {
		return false
	}
	c.n++
	c.clock -= math.Log(c.arrivals.Open()) / c.rate
	*r = workload.Request{ID: c.n, ArrivalNanoseconds: int64(c.clock * 1e9), InputTokens: int32(max(1, 1e5*c.service(c.services.Open()))), OutputTokens: 1}
	return true
}

func (c *customers) Err() error { return nil }

func exponential(u float64) float64 { return -math.Log(u) }
func constant(float64) float64      { return 1 }

// hyperexponential has a squared coefficient of variation of 4: with probability p mean 1/(2p), else 1/(2(1-p)).
func hyperexponential(u float64) float64 {
	p := (1 - math.Sqrt(3.0/5)) / 2
	if u < p {
		return -math.Log(u/p) / (2 * p)
	}
	return -math.Log((u-p)/(1-p)) / (2 * (1 - p))
}

// TestQueueTheory: mean waits of M/M/1, M/D/1 and M/G/1 (Pollaczek-Khinchine), and the p99 sojourn of M/M/1.
func TestQueueTheory(t *testing.T) {
	for _, q := range []struct {
		name    string
		service func(float64) float64
		cv2     float64
	}{{"M/M/1", exponential, 1}, {"M/D/1", constant, 0}, {"M/G/1", hyperexponential, 4}} {
		for _, c := range []struct {
			rho       float64
			n         int64
			precision float64
		}{{0.3, 20_000, 0.1}, {0.7, 20_000, 0.1}, {0.9, 40_000, 0.3}, {0.95, 60_000, 0.45}} {
			t.Run(fmt.Sprintf("%s at %g", q.name, c.rho), func(t *testing.T) {
				s := replications(t, c.rho, q.service, c.n, 0, 0.999)
				wait, _ := s.Estimate(queueWait, 0)
				contains(t, "mean wait", wait, c.rho/(1-c.rho)*(1+q.cv2)/2, c.precision)
				e2e, _ := s.Estimate(sla.E2E, 0)
				contains(t, "mean time in system", e2e, 1+c.rho/(1-c.rho)*(1+q.cv2)/2, c.precision)
				if q.name == "M/M/1" {
					p99, _ := s.Estimate(sla.E2E, 0.99)
					contains(t, "p99 in system", p99, -math.Log(0.01)/(1-c.rho), 3*c.precision) // ten replications at 99.9 %: t = 4.8
				}
				if got := s.Pooled.Utilisation; math.Abs(got-c.rho) > 0.03*c.rho {
					t.Errorf("utilisation %g at load %g", got, c.rho)
				}
			})
		}
	}
}

func replications(t *testing.T, rho float64, service func(float64) float64, n, seed int64, confidence float64) *Summary {
	t.Helper()
	s, err := RunReplications(context.Background(), server(), func(k int) (workload.Source, error) {
		return newCustomers(rho, service, n, seed, k), nil
	}, ReplicationOptions{Confidence: confidence, Replications: 10})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// contains checks that an interval holds the truth and is narrow enough to tell something.
func contains(t *testing.T, name string, e Estimate, truth, precision float64) {
	t.Helper()
	if truth < e.Low || truth > e.High {
		t.Errorf("%s: [%.4g, %.4g] does not hold %.4g", name, e.Low, e.High, truth)
	}
	if e.RelativeHalfWidth() > precision {
		t.Errorf("%s: ±%.3g %%, too wide to tell anything", name, 100*e.RelativeHalfWidth())
	}
}

// TestLindley: a queue of one server equals Lindley's recursion, W' = max(0, W + S - A), customer by customer.
func TestLindley(t *testing.T) {
	cfg := server()
	cfg.Options = Options{KeepRequests: true, WarmupShare: -1}
	records := mustRun(t, cfg, newCustomers(0.9, exponential, 5000, 1, 0)).Records
	free := int64(0)
	for _, r := range records {
		start := max(free, r.ArrivalNanos)
		free = start + int64(r.InputTokens)*10_000
		if math.Abs(float64(r.StartNanos-start)) > 1 || math.Abs(float64(r.EndNanos-free)) > 1 { // token times are not whole in binary
			t.Fatalf("%+v, recursion says from %d to %d", r, start, free)
		}
		free = r.EndNanos
	}
}

var macros = flag.Int("macros", 20, "macro-replications of TestCoverage; 100 or more run the long form")

// TestCoverage: nominal 95 % intervals of the mean and the p99 time in an M/M/1 system hold the truth in at least 93 % of cases, with
// replications of 200,000 customers. It fails when the count is two standard deviations below that. The short form takes few and short
// replications at a load of 0.8: it finds gross mistakes, such as taking requests as independent (19 %).
func TestCoverage(t *testing.T) {
	type load struct {
		rho float64
		n   int64
	}
	cases := float64(*macros)
	loads, least := []load{{0.8, 5_000}}, 0.93*cases-2*math.Sqrt(cases*0.93*0.07)
	if *macros >= 100 {
		loads = []load{{0.8, 200_000}, {0.9, 200_000}}
	}
	for _, c := range loads {
		t.Run(fmt.Sprint("load ", c.rho), func(t *testing.T) {
			for _, q := range []float64{0, 0.99} {
				hits, bias, width := coverage(t, c.rho, c.n, q)
				t.Logf("10 x %d customers, quantile %g: %d of %d covered, bias %+.2f %%, half-width %.2g %%", c.n, q, hits, *macros, 100*bias, 100*width)
				if float64(hits) < least {
					t.Errorf("quantile %g: %d of %d intervals hold the truth", q, hits, *macros)
				}
			}
		})
	}
}

// coverage counts how many of the macro-replications' intervals hold the truth, with the mean bias and half-width of them.
func coverage(t *testing.T, rho float64, n int64, q float64) (hits int, bias, width float64) {
	truth := 1 / (1 - rho)
	if q > 0 {
		truth *= -math.Log(1 - q)
	}
	for m := range *macros {
		e, ok := replications(t, rho, exponential, n, int64(1000+m), 0.95).Estimate(sla.E2E, q)
		if !ok {
			t.Fatal("called unstable")
		}
		if e.Low <= truth && truth <= e.High {
			hits++
		}
		bias += (e.Center/truth - 1) / float64(*macros)
		width += e.RelativeHalfWidth() / float64(*macros)
	}
	return hits, bias, width
}
