package workload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// TOML writes the description in the form that ReadFile reads: tables for the parts, inline tables for distributions.
// Fields of zero value are left out.
func (w *Workload) TOML() ([]byte, error) {
	var b bytes.Buffer
	if err := writeTable(&b, "", reflect.ValueOf(*w)); err != nil {
		return nil, err
	}
	return bytes.TrimLeft(b.Bytes(), "\n"), nil
}

var distributionType = reflect.TypeOf(Distribution{})

// writeTable writes the fields of a struct: scalars first, then the tables below it.
func writeTable(b *bytes.Buffer, path string, v reflect.Value) error {
	type sub struct {
		name  string
		value reflect.Value
	}
	var subs []sub
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		x := v.Field(i)
		if name == "" || x.IsZero() {
			continue
		}
		for x.Kind() == reflect.Pointer {
			x = x.Elem()
		}
		switch {
		case x.Type() == distributionType || x.Kind() == reflect.Map:
			text, err := inline(x)
			if err != nil {
				return err
			}
			fmt.Fprintf(b, "%s = %s\n", name, text)
		case x.Kind() == reflect.Struct, x.Kind() == reflect.Slice && x.Type().Elem().Kind() == reflect.Struct:
			subs = append(subs, sub{name, x})
		default:
			text, err := scalar(x)
			if err != nil {
				return err
			}
			fmt.Fprintf(b, "%s = %s\n", name, text)
		}
	}
	for _, s := range subs {
		name := strings.TrimPrefix(path+"."+s.name, ".")
		if s.value.Kind() == reflect.Struct {
			fmt.Fprintf(b, "\n[%s]\n", name)
			if err := writeTable(b, name, s.value); err != nil {
				return err
			}
			continue
		}
		for i := range s.value.Len() {
			fmt.Fprintf(b, "\n[[%s]]\n", name)
			if err := writeTable(b, name, s.value.Index(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// inline writes a distribution or a map as an inline table.
func inline(v reflect.Value) (string, error) {
	var parts []string
	if v.Kind() == reflect.Map {
		data, err := json.Marshal(v.Interface()) // sorted by key
		if err != nil {
			return "", err
		}
		return strings.NewReplacer(`":`, `" = `, `,"`, `, "`, "{", "{ ", "}", " }").Replace(string(data)), nil
	}
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			continue
		}
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("toml"), ",")
		text, err := scalar(v.Field(i))
		if err != nil {
			return "", err
		}
		parts = append(parts, name+" = "+text)
	}
	return "{ " + strings.Join(parts, ", ") + " }", nil
}

func scalar(v reflect.Value) (string, error) {
	switch v.Kind() {
	case reflect.String:
		return strconv.Quote(v.String()), nil
	case reflect.Bool:
		return strconv.FormatBool(v.Bool()), nil
	case reflect.Int, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10), nil
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64), nil
	case reflect.Slice:
		var parts []string
		nested := v.Len() > 0 && v.Index(0).Kind() == reflect.Slice
		for i := range v.Len() {
			text, err := scalar(v.Index(i))
			if err != nil {
				return "", err
			}
			parts = append(parts, text)
		}
		if nested {
			return "[\n  " + strings.Join(parts, ",\n  ") + ",\n]", nil
		}
		return "[" + strings.Join(parts, ", ") + "]", nil
	}
	return "", fmt.Errorf("a %s can't be written as TOML", v.Type())
}
