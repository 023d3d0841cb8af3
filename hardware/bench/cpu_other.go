//go:build !unix

package bench

import "time"

// cpuTime isn't known here.
func cpuTime() (time.Duration, bool) { return 0, false }
