package reports

import (
	"io"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"scoville/sim/plan"
)

// tableWidth is the width of the narrowest terminal the table has to fit.
const tableWidth = 80

// Table writes the answer for a terminal of 80 columns: the sentence, the ranked candidates with the spreadsheet's answer
// beside the simulated one, and what a reader must not miss. Colour is used on terminals unless NO_COLOR is set.
func Table(w io.Writer, r *plan.Result) error { return TableIn(w, r, Options{}) }

// TableIn is Table in the language of the options.
func TableIn(w io.Writer, r *plan.Result, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	_, err := io.WriteString(w, (&builder{newWords(o.Lang), r}).terminal(coloured(w)))
	return err
}

// terminal is the answer as lines of at most tableWidth columns.
func (b *builder) terminal(colour bool) string {
	var out strings.Builder
	say := func(s string) {
		for _, l := range wrapColumns(s, tableWidth) {
			out.WriteString(l + "\n")
		}
	}
	if b.r.Title != "" {
		for _, l := range wrapColumns(b.r.Title, tableWidth) {
			if colour {
				l = "\x1b[1m" + l + "\x1b[0m"
			}
			out.WriteString(l + "\n")
		}
	}
	say(b.headline())
	out.WriteString("\n")
	if len(b.r.Candidates) > 0 {
		out.WriteString(b.terminalTable() + "\n")
		say(b.t("by division: peak rate × mean output ÷ peak throughput, as a spreadsheet does it."))
	}
	if c, ok := b.winner(); ok {
		if s := b.breaks(c); s != "" {
			say(s)
		}
		if c.Capacity.Binding != "" {
			say(b.f("What binds: %s.", b.said(strings.TrimRight(c.Capacity.Binding, "."))))
		}
	}
	for _, c := range b.r.Candidates {
		if !c.Feasible && c.Reason != "" {
			say(b.f("%s is not feasible: %s.", c.Name, b.said(strings.TrimRight(c.Reason, "."))))
		}
	}
	for _, n := range b.r.Warnings {
		say(b.f("warning: %s", b.said(n)))
	}
	return out.String()
}

// terminalTable is the ranked table without what 80 columns have no room for.
func (b *builder) terminalTable() string {
	full := b.ranked()
	pick, room := b.pick(full)
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Options.SeparateHeader = true
	t.Style().Format.Header = text.FormatDefault
	t.Style().Box.PaddingLeft, t.Style().Box.PaddingRight = "", "  "
	head, configs := table.Row{}, []table.ColumnConfig{}
	for k, i := range pick {
		c := full.Columns[i]
		align := text.AlignLeft
		if c.Right {
			align = text.AlignRight
		}
		head = append(head, c.Name)
		configs = append(configs, table.ColumnConfig{Number: k + 1, Align: align, AlignHeader: align})
	}
	t.AppendHeader(head)
	for _, row := range full.Rows {
		cells := table.Row{}
		for _, i := range pick {
			cell := row[i]
			if i == 1 {
				cell = strings.Join(wrapColumns(cell, room), "\n")
			}
			cells = append(cells, cell)
		}
		t.AppendRow(cells)
	}
	t.SetColumnConfigs(configs)
	var lines []string
	for _, l := range strings.Split(t.Render(), "\n") {
		lines = append(lines, strings.TrimRight(l, " "))
	}
	return strings.Join(lines, "\n")
}

// pick chooses the columns that fit, and the width left for names: power and the range go before names are broken much.
func (b *builder) pick(full Grid) (pick []int, room int) {
	widest := func(i int) int {
		w := text.StringWidth(full.Columns[i].Name)
		for _, row := range full.Rows {
			w = max(w, text.StringWidth(row[i]))
		}
		return w
	}
	want := min(widest(1), 26)
	for _, pick := range [][]int{{0, 1, 2, 3, 5, 7, 8, 9}, {0, 1, 2, 3, 7, 8, 9}, {0, 1, 2, 3, 5, 7, 9}, {0, 1, 2, 3, 7, 9}} {
		room = tableWidth
		for _, i := range pick {
			if i != 1 {
				room -= widest(i) + 2
			}
		}
		if room -= 2; room >= want {
			return pick, min(room, max(widest(1), 1))
		}
	}
	return []int{0, 1, 2, 3, 7, 9}, max(room, 10)
}

// coloured reports whether w is a terminal whose user does not refuse colour (no-color.org).
func coloured(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

// wrapColumns breaks text at spaces, or between wide characters, into lines of at most n columns.
func wrapColumns(s string, n int) []string {
	var lines []string
	line := ""
	for _, p := range pieces(s) {
		if text.StringWidth(strings.TrimRight(line+p, " ")) > n && line != "" {
			lines = append(lines, strings.TrimRight(line, " "))
			line = ""
		}
		line += p
		for text.StringWidth(strings.TrimRight(line, " ")) > n {
			head := text.Trim(line, n)
			lines, line = append(lines, head), strings.TrimPrefix(line, head)
		}
	}
	return append(lines, strings.TrimRight(line, " "))
}

// Summary is the answer in one sentence, in English.
func Summary(r *plan.Result) string { return (&builder{newWords("en"), r}).headline() }
