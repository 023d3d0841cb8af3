package tomlfile

import "fmt"

// Limits that no sane file meets. Without them a few kilobytes of dots keep the decoder busy for a minute.
const (
	maxDepth     = 32      // of nested brackets, and of parts of a dotted key
	maxLineBytes = 1 << 20 // of one line
)

// checkLimits refuses text that is nested too deep or has too long lines, before it is decoded.
func checkLimits(name string, data []byte) error {
	if len(data) > MaxBytes {
		return &Error{File: name, Problem: fmt.Sprintf("file is %d bytes; at most %d are read", len(data), MaxBytes)}
	}
	line, lineStart, depth, dots := 1, 0, 0, 0
	for i := 0; i < len(data); i++ {
		switch c := data[i]; c {
		case '\n':
			line, lineStart, dots = line+1, i+1, 0
		case '#':
			for i+1 < len(data) && data[i+1] != '\n' {
				i++
			}
		case '"', '\'':
			end := skipString(data, i)
			for ; i < end; i++ {
				if data[i] == '\n' {
					line, lineStart = line+1, i+1
				}
			}
		case '[', '{':
			depth, dots = depth+1, 0
		case ']', '}':
			depth, dots = max(0, depth-1), 0
		case '=', ',':
			dots = 0
		case '.':
			dots++
		}
		if depth > maxDepth || dots > maxDepth {
			return &Error{File: name, Line: line, Problem: fmt.Sprintf("is nested more than %d deep", maxDepth)}
		}
		if i-lineStart > maxLineBytes {
			return &Error{File: name, Line: line, Problem: fmt.Sprintf("line is longer than %d bytes", maxLineBytes)}
		}
	}
	return nil
}

// skipString is the place of the last byte of the string that starts at i: the end of the line or of the data where a string of
// one line or of many is not closed, which the decoder then reports.
func skipString(data []byte, i int) int {
	quote, many := data[i], i+2 < len(data) && data[i+1] == data[i] && data[i+2] == data[i]
	if many {
		i += 2
	}
	for i++; i < len(data); i++ {
		switch {
		case data[i] == '\\' && quote == '"':
			i++
		case many && data[i] == quote && i+2 < len(data) && data[i+1] == quote && data[i+2] == quote:
			return i + 2
		case !many && data[i] == quote:
			return i
		case !many && data[i] == '\n':
			return i - 1
		}
	}
	return len(data) - 1
}
