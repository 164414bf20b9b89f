"""The kernels against the Python backend: explicit states, and whole traces through the replay."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from kernel_reference import MODELS, Attempt, Subject, alphabet, bestiary, erring, holds, replayed, stream, two_phase
from tidemark_conformance.errors import Unsupported, Unusable
from tidemark_conformance.paths import spec_root
from tidemark_conformance.tla.ir import Quant
from tidemark_conformance.tla.kernels import compile_kernels, runtime, stuttering
from tidemark_conformance.tla.kernels.driver import REASONS
from tidemark_conformance.tla.kernels.increments import one_of_two
from tidemark_conformance.tla.kernels.runtime import BatchResult
from tidemark_conformance.tla.python import compile_python
from tidemark_conformance.tla.spec import Specification, load
from tidemark_conformance.tla.values import Fn
from tidemark_conformance.tla.walk import strip

SUBJECTS = {
    "Alphabet": (alphabet, 400),
    "Bestiary": (bestiary, 400),
    "Erring": (erring, 400),
    "TwoPhase": (two_phase, 800),
}


@pytest.mark.deep
@pytest.mark.parametrize("name", SUBJECTS)
def test_explicit_states_agree(name: str) -> None:
    """Every predicate on random states and near pairs; each has to be true and false somewhere to be compared."""
    make, count = SUBJECTS[name]
    subject = make()
    kernels, python = subject.kernels, subject.python
    states = subject.random_states(count, seed=1)
    draw = random.Random(2)
    nexts = [subject.neighbour(state, draw) for state in states]
    rows, next_rows = subject.rows(states), subject.rows(nexts)
    for check in kernels.invariants:
        wanted = [holds(python.invariant, check, state) for state in states]
        assert kernels.invariants_batch(check, rows).tolist() == wanted, check
        held = [at for at, state in enumerate(states) if holds(python.invariant, check, state)]
        wanted = [holds(python.invariant, check, nexts[at]) for at in held]
        assert kernels.invariants_after_batch(check, rows[held], next_rows[held]).tolist() == wanted, check
    for check in kernels.quiescence:
        wanted = [holds(python.quiescent, check, state) for state in states]
        assert kernels.quiescence_batch(check, rows).tolist() == wanted, check
    for check in kernels.properties:
        wanted = [holds(python.property, check, *pair) for pair in zip(states, nexts, strict=True)]
        assert kernels.properties_batch(check, rows, next_rows).tolist() == wanted, check
    for action in kernels.actions:
        domains = kernels.parameters[action].domains
        assert [list(domain) for domain in domains] == python.parameters(action)
        params = np.array([[draw.randrange(len(d)) for d in domains] for _ in states], np.int64)
        given = [tuple(d[i] for d, i in zip(domains, row, strict=True)) for row in params.tolist()]
        wanted = [holds(python.action, action, *one) for one in zip(given, states, nexts, strict=True)]
        assert kernels.actions_batch(action, params, rows, next_rows).tolist() == wanted, action
        wanted = [holds(python.enabling, action, *one) for one in zip(given, states, strict=True)]
        assert kernels.enabling_batch(action, params, rows).tolist() == wanted, action
        cells, good = kernels.ghosts_batch(action, params, rows, next_rows)
        for i, values in enumerate(given):
            after = {**nexts[i], **python.ghosts(action, values, states[i], nexts[i])}
            assert good[i] == kernels.layout.fits(after), (action, i)
            if good[i]:
                assert kernels.layout.decode(cells[i].tolist()) == after, (action, i)


def test_one_of_two_instances_is_enough_where_they_say_the_same() -> None:
    """I82 says more of two nodes one way round than the other, I84 and I86 read them in different places."""
    bodies = {one.name: strip(one.body) for one in alphabet().spec.invariants}
    pairs = {name: body for name, body in bodies.items() if isinstance(body, Quant) and len(body.binders) == 2}
    assert {name for name, body in pairs.items() if one_of_two(body.binders, body.body)} == {"I81", "I83", "I87"}
    assert {"I13", "I82", "I84", "I86"} <= pairs.keys()


def test_what_a_step_must_change_to_break_a_property() -> None:
    """By the form of each property, of one instance: the variables read whole, and those of which only the instance's
    own unit is read."""
    found = {}
    known = alphabet().kinds()
    for one in alphabet().spec.properties:
        body = strip(one.body)
        uid = body.binders[0].uid if isinstance(body, Quant) else None
        needed = stuttering.needed(known, body, {}, uid)
        found[one.name] = needed and (set(needed.whole), set(needed.indexed))
    wanted = {"P1": {"fun"}, "Q31": {"fun"}, "Q34": {"slot"}, "Q35": {"log"}, "Q37": {"slot"}, "Q54": {"log"}}
    assert {name: found[name] for name in wanted} == {name: (set(), units) for name, units in wanted.items()}
    assert found["Q44"] == (set(), {"fun", "log"})
    assert found["Q36"] == ({"fun"}, set())
    assert found["Q38"] == ({"slot"}, set())
    assert found["P2"] == ({"set"}, set())
    assert found["Q49"] == ({"fun", "who"}, set())
    assert [found[f"Q{number}"] for number in (39, 40, 41, 42, 43, 45, 46, 47, 48, 50, 51, 52, 53)] == [None] * 13


def test_what_reads_no_variable_is_asked_at_the_first_state() -> None:
    """I88 is false by the constants alone."""
    subject = alphabet()
    trace = stream(subject, *_random_traces(subject, 1, seed=11)[0])
    found = subject.kernels.check(np.frombuffer(trace, np.uint8), np.array([0, len(trace)]), snapshot=True)
    assert found.first[0][subject.kernels.checks.index("I88")] == 0


def test_predicates_are_not_vacuous() -> None:
    """Most predicates of the alphabet come out both ways on the random states, so a comparison means something."""
    subject = alphabet()
    rows = subject.rows(subject.random_states(800, seed=3))
    both = [name for name in subject.kernels.invariants if len(set(subject.kernels.invariants_batch(name, rows))) == 2]
    assert len(both) > 0.9 * (len(subject.kernels.invariants) - 5)


def _random_traces(subject: Subject, count: int, seed: int) -> list[tuple[dict, list[Attempt], bool]]:
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        state = subject.initial()
        initial, attempts = state, []
        for _ in range(draw.randrange(12)):
            kind = draw.choice([0, 0, 0, 0, 1, 2])
            action = draw.choice(subject.kernels.actions)
            params = tuple(draw.randrange(len(d)) for d in subject.kernels.parameters[action].domains)
            state = subject.neighbour(state, draw, ghosts=False) if kind == 0 else state
            attempts.append(Attempt(kind, action, params, state))
        made.append((initial, attempts, draw.random() < 0.5))
    return made


def _check(subject: Subject, streams: list[bytes], **options: object) -> BatchResult:
    offsets = np.cumsum([0, *map(len, streams)], dtype=np.int64)
    return subject.kernels.check(np.frombuffer(b"".join(streams), np.uint8), offsets, **options)


@pytest.mark.parametrize(("name", "count"), [("Alphabet", 60), ("Bestiary", 60), ("TwoPhase", 300)])
def test_replay_agrees_with_the_reference(name: str, count: int) -> None:
    """First failing record of every check, reasons, and both sides of every rule, on traces that fail all over."""
    subject = SUBJECTS[name][0]()
    traces = _random_traces(subject, count, seed=4)
    subject.python.rule_counts.update({rule: [0, 0] for rule in subject.spec.module.rules})
    counts = {rule: [0, 0] for rule in subject.spec.module.rules}
    wanted = []
    for trace in traces:
        wanted.append(_counting_actions_only(subject, counts, trace))
    result = _check(subject, [stream(subject, *trace) for trace in traces])
    for row, (reason, first) in enumerate(wanted):
        found = {c: r for c, r in zip(subject.kernels.checks, result.first[row].tolist(), strict=True) if r >= 0}
        assert found == first, row
        verdict = 1 if first else 2 if reason else 0
        assert result.verdict[row] == verdict, row
        assert REASONS[result.reason[row]] == (reason if verdict == 2 else ""), row
    assert {rule: list(row) for rule, row in zip(subject.kernels.rules, result.rules.tolist(), strict=True)} == counts
    steps = sum(1 for _, attempts, _ in traces for attempt in attempts if attempt.kind == 0)
    assert result.actions[:, 0].sum() <= steps
    again = _check(subject, [stream(subject, *trace) for trace in traces], threads=3)
    assert (again.first == result.first).all()
    assert (again.rules == result.rules).all()


def _counting_actions_only(
    subject: Subject, counts: dict[str, list[int]], trace: tuple[dict, list[Attempt], bool]
) -> tuple[str, dict[str, int]]:
    """The reference's findings; `counts` grows by the questions of actions (not invariants or ghosts) to the rules."""
    python = subject.python
    for method in ("action", "enabling"):
        original = getattr(type(python), method)

        def counted(*args: object, original: object = original) -> bool:
            before = {rule: list(both) for rule, both in python.rule_counts.items()}
            try:
                return original(python, *args)  # type: ignore[operator,no-any-return]
            finally:
                for rule, both in python.rule_counts.items():
                    for side in (0, 1):
                        counts[rule][side] += both[side] - before[rule][side]

        setattr(python, method, counted)
    try:
        return replayed(subject, *trace)
    finally:
        for method in ("action", "enabling"):
            delattr(python, method)


