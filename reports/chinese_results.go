package reports

import (
	"regexp"
	"strings"
)

// sentence is a form in which the planner words something, with its Chinese. $1 and so on stand for the parts, themselves translated.
type sentence struct {
	form    *regexp.Regexp
	chinese string
}

// chineseSentences are the sentences that a result brings, in the order they are tried. What matches none stays as it is.
func chineseSentences() []sentence {
	forms := [][2]string{
		// What binds.
		{`(decode rate|prefill rate|host overhead), (\d+) % of a busy replica's time at (\d+) % utilisation \((.*)\)`, `$1，占副本忙碌时间的 $2%，利用率 $3%（$4）`},
		{`latency, at (\d+) % utilisation and before any rate \((.*)\)`, `延迟：利用率 $1% 时，先于任何速率达到限值（$2）`},
		{`the cap of (\d+) sequences \((.*)\)`, `序列数上限 $1（$2）`},
		{`KV memory: the cache of (\S+) tokens is full \((.*)\)`, `KV 显存：$1 token 的缓存已满（$2）`},
		{`([A-Z0-9]+ (?:p[\d.]+|mean)) is (\S+) s, the limit is (\S+) s`, `$1 为 $2 秒，限值 $3 秒`},
		{`no load meets the SLA: (.*) is (\S+) s even when the replica is almost idle; the limit is (\S+) s`, `任何负载都不满足 SLA：即使副本几乎空闲，$1 仍为 $2 秒；限值为 $3 秒`},
		{`about (\d+) replicas are needed, above max_replicas = (\d+)`, `约需 $1 个副本，超过 max_replicas = $2`},
		{`(\S+) \((\S+)\) does not fit at tensor parallel (\d+): (.*)`, `$1（$2）在张量并行 $3 下放不下：$4`},
		// Warnings.
		{`(.*) is not in the total: no public figure stands behind a default, give your own`, `$1未计入总额：没有公开数据可作默认值，请自行给出`},
		{`(.*) \((\S+)\) is (\d+) days old on (\S+); prices older than (\d+) days need a fresh look \((.*)\)`, `$1（$2）截至 $4 已有 $3 天；超过 $5 天的价格需要重新核实（$6）`},
		{`one replication: the interval of the capacity is not known`, `只有一次重复：容量的置信区间未知`},
		{`the mean load is (\d+) % of what the fleet holds within its SLA; costs per token assume it is served anyway`, `平均负载为集群 SLA 内可承载负载的 $1%；每 token 成本假定这些负载仍被服务`},
		{`utilisation is (\S+) % in every hour of the horizon; traffic has nights and weekends, and real fleets are rarely above 60 to 70 %`, `规划期内每小时利用率均为 $1%；流量有夜间和周末，实际集群很少超过 60% 至 70%`},
		// Definitions.
		{`TCO: capex less residual plus opex over the horizon, not discounted\. NPV: the same cash discounted monthly\.`, `TCO：规划期内资本支出减残值加运营支出，未折现。NPV：同样的现金流按月折现。`},
		{`Capex is an annuity over each class's own life at (\S+) % a year, less its residual\.`, `资本支出按各类资产自身寿命、年利率 $1% 的年金计算，减去残值。`},
		{`Rented: there is no capex; the rent carries it\.`, `租用：没有资本支出，已含在租金中。`},
		{`\$/M tokens \(both\): TCO over all useful input and output tokens of the horizon, cached input included\.`, `每百万 token 美元（合计）：TCO 除以规划期内全部有效输入与输出 token，含缓存输入。`},
		{`\$/M output tokens, all cost: the same TCO over output tokens alone\.`, `每百万输出 token 美元（全部成本）：同一 TCO 只除以输出 token。`},
		{`By price ratio: an output token costs (\S+) times an uncached input token, a cached one (\S+) times it; the three sum to the TCO\.`, `按价格比：一个输出 token 的价格是未缓存输入 token 的 $1 倍，缓存 token 是其 $2 倍；三者之和等于 TCO。`},
		{`By chip-seconds: uncached input pays the (\S+) % of busy time that prefill took in the simulation, output the rest\.`, `按芯片秒：未缓存输入承担仿真中预填充占用的 $1% 忙碌时间，其余由输出承担。`},
		{`At 100 %: the same fleet at its SLA-bounded load in every hour; it is a lower bound, not a price\.`, `100% 时：同一集群每小时都处于 SLA 内的满负载；这是下限，不是价格。`},
		{`J and kWh are at the facility: accelerators \(idle and spares included\), node overhead, network, times PUE\.`, `焦耳与 kWh 以机房计：加速器（含空闲与备用）、节点开销、网络，再乘以 PUE。`},
		{`by simulated chip-seconds of prefill and decode`, `按仿真的预填充与解码芯片秒`},
		{`by price ratio: an output token costs a fixed multiple of an input token`, `按价格比：一个输出 token 的成本是输入 token 的固定倍数`},
		// A buyer's questions.
		{`Does the stack run this model and precision\?`, `软件栈能否以该精度运行此模型？`},
		{`How mature is it\?`, `成熟度如何？`},
		{`Do memory capacity and bandwidth meet the need\?`, `显存容量与带宽是否满足需要？`},
		{`What does a chip cost\?`, `一块芯片多少钱？`},
		{`What do integration and migration take\?`, `集成与迁移需要什么？`},
		{`unknown: nothing public in the profiles`, `未知：配置文件中没有公开资料`},
		// Inputs.
		{`mean ([\d.]+), p99 ([\d.]+)`, `均值 $1，p99 $2`},
		{`([\d.]+) requests/s`, `$1 请求/秒`},
		{`([\d.]+) USD a chip`, `每芯片 $1 美元`},
		{`([\d.]+) USD a chip-hour`, `每芯片小时 $1 美元`},
		{`(\d+) years`, `$1 年`},
		{`rent, (.*)`, `租金，$1`},
		{`5 % of the run and at least three of the longest requests`, `运行的 5%，且不少于最长请求的三倍`},
		{`given as peak_qps`, `由 peak_qps 给出`},
		{`median of (\d+) offers from (\S+) to (\S+) USD: (.*)`, `$1 个报价的中位数（$2 至 $3 美元）：$4`},
	}
	out := make([]sentence, len(forms))
	for i, f := range forms {
		out[i] = sentence{regexp.MustCompile("^" + f[0] + "$"), f[1]}
	}
	return out
}

