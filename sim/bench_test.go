package sim

import (
	"testing"
)

// BenchmarkRun is figure 1 of docs/performance.md: one replica, Poisson 16 requests a second, all percentiles on. One iteration is
// one request.
func BenchmarkRun(b *testing.B) {
	b.ReportAllocs()
	r := mustRun(b, Config{Engine: vllm(), Steps: llama8B()}, newPoisson(16, 512, 256, int64(b.N), 1, 0))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
	b.ReportMetric(float64(r.Steps)/b.Elapsed().Seconds(), "steps/s")
}

// BenchmarkSource is what drawing the requests of BenchmarkRun costs.
func BenchmarkSource(b *testing.B) {
	for f := NewFeed(newPoisson(16, 512, 256, int64(b.N), 1, 0), 0); f.Next() < never; {
		f.Take()
	}
}
