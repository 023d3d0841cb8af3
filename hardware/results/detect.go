package results

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
)

// maxFileBytes bounds what is read into memory.
const maxFileBytes = 2 << 30

// input is a file on its way through a reader: its bytes and, for JSON formats, its decoded documents.
type input struct {
	data      []byte
	docs      []any
	truncated bool
}

// format is one file format. detect sees the first document of a JSON file, and nil for a text file.
type format struct {
	name   string
	detect func(first any, in *input) bool
	read   func(in *input) ([]*Run, error)
}

// formats in the order of detection: the more specific first.
func formats() []format {
	return []format{
		{"scoville", isOwn, readOwn},
		{"mlperf", isMLPerf, readMLPerf},
		{"guidellm", isGuideLLM, readGuideLLM},
		{"inference-perf", isInferencePerf, readInferencePerf},
		{"inference-perf requests", isInferencePerfRequests, readInferencePerfRequests},
		{"inference-perf prometheus", isInferencePerfPrometheus, refusePrometheus},
		{"aiperf records", isAIPerfRecords, readAIPerfRecords},
		{"aiperf telemetry", isAIPerfTelemetry, refuseTelemetry},
		{"perf_analyzer", isPerfAnalyzer, readPerfAnalyzer},
		{"aiperf", isAIPerf, readAIPerf},
		{"genai-perf csv", isPerfCSV, readPerfCSV},
		{"guidellm csv", isGuideLLMCSV, refuseGuideLLMCSV},
		{"llm-d report", isUniversal, readUniversal},
		{"sglang", isSGLang, readSGLang},
		{"vllm serve", isVLLMServe, readVLLMServe},
		{"vllm latency", isVLLMLatency, readVLLMLatency},
		{"vllm throughput", isVLLMThroughput, readVLLMThroughput},
		{"llmperf summary", isLLMPerfSummary, readLLMPerfSummary},
		{"llmperf requests", isLLMPerfRequests, readLLMPerfRequests},
		{"llama-bench", isLlamaBench, readLlamaBench},
		{"llama-batched-bench", isBatchedBench, readBatchedBench},
		{"csv", isGenericCSV, readGenericCSV},
	}
}

// ReadFile reads a result file of any known tool. A file may hold several runs.
func ReadFile(path string) ([]*Run, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s: is a folder, not a result file", path)
	}
	if info.Size() > maxFileBytes {
		return nil, fmt.Errorf("%s: %d bytes; at most %d are read", path, info.Size(), maxFileBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Read(path, data)
}

// Read finds the format of data by its content and reads it. name is for messages only.
func Read(name string, data []byte) ([]*Run, error) {
	in := &input{data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))}
	f, err := find(in)
	if err != nil {
		return nil, &RefusedError{name, err.Error()}
	}
	runs, err := f.read(in)
	if err != nil {
		var refused *RefusedError
		if errors.As(err, &refused) {
			return nil, &RefusedError{name, refused.Reason}
		}
		return nil, &RefusedError{name, f.name + ": " + err.Error()}
	}
	if len(runs) == 0 {
		return nil, &RefusedError{name, f.name + ": holds no run"}
	}
	for _, r := range runs {
		r.File = name
		if in.truncated {
			r.warn("the last document of the file is cut off and was left out")
		}
	}
	return runs, nil
}

// Detect names the format of data.
func Detect(data []byte) (string, error) {
	f, err := find(&input{data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))})
	if err != nil {
		return "", err
	}
	return f.name, nil
}

func find(in *input) (*format, error) {
	text := bytes.TrimSpace(in.data)
	if len(text) == 0 {
		return nil, errors.New("the file is empty")
	}
	var first any
	var broken error
	switch {
	case text[0] == '{' || text[0] == '[':
		in.docs, in.truncated, broken = documents(in.data)
	case looksYAML(text):
		var v any
		if v, broken = parseYAML(string(text)); broken == nil {
			in.docs = []any{v}
		}
	}
	if broken != nil {
		return nil, broken
	}
	if len(in.docs) > 0 {
		first = in.docs[0]
	}
	all := formats()
	for i := range all {
		if all[i].detect(first, in) {
			return &all[i], nil
		}
	}
	return nil, fmt.Errorf("not a result file of a known tool (known: %s)", strings.Join(formatNames(), ", "))
}

func formatNames() []string {
	var names []string
	for _, f := range formats() {
		names = append(names, f.name)
	}
	return names
}

// eachObject calls f on every object of the documents, looking into top-level arrays.
func (in *input) eachObject(f func(d doc) error) error {
	for _, v := range in.docs {
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		for _, x := range list {
			d := asDoc(x)
			if d == nil {
				return fmt.Errorf("holds %T where an object is expected", x)
			}
			if err := f(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// firstObject is the first object, within an array or not.
func firstObject(first any) doc {
	if l, ok := first.([]any); ok && len(l) > 0 {
		return asDoc(l[0])
	}
	return asDoc(first)
}

// parameters keeps the scalars of d that no field of Run holds, and nothing that could be a secret.
func parameters(d doc, skip func(key string) bool) map[string]string {
	out := map[string]string{}
	for k, v := range d {
		if s, ok := scalarText(v); ok && !skip(k) && !secret(k) && len(s) <= 300 {
			out[k] = s
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func secret(key string) bool {
	k := strings.ToLower(key)
	for _, w := range []string{"api_key", "apikey", "token_key", "password", "secret", "authorization", "auth_token", "hf_token", "ssl_key", "admin_key", "credential"} {
		if strings.Contains(k, w) {
			return true
		}
	}
	return false
}
