package sim

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"scoville/model/workload"
	"scoville/model/workload/trace"
)

// The figures of docs/performance.md. One iteration is one request unless said.

// BenchmarkRun is one replica with Llama-3.1-8B on one H100, Poisson 16 requests a second, all percentiles on.
func BenchmarkRun(b *testing.B) {
	b.ReportAllocs()
	r := mustRun(b, Config{Engine: vllm(), Steps: llama8B()}, newPoisson(16, 512, 256, int64(b.N), 1, 0))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
	b.ReportMetric(float64(r.Steps)/b.Elapsed().Seconds(), "steps/s")
}

// BenchmarkWalk is BenchmarkRun without leaps.
func BenchmarkWalk(b *testing.B) {
	mustRun(b, Config{Engine: vllm(), Steps: llama8B(), Options: Options{DisableLeap: true}}, newPoisson(16, 512, 256, int64(b.N), 1, 0))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// BenchmarkSource is what drawing the requests of BenchmarkRun costs.
func BenchmarkSource(b *testing.B) {
	for f := NewFeed(newPoisson(16, 512, 256, int64(b.N), 1, 0), 0); f.Next() < never; {
		f.Take()
	}
}

// BenchmarkOutputLength: a request's cost must not grow with its output. Rates are such that the batch stays the same.
func BenchmarkOutputLength(b *testing.B) {
	for _, c := range []struct {
		name      string
		rate, out float64
	}{{"256", 16, 256}, {"2560", 1.6, 2560}} {
		b.Run(c.name, func(b *testing.B) {
			m := llama8B()
			m.perKV = 0 // longer contexts would make steps longer and the batch larger
			e := vllm()
			e.KVBlocks = 270_000
			r := mustRun(b, Config{Engine: e, Steps: m}, newPoisson(c.rate, 512, c.out, int64(b.N), 1, 0))
			b.ReportMetric(r.MeanBatch, "batch")
		})
	}
}

// BenchmarkAzure replays the Azure 2023 conversation trace, 19,366 requests, an iteration.
func BenchmarkAzure(b *testing.B) {
	benchmarkTrace(b, "azure2023/AzureLLMInferenceTrace_conv.csv.gz", vllm())
}

// BenchmarkMooncake replays the Mooncake conversation trace, 12,031 requests with a prefix cache by its hash ids, an iteration.
func BenchmarkMooncake(b *testing.B) {
	e := vllm()
	e.PrefixCaching = true
	e.KVBlocks = 270_000
	benchmarkTrace(b, "mooncake/conversation_trace.jsonl.gz", e)
}

func benchmarkTrace(b *testing.B, name string, e Engine) {
	set, err := trace.Load(shared(b, "data/traces/"+name), trace.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		r := mustRun(b, Config{Engine: e, Steps: llama8B()}, &replay{set: set})
		b.ReportMetric(float64(r.Arrived), "requests")
		b.ReportMetric(r.PrefixHitRate, "prefix-hits")
	}
}

// shared finds a file of the data folder beside the repository, or skips.
func shared(tb testing.TB, name string) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			path := filepath.Join(filepath.Dir(dir), "shared", name)
			if _, err := os.Stat(path); err == nil {
				return path
			}
		}
	}
	tb.Skipf("../shared is absent: no %s", name)
	return ""
}

// replay plays a trace in memory.
type replay struct {
	set    *trace.Set
	next   int
	blocks []workload.PrefixBlock
}

func (p *replay) Next(r *workload.Request) bool {
	for p.next < p.set.Len() && (p.set.Input[p.next] < 1 || p.set.Output[p.next] < 1) {
		p.next++
	}
	if p.next >= p.set.Len() {
		return false
	}
	i := p.next
	p.next++
	p.blocks = p.blocks[:0]
	for _, b := range p.set.BlocksOf(i) {
		p.blocks = append(p.blocks, workload.PrefixBlock(b))
	}
	*r = workload.Request{ID: int64(i), ArrivalNanoseconds: p.set.Nanos[i], InputTokens: p.set.Input[i], OutputTokens: p.set.Output[i], Blocks: p.blocks}
	return true
}

func (p *replay) Err() error { return nil }

// TestMemory runs ten million requests in a process of its own (-memory) and reads its peak resident memory.
func TestMemory(t *testing.T) {
	if !*memory {
		t.Skip("ten seconds; run with -memory, alone: the figure is of the whole process")
	}
	start := time.Now()
	const n = 10_000_000
	r := mustRun(t, Config{Engine: vllm(), Steps: llama8B(), Options: Options{TimelinePoints: 60}}, newPoisson(16, 512, 256, n, 1, 0))
	t.Logf("%d requests in %v, peak resident memory %d KiB, verdict %s", r.Finished, time.Since(start), peakKiB(t), r.Verdict)
	if kib := peakKiB(t); kib > 64*1024 {
		t.Errorf("%d KiB resident, at most 64 MiB are allowed", kib)
	}
}
