package tomlfile

import "testing"

func TestDecodeNamesThePlace(t *testing.T) {
	type inner struct {
		PeakQPS float64 `toml:"peak_qps"`
	}
	type plan struct {
		Title    string `toml:"title"`
		Workload inner  `toml:"workload"`
	}
	tests := []struct{ name, in, want string }{
		{"unknown key", "title='a'\n[workload]\npeak_qsp = 3\n", `p.toml:3: workload.peak_qsp: unknown key (did you mean "peak_qps"?)`},
		{"unknown table", "[worklaod]\npeak_qps=1\n", `p.toml:1: worklaod: unknown key (did you mean "workload"?)`},
		{"key of another table", "peak_qps = 3\n", `p.toml:1: peak_qps: unknown key (did you mean "workload.peak_qps"?)`},
		{"syntax", "title = \n", `p.toml:1: title: expected value but found '\n' instead`},
		{"wrong type", "title = 3\n", `p.toml:1: title: incompatible types: TOML value has type int64; destination has type string`},
		{"fine", "title='x'\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p plan
			got := ""
			if err := Decode("p.toml", []byte(tt.in), &p); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestNearest(t *testing.T) {
	names := []string{"h100-sxm", "h200-sxm", "mi300x", "tpu-v6e"}
	for in, want := range map[string]string{"h100-smx": "h100-sxm", "mi300": "mi300x", "H100": "h100-sxm", "zebra": ""} {
		if got := Nearest(in, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("title='a'\n[workload]\npeak_qps=1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v struct {
			Title    string         `toml:"title"`
			Workload map[string]any `toml:"workload"`
		}
		_ = Decode("fuzz.toml", data, &v)
	})
}
