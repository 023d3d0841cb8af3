package profiles

import (
	"fmt"
	"strings"

	"scoville/hardware"
	"scoville/model/fact"
	"scoville/model/llm"
)

// Buyer is what the five questions of a buyer are asked about: one chip, engine and model of a plan.
type Buyer struct {
	Chip       hardware.Chip
	Engine     hardware.EngineProfile
	Model      string
	Weights    llm.DType
	Chips      int     // of a replica
	NeedBytes  float64 // weights and activations of the replica; 0: not known
	ReadBytes  float64 // weights read by a decode step of the replica; 0: not known
	TPOTLimit  float64 // seconds; 0: none
	Purchase   *Quote  // nil: unknown
	Rent       *Quote
	RunsBefore []string // measured runs of this chip and engine at hand, in words
}

// Answer is a buyer's question, the answer from the profiles, and the source it rests on.
type Answer struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
	Source   string `json:"source,omitempty"`
}

// unknown is the answer where nothing public stands in the profiles.
const unknown = "unknown"

// Questions answers, from the profiles alone: does the stack run this model and precision, how mature is it, do memory and
// bandwidth meet the need, what does a chip cost, what does moving there take.
func (b Buyer) Questions() []Answer {
	return []Answer{b.runs(), b.mature(), b.enough(), b.price(), b.migration()}
}

func (b Buyer) runs() Answer {
	a := Answer{Question: "Does the stack run this model and precision?", Answer: unknown}
	peak, native := b.native()
	hardware := fmt.Sprintf("the datasheet gives no %s peak: %s runs in a wider format", b.Weights, b.Weights)
	if native {
		hardware = fmt.Sprintf("%s %.3g FLOP/s in the datasheet", b.Weights, peak.Value)
		a.Source = cite(peak)
	}
	switch {
	case len(b.Chip.Blanks()) > 0:
		a.Source = ""
		return a
	case len(b.RunsBefore) > 0:
		a.Answer = fmt.Sprintf("measured: %s; %s", strings.Join(b.RunsBefore, "; "), hardware)
	default:
		a.Answer = fmt.Sprintf("%s: no measured run of %s with %s on it is at hand; %s", unknown, b.Model, b.Engine.Name, hardware)
	}
	return a
}

// native is the peak of the weights' format, if the chip has one.
func (b Buyer) native() (fact.Fact, bool) {
	p := b.Chip.Peak
	f := p.BF16
	switch b.Weights {
	case llm.FP8:
		f = p.FP8
	case llm.INT8:
		f = p.INT8
	case llm.FP4, llm.MXFP4:
		f = p.FP4
	case llm.INT4, llm.FP32:
		return fact.Fact{}, false
	}
	return f, f.Known()
}

func (b Buyer) mature() Answer {
	a := Answer{Question: "How mature is it?"}
	launched := b.Chip.Launched
	if launched == "" {
		launched = unknown
	}
	a.Answer = fmt.Sprintf("chip launched %s; step times: %s", launched, b.Chip.Basis())
	if b.Engine.Name != "" {
		a.Answer += fmt.Sprintf("; engine profile %s %s", b.Engine.Name, b.Engine.Version)
		a.Source = b.Engine.Source
	}
	return a
}

func (b Buyer) enough() Answer {
	a := Answer{Question: "Do memory capacity and bandwidth meet the need?", Answer: unknown}
	m := b.Chip.Memory
	n := float64(max(1, b.Chips))
	if !m.Bytes.Known() || !m.BytesPerSecond.Known() {
		return a
	}
	a.Source = cite(m.Bytes)
	a.Answer = fmt.Sprintf("%.0f GB and %.2f TB/s a chip", m.Bytes.Value/1e9, m.BytesPerSecond.Value/1e12)
	if b.NeedBytes > 0 {
		a.Answer += fmt.Sprintf("; the model takes %.0f %% of a replica's memory before any KV cache", 100*b.NeedBytes/(n*m.Bytes.Value))
	}
	if b.ReadBytes > 0 {
		bound := b.ReadBytes / (n * m.BytesPerSecond.Value)
		a.Answer += fmt.Sprintf("; reading the weights takes at least %.1f ms a token", 1000*bound)
		if b.TPOTLimit > 0 {
			a.Answer += fmt.Sprintf(", %.0f %% of the TPOT limit", 100*bound/b.TPOTLimit)
		}
	}
	return a
}

func (b Buyer) price() Answer {
	a := Answer{Question: "What does a chip cost?"}
	var parts, sources []string
	for _, q := range []struct {
		what string
		*Quote
	}{{"to buy", b.Purchase}, {"an hour to rent", b.Rent}} {
		if q.Quote == nil {
			parts = append(parts, unknown+" "+q.what)
			continue
		}
		parts = append(parts, fmt.Sprintf("%.5g USD %s (%d prices, %.5g to %.5g, %s)", q.Price.USDPerChip(), q.what, q.Count, q.Low, q.High, q.Price.Date))
		sources = append(sources, q.Price.Source)
	}
	a.Answer, a.Source = strings.Join(parts, "; "), strings.Join(sources, "; ")
	return a
}

// migration has no public measure; the profile's own note is all there is.
func (b Buyer) migration() Answer {
	a := Answer{Question: "What do integration and migration take?", Answer: unknown + ": nothing public in the profiles"}
	if b.Chip.Note != "" {
		a.Answer = unknown + "; note of the profile: " + b.Chip.Note
	}
	return a
}

func cite(f fact.Fact) string { return strings.TrimSpace(f.Source + ", " + f.Date) }
