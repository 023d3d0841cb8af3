package chart

import (
	"image/color"
	"math"
	"sort"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// sideLabel names something that ends at height y of the right edge.
type sideLabel struct {
	x, y   vg.Length // where it ends; x 0: at the edge; x < 0: no leader, y only orders
	text   string
	colour color.NRGBA
}

// spread moves sorted heights apart until they are gap apart within [lo, hi], as little as that takes. Where they can't fit
// the gap shrinks.
func spread(at []vg.Length, gap, lo, hi vg.Length) []vg.Length {
	out := append([]vg.Length(nil), at...)
	n := len(out)
	if n == 0 {
		return out
	}
	if room := hi - lo; vg.Length(n-1)*gap > room {
		gap = room / vg.Length(max(1, n-1))
	}
	for i := range out {
		out[i] = min(max(out[i], lo+vg.Length(i)*gap), hi-vg.Length(n-1-i)*gap)
	}
	for pass := 0; pass < 200; pass++ { // relax: overlapping neighbours share the move
		moved := false
		for i := 1; i < n; i++ {
			if d := gap - (out[i] - out[i-1]); d > 0.01 {
				out[i-1] -= d / 2
				out[i] += d / 2
				moved = true
			}
		}
		for i := range out {
			out[i] = min(max(out[i], lo+vg.Length(i)*gap), hi-vg.Length(n-1-i)*gap)
		}
		if !moved {
			break
		}
	}
	for i := 1; i < n; i++ { // whatever is left is pushed up once, exactly
		out[i] = max(out[i], out[i-1]+gap)
	}
	return out
}

// side draws labels right of x, apart from each other, with a leader to where they belong when moved.
func (p *pen) side(c draw.Canvas, x vg.Length, labels []sideLabel, lo, hi, width vg.Length) {
	sort.SliceStable(labels, func(i, j int) bool { return labels[i].y < labels[j].y })
	at := make([]vg.Length, len(labels))
	for i, l := range labels {
		at[i] = l.y
	}
	for i, y := range spread(at, lineGap, lo, hi) {
		l := labels[i]
		if l.x == 0 {
			l.x = x
		}
		if d := y - l.y; l.x >= 0 && (d > 1 || d < -1 || l.x < x-4) {
			c.StrokeLines(stroke(faded(l.colour, 0x90), 0.4), []vg.Point{{X: l.x + 3, Y: l.y}, {X: max(l.x+3, x), Y: l.y}, {X: x + 8, Y: y}})
		}
		p.left(c, x+10, y, p.fit(l.text, width-10), darker(l.colour))
	}
}

// sideWidth is the room labels take, at most share of the picture.
func (p *pen) sideWidth(texts []string, total vg.Length) vg.Length {
	w := vg.Length(0)
	for _, t := range texts {
		w = max(w, p.width(t)+14)
	}
	return min(w, total*0.34)
}

// topMark names a vertical line at x.
type topMark struct {
	x      vg.Length
	text   string
	colour color.NRGBA
}

// rows assigns marks to rows so that none overlaps in [lo, hi]; it returns each mark's row, centre and the number of rows.
func (p *pen) rows(marks []topMark, lo, hi vg.Length) (row []int, centre []vg.Length, n int) {
	type extent struct{ lo, hi vg.Length }
	var taken [][]extent
	for _, m := range marks {
		half := p.width(m.text)/2 + 3
		x := min(max(m.x, lo+half), hi-half)
		r := 0
	next:
		for ; r < len(taken); r++ {
			for _, e := range taken[r] {
				if x-half < e.hi && x+half > e.lo {
					continue next
				}
			}
			break
		}
		if r == len(taken) {
			taken = append(taken, nil)
		}
		taken[r] = append(taken[r], extent{x - half, x + half})
		row, centre = append(row, r), append(centre, x)
	}
	return row, centre, len(taken)
}

// box is a rectangle that must not be written over.
type box struct{ x0, y0, x1, y1 vg.Length }

func (a box) overlaps(b box) bool { return a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1 }

// inside reports whether a lies within b.
func (a box) inside(b box) bool { return a.x0 >= b.x0 && a.x1 <= b.x1 && a.y0 >= b.y0 && a.y1 <= b.y1 }

// place finds room for a label of size w x h near (x, y) that overlaps nothing taken and lies in area, nearest rings first.
func place(x, y, w, h vg.Length, taken []box, area box) (box, bool) {
	for ring := 0; ring < 24; ring++ {
		r := 5 + vg.Length(ring)*5
		for k := 0; k < 16; k++ {
			angle := float64(k) * math.Pi / 8
			cx, cy := x+r*vg.Length(math.Cos(angle)), y+r*vg.Length(math.Sin(angle))
			b := box{cx, cy - h/2, cx + w, cy + h/2}
			if math.Cos(angle) < -0.3 {
				b.x0, b.x1 = cx-w, cx
			} else if math.Cos(angle) < 0.3 {
				b.x0, b.x1 = cx-w/2, cx+w/2
				if math.Sin(angle) > 0 {
					b.y0, b.y1 = cy, cy+h
				} else {
					b.y0, b.y1 = cy-h, cy
				}
			}
			if !b.inside(area) {
				continue
			}
			free := true
			for _, t := range taken {
				if b.overlaps(t) {
					free = false
					break
				}
			}
			if free {
				return b, true
			}
		}
	}
	return box{}, false
}
