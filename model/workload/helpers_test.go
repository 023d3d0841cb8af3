package workload

import "scoville/model/random"

func newStream(seed uint64) *random.Stream { return random.New(seed, 0, "test") }
