package validate

import (
	"fmt"
	"slices"
	"strings"

	"scoville/model/tomlfile"
)

// ReadLimits reads the errors beyond which a validation fails: [[limit]] entries with table, metric, statistic and error.
func ReadLimits(path string) ([]Target, error) {
	var file struct {
		Limit []struct {
			Table     string  `toml:"table"`
			Metric    string  `toml:"metric"`
			Statistic string  `toml:"statistic"`
			Error     float64 `toml:"error"`
		} `toml:"limit"`
	}
	if err := tomlfile.ReadFile(path, &file); err != nil {
		return nil, err
	}
	statistics := []string{"mape", "median", "worst"}
	var out []Target
	for i, l := range file.Limit {
		if !slices.Contains(TableNames(), l.Table) {
			return nil, fmt.Errorf("%s: limit %d: unknown table %q (did you mean %q?)", path, i+1, l.Table, tomlfile.Nearest(l.Table, TableNames()))
		}
		if !slices.Contains(statistics, l.Statistic) {
			return nil, fmt.Errorf("%s: limit %d: statistic %q is not one of %s", path, i+1, l.Statistic, strings.Join(statistics, ", "))
		}
		if l.Metric == "" || !(l.Error >= 0) {
			return nil, fmt.Errorf("%s: limit %d: needs a metric and an error of 0 or more, such as 0.15", path, i+1)
		}
		out = append(out, Target{l.Table, l.Metric, l.Statistic, l.Error})
	}
	return out, nil
}
