package profiles

import (
	"strings"
	"testing"

	"scoville/model/llm"
)

func TestBuyersQuestions(t *testing.T) {
	chip, err := Chip("mi300x")
	if err != nil {
		t.Fatal(err)
	}
	q, err := book(t).Quote(PriceQuery{Chip: "mi300x", Tier: OnDemand}, asOf(t))
	if err != nil {
		t.Fatal(err)
	}
	b := Buyer{Chip: chip, Model: "llama-3.1-70b", Weights: llm.FP8, Chips: 1, NeedBytes: 96e9, ReadBytes: 70.6e9, TPOTLimit: 0.04, Rent: &q}
	answers := b.Questions()
	if len(answers) != 5 {
		t.Fatalf("%d answers", len(answers))
	}
	for i, want := range []string{"unknown: no measured run", "launched 2023-12", "192 GB and 5.30 TB/s", "unknown to buy; 2.59 USD an hour", "unknown"} {
		if !strings.Contains(answers[i].Answer, want) {
			t.Errorf("%s: %q lacks %q", answers[i].Question, answers[i].Answer, want)
		}
	}
	if !strings.Contains(answers[2].Answer, "50 % of a replica's memory") || !strings.Contains(answers[2].Answer, "13.3 ms a token, 33 % of the TPOT limit") {
		t.Errorf("need: %q", answers[2].Answer)
	}
	b.Weights = llm.FP4
	if a := b.Questions()[0].Answer; !strings.Contains(a, "no fp4 peak") {
		t.Errorf("FP4 on a chip without it: %q", a)
	}
	// Nothing of Jalapeno is public: every hardware answer must say so.
	if b.Chip, err = Chip("openai-jalapeno"); err != nil {
		t.Fatal(err)
	}
	b.Rent = nil
	for i, want := range []string{"unknown", "", "unknown", "unknown to buy; unknown an hour to rent", "unknown"} {
		if a := b.Questions()[i].Answer; !strings.Contains(a, want) || (i == 0 && a != "unknown") {
			t.Errorf("question %d of an unpublished chip: %q", i+1, a)
		}
	}
}
