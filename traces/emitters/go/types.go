package emitter

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// ErrKind is wrapped by errors about a value, an action or a node that the header does not know:
// a mistake of the program that emits.
var ErrKind = errors.New("not as the header has it")

// ErrExceeded is for a handler of Atomically to return, as it is or wrapped, where Exceeded is to be called: the program
// has met something for which the header has no place. Nothing is written of the handler's step.
var ErrExceeded = errors.New("the header has no place for it")

func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrKind, fmt.Sprintf(format, args...))
}

// A reach says how far a value of the right kind goes.
type reach int

const (
	within reach = iota // the type's limits hold it
	beyond              // it is beyond a limit, and the auditor says of which kind that is
	astray              // so far that the auditor reads nothing behind it; nothing observed can be so
)

// A kind is a type of the header: it turns a decoded JSON value into its canonical text. A value beyond the type's
// limits has the text that it would have with wider limits.
type kind interface {
	canonical(value any) (string, reach, error)
}

type (
	intKind  struct{ lo, hi *int64 }
	boolKind struct{}
	atomKind map[string]bool
	setKind  struct {
		element kind
		members []string
	} // the members' canonical texts, in the header's order
	seqKind struct {
		element  kind
		capacity int
	}
	tupleKind []kind
	recKind   struct {
		fields map[string]kind
		order  []string
	}
	unionKind struct {
		variants map[string]map[string]kind
		order    []string
	}
	funKind struct {
		result    kind
		domain    []string        // the arguments' canonical texts, in the header's order
		arguments map[string]bool // the same
		named     bool            // JSON is an object
		integer   bool            // all arguments are integers
		lo, hi    int64           // their bounds
	}
)

func (k intKind) canonical(value any) (string, reach, error) {
	text, n, fits, ok := integer(value)
	switch {
	case !ok:
		return "", within, wrong("%s where an integer is expected", short(value))
	case !fits && (k.lo == nil || k.hi == nil):
		return text, astray, nil
	case !fits || (k.lo != nil && n < *k.lo) || (k.hi != nil && n > *k.hi):
		return text, beyond, nil
	}
	return text, within, nil
}

// integer is an integer's text, and the integer; of one that does not fit 64 bits the nearest that does.
func integer(value any) (text string, n int64, fits, ok bool) {
	number, ok := value.(json.Number)
	if !ok || strings.ContainsAny(number.String(), ".eE") {
		return "", 0, false, false
	}
	n, err := strconv.ParseInt(number.String(), 10, 64)
	if err != nil {
		return number.String(), n, false, true
	}
	return strconv.FormatInt(n, 10), n, true, true
}

func (boolKind) canonical(value any) (string, reach, error) {
	truth, ok := value.(bool)
	if !ok {
		return "", within, wrong("%s where true or false is expected", short(value))
	}
	return strconv.FormatBool(truth), within, nil
}

func (k atomKind) canonical(value any) (string, reach, error) {
	name, ok := value.(string)
	if !ok || !k[name] {
		return "", within, wrong("%s where one of %s is expected", short(value), some(k))
	}
	return quote(name), within, nil
}

func (k setKind) canonical(value any) (string, reach, error) {
	items, ok := value.([]any)
	if !ok {
		return "", within, wrong("%s where a set (an array) is expected", short(value))
	}
	furthest := within
	given := make(map[string]reach, len(items))
	for _, item := range items {
		text, far, err := k.element.canonical(item)
		if err != nil {
			return "", within, err
		}
		if _, twice := given[text]; twice {
			return "", within, wrong("%s stands twice in a set", text)
		}
		given[text], furthest = far, max(furthest, far)
	}
	sorted := make([]string, 0, len(items))
	for _, member := range k.members {
		if _, ok := given[member]; ok {
			sorted = append(sorted, member)
			delete(given, member)
		}
	}
	for text, far := range given {
		if far == within {
			return "", within, wrong("%s is not among the %d possible elements of the set", text, len(k.members))
		}
	}
	return "[" + strings.Join(append(sorted, shortestFirst(given)...), ",") + "]", furthest, nil
}

// shortestFirst are the table's names in the order in which texts beyond a limit stand.
func shortestFirst[V any](table map[string]V) []string {
	names := sorted(table)
	sort.SliceStable(names, func(i, j int) bool { return len(names[i]) < len(names[j]) })
	return names
}

func (k seqKind) canonical(value any) (string, reach, error) {
	items, ok := value.([]any)
	if !ok {
		return "", within, wrong("%s where a sequence (an array) is expected", short(value))
	}
	text, far, err := array(items, func(int) kind { return k.element })
	if len(items) > k.capacity {
		far = max(far, beyond)
	}
	return text, far, err
}

