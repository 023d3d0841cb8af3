package sim

import (
	"errors"
	"fmt"
)

// Validate returns every mistake in the engine's settings, joined, or nil.
func (e *Engine) Validate() error {
	var errs []error
	bad := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("engine.%s: %s", field, fmt.Sprintf(format, args...)))
	}
	if _, err := policyOf(e.Policy); err != nil {
		errs = append(errs, err)
	}
	if e.MaxBatchedTokens < 1 {
		bad("max_batched_tokens", "%d is not a positive number of tokens", e.MaxBatchedTokens)
	}
	if e.MaxSequences < 1 {
		bad("max_sequences", "%d is not a positive number of sequences", e.MaxSequences)
	}
	if e.BlockTokens < 1 {
		bad("block_tokens", "%d is not a positive number of tokens", e.BlockTokens)
	}
	if e.KVBlocks < 0 {
		bad("kv_blocks", "%d is negative", e.KVBlocks)
	}
	if e.QueueLimit < 0 || e.MaxModelLen < 0 || e.WindowTokens < 0 {
		bad("queue_limit, max_model_len, window_tokens", "%d, %d, %d: none may be negative", e.QueueLimit, e.MaxModelLen, e.WindowTokens)
	}
	if e.ReceiveInterval < 0 {
		bad("receive_interval", "%d steps: it can't be negative", e.ReceiveInterval)
	}
	if e.ReceiveInterval > 1 && e.PriorityQueue {
		bad("receive_interval", "%d steps with a priority queue: not simulated", e.ReceiveInterval)
	}
	if !(e.WindowShare >= 0 && e.WindowShare <= 1) {
		bad("window_share", "%g is not in [0, 1]", e.WindowShare)
	}
	s := e.Speculative
	if s.Draft < 0 || !(s.Acceptance >= 0 && s.Acceptance <= 1) || !(s.DraftCost >= 0) {
		bad("speculative", "draft %d, acceptance %g, draft cost %g: draft and cost can't be negative, acceptance is in [0, 1]", s.Draft, s.Acceptance, s.DraftCost)
	}
	if s.Draft > 0 && e.MaxBatchedTokens > 0 && e.MaxBatchedTokens < 1+s.Draft {
		bad("max_batched_tokens", "%d is below the %d tokens a sequence verifies in a step", e.MaxBatchedTokens, 1+s.Draft)
	}
	if !(e.OverheadTTFTSeconds >= 0 && e.OverheadTTFTSeconds < 1e6) {
		bad("overhead_ttft_seconds", "%g is not a time", e.OverheadTTFTSeconds)
	}
	return errors.Join(errs...)
}

// tokensPerStep is the mean number of tokens a sequence gets from a decode step.
func (s Speculative) tokensPerStep() float64 {
	sum, p := 1.0, 1.0
	for range s.Draft {
		p *= s.Acceptance
		sum += p
	}
	return sum
}

// policy is a batching policy: what it takes to be admitted. All policies run admitted sequences first, one token each a step, and
// fill the rest of the token budget with prefill.
type policy interface {
	// reserves reports whether a request gets the blocks of its whole answer at admission. Such requests are never preempted.
	reserves() bool
	// open reports whether another request may be admitted now, as far as the policy is concerned.
	open(r *Replica) bool
}

func policyOf(name Policy) (policy, error) {
	switch name {
	case VLLMV1, "":
		return continuous{}, nil
	case NoEvict:
		return noEvict{}, nil
	case Static:
		return static{}, nil
	}
	return nil, fmt.Errorf("engine.policy: %q is none of %s, %s, %s", name, VLLMV1, Static, NoEvict)
}

// continuous is vLLM V1.
type continuous struct{}

func (continuous) reserves() bool     { return false }
func (continuous) open(*Replica) bool { return true }

// noEvict is TensorRT-LLM's GUARANTEED_NO_EVICT.
type noEvict struct{}

func (noEvict) reserves() bool     { return true }
func (noEvict) open(*Replica) bool { return true }

// static admits only while the replica's batch forms: the requests waiting when it is empty. Then nothing until all have ended.
type static struct{}

func (static) reserves() bool { return true }

func (static) open(r *Replica) bool {
	if r.running == 0 {
		r.forming = min(r.waitingLive, r.maxSequences)
	}
	return r.forming > 0
}
