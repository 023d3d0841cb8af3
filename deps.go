//go:build deps

// Package deps keeps the module graph whole while rooms are being built; removed before the first release.
package deps

import (
	_ "codeberg.org/go-fonts/liberation/liberationsansregular"
	_ "codeberg.org/go-pdf/fpdf"
	_ "github.com/BurntSushi/toml"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/jedib0t/go-pretty/v6/progress"
	_ "github.com/jedib0t/go-pretty/v6/table"
	_ "github.com/parquet-go/parquet-go"
	_ "github.com/prometheus/common/expfmt"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/shopspring/decimal"
	_ "github.com/urfave/cli/v2"
	_ "github.com/xuri/excelize/v2"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/term"
	_ "gonum.org/v1/gonum/optimize"
	_ "gonum.org/v1/gonum/stat/distuv"
	_ "gonum.org/v1/plot"
	_ "gonum.org/v1/plot/vg/vgimg"
	_ "gonum.org/v1/plot/vg/vgsvg"
	_ "pgregory.net/rapid"
)
