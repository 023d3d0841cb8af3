package power

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Options of a reading.
type Options struct {
	Location    *time.Location // of local timestamps (nvidia-smi prints no zone); nil: this machine's
	UnixSeconds float64        // time of a reading by a tool that prints none; 0: unknown
}

// ReadFile reads a power log of any known tool.
func ReadFile(path string, o Options) (*Log, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data, o)
}

// Parse finds the tool by the content.
func Parse(name string, data []byte, o Options) (*Log, error) {
	if o.Location == nil {
		o.Location = time.Local
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	text := string(data)
	var l *Log
	var err error
	switch {
	case strings.Contains(text, "npu-smi"):
		l = parseNPU(text, o)
	case strings.Contains(text, " Power: ") && strings.Contains(text, " mW"):
		l = parsePowermetrics(text, o)
	case strings.Contains(text, `"telemetry_data"`):
		l, err = parseAIPerf(data)
	case strings.Contains(text, `"neuron_runtime_data"`):
		return nil, fmt.Errorf("%s: neuron-monitor reports no power; measure it elsewhere and give it as a CSV", name)
	case strings.Contains(text, "TPU Chips") || strings.Contains(text, "TensorCore Utilization"):
		return nil, fmt.Errorf("%s: tpu-info reports no power; measure it elsewhere and give it as a CSV", name)
	case exposition.MatchString(text):
		l = parsePrometheus(text, o)
	default:
		l, err = parseCSV(text, o)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	known := false
	for _, s := range l.Samples {
		known = known || !math.IsNaN(s.Watts) || !math.IsNaN(s.EnergyJoules)
	}
	if !known {
		return nil, fmt.Errorf("%s: holds no power reading that %s, rocm-smi, nvidia-smi, hl-smi, npu-smi, DCGM, powermetrics or a CSV with a power column would write", name, "amd-smi")
	}
	l.Source = name
	return l, nil
}

// figure reads a cell: units dropped; N/A, errors, blanks and sentinel values are NaN.
func figure(cell string) float64 {
	cell = strings.TrimSpace(cell)
	num, _, _ := strings.Cut(cell, " ")
	num = strings.TrimRight(num, "WMHzC%JiB")
	x, err := strconv.ParseFloat(num, 64)
	if err != nil || math.IsInf(x, 0) || math.Abs(x) >= 1.4e14 { // DCGM's blanks: 0x7ffffffffffffff0 and 1.407e14
		return math.NaN()
	}
	return x
}

func watts(x float64) float64 {
	if x < 0 || x > 1e6 {
		return math.NaN()
	}
	return x
}

func unknown() Sample {
	n := math.NaN()
	return Sample{Watts: n, EnergyJoules: n, CelsiusMax: n, Megahertz: n, UtilPercent: n}
}

// columns of the CSV-writing tools, each with its meaning; the first match of a name counts.
type column int

const (
	colNone column = iota
	colTime
	colDevice
	colWatts
	colEnergyJ
	colEnergyMilliJ
	colCelsius
	colClock
	colUtil
	colThrottle
)

func meaning(header string) column {
	h := strings.ToLower(strings.TrimSpace(header))
	name, _, _ := strings.Cut(h, " [")
	switch {
	case name == "timestamp" || name == "time" || name == "unix_s" || name == "unix_time" || name == "timestamp_ns" || name == "epoch":
		return colTime
	case name == "index" || name == "gpu" || name == "device" || name == "uuid" || name == "card" || name == "module_id":
		return colDevice
	case strings.Contains(h, "limit") || strings.Contains(h, "cap") || strings.Contains(h, "management") || strings.Contains(h, "max"):
		return colNone
	case name == "power.draw.instant" || name == "power.draw" || name == "power.draw.average" || name == "socket_power" || name == "power_usage" || name == "power_watts" || name == "watts" || name == "power_w" || name == "power" || strings.Contains(h, "graphics package power (w)"):
		return colWatts
	case name == "total_energy_consumption" || name == "energy_j":
		return colEnergyJ
	case name == "energy_mj":
		return colEnergyMilliJ
	case strings.HasPrefix(name, "temperature") && !strings.Contains(name, "memory") || name == "hotspot" || name == "temperature.aip":
		return colCelsius
	case name == "clocks.sm" || name == "clocks.current.sm" || name == "gfx_0_clk" || name == "sclk" || name == "clock_mhz":
		return colClock
	case name == "utilization.gpu" || name == "gfx_activity" || name == "utilization.aip" || name == "gpu use (%)":
		return colUtil
	case strings.HasPrefix(name, "clocks_throttle_reasons") || strings.HasPrefix(name, "clocks_event_reasons") || name == "throttle_status":
		return colThrottle
	}
	return colNone
}

// parseCSV reads nvidia-smi, amd-smi, rocm-smi, hl-smi and generic CSV: a header with known column names, then rows. Headers may repeat, rows
// may be short, and the last line may be cut off.
func parseCSV(text string, o Options) (*Log, error) {
	l := &Log{}
	var cols []column
	var header []string
	energy, dropped, rowless := 0, 0, 0
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		cells, err := split(line)
		if err != nil {
			dropped++
			continue
		}
		if found, ok := headerOf(cells); ok {
			cols, header = found, cells
			continue
		}
		if cols == nil {
			if rowless++; rowless > 50 {
				return nil, fmt.Errorf("line %d: no header with a power column (power.draw, socket_power, power_usage, power_watts, ...) before it", n+1)
			}
			continue
		}
		s, ok, err := row(cells, cols, header, o)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		if !ok {
			dropped++
			continue
		}
		if !math.IsNaN(s.EnergyJoules) {
			energy++
		}
		l.Samples = append(l.Samples, s)
	}
	if cols == nil {
		return nil, fmt.Errorf("no header with a power column (power.draw, socket_power, power_usage, power_watts, ...)")
	}
	if dropped > 0 {
		l.Notes = append(l.Notes, fmt.Sprintf("%d rows of the power log hold no reading and were left out", dropped))
	}
	return l, nil
}

func split(line string) ([]string, error) {
	c := csv.NewReader(strings.NewReader(line))
	c.TrimLeadingSpace = true
	c.LazyQuotes = true
	return c.Read()
}

func headerOf(cells []string) ([]column, bool) {
	cols := make([]column, len(cells))
	has := map[column]int{}
	for i, h := range cells {
		m := meaning(h)
		if m == colDevice && has[colDevice] > 0 || m == colWatts && has[colWatts] > 0 || m == colTime && has[colTime] > 0 {
			if m == colWatts && strings.Contains(strings.ToLower(h), "instant") { // the instantaneous reading is the better one
				for j := range cols {
					if cols[j] == colWatts {
						cols[j] = colNone
					}
				}
			} else {
				m = colNone
			}
		}
		cols[i] = m
		has[m]++
	}
	return cols, has[colWatts]+has[colEnergyJ]+has[colEnergyMilliJ] > 0 && len(cells) > 1
}

func row(cells []string, cols []column, header []string, o Options) (Sample, bool, error) {
	s := unknown()
	s.UnixSeconds = o.UnixSeconds
	s.Device = "0"
	for i, cell := range cells {
		if i >= len(cols) {
			break
		}
		cell = strings.TrimSpace(cell)
		switch cols[i] {
		case colTime:
			t, err := parseTime(cell, o.Location)
			if err != nil {
				if i == len(cells)-1 { // a line cut off by the end of the logger
					return s, false, nil
				}
				return s, false, err
			}
			s.UnixSeconds = t
		case colDevice:
			s.Device = cell
		case colWatts:
			s.Watts = watts(figure(cell))
		case colEnergyJ:
			s.EnergyJoules = figure(cell)
		case colEnergyMilliJ:
			s.EnergyJoules = figure(cell) / 1e3
		case colCelsius:
			if x := figure(cell); !(x <= s.CelsiusMax) && !math.IsNaN(x) {
				s.CelsiusMax = x
			}
		case colClock:
			s.Megahertz = figure(cell)
		case colUtil:
			s.UtilPercent = figure(cell)
		case colThrottle:
			if why := throttle(header[i], cell); why != "" {
				s.Throttled = why
			}
		}
	}
	return s, !math.IsNaN(s.Watts) || !math.IsNaN(s.EnergyJoules), nil
}

// throttle reads nvidia-smi's reason bits or "Active", and amd-smi's status.
func throttle(header, cell string) string {
	h := strings.ToLower(header)
	if strings.HasSuffix(h, ".active") || strings.Contains(h, "reasons.active") {
		bits, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(cell), "0x"), 16, 64)
		if err != nil {
			return ""
		}
		for _, r := range []struct {
			bit  uint64
			name string
		}{{0x8, "hardware slowdown"}, {0x20, "software thermal slowdown"}, {0x40, "hardware thermal slowdown"}, {0x80, "power brake"}, {0x4, "power cap"}} {
			if bits&r.bit != 0 {
				return r.name
			}
		}
		return ""
	}
	switch strings.ToLower(cell) {
	case "active", "throttled", "1", "true":
		if strings.Contains(h, "idle") || strings.Contains(h, "applications_clocks") {
			return ""
		}
		return strings.TrimSpace(header)
	}
	return ""
}

