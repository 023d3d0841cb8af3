package sim

import (
	"runtime"
	"testing"
)

// TestNoAllocations: in the steady state a request costs no allocation; what a run allocates is slabs and histograms.
func TestNoAllocations(t *testing.T) {
	mallocs := func(n int64) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		mustRun(t, Config{Engine: vllm(), Steps: llama8B(), Options: Options{ExactRequests: 1000}}, newPoisson(16, 512, 256, n, 1, 0))
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs
	}
	const n = 80_000
	short, long := mallocs(n), mallocs(3*n)
	if perRequest := (float64(long) - float64(short)) / (2 * n); perRequest > 0.03 { // histogram octaves of further segments
		t.Errorf("%g allocations a request", perRequest)
	}
}
