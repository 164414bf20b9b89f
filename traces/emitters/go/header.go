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
	observed  map[string]kind // the types of what is observed, where the header tells them
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
		Observed map[string]json.RawMessage
	}
	if err := decode(raw, &data); err != nil || data.Tidemark != "trace" {
		return nil, fmt.Errorf("this is no header, which `tidemark schema` prints (%v)", err)
	}
	if data.Version != 1 {
		return nil, fmt.Errorf("this emitter writes version 1 of the trace format, not %d", data.Version)
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
	h.observed, err = parseKinds(data.Observed)
	return h, err
}

// parseAction keeps the parameters' order and the texts of their values, which the auditor compares.
func parseAction(raw json.RawMessage) (action, error) {
	var a action
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if _, err := decoder.Token(); err != nil {
		return a, err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return a, err
		}
		var values []json.RawMessage
		if err := decoder.Decode(&values); err != nil {
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
		a.names, a.domains = append(a.names, name.(string)), append(a.domains, texts)
	}
	return a, nil
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
		text, ok := action.domains[i][plain(seen)]
		if !ok {
			return "", wrong("%s: parameter %s = %s is outside its domain", name, formal, short(seen))
		}
		parts[i] = quote(formal) + ":" + text
	}
	return "{" + strings.Join(parts, ",") + "}", nil
}

// observation writes what was observed. Where the header says how its fields look they are checked.
func (h *Header) observation(given Values) (string, error) {
	value, err := neutral(given)
	if err != nil {
		return "", err
	}
	parts := make([]string, 0, len(given))
	for _, name := range sorted(given) {
		text := plain(value.(map[string]any)[name])
		if h.observed != nil {
			kind, ok := h.observed[name]
			if !ok {
				return "", wrong("%s observes no %s", h.Spec, name)
			}
			if text, err = kind.canonical(value.(map[string]any)[name]); err != nil {
				return "", fmt.Errorf("%s: %w", name, err)
			}
		}
		parts = append(parts, quote(name)+":"+text)
	}
	return "{" + strings.Join(parts, ",") + "}", nil
}
