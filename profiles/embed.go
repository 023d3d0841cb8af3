// Package profiles holds the facts that ship with scoville: chips, engines, models, workloads and prices, as TOML with the
// source, date and kind of every figure, and their loaders.
package profiles

import "embed"

//go:embed */*.toml
var files embed.FS
