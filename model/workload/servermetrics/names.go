package servermetrics

// quantity is something that several servers expose under names of their own.
type quantity string

// The quantities read.
const (
	ttft     quantity = "ttft"
	itl      quantity = "itl"
	tpot     quantity = "tpot"
	e2e      quantity = "e2e"
	queue    quantity = "queue"
	input    quantity = "input tokens"
	output   quantity = "output tokens"
	requests quantity = "requests"
	prompt   quantity = "prompt tokens"
	gen      quantity = "generated tokens"
	cached   quantity = "cached tokens"
	queried  quantity = "queried tokens"
	running  quantity = "running"
	waiting  quantity = "waiting"
)

type shape uint8

const (
	histogram shape = iota
	counter
	gauge
)

// metric is one name of a quantity.
type metric struct {
	of     quantity
	name   string // without _bucket, _sum, _count
	shape  shape
	scale  float64 // to seconds or tokens
	server string
}

// metrics lists the names, the preferred one of a quantity and server first. Sources: vLLM docs/design/metrics.md and its
// deprecations (#18354, #24110, #29330), SGLang docs/references/production_metrics.md, TGI docs, Triton metrics guide,
// Dynamo frontend metrics.
var metrics = []metric{
	{ttft, "vllm:time_to_first_token_seconds", histogram, 1, "vllm"},
	{itl, "vllm:inter_token_latency_seconds", histogram, 1, "vllm"},
	{itl, "vllm:time_per_output_token_seconds", histogram, 1, "vllm"}, // the name of the same gaps up to 0.10
	{tpot, "vllm:request_time_per_output_token_seconds", histogram, 1, "vllm"},
	{e2e, "vllm:e2e_request_latency_seconds", histogram, 1, "vllm"},
	{queue, "vllm:request_queue_time_seconds", histogram, 1, "vllm"},
	{input, "vllm:request_prompt_tokens", histogram, 1, "vllm"},
	{output, "vllm:request_generation_tokens", histogram, 1, "vllm"},
	{requests, "vllm:request_success_total", counter, 1, "vllm"},
	{requests, "vllm:request_success", counter, 1, "vllm"},
	{prompt, "vllm:prompt_tokens_total", counter, 1, "vllm"},
	{gen, "vllm:generation_tokens_total", counter, 1, "vllm"},
	{cached, "vllm:prefix_cache_hits_total", counter, 1, "vllm"},
	{cached, "vllm:gpu_prefix_cache_hits_total", counter, 1, "vllm"},
	{queried, "vllm:prefix_cache_queries_total", counter, 1, "vllm"},
	{queried, "vllm:gpu_prefix_cache_queries_total", counter, 1, "vllm"},
	{running, "vllm:num_requests_running", gauge, 1, "vllm"},
	{waiting, "vllm:num_requests_waiting", gauge, 1, "vllm"},

	{ttft, "sglang:time_to_first_token_seconds", histogram, 1, "sglang"},
	{itl, "sglang:inter_token_latency_seconds", histogram, 1, "sglang"},
	{itl, "sglang:time_per_output_token_seconds", histogram, 1, "sglang"},
	{e2e, "sglang:e2e_request_latency_seconds", histogram, 1, "sglang"},
	{requests, "sglang:num_requests_total", counter, 1, "sglang"},
	{prompt, "sglang:prompt_tokens_total", counter, 1, "sglang"},
	{gen, "sglang:generation_tokens_total", counter, 1, "sglang"},
	{cached, "sglang:cached_tokens_total", counter, 1, "sglang"},
	{running, "sglang:num_running_reqs", gauge, 1, "sglang"},
	{waiting, "sglang:num_queue_reqs", gauge, 1, "sglang"},

	{tpot, "tgi_request_mean_time_per_token_duration", histogram, 1, "tgi"},
	{e2e, "tgi_request_duration", histogram, 1, "tgi"},
	{queue, "tgi_request_queue_duration", histogram, 1, "tgi"},
	{input, "tgi_request_input_length", histogram, 1, "tgi"},
	{output, "tgi_request_generated_tokens", histogram, 1, "tgi"},
	{requests, "tgi_request_success", counter, 1, "tgi"},
	{running, "tgi_batch_current_size", gauge, 1, "tgi"},
	{waiting, "tgi_queue_size", gauge, 1, "tgi"},

	{ttft, "nv_inference_first_response_histogram_ms", histogram, 1e-3, "triton"},
	{requests, "nv_inference_request_success", counter, 1, "triton"},
	{waiting, "nv_inference_pending_request_count", gauge, 1, "triton"},

	{ttft, "dynamo_frontend_time_to_first_token_seconds", histogram, 1, "dynamo"},
	{itl, "dynamo_frontend_inter_token_latency_seconds", histogram, 1, "dynamo"},
	{e2e, "dynamo_frontend_request_duration_seconds", histogram, 1, "dynamo"},
	{input, "dynamo_frontend_input_sequence_tokens", histogram, 1, "dynamo"},
	{output, "dynamo_frontend_output_sequence_tokens", histogram, 1, "dynamo"},
	{requests, "dynamo_frontend_requests_total", counter, 1, "dynamo"},
	{running, "dynamo_frontend_inflight_requests", gauge, 1, "dynamo"},
	{waiting, "dynamo_frontend_queued_requests", gauge, 1, "dynamo"},
}

// servers in the order of preference: a front end sees what clients see, the engine behind it does not.
var servers = []string{"dynamo", "vllm", "sglang", "tgi", "triton"}

// modelLabels are the labels that name the model, by server.
var modelLabels = []string{"model_name", "model"}
