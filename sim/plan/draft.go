package plan

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// Draft is what is asked of someone who has no plan file yet.
type Draft struct {
	Title           string
	AsOf            string   // YYYY-MM-DD
	Model           string   // shipped name, config.json or model TOML
	Profile         string   // shipped workload; or
	Trace           string   // a trace file
	PeakQPS         float64  // requests per second at the peak; or
	DailyUsers      float64  // people; or, with a trace, neither: its own rate
	RequestsPerUser float64  // of one of them on a day
	PeakFactor      float64  // busiest rate over the day's mean
	Chips           []string // shipped names or chip files
	TTFTSeconds     float64  // 99th percentile
	TPOTSeconds     float64  // 90th percentile
	Ownership       string   // "buy" or "rent"
}

// draftChip is one candidate of a draft.
type draftChip struct {
	Key, Name string // chip or chip_file
	Tensor    int
}

// Write makes the draft a commented plan file for path, which Read accepts: each chip at the smallest tensor parallel degree that holds
// the model and a batch of requests. Files that the draft names are relative to the working folder, in the plan to the plan's.
func (d Draft) Write(path string) ([]byte, error) {
	if d.Ownership != "buy" && d.Ownership != "rent" {
		return nil, fmt.Errorf("ownership is %q; buy or rent is expected", d.Ownership)
	}
	if len(d.Chips) == 0 {
		return nil, fmt.Errorf("no chip is given; at least one is needed, see scoville profiles list")
	}
	for _, v := range []struct {
		name  string
		value float64
	}{{"TTFT limit", d.TTFTSeconds}, {"TPOT limit", d.TPOTSeconds}} {
		if !(v.value > 0) {
			return nil, fmt.Errorf("%s is %g s; a positive number of seconds is expected", v.name, v.value)
		}
	}
	var chips []draftChip
	for _, c := range d.Chips {
		chip := draftChip{Key: "chip", Name: c, Tensor: 1}
		if strings.HasSuffix(c, ".toml") {
			chip = draftChip{Key: "chip_file", Name: fromFolder(path, c), Tensor: 1}
		}
		chips = append(chips, chip)
	}
	text, err := d.render(path, chips)
	if err != nil {
		return nil, err
	}
	f, err := Parse(path, text, nil)
	if err != nil {
		return nil, err
	}
	if err := f.fitDegrees(chips); err != nil {
		return nil, err
	}
	return d.render(path, chips)
}

// Limits of what a draft tries.
const (
	maxDraftDegree = 64 // tensor parallel
	draftSequences = 32 // mean requests that a replica should hold at once
)

// fitDegrees raises each chip's tensor parallel degree to the smallest that holds the model and draftSequences requests, or failing that
// to the largest that holds the model at all.
func (f *File) fitDegrees(chips []draftChip) error {
	p := &planner{file: f}
	if err := p.resolve(); err != nil {
		return err
	}
	tokens := max(1, int(p.traffic.summary.MeanInput+p.traffic.summary.MeanOutput))
	for i := range chips {
		fits, refusal := false, ""
		for _, degree := range p.model.arch.TensorParallelDegrees(maxDraftDegree) {
			f.Candidates[i].TensorParallel = degree
			d, err := p.deploy(i)
			if err != nil {
				return err
			}
			if degree > maxTensorParallel(d.chip) && degree > 1 {
				break
			}
			if refusal = d.refusal; refusal != "" {
				continue
			}
			fits, chips[i].Tensor = true, degree
			if d.fit.SequencesAt(tokens) >= draftSequences {
				break
			}
		}
		if !fits {
			return fmt.Errorf("%s can't serve this: %s", chips[i].Name, refusal)
		}
	}
	return nil
}

// fromFolder is file, named from the folder of the plan at path.
func fromFolder(path, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	rel, err := filepath.Rel(filepath.Dir(path), file)
	if err != nil {
		return file
	}
	return filepath.ToSlash(rel)
}

func (d Draft) render(path string, chips []draftChip) ([]byte, error) {
	modelKey, model := "name", d.Model
	if _, err := os.Stat(d.Model); err == nil {
		modelKey, model = "config", fromFolder(path, d.Model)
	}
	trace := d.Trace
	if trace != "" {
		trace = fromFolder(path, trace)
	}
	var b bytes.Buffer
	t, err := template.New("plan").Parse(draftTemplate)
	if err != nil {
		return nil, err
	}
	err = t.Execute(&b, map[string]any{"D": d, "Chips": chips, "ModelKey": modelKey, "Model": model, "Trace": trace})
	return b.Bytes(), err
}

// draftTemplate shows the keys people change first; docs/plan-file.md has them all.
const draftTemplate = `# A scoville plan. Run it:  scoville plan THIS-FILE
# Every key and its default: docs/plan-file.md. What if: scoville plan THIS-FILE --set sla.ttft_p99=1
title = {{printf "%q" .D.Title}}
as_of = {{printf "%q" .D.AsOf}} # prices are judged at this date

[workload] # what requests look like, and how many come at the peak
{{- if .Trace}}
trace = {{printf "%q" .Trace}} # replayed; scoville workload describe tells what is in it
{{- else}}
profile = {{printf "%q" .D.Profile}} # others: scoville workload list; your own: trace = "requests.csv"
{{- end}}
{{- if .D.DailyUsers}}
users = { daily_active = {{printf "%.0f" .D.DailyUsers}}, requests_per_user_per_day = {{.D.RequestsPerUser}}, peak_factor = {{.D.PeakFactor}} } # or peak_qps = 40
{{- else if .D.PeakQPS}}
peak_qps = {{.D.PeakQPS}} # requests a second; or users = { daily_active = 200000, requests_per_user_per_day = 5, peak_factor = 2 }
{{- else}}
# peak_qps = 40 # requests a second; without it the trace is planned for at its own rate
{{- end}}

[model]
{{.ModelKey}} = {{printf "%q" .Model}}
# weights = "fp8" # number format, where it differs from the published one; kv and activations likewise

[sla] # seconds; also itl_p95, e2e_p99, any percentile; or attainment = 0.95 with each_ttft and each_tpot
ttft_p99 = {{.D.TTFTSeconds}} # from sending the request to its first token
tpot_p90 = {{.D.TPOTSeconds}} # between the tokens after it, mean of a request

[fleet]
spares = 1 # replicas beyond what the peak needs; or availability = 0.999

[cost]
ownership = {{printf "%q" .D.Ownership}} # buy or rent; prices come from the price book (scoville prices list) unless given here
horizon_months = 36
# price_books = ["my-prices.toml"] goes above [workload]; all keys: docs/cost.md

# growth = { months = 24, rate_per_month = 0.05 } goes above [workload] too: chips needed in each month
{{range .Chips}}
[[candidate]]
{{.Key}} = {{printf "%q" .Name}}
tensor_parallel = {{.Tensor}} # chips of one replica; the smallest that holds the model and a batch; another may be cheaper
{{end}}`
