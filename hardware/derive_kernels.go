package hardware

import (
	"fmt"
	"math"
	"sort"

	"scoville/model/llm"
)

// powers lists first, first*ratio, ... up to last.
func powers(first, ratio, last float64) []float64 {
	var v []float64
	for x := first; x <= last*1.001; x *= ratio {
		v = append(v, x)
	}
	return v
}

func (d deriver) gemm(t *Table) ([]Curve, error) {
	if err := t.need("chip", "engine", "version", "kernel", "dtype", "m", "n", "k", "latency_ms"); err != nil {
		return nil, err
	}
	b := newByFormat()
	for _, row := range t.rows {
		f, known := dtypeOf(t.text(row, "dtype"))
		v, ok := t.numbers(row, "m", "n", "k", "latency_ms")
		if !d.wants(t, row) || !known || !ok {
			continue
		}
		m, n, k, seconds := v[0], v[1], v[2], v[3]/1000
		ideal := d.ideal(2*m*n*k, gemmBytes(m, n, k, f), f)
		if seconds <= ideal*0.99 || ideal/seconds < 0.002 {
			continue // faster than physics, or a stub kernel
		}
		b.add(f, t.text(row, "engine")+" "+t.text(row, "version"), fmt.Sprint(n, k), sample{x: m, y: n * k, ideal: ideal, seconds: seconds})
	}
	return b.curves([]float64{1, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 16384}, powers(1<<20, 4, 1<<30), 0.98), nil
}

// gemmBytes is the traffic of out[m,n] = A[m,k] x W[n,k].
func gemmBytes(m, n, k float64, weights llm.DType) float64 {
	return n*k*weights.Bytes() + m*k*activationBytes(weights) + 2*m*n
}

func (d deriver) moe(t *Table) ([]Curve, error) {
	if err := t.need("chip", "engine", "version", "dtype", "tokens", "hidden", "inter", "topk", "experts", "moe_tp", "moe_ep", "distribution", "latency_ms"); err != nil {
		return nil, err
	}
	balanced := false
	for _, row := range t.rows {
		balanced = balanced || d.wants(t, row) && t.text(row, "distribution") == "balanced"
	}
	b := newByFormat()
	for _, row := range t.rows {
		f, known := dtypeOf(t.text(row, "dtype"))
		v, ok := t.numbers(row, "tokens", "hidden", "inter", "topk", "experts", "moe_tp", "moe_ep", "latency_ms")
		if !d.wants(t, row) || !known || !ok {
			continue
		}
		if uneven := t.text(row, "distribution") != "balanced"; balanced && uneven {
			continue // even rows tell the kernel's own rate; uneven ones stand in where there are no others
		}
		routing := skewedRouting
		if t.text(row, "distribution") == "balanced" {
			routing = balancedRouting
		}
		w := moeWork(v[0], v[1], v[2]/v[5], v[3], v[4], v[6], f, routing)
		ideal, seconds := d.ideal(w.flops, w.bytes, f), v[7]/1000
		if ideal/seconds < 0.002 || ideal > seconds {
			continue
		}
		b.add(f, t.text(row, "engine")+" "+t.text(row, "version"), fmt.Sprint(v[1:7], t.text(row, "distribution")), sample{x: w.rows, y: w.weightBytes, ideal: ideal, seconds: seconds})
	}
	return b.curves(powers(1, 4, 4096), powers(1<<22, 4, 1<<32), 0.98), nil
}

// expertWork is the routed experts of one layer on one rank.
type expertWork struct{ flops, bytes, rows, weightBytes float64 }

// moeWork counts it for tokens over experts of three matrices hidden x inter (inter: this rank's slice), topk a token, the experts
// shared out over ep ranks, of which touched(x) is the share visited at x rows an expert on average.
func moeWork(tokens, hidden, inter, topk, experts, ep float64, f llm.DType, touched func(float64) float64) expertWork {
	visited := math.Max(experts*touched(tokens*topk/experts), math.Min(topk, experts)) / ep
	rows := tokens * topk / ep
	weights := visited * 3 * hidden * inter * f.Bytes()
	return expertWork{
		flops: 6 * rows * hidden * inter,
		bytes: weights + rows*(2*hidden*activationBytes(f)+3*inter*2),
		// the rows of an expert that has any
		rows:        max(rows/visited, 1),
		weightBytes: weights,
	}
}

