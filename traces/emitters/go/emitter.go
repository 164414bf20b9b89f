// Package emitter writes traces that `tidemark audit` reads. It needs the header that `tidemark schema` prints.
//
//	header, err := emitter.ReadHeader(file)
//	traces, err := emitter.NewWriter(out, header)
//	trace, err := traces.Begin("run-1", emitter.Values{"lock": "free", "waiting": []string{}})
//	err = trace.Step(emitter.Step{Node: "a", Action: "Acquire", Params: emitter.Values{"c": "a"},
//	    State: emitter.Values{"lock": "a"}})
//	err = trace.End(true)
//
// A value is whatever encoding/json marshals into the JSON form of docs/trace-format.md. It is checked against the
// header's types and written in one canonical form, the form that `tidemark convert` writes. A step's State holds the
// variables that may have changed; the emitter writes those that did, of a function only the changed cells.
//
// A value beyond a limit of the header (an integer outside its bounds, a longer sequence, a parameter above its domain)
// is written as it is, and the trace goes on: the auditor knows whether the limit means something (FAIL) or is a capacity
// (UNDECIDED), and names value and limit. Where the header has no way to tell what happened, the program calls Exceeded.
//
// A value of another kind than the header's is an error that wraps ErrKind, and no line tells of it; a name that the
// header does not list is one. The trace gets no end record, so that it is UNDECIDED and never a PASS.
// All methods can be called by several goroutines.
package emitter

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
	"sync"
)

// Values are values by name: of variables, of parameters, of what is observed.
type Values map[string]any

// ErrEnded is returned by the methods of a trace that has ended.
var ErrEnded = errors.New("the trace has ended")

// A Writer writes one file: the header and the traces, each in one piece.
type Writer struct {
	mu      sync.Mutex
	out     io.Writer
	header  *Header
	err     error // the first error of out: nothing is written after it
	ids     map[string]bool
	open    bool   // a trace that was begun by Begin has not ended
	waiting []byte // collected traces that ended meanwhile
}

// NewWriter writes the header to out.
func NewWriter(out io.Writer, header *Header) (*Writer, error) {
	w := &Writer{out: out, header: header, ids: map[string]bool{}}
	return w, w.write([]byte(header.line + "\n"))
}

func (w *Writer) write(data []byte) error {
	if w.err == nil && len(data) > 0 {
		_, w.err = w.out.Write(data)
	}
	return w.err
}

// A Trace is one run of a system, in one total order: the order of the calls.
type Trace struct {
	mu      sync.Mutex
	w       *Writer
	id      string
	kept    []byte // what is not written yet, of a trace that was begun by Collect
	collect bool
	crc     uint32
	steps   int
	seen    map[string]string            // the variables' canonical texts
	cells   map[string]map[string]string // of variables that are functions
	err     error                        // why nothing more is taken
}

// Begin starts a trace whose lines are written at once: what a crash leaves is there, and UNDECIDED.
// A writer has one such trace at a time, and takes no other trace until it ends. State holds every variable.
// An error of any kind means that nothing of the trace was written.
func (w *Writer) Begin(id string, state Values) (*Trace, error) {
	return w.begin(id, state, false)
}

// Collect starts a trace that is kept in memory and written in one piece when it ends. There may be many at a time.
func (w *Writer) Collect(id string, state Values) (*Trace, error) {
	return w.begin(id, state, true)
}

func (w *Writer) begin(id string, state Values, collect bool) (*Trace, error) {
	t := &Trace{w: w, id: id, collect: collect, seen: map[string]string{}, cells: map[string]map[string]string{}}
	if err := validText(id); err != nil {
		return nil, err
	}
	for _, v := range w.header.variables {
		if _, given := state[v.name]; !given {
			return nil, wrong("the first state lacks the variable %s", v.name)
		}
	}
	changed, err := t.changed(state)
	if err != nil {
		return nil, fmt.Errorf("the first state: %w", err)
	}
	texts := make([]string, len(changed))
	for i, c := range changed {
		texts[i] = quote(c.variable.name) + ":" + c.whole
		t.take(c)
	}
	if err := w.admit(id, collect); err != nil {
		return nil, err
	}
	return t, t.line(`"step":0,"state":{` + strings.Join(texts, ",") + "}")
}

// admit takes the trace into the file.
func (w *Writer) admit(id string, collect bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		return w.err
	case w.ids[id]:
		return wrong("the trace %s stands in this file already", id)
	case w.open && !collect:
		return errors.New("another trace is open; end it, or start this one by Collect")
	}
	w.ids[id], w.open = true, w.open || !collect
	return nil
}

// A Step is what was done, and what is different now.
type Step struct {
	Node    string // where; one of the header's nodes, or empty
	Action  string // one of the header's actions
	Params  Values // every parameter of the action
	State   Values // the variables that may have changed, each with its whole value
	Blocked bool   // a rule said no: nothing has changed
	Before  Values // what was observed before the step: by observer the fields of the specification's Observed
	After   Values // what was observed after it
}

// Step writes a step or a blocked attempt.
func (t *Trace) Step(step Step) error {
	return t.Atomically(func() (Step, error) { return step, nil })
}

// Stutter says that something happened at a node that the specification does not see.
// (A Step without an Action is the same, and can tell what was observed.)
func (t *Trace) Stutter(node string) error { return t.Step(Step{Node: node}) }

