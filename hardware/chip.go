package hardware

import (
	"fmt"

	"scoville/model/fact"
	"scoville/model/llm"
)

// Chip is one accelerator as the software sees it (one GPU, one TPU chip, one Trainium chip) and the node it sits in.
// All rates are of one chip. Peaks are dense: figures with structured sparsity are refused.
type Chip struct {
	Name      string   `toml:"name"`
	Title     string   `toml:"title"`
	Vendor    string   `toml:"vendor"`
	Aliases   []string `toml:"aliases"`
	Launched  string   `toml:"launched"`
	Template  bool     `toml:"template"`   // a what-if: the blanks must be filled by the user before it runs
	RatioNote string   `toml:"ratio_note"` // why FP8 is not twice BF16, where it isn't
	Note      string   `toml:"note"`

	Peak   Peak   `toml:"peak"`
	Memory Memory `toml:"memory"`
	Power  Power  `toml:"power"`
	Link   Link   `toml:"link"`
	Node   Node   `toml:"node"`
	Model  Model  `toml:"model"`

	Curves Curves `toml:"-"` // from the chip's own kernel tables, or scaled from another chip's: see Model
}

// Peak is dense arithmetic throughput in operations a second (a multiply-add is two) by number format.
type Peak struct {
	BF16 fact.Fact `toml:"bf16_flops"`
	FP8  fact.Fact `toml:"fp8_flops"`
	INT8 fact.Fact `toml:"int8_ops"`
	FP4  fact.Fact `toml:"fp4_flops"`
}

// Memory is the device memory.
type Memory struct {
	Bytes          fact.Fact `toml:"bytes"`
	BytesPerSecond fact.Fact `toml:"bytes_per_second"`
}

// Power is the electrical draw of one chip with its memory and board.
type Power struct {
	IdleWatts  fact.Fact `toml:"idle_watts"`  // with a serving process loaded, no request running
	LimitWatts fact.Fact `toml:"limit_watts"` // the configured cap, by default the TDP
	// Energy of the work itself, fitted on measured runs (see docs/model.md).
	JoulesPerFLOP fact.Fact `toml:"joules_per_flop"` // BF16; other formats in proportion to their peak
	JoulesPerByte fact.Fact `toml:"joules_per_byte"` // of device memory
	ActiveWatts   fact.Fact `toml:"active_watts"`    // drawn above idle whenever a step runs: clocks up, schedulers busy
}

// Link is the interconnect between chips. Rates are one way, of one chip.
type Link struct {
	Name                  string    `toml:"name"` // "NVLink 4", "PCIe 4.0 x16", "ICI"
	ScaleUpBytesPerSecond fact.Fact `toml:"scale_up_bytes_per_second"`
	ScaleUpDomain         int       `toml:"scale_up_domain"` // chips reachable at that rate
	LatencySeconds        fact.Fact `toml:"latency_seconds"` // of a small all-reduce over two chips
	PCIeBytesPerSecond    fact.Fact `toml:"pcie_bytes_per_second"`
}

// Node is the server the chips sit in.
type Node struct {
	Chips             int       `toml:"chips"`
	NICBytesPerSecond fact.Fact `toml:"nic_bytes_per_second"` // scale-out, one way, per chip
	OverheadWatts     fact.Fact `toml:"overhead_watts"`       // CPUs, memory, NICs, fans, conversion loss, at idle of the chips
	OverheadPerWatt   fact.Fact `toml:"overhead_per_watt"`    // what a further watt of the chips adds in fans and conversion loss
}

// Model says where the curves come from when the chip has no kernel tables of its own.
type Model struct {
	CurvesLike       string    `toml:"curves_like"`       // shape of the efficiency curves: another chip's name
	MatmulEfficiency fact.Fact `toml:"matmul_efficiency"` // sustained over peak, at the best shape
	StreamEfficiency fact.Fact `toml:"stream_efficiency"` // achieved over peak bandwidth, large arrays
	SustainedShare   fact.Fact `toml:"sustained_share"`   // long-run over burst matmul rate: power and heat
}

// Rate is the dense peak for a number format in operations a second. Formats the matrix units lack run in the next wider one.
func (p Peak) Rate(d llm.DType) float64 {
	bf16 := p.BF16.Value
	switch d {
	case llm.FP8:
		return max(p.FP8.Value, bf16)
	case llm.INT8:
		return max(p.INT8.Value, bf16)
	case llm.FP4, llm.MXFP4:
		if p.FP4.Known() {
			return p.FP4.Value
		}
		return bf16 // weight-only: expanded to 16 bits before the multiply
	case llm.FP32:
		return bf16 / 2
	}
	return bf16
}

// Blanks names the figures without which no step time can be computed, in the order of the file.
func (c Chip) Blanks() []string {
	var blanks []string
	for _, f := range []struct {
		name string
		fact fact.Fact
	}{
		{"peak.bf16_flops", c.Peak.BF16},
		{"memory.bytes", c.Memory.Bytes},
		{"memory.bytes_per_second", c.Memory.BytesPerSecond},
		{"power.idle_watts", c.Power.IdleWatts},
		{"power.limit_watts", c.Power.LimitWatts},
	} {
		if !(f.fact.Value > 0) {
			blanks = append(blanks, f.name)
		}
	}
	if c.Node.Chips <= 0 {
		blanks = append(blanks, "node.chips")
	}
	return blanks
}

