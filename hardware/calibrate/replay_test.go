package calibrate

import (
	"testing"

	"pgregory.net/rapid"
	"scoville/model/workload"
)

// A closed loop never has more requests out than clients, offers each request once, and in order of time, whatever the system does.
func TestReplayKeepsItsClients(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clients := rapid.IntRange(1, 8).Draw(t, "clients")
		n := rapid.IntRange(1, 60).Draw(t, "requests")
		think := rapid.Int64Range(0, 1000).Draw(t, "think")
		list := make([]workload.Request, n)
		for i := range list {
			list[i] = workload.Request{ID: int64(i) + 1, ArrivalNanoseconds: int64(i) * 300, InputTokens: 1, OutputTokens: 1}
		}
		src := newReplay(list, clients, think).source().(workload.Feedback)
		type flight struct{ end int64 }
		var out []flight
		now, last, taken := int64(0), int64(0), 0
		for taken < n {
			at, ok := src.Peek()
			first := -1 // the flight that ends first
			for i := range out {
				if first < 0 || out[i].end < out[first].end {
					first = i
				}
			}
			if ok && (first < 0 || at <= out[first].end) {
				var q workload.Request
				if !src.Next(&q) {
					t.Fatal("announced a request and had none")
				}
				if q.ArrivalNanoseconds < last || q.ID != int64(taken)+1 {
					t.Fatalf("request %d at %d after one at %d", q.ID, q.ArrivalNanoseconds, last)
				}
				last, now = q.ArrivalNanoseconds, max(now, q.ArrivalNanoseconds)
				taken++
				out = append(out, flight{now + rapid.Int64Range(0, 2000).Draw(t, "service")})
				if len(out) > clients {
					t.Fatalf("%d requests out with %d clients", len(out), clients)
				}
				continue
			}
			if first < 0 {
				t.Fatalf("nothing out and nothing to come after %d of %d requests", taken, n)
			}
			now = max(now, out[first].end)
			out = append(out[:first], out[first+1:]...)
			src.Done(&workload.Request{}, now)
		}
	})
}