func chineseInputs() map[string]string {
	return map[string]string{
		"decode rate": "解码速率", "prefill rate": "预填充速率", "host overhead": "主机开销", "peak": "峰值", "mean over the day": "全天平均",
		"replications of the capacity search": "容量搜索的重复次数", "requests of one run": "单次运行的请求数", "requests of one fleet run": "单次集群运行的请求数",
		"warm-up left out": "剔除的预热", "seed": "随机种子", "routing": "路由", "availability asked for": "要求的可用性", "spare replicas": "备用副本",
		"dense BF16 peak": "BF16 稠密峰值", "memory": "显存", "memory bandwidth": "显存带宽", "power limit": "功率上限", "idle power": "空闲功率",
		"life of accelerators": "加速器寿命", "on-demand": "按需", "reserved": "预留", "spot": "竞价",
		"price of accelerators": "加速器价格", "price of hosts": "主机价格", "price of network": "网络价格", "electricity per kWh": "每 kWh 电价", "colocation per kW-month": "每 kW 月托管费",
		"rent of a chip-hour": "每芯片小时租金",
	}
}

// said translates a sentence that the result brings: whole, by its form, or after the name it is about.
func (w words) said(s string) string {
	if w.chinese == nil {
		return s
	}
	if z, ok := w.chinese[s]; ok {
		return z
	}
	for _, f := range w.sentences {
		m := f.form.FindStringSubmatch(s)
		if m == nil {
			continue
		}
		parts := make([]string, 0, 2*len(m))
		for i := len(m) - 1; i > 0; i-- {
			parts = append(parts, "$"+string(rune('0'+i)), w.said(m[i]))
		}
		return strings.NewReplacer(parts...).Replace(f.chinese)
	}
	if about, rest, ok := strings.Cut(s, ": "); ok {
		if z := w.said(rest); z != rest {
			return about + ": " + z
		}
	}
	return s
}
