package sim

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var memory = flag.Bool("memory", false, "run TestMemory")

// peakKiB reads the process's peak resident memory where the kernel tells it.
func peakKiB(t *testing.T) (kib int) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		t.Skip("no /proc: the kernel does not tell the peak memory")
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "VmHWM:"); ok {
			if _, err := fmt.Sscan(rest, &kib); err != nil {
				t.Fatal(err)
			}
		}
	}
	return kib
}
