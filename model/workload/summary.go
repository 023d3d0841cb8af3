package workload

import "math"

// Summary sums up the requests a workload makes.
type Summary struct {
	MeanInput, MeanOutput float64
	P99Input, P99Output   float64
	MaxInput, MaxOutput   int
	MaxLength             int     // longest input + output of one request that can come
	PrefixShare           float64 // share of input tokens that an endless prefix cache holds already
}

// summaryRequests are drawn, with a fixed seed, for the figures that have no closed form.
const summaryRequests = 40_000

// Summary returns the figures of the workload's requests, from 40,000 drawn ones; the longest lengths are those the
// description allows.
func (w *Workload) Summary() (*Summary, error) {
	c, err := w.ready()
	if err != nil {
		return nil, err
	}
	if c.replay != nil {
		return c.replay.summary(), nil
	}
	s, err := w.Source(SourceOptions{RequestsPerSecond: 1, Seed: 1, MaxRequests: summaryRequests})
	if err != nil {
		return nil, err
	}
	return c.summarise(s)
}

func (c *compiled) summarise(s Source) (*Summary, error) {
	out := &Summary{}
	feedback, _ := s.(Feedback)
	seen := map[PrefixBlock]bool{}
	var r Request
	var in, outs []int32
	var blocks []PrefixBlock
	var sumIn, sumOut, cached float64
	const mostBlocks = 4_000_000 // long prompts in small blocks: fewer requests have to do
	for total := 0; total < mostBlocks && s.Next(&r); {
		total += len(r.Blocks)
		in, outs = append(in, r.InputTokens), append(outs, r.OutputTokens)
		sumIn += float64(r.InputTokens)
		sumOut += float64(r.OutputTokens)
		out.MaxInput, out.MaxOutput = max(out.MaxInput, int(r.InputTokens)), max(out.MaxOutput, int(r.OutputTokens))
		out.MaxLength = max(out.MaxLength, int(r.InputTokens)+int(r.OutputTokens))
		cached += float64(prefixSeen(seen, r.Blocks))
		if r.OutputKey != 0 { // the answer is in the cache, too
			blocks = append(append(blocks[:0], r.Blocks...), PrefixBlock{r.OutputKey, r.OutputTokens})
			prefixSeen(seen, blocks)
		}
		if feedback != nil {
			feedback.Done(&r, r.ArrivalNanoseconds)
		}
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	if n := float64(len(in)); n > 0 {
		out.MeanInput, out.MeanOutput = sumIn/n, sumOut/n
		out.P99Input, out.P99Output = quantileOf(in, 0.99), quantileOf(outs, 0.99)
		out.PrefixShare = cached / sumIn
	}
	c.exactMeans(out)
	for i := range c.classes {
		k := &c.classes[i]
		a, b := int(k.input.tokens(1)), int(k.output.tokens(1))
		if k.sessions != nil {
			out.MaxOutput = max(out.MaxOutput, b)
			continue
		}
		out.MaxInput, out.MaxOutput, out.MaxLength = max(out.MaxInput, a), max(out.MaxOutput, b), max(out.MaxLength, a+b)
	}
	return out, nil
}

// exactMeans replaces the drawn means by integrals of the quantile functions where each request is drawn by itself.
func (c *compiled) exactMeans(out *Summary) {
	if c.hasSessions() || len(c.classes) == 0 {
		return
	}
	in, outs, last := 0.0, 0.0, 0.0
	for i := range c.classes {
		share := c.cumulative[i] - last
		last = c.cumulative[i]
		in += share * c.classes[i].input.mean(true)
		outs += share * c.classes[i].output.mean(true)
	}
	out.MeanInput, out.MeanOutput = in, outs
}

// prefixSeen returns how many head tokens are known already, and makes all heads known.
func prefixSeen(seen map[PrefixBlock]bool, blocks []PrefixBlock) int64 {
	tokens, unbroken, head := int64(0), true, uint64(0)
	for _, b := range blocks {
		head = key(keyTrace, head, b.Key)
		h := PrefixBlock{head, b.Tokens}
		if unbroken = unbroken && seen[h]; unbroken {
			tokens += int64(b.Tokens)
		}
		seen[h] = true
	}
	return tokens
}

// MeanInput is the mean input tokens of a request.
func (w *Workload) MeanInput() float64 {
	return w.figure(func(s *Summary) float64 { return s.MeanInput })
}

// MeanOutput is the mean output tokens of a request.
func (w *Workload) MeanOutput() float64 {
	return w.figure(func(s *Summary) float64 { return s.MeanOutput })
}

// MaxLength is the longest input + output that can come.
func (w *Workload) MaxLength() int {
	return int(w.figure(func(s *Summary) float64 { return float64(s.MaxLength) }))
}

// figure returns one figure of the summary, NaN where the workload is not valid.
func (w *Workload) figure(of func(*Summary) float64) float64 {
	s, err := w.Summary()
	if err != nil {
		return math.NaN()
	}
	return of(s)
}
