package chart

import (
	"bytes"
	"math"
	"sort"
	"testing"

	"gonum.org/v1/plot/vg"
	"pgregory.net/rapid"
)

// TestSpreadKeepsLabelsApart: labels keep their order, stay inside, and are a gap apart wherever there is room.
func TestSpreadKeepsLabelsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 14).Draw(t, "n")
		at := make([]float64, n)
		for i := range at {
			at[i] = rapid.Float64Range(0, 200).Draw(t, "y")
		}
		sort.Float64s(at)
		in := make([]vg.Length, n)
		for i, y := range at {
			in[i] = vg.Length(y)
		}
		out := spread(in, 10, 0, 200)
		for i := range out {
			if i > 0 && out[i]-out[i-1] < 10-0.02 {
				t.Fatalf("labels %d and %d are %v apart: %v -> %v", i-1, i, out[i]-out[i-1], in, out)
			}
			if out[i] < -0.01 || out[i] > 200.1 {
				t.Fatalf("label %d left the picture: %v", i, out)
			}
		}
	})
}

// TestRowsKeepMarksApart: no two marks of a row overlap.
func TestRowsKeepMarksApart(t *testing.T) {
	fonts, err := NewFonts(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &pen{fonts}
	rapid.Check(t, func(t *rapid.T) {
		var marks []topMark
		for range rapid.IntRange(1, 8).Draw(t, "n") {
			marks = append(marks, topMark{x: vg.Length(rapid.Float64Range(0, 400).Draw(t, "x")), text: rapid.StringMatching("[a-z ]{1,20}").Draw(t, "text")})
		}
		row, centre, _ := p.rows(marks, 0, 400)
		for i := range marks {
			for k := range i {
				gap := math.Abs(float64(centre[i] - centre[k]))
				if need := float64(p.width(marks[i].text)+p.width(marks[k].text)) / 2; row[i] == row[k] && gap < need {
					t.Fatalf("marks %d and %d overlap in row %d", k, i, row[i])
				}
			}
		}
	})
}

// TestPlaceAvoidsWhatIsTaken: a label placed overlaps nothing and lies inside.
func TestPlaceAvoidsWhatIsTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		area := box{0, 0, 400, 200}
		var taken []box
		for range rapid.IntRange(1, 12).Draw(t, "n") {
			x, y := vg.Length(rapid.Float64Range(0, 400).Draw(t, "x")), vg.Length(rapid.Float64Range(0, 200).Draw(t, "y"))
			b, ok := place(x, y, 60, 10, taken, area)
			if !ok {
				continue
			}
			for _, o := range taken {
				if b.overlaps(o) {
					t.Fatalf("%v overlaps %v", b, o)
				}
			}
			if !b.inside(area) {
				t.Fatalf("%v leaves %v", b, area)
			}
			taken = append(taken, b)
		}
	})
}

// TestAxisHoldsItsData: ticks are within the range, the range holds the data, and no label repeats.
func TestAxisHoldsItsData(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(1e-6, 1e9).Draw(t, "lo") // labels have at most 15 decimals
		hi := lo + rapid.Float64Range(0, 1e9).Draw(t, "span")
		a := Axis{Free: rapid.Bool().Draw(t, "free")}.span(lo, hi)
		if !(a.Min <= lo && a.Max >= hi && a.Max > a.Min) {
			t.Fatalf("%v to %v is not within %v to %v", lo, hi, a.Min, a.Max)
		}
		seen := map[string]bool{}
		for _, k := range a.Ticks(a.Min, a.Max) {
			if seen[k.Label] {
				t.Fatalf("label %q twice in %v to %v", k.Label, a.Min, a.Max)
			}
			seen[k.Label] = true
		}
	})
}

// TestClipAbove cuts at the height and keeps what is below.
func TestClipAbove(t *testing.T) {
	got := clipAbove([]vg.Point{{X: 0, Y: 0}, {X: 1, Y: 2}, {X: 2, Y: 0}}, 1)
	if len(got) != 2 || got[0][1] != (vg.Point{X: 0.5, Y: 1}) || got[1][0] != (vg.Point{X: 1.5, Y: 1}) {
		t.Errorf("got %v", got)
	}
}

// TestDrawersTakeNothing: pictures of no data, of one point and of equal values draw without a fault.
func TestDrawersTakeNothing(t *testing.T) {
	fonts, err := NewFonts(nil)
	if err != nil {
		t.Fatal(err)
	}
	one := []Series{{Name: "a", X: []float64{1}, Y: []float64{1}}}
	for i, d := range []Drawer{
		Lines{}, Lines{Series: one}, Lines{Series: one, Cap: 0.5, Limits: []Limit{{1, "x"}}, Marks: []Mark{{0, "m"}}},
		Lines{Series: []Series{{X: []float64{0, 0}, Y: []float64{0, 0}}}}, Bars{}, Bars{Rows: []Bar{{Name: "a", Segments: []float64{0}}}},
		Tornado{}, Tornado{Rows: []Swing{{Name: "a"}}}, Histogram{}, Histogram{Low: []float64{1}, High: []float64{1}, Count: []int{3}},
		Scatter{}, Scatter{Dots: []Dot{{}, {}}, Diagonal: "d", X: Axis{Log: true}, Y: Axis{Log: true}}, Scatter{Dots: []Dot{{Name: "a"}, {Name: "b"}}, Frontier: []int{0, 1}},
		Area{}, Area{At: []float64{0}, Layers: []Layer{{"a", []float64{1}}}}, Panels{}, Panels{[]Lines{{}, {}}},
	} {
		var b bytes.Buffer
		if err := (Chart{Name: "x", Title: "t", Width: 300, Height: 150, Drawer: d}).PNG(&b, fonts); err != nil {
			t.Errorf("drawer %d: %v", i, err)
		}
	}
}
