package results

import (
	"bytes"
	"encoding/csv"
	"strings"
)

// The CSV of AIPerf and GenAI-Perf: a block of distributions, a blank line, a block of single values. Labels carry the unit:
// "Time to First Token (ms)". GenAI-Perf writes thousands separators.

func isPerfCSV(first any, in *input) bool {
	return first == nil && hasPrefixFold(in.data, "Metric,avg") || first == nil && hasPrefixFold(in.data, "Metric,Value")
}

func hasPrefixFold(data []byte, prefix string) bool {
	return len(data) >= len(prefix) && bytes.EqualFold(data[:len(prefix)], []byte(prefix))
}

func readPerfCSV(in *input) ([]*Run, error) {
	c := csv.NewReader(bytes.NewReader(in.data))
	c.FieldsPerRecord = -1
	c.LazyQuotes = true
	rows, err := c.ReadAll()
	if err != nil {
		return nil, err
	}
	r := &Run{Tool: "aiperf"}
	if bytes.Contains(in.data, []byte("Time To First")) || bytes.Contains(in.data, []byte("(per sec)")) {
		r.Tool = "genai-perf"
	}
	figures := map[string]doc{}
	var header []string
	for _, row := range rows {
		if strings.EqualFold(row[0], "Metric") {
			header = row
			continue
		}
		if len(row) < 2 || header == nil {
			continue
		}
		name, unit := metricLabel(row[0])
		m := doc{"unit": unit}
		for i := 1; i < len(row) && i < len(header); i++ {
			key := strings.ToLower(strings.TrimSpace(header[i]))
			if key == "value" {
				key = "avg"
			}
			if x, ok := number(row[i]); ok {
				m[key] = x
			}
		}
		if m.has("avg") {
			figures[name] = m
		}
	}
	if len(figures) == 0 {
		return nil, refuse("holds no metric")
	}
	perfMetrics(r, figures)
	return []*Run{r}, r.check(false)
}

// metricLabel turns "Time To First Token (ms)" into "time_to_first_token" and "ms".
func metricLabel(s string) (name, unit string) {
	name, unit, _ = strings.Cut(s, "(")
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), " ", "_"), strings.TrimSuffix(strings.TrimSpace(unit), ")")
}
