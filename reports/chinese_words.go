package reports

func chineseWords() map[string]string {
	return map[string]string{
		"#": "#", "candidate": "候选方案", "chips": "芯片数", "chip": "芯片", "by division": "相除法", "nodes": "节点数", "peak kW": "峰值 kW", "req/s per replica": "每副本请求/秒",
		"$/M tokens": "每百万 token 美元", "P10–P90": "P10–P90", "TCO": "TCO", "none": "无", "quantity": "项目", "value": "数值", "engine": "引擎", "TP × PP × EP": "TP × PP × EP",
		"chips a replica": "每副本芯片数", "replicas + spares": "副本 + 备用", "replicas with no headroom": "无余量时的副本数", "capacity, requests/s a replica": "容量，每副本请求/秒",
		"saturation, requests/s a replica": "饱和，每副本请求/秒", "output tokens/s a replica": "每副本输出 token/秒", "weights a chip": "每芯片权重", "KV cache a chip": "每芯片 KV 缓存",
		"mean requests that fit": "可容纳的平均请求数", "facility kW": "机房 kW", "availability": "可用性", "figures rest on": "数据来源类别", "probability": "概率",
		"against": "对比", "assumption": "假设", "now": "当前", "equal at": "相等于", "unit": "单位", "never": "不存在", "setting": "设置", "group": "类别", "kind": "种类", "source": "来源", "date": "日期",
		"measured": "实测", "datasheet": "规格书", "estimate": "估计", "hypothetical": "假想", "default": "默认", "workload": "负载", "peak rate": "峰值请求率", "how the peak came about": "峰值的由来",
		"mean rate over the day": "全天平均请求率", "arrivals": "到达", "input tokens, mean and p99": "输入 token，均值与 p99", "output tokens, mean and p99": "输出 token，均值与 p99",
		"input shared with other requests": "与其他请求共享的输入", "model": "模型", "parameters": "参数量", "active parameters": "激活参数量", "weights": "权重", "KV cache a token": "每 token KV 缓存", "activations": "激活精度",
		"question": "问题", "answer": "回答", "unknown": "未知", "req/s": "请求/秒", "within SLA": "SLA 内", "busy": "忙碌", "batch": "批大小", "KV": "KV", "verdict": "判定",
		"unstable": "不稳定", "not converged": "未收敛", "meets the SLA": "满足 SLA", "misses the SLA": "不满足 SLA", "latency": "延迟", "mean": "均值",
		"$/M input tokens": "每百万输入 token 美元", "$/M cached input tokens": "每百万缓存输入 token 美元", "$/M output tokens": "每百万输出 token 美元", "$/M tokens at full load": "满载时每百万 token 美元",
		"$ a request": "每请求美元", "NPV of the cost": "成本净现值", "a month": "每月", "utilisation": "利用率", "tokens a dollar": "每美元 token 数", "tokens/s a watt": "每瓦 token/秒",
		"joules a token": "每 token 焦耳", "kWh/M tokens": "每百万 token kWh", "kg CO2e/M tokens": "每百万 token kg CO2e", "component": "组成", "US dollars": "美元", "share": "占比",
		"correlation": "相关系数", "month": "月份", "replicas": "副本数", "throughput": "吞吐量", "within calibrated range": "在标定范围内", "basis": "依据", "no": "否", "yes": "是",
		"term": "术语", "meaning": "含义", "Glossary": "术语表", "Comparison": "对比", "Capacity": "容量", "Cost %d": "成本 %d", "Months %d": "逐月 %d", "note": "备注", "as planned": "计划值",
		"per $ of price": "每美元单价", "per $ of energy": "每美元电费", "input": "输入项", "input tokens": "输入 token", "output tokens": "输出 token", "IT kWh": "IT kWh",
		"input tokens over the horizon": "规划期输入 token", "output tokens over the horizon": "规划期输出 token", "IT energy over the horizon, kWh": "规划期 IT 能耗，kWh",
		"energy bill: IT kWh × PUE × tariff": "电费：IT kWh × PUE × 电价", "energy bill as planned": "计划电费", "all": "合计", "spent so far": "累计支出", "all other": "其他", "%": "%", "buy": "购买", "rent": "租用",
		"PUE": "PUE", "power tariff": "电价", "accelerator price": "加速器单价", "rent per chip-hour": "每芯片小时租金", "capex": "资本支出", "opex": "运营支出",
		"accelerators": "加速器", "hosts": "主机", "network": "网络", "racks": "机架", "facility": "机房", "storage": "存储", "installation": "安装", "spare parts": "备件", "sales tax": "销售税", "energy": "电费", "colocation": "托管",
		"maintenance": "维护", "software": "软件", "hosting": "主机托管", "staff": "人员", "bandwidth": "带宽", "property tax": "财产税", "tax on running cost": "运营税", "hosts and network": "主机与网络", "lifetime": "使用年限", "cost of capital": "资本成本",
		"traffic": "流量", "hardware": "硬件", "cost": "成本", "simulation": "仿真", "fleet": "集群", "sla": "SLA", "finished": "完成", "waiting": "等待", "running": "运行", "KV use": "KV 占用", "kv": "KV 占用", "queue": "队列", "output": "输出",
		"requests": "请求", "sequences": "序列", "requests/s": "请求/秒", "tokens/s": "token/秒", "least outstanding requests": "最少未完成请求", "least-outstanding": "最少未完成请求", "no tariff makes them equal": "没有电价使两者相等", "speed": "速度",
	}
}

