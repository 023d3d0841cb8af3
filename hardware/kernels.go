package hardware

import (
	"strings"

	"scoville/model/llm"
)

// kernels times single kernels on one chip from its curves.
type kernels struct {
	chip        Chip
	bandwidth   float64 // peak bytes a second
	stream      float64 // share of it that large copies achieve
	matmul      float64 // share of peak FLOP/s that the best matrix products achieve
	matmulScale float64 // achieved over that of the chip the curves were measured on, as shares of their peaks
	streamScale float64
	own         bool // curves of this very chip
	use         KernelUse
	factors     Factors
	launch      float64 // share of the launch floors that shows
}

// Where a chip has neither curves nor published efficiencies.
const (
	defaultMatmul = 0.65 // of peak, at the best shape
	defaultStream = 0.80
)

// smallKernelSeconds is the least time of a kernel inside a CUDA graph: a normalisation of one row takes 2.0 to 2.6 us on Ada
// and Blackwell cards (LLMServingSim layer tables).
const smallKernelSeconds = 2.2e-6

func newKernels(c Chip, use KernelUse, f Factors) kernels {
	k := kernels{factors: f.Normal(), chip: c, bandwidth: c.Memory.BytesPerSecond.Value, stream: defaultStream, matmul: defaultMatmul, matmulScale: 1, streamScale: 1, own: c.Curves.Chip == c.Name, use: use, launch: 1}
	if l := use.LaunchShare; l.Known() {
		k.launch = l.Value
	}
	if s := c.Model.StreamEfficiency; s.Known() {
		k.stream = s.Value
	}
	if m := c.Model.MatmulEfficiency; m.Known() {
		k.matmul = m.Value
	}
	if !k.own && len(c.Curves.Gemm) > 0 {
		compute, memory := bestOf(c.Curves)
		k.matmulScale, k.streamScale = k.matmul/compute, k.stream/memory
	}
	return k
}

// bestOf is the best efficiency of the BF16 curves in the regimes of many rows and of one.
func bestOf(c Curves) (compute, memory float64) {
	g, ok := find(c.Gemm, llm.BF16)
	if !ok {
		return defaultMatmul, defaultStream
	}
	for i, row := range g.Efficiency {
		for _, e := range row {
			if g.X[i] >= 1024 {
				compute = max(compute, e)
			}
			if g.X[i] <= 16 {
				memory = max(memory, e)
			}
		}
	}
	return max(compute, 0.01), max(memory, 0.01)
}

// ideal is the roofline time of some work, with rates scaled to this chip where the curves are of another.
func (k kernels) ideal(flops, bytes float64, d llm.DType) float64 {
	return max(flops/(k.chip.Peak.Rate(computeFormat(d))*min(k.matmulScale, 1.5)), bytes/(k.bandwidth*min(k.streamScale, 1.5)))
}

// bound keeps a time above the roofline of the datasheet.
func (k kernels) bound(seconds, flops, bytes float64, d llm.DType) float64 {
	return max(seconds, flops/k.chip.Peak.Rate(computeFormat(d)), bytes/k.bandwidth)
}

// piece is a kernel's time and work on one chip. FLOPs are weighted by what one costs in energy: see powerModel.
type piece struct {
	seconds, flops, bytes, energyFLOPs float64
}

func (p piece) plus(q piece) piece {
	return piece{p.seconds + q.seconds, p.flops + q.flops, p.bytes + q.bytes, p.energyFLOPs + q.energyFLOPs}
}

func (p piece) times(k float64) piece {
	return piece{p.seconds * k, p.flops * k, p.bytes * k, p.energyFLOPs * k}
}

func (k kernels) piece(seconds, flops, bytes float64, d llm.DType) piece {
	return piece{seconds, flops, bytes, flops * k.chip.Peak.BF16.Value / k.chip.Peak.Rate(computeFormat(d))}
}

// gemm is out[m,n] = A[m,k] x W[n,k] with weights of format d.
func (k kernels) gemm(m, n, kk float64, d llm.DType) piece {
	if m <= 0 || n <= 0 || kk <= 0 {
		return piece{}
	}
	flops, bytes := 2*m*n*kk, gemmBytes(m, n, kk, d)
	c, ok := find(k.chip.Curves.Gemm, d)
	efficiency, floor := k.stream, 4e-6
	if ok {
		efficiency, floor = c.at(m, n*kk), c.FloorSeconds
	} else if flops/k.chip.Peak.Rate(computeFormat(d)) > bytes/k.bandwidth {
		efficiency = k.matmul
	}
	seconds := k.scaled(floor, k.ideal(flops, bytes, d)/efficiency, k.dense(flops, bytes, d)) * k.use.factor("gemm", d, k.chip.Name)
	return k.piece(k.bound(seconds, flops, bytes, d), flops, bytes, d)
}

// elementwise is a kernel that only moves bytes: norms, rotary embedding, activation functions.
func (k kernels) elementwise(bytes float64) piece {
	return piece{seconds: max(k.scaled(smallKernelSeconds, bytes/(k.bandwidth*k.stream), k.factors.Bandwidth), bytes/k.bandwidth), bytes: bytes}
}

