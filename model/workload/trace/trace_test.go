package trace

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// row is what tests compare of a record.
type row struct {
	Seconds       float64
	Input, Output int32
}

func read(t testing.TB, name, content string, o Options) ([]Record, *Reader) {
	t.Helper()
	r, err := NewReader(strings.NewReader(content), name, o)
	if err != nil {
		t.Fatal(err)
	}
	var out []Record
	var rec Record
	for r.Next(&rec) {
		c := rec
		c.Blocks = append([]Block(nil), rec.Blocks...)
		out = append(out, c)
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return out, r
}

func rows(recs []Record) []row {
	var out []row
	for _, r := range recs {
		out = append(out, row{float64(r.Nanoseconds-recs[0].Nanoseconds) / 1e9, r.Input, r.Output})
	}
	return out
}

func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

// TestFormats reads one fixture of each layout. All fixtures were written for this test; each holds the oddities of its
// namesake.
func TestFormats(t *testing.T) {
	tests := []struct {
		name, content string
		format        Format
		want          []row
		report        Report
	}{
		{
			"azure 2023: CR LF, no last newline, 7 digits, microseconds kept",
			crlf("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:03.9799660,110,27\n2023-11-16 18:20:41.0000000,34,6"),
			Azure, []row{{0, 4808, 10}, {6e-6, 110, 27}, {217.02004, 34, 6}}, Report{},
		},
		{
			"azure 2024: offset, fraction missing when zero",
			"TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-12 00:00:00+00:00,100,1\n2024-05-12 00:00:00.001163+00:00,200,2\n2024-05-12 02:00:01+02:00,300,1\n",
			Azure, []row{{0, 100, 1}, {0.001163, 200, 2}, {1, 300, 1}}, Report{},
		},
		{
			"azure 2025: T and Z, an image column second",
			"TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2024-10-15T12:00:00.269Z,3,1394,79\n2024-10-15T12:00:01Z,0,767,141\n",
			Azure, []row{{0, 1394, 79}, {0.731, 767, 141}}, Report{},
		},
		{
			"burstgpt 6 columns: spaces in names, zero rows, whole seconds",
			"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n45,ChatGPT,0,0,0,API log\n45,GPT-4,1087,230,1317,API log\n",
			BurstGPT, []row{{0, 472, 18}, {40, 0, 0}, {40, 1087, 230}}, Report{EqualTimestamps: 1, ZeroInput: 1, ZeroOutput: 1},
		},
		{
			"burstgpt 8 columns: two columns inserted, empty session, float text, late start",
			"Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n19440110.0,,0.5,GPT-4,10,0,10,API log\n19440111.5,c-1,2.0,GPT-4,20,5,25,Conversation log\n",
			BurstGPT, []row{{0, 10, 0}, {1.5, 20, 5}}, Report{ZeroOutput: 1},
		},
		{
			"lengths without times",
			"num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n3772,54,3826,69.85\n2015,156,2171,12.9\n",
			Lengths, []row{{0, 3772, 54}, {0, 2015, 156}}, Report{},
		},
		{
			"mooncake: milliseconds, coarse clock, a duplicate row, partial last block",
			`{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}` + "\n" +
				`{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}` + "\n" +
				`{"timestamp": 2999, "input_length": 1024, "output_length": 1, "hash_ids": [0, 2]}` + "\n",
			Mooncake, []row{{0, 600, 5}, {0, 600, 5}, {2.999, 1024, 1}}, Report{EqualTimestamps: 1, Duplicates: 1, WithBlocks: 3, BlocksCeil: 3, BlockTokens: 512},
		},
		{
			"qwen: seconds, chat ids, 16-token blocks of which the partial one is not trusted",
			`{"chat_id": 5, "parent_chat_id": -1, "timestamp": 0.25, "input_length": 40, "output_length": 9, "type": "text", "turn": 1, "hash_ids": [11, 12, 13]}` + "\n" +
				`{"chat_id": 9, "parent_chat_id": 5, "timestamp": 61.5, "input_length": 48, "output_length": 9, "type": "text", "turn": 2, "hash_ids": [11, 12, 14]}` + "\n",
			Qwen, []row{{0, 40, 9}, {61.25, 48, 9}}, Report{WithBlocks: 2, BlocksCeil: 2, BlockTokens: 16},
		},
		{
			"ragpulse: timestamp a string, hash ids an object, one inversion, a blank last line",
			`{"timestamp": "604453", "input_length": 3112, "output_length": 192, "hash_ids": {"sys_prompt": [1], "passages_ids": [], "history": [], "web_search": [], "user_input": [2]}, "session_id": "17574-af"}` + "\n" +
				`{"timestamp": "0", "input_length": 3167, "output_length": 86, "hash_ids": {"sys_prompt": [1], "passages_ids": [7], "history": [], "web_search": [], "user_input": [3]}, "session_id": "17574-af"}` + "\n\n",
			RAGPulse, []row{{0, 3112, 192}, {-604453, 3167, 86}}, Report{OutOfOrder: 1, BlankLines: 1},
		},
		{
			"agent: one line, subagents nested with their own clock, floor of blocks, empty stop, zero output",
			`{"id":"t1","block_size":64,"hash_id_scope":"local","requests":[{"t":0.0,"type":"n","in":200,"out":9,"hash_ids":[1,2,3],"stop":""},` +
				`{"t":10.0,"type":"subagent","agent_id":"a","requests":[{"t":2.5,"type":"n","in":64,"out":0,"hash_ids":[9]}]},{"t":11.0,"type":"s","in":260,"out":4,"hash_ids":[1,2,3,4]},{"t":12,"type":"subagent"}]}`,
			Agent, []row{{0, 200, 9}, {11, 260, 4}, {12.5, 64, 0}}, Report{ZeroOutput: 1, WithBlocks: 3, BlocksFloor: 3, BlockTokens: 64},
		},
		{
			"our own: classes, sessions and prefixes",
			"arrival_seconds,input_tokens,output_tokens,class,session,prefix\n0.000000001,10,2,chat,7,\n12345678.000000003,20,3,,,ff:16;a1:2\n",
			Own, []row{{0, 10, 2}, {12345678.000000002, 20, 3}}, Report{WithBlocks: 1},
		},
		{
			"not recorded: negative counts are left out and counted",
			"TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-12 00:00:00+00:00,-1,-1\n2024-05-12 00:00:01+00:00,5,6\n",
			Azure, []row{{0, 5, 6}}, Report{Dropped: 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			recs, r := read(t, "fixture", tt.content, Options{})
			if r.Format() != tt.format {
				t.Errorf("format %s, want %s", r.Format(), tt.format)
			}
			if d := cmp.Diff(tt.want, rows(recs), cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 2e-9*max(1, math.Abs(a)) })); d != "" {
				t.Errorf("rows differ (-want +got):\n%s", d)
			}
			want := tt.report
			want.Format, want.Timed = tt.format, tt.format != Lengths
			want.Emitted = int64(len(tt.want))
			want.Rows = want.Emitted + want.Dropped
			got := r.Report()
			got.Notes = nil
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("report differs (-want +got):\n%s", d)
			}
			zipped, _ := read(t, "fixture.gz", zip(t, tt.content), Options{})
			if d := cmp.Diff(recs, zipped); d != "" && tt.format != Agent { // agent keys are scoped by file name
				t.Errorf("gzipped content reads differently:\n%s", d)
			}
		})
	}
}

