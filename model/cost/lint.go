package cost

// Lint looks for the unit and definition slips that make prices wrong.
func Lint(in Input, a Assumptions, r *Result) []Finding {
	return nil
}
