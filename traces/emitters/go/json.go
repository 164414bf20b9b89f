package emitter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// decode reads one JSON document and keeps its numbers as they are written.
func decode(raw []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return fmt.Errorf("more than one JSON document")
	}
	return nil
}

// neutral turns whatever encoding/json can marshal into maps, slices, strings, numbers and booleans.
func neutral(value any) (any, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, wrong("%v", err)
	}
	var out any
	if err := decode(raw, &out); err != nil {
		return nil, wrong("%v", err)
	}
	return out, nil
}

// plain is a decoded value as JSON with sorted keys: two values are equal when their texts are.
func plain(value any) string {
	switch value := value.(type) {
	case string:
		return quote(value)
	case []any:
		parts := make([]string, len(value))
		for i, item := range value {
			parts[i] = plain(item)
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		parts := make([]string, 0, len(value))
		for _, name := range sorted(value) {
			parts = append(parts, quote(name)+":"+plain(value[name]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case nil:
		return "null"
	}
	return fmt.Sprint(value)
}

// quote is a string as JSON with as few escapes as JSON allows. (encoding/json escapes U+2028 and U+2029, too.)
func quote(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r >= 0x20:
			out.WriteRune(r)
		case strings.ContainsRune("\b\t\n\f\r", r):
			out.WriteByte('\\')
			out.WriteByte("btn?fr"[r-'\b'])
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	out.WriteByte('"')
	return out.String()
}

func validText(text string) error {
	if !utf8.ValidString(text) {
		return wrong("the text %q is not UTF-8", text)
	}
	return nil
}