func chineseGlossary() map[string]string {
	return map[string]string{
		"TTFT": "TTFT", "TPOT": "TPOT", "ITL": "ITL", "E2E": "E2E", "p99": "p99", "P10, P90": "P10、P90", "goodput": "有效吞吐", "capacity": "容量", "saturation": "饱和", "interactivity": "交互性", "replica": "副本", "spare": "备用", "KV cache": "KV 缓存",
		"time to first token: from the request sent to its first generated token":                      "首 token 时间：从发出请求到生成第一个 token",
		"time per output token of a request: (E2E - TTFT) / (output tokens - 1)":                       "请求的每输出 token 时间：(E2E − TTFT) / (输出 token 数 − 1)",
		"gap between two tokens of a request; its percentiles are over gaps":                           "请求相邻两个 token 的间隔；其百分位按间隔计算",
		"from the request sent to its last token":                                                      "从发出请求到最后一个 token",
		"the value that 99 % of requests do not exceed":                                                "99% 的请求不超过的值",
		"requests a second that meet all limits of the SLA at once":                                    "同时满足 SLA 全部限值的每秒请求数",
		"the highest load one replica holds with every limit of the SLA met":                           "一个副本在满足 SLA 全部限值时可承载的最高负载",
		"the rate a replica completes when offered more than it can do":                                "负载超出能力时副本的完成率",
		"1 / TPOT: tokens a second that one user sees":                                                 "1 / TPOT：一个用户看到的每秒 token 数",
		"one copy of the model serving requests":                                                       "提供服务的一份模型",
		"busy time over available time; of a fleet: mean load over the load it holds within the SLA":   "忙碌时间与可用时间之比；对集群：平均负载与 SLA 内可承载负载之比",
		"a replica kept for failures, beyond what the peak needs":                                      "峰值所需之外、为故障预留的副本",
		"keys and values of past tokens, kept in the chips' memory":                                    "已处理 token 的键与值，保存在芯片显存中",
		"facility power over the power of the IT equipment":                                            "机房总功率与 IT 设备功率之比",
		"total cost of ownership over the horizon: what is bought less what is left, plus what is run": "规划期内的总拥有成本：购置减残值，加运营",
		"one draw in ten lies below P10, one in ten above P90":                                         "十分之一的抽样低于 P10，十分之一高于 P90",
	}
}