// parseTime reads unix seconds, milliseconds or nanoseconds, ISO 8601, or nvidia-smi's local time.
func parseTime(s string, where *time.Location) (float64, error) {
	if x, err := strconv.ParseFloat(s, 64); err == nil {
		switch {
		case x > 1e17:
			return x / 1e9, nil
		case x > 1e14:
			return x / 1e6, nil
		case x > 1e11:
			return x / 1e3, nil
		case x > 0:
			return x, nil
		}
	}
	for _, layout := range []string{"2006/01/02 15:04:05.999", "2006-01-02 15:04:05.999", "Mon Jan 2 15:04:05 2006"} {
		if t, err := time.ParseInLocation(layout, s, where); err == nil {
			return float64(t.UnixNano()) / 1e9, nil
		}
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999"} {
		if t, err := time.ParseInLocation(layout, s, where); err == nil {
			return float64(t.UnixNano()) / 1e9, nil
		}
	}
	return 0, fmt.Errorf("time %q is neither unix time nor a date", s)
}

var npuRow = regexp.MustCompile(`^\|\s*(\d+)\s+(\S+)\s*\|\s*(\S+)\s*\|\s*(\S+)\s+(\S+)\s`)

// parseNPU reads npu-smi's table: two lines a chip, power on the first; the second die of a card shows "-", because the first carries the card.
func parseNPU(text string, o Options) *Log {
	l := &Log{}
	for _, line := range strings.Split(text, "\n") {
		m := npuRow.FindStringSubmatch(line)
		if m == nil || strings.Contains(m[3], ":") || m[3] == "NA" { // the second line holds the bus id
			continue
		}
		s := unknown()
		s.UnixSeconds, s.Device, s.Watts, s.CelsiusMax = o.UnixSeconds, m[1], watts(figure(m[4])), figure(m[5])
		if !math.IsNaN(s.Watts) {
			l.Samples = append(l.Samples, s)
		}
	}
	return l
}

