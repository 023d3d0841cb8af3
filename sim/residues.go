package sim

// residues counts decoding sequences by where in a KV block their next token falls, so that the blocks a leap of m steps will take
// are known without touching the sequences. Every sequence moves on by the same advance in each step; positions are stored less the
// advance so far (phase), so a step moves none of them. Counts are a Fenwick tree over the block.
type residues struct {
	size int64 // units in a block
	tree []int32
	n    int64
}

func newResidues(size int64) residues { return residues{size: size, tree: make([]int32, size+1)} }

func (c *residues) add(position int64, d int32) {
	c.n += int64(d)
	for i := position + 1; i <= c.size; i += i & -i {
		c.tree[i] += d
	}
}

func (c *residues) below(position int64) (n int64) {
	for i := position; i > 0; i &= i - 1 {
		n += int64(c.tree[i])
	}
	return n
}

// crossings returns how many block boundaries all sequences together cross while each advances by distance, at this phase.
func (c *residues) crossings(distance, phase int64) int64 {
	if c.n == 0 {
		return 0
	}
	n := c.n * (distance / c.size)
	rem := distance % c.size
	if rem == 0 {
		return n
	}
	// A sequence at place z = (position + phase) mod size crosses once more if z >= size - rem.
	from := c.size - rem - phase
	if from < 0 {
		from += c.size
	}
	if to := from + rem; to <= c.size {
		return n + c.below(to) - c.below(from)
	}
	return n + c.n - (c.below(from) - c.below(from+rem-c.size))
}
