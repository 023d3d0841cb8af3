package sim

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"scoville/model/sla"
	"scoville/model/stats"
	"scoville/model/workload"
)

func mm1(t *testing.T, rho float64, n int64, opts ReplicationOptions) *Summary {
	t.Helper()
	cfg := server()
	cfg.Options.MaxRequests = n
	s, err := RunReplications(context.Background(), cfg, func(k int) (workload.Source, error) {
		return newCustomers(rho, exponential, 1<<40, 5, k), nil
	}, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPrecision: runs are doubled until the precision asked for is reached, or the summary says that it was not.
func TestPrecision(t *testing.T) {
	s := mm1(t, 0.7, 1000, ReplicationOptions{Precision: 0.1})
	p99, _ := s.Estimate(sla.TTFT, 0.99)
	if s.Verdict != Stable || p99.RelativeHalfWidth() > 0.1 || s.Rounds < 2 || s.Requests != 1000<<(s.Rounds-1) {
		t.Errorf("%s after %d rounds of %d requests: p99 ±%g", s.Verdict, s.Rounds, s.Requests, p99.RelativeHalfWidth())
	}
	s = mm1(t, 0.95, 1000, ReplicationOptions{Precision: 0.01, Doublings: 2})
	if s.Verdict != NotConverged || s.Rounds != 3 || !strings.Contains(strings.Join(s.Warnings, "\n"), "±1 % was asked for") {
		t.Errorf("%s after %d rounds: %q", s.Verdict, s.Rounds, s.Warnings)
	}
	if s.Pooled.E2E.Count == 0 {
		t.Error("a run that has not converged still tells what it saw")
	}
}

// TestUnstableSummary: no latency, no interval, a slope.
func TestUnstableSummary(t *testing.T) {
	s := mm1(t, 1.3, 5000, ReplicationOptions{Precision: 0.05})
	if s.Verdict != Unstable || s.Rounds != 1 || len(s.Estimates) != 0 || s.Pooled.E2E.Count != 0 || s.Pooled.SLAMet {
		t.Errorf("%s, %d rounds, %d estimates", s.Verdict, s.Rounds, len(s.Estimates))
	}
	if s.BacklogSlope < 0.2 || s.BacklogSlope > 0.4 {
		t.Errorf("backlog grows by %g a second, 0.3 is right", s.BacklogSlope)
	}
}

// TestCommonRandomNumbers: on the same draws p99 never falls with load.
func TestCommonRandomNumbers(t *testing.T) {
	last := 0.0
	for rho := 0.5; rho < 0.9; rho += 0.02 {
		s := mm1(t, rho, 3000, ReplicationOptions{Replications: 2})
		e, ok := s.Estimate(sla.E2E, 0.99)
		if !ok || e.Center < last {
			t.Errorf("p99 falls from %g to %g at load %g", last, e.Center, rho)
		}
		last = e.Center
	}
}

// TestWarmupDiagnostic: a backlog that is still rising on average is told.
func TestWarmupDiagnostic(t *testing.T) {
	rising := &Result{trajectory: make([]float64, trajectoryPoints)}
	flat := &Result{trajectory: make([]float64, trajectoryPoints)}
	for k := range rising.trajectory {
		rising.trajectory[k] = float64(min(k, 15))
		flat.trajectory[k] = 10 + float64(k%3)
	}
	if got := settles([]*Result{rising}); got < 0.3 || got > 0.45 {
		t.Errorf("settles after %g of the run, 0.375 is right", got)
	}
	if got := settles([]*Result{flat}); got > 0.1 {
		t.Errorf("a flat backlog settles after %g of the run", got)
	}
}

func TestEstimateJSON(t *testing.T) {
	e := Estimate{sla.TTFT, 0.99, stats.Interval{Center: 2, Low: 1, High: 3, Confidence: 0.95}}
	b, err := json.Marshal(e)
	if want := `{"Metric":"ttft","Quantile":0.99,"Interval":{"Center":2,"Low":1,"High":3,"Confidence":0.95}}`; err != nil || string(b) != want {
		t.Errorf("%s, %v; want %s", b, err, want)
	}
}

func TestReplicationErrors(t *testing.T) {
	broken := errors.New("no such file")
	_, err := RunReplications(context.Background(), server(), func(k int) (workload.Source, error) {
		if k == 3 {
			return nil, broken
		}
		return newCustomers(0.5, exponential, 100, 1, k), nil
	}, ReplicationOptions{})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "replication 3") {
		t.Error(err)
	}
}

// TestHistogramsAgreeWithExact: beyond ExactRequests quantiles stay within the error stated.
func TestHistogramsAgreeWithExact(t *testing.T) {
	cfg := Config{Engine: vllm(), Steps: llama8B()}
	exact := mustRun(t, cfg, newPoisson(16, 512, 256, 5000, 1, 0))
	cfg.Options.ExactRequests = 100
	binned := mustRun(t, cfg, newPoisson(16, 512, 256, 5000, 1, 0))
	if !exact.E2E.Exact || binned.E2E.Exact || exact.E2E.Count != binned.E2E.Count {
		t.Fatalf("%+v\n%+v", exact.E2E, binned.E2E)
	}
	for _, m := range []sla.Metric{sla.TTFT, sla.TPOT, sla.E2E} {
		for _, q := range []float64{0, 0.5, 0.9, 0.95, 0.99} {
			a, _ := exact.Quantile(m, q)
			b, _ := binned.Quantile(m, q)
			// Interpolated and nearest-rank definitions differ by a rank as well.
			lo, _ := exact.Quantile(m, max(0.0001, q-0.001))
			hi, _ := exact.Quantile(m, q+0.001)
			if q > 0 && (b < lo*(1-binned.E2E.RelativeError) || b > hi*(1+binned.E2E.RelativeError)) || q == 0 && (b/a-1 > 1e-6 || a/b-1 > 1e-6) {
				t.Errorf("%s at %g: %g exactly, %g binned", m, q, a, b)
			}
		}
	}
}
