package main

// examplesOf are the examples of commands whose description has none of its own.
func examplesOf(command string) []string {
	switch command {
	case "models list":
		return []string{"scoville models list"}
	case "models show":
		return []string{"scoville models show llama-3.1-70b --tp 4 --kv fp8"}
	case "models import":
		return []string{"scoville models import config.json --name my-model -o my-model.toml"}
	case "workload list":
		return []string{"scoville workload list"}
	case "workload describe":
		return []string{"scoville workload describe chat", "scoville workload describe requests.csv.gz --plot requests.png"}
	case "workload fit":
		return []string{"scoville workload fit requests.csv.gz --name support-bot -o support-bot-traffic.toml"}
	case "workload generate":
		return []string{"scoville workload generate chat --rate 5 --requests 1000 --seed 7 -o chat.csv.gz"}
	case "workload metrics":
		return []string{"scoville workload metrics metrics-10h.txt metrics-11h.txt --seconds 3600 -o observed.toml",
			"scoville workload metrics --prometheus http://localhost:9090 --window 24h -o observed.toml"}
	case "workload users":
		return []string{"scoville workload users --daily-active 200000 --requests 5 --peak-factor 2 --growth 0.05 --months 12"}
	case "profiles list":
		return []string{"scoville profiles list"}
	case "profiles show":
		return []string{"scoville profiles show h100-sxm", "scoville profiles show vllm@0.11"}
	case "profiles derive":
		return []string{"scoville profiles derive --chip h100-sxm --gemm gemm.csv --decode decode.csv -o h100-curves.toml"}
	case "prices list":
		return []string{"scoville prices list --chip h100-sxm --as-of 2026-11-30", "scoville prices list --tier purchase"}
	case "prices regions":
		return []string{"scoville prices regions"}
	case "breakeven target":
		return []string{"scoville breakeven target examples/jalapeno-target.toml"}
	case "validate":
		return []string{"scoville validate --data measured --out accuracy.md --plots pictures", "scoville validate --data measured --max-error limits.toml"}
	case "bench":
		return []string{"scoville bench http://localhost:8000 --chip h100-sxm --engine vllm --engine-version 0.11 --power nvidia-smi -o h100.jsonl",
			"scoville bench http://localhost:8000 --rate 5 --requests 500 --input 512 --output-tokens 128"}
	case "import":
		return []string{"scoville import benchmark_serving.json", "scoville import results/*.json --format csv"}
	case "gate":
		return []string{"scoville gate today.jsonl --baseline last-release.jsonl"}
	}
	return nil
}
