// Package cost turns a sized fleet into money: cash by month over a horizon, total cost of ownership (TCO), net present
// value, dollars per million tokens, per request and per kilowatt-hour, with the definition of each beside the number.
//
// The inputs are plain values: how many chips, what they draw at which share of their load, what traffic they serve over
// the day (Input), and what things cost (Assumptions). Nothing here simulates. The formulas and their sources are in
// docs/cost.md; Formulas that published examples use are plain functions in formulas.go.
//
// Money is computed in float64 and rounded to cents once, when the Result is made, so that components and months sum to
// the total to the cent. Per-token prices are far below a cent and stay unrounded.
package cost
