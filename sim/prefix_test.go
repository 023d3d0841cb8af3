package sim

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
	"scoville/model/workload"
)

func serveOne(t failer, e Engine, requests []workload.Request) []Record {
	e.MaxSequences = 1
	r := mustRun(t, Config{Engine: e, Steps: fakeModel{fixed: 1e-3, perToken: 1e-6}, Options: Options{WarmupShare: -1, KeepRequests: true}}, &list{requests: requests})
	return r.Records
}

// TestPrefixHitsAreTheLongestHeadSeen: with blocks enough and one request at a time, the cached tokens are the whole blocks of the
// longest head that came before, less what must be computed: one token at least.
func TestPrefixHitsAreTheLongestHeadSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := vllm()
		e.PrefixCaching = true
		e.BlockTokens = rapid.SampledFrom([]int{1, 4, 16}).Draw(t, "block")
		e.KVBlocks = 1 << 20
		var requests []workload.Request
		for k := range rapid.IntRange(1, 30).Draw(t, "n") {
			q := workload.Request{ID: int64(k), ArrivalNanoseconds: int64(k) * 1e9, InputTokens: int32(rapid.IntRange(1, 200).Draw(t, "in")), OutputTokens: 3}
			for range rapid.IntRange(0, 5).Draw(t, "runs") {
				q.Blocks = append(q.Blocks, workload.PrefixBlock{Key: uint64(rapid.IntRange(1, 2).Draw(t, "key")), Tokens: int32(rapid.SampledFrom([]int{3, 16, 40}).Draw(t, "tokens"))})
			}
			requests = append(requests, q)
		}
		seen := map[string]bool{}
		for k, got := range serveOne(t, e, requests) {
			q, head, tokens, hit := requests[k], "", int32(0), int32(0)
			var heads []string
			for _, b := range q.Blocks {
				if tokens >= q.InputTokens {
					break
				}
				head += fmt.Sprint(b.Key, ":", b.Tokens, " ")
				before := tokens
				tokens = min(tokens+b.Tokens, q.InputTokens)
				name := fmt.Sprint(head, tokens)
				if hit == before && seen[name] {
					hit = tokens
				}
				heads = append(heads, name)
			}
			for _, h := range heads {
				seen[h] = true
			}
			block := int32(e.BlockTokens)
			want := min(hit/block, (q.InputTokens-1)/block) * block
			// A truncated last run has another end than the whole one; such heads count as other content only here.
			if got.CachedTokens < want {
				t.Fatalf("request %d %v: %d tokens cached, at least %d were seen", k, q, got.CachedTokens, want)
			}
			if got.CachedTokens >= q.InputTokens || got.CachedTokens > tokens {
				t.Fatalf("request %d: %d cached of %d, %d shared", k, got.CachedTokens, q.InputTokens, tokens)
			}
		}
	})
}

// TestLeastRecentlyUsedGoesFirst: a pool of 12 blocks of 16 tokens. A and B leave 4 cached blocks each; a large request takes what was
// freed longest ago.
func TestLeastRecentlyUsedGoesFirst(t *testing.T) {
	e := vllm()
	e.PrefixCaching, e.KVBlocks = true, 12
	request := func(k int, key uint64, in int32) workload.Request {
		return workload.Request{ID: int64(k), ArrivalNanoseconds: int64(k) * 1e9, InputTokens: in, OutputTokens: 1, Blocks: []workload.PrefixBlock{{Key: key, Tokens: 64}}}
	}
	const a, b, c = 1, 2, 3
	records := serveOne(t, e, []workload.Request{
		request(0, a, 65), // free queue then: 7 never used, 1 of its own, A's 4
		request(1, b, 65), // takes 5 never used; then: 2 never used, 1, A's 4, 1, B's 4
		request(2, a, 65), // hits A: takes a never used one; A's 4 go behind B's
		request(3, c, 96), // takes 6: 1 never used, 1, 1, and 3 of B's from its tail
		request(4, b, 65), // hits the one left of B; takes the own one of request 2 and 3 of A from its tail
		request(5, a, 65), // hits the one left of A
	})
	var got []int32
	for _, r := range records {
		got = append(got, r.CachedTokens)
	}
	if want := fmt.Sprint([]int32{0, 0, 64, 0, 16, 16}); fmt.Sprint(got) != want {
		t.Errorf("cached tokens %v, want %s", got, want)
	}
}

// TestSurplusOfAWindowedBlock: two small takes from the free queue evict what one large one does.
func TestSurplusOfAWindowedBlock(t *testing.T) {
	resident := func(takes ...int64) (left []int32) {
		e := Engine{BlockTokens: 16, KVBlocks: 8, PrefixCaching: true, WindowTokens: 64, WindowShare: 0.5}
		p := newPool(&e, newBlockWeights(&e))
		for hash := uint64(1); hash <= 2; hash++ {
			i := p.create(hash, 0)
			p.take(p.extend(i, 3))
			p.unpin(i)
		}
		for _, w := range takes {
			p.take(w)
		}
		for hash := uint64(1); hash <= 2; hash++ {
			if i, ok := p.index[hash]; ok {
				left = append(left, p.elements[i].resident)
			}
		}
		return left
	}
	if a, b := resident(2048+2*1024+1024), resident(2048+512, 1024, 1024, 512); fmt.Sprint(a) != fmt.Sprint(b) || fmt.Sprint(a) != "[3]" && fmt.Sprint(a) == "[3 3]" {
		t.Errorf("at once %v, in pieces %v", a, b)
	}
}
