package hardware_test

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"scoville/hardware"
	"scoville/model/llm"
	"scoville/profiles"
)

const gib = 1 << 30

// memoryCases reads the start-up ledgers of engines that stand beside the repository.
func memoryCases(t *testing.T) []map[string]string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			break
		}
	}
	f, err := os.Open(filepath.Join(filepath.Dir(folder), "shared", "data", "cases", "kv_memory_cases.csv"))
	if err != nil {
		t.Skip("../shared is absent: ", err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var cases []map[string]string
	for _, r := range rows[1:] {
		c := map[string]string{}
		for i, name := range rows[0] {
			c[name] = r[i]
		}
		cases = append(cases, c)
	}
	return cases
}

func number(c map[string]string, field string) float64 {
	v, err := strconv.ParseFloat(c[field], 64)
	if err != nil {
		return 0
	}
	return v
}

func caseInput(c map[string]string) hardware.MemoryInput {
	n := func(f string) int { return int(number(c, f)) }
	return hardware.MemoryInput{
		MemoryBytes: number(c, "total_mem_gib") * gib, Utilisation: number(c, "gpu_memory_utilization"), Rule: hardware.RuleAll,
		Engine: c["engine"], Version: c["engine_version"],
		Split:            llm.Split{Tensor: n("tp"), Pipeline: n("pp"), Data: n("dp")},
		MaxBatchedTokens: n("max_num_batched_tokens"), BlockTokens: n("block_size"), MaxLength: n("max_model_len"),
	}
}

// caseModel resolves the model of a row from our profiles, with the row's own number formats.
func caseModel(c map[string]string) (llm.Architecture, llm.Precision, error) {
	a, p, err := profiles.Model(c["model"])
	if err != nil {
		return a, p, err
	}
	if c["quantization"] == "fp8" && p.Weights == llm.BF16 {
		p = llm.NewPrecision(llm.FP8)
	}
	if strings.HasPrefix(c["kv_cache_dtype"], "fp8") {
		p.KV = llm.FP8
	}
	return a, p, nil
}

// With weights, activation and non-torch memory as logged, blocks, tokens and concurrency must be the engine's own. The logs round
// to 0.01 GiB, which the blocks may differ by; given the logged cache size in blocks, tokens and concurrency are exact.
func TestMemoryLayoutMatchesLogs(t *testing.T) {
	exact := 0
	for _, c := range memoryCases(t) {
		level := c["check_level"]
		if level != "exact_full" && level != "exact_tokens_and_concurrency" && level != "tokens_exact_given_blocks" {
			continue
		}
		a, p, err := caseModel(c)
		if err != nil {
			t.Errorf("%s: %v", c["id"], err)
			continue
		}
		in := caseInput(c)
		in.Measured = hardware.Overheads{Weights: number(c, "weights_gib") * gib, Activation: number(c, "activation_gib") * gib, NonTorch: number(c, "non_torch_gib") * gib}
		m, err := hardware.FitMemory(a, p, in)
		if err != nil {
			t.Errorf("%s %s: %v", c["id"], c["model"], err)
			continue
		}
		if level != "tokens_exact_given_blocks" { // a pipeline's log shows one stage's weights
			// four figures rounded to 0.01 GiB enter the pool
			if d := math.Abs(float64(m.Blocks) - number(c, "expect_num_blocks")); d*m.Cache.BlockBytes > 0.02*gib {
				t.Errorf("%s %s: %d blocks, logged %s", c["id"], c["model"], m.Blocks, c["expect_num_blocks"])
			}
		}
		in.Blocks = int(number(c, "expect_num_blocks"))
		if m, err = hardware.FitMemory(a, p, in); err != nil {
			t.Errorf("%s: %v", c["id"], err)
			continue
		}
		if want := number(c, "block_bytes_per_gpu"); m.Cache.BlockBytes != want {
			t.Errorf("%s %s: block of %.0f bytes, want %.0f", c["id"], c["model"], m.Cache.BlockBytes, want)
		}
		if m.KVTokens != int(number(c, "expect_kv_tokens")) {
			t.Errorf("%s %s: %d tokens, logged %s", c["id"], c["model"], m.KVTokens, c["expect_kv_tokens"])
		}
		if math.Abs(m.Concurrency-number(c, "expect_max_concurrency")) > 0.0051 {
			t.Errorf("%s %s: concurrency %.3f, logged %s", c["id"], c["model"], m.Concurrency, c["expect_max_concurrency"])
		}
		exact++
	}
	t.Logf("%d ledgers reproduced", exact)
}

// missed lists the ledgers whose cache is not predicted within 3 %, and why.
var missed = map[string]string{
	"KV010": "multimodal profile: 0.33 GiB more activation and 0.35 GiB more weights than the text model, of a cache of 19.5 GiB",
	"KV031": "2.5 GiB more weights than the checkpoint's share; the vision tower is not sharded, and more",
	"KV076": "multimodal profile of vLLM up to 0.16 ran fewer dummy sequences: 2.12 GiB activation where text models have 5",
	"KV079": "vLLM 0.6 profiled 29000 unchunked prompt tokens; no model of that version",
}

// From architecture and settings alone. The constants were read off Llama-3.1-8B, Qwen2.5-7B, Qwen3-14B and gpt-oss, and that the
// experts' workspace adds to the sampler's was seen on Mixtral; those families stay out of the score. It is still no blind test: the
// form of the activation model was chosen with the whole table in view, and the non-torch figures are those of all its H100 rows.
func TestMemoryPredictedFromConfig(t *testing.T) {
	seen := map[string]bool{"Llama-3.1-8B-Instruct": true, "Llama-3.1-8B": true, "Qwen2.5-7B-Instruct": true, "Qwen3-14B": true, "gpt-oss-20b": true, "gpt-oss-120b": true, "Mixtral-8x7B-Instruct-v0.1": true}
	var unseen, inside int
	var sum float64
	for _, c := range memoryCases(t) {
		if number(c, "kv_available_gib") <= 0 || number(c, "weights_gib") == 0 || number(c, "gpu_memory_utilization") == 0 {
			continue
		}
		a, p, err := caseModel(c)
		if err != nil || number(c, "total_mem_gib") == 0 {
			t.Logf("%s %s: not scored: model or memory not stated or not shipped", c["id"], c["model"])
			continue
		}
		in := caseInput(c)
		in.MaxLength = 0
		m, err := hardware.FitMemory(a, p, in)
		if err != nil {
			t.Errorf("%s %s: refused: %v", c["id"], c["model"], err)
			continue
		}
		want := number(c, "kv_available_gib") * gib
		if b := number(c, "expect_num_blocks"); b > 0 {
			want = b * m.Cache.BlockBytes
		}
		e := m.KVBytes/want - 1
		t.Logf("%s %s tp%d %s: cache %+.2f %%; GiB predicted (logged): weights %.2f (%s) activation %.2f (%s) non-torch %.2f (%s)", c["id"], c["model"],
			in.Split.Tensor, c["engine_version"], 100*e, m.Weights/gib, c["weights_gib"], m.Activation/gib, c["activation_gib"], m.NonTorch/gib, c["non_torch_gib"])
		within := math.Abs(e) <= 0.03
		if why, known := missed[c["id"]]; known == within {
			t.Errorf("%s: within 3 %% is %v; known miss: %q", c["id"], within, why)
		}
		if !seen[c["family"]] {
			unseen++
			sum += math.Abs(e)
			if within {
				inside++
			}
		}
	}
	t.Logf("families the constants have not seen: %d of %d rows within 3 %%, mean absolute error %.2f %%", inside, unseen, 100*sum/float64(unseen))
}

// Every ledger that states bytes for a token, or a cache and what it holds, against the architecture that ships.
func TestMemoryBytesPerToken(t *testing.T) {
	checked := 0
	for _, c := range memoryCases(t) {
		name, _, _ := strings.Cut(c["model"], " (")
		c["model"] = name
		a, p, err := caseModel(c)
		if err != nil || number(c, "kv_bytes_per_token_per_gpu") == 0 {
			t.Logf("%s %s: not compared: bytes for a token or model not stated, or not shipped", c["id"], c["model"])
			continue
		}
		tp := max(1, int(number(c, "tp")))
		if c["id"] == "KV082" {
			tp = 1 // the engine's own message counts the unsharded size
		}
		if c["id"] == "KV100" {
			a.Layers, a.MLA.IndexHeads = 79, 0 // GGUF counts the token-prediction layer; llama.cpp kept no index cache
		}
		got := a.KVBytesPerToken(p.KV, tp) / max(1, number(c, "pp"))
		if c["id"] == "KV085" {
			got *= number(c, "pp") // the engine charged all layers to one stage, a bug of it
		}
		want := number(c, "kv_bytes_per_token_per_gpu")
		if got != want {
			t.Errorf("%s %s: %.0f bytes a token, logged %.0f", c["id"], c["model"], got, want)
			continue
		}
		checked++
		kv, tokens := number(c, "kv_available_gib"), number(c, "expect_kv_tokens")
		if level := c["check_level"]; tokens > 0 && (level == "exact_blocks_given_kv" || level == "exact_tokens_given_kv") {
			if d := math.Abs(kv*gib/want - tokens); d*want > 0.011*gib { // the log rounds the cache to 0.01 GiB
				t.Errorf("%s %s: %.2f GiB hold %.0f tokens, logged %.0f", c["id"], c["model"], kv, kv*gib/want, tokens)
			}
		}
	}
	t.Logf("%d rows compared", checked)
}

// The ledgers of deployments that did not start, as far as memory or degrees of parallelism were why.
func TestMemoryRefusals(t *testing.T) {
	for _, c := range memoryCases(t) {
		switch c["id"] {
		case "KV062", "KV077", "KV080", "KV134":
		default:
			continue
		}
		a, p, err := caseModel(c)
		if err != nil {
			t.Fatal(err)
		}
		in := caseInput(c)
		if in.MemoryBytes == 0 {
			in.MemoryBytes = map[string]float64{"H100-80GB": 79.19 * gib, "Ascend 64GB": 61 * gib}[c["gpu"]]
		}
		if c["id"] == "KV080" { // started with unchunked prefill; take the log's cache
			in.Blocks = int(number(c, "expect_num_blocks"))
		}
		if _, err := hardware.FitMemory(a, p, in); err == nil {
			t.Errorf("%s %s: accepted, but the engine said %s", c["id"], c["model"], c["expect_outcome"])
		} else {
			t.Logf("%s: %v (engine: %s)", c["id"], err, c["expect_outcome"])
		}
	}
}
