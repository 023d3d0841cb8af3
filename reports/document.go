package reports

import "scoville/reports/chart"

// Document is a report as blocks, before any format. Every back end renders the same one.
type Document struct {
	Title    string
	Subtitle string
	Lang     string // "en" or "zh"
	Sections []Section
}

// Section is a numbered chapter; it starts with its heading.
type Section struct {
	Title  string
	Anchor string // stable name, for links
	Blocks []Block
}

// Block is one of Text, Figures, Grid, Picture, Note and Listing.
type Block interface{ block() }

// Text is a paragraph; Lead ones are larger. Heading ones stand above what follows.
type Text struct {
	Text    string
	Lead    bool
	Heading bool
}

// Figures is a row of headline numbers.
type Figures []Figure

// Figure is one number with its name and what qualifies it.
type Figure struct{ Label, Value, Detail string }

// Grid is a table: rows of formatted cells.
type Grid struct {
	Caption string
	Columns []Column
	Rows    [][]string
	Strong  int // index of the row to set off; -1: none
}

// Column is the head of a column. Numbers are set right.
type Column struct {
	Name  string
	Right bool
}

// Picture is a chart with the sentence that says what to see in it.
type Picture struct {
	Chart   chart.Chart
	Caption string
}

// Note is a doubt or a limit a reader must not miss.
type Note struct{ Text string }

// Listing is text to copy: a command, a file.
type Listing struct{ Text string }

func (Text) block()    {}
func (Figures) block() {}
func (Grid) block()    {}
func (Picture) block() {}
func (Note) block()    {}
func (Listing) block() {}

// Pictures lists the charts of a document in order.
func (d *Document) Pictures() []Picture {
	var out []Picture
	for _, s := range d.Sections {
		for _, b := range s.Blocks {
			if p, ok := b.(Picture); ok {
				out = append(out, p)
			}
		}
	}
	return out
}
