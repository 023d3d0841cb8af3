package profiles

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"

	"scoville/model/llm"
	"scoville/model/tomlfile"
)

// ModelProfile is one shipped architecture with the precision its publisher releases it in.
type ModelProfile struct {
	llm.Architecture
	Aliases   []string  `toml:"aliases" json:"aliases,omitempty"`
	Released  string    `toml:"released" json:"released"`                                // YYYY-MM
	Weights   llm.DType `toml:"weights,omitempty,omitzero" json:"weights,omitempty"`     // as released; empty: bf16
	Attention llm.DType `toml:"attention,omitempty,omitzero" json:"attention,omitempty"` // of attention projections where it differs
	Dense     llm.DType `toml:"dense,omitempty,omitzero" json:"dense,omitempty"`         // of dense feed-forward and shared experts where it differs
}

type modelFile struct {
	Model []ModelProfile `toml:"model"`
}

// Models reads every shipped architecture, in the order of the files' names and of the entries within.
func Models() ([]ModelProfile, error) {
	all, err := shippedModels()
	return slices.Clone(all), err
}

// shippedModels decodes the embedded files once; a validation run asks for models thousands of times.
var shippedModels = sync.OnceValues(decodeShippedModels)

func decodeShippedModels() ([]ModelProfile, error) {
	entries, err := fs.ReadDir(files, "models")
	if err != nil {
		return nil, err
	}
	var all []ModelProfile
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".toml") {
			continue
		}
		path := "models/" + e.Name()
		data, err := files.ReadFile(path)
		if err != nil {
			return nil, err
		}
		some, err := DecodeModels("profiles/"+path, data)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// DecodeModels reads a file of [[model]] entries and checks each.
func DecodeModels(name string, data []byte) ([]ModelProfile, error) {
	var f modelFile
	if err := tomlfile.Decode(name, data, &f); err != nil {
		return nil, err
	}
	for _, m := range f.Model {
		if err := m.Validate(); err != nil {
			return nil, fmt.Errorf("%s: model %q: %w", name, m.Name, err)
		}
		if err := m.Precision().Check(); err != nil {
			return nil, fmt.Errorf("%s: model %q: %w", name, m.Name, err)
		}
	}
	return f.Model, nil
}

// Precision is what the publisher releases the model in, with a 16-bit cache.
func (m ModelProfile) Precision() llm.Precision {
	if m.Weights == "" {
		return llm.NewPrecision(llm.BF16)
	}
	p := llm.NewPrecision(m.Weights)
	p.Attention, p.Dense = m.Attention, m.Dense
	return p
}

// Model finds an architecture by name: the shipped one ("llama-3.1-8b"), that of its repository
// ("meta-llama/Llama-3.1-8B-Instruct"), or one that benchmarks use ("LLaMA v3.1 8B"), each with an optional suffix that names a
// quantisation ("-FP8", "-NVFP4", "-AWQ", "-quantized.w8a8"), which then decides the precision.
func Model(name string) (llm.Architecture, llm.Precision, error) {
	all, err := Models()
	if err != nil {
		return llm.Architecture{}, llm.Precision{}, err
	}
	index := map[string]int{}
	var known []string
	for i, m := range all {
		for _, n := range append([]string{m.Name, m.HuggingFace}, m.Aliases...) {
			key := modelKey(n)
			if _, taken := index[key]; !taken {
				index[key] = i
				known = append(known, key)
			}
		}
	}
	base, weights, activations := modelKey(name), llm.DType(""), llm.DType("")
	for {
		if i, ok := index[base]; ok {
			return all[i].Architecture, quantise(all[i], weights, activations), nil
		}
		rest, w, act, ok := cutQuantisation(base)
		if !ok {
			break
		}
		if weights == "" {
			weights, activations = w, act
		}
		base = rest
	}
	if near := tomlfile.Nearest(base, known); near != "" {
		return llm.Architecture{}, llm.Precision{}, fmt.Errorf("unknown model %q (did you mean %q?)", name, all[index[near]].Name)
	}
	return llm.Architecture{}, llm.Precision{}, fmt.Errorf("unknown model %q; scoville models list names the %d shipped ones, scoville models import reads a config.json", name, len(all))
}

// quantise is the precision of a model under the quantisation its name asks for, or as released.
func quantise(m ModelProfile, weights, activations llm.DType) llm.Precision {
	native := m.Precision()
	if weights == "" {
		return native
	}
	p := llm.NewPrecision(weights)
	p.Activations = activations
	switch {
	case weights == native.Weights:
		p.Attention, p.Dense = native.Attention, native.Dense
	case weights == llm.FP4 && m.MLA.KVRank > 0:
		p.Attention = llm.BF16 // NVIDIA's FP4 checkpoints leave latent attention in 16 bits
	}
	return p
}

var separators = regexp.MustCompile(`[\s_]+`)

// modelKey folds case, spaces and the owner of a repository.
func modelKey(name string) string {
	k := separators.ReplaceAllString(strings.ToLower(strings.TrimSpace(name)), "-")
	if i := strings.LastIndex(k, "/"); i >= 0 {
		k = k[i+1:]
	}
	return k
}

// quantisationSuffix is an ending of a checkpoint's name that tells its number formats.
var quantisationSuffixes = []struct {
	ending               string
	weights, activations llm.DType
}{
	{"-quantized.w8a8", llm.INT8, llm.INT8}, {"-quantized.w4a16", llm.INT4, llm.BF16}, {"-quantized.w8a16", llm.INT8, llm.BF16},
	{"-gptq-int8", llm.INT8, llm.BF16}, {"-gptq-int4", llm.INT4, llm.BF16}, {"-awq-int4", llm.INT4, llm.BF16},
	{"-fp8-dynamic", llm.FP8, llm.FP8}, {"-fp8-block", llm.FP8, llm.FP8}, {"-fp8-dyn", llm.FP8, llm.FP8}, {"-fp8-pre", llm.FP8, llm.FP8},
	{"-fp8-quark", llm.FP8, llm.FP8}, {"-fp8-trtllm", llm.FP8, llm.FP8}, {"-fp8-kv", llm.FP8, llm.FP8}, {"-fp8", llm.FP8, llm.FP8},
	{"-nvfp4", llm.FP4, llm.FP4}, {"-fp4", llm.FP4, llm.FP4}, {"-mxfp4", llm.MXFP4, llm.BF16},
	{"-w8a8", llm.INT8, llm.INT8}, {"-w8a16", llm.INT8, llm.BF16}, {"-w4a16", llm.INT4, llm.BF16}, {"-int8", llm.INT8, llm.INT8},
	{"-int4", llm.INT4, llm.BF16}, {"-awq", llm.INT4, llm.BF16}, {"-gptq", llm.INT4, llm.BF16}, {"-4bit", llm.INT4, llm.BF16},
	{"-8bit", llm.INT8, llm.BF16}, {"-bf16", llm.BF16, llm.BF16}, {"-fp16", llm.BF16, llm.BF16},
}

// cutQuantisation takes one ending off a name; "-instruct", "-chat", "-it", "-base" and "-hf" are endings that change no number
// format. The first formats found, from the right, hold.
func cutQuantisation(name string) (rest string, weights, activations llm.DType, ok bool) {
	for _, q := range quantisationSuffixes {
		if rest, ok := strings.CutSuffix(name, q.ending); ok {
			return rest, q.weights, q.activations, true
		}
	}
	for _, plain := range []string{"-instruct", "-chat", "-it", "-base", "-hf"} {
		if rest, ok := strings.CutSuffix(name, plain); ok {
			return rest, "", "", true
		}
	}
	return "", "", "", false
}
