package reports

import (
	"strconv"
	"strings"
	"testing"
)

func TestResultsSayItInChinese(t *testing.T) {
	b := newWords("zh")
	for in, want := range map[string]string{
		"host overhead, 64 % of a busy replica's time at 100 % utilisation (TPOT p90 is 0.04203 s, the limit is 0.04 s)":           "主机开销，占副本忙碌时间的 64%，利用率 100%（TPOT p90 为 0.04203 秒，限值 0.04 秒）",
		"mi300x: price of hosts (8750) is 334 days old on 2026-12-01; prices older than 180 days need a fresh look (some; source)": "mi300x: 主机价格（8750）截至 2026-12-01 已有 334 天；超过 180 天的价格需要重新核实（some; source）",
		"h200-sxm: memory bandwidth": "h200-sxm: 显存带宽",
		"What does a chip cost?":     "一块芯片多少钱？",
		"a note nobody knows: $2":    "a note nobody knows: $2",
	} {
		if got := b.said(in); got != want {
			t.Errorf("%q is said as\n%q, want\n%q", in, got, want)
		}
		if got := newWords("en").said(in); got != in {
			t.Errorf("English %q becomes %q", in, got)
		}
	}
}

// TestChineseSentencesUseTheirParts finds a part of a form that its translation drops.
func TestChineseSentencesUseTheirParts(t *testing.T) {
	for _, f := range chineseSentences() {
		for i := 1; i <= f.form.NumSubexp(); i++ {
			if !strings.Contains(f.chinese, "$"+strconv.Itoa(i)) {
				t.Errorf("%s: part %d is not in %q", f.form, i, f.chinese)
			}
		}
	}
}
