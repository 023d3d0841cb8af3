package plan

import (
	"context"
	"testing"

	"scoville/sim"
)

// BenchmarkShippedModel is one replica of Llama-3.1-8B on one H100 with the shipped step model and workload generator: Poisson
// 16 requests a second, lognormal lengths (mean 512 in, 256 out; sigma 0.8, 0.7), all percentiles on.
func BenchmarkShippedModel(b *testing.B) {
	f := mustParse(b, `
as_of = "2026-11-30"
[workload]
peak_qps = 16
[workload.custom]
name = "lognormal"
source = "benchmark"
arrivals = { process = "poisson" }
[workload.custom.lengths]
input = { distribution = "lognormal", mu = 5.918, sigma = 0.8, max = 8192 }
output = { distribution = "lognormal", mu = 5.300, sigma = 0.7, max = 4096 }
[model]
name = "llama-3.1-8b"
[sla]
ttft_p99 = 2.0
[cost]
ownership = "rent"
[[candidate]]
chip = "h100-sxm"
`)
	p := &planner{file: f, options: Options{Seed: 1}}
	if err := p.resolve(); err != nil {
		b.Fatal(err)
	}
	d, err := p.deploy(0)
	if err != nil {
		b.Fatal(err)
	}
	src, err := p.traffic.source(16, 1, 0, int64(b.N))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	r, err := sim.Run(context.Background(), d.config, src)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(r.Finished)/b.Elapsed().Seconds(), "requests/s")
}
