package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// good is an input that a command takes, to be spoilt.
type good struct {
	name string // of the file
	text string
	args func(path, out string) []string
}

const smallTrace = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n2023-11-16 18:15:51.2225230,879,55\n"

const smallConfig = `{"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":128256,"max_position_embeddings":8192,"torch_dtype":"bfloat16"}
`

func goods(t *testing.T) []good {
	t.Helper()
	chip := readText(t, "../../profiles/chips/a100-pcie-80gb.toml")
	price := readText(t, "../../profiles/prices/"+firstFile(t, "../../profiles/prices"))
	own := readText(t, "../../examples/cost-own-h100.toml")
	return []good{
		{"plan.toml", smallPlan, func(p, out string) []string { return []string{"plan", p, "-o", out} }},
		{"sweep.toml", "plan = \"base.toml\"\nseeds = [1]\n[grid]\nworkload.peak_qps = [5]\n[heatmap]\nx = \"workload.peak_qps\"\n", func(p, out string) []string { return []string{"sweep", p, "-o", out} }},
		{"chip.toml", chip, func(p, out string) []string {
			return []string{"plan", filepath.Join(filepath.Dir(p), "chips.toml"), "-o", out}
		}},
		{"book.toml", price, func(p, out string) []string {
			return []string{"plan", filepath.Join(filepath.Dir(p), "base.toml"), "--set", "price_books=[\"" + filepath.Base(p) + "\"]", "-o", out}
		}},
		{"cost.toml", own, func(p, out string) []string { return []string{"cost", p} }},
		{"config.json", smallConfig, func(p, out string) []string { return []string{"models", "show", p} }},
		{"trace.csv", smallTrace, func(p, out string) []string { return []string{"workload", "describe", p} }},
		{"results.json", `{"date":"20251101-120000","endpoint_type":"vllm","backend":"vllm","label":null,"model_id":"m","tokenizer_id":"m","num_prompts":3,"request_rate":"inf","burstiness":1.0,"max_concurrency":null,"duration":10.0,"completed":3,"total_input_tokens":30,"total_output_tokens":60,"request_throughput":0.3,"output_throughput":6.0,"total_token_throughput":9.0,"mean_ttft_ms":50.0,"median_ttft_ms":49.0,"std_ttft_ms":1.0,"p99_ttft_ms":60.0,"mean_tpot_ms":10.0,"median_tpot_ms":10.0,"std_tpot_ms":1.0,"p99_tpot_ms":12.0,"mean_itl_ms":10.0,"median_itl_ms":10.0,"std_itl_ms":1.0,"p99_itl_ms":12.0}`,
			func(p, out string) []string { return []string{"import", p} }},
		{"metrics.txt", "# TYPE vllm:request_success_total counter\nvllm:request_success_total{finished_reason=\"stop\",model_name=\"m\"} 100\n# TYPE vllm:prompt_tokens_total counter\nvllm:prompt_tokens_total{model_name=\"m\"} 5000\n# TYPE vllm:generation_tokens_total counter\nvllm:generation_tokens_total{model_name=\"m\"} 9000\n",
			func(p, out string) []string {
				return []string{"workload", "metrics", p, "--seconds", "3600"}
			}},
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func firstFile(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil || len(list) == 0 {
		t.Fatalf("%s: %v", dir, err)
	}
	return list[0].Name()
}

var numberForm = regexp.MustCompile(`\d+(\.\d+)?(e-?\d+)?`)

// spoil changes a text in one of the ways that hands, editors and half-finished copies do.
func spoil(text string, r *rand.Rand) string {
	lines := strings.SplitAfter(text, "\n")
	at := r.IntN(len(text))
	switch r.IntN(12) {
	case 0:
		return text[:at] // cut off
	case 1:
		return text[:at] + text[at+1:]
	case 2:
		return text[:at] + string(rune("\x00\"'[]{}=,#\\\n\xff:"[r.IntN(13)])) + text[at:]
	case 3:
		return text[:at] + string([]byte{byte(r.IntN(256))}) + text[at+1:]
	case 4, 5, 6: // a number that is none, or far off
		at := numberForm.FindAllStringIndex(text, -1)
		if len(at) == 0 {
			return text[:len(text)/2]
		}
		m := at[r.IntN(len(at))]
		worse := []string{"-1", "0", "nan", "inf", "-inf", "1e999", "1e308", "9223372036854775808", "99999999999999999999999", "-9223372036854775808", "\"x\"", "true", "[]", "{}", "1_", "0x", "1e18", "null", "1e-320"}
		return text[:m[0]] + worse[r.IntN(len(worse))] + text[m[1]:]
	case 7: // a line twice
		i := r.IntN(len(lines))
		return strings.Join(lines[:i+1], "") + lines[i] + strings.Join(lines[i+1:], "")
	case 8: // a line lost
		i := r.IntN(len(lines))
		return strings.Join(lines[:i], "") + strings.Join(lines[i+1:], "")
	case 9: // a word misspelt
		words := regexp.MustCompile(`[a-z_]{4,}`).FindAllStringIndex(text, -1)
		if len(words) == 0 {
			return ""
		}
		w := words[r.IntN(len(words))]
		return text[:w[0]] + "q" + text[w[0]+1:]
	case 10: // nested without end
		return text[:at] + strings.Repeat([]string{"[", "{", "a."}[r.IntN(3)], 20_000) + text[at:]
	}
	return text[:at] + strings.Repeat("9", 1+r.IntN(400)) + text[at:]
}

// TestMalformedInputs spoils good inputs until 100 are refused, 500 where CI or SCOVILLE_MALFORMED_SEED is set: each with exit code 2, one line that names the file, nothing on
// stdout and no file left, within 2 seconds, and never by a panic.
func TestMalformedInputs(t *testing.T) {
	want, seed := 100, uint64(1)
	if os.Getenv("CI") != "" {
		want = 500
	}
	if s, err := strconv.ParseUint(os.Getenv("SCOVILLE_MALFORMED_SEED"), 10, 64); err == nil {
		want, seed = 500, s
	}
	dir, all := t.TempDir(), goods(t)
	if err := os.WriteFile(filepath.Join(dir, "base.toml"), []byte(strings.Replace(smallPlan, "500", "100", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	chips := strings.Replace(strings.Replace(smallPlan, "500", "100", 1), "chip = \"h100-sxm\"", "chip_file = \"chip.toml\"", 1)
	if err := os.WriteFile(filepath.Join(dir, "chips.toml"), []byte(chips), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	random := rand.New(rand.NewPCG(500, seed))
	refused := map[string]int{}
	total := 0
	for i := 0; total < want && i < 20*want; i++ {
		g := all[i%len(all)]
		text := spoil(g.text, random)
		path := filepath.Join(dir, g.name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if slices.Contains([]string{"plan.toml", "book.toml", "sweep.toml", "chip.toml"}, g.name) {
			if random.IntN(3) > 0 && mildlySpoilt(g, text) { // many are good enough to be simulated, which this is not about
				continue
			}
		}
		started := time.Now()
		stdout, stderr, code := costRun(g.args(path, out)...)
		took := time.Since(started)
		fault := ""
		switch {
		case strings.Contains(stderr, "internal error"):
			fault = "panic"
		case took > slow(code):
			fault = fmt.Sprintf("took %v, exit %d", took, code)
		case code == exitBadInput && stdout != "":
			fault = "wrote to stdout before it failed"
		case code == exitBadInput && strings.Count(stderr, "\n") != 1:
			fault = "more than one line"
		case code == exitBadInput && len(stderr) > 2000:
			fault = "a message of many pages"
		case code == exitBadInput && !strings.Contains(stderr, g.name) && !strings.Contains(stderr, dir):
			fault = "the file is not named"
		case code == exitBadInput && exists(out):
			fault = "left " + out
		}
		if fault != "" {
			t.Errorf("%s, case %d: %s\n  %s\n  %s", g.name, i, fault, clip(stderr), difference(g.text, text))
		}
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
		if code == exitBadInput {
			refused[g.name]++
			total++
		}
	}
	if total < want {
		t.Errorf("only %d were refused", total)
	}
	t.Log(refused)
}

// mildlySpoilt guesses that a text is still sound: no more than a number differs.
func mildlySpoilt(g good, text string) bool {
	return numberForm.ReplaceAllString(text, "1") == numberForm.ReplaceAllString(g.text, "1")
}

// slow is how long a command may take: refusing is quick, an answer may take its time.
func slow(code int) time.Duration {
	if code == exitBadInput {
		return 2 * time.Second
	}
	return time.Minute
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func clip(s string) string {
	if len(s) > 700 {
		return s[:700] + " ..."
	}
	return s
}

// difference shows where two texts part.
func difference(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	from := max(0, bytes.LastIndexByte([]byte(b[:n]), '\n')+1)
	return fmt.Sprintf("at byte %d: %q", n, clip(b[from:min(len(b), n+60)]))
}
