package sweep

import (
	"encoding/json"
	"io"
	"math"

	"github.com/jedib0t/go-pretty/v6/table"
	pretty "github.com/jedib0t/go-pretty/v6/text"
)

// CSV writes the table as in table.csv.
func (s *Sweep) CSV(w io.Writer, store *Store) error { return s.csv(w, store, s.columns()) }

// JSON writes the table as a list of objects, one a row, one a line.
func (s *Sweep) JSON(w io.Writer, store *Store) error {
	cs, before := s.columns(), "[\n"
	err := s.rows(store, func(r row) error {
		line := make(map[string]any, len(cs)) // the encoder sorts the keys
		for _, c := range cs {
			line[c.name] = c.of(r)
		}
		b, err := json.Marshal(line)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, before); err != nil {
			return err
		}
		before = ",\n"
		_, err = w.Write(b)
		return err
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, "\n]\n")
	return err
}

// tableRows is how many rows a reader is shown; the files have all.
const tableRows = 50

// Table writes the best candidate of each point for people.
func (s *Sweep) Table(w io.Writer, store *Store) error {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = pretty.FormatDefault
	header := table.Row{"point", "seed"}
	keys := s.keys()
	for _, k := range keys {
		header = append(header, k)
	}
	t.AppendHeader(append(header, "best", "chips", "$/M tokens", "TTFT p99", "TPOT p90"))
	shown := 0
	err := s.rows(store, func(r row) error {
		if r.c.Rank > 1 {
			return nil
		}
		if shown++; shown > tableRows {
			return nil
		}
		line := table.Row{r.point.Index, r.point.Seed}
		for _, k := range keys {
			v := setting(r.point, k)
			if v == nil {
				v = "as planned"
			}
			line = append(line, label(v))
		}
		if !r.c.Feasible {
			t.AppendRow(append(line, "none", "–", "–", "–", "–"))
			return nil
		}
		t.AppendRow(append(line, r.c.Name, r.c.Chips, dollars(r.c.USDPerMTokens), milliseconds(r.c.TTFTP99), milliseconds(r.c.TPOTP90)))
		return nil
	})
	if err != nil {
		return err
	}
	t.Render()
	if shown > tableRows {
		_, err = io.WriteString(w, "The rest is in table.csv.\n")
	}
	return err
}

func dollars(v *float64) string {
	if v == nil {
		return "–"
	}
	return "$" + label(round3(*v))
}

func milliseconds(v *float64) string {
	if v == nil {
		return "–"
	}
	return label(round3(*v*1000)) + " ms"
}

// round3 keeps three significant digits.
func round3(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	k := math.Pow(10, 2-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*k) / k
}
