package results

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// The subset of YAML that benchmark reports are written in: block mappings and sequences, plain and quoted scalars, comments,
// folded and literal blocks (kept as text), empty flow collections. Anything else is refused by line.

const yamlMaxDepth = 64

type yamlLine struct {
	number, indent int
	text           string
}

// looksYAML tells YAML from other text: the first line that is not a comment is a key alone or a key and a value.
func looksYAML(text []byte) bool {
	for _, l := range bytes.Split(text, []byte("\n")) {
		l = bytes.TrimRight(l, " \r")
		if len(l) == 0 || l[0] == '#' || string(l) == "---" {
			continue
		}
		key, _, ok := bytes.Cut(l, []byte(":"))
		if !ok || len(key) == 0 {
			return false
		}
		for _, c := range key {
			if (c < 'a' || c > 'z') && c != '_' {
				return false
			}
		}
		return true
	}
	return false
}

type yamlParser struct {
	lines []yamlLine
	at    int
}

func parseYAML(text string) (any, error) {
	p := &yamlParser{}
	for i, l := range strings.Split(text, "\n") {
		l = strings.TrimRight(l, " \r")
		body := strings.TrimLeft(l, " ")
		if body == "" || body[0] == '#' || body == "---" {
			continue
		}
		if body[0] == '\t' {
			return nil, fmt.Errorf("line %d: a tab indents this line; YAML takes spaces", i+1)
		}
		p.lines = append(p.lines, yamlLine{i + 1, len(l) - len(body), body})
	}
	if len(p.lines) == 0 {
		return nil, fmt.Errorf("no YAML value")
	}
	v, err := p.block(p.lines[0].indent, 0)
	if err == nil && p.at < len(p.lines) {
		err = fmt.Errorf("line %d: unexpected indentation", p.lines[p.at].number)
	}
	return v, err
}

func (p *yamlParser) block(indent, depth int) (any, error) {
	if depth > yamlMaxDepth {
		return nil, fmt.Errorf("line %d: nested deeper than %d", p.lines[p.at].number, yamlMaxDepth)
	}
	if t := p.lines[p.at].text; t == "-" || strings.HasPrefix(t, "- ") {
		return p.sequence(indent, depth)
	}
	return p.mapping(indent, depth)
}

func (p *yamlParser) sequence(indent, depth int) (any, error) {
	list := []any{}
	for p.at < len(p.lines) {
		l := &p.lines[p.at]
		if l.indent != indent || l.text != "-" && !strings.HasPrefix(l.text, "- ") {
			break
		}
		rest := strings.TrimLeft(strings.TrimPrefix(l.text, "-"), " ")
		if rest == "" {
			p.at++
			v, err := p.nested(indent, depth)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
			continue
		}
		if _, _, isKey := yamlKey(rest); isKey {
			// "- key: value" opens a mapping that goes on below, indented to the key.
			l.indent += len(l.text) - len(rest)
			l.text = rest
			v, err := p.block(l.indent, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
			continue
		}
		p.at++
		list = append(list, p.scalar(rest, indent))
	}
	return list, nil
}

func (p *yamlParser) mapping(indent, depth int) (any, error) {
	m := map[string]any{}
	for p.at < len(p.lines) {
		l := p.lines[p.at]
		if l.indent != indent {
			if l.indent > indent {
				return nil, fmt.Errorf("line %d: unexpected indentation", l.number)
			}
			break
		}
		key, value, ok := yamlKey(l.text)
		if !ok {
			if strings.HasPrefix(l.text, "- ") {
				break
			}
			return nil, fmt.Errorf("line %d: %q is neither a key nor a list item", l.number, clip(l.text))
		}
		p.at++
		if value != "" {
			m[key] = p.scalar(value, indent)
			continue
		}
		v, err := p.nestedOrList(indent, depth)
		if err != nil {
			return nil, err
		}
		m[key] = v
	}
	return m, nil
}

// nested reads a block that is indented deeper, or null.
func (p *yamlParser) nested(indent, depth int) (any, error) {
	if p.at < len(p.lines) && p.lines[p.at].indent > indent {
		return p.block(p.lines[p.at].indent, depth+1)
	}
	return nil, nil
}

// nestedOrList also takes a list at the key's own indentation, as YAML allows.
func (p *yamlParser) nestedOrList(indent, depth int) (any, error) {
	if p.at < len(p.lines) && p.lines[p.at].indent == indent && strings.HasPrefix(p.lines[p.at].text, "-") {
		return p.sequence(indent, depth+1)
	}
	return p.nested(indent, depth)
}

// yamlKey splits "key: value" and "key:".
func yamlKey(s string) (key, value string, ok bool) {
	if q := s[0]; q == '"' || q == '\'' {
		end := strings.IndexByte(s[1:], q)
		if end < 0 {
			return "", "", false
		}
		rest := s[end+2:]
		if rest == ":" || strings.HasPrefix(rest, ": ") {
			return s[1 : end+1], strings.TrimLeft(rest[1:], " "), true
		}
		return "", "", false
	}
	if k, v, found := strings.Cut(s, ": "); found {
		return k, strings.TrimLeft(v, " "), true
	}
	if k, found := strings.CutSuffix(s, ":"); found {
		return k, "", true
	}
	return "", "", false
}

// scalar reads a value; deeper lines that follow continue a text.
func (p *yamlParser) scalar(s string, indent int) any {
	var more []string
	for p.at < len(p.lines) && p.lines[p.at].indent > indent {
		more = append(more, p.lines[p.at].text)
		p.at++
	}
	if len(more) > 0 {
		return strings.Join(append([]string{s}, more...), " ")
	}
	if n := len(s); n >= 2 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
		return s[1 : n-1]
	}
	if i := strings.Index(s, " #"); i >= 0 {
		s = strings.TrimRight(s[:i], " ")
	}
	switch s {
	case "null", "~", "{}":
		return nil
	case "[]":
		return []any{}
	case "true":
		return true
	case "false":
		return false
	case ".inf":
		return "Infinity"
	case ".nan":
		return nil
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return f
	}
	return s
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}
