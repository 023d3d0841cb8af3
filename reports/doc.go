// Package reports draws a plan.Result: terminal table, JSON, CSV, XLSX, PNG, SVG, PDF and HTML. Every back end renders the same
// Document, built from the result and from nothing else, so that all say the same and a saved result can be drawn again.
package reports