func zip(t testing.TB, s string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, s); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSessionsAndBlocksOfFormats(t *testing.T) {
	recs, _ := read(t, "q", `{"chat_id":5,"parent_chat_id":-1,"timestamp":0,"input_length":40,"output_length":9,"hash_ids":[11,12,18446744073709551615]}
{"chat_id":9,"parent_chat_id":5,"timestamp":1,"input_length":48,"output_length":9,"hash_ids":[11,12,18446744073709551615]}
{"chat_id":12,"parent_chat_id":9,"timestamp":2,"input_length":48,"output_length":9,"hash_ids":[11,12,14]}
`, Options{})
	if recs[0].Session == 0 || recs[0].Session != recs[1].Session || recs[1].Session != recs[2].Session {
		t.Errorf("turns of one conversation have sessions %d, %d, %d", recs[0].Session, recs[1].Session, recs[2].Session)
	}
	if d := cmp.Diff([]Block{{11, 16}, {12, 16}}, recs[0].Blocks); d != "" {
		t.Errorf("the partial block is not left out:\n%s", d)
	}
	if recs[1].Blocks[2].Key != math.MaxUint64 {
		t.Error("a 64-bit hash id lost bits")
	}
}

func TestAgentIDsAreLocalToAFile(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"a", "b"} {
		doc := fmt.Sprintf(`{"id":%q,"block_size":64,"hash_id_scope":"local","requests":[{"t":0,"type":"n","in":128,"out":1,"hash_ids":[1,2]}]}`, n)
		if err := os.WriteFile(filepath.Join(dir, n+".json"), []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Load(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Len() != 2 || s.Timed || s.BlocksOf(0)[0].Key == s.BlocksOf(1)[0].Key || s.Session[0] == s.Session[1] {
		t.Errorf("two files' calls share ids or a clock: %+v", s)
	}
}

func TestRAGPulseSideTables(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("0_trace.jsonl", `{"timestamp": "1", "input_length": 900, "output_length": 2, "hash_ids": {"sys_prompt": [1], "passages_ids": [1], "history": [], "web_search": [], "user_input": [4]}, "session_id": "s"}`+"\n")
	write("1_sys_prompt.jsonl", `{"sys_prompt_id": 1, "token_length": 512}`+"\n")
	write("2_passages.jsonl", `{"passage_id": 1, "token_length": 84}`+"\n")
	write("3_history.jsonl", "")
	write("4_user_input.jsonl.gz", zip(t, `{"user_input_id": 4, "token_length": 9}`))
	write("5_web_search.jsonl", `{"web_search_id": 1, "token_length": 5}`+"\n")
	s, err := Load(filepath.Join(dir, "0_trace.jsonl"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var tokens []int32
	for _, b := range s.BlocksOf(0) {
		tokens = append(tokens, b.Tokens)
	}
	if d := cmp.Diff([]int32{512, 84, 9}, tokens); d != "" {
		t.Errorf("parts in prompt order:\n%s", d)
	}
	write("2_passages.jsonl", `{"passage_id": 2, "token_length": 84}`+"\n")
	if _, err := Load(filepath.Join(dir, "0_trace.jsonl"), Options{}); err == nil || !strings.Contains(err.Error(), "passages_ids 1 is not in 2_passages.jsonl") {
		t.Errorf("an id without a length passed: %v", err)
	}
}

// TestErrorsNameThePlace: file, line and column of what is wrong, and what was expected.
func TestErrorsNameThePlace(t *testing.T) {
	azure := "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n"
	tests := []struct {
		name, content, want string
		o                   Options
	}{
		{"tokens", azure + "2023-11-16 18:17:04.0000000,12x,10\n", `f:3:29: ContextTokens: "12x" is not a whole number of tokens`, Options{}},
		{"timestamp", azure + "2023-13-16 18:17:04,12,10\n", `f:3:1: "2023-13-16 18:17:04" is not a timestamp such as`, Options{}},
		{"fields", azure + "2023-11-16 18:17:04,12\n", `f:3:23: 2 fields, the header has 3`, Options{}},
		{"huge", azure + "2023-11-16 18:17:04,99999999999999,1\n", `f:3:21: ContextTokens: 99999999999999 tokens are more than the 1073741824 that are read`, Options{}},
		{"overflow", azure + "2023-11-16 18:17:04,1e300,1\n", `f:3:21: ContextTokens: "1e300" is not a whole number of tokens`, Options{}},
		{"json syntax", `{"timestamp": 0, "input_length": 1, "output_length": 1}` + "\n" + `{"timestamp": 0, "input_length": }` + "\n", `f:2:34: invalid character '}'`, Options{}},
		{"json key", `{"timestamp": 0, "input_length": 1}` + "\n", `f:1:1: "output_length" is missing`, Options{}},
		{"hash ids", `{"timestamp": 0, "input_length": 20, "output_length": 1, "hash_ids": [1, 2]}` + "\n", `f:1:1: 2 hash ids for 20 input tokens don't fit blocks of 512 tokens; give the block size they were made with (16 would fit)`, Options{}},
		{"hash id", `{"timestamp": 0, "input_length": 20, "output_length": 1, "hash_ids": [1.5]}` + "\n", `f:1:1: hash id "1.5" is not a 64-bit whole number`, Options{}},
		{"empty", "", `f: is empty`, Options{}},
		{"array", "[1]", `f:1:1: is one JSON array`, Options{}},
		{"text", "hello\n", `f:1:1: starts with "hello", which is neither`, Options{}},
		{"servegen client", "0,1.5,1,Gamma,1,1\n", `f:1: looks like one client of a ServeGen folder`, Options{}},
		{"unknown columns", "a,b,c\n1,2,3\n", `f: is not in a known format; say which columns hold what`, Options{}},
		{"mapped column", "when_s,in,out\n1,2,3\n", `f:1: no column "inn" (did you mean "in"?); the columns are when_s, in, out`, Options{Columns: map[string]string{"time": "when_s", "input": "inn", "output": "out"}}},
		{"unit", "when,in,out\n1,2,3\n", `f: the unit of time column "when" isn't known; give it as s, ms, us, ns or datetime`, Options{Columns: map[string]string{"time": "when", "input": "in", "output": "out"}}},
		{"format name", "x", `f: format "azur" is not known (did you mean "azure"?)`, Options{Format: "azur"}},
		{"rows", azure + azure[40:] + azure[40:], `f:3: more than 1 rows`, Options{MaxRows: 1}},
		{"line", azure + strings.Repeat("x", 600_000), `f:3: the line is longer than 4096 bytes`, Options{MaxLine: 4096}},
		{"prefix", "arrival_seconds,input_tokens,output_tokens,prefix\n0,1,1,zz:3\n", `f:2:7: prefix block "zz:3" is not key:tokens with a hexadecimal key`, Options{}},
		{"quotes", "arrival_seconds,input_tokens,output_tokens\n0,\"1,1\n", `f:2:1: quotes don't match`, Options{}},
		{"agent nesting", `{"block_size":64,"requests":[{"t":0,"type":"n","in":5}]}`, `f: request 1 at 0 s has no "in" or "out"`, Options{}},
		{"gzip", "\x1f\x8bnot gzip at all", `f: starts like gzip but is not`, Options{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := NewReader(strings.NewReader(tt.content), "f", tt.o)
			if err == nil {
				var rec Record
				for r.Next(&rec) {
				}
				err = r.Err()
			}
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestGzipBombIsStopped(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	line := strings.Repeat(" ", 1<<16) + "\n"
	for range 1024 {
		if _, err := io.WriteString(z, line); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(io.MultiReader(strings.NewReader(zip(t, "arrival_seconds,input_tokens,output_tokens\n")), &b), "bomb.gz", Options{})
	if err != nil {
		t.Fatal(err)
	}
	var rec Record
	if r.Next(&rec) || r.Err() == nil || !strings.Contains(r.Err().Error(), "expands more than 300 times") {
		t.Errorf("64 MB of blanks in %d bytes: %v", b.Len(), r.Err())
	}
}

func TestGenericMapping(t *testing.T) {
	o := Options{Columns: map[string]string{"time": "start_ms", "input": "prompt", "output": "completion", "session": "user", "class": "kind"}}
	want := []row{{0, 100, 10}, {1.5, 200, 20}}
	for name, content := range map[string]string{
		"csv":   "user,start_ms,kind,prompt,completion\nann,500,chat,100,10\n\"bob, jr\",2000,batch,200,20\n",
		"jsonl": `{"user":"ann","start_ms":500,"kind":"chat","prompt":100,"completion":10}` + "\n" + `{"user":"bob","start_ms":2000,"prompt":200,"completion":20}` + "\n",
	} {
		recs, r := read(t, name, content, o)
		if d := cmp.Diff(want, rows(recs)); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
		if !r.Timed() || recs[0].Class != "chat" || recs[0].Session == 0 || recs[0].Session == recs[1].Session {
			t.Errorf("%s: %+v", name, recs)
		}
	}
}

// The four forms of a timestamp, and that none loses microseconds (peers cut them to 10 ms or whole seconds).
func TestTimestamps(t *testing.T) {
	base, err := parseDateTime([]byte("2023-11-16 18:17:03"))
	if err != nil || base != 1700158623e9 {
		t.Fatalf("base %d, %v", base, err)
	}
	for in, want := range map[string]int64{
		"2023-11-16 18:17:03.9799600":      979960000,
		"2023-11-16 18:17:03.979960+00:00": 979960000,
		"2023-11-16T18:17:03.979Z":         979000000,
		"2023-11-16 19:17:03+01:00":        0,
		"2023-11-16 13:47:03.000001-0430":  1000,
		"2023-11-16 18:17:03.0000000019":   1,
	} {
		got, err := parseDateTime([]byte(in))
		if err != nil || got-base != want {
			t.Errorf("%s: %d ns after, %v; want %d", in, got-base, err, want)
		}
	}
	for _, in := range []string{"", "2023-11-16", "2023-11-16 18:17:03.", "2023-11-16 18:17:03Zx", "2023-02-30 00:00:00", "2023-11-16 24:00:00", "2023-11-16 18:17:03+1", "16/11/2023 18:17:03"} {
		if _, err := parseDateTime([]byte(in)); err == nil {
			t.Errorf("%q passed", in)
		}
	}
}

func TestSortIsStableAndSpreadTiesKeepsOrder(t *testing.T) {
	r, err := NewReader(strings.NewReader("arrival_seconds,input_tokens,output_tokens\n9,1,1\n3,2,1\n3,3,1\n3,4,1\n0,5,1\n6,6,1\n"), "f", Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Collect(r)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]int32{5, 2, 3, 4, 6, 1}, s.Input); d != "" {
		t.Errorf("order:\n%s", d)
	}
	s.SpreadTies(1)
	if s.Spread != 3 || s.TiedShare() != 0 {
		t.Errorf("spread %d, tied %g", s.Spread, s.TiedShare())
	}
	for i := 1; i < s.Len(); i++ {
		if s.Nanos[i] < s.Nanos[i-1] || (i < 4 && (s.Nanos[i] < 3e9 || s.Nanos[i] >= 6e9)) {
			t.Errorf("times %v", s.Nanos)
		}
	}
}

// What is written in our own format reads back the same.
func TestWriterRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "n")
		var want []Record
		var b bytes.Buffer
		w := NewWriter(&b)
		for i := range n {
			rec := Record{Line: int64(i + 2), Nanoseconds: rapid.Int64Range(0, 9e17).Draw(t, "t"), Input: rapid.Int32Range(0, 1<<30).Draw(t, "in"),
				Output: rapid.Int32Range(0, 1<<30).Draw(t, "out"), Session: uint64(rapid.Int64Range(0, math.MaxInt64).Draw(t, "session")), Class: rapid.SampledFrom([]string{"", "chat", "a b"}).Draw(t, "class")}
			for range rapid.IntRange(0, 3).Draw(t, "blocks") {
				rec.Blocks = append(rec.Blocks, Block{rapid.Uint64().Draw(t, "key"), rapid.Int32Range(1, 1<<30).Draw(t, "tokens")})
			}
			if err := w.Write(&rec); err != nil {
				t.Fatal(err)
			}
			want = append(want, rec)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(&b, "f", Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []Record
		var rec Record
		for r.Next(&rec) {
			c := rec
			c.Blocks = nil
			if len(rec.Blocks) > 0 {
				c.Blocks = append([]Block(nil), rec.Blocks...)
			}
			got = append(got, c)
		}
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("differs:\n%s", d)
		}
	})
}

// Rows read = emitted + dropped, and nothing panics, whatever the bytes.
func FuzzReader(f *testing.F) {
	for _, s := range []string{
		"TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10",
		"TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2024-10-15T12:00:00.269Z,3,1394,79\n",
		"Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n19440110.0,,0.5,GPT-4,10,0,10,API log\n",
		"num_prefill_tokens,num_decode_tokens\n3772,54\n",
		`{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}` + "\n",
		`{"chat_id":5,"parent_chat_id":-1,"timestamp":0,"input_length":40,"output_length":9,"hash_ids":[11,12,13]}`,
		`{"timestamp": "604453", "input_length": 3112, "output_length": 192, "hash_ids": {"sys_prompt": [1]}, "session_id": "x"}` + "\n\n",
		`{"id":"t","block_size":64,"requests":[{"t":0.0,"type":"n","in":200,"out":9,"hash_ids":[1,2,3]},{"t":1,"type":"subagent","requests":[{"t":2,"in":1,"out":1}]}]}`,
		"arrival_seconds,input_tokens,output_tokens,class,session,prefix\n1.5,20,3,,,ff:16;a1:2\n",
		"0,1,0.5,Gamma,1,1\n", "\x1f\x8b\x08", "\xef\xbb\xbfa,b\n\"x", "[", "{",
	} {
		f.Add([]byte(s), "")
		f.Add([]byte(s), "time_s")
	}
	f.Fuzz(func(t *testing.T, data []byte, column string) {
		o := Options{MaxRows: 1000, MaxLine: 1 << 16}
		if column != "" {
			o.Columns = map[string]string{"time": column, "input": "in", "output": "out"}
		}
		r, err := NewReader(bytes.NewReader(data), "f", o)
		if err != nil {
			return
		}
		n := int64(0)
		var rec Record
		for r.Next(&rec) {
			n++
			if rec.Input < 0 || rec.Output < 0 {
				t.Fatalf("negative tokens emitted: %+v", rec)
			}
			for _, b := range rec.Blocks {
				if b.Tokens < 0 {
					t.Fatalf("negative block: %+v", rec)
				}
			}
		}
		p := r.Report()
		if p.Emitted != n || (p.Rows != p.Emitted+p.Dropped && r.Err() == nil) {
			t.Fatalf("%d emitted, report %+v", n, p)
		}
	})
}

// endless repeats a line, to measure memory on a long trace without a file.
type endless struct {
	line string
	left int64
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) && e.left > 0 {
		k := copy(p[n:], e.line[e.at:])
		if e.at += k; e.at == len(e.line) {
			e.at = 0
		}
		n += k
		e.left -= int64(k)
	}
	return n, nil
}

func BenchmarkAzureCSV(b *testing.B) {
	line := "2023-11-16 18:17:03.9799600,4808,10\r\n"
	const header = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
	r, err := NewReader(io.MultiReader(strings.NewReader(header), &endless{line: line, left: 1 << 50}), "f", Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	var rec Record
	for b.Loop() {
		if !r.Next(&rec) {
			b.Fatal(r.Err())
		}
	}
}
