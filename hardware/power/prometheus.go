package power

import (
	"math"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

var exposition = regexp.MustCompile(`(?m)^[a-zA-Z_:][a-zA-Z0-9_:]*(\{[^}]*\})? +\S+( +\d+)?\s*$`)
var series = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+(\d+))?\s*$`)
var label = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)

// parsePrometheus reads the text of an exporter: DCGM, Triton, AMD's device-metrics-exporter, and anything whose name ends in _power_watts.
// A MIG slice repeats the power of its GPU, so each GPU counts once.
func parsePrometheus(text string, o Options) *Log {
	l := &Log{}
	devices := map[string]*Sample{}
	for _, line := range strings.Split(text, "\n") {
		m := series.FindStringSubmatch(strings.TrimRight(line, "\r"))
		if m == nil {
			continue
		}
		x := figure(m[3])
		if f, err := strconv.ParseFloat(m[3], 64); err == nil && !math.IsInf(f, 0) && math.Abs(f) < 1.4e14 {
			x = f
		} else if strings.Contains(m[1], "ENERGY") && err == nil && f < 9e18 {
			x = f
		}
		labels := map[string]string{}
		for _, kv := range label.FindAllStringSubmatch(m[2], -1) {
			labels[kv[1]] = kv[2]
		}
		name := device(labels)
		s := devices[name]
		if s == nil {
			n := unknown()
			n.Device, n.UnixSeconds = name, o.UnixSeconds
			s = &n
			devices[name] = s
		}
		if ms, err := strconv.ParseFloat(m[4], 64); err == nil && ms > 0 {
			s.UnixSeconds = ms / 1e3
		}
		switch metric := m[1]; {
		case metric == "DCGM_FI_DEV_POWER_USAGE_INSTANT" || metric == "DCGM_FI_DEV_POWER_USAGE" && math.IsNaN(s.Watts) || metric == "nv_gpu_power_usage" ||
			metric == "gpu_package_power" || metric == "amd_gpu_package_power" || strings.HasSuffix(metric, "_power_watts") || metric == "habanalabs_power_mW":
			if metric == "habanalabs_power_mW" {
				x /= 1e3
			}
			s.Watts = watts(x)
		case metric == "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION":
			s.EnergyJoules = x / 1e3
		case metric == "nv_energy_consumption":
			s.EnergyJoules = x
		case metric == "DCGM_FI_DEV_GPU_TEMP" || metric == "gpu_junction_temperature":
			s.CelsiusMax = x
		case metric == "DCGM_FI_DEV_SM_CLOCK" || metric == "gpu_clock":
			s.Megahertz = x
		case metric == "DCGM_FI_DEV_GPU_UTIL" || metric == "gpu_gfx_activity":
			s.UtilPercent = x
		case (metric == "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS" || metric == "DCGM_FI_DEV_CLOCKS_EVENT_REASONS") && x > 0:
			s.Throttled = throttle("reasons.active", strconv.FormatUint(uint64(x), 16))
		}
	}
	names := make([]string, 0, len(devices))
	for n := range devices {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		if s := devices[n]; !math.IsNaN(s.Watts) || !math.IsNaN(s.EnergyJoules) {
			l.Samples = append(l.Samples, *s)
		}
	}
	return l
}

func device(labels map[string]string) string {
	host := labels["Hostname"]
	for _, k := range []string{"UUID", "gpu_uuid", "uuid", "gpu", "gpu_id", "device", "instance"} {
		if v := labels[k]; v != "" {
			if host != "" && k != "UUID" && k != "gpu_uuid" {
				return host + "/" + v
			}
			return v
		}
	}
	return "0"
}