// skewedRouting is the share of experts that tokens visit at x rows an expert on average. Rows an expert are Poisson with an
// exponential mean, as under a power law of popularity: x / (1 + x). It gives the distinct experts that the tables' power law of
// exponent 1.2 shows through its times (0.49 of them at x = 1, against 0.63 for even popularity).
func skewedRouting(x float64) float64 { return x / (1 + x) }

// evenRouting is the share where each token picks experts at random, all equally popular: 1 - exp(-x). Models trained with a
// balancing loss come close on mixed traffic.
func evenRouting(x float64) float64 { return -math.Expm1(-x) }

// balancedRouting is the tables' "balanced" distribution: rows dealt out evenly, each to a fresh expert while there are any.
func balancedRouting(x float64) float64 { return math.Min(1, x) }

func (d deriver) prefill(t *Table) ([]Curve, error) {
	if err := t.need("chip", "engine", "version", "q_heads", "kv_heads", "head_dim", "kv_dtype", "batch", "seq_len", "prefix_len", "latency_ms"); err != nil {
		return nil, err
	}
	b := newByFormat()
	for _, row := range t.rows {
		f, known := dtypeOf(t.text(row, "kv_dtype"))
		v, ok := t.numbers(row, "q_heads", "kv_heads", "head_dim", "batch", "seq_len", "prefix_len", "latency_ms")
		if !d.wants(t, row) || !known || !ok || v[4] < 16 {
			continue
		}
		heads, dim, batch, seq, prefix, seconds := v[0], v[2], v[3], v[4], v[5], v[6]/1000
		flops := 4 * heads * dim * batch * seq * (prefix + (seq+1)/2)
		bytes := batch * (seq*heads*dim*4 + 2*v[1]*dim*(seq+prefix)*f.KVBytes())
		ideal := d.ideal(flops, bytes, llm.BF16)
		if ideal > seconds {
			continue
		}
		b.add(f, t.text(row, "engine")+" "+t.text(row, "version"), fmt.Sprint(v[:4]), sample{x: seq, y: flops, ideal: ideal, seconds: seconds})
	}
	return b.curves(powers(64, 4, 16384), powers(1e8, 10, 1e14), 0.98), nil
}

func (d deriver) decode(t *Table) ([]DecodeCurve, error) {
	if err := t.need("chip", "engine", "version", "kv_heads", "head_dim", "kv_dtype", "batch", "ctx_len", "latency_ms"); err != nil {
		return nil, err
	}
	type point struct{ bytes, seconds float64 }
	points := map[llm.DType]map[float64][]point{}
	seen := map[string]int{} // place of a shape: of several kernels the fastest stays
	kernels := map[llm.DType]map[string]bool{}
	for _, row := range t.rows {
		f, known := dtypeOf(t.text(row, "kv_dtype"))
		v, ok := t.numbers(row, "kv_heads", "head_dim", "batch", "ctx_len", "latency_ms")
		if !d.wants(t, row) || !known || !ok || v[3] < 128 || v[3] > 40000 {
			continue
		}
		bytes := 2 * v[0] * v[1] * v[2] * v[3] * f.KVBytes()
		if seconds := v[4] / 1000; seconds > bytes/d.chip.Memory.BytesPerSecond.Value {
			if points[f] == nil {
				points[f], kernels[f] = map[float64][]point{}, map[string]bool{}
			}
			kernels[f][t.text(row, "engine")+" "+t.text(row, "version")] = true
			key := fmt.Sprint(f, " ", t.text(row, "q_heads"), " ", v[:4])
			if i, ok := seen[key]; ok {
				points[f][v[2]][i].seconds = min(points[f][v[2]][i].seconds, seconds)
				continue
			}
			seen[key] = len(points[f][v[2]])
			points[f][v[2]] = append(points[f][v[2]], point{bytes, seconds})
		}
	}
	var out []DecodeCurve
	for _, f := range formatOrder() {
		c := DecodeCurve{DType: f, Kernels: joinSorted(kernels[f])}
		var errs []float64
		for _, batch := range sortedKeys(points[f]) {
			p := points[f][batch]
			if last := len(c.Batch) - 1; len(p) < 4 || last >= 0 && batch < 1.4*c.Batch[last] {
				continue // a compact curve needs no denser knots
			}
			var x, y []float64
			for _, q := range p {
				x, y = append(x, q.bytes), append(y, q.seconds)
			}
			floor, perByte := relativeLine(x, y)
			e := min(1/(perByte*d.chip.Memory.BytesPerSecond.Value), 0.98)
			c.Batch, c.FloorSeconds, c.Efficiency = append(c.Batch, batch), append(c.FloorSeconds, round3(floor)), append(c.Efficiency, round3(e))
			for i := range x {
				errs = append(errs, (floor+x[i]*perByte)/y[i]-1)
			}
		}
		if len(c.Batch) >= 2 {
			c.Fit = fitOf(errs).rounded()
			out = append(out, c)
		}
	}
	return out, nil
}

