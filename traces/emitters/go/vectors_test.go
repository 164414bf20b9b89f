package emitter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const vectors = "../vectors"

func load(t *testing.T, name string, into any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(vectors, name))
	if err == nil {
		err = decode(raw, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func kinds(t *testing.T) *Header {
	t.Helper()
	file, err := os.Open(filepath.Join(vectors, "header.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	header, err := ReadHeader(file)
	if err != nil {
		t.Fatal(err)
	}
	return header
}

type call struct {
	Do, Trace, Node, Action, Error string
	Params, State, Before, After   Values
	Blocked, Quiescent             bool
}

// begin is a trace of a new file that keeps its text in the buffer.
func begin(t *testing.T, id string, state Values) (*Trace, *bytes.Buffer) {
	t.Helper()
	out := &bytes.Buffer{}
	w, err := NewWriter(out, kinds(t))
	if err != nil {
		t.Fatal(err)
	}
	trace, err := w.Begin(id, state)
	if err != nil {
		t.Fatal(err)
	}
	return trace, out
}

func do(trace *Trace, c call) error {
	switch c.Do {
	case "step":
		return trace.Step(Step{c.Node, c.Action, c.Params, c.State, c.Blocked, c.Before, c.After})
	case "stutter":
		return trace.Step(Step{Node: c.Node, Before: c.Before, After: c.After})
	case "end":
		return trace.End(c.Quiescent)
	case "exceeded":
		return trace.Exceeded()
	case "abandon":
		trace.Abandon()
		return nil
	}
	return fmt.Errorf("no call %q", c.Do)
}

func kindOf(err error) string {
	switch {
	case errors.Is(err, ErrKind):
		return "kind"
	case err != nil:
		return err.Error()
	}
	return ""
}

func TestTraces(t *testing.T) {
	var cases []struct {
		Name  string
		Calls []call
		Lines []string
	}
	load(t, "traces.json", &cases)
	for _, one := range cases {
		t.Run(one.Name, func(t *testing.T) {
			trace, out := begin(t, one.Calls[0].Trace, one.Calls[0].State)
			for _, c := range one.Calls[1:] {
				if got := kindOf(do(trace, c)); got != c.Error {
					t.Fatalf("%s: %q, not %q", c.Do, got, c.Error)
				}
			}
			if err := trace.Stutter(""); err == nil {
				t.Error("a trace that is over takes another step")
			}
			want := kinds(t).line + "\n" + strings.Join(one.Lines, "\n") + "\n"
			if out.String() != want {
				t.Errorf("wrote\n%s\nnot\n%s", out, want)
			}
		})
	}
}

func TestValues(t *testing.T) {
	var rows []struct {
		Type        json.RawMessage
		Value       any
		JSON, Error string
	}
	load(t, "values.json", &rows)
	for _, row := range rows {
		kind, err := parseKind(row.Type)
		if err != nil {
			t.Fatal(err)
		}
		text, _, err := kind.canonical(row.Value)
		if text != row.JSON || kindOf(err) != row.Error {
			t.Errorf("%v of %s: %q, %v; not %q, %q", row.Value, row.Type, text, err, row.JSON, row.Error)
		}
	}
}

func TestSums(t *testing.T) {
	var rows []struct{ Text, CRC32C string }
	load(t, "crc32c.json", &rows)
	for _, row := range rows {
		if got := fmt.Sprintf("%08x", crc32.Checksum([]byte(row.Text), castagnoli)); got != row.CRC32C {
			t.Errorf("%q: %s, not %s", row.Text, got, row.CRC32C)
		}
	}
}

func TestTextsAreEscapedAsLittleAsJSONAllows(t *testing.T) {
	if got := quote("\x00\b\t\n\x0b\f\r\x1f\"\\/<&\u007f\u2028é"); got != `"\u0000\b\t\n\u000b\f\r\u001f\"\\/<&`+"\u007f\u2028é\"" {
		t.Error(got)
	}
}

// first is the first state of all vectors.
func first(t *testing.T) Values {
	var cases []struct{ Calls []call }
	load(t, "traces.json", &cases)
	return cases[0].Calls[0].State
}

func TestHandlersAndLinesHaveOneOrder(t *testing.T) {
	trace, out := begin(t, "many", first(t))
	var group sync.WaitGroup
	count := 0
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for j := 0; j < 50; j++ {
				err := trace.Atomically(func() (Step, error) {
					count = (count + 1) % 10 // no lock but the trace's
					return Step{Action: "Count", Params: Values{"to": count}, State: Values{"count": count}}, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		}()
	}
	group.Wait()
	if err := trace.End(false); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i := 1; i <= 400; i++ {
		if want := fmt.Sprintf(`"step":%d,"action":"Count","params":{"to":%d}`, i, i%10); !strings.Contains(lines[i+1], want) {
			t.Fatalf("line %d is %s", i, lines[i+1])
		}
	}
}

func TestAHandlerEndsATraceByItsOwnWord(t *testing.T) {
	trace, out := begin(t, "left", first(t))
	err := trace.Atomically(func() (Step, error) { return Step{}, fmt.Errorf("a third member: %w", ErrExceeded) })
	if !errors.Is(err, ErrExceeded) || !errors.Is(trace.Stutter(""), ErrEnded) || !errors.Is(trace.Exceeded(), ErrEnded) {
		t.Error(err)
	}
	if !strings.Contains(out.String(), `"end":{"steps":0,"quiescent":false,"capacity":true}`) {
		t.Error(out)
	}
}

// The vectors' limits are wider in one order only; here a value lies beyond both ends, and no vector has an argument.
func TestWhatLiesBeyondStandsBehind(t *testing.T) {
	trace, out := begin(t, "far", first(t))
	numbered := [][]any{{12, true}, {1, false}, {3, false}, {-4, true}, {2, true}}
	for _, state := range []Values{{"digits": []int{10, 1, -1, 7}}, {"numbered": numbered}, {"numbered": numbered}} {
		step := Step{Action: "Extend", Params: Values{"n": "a"}, State: state}
		if err := trace.Step(step); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{`"delta":{"digits":[1,7,-1,10]}`, `"delta":{"numbered":[[2,true],[-4,true],[12,true]]}`,
		`"step":3,"action":"Extend","params":{"n":"a"}}`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s lacks %s", out, want)
		}
	}
}

func TestAParameterDiffersInIntegersAndNoMore(t *testing.T) {
	for _, row := range []struct{ known, given, want string }{
		{"1", "12", "12"},
		{"1", `"1"`, ""},
		{`"a"`, `"c"`, ""},
		{"[1,3]", "[1,2]", ""}, // of a set that is no value at all, and the file would be refused
		{`{"type":"x","n":1}`, `{"n":123456789012345678901234567890,"type":"x"}`, `{"type":"x","n":123456789012345678901234567890}`},
		{`{"type":"x","n":1}`, `{"n":2,"type":"y"}`, ""},
		{`{"type":"x","n":1}`, `{"n":2}`, ""},
		{`{"of":{"a":1}}`, `{"of":{"a":-1}}`, `{"of":{"a":-1}}`},
	} {
		var value any
		if err := decode([]byte(row.given), &value); err != nil {
			t.Fatal(err)
		}
		if text, ok := alike(json.RawMessage(row.known), value); (ok && text != row.want) || ok != (row.want != "") {
			t.Errorf("%s beside %s: %q, %t", row.given, row.known, text, ok)
		}
	}
}

func TestAnObservedArgumentThatIsNoneIsAMistake(t *testing.T) {
	function, err := parseKind(json.RawMessage(`{"function":"boolean","domain":[1,2]}`))
	if err != nil {
		t.Fatal(err)
	}
	seen := &observed{fields: []string{"f"}, kinds: map[string]kind{"f": function}}
	if _, err := seen.text(Values{"f": [][]any{{1, true}, {2, true}, {3, true}}}); !errors.Is(err, ErrKind) {
		t.Error(err)
	}
}

func TestTracesAreNeverMixed(t *testing.T) {
	out := &bytes.Buffer{}
	w, _ := NewWriter(out, kinds(t))
	streamed, _ := w.Begin("streamed", first(t))
	collected, _ := w.Collect("collected", first(t))
	if _, err := w.Begin("second", first(t)); err == nil {
		t.Error("two traces are open")
	}
	if _, err := w.Collect("streamed", first(t)); !errors.Is(err, ErrKind) {
		t.Errorf("a trace twice: %v", err)
	}
	for _, trace := range []*Trace{collected, streamed, collected} {
		if err := trace.Stutter("a"); err != nil {
			t.Fatal(err)
		}
	}
	for _, trace := range []*Trace{collected, streamed} {
		if err := trace.End(true); err != nil {
			t.Fatal(err)
		}
	}
	var order []string
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n")[1:] {
		var event struct{ Trace string }
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		order = append(order, event.Trace)
	}
	if got := strings.Join(order, " "); got != "streamed streamed streamed collected collected collected collected" {
		t.Error(got)
	}
}

type full struct{ room int }

func (f *full) Write(data []byte) (int, error) {
	if f.room -= len(data); f.room < 0 {
		return 0, errors.New("no space left")
	}
	return len(data), nil
}

func TestADiskThatIsFullIsAnErrorForEver(t *testing.T) {
	header := kinds(t)
	w, err := NewWriter(&full{len(header.line) + 1000}, header)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := w.Begin("run", first(t))
	for i := 0; err == nil && i < 100; i++ {
		err = trace.Stutter("a")
	}
	if err == nil || trace.End(true) == nil {
		t.Error("what could not be written counts as written")
	}
	if _, err := w.Begin("next", first(t)); err == nil {
		t.Error("a trace is begun on a full disk")
	}
}

func TestAFirstStateThatIsNoneWritesNothing(t *testing.T) {
	for name, value := range map[string]any{"count": "99", "flag": "yes"} {
		out := &bytes.Buffer{}
		w, _ := NewWriter(out, kinds(t))
		state := first(t)
		state[name] = value
		if _, err := w.Begin("run", state); err == nil {
			t.Errorf("%s = %v was taken", name, value)
		}
		delete(state, name)
		if _, err := w.Begin("run", state); !errors.Is(err, ErrKind) {
			t.Errorf("a state without %s was taken: %v", name, err)
		}
		if out.String() != kinds(t).line+"\n" {
			t.Errorf("lines were written: %s", out)
		}
	}
}

func TestHeadersOfAnotherKindAreRefused(t *testing.T) {
	for _, text := range []string{"", "{}", "[]", `{"tidemark":"trace","version":3}`, `{"tidemark":"trace","version":1} x`,
		`{"tidemark":"trace","version":1,"variables":{"v":{"offset":0,"type":{"bag":"boolean"}}}}`} {
		if _, err := ReadHeader(strings.NewReader(text)); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}