// Atomically runs a handler under the trace's lock and writes the step that it returns, so that the handlers of
// concurrent goroutines and the lines of the trace have the same order. When the handler fails, the trace does: it is
// closed without an end record, or as Exceeded closes it where the handler's error wraps ErrExceeded.
func (t *Trace) Atomically(handler func() (Step, error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return t.err
	}
	step, err := handler()
	if err == nil {
		err = t.step(step)
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("trace %s, step %d: %w", t.id, t.steps+1, err)
	if errors.Is(err, ErrExceeded) {
		if problem := t.end(false, true); problem != nil {
			return problem
		}
		return err
	}
	t.err = err
	t.close()
	return err
}

func (t *Trace) step(step Step) error {
	parts := []string{`"step":` + strconv.Itoa(t.steps+1)}
	if step.Node != "" {
		if !t.w.header.nodes[step.Node] {
			return wrong("the header lists no node %q", step.Node)
		}
		parts = append(parts, `"node":`+quote(step.Node))
	}
	if step.Action != "" {
		params, err := t.w.header.params(step.Action, step.Params)
		if err != nil {
			return err
		}
		parts = append(parts, `"action":`+quote(step.Action), `"params":`+params)
	} else if step.Blocked || len(step.Params) > 0 {
		return wrong("a blocked attempt or parameters, but no action")
	}
	if step.Blocked {
		parts = append(parts, `"blocked":true`)
	}
	changed, err := t.changed(step.State)
	if err != nil {
		return err
	}
	if len(changed) > 0 {
		if step.Blocked || step.Action == "" {
			return wrong("%s changed, and nothing changes in a blocked attempt or a stutter", changed[0].variable.name)
		}
		deltas := make([]string, len(changed))
		for i, c := range changed {
			deltas[i] = quote(c.variable.name) + ":" + c.delta
		}
		parts = append(parts, `"delta":{`+strings.Join(deltas, ",")+"}")
	}
	seen, err := t.w.header.told(step.Before, step.After)
	if err != nil {
		return err
	}
	parts = append(parts, seen...)
	if err := t.line(strings.Join(parts, ",")); err != nil {
		return err
	}
	t.steps++
	for _, c := range changed {
		t.take(c)
	}
	return nil
}

// change is what a variable is now.
type change struct {
	variable     *variable
	whole, delta string
	cells        map[string]string
}

// changed are the variables whose given values differ from those last seen, in the header's order.
func (t *Trace) changed(state Values) ([]change, error) {
	var found []change
	known := 0
	for i := range t.w.header.variables {
		v := &t.w.header.variables[i]
		given, ok := state[v.name]
		if !ok {
			continue
		}
		known++
		value, err := neutral(given)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", v.name, err)
		}
		text, _, err := v.kind.canonical(value)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", v.name, err)
		}
		if old, ok := t.seen[v.name]; ok && old == text {
			continue
		}
		c := change{variable: v, whole: text, delta: text}
		if function, ok := v.kind.(*funKind); ok {
			if c.cells, _, err = function.cells(value); err != nil {
				return nil, err
			}
			c.delta = function.text(differing(c.cells, t.cells[v.name]))
		}
		found = append(found, c)
	}
	if known < len(state) {
		for _, name := range sorted(state) {
			if !t.w.header.has(name) {
				return nil, wrong("no trace of %s carries a variable %s", t.w.header.Spec, name)
			}
		}
	}
	return found, nil
}

func differing(now, before map[string]string) map[string]string {
	cells := map[string]string{}
	for argument, text := range now {
		if before[argument] != text {
			cells[argument] = text
		}
	}
	return cells
}

func (t *Trace) take(c change) {
	t.seen[c.variable.name], t.cells[c.variable.name] = c.whole, c.cells
}

// End writes the end record. A system that has come to rest after its faults stopped is quiescent.
func (t *Trace) End(quiescent bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return t.err
	}
	return t.end(quiescent, false)
}

// Exceeded ends a trace by its own word, `capacity` in the end record, because the program met something that no value
// of the header can tell: a member that the constants do not name. What came before is judged; the rest is UNDECIDED.
// It is not for an integer or a sequence beyond its limits: write that, and the auditor names it.
// Inside a handler of Atomically return ErrExceeded instead.
func (t *Trace) Exceeded() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return t.err
	}
	return t.end(false, true)
}

// Abandon ends a trace without an end record: it is UNDECIDED.
func (t *Trace) Abandon() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = ErrEnded
		t.close()
	}
}

func (t *Trace) end(quiescent, capacity bool) error {
	err := t.emit(fmt.Sprintf(`{"trace":%s,"end":{"steps":%d,"quiescent":%t,"capacity":%t},"crc32c":"%08x"}`,
		quote(t.id), t.steps, quiescent, capacity, t.crc))
	t.err = ErrEnded
	if closing := t.close(); err == nil {
		err = closing
	}
	return err
}

// close gives the file back, with the lines that were kept.
func (t *Trace) close() error {
	t.w.mu.Lock()
	defer t.w.mu.Unlock()
	if !t.collect {
		t.w.open = false
	}
	t.w.waiting = append(t.w.waiting, t.kept...)
	t.kept = nil
	if t.w.open {
		return t.w.err
	}
	waiting := t.w.waiting
	t.w.waiting = nil
	return t.w.write(waiting)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// line writes a line of the trace and adds it to the sum.
func (t *Trace) line(rest string) error {
	line := `{"trace":` + quote(t.id) + "," + rest + "}"
	t.crc = crc32.Update(t.crc, castagnoli, []byte(line+"\n"))
	return t.emit(line)
}

func (t *Trace) emit(line string) error {
	if t.collect {
		t.kept = append(append(t.kept, line...), '\n')
		return nil
	}
	t.w.mu.Lock()
	defer t.w.mu.Unlock()
	return t.w.write([]byte(line + "\n"))
}