// experts is the routed experts of one layer on one rank.
func (k kernels) experts(w expertWork, d llm.DType) piece {
	c, ok := find(k.chip.Curves.MoE, d)
	efficiency, floor := 0.5, 30e-6
	if ok {
		efficiency, floor = c.at(w.rows, w.weightBytes), c.FloorSeconds
	}
	seconds := k.scaled(floor, k.ideal(w.flops, w.bytes, d)/efficiency, k.dense(w.flops, w.bytes, d)) * k.use.factor("experts", d, k.chip.Name)
	return k.piece(k.bound(seconds, w.flops, w.bytes, d), w.flops, w.bytes, d)
}

// prefillAttention is the attention of prompt chunks in one layer: heads are those of this rank.
func (k kernels) prefillAttention(tokensASequence, flops, bytes float64, kv llm.DType) piece {
	if flops <= 0 {
		return piece{}
	}
	c, ok := find(k.chip.Curves.Prefill, kv)
	efficiency, floor := 0.45, 10e-6
	if ok {
		efficiency, floor = c.at(max(tokensASequence, 1), flops), c.FloorSeconds
	}
	return k.piece(k.bound(k.scaled(floor, k.ideal(flops, bytes, llm.BF16)/efficiency, k.factors.PrefillAttention), flops, bytes, llm.BF16), flops, bytes, llm.BF16)
}

// decodeAttention is decode attention in one layer for n sequences: a floor, and seconds for each byte of cache read.
func (k kernels) decodeAttention(n float64, kv llm.DType) (floor, perByte float64) {
	var curve *DecodeCurve
	for _, want := range fallback(kv) {
		for i := range k.chip.Curves.Decode {
			if k.chip.Curves.Decode[i].DType == want && curve == nil {
				curve = &k.chip.Curves.Decode[i]
			}
		}
	}
	if curve == nil {
		return k.scaled(10e-6, 0, k.factors.DecodeAttention), max(k.factors.DecodeAttention/k.stream, 1) / k.bandwidth
	}
	floor, efficiency := curve.at(n)
	return k.scaled(floor, 0, k.factors.DecodeAttention), 1 / (k.bandwidth * min(efficiency*k.streamScale/k.factors.DecodeAttention, 1))
}

// allReduce sums a message over the chips of a tensor-parallel group.
func (k kernels) allReduce(chips int, bytes float64) piece {
	if chips < 2 || bytes <= 0 {
		return piece{}
	}
	// ring or switch: each chip sends and receives 2 (p-1)/p of the message
	model := k.linkLatency(chips) + 2*float64(chips-1)/float64(chips)*bytes/k.linkRate(chips)
	if s, ok := k.measured(k.chip.Curves.AllReduce, chips, bytes); ok {
		if k.overPCIe() && s > model {
			s = model // tables over PCIe fall to 1 GB/s on eight cards, far slower than any serving run published on them
		}
		return piece{seconds: s * k.factors.Collective}
	}
	return piece{seconds: model * k.factors.Collective}
}

// allToAll exchanges a message of each chip over an expert-parallel group.
func (k kernels) allToAll(chips int, bytes float64) piece {
	if chips < 2 || bytes <= 0 {
		return piece{}
	}
	if s, ok := k.measured(k.chip.Curves.AllToAll, chips, bytes); ok {
		return piece{seconds: s * k.factors.Collective}
	}
	return piece{seconds: (k.linkLatency(chips) + float64(chips-1)/float64(chips)*bytes/k.linkRate(chips)) * k.factors.Collective}
}

// measured takes the chip's own curve of the degree, or of the nearest degree measured.
func (k kernels) measured(curves []LinkCurve, chips int, bytes float64) (float64, bool) {
	if !k.own || len(curves) == 0 {
		return 0, false
	}
	best := curves[0]
	for _, c := range curves {
		if distance(c.Chips, chips) < distance(best.Chips, chips) {
			best = c
		}
	}
	return best.seconds(bytes), true
}

func distance(a, b int) int { return max(a-b, b-a) }

// linkAchieved is the share of a link's rate that collectives achieve on large messages (NCCL on NVLink 4: 0.75 to 0.85).
const linkAchieved = 0.75

// linkRate is the achieved one-way rate of a chip to its group: scale-up inside the domain, the NIC beyond.
func (k kernels) linkRate(chips int) float64 {
	l := k.chip.Link
	if chips > l.ScaleUpDomain && k.chip.Node.NICBytesPerSecond.Value > 0 {
		return k.chip.Node.NICBytesPerSecond.Value * linkAchieved
	}
	rate := l.ScaleUpBytesPerSecond.Value
	if rate <= 0 {
		rate = l.PCIeBytesPerSecond.Value
	}
	if rate <= 0 {
		rate = 16e9
	}
	if k.overPCIe() {
		return rate * 0.4 // through the root complex, both ways at once: 12 to 16 GB/s of 32 on PCIe 4.0
	}
	return rate * linkAchieved
}

func (k kernels) overPCIe() bool { return strings.HasPrefix(k.chip.Link.Name, "PCIe") }

// linkLatency is the time of a small all-reduce: 5 us over two NVLink chips, 20 us over PCIe, growing with the degree.
func (k kernels) linkLatency(chips int) float64 {
	l := k.chip.Link.LatencySeconds.Value
	if l == 0 {
		l = 6e-6
		if k.overPCIe() {
			l = 20e-6
		}
	}
	return l * (1 + 0.15*float64(chips-2))
}