var powerLine = regexp.MustCompile(`(?m)^(CPU|GPU|ANE|Combined) Power(?: \([^)]*\))?: ([\d.]+) mW`)

// parsePowermetrics reads macOS powermetrics: milliwatts; each block prints GPU Power twice, the first counts. Combined stands for the chip.
func parsePowermetrics(text string, o Options) *Log {
	l := &Log{}
	for _, block := range strings.Split(text, "*** Sampled system activity")[0:] {
		parts := map[string]float64{}
		for _, m := range powerLine.FindAllStringSubmatch(block, -1) {
			if _, seen := parts[m[1]]; !seen {
				parts[m[1]] = figure(m[2]) / 1e3
			}
		}
		if len(parts) == 0 {
			continue
		}
		s := unknown()
		s.Device, s.UnixSeconds = "soc", o.UnixSeconds
		if i, j := strings.Index(block, "("), strings.Index(block, ")"); i >= 0 && j > i && i < 5 {
			if t, err := time.Parse("Mon Jan 2 15:04:05 2006 -0700", block[i+1:j]); err == nil {
				s.UnixSeconds = float64(t.Unix())
			}
		}
		total, ok := parts["Combined"]
		if !ok {
			total = parts["CPU"] + parts["GPU"] + parts["ANE"]
		}
		s.Watts = watts(total)
		l.Samples = append(l.Samples, s)
	}
	return l
}

// parseAIPerf reads AIPerf's gpu_telemetry_export.jsonl: nanoseconds, watts, megajoules.
func parseAIPerf(data []byte) (*Log, error) {
	l := &Log{}
	for n, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var d struct {
			NS    int64               `json:"timestamp_ns"`
			Host  string              `json:"hostname"`
			Index int                 `json:"gpu_index"`
			UUID  string              `json:"gpu_uuid"`
			T     map[string]*float64 `json:"telemetry_data"`
		}
		if err := json.Unmarshal(line, &d); err != nil {
			if n > 0 && len(l.Samples) > 0 {
				l.Notes = append(l.Notes, fmt.Sprintf("line %d of the power log can't be read and was left out", n+1))
				continue
			}
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		s := unknown()
		s.UnixSeconds, s.Device = float64(d.NS)/1e9, d.UUID
		get := func(names ...string) float64 {
			for _, k := range names {
				if v := d.T[k]; v != nil {
					return *v
				}
			}
			return math.NaN()
		}
		s.Watts = watts(get("gpu_power_usage", "nvidia_power_usage", "amd_power_usage"))
		s.EnergyJoules = get("energy_consumption", "nvidia_energy_consumption", "amd_energy_consumption") * 1e6
		s.CelsiusMax, s.Megahertz = get("gpu_temperature"), get("sm_clock_frequency")
		s.UtilPercent = get("gpu_utilization")
		l.Samples = append(l.Samples, s)
	}
	return l, nil
}
