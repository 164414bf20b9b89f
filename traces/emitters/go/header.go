package emitter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"
)

// Header is what `tidemark schema` prints: one line of JSON, the first of every file of traces.
type Header struct {
	Spec      string   // the specification's name
	Nodes     []string // names that a step's Node may have
	Constants Values   // the specification's constants
	line      string
	nodes     map[string]bool
	variables []variable // in the order of the layout
	byName    map[string]*variable
	actions   map[string]action
	observed  *observed // nil where nothing can be observed
}

type variable struct {
	name string
	kind kind
}

// action has, per parameter in the header's order, the text of every value by the value's plain text.
type action struct {
	names   []string
	domains []map[string]string
}

// ReadHeader reads a header. Its text is kept as it stands: traces start with the same bytes, but for white space.
func ReadHeader(from io.Reader) (*Header, error) {
	raw, err := io.ReadAll(from)
	if err != nil {
		return nil, err
	}
	var data struct {
		Tidemark  string
		Version   int
		Spec      string
		Nodes     []string
		Constants Values
		Variables map[string]struct {
			Offset int
			Type   json.RawMessage
		}
		Actions []struct {
			Name   string
			Params json.RawMessage
		}
		Observed *struct {
			Fields    json.RawMessage
			Observers []string
		}
	}
	if err := decode(raw, &data); err != nil || data.Tidemark != "trace" {
		return nil, fmt.Errorf("this is no header, which `tidemark schema` prints (%v)", err)
	}
	if data.Version != 1 && data.Version != 2 {
		return nil, fmt.Errorf("this emitter writes versions 1 and 2 of the trace format, not %d", data.Version)
	}
	var line bytes.Buffer
	if err := json.Compact(&line, raw); err != nil {
		return nil, err
	}
	h := &Header{Spec: data.Spec, Nodes: data.Nodes, Constants: data.Constants, line: line.String(),
		nodes: map[string]bool{}, byName: map[string]*variable{}, actions: map[string]action{}}
	for _, node := range data.Nodes {
		h.nodes[node] = true
	}
	for name, v := range data.Variables {
		kind, err := parseKind(v.Type)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", name, err)
		}
		h.variables = append(h.variables, variable{name, kind})
	}
	sort.Slice(h.variables, func(i, j int) bool {
		return data.Variables[h.variables[i].name].Offset < data.Variables[h.variables[j].name].Offset
	})
	for i := range h.variables {
		h.byName[h.variables[i].name] = &h.variables[i]
	}
	for _, a := range data.Actions {
		if h.actions[a.Name], err = parseAction(a.Params); err != nil {
			return nil, fmt.Errorf("action %s: %w", a.Name, err)
		}
	}
	if data.Observed != nil {
		h.observed, err = parseObserved(data.Observed.Fields, data.Observed.Observers)
	}
	return h, err
}

// member is a name of a JSON object, with its value's text.
type member struct {
	name string
	text json.RawMessage
}

// members are those of a JSON object, in the order in which they stand.
func members(raw json.RawMessage) ([]member, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil, fmt.Errorf("no object: %s (%v)", raw, err)
	}
	var found []member
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		one := member{name: name.(string)}
		if err := decoder.Decode(&one.text); err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	return found, nil
}

// parseAction keeps the parameters' order and the texts of their values, as the header has them.
func parseAction(raw json.RawMessage) (action, error) {
	var a action
	formals, err := members(raw)
	for _, formal := range formals {
		var values []json.RawMessage
		if err := decode(formal.text, &values); err != nil {
			return a, err
		}
		texts := make(map[string]string, len(values))
		for _, text := range values {
			var value any
			if err := decode(text, &value); err != nil {
				return a, err
			}
			texts[plain(value)] = string(text)
		}
		a.names, a.domains = append(a.names, formal.name), append(a.domains, texts)
	}
	return a, err
}

func (h *Header) has(name string) bool { return h.byName[name] != nil }

// params writes an action's parameters.
func (h *Header) params(name string, given Values) (string, error) {
	action, ok := h.actions[name]
	if !ok {
		return "", wrong("%s has no action %q", h.Spec, name)
	}
	if len(given) != len(action.names) {
		return "", wrong("%s takes the parameters %s", name, strings.Join(action.names, ", "))
	}
	parts := make([]string, len(action.names))
	for i, formal := range action.names {
		value, ok := given[formal]
		if !ok {
			return "", wrong("%s takes a parameter %s", name, formal)
		}
		seen, err := neutral(value)
		if err != nil {
			return "", err
		}
		text, ok := action.text(i, seen)
		if !ok {
			return "", wrong("%s: parameter %s = %s is outside its domain, by more than an integer", name, formal, short(seen))
		}
		parts[i] = quote(formal) + ":" + text
	}
	return "{" + strings.Join(parts, ",") + "}", nil
}

// text is the i-th parameter as the header has it. A value that differs from one of the domain in integers only is
// written, too: the auditor says that there is no such step.
func (a action) text(i int, value any) (string, bool) {
	text, ok := a.domains[i][plain(value)]
	for _, member := range a.domains[i] {
		if ok {
			break
		}
		text, ok = alike(json.RawMessage(member), value)
	}
	return text, ok
}

// alike writes a value in the form of another from which it differs in nothing but integers, alone or in records.
// An array is taken as it is: only the auditor knows whether it is a set, and which elements that can have.
func alike(other json.RawMessage, value any) (string, bool) {
	var known any
	if err := decode(other, &known); err != nil {
		return "", false
	}
	if text, _, _, ok := integer(value); ok {
		_, _, _, ok = integer(known)
		return text, ok
	}
	record, ok := value.(map[string]any)
	if !ok {
		return string(other), plain(known) == plain(value)
	}
	fields, err := members(other)
	if err != nil || len(fields) != len(record) {
		return "", false
	}
	parts := make([]string, len(fields))
	for i, field := range fields {
		inner, given := record[field.name]
		text, ok := alike(field.text, inner)
		if !given || !ok {
			return "", false
		}
		parts[i] = quote(field.name) + ":" + text
	}
	return "{" + strings.Join(parts, ",") + "}", true
}
