package emitter

import (
	"encoding/json"
	"fmt"
	"strings"
)

// observed is what a trace may tell of a state beside its variables: the fields of the specification's Observed.
type observed struct {
	fields    []string
	kinds     map[string]kind
	observers []string // nil where Observed has no parameter
}

func parseObserved(raw json.RawMessage, observers []string) (*observed, error) {
	o := &observed{kinds: map[string]kind{}, observers: observers}
	fields, err := members(raw)
	if err != nil {
		return nil, err
	}
	for _, field := range fields {
		if o.kinds[field.name], err = parseKind(field.text); err != nil {
			return nil, fmt.Errorf("the field %s of Observed: %w", field.name, err)
		}
		o.fields = append(o.fields, field.name)
	}
	return o, nil
}

// told are the members `before` and `after` of a line, those that are not empty.
func (h *Header) told(before, after Values) ([]string, error) {
	var parts []string
	for i, given := range []Values{before, after} {
		name := []string{"before", "after"}[i]
		text, err := h.observed.text(given)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if text != "" {
			parts = append(parts, quote(name)+":"+text)
		}
	}
	return parts, nil
}

// text is what was observed, canonical; empty where nothing was.
func (o *observed) text(given Values) (string, error) {
	value, err := neutral(given)
	if err != nil {
		return "", err
	}
	table, ok := value.(map[string]any)
	if !ok || len(table) == 0 {
		return "", nil
	}
	if o == nil {
		return "", wrong("the specification defines no Observed, so nothing can be observed")
	}
	if o.observers == nil {
		return o.record(table)
	}
	return object(table, o.observers, "observer", func(observer string, value any) (string, error) {
		record, ok := value.(map[string]any)
		if !ok {
			return "", wrong("%s where an object of the fields of Observed is expected", short(value))
		}
		return o.record(record)
	})
}

func (o *observed) record(record map[string]any) (string, error) {
	return object(record, o.fields, "field of Observed", func(field string, value any) (string, error) {
		text, far, err := o.kinds[field].canonical(value)
		switch {
		case err == nil && far != astray:
			return text, nil
		case like(o.kinds[field], value):
			return plain(value), nil // no state can have it, which is for the auditor to say
		case err == nil:
			return "", wrong("%s, for which the header has no place", short(value))
		}
		return "", err
	})
}

// object writes a table in the given order; members without a text are left out, as is an object without members.
func object(table map[string]any, order []string, what string, write func(string, any) (string, error)) (string, error) {
	var parts []string
	known := 0
	for _, name := range order {
		value, ok := table[name]
		if !ok {
			continue
		}
		known++
		text, err := write(name, value)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		if text != "" {
			parts = append(parts, quote(name)+":"+text)
		}
	}
	if known < len(table) {
		return "", wrong("%s is not among the %ss: %s", some(table), what, strings.Join(order, ", "))
	}
	if parts == nil {
		return "", nil
	}
	return "{" + strings.Join(parts, ",") + "}", nil
}

// like says whether a value is of the JSON kind that a type's values have.
func like(k kind, value any) bool {
	switch k := k.(type) {
	case intKind:
		number, ok := value.(json.Number)
		return ok && !strings.ContainsAny(number.String(), ".eE")
	case atomKind:
		_, ok := value.(string)
		return ok
	case setKind:
		return each(value, func(int) kind { return k.element })
	case seqKind:
		return each(value, func(int) kind { return k.element })
	case recKind:
		record, ok := value.(map[string]any)
		for name, field := range k.fields {
			ok = ok && like(field, record[name])
		}
		return ok && len(record) == len(k.fields)
	}
	return false
}

func each(value any, kindOf func(int) kind) bool {
	items, ok := value.([]any)
	for i, item := range items {
		ok = ok && like(kindOf(i), item)
	}
	return ok
}
