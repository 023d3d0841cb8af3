package reports

import (
	"fmt"
	"io"
	"path/filepath"

	"scoville/model/atomicfile"
	"scoville/reports/chart"
	"scoville/sim/plan"
)

// PNGs writes every chart of the report into dir as NAME.png at twice screen resolution. See PDF for warnings.
func PNGs(dir string, r *plan.Result, o Options) (warnings []string, err error) {
	return images(dir, ".png", r, o, chart.Chart.PNG)
}

// SVGs writes every chart of the report into dir as NAME.svg. See PDF for warnings.
func SVGs(dir string, r *plan.Result, o Options) (warnings []string, err error) {
	return images(dir, ".svg", r, o, chart.Chart.SVG)
}

func images(dir, ext string, r *plan.Result, o Options, write func(chart.Chart, io.Writer, *chart.Fonts) error) ([]string, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	d := Build(r, o.Lang)
	fonts, err := loadFonts(o, fmt.Sprint(*d))
	if err != nil {
		return nil, err
	}
	for _, p := range d.Pictures() {
		path := filepath.Join(dir, p.Chart.Name+ext)
		if err := atomicfile.Write(path, func(w io.Writer) error { return write(p.Chart, w, fonts.Fonts) }); err != nil {
			return nil, err
		}
	}
	return fonts.warnings(), nil
}
