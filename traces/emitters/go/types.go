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

// ErrCapacity is wrapped by errors about a value that is of the right kind and beyond a capacity of the header.
// The trace has ended, by its own word for that reason, and is UNDECIDED from there on.
var ErrCapacity = errors.New("beyond a capacity")

func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrKind, fmt.Sprintf(format, args...))
}

func exceeds(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCapacity, fmt.Sprintf(format, args...))
}

// A kind is a type of the header: it turns a decoded JSON value into its canonical text.
type kind interface {
	canonical(value any) (string, error)
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
		result  kind
		domain  []string       // the arguments' canonical texts, in the header's order
		index   map[string]int // of an argument's canonical text
		named   bool           // JSON is an object
		integer bool           // all arguments are integers
		lo, hi  int64          // their bounds
	}
)

func (k intKind) canonical(value any) (string, error) {
	number, ok := value.(json.Number)
	if !ok || strings.ContainsAny(number.String(), ".eE") {
		return "", wrong("%s where an integer is expected", short(value))
	}
	n, err := strconv.ParseInt(number.String(), 10, 64)
	if err != nil || (k.lo != nil && n < *k.lo) || (k.hi != nil && n > *k.hi) {
		return "", exceeds("%s is outside %s..%s", number, bound(k.lo), bound(k.hi))
	}
	return strconv.FormatInt(n, 10), nil
}

func bound(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

func (boolKind) canonical(value any) (string, error) {
	truth, ok := value.(bool)
	if !ok {
		return "", wrong("%s where true or false is expected", short(value))
	}
	return strconv.FormatBool(truth), nil
}

func (k atomKind) canonical(value any) (string, error) {
	name, ok := value.(string)
	if !ok || !k[name] {
		return "", wrong("%s where one of %s is expected", short(value), some(k))
	}
	return quote(name), nil
}

func (k setKind) canonical(value any) (string, error) {
	items, ok := value.([]any)
	if !ok {
		return "", wrong("%s where a set (an array) is expected", short(value))
	}
	given := make(map[string]bool, len(items))
	for _, item := range items {
		text, err := k.element.canonical(item)
		if err != nil {
			return "", err
		}
		if given[text] {
			return "", wrong("%s stands twice in a set", text)
		}
		given[text] = true
	}
	sorted := make([]string, 0, len(items))
	for _, member := range k.members {
		if given[member] {
			sorted = append(sorted, member)
			delete(given, member)
		}
	}
	for text := range given {
		return "", wrong("%s is not among the %d possible elements of the set", text, len(k.members))
	}
	return "[" + strings.Join(sorted, ",") + "]", nil
}

func (k seqKind) canonical(value any) (string, error) {
	items, ok := value.([]any)
	if !ok {
		return "", wrong("%s where a sequence (an array) is expected", short(value))
	}
	if len(items) > k.capacity {
		return "", exceeds("a sequence of %d elements, more than %d", len(items), k.capacity)
	}
	return array(items, func(int) kind { return k.element })
}

func (k tupleKind) canonical(value any) (string, error) {
	items, ok := value.([]any)
	if !ok || len(items) != len(k) {
		return "", wrong("%s where a tuple (an array of %d) is expected", short(value), len(k))
	}
	return array(items, func(i int) kind { return k[i] })
}

func array(items []any, kindOf func(int) kind) (string, error) {
	texts := make([]string, len(items))
	for i, item := range items {
		text, err := kindOf(i).canonical(item)
		if err != nil {
			return "", err
		}
		texts[i] = text
	}
	return "[" + strings.Join(texts, ",") + "]", nil
}

func (k recKind) canonical(value any) (string, error) {
	record, ok := value.(map[string]any)
	if !ok {
		return "", wrong("%s where a record is expected", short(value))
	}
	return fields(record, k.fields, k.order)
}

func (k unionKind) canonical(value any) (string, error) {
	record, _ := value.(map[string]any)
	tag, ok := record["type"].(string)
	variant, known := k.variants[tag]
	if !ok || !known {
		return "", wrong("%s where a record with `type` %s is expected", short(value), some(k.variants))
	}
	return fields(record, variant, k.order)
}

// fields writes a record's fields in the given order, which may name more than it has.
func fields(record map[string]any, kinds map[string]kind, order []string) (string, error) {
	parts := make([]string, 0, len(kinds))
	for _, name := range order {
		kind, known := kinds[name]
		value, given := record[name]
		if !known {
			continue
		}
		if !given {
			return "", wrong("a record without its field %s", name)
		}
		text, err := kind.canonical(value)
		if err != nil {
			return "", err
		}
		parts = append(parts, quote(name)+":"+text)
	}
	for name := range record {
		if kinds[name] == nil {
			return "", wrong("a record with a field %s, which its type has not", name)
		}
	}
	return "{" + strings.Join(parts, ",") + "}", nil
}

func (k *funKind) canonical(value any) (string, error) {
	cells, err := k.cells(value)
	if err != nil {
		return "", err
	}
	if len(cells) != len(k.domain) {
		return "", wrong("a function with %d of its %d arguments", len(cells), len(k.domain))
	}
	return k.text(cells), nil
}

// cells are the canonical texts of a function's results, by the index of their argument.
func (k *funKind) cells(value any) (map[int]string, error) {
	var pairs [][2]any
	if object, ok := value.(map[string]any); ok && k.named {
		for argument, result := range object {
			pairs = append(pairs, [2]any{argument, result})
		}
	} else if list, ok := value.([]any); ok && !k.named {
		for _, item := range list {
			pair, ok := item.([]any)
			if !ok || len(pair) != 2 {
				return nil, wrong("%s where a pair [argument, value] is expected", short(item))
			}
			pairs = append(pairs, [2]any{pair[0], pair[1]})
		}
	} else {
		return nil, wrong("%s where a function (%s) is expected", short(value), k.form())
	}
	found := make(map[int]string, len(pairs))
	for _, pair := range pairs {
		argument := plain(pair[0])
		index, ok := k.index[argument]
		if n, err := strconv.ParseInt(argument, 10, 64); !ok && k.integer && err == nil && (n < k.lo || n > k.hi) {
			return nil, exceeds("the argument %d is outside %d..%d", n, k.lo, k.hi)
		}
		if _, twice := found[index]; !ok || twice {
			return nil, wrong("%s is not, or twice, among a function's arguments", argument)
		}
		text, err := k.result.canonical(pair[1])
		if err != nil {
			return nil, err
		}
		found[index] = text
	}
	return found, nil
}

func (k *funKind) form() string {
	if k.named {
		return "an object"
	}
	return "an array of pairs"
}

// text writes some cells of a function, in the order of its domain.
func (k *funKind) text(cells map[int]string) string {
	parts := make([]string, 0, len(cells))
	for i, argument := range k.domain {
		result, ok := cells[i]
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
			if members[i], err = element.canonical(member); err != nil {
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
	k := &funKind{result: result, index: map[string]int{}, named: true, integer: true}
	for i, argument := range domain {
		text := plain(argument)
		k.domain = append(k.domain, text)
		k.index[text] = i
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