// relativeLine fits y = a + b x with a, b >= 0, each residual relative to y.
func relativeLine(x, y []float64) (a, b float64) {
	var sw, sx, sy, sxx, sxy float64
	for i := range x {
		w := 1 / (y[i] * y[i])
		sw, sx, sy, sxx, sxy = sw+w, sx+w*x[i], sy+w*y[i], sxx+w*x[i]*x[i], sxy+w*x[i]*y[i]
	}
	b = (sw*sxy - sx*sy) / (sw*sxx - sx*sx)
	a = (sy - b*sx) / sw
	if a < 0 {
		return 0, sxy / sxx
	}
	return a, b
}

func (d deriver) collectives(t *Table) (reduce, toAll []LinkCurve, err error) {
	if err := t.need("chip", "source", "version", "op", "kernel", "dtype", "gpus", "elements", "latency_ms"); err != nil {
		return nil, nil, err
	}
	type key struct {
		op   string
		gpus int
	}
	best := map[key]map[float64]float64{} // bytes -> seconds of the fastest kernel: engines pick by size
	for _, row := range t.rows {
		v, ok := t.numbers(row, "gpus", "elements", "latency_ms")
		kernel, op := t.text(row, "kernel"), t.text(row, "op")
		if t.text(row, "chip") != d.name || !ok || v[0] < 2 || v[2] <= 0 || kernel == "vLLM_custom_eager" {
			continue
		}
		size := 2.0
		if t.text(row, "dtype") == "int8" {
			size = 1
		}
		bytes := math.Pow(2, math.Round(math.Log2(v[1]*size)))
		if (op != "all_reduce" && op != "alltoall") || bytes < 4096 || bytes > 1<<28 || size == 1 {
			continue
		}
		k := key{op, int(v[0])}
		if best[k] == nil {
			best[k] = map[float64]float64{}
		}
		if s, seen := best[k][bytes]; !seen || v[2]/1000 < s {
			best[k][bytes] = v[2] / 1000
		}
	}
	for _, op := range []string{"all_reduce", "alltoall"} {
		for gpus := 2; gpus <= 72; gpus++ {
			m := best[key{op, gpus}]
			if len(m) < 4 {
				continue
			}
			c := LinkCurve{Chips: gpus, Kernels: "fastest of the kernels in the table at each size"}
			for _, bytes := range sortedKeys(m) {
				if int(math.Round(math.Log2(bytes)))%2 == 0 {
					c.Bytes, c.Seconds = append(c.Bytes, bytes), append(c.Seconds, round3(m[bytes]))
				}
			}
			if op == "all_reduce" {
				reduce = append(reduce, c)
			} else {
				toAll = append(toAll, c)
			}
		}
	}
	return reduce, toAll, nil
}

func sortedKeys[V any](m map[float64]V) []float64 {
	keys := make([]float64, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Float64s(keys)
	return keys
}