def test_a_second_process_loads_what_the_first_compiled() -> None:
    """The object code comes from the disk: a fresh process neither generates nor compiles."""
    two_phase()
    program = (
        "import sys, time; from pathlib import Path\n"
        "from tidemark_conformance.tla.spec import load\n"
        "from tidemark_conformance.tla.kernels import compile_kernels, link, runtime\n"
        "def refuse(*_): raise SystemExit('compiled again')\n"
        "link.lowered = refuse; runtime.Generator.program = refuse\n"
        "kernels = compile_kernels(load(Path(sys.argv[1]), Path(sys.argv[2])))\n"
        "print(len(kernels.checks))\n"
    )
    folder = spec_root() / "two_phase"
    arguments = [sys.executable, "-c", program, str(folder / "TwoPhase.tla"), str(folder / "TwoPhase.cfg")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == [str(len(two_phase().kernels.checks))]


def test_generated_text_does_not_depend_on_the_hash_seed() -> None:
    """Two processes with other orders of sets generate the same text, so they share their object code."""
    program = (
        "import sys, hashlib; from pathlib import Path\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from kernel_reference import MODELS, generated\n"
        "print(hashlib.sha256(generated(MODELS / 'Alphabet.tla', MODELS / 'Alphabet.cfg').encode()).hexdigest())\n"
    )
    digests = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        arguments = [sys.executable, "-c", program, str(MODELS.parent)]
        digests.add(subprocess.run(arguments, capture_output=True, text=True, check=True, env=environment).stdout)
    assert len(digests) == 1


def test_a_program_is_kept_under_a_key_that_does_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    """The first process generates the program; the second has no generator and must find it on disk."""
    program = (
        "import sys; from pathlib import Path\n"
        "from tidemark_conformance.tla import spec\n"
        "from tidemark_conformance.tla.kernels import runtime\n"
        "if sys.argv[2] == 'found':\n"
        "    runtime.Generator = None\n"
        "runtime._compiled = lambda program, root, tell: (root, None)\n"
        "asked = spec.load(Path(sys.argv[1]), Path(sys.argv[3]))\n"
        "runtime.compile_kernels(asked, starting=lambda: print('made'))\n"
    )
    module, config = tmp_path / "Named.tla", tmp_path / "Named.cfg"
    module.write_text(
        '---- MODULE Named ----\nCONSTANT Names\nVARIABLE x\nTypeOK == x \\in Names\nInit == x = "a"\n'
        "Take(n) == x' = n\nNext == \\E n \\in Names : Take(n)\n====\n"
    )
    config.write_text('INIT Init\nNEXT Next\nCONSTANT Names = {"a", "b", "c", "d", "e"}\nINVARIANT TypeOK\n')
    for seed, expected in (("1", "made"), ("2", "found")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "TIDEMARK_CACHE": str(tmp_path)}
        shutil.rmtree(tmp_path / "ir", ignore_errors=True)  # elaborated anew under each seed, too
        arguments = [sys.executable, "-c", program, str(module), expected, str(config)]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, done.stderr[-2000:]
        assert done.stdout.split() == (["made"] if expected == "made" else [])
    assert len(list((tmp_path / "kernels" / "programs").glob("*.pickle"))) == 1


def test_a_program_is_kept_once_whatever_else_is_asked_of_its_text(tmp_path: Path) -> None:
    """An unflawed run asks for FlawActions beside the checks, the kill matrix does not: both have the same program."""
    module, config = (spec_root() / "two_phase" / f"TwoPhase.{kind}" for kind in ("tla", "cfg"))
    told: list[str] = []
    for also in ("Outcomes", "KeepDecision"):
        asked = load(module, config, also=(also,))
        assert also in asked.module.definitions
        runtime.compile_kernels(asked, tmp_path, starting=partial(told.append, also))
    assert told == ["Outcomes"]


def test_without_is_a_runtime_argument() -> None:
    """The flawed configuration runs the very same object code."""
    folder = spec_root() / "two_phase"
    right, flawed = (
        compile_kernels(load(folder / "TwoPhase.tla", folder / f"{name}.cfg"))
        for name in ("TwoPhase", "TwoPhaseFlawed")
    )
    assert right.place == flawed.place
    state = {**two_phase().initial(), "decided": two_phase().python.initial_ghosts(two_phase().initial())["decided"]}
    message = Fn({"type": "decision", "outcome": "committed"})
    after = {**state, "tmState": "committed", "messages": frozenset({message})}
    cells, nexts = right.layout.encode(state), right.layout.encode(after)
    commit = right.parameters["TMDecide"].indices("TMDecide", ("committed",))
    assert not right.action("TMDecide", commit, cells, nexts)
    assert flawed.action("TMDecide", commit, cells, nexts)


def test_wrong_arrays_are_refused() -> None:
    """Arrays that are no batch of states or streams are refused before the kernel reads them."""
    kernels = two_phase().kernels
    with pytest.raises(Unusable, match="cells each"):
        kernels.invariants_batch("TypeOK", np.zeros((2, 3), np.int64))
    with pytest.raises(Unusable, match="offsets"):
        kernels.check(np.zeros(3, np.uint8), np.array([0, 5], np.int64))
    with pytest.raises(Unusable, match="outside its domain"):
        kernels.actions_batch("RMPrepare", np.array([[7]]), *[np.zeros((1, kernels.layout.cells), np.int64)] * 2)
    with pytest.raises(Unusable, match="no invariant Nonsense"):
        kernels.invariants_batch("Nonsense", np.zeros((1, kernels.layout.cells), np.int64))


def test_models_are_where_the_tests_expect_them() -> None:
    """The alphabet names every construct once: its invariants are numbered without gaps."""
    names = [name for name in alphabet().kernels.invariants if name.startswith("I")]
    assert names == [f"I{i:02}" for i in range(1, len(names) + 1)]
    assert (MODELS / "Alphabet.cfg").exists()


STRINGS = r"""---- MODULE Strings ----
EXTENDS Integers
CONSTANT RM
VARIABLES st, seen
TypeOK == st \in [RM -> {"working", "done"}] /\ seen \in [RM -> [RM -> 0..1]]
Nobody == [r \in RM |-> [s \in RM |-> 0]]
Init == st = [r \in RM |-> "working"] /\ seen = Nobody
Finish(r) == st[r] = "working" /\ st' = [st EXCEPT ![r] = "done"] /\ UNCHANGED seen
See(r, s) == seen' = [seen EXCEPT ![r][s] = 1] /\ UNCHANGED st
Next == (\E r \in RM : Finish(r)) \/ (\E r \in RM, s \in RM : See(r, s))
NotAll == st # [r \in RM |-> "done"]
Fresh == seen = Nobody
First == seen["a"] = [s \in RM |-> IF s = "a" THEN 1 ELSE 0]
Own == \A r \in RM : Nobody[r][r] = seen[r][r]
====
"""


def test_functions_on_strings_are_functions(tmp_path: Path) -> None:
    """A constant [x \\in S |-> e] on strings has the value of a record; it meets functions all the same."""
    (tmp_path / "Strings.tla").write_text(STRINGS)
    invariants = ["NotAll", "Fresh", "First", "Own"]
    (tmp_path / "Strings.cfg").write_text(
        f'INIT Init\nNEXT Next\nCONSTANT RM = {{"a", "b"}}\nINVARIANTS TypeOK {" ".join(invariants)}\n'
    )
    spec = load(tmp_path / "Strings.tla", tmp_path / "Strings.cfg")
    kernels, python = compile_kernels(spec), compile_python(spec)
    rows = [Fn({"a": x, "b": y}) for x in (0, 1) for y in (0, 1)]
    states = [
        {"st": Fn({"a": x, "b": y}), "seen": Fn({"a": p, "b": q})}
        for x in ("working", "done")
        for y in ("working", "done")
        for p in rows
        for q in rows
    ]
    cells = np.array([kernels.layout.encode(state) for state in states])
    for name in invariants:
        expected = [python.invariant(name, state) for state in states]
        assert kernels.invariants_batch(name, cells).tolist() == expected
        assert 0 < sum(expected) < len(states), name
    assert kernels.init_batch(cells).tolist() == [python.init(state) for state in states]
    assert kernels.init_batch(cells).sum() == 1


TUPLES = r"""---- MODULE Tuples ----
EXTENDS Integers, Folds
CONSTANT Most, Names
VARIABLES at, held
TypeOK == at \in 1..Most /\ held \in SUBSET Names
Init == at = 1 /\ held = {}
Take(m, name) == at' = m /\ held' = held \cup {name}
Next == \E m \in 1..Most, name \in Names : Take(m, name)
Given == FoldSeq(LAMBDA m, run : [has |-> [run.has EXCEPT ![m] = IF m = at THEN held ELSE {}], last |-> m],
                 [has |-> [m \in 1..Most |-> {}], last |-> 0], [m \in 1..Most |-> m])
AllGiven == Given.has[at] = Names
NobodyElse == \A m \in 1..Most : Given.has[m] # {} => m = 2
====
"""


def test_a_constant_function_on_a_range_takes_what_except_gives_it(tmp_path: Path) -> None:
    """Its value is a tuple, each part with the type of its own value: an empty set holds nothing that comes later."""
    (tmp_path / "Tuples.tla").write_text(TUPLES)
    (tmp_path / "Tuples.cfg").write_text(
        'INIT Init\nNEXT Next\nCONSTANTS\n Most = 3\n Names = {"a", "b"}\nINVARIANTS TypeOK AllGiven NobodyElse\n'
    )
    spec = load(tmp_path / "Tuples.tla", tmp_path / "Tuples.cfg")
    kernels, python = compile_kernels(spec), compile_python(spec)
    sets = [frozenset(), frozenset({"a"}), frozenset({"b"}), frozenset({"a", "b"})]
    states = [{"at": at, "held": held} for at in (1, 2, 3) for held in sets]
    cells = np.array([kernels.layout.encode(state) for state in states])
    for name in ("AllGiven", "NobodyElse"):
        expected = [python.invariant(name, state) for state in states]
        assert kernels.invariants_batch(name, cells).tolist() == expected
        assert 0 < sum(expected) < len(states), name


FIELDS = r"""---- MODULE Fields ----
EXTENDS Integers, Folds, Sequences
CONSTANT Names
VARIABLES at, held, slot
TypeOK == at \in Names /\ held \in SUBSET Names /\ slot \in [type : {"request"}, from : Names] \cup [type : {"idle"}]
Init == at = "a" /\ held = {} /\ slot = [type |-> "idle"]
Take(m, name) == at' = m /\ held' = held \cup {name} /\ slot' = [type |-> "request", from |-> name]
Next == \E m \in Names, name \in Names : Take(m, name)
Given == FoldSeq(LAMBDA m, run : [run EXCEPT ![m] = held], [a |-> {}, b |-> {}], <<"a", at>>)
SecondGiven == Given.b # {}
Appended == FoldSeq(LAMBDA m, run : [run EXCEPT ![m] = <<1, 2>>], [a |-> <<>>, b |-> <<>>], <<at>>)
SecondAppended == Len(Appended["b"]) = 2
Sent == FoldSeq(LAMBDA m, run : [run EXCEPT !.from = m], slot, <<"a", at>>)
SentAtLast == Sent = slot
Renamed == FoldSeq(LAMBDA m, run : [run EXCEPT !.type = "reply"], slot, <<"a", at>>).type = "idle"
====
"""


def fields_spec(folder: Path, *invariants: str) -> Specification:
    (folder / "Fields.tla").write_text(FIELDS)
    (folder / "Fields.cfg").write_text(
        f'INIT Init\nNEXT Next\nCONSTANT Names = {{"a", "b"}}\nINVARIANTS TypeOK {" ".join(invariants)}\n'
    )
    return load(folder / "Fields.tla", folder / "Fields.cfg")


def test_a_record_takes_what_except_gives_a_computed_field(tmp_path: Path) -> None:
    """Any of its fields may be the one: each has room for what the field is given; so has the field of any variant."""
    invariants = ["SecondGiven", "SecondAppended", "SentAtLast"]
    spec = fields_spec(tmp_path, *invariants)
    kernels, python = compile_kernels(spec), compile_python(spec)
    sets = [frozenset(), frozenset({"a"}), frozenset({"a", "b"})]
    slots = [Fn({"type": "idle"}), *[Fn({"type": "request", "from": name}) for name in ("a", "b")]]
    states = [{"at": at, "held": held, "slot": slot} for at in ("a", "b") for held in sets for slot in slots]
    cells = np.array([kernels.layout.encode(state) for state in states])
    for name in invariants:
        expected = [python.invariant(name, state) for state in states]
        assert kernels.invariants_batch(name, cells).tolist() == expected
        assert 0 < sum(expected) < len(states), name


def test_except_that_gives_a_record_another_type_is_refused(tmp_path: Path) -> None:
    """No variant has that tag."""
    with pytest.raises(Unsupported, match="EXCEPT changes records tagged idle, request"):
        compile_kernels(fields_spec(tmp_path, "Renamed"))


CHAIN = r"""---- MODULE Chain ----
EXTENDS Integers
VARIABLES at, rows
Rows == [0..1 -> [a : 0..3, b : 0..3]]
TypeOK == at \in 0..3 /\ rows \in Rows
Init == at = 0 /\ rows = [i \in 0..1 |-> [a |-> 0, b |-> 0]]
Turn(x) == at' = x /\ UNCHANGED rows
Next == \E x \in 0..3 : Turn(x)
Moved(r) == IF r[0].a = at THEN [r EXCEPT ![0] = [a |-> r[1].b, b |-> (r[0].b + 1) % 4]]
            ELSE [r EXCEPT ![1] = [a |-> (r[0].b + 3) % 4, b |-> r[1].a]]
"""


def chain_spec(folder: Path, links: int) -> Specification:
    """A choice of a choice, so many deep, and a question about its end."""
    named = "\n".join(f"    r{at} == Moved(r{at - 1})" for at in range(1, links + 1))
    folder.mkdir()
    text = f"{CHAIN}Ends ==\nLET r0 == rows\n{named}\nIN r{links}[0].a + r{links}[1].b < 3\n====\n"
    (folder / "Chain.tla").write_text(text)
    (folder / "Chain.cfg").write_text("INIT Init\nNEXT Next\nINVARIANTS TypeOK Ends\n")
    return load(folder / "Chain.tla", folder / "Chain.cfg")


def test_a_choice_is_computed_once_however_often_its_parts_are_asked_for(tmp_path: Path) -> None:
    """Its text stays small. With branches written anew for every part it is 13 times as long with five links as with
    two. A part is still read through all branches."""
    sizes = []
    for links in (2, 5):
        kept = tmp_path / f"kept {links}"
        spec = chain_spec(tmp_path / f"{links}", links)
        kernels, python = compile_kernels(spec, kept), compile_python(spec)
        rows = [
            Fn({0: Fn({"a": a, "b": b}), 1: Fn({"a": b, "b": c})}) for a, b, c in itertools.product(range(4), repeat=3)
        ]
        states = [{"at": at, "rows": row} for at in range(4) for row in rows]
        cells = np.array([kernels.layout.encode(state) for state in states])
        expected = [python.invariant("Ends", state) for state in states]
        assert kernels.invariants_batch("Ends", cells).tolist() == expected
        assert 0 < sum(expected) < len(states)
        sizes.append(sum(file.stat().st_size for file in kept.rglob("*") if file.is_file()))
    assert sizes[1] < 4 * sizes[0], sizes