// Check refuses a profile that no machine can be: rates with sparsity, efficiencies above one, implausible memory.
func (c Chip) Check() error {
	if c.Name == "" {
		return fmt.Errorf("name is missing")
	}
	facts := c.facts()
	for _, f := range facts {
		if !f.fact.Known() {
			continue
		}
		if err := f.fact.Check(); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if f.fact.Value < 0 || f.fact.Value != f.fact.Value {
			return fmt.Errorf("%s: %g is not a positive figure", f.name, f.fact.Value)
		}
	}
	if b := c.Blanks(); len(b) > 0 {
		if c.Template {
			return nil // listed and shown, refused when a plan uses it
		}
		return fmt.Errorf("%s is blank; only a template may leave it so", b[0])
	}
	if err := c.checkRatios(); err != nil {
		return err
	}
	return c.Curves.check()
}

func (c Chip) checkRatios() error {
	bf16 := c.Peak.BF16.Value
	for _, r := range []struct {
		name     string
		value    float64
		low, top float64
	}{
		{"peak.fp8_flops over peak.bf16_flops", c.Peak.FP8.Value / bf16, 0.95, 2.1},
		{"peak.int8_ops over peak.bf16_flops", c.Peak.INT8.Value / bf16, 0.95, 2.1},
		{"peak.fp4_flops over peak.bf16_flops", c.Peak.FP4.Value / bf16, 0.95, 4.2},
	} {
		if r.value != 0 && (r.value < r.low || r.value > r.top) && c.RatioNote == "" {
			return fmt.Errorf("%s is %.2f, expected %g to %g; a figure with sparsity? If the silicon is so, say why in ratio_note", r.name, r.value, r.low, r.top)
		}
	}
	for _, e := range []struct {
		name string
		fact fact.Fact
	}{
		{"model.matmul_efficiency", c.Model.MatmulEfficiency},
		{"model.stream_efficiency", c.Model.StreamEfficiency},
		{"model.sustained_share", c.Model.SustainedShare},
	} {
		if e.fact.Value > 1 {
			return fmt.Errorf("%s is %g; no machine exceeds its peak", e.name, e.fact.Value)
		}
	}
	if seconds := c.Memory.Bytes.Value / c.Memory.BytesPerSecond.Value; seconds < 0.0005 || seconds > 2 {
		return fmt.Errorf("memory of %.3g bytes read at %.3g bytes/s takes %.3g s; expected 0.5 ms to 2 s: check the units", c.Memory.Bytes.Value, c.Memory.BytesPerSecond.Value, seconds)
	}
	if c.Power.IdleWatts.Value >= c.Power.LimitWatts.Value {
		return fmt.Errorf("power.idle_watts %g is not below power.limit_watts %g", c.Power.IdleWatts.Value, c.Power.LimitWatts.Value)
	}
	return nil
}

type namedFact struct {
	name string
	fact fact.Fact
}

func (c Chip) facts() []namedFact {
	return []namedFact{
		{"peak.bf16_flops", c.Peak.BF16}, {"peak.fp8_flops", c.Peak.FP8}, {"peak.int8_ops", c.Peak.INT8}, {"peak.fp4_flops", c.Peak.FP4},
		{"memory.bytes", c.Memory.Bytes}, {"memory.bytes_per_second", c.Memory.BytesPerSecond},
		{"power.idle_watts", c.Power.IdleWatts}, {"power.limit_watts", c.Power.LimitWatts},
		{"power.joules_per_flop", c.Power.JoulesPerFLOP}, {"power.joules_per_byte", c.Power.JoulesPerByte}, {"power.active_watts", c.Power.ActiveWatts},
		{"link.scale_up_bytes_per_second", c.Link.ScaleUpBytesPerSecond}, {"link.latency_seconds", c.Link.LatencySeconds}, {"link.pcie_bytes_per_second", c.Link.PCIeBytesPerSecond},
		{"node.nic_bytes_per_second", c.Node.NICBytesPerSecond}, {"node.overhead_watts", c.Node.OverheadWatts}, {"node.overhead_per_watt", c.Node.OverheadPerWatt},
		{"model.matmul_efficiency", c.Model.MatmulEfficiency}, {"model.stream_efficiency", c.Model.StreamEfficiency}, {"model.sustained_share", c.Model.SustainedShare},
	}
}

// Basis says what the step times of the chip rest on, weakest link named.
func (c Chip) Basis() string {
	switch {
	case len(c.Blanks()) > 0:
		return "template: fill in " + c.Blanks()[0] + " and others"
	case c.Curves.Chip == c.Name && len(c.Curves.Gemm) == 0:
		return "estimate: datasheet peaks, measured attention"
	case c.Curves.Chip == c.Name:
		return "measured kernels"
	case c.Curves.Chip != "":
		return "estimate: datasheet peaks, curves of " + c.Curves.Chip
	}
	return "estimate: datasheet peaks"
}
