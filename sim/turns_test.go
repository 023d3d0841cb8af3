package sim

import (
	"context"
	"testing"

	"scoville/model/workload"
)

// The second turn of a conversation holds the first prompt and its answer; both are found in the prefix cache, but for what
// lies in blocks not full or not computed.
func TestAnswerIsCachedForTheNextTurn(t *testing.T) {
	first := workload.Request{ID: 1, InputTokens: 160, OutputTokens: 81, Blocks: []workload.PrefixBlock{{Key: 7, Tokens: 160}}, OutputKey: 9}
	second := workload.Request{ID: 2, ArrivalNanoseconds: 1e12, InputTokens: 300, OutputTokens: 2,
		Blocks: []workload.PrefixBlock{{Key: 7, Tokens: 160}, {Key: 9, Tokens: 81}, {Key: 11, Tokens: 59}}}
	for _, walk := range []bool{false, true} {
		cfg := Config{Engine: Engine{Policy: VLLMV1, MaxBatchedTokens: 512, MaxSequences: 8, ChunkedPrefill: true, BlockTokens: 16, KVBlocks: 100, PrefixCaching: true},
			Steps: llama8B(), Options: Options{KeepRequests: true, DisableLeap: walk, WarmupShare: -1}}
		r, err := Run(context.Background(), cfg, &list{requests: []workload.Request{first, second}})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := r.Records[1].CachedTokens, int32(240); got != want { // 15 blocks of 160 + 80 computed tokens
			t.Errorf("walk %v: %d cached tokens, want %d", walk, got, want)
		}
	}
}
