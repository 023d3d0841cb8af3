package bench

import (
	"fmt"
	"sync"
)

// Budget caps what a run may send. The zero value has no cap. Tokens are reserved before a request goes out: its prompt and all it may generate.
type Budget struct {
	MaxRequests    int
	MaxTokens      int64
	MaxDollars     float64
	DollarsPerMIn  float64 // per million input tokens
	DollarsPerMOut float64
	mu             sync.Mutex
	requests       int
	tokens         int64
	dollars        float64
	exhausted      string
}

// Take reserves one request; an error names the cap that it would break. After that nothing is granted any more.
func (b *Budget) Take(input, output int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	cost := (float64(input)*b.DollarsPerMIn + float64(output)*b.DollarsPerMOut) / 1e6
	switch n := int64(input) + int64(output); {
	case b.exhausted != "":
	case b.MaxRequests > 0 && b.requests+1 > b.MaxRequests:
		b.exhausted = fmt.Sprintf("the cap of %d requests is reached", b.MaxRequests)
	case b.MaxTokens > 0 && b.tokens+n > b.MaxTokens:
		b.exhausted = fmt.Sprintf("the cap of %d tokens is reached: %d used or reserved", b.MaxTokens, b.tokens)
	case b.MaxDollars > 0 && b.dollars+cost > b.MaxDollars:
		b.exhausted = fmt.Sprintf("the cap of $%.4g is reached: $%.4g spent or reserved", b.MaxDollars, b.dollars)
	default:
		b.requests++
		b.tokens += n
		b.dollars += cost
		return nil
	}
	return fmt.Errorf("%s", b.exhausted)
}

// Used returns what was reserved so far.
func (b *Budget) Used() (requests int, tokens int64, dollars float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.requests, b.tokens, b.dollars
}
