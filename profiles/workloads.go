package profiles

import (
	"fmt"
	"strings"

	"scoville/model/tomlfile"
	"scoville/model/workload"
)

// Workloads lists the names of the shipped workloads in alphabetical order.
func Workloads() ([]string, error) { return names("workloads") }

// Workload returns the shipped workload of that name.
func Workload(name string) (*workload.Workload, error) {
	all, err := Workloads()
	if err != nil {
		return nil, err
	}
	for _, n := range all {
		if n != name {
			continue
		}
		data, err := files.ReadFile("workloads/" + n + ".toml")
		if err != nil {
			return nil, fmt.Errorf("shipped workload: %w", err)
		}
		return workload.Decode("profiles/workloads/"+n+".toml", data)
	}
	if near := tomlfile.Nearest(name, all); near != "" {
		return nil, fmt.Errorf("unknown workload %q (did you mean %q?)", name, near)
	}
	return nil, fmt.Errorf("unknown workload %q; the workloads are %s", name, strings.Join(all, ", "))
}
