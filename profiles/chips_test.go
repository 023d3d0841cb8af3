package profiles

import (
	"testing"

	"scoville/hardware"
	"scoville/model/llm"
)

func TestEveryChipLoadsAndRunsOrIsATemplate(t *testing.T) {
	names, err := Chips()
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < 30 {
		t.Errorf("%d chips, want 30 or more", len(names))
	}
	model, _, err := Model("llama-3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	engine, err := Engine("vllm", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		c, err := Chip(n)
		if err != nil {
			t.Fatalf("%s: %v", n, err)
		}
		m, err := hardware.NewStepModel(hardware.Deployment{Chip: c, Model: model, Precision: llm.NewPrecision(llm.BF16), Engine: engine})
		if c.Template {
			if err == nil {
				t.Errorf("%s: a template with blanks runs", n)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", n, err)
		}
		w := m.Decode(1).Base
		if least := 15e9 / c.Memory.BytesPerSecond.Value; w.Seconds < least {
			t.Errorf("%s: a step reads 15 GB in %g s, the datasheet allows %g s", n, w.Seconds, least)
		}
		d := m.Decode(64)
		t.Logf("%-16s %-40s decode 1: %6.2f ms, 64 at 1k: %6.2f ms, %4.0f W; prefill 2k: %6.1f ms", n, c.Basis(), w.Seconds*1e3,
			d.Base.Plus(d.PerKV.Times(64*1024)).Seconds*1e3, d.Base.Joules/d.Base.Seconds,
			m.Step(hardware.Batch{PrefillSequences: 1, PrefillTokens: 2048, PrefillPairs: 2048 * 1024.5}).Seconds*1e3)
	}
}