func (k tupleKind) canonical(value any) (string, reach, error) {
	items, ok := value.([]any)
	if !ok || len(items) != len(k) {
		return "", within, wrong("%s where a tuple (an array of %d) is expected", short(value), len(k))
	}
	return array(items, func(i int) kind { return k[i] })
}

func array(items []any, kindOf func(int) kind) (string, reach, error) {
	furthest := within
	texts := make([]string, len(items))
	for i, item := range items {
		text, far, err := kindOf(i).canonical(item)
		if err != nil {
			return "", within, err
		}
		texts[i], furthest = text, max(furthest, far)
	}
	return "[" + strings.Join(texts, ",") + "]", furthest, nil
}

func (k recKind) canonical(value any) (string, reach, error) {
	record, ok := value.(map[string]any)
	if !ok {
		return "", within, wrong("%s where a record is expected", short(value))
	}
	return fields(record, k.fields, k.order)
}

func (k unionKind) canonical(value any) (string, reach, error) {
	record, _ := value.(map[string]any)
	tag, ok := record["type"].(string)
	variant, known := k.variants[tag]
	if !ok || !known {
		return "", within, wrong("%s where a record with `type` %s is expected", short(value), some(k.variants))
	}
	return fields(record, variant, k.order)
}

// fields writes a record's fields in the given order, which may name more than it has.
func fields(record map[string]any, kinds map[string]kind, order []string) (string, reach, error) {
	furthest := within
	parts := make([]string, 0, len(kinds))
	for _, name := range order {
		kind, known := kinds[name]
		value, given := record[name]
		if !known {
			continue
		}
		if !given {
			return "", within, wrong("a record without its field %s", name)
		}
		text, far, err := kind.canonical(value)
		if err != nil {
			return "", within, err
		}
		parts, furthest = append(parts, quote(name)+":"+text), max(furthest, far)
	}
	for name := range record {
		if kinds[name] == nil {
			return "", within, wrong("a record with a field %s, which its type has not", name)
		}
	}
	return "{" + strings.Join(parts, ",") + "}", furthest, nil
}

func (k *funKind) canonical(value any) (string, reach, error) {
	cells, far, err := k.cells(value)
	if err != nil {
		return "", within, err
	}
	for _, argument := range k.domain {
		if _, given := cells[argument]; !given {
			return "", within, wrong("a function without its argument %s", argument)
		}
	}
	return k.text(cells), far, nil
}

// cells are the canonical texts of a function's results, by those of their arguments.
func (k *funKind) cells(value any) (map[string]string, reach, error) {
	var pairs [][2]any
	if object, ok := value.(map[string]any); ok && k.named {
		for argument, result := range object {
			pairs = append(pairs, [2]any{argument, result})
		}
	} else if list, ok := value.([]any); ok && !k.named {
		for _, item := range list {
			pair, ok := item.([]any)
			if !ok || len(pair) != 2 {
				return nil, within, wrong("%s where a pair [argument, value] is expected", short(item))
			}
			pairs = append(pairs, [2]any{pair[0], pair[1]})
		}
	} else {
		return nil, within, wrong("%s where a function (%s) is expected", short(value), k.form())
	}
	furthest := within
	found := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		argument, far := plain(pair[0]), within
		if !k.arguments[argument] {
			text, n, fits, ok := integer(pair[0])
			if !ok || !k.integer || (fits && k.lo <= n && n <= k.hi) {
				return nil, within, wrong("%s is not among a function's arguments", argument)
			}
			argument, far = text, astray
		}
		if _, twice := found[argument]; twice {
			return nil, within, wrong("%s is twice among a function's arguments", argument)
		}
		text, inner, err := k.result.canonical(pair[1])
		if err != nil {
			return nil, within, err
		}
		found[argument], furthest = text, max(furthest, far, inner)
	}
	return found, furthest, nil
}

func (k *funKind) form() string {
	if k.named {
		return "an object"
	}
	return "an array of pairs"
}

