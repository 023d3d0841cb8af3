package realengine

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"scoville/model/random"
)

// Shape is a small llama architecture. Weights are FP32 and the output head is the embedding.
type Shape struct {
	Layers, Hidden, Heads, KVHeads, Intermediate, Vocabulary, Context int
	Seed                                                              uint64
}

// GGUF version 3, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md: a header, metadata pairs, a table of tensors, then the
// tensors, each aligned to 32 bytes. Everything is little-endian.
const (
	ggufVersion   = 3
	ggufAlignment = 32

	typeUint32  = 4
	typeInt32   = 5
	typeFloat32 = 6
	typeBool    = 7
	typeString  = 8
	typeArray   = 9

	tensorFloat32 = 0
)

type tensor struct {
	name string
	rows []int // row length first
}

func (t tensor) values() int {
	n := 1
	for _, d := range t.rows {
		n *= d
	}
	return n
}

// tensors are those that llama.cpp asks of a llama model.
func (s Shape) tensors() []tensor {
	kv := s.Hidden / s.Heads * s.KVHeads
	list := []tensor{{"token_embd.weight", []int{s.Hidden, s.Vocabulary}}, {"output_norm.weight", []int{s.Hidden}}}
	for i := range s.Layers {
		block := func(name string, rows ...int) {
			list = append(list, tensor{fmt.Sprintf("blk.%d.%s.weight", i, name), rows})
		}
		block("attn_norm", s.Hidden)
		block("attn_q", s.Hidden, s.Hidden)
		block("attn_k", s.Hidden, kv)
		block("attn_v", s.Hidden, kv)
		block("attn_output", s.Hidden, s.Hidden)
		block("ffn_norm", s.Hidden)
		block("ffn_gate", s.Hidden, s.Intermediate)
		block("ffn_up", s.Hidden, s.Intermediate)
		block("ffn_down", s.Intermediate, s.Hidden)
	}
	return list
}

// WriteModel writes a model file that llama.cpp loads. The same shape gives the same bytes.
func WriteModel(w io.Writer, s Shape) error {
	if s.Heads == 0 || s.KVHeads == 0 || s.Hidden%s.Heads != 0 || s.Heads%s.KVHeads != 0 || s.Vocabulary < 300 {
		return fmt.Errorf("shape %+v: heads must divide the width, key-value heads the heads, and the vocabulary must hold 300 tokens or more", s)
	}
	o := &output{w: bufio.NewWriterSize(w, 1<<20)}
	list := s.tensors()
	meta := s.metadata()
	o.bytes([]byte("GGUF"))
	o.number(uint32(ggufVersion))
	o.number(uint64(len(list)))
	o.number(uint64(len(meta)))
	for _, m := range meta {
		o.text(m.key)
		o.value(m.value)
	}
	at := uint64(0)
	for _, t := range list {
		o.text(t.name)
		o.number(uint32(len(t.rows)))
		for _, d := range t.rows {
			o.number(uint64(d))
		}
		o.number(uint32(tensorFloat32))
		o.number(at)
		at += (uint64(t.values())*4 + ggufAlignment - 1) / ggufAlignment * ggufAlignment
	}
	o.align()
	for _, t := range list {
		o.weights(t, random.New(s.Seed, 0, t.name))
		o.align()
	}
	if o.err != nil {
		return o.err
	}
	return o.w.Flush()
}

type pair struct {
	key   string
	value any
}

func (s Shape) metadata() []pair {
	tokens, scores, kinds := s.vocabulary()
	return []pair{
		{"general.architecture", "llama"},
		{"general.name", "random weights"},
		{"general.file_type", uint32(0)},
		{"llama.context_length", uint32(s.Context)},
		{"llama.embedding_length", uint32(s.Hidden)},
		{"llama.block_count", uint32(s.Layers)},
		{"llama.feed_forward_length", uint32(s.Intermediate)},
		{"llama.attention.head_count", uint32(s.Heads)},
		{"llama.attention.head_count_kv", uint32(s.KVHeads)},
		{"llama.attention.layer_norm_rms_epsilon", float32(1e-5)},
		{"llama.rope.dimension_count", uint32(s.Hidden / s.Heads)},
		{"llama.vocab_size", uint32(s.Vocabulary)},
		{"tokenizer.ggml.model", "llama"},
		{"tokenizer.ggml.tokens", tokens},
		{"tokenizer.ggml.scores", scores},
		{"tokenizer.ggml.token_type", kinds},
		{"tokenizer.ggml.bos_token_id", uint32(1)},
		{"tokenizer.ggml.eos_token_id", uint32(2)},
		{"tokenizer.ggml.unknown_token_id", uint32(0)},
		{"tokenizer.ggml.add_bos_token", false},
	}
}

// vocabulary is what llama.cpp's SentencePiece tokenizer needs at least: three special tokens, all 256 bytes to fall back on, and
// words, which nothing but their own text yields.
func (s Shape) vocabulary() (tokens []string, scores []float32, kinds []int32) {
	const normal, unknown, control, oneByte = 1, 2, 3, 6
	add := func(text string, kind int32) {
		scores = append(scores, -float32(len(tokens)))
		tokens, kinds = append(tokens, text), append(kinds, kind)
	}
	add("<unk>", unknown)
	add("<s>", control)
	add("</s>", control)
	for b := range 256 {
		add(fmt.Sprintf("<0x%02X>", b), oneByte)
	}
	add("\u2581", normal) // how SentencePiece writes a space
	for len(tokens) < s.Vocabulary {
		add(fmt.Sprintf("\u2581t%d", len(tokens)), normal)
	}
	return tokens, scores, kinds
}

// output keeps the first error and counts what was written.
type output struct {
	w   *bufio.Writer
	n   int
	err error
}

func (o *output) bytes(b []byte) {
	if o.err == nil {
		_, o.err = o.w.Write(b)
	}
	o.n += len(b)
}

func (o *output) number(v any) {
	b, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil && o.err == nil {
		o.err = err
	}
	o.bytes(b)
}

func (o *output) text(s string) {
	o.number(uint64(len(s)))
	o.bytes([]byte(s))
}

func (o *output) align() {
	if over := o.n % ggufAlignment; over > 0 {
		o.bytes(make([]byte, ggufAlignment-over))
	}
}

// value writes a metadata value with its type before it.
func (o *output) value(v any) {
	kind := func(k int) { o.number(uint32(k)) }
	array := func(k, n int) {
		kind(typeArray)
		kind(k)
		o.number(uint64(n))
	}
	switch v := v.(type) {
	case uint32:
		kind(typeUint32)
		o.number(v)
	case float32:
		kind(typeFloat32)
		o.number(v)
	case bool:
		kind(typeBool)
		o.number(v)
	case string:
		kind(typeString)
		o.text(v)
	case []string:
		array(typeString, len(v))
		for _, s := range v {
			o.text(s)
		}
	case []float32:
		array(typeFloat32, len(v))
		o.number(v)
	case []int32:
		array(typeInt32, len(v))
		o.number(v)
	default:
		o.err = fmt.Errorf("metadata of type %T", v)
	}
}

// weights are uniform with the spread that keeps activations of order one; norms are ones.
func (o *output) weights(t tensor, s *random.Stream) {
	const chunk = 4096
	n := t.values()
	half := math.Sqrt(3 / float64(t.rows[0]))
	row := make([]float32, 0, chunk)
	for i := range n {
		v := float32(1)
		if len(t.rows) > 1 {
			v = float32(half * (2*s.Float64() - 1))
		}
		if row = append(row, v); len(row) == chunk || i == n-1 {
			o.number(row)
			row = row[:0]
		}
	}
}
