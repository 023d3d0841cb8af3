package trace

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// serveGenFolder writes a folder with the oddities of the public one: CR LF, no header, windows without a pattern,
// dictionaries with bare numbers for keys in strings, empty ones, tokens on a coarser grid than rates.
func serveGenFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"chunk-0-trace.csv":    crlf("0,2,2,Gamma,0.25,99\n600,0,0,,0,0\n1200,1,1.2,Weibull,0.8,7"),
		"chunk-0-dataset.json": `{"0": {"input_tokens": "{81: 0.25, 100.0: 0.75}", "output_tokens": "{7: 1.0}", "reason_ratio": "{0.5: 1.0}"}, "1200": {"input_tokens": "{}", "output_tokens": "{}"}}`,
		"chunk-1-trace.csv":    "0,0.5,1,Gamma,1,2\r\n600,0.5,1,Gamma,1,2\r\n1200,0,0,,0,0\r\n",
		"chunk-1-dataset.json": `{"0": {"text_tokens": "{10: 1.0}", "image_tokens": "{500: 1.0}", "image_count": "{2: 1.0}", "audio_tokens": "{0: 1.0}", "audio_count": "{0: 1.0}", "output_tokens": "{3: 1.0}"}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestServeGen(t *testing.T) {
	r, err := Open(serveGenFolder(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var rec Record
	var byWindow [3]int
	inputs := map[int32]int{}
	last := int64(0)
	for r.Next(&rec) {
		if rec.Nanoseconds < last {
			t.Fatal("out of order")
		}
		last = rec.Nanoseconds
		byWindow[last/600e9]++
		inputs[rec.Input]++
		if rec.Input == 1010 && rec.Output != 3 || rec.Input < 1000 && rec.Output != 7 {
			t.Fatalf("lengths of two clients are mixed: %+v", rec)
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	// The rate times the window, whatever the scale column says: 2 and 0.5, 0 and 0.5, 1 and 0 a second for 600 s.
	for k, want := range []int{1500, 300, 600} {
		if d := byWindow[k] - want; d < 0 || d > 2 {
			t.Errorf("window %d has %d requests, want %d", k, byWindow[k], want)
		}
	}
	if share := float64(inputs[81]) / float64(inputs[81]+inputs[100]); math.Abs(share-0.25) > 0.05 || inputs[1010] < 600 {
		t.Errorf("inputs %v", inputs)
	}
	notes := strings.Join(r.Report().Notes, "; ")
	if !strings.Contains(notes, "2 windows without a pattern (rate 0), 2 empty token distributions") {
		t.Errorf("notes %q", notes)
	}
	some, err := Load(serveGenFolder(t), Options{Seconds: 600})
	if err != nil || some.Len() < 1500 || some.Len() > 1502 {
		t.Errorf("first 600 s: %v", err)
	}
}

func TestServeGenErrors(t *testing.T) {
	for name, tt := range map[string]struct{ file, content, want string }{
		"fields":  {"chunk-0-trace.csv", "0,2,2,Gamma,0.25\n", "chunk-0-trace.csv:1:17: 5 fields"},
		"number":  {"chunk-0-trace.csv", "0,2,2,Gamma,0.25,1\n600,x,2,Gamma,0.25,1\n", `chunk-0-trace.csv:2:5: "x" is not a number`},
		"pattern": {"chunk-0-trace.csv", "0,2,2,,0.25,1\n", `pattern "" at a rate of 2`},
		"dict":    {"chunk-0-dataset.json", `{"0": {"input_tokens": "{a: 1}", "output_tokens": "{}"}}`, `window 0, input_tokens: "a: 1" is not value: probability`},
		"sum":     {"chunk-0-dataset.json", `{"0": {"input_tokens": "{1: 0.5}"}}`, `probabilities sum to 0.5, not 1`},
		"json":    {"chunk-0-dataset.json", `{"0": {81: 1}}`, `chunk-0-dataset.json:1:8: invalid character '8'`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := serveGenFolder(t)
			if err := os.WriteFile(filepath.Join(dir, tt.file), []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(dir, Options{})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func FuzzServeGen(f *testing.F) {
	f.Add([]byte("0,2,2,Gamma,0.25,99"), "{81: 0.25, 100.0: 0.75}")
	f.Add([]byte("600,0,0,,0,0"), "{}")
	f.Fuzz(func(t *testing.T, line []byte, dict string) {
		if w, _, err := parseWindow(line); err == nil && !(w.rate >= 0) {
			t.Fatalf("rate %g", w.rate)
		}
		p, err := parsePMF(dict)
		if err == nil && len(p.values) > 0 {
			if x := p.at(0.5); x < 0 {
				t.Fatalf("drew %g", x)
			}
		}
	})
}