// text writes some cells of a function, in the order of its domain; arguments beyond it follow.
func (k *funKind) text(cells map[string]string) string {
	parts := make([]string, 0, len(cells))
	further := map[string]bool{}
	for argument := range cells {
		if !k.arguments[argument] {
			further[argument] = true
		}
	}
	for _, argument := range append(k.domain[:len(k.domain):len(k.domain)], shortestFirst(further)...) {
		result, ok := cells[argument]
		switch {
		case ok && k.named:
			parts = append(parts, argument+":"+result)
		case ok:
			parts = append(parts, "["+argument+","+result+"]")
		}
	}
	if k.named {
		return "{" + strings.Join(parts, ",") + "}"
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// typeJSON is a type as `tidemark schema` prints it.
type typeJSON struct {
	Int      []*int64                   `json:"int"`
	Atom     []string                   `json:"atom"`
	Set      json.RawMessage            `json:"set"`
	Members  []any                      `json:"members"`
	Sequence json.RawMessage            `json:"sequence"`
	Capacity int                        `json:"capacity"`
	Function json.RawMessage            `json:"function"`
	Domain   []any                      `json:"domain"`
	Record   map[string]json.RawMessage `json:"record"`
	Tuple    []json.RawMessage          `json:"tuple"`
	Union    []struct {
		Tags   []string                   `json:"tags"`
		Fields map[string]json.RawMessage `json:"fields"`
	} `json:"union"`
	Slots [][]any `json:"slots"`
}

func parseKind(raw json.RawMessage) (kind, error) {
	if string(raw) == `"boolean"` {
		return boolKind{}, nil
	}
	var t typeJSON
	if err := decode(raw, &t); err != nil {
		return nil, fmt.Errorf("a type of the header: %w", err)
	}
	switch {
	case len(t.Int) == 2:
		return intKind{t.Int[0], t.Int[1]}, nil
	case t.Atom != nil:
		names := make(atomKind, len(t.Atom))
		for _, name := range t.Atom {
			names[name] = true
		}
		return names, nil
	case t.Set != nil:
		element, err := parseKind(t.Set)
		if err != nil {
			return nil, err
		}
		members := make([]string, len(t.Members))
		for i, member := range t.Members {
			if members[i], _, err = element.canonical(member); err != nil {
				return nil, err
			}
		}
		return setKind{element, members}, nil
	case t.Sequence != nil:
		element, err := parseKind(t.Sequence)
		return seqKind{element, t.Capacity}, err
	case t.Function != nil:
		result, err := parseKind(t.Function)
		return function(result, t.Domain), err
	case t.Record != nil:
		parts, err := parseKinds(t.Record)
		return recKind{parts, sorted(parts)}, err
	case t.Tuple != nil:
		parts := make(tupleKind, len(t.Tuple))
		for i, part := range t.Tuple {
			var err error
			if parts[i], err = parseKind(part); err != nil {
				return nil, err
			}
		}
		return parts, nil
	case t.Union != nil:
		return union(t)
	}
	return nil, fmt.Errorf("a type of the header that this emitter does not know: %s", raw)
}

func function(result kind, domain []any) *funKind {
	k := &funKind{result: result, arguments: map[string]bool{}, named: true, integer: true}
	for i, argument := range domain {
		text := plain(argument)
		k.domain = append(k.domain, text)
		k.arguments[text] = true
		_, isName := argument.(string)
		n, err := strconv.ParseInt(text, 10, 64)
		k.named, k.integer = k.named && isName, k.integer && err == nil
		if i == 0 || n < k.lo {
			k.lo = n
		}
		if i == 0 || n > k.hi {
			k.hi = n
		}
	}
	return k
}

func union(t typeJSON) (kind, error) {
	k := unionKind{variants: map[string]map[string]kind{}, order: []string{"type"}}
	tags := atomKind{}
	for _, variant := range t.Union {
		parts, err := parseKinds(variant.Fields)
		if err != nil {
			return nil, err
		}
		parts["type"] = tags
		for _, tag := range variant.Tags {
			tags[tag] = true
			k.variants[tag] = parts
		}
	}
	for _, slot := range t.Slots {
		name, ok := slot[0].(string)
		if !ok {
			return nil, fmt.Errorf("a type of the header with a slot without a name: %v", slot)
		}
		k.order = append(k.order, name)
	}
	return k, nil
}

func parseKinds(raw map[string]json.RawMessage) (map[string]kind, error) {
	kinds := make(map[string]kind, len(raw))
	for name, text := range raw {
		one, err := parseKind(text)
		if err != nil {
			return nil, err
		}
		kinds[name] = one
	}
	return kinds, nil
}

func sorted[V any](table map[string]V) []string {
	names := make([]string, 0, len(table))
	for name := range table {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func some[V any](table map[string]V) string {
	names := sorted(table)
	if len(names) > 6 {
		names = append(names[:6], "...")
	}
	return strings.Join(names, ", ")
}

func short(value any) string {
	text := plain(value)
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:57], "") + "..."
	}
	return text
}
