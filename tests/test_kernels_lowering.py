"""The lowering to LLVM: the generated text means the same in machine code as in Python."""

from __future__ import annotations

import ctypes
import random

import llvmlite.binding as llvm
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_reference import MODELS, program_of, two_phase
from tidemark_conformance.tla.kernels import link
from tidemark_conformance.tla.kernels.lower import Lowering

TEXT = """
def gcd(a, b):
    while b != 0:
        t = a % b
        a = b
        b = t
    return a

def big(p: "I64", i) -> bool:
    return p[i] > LIMIT and (p[i + 1] < 3 or not p[i + 2] == 0)

def both(p: "I64", d: "U8", n):
    i = 0
    total = 0
    while True:
        if i >= n:
            break
        i += 1
        if i == 4:
            continue
        if big(p, i):
            total += d[i] if d[i] > 100 else 1
        elif p[i] == 7:
            return -1
        else:
            p[i] += 2 * i
    flag = total > 10
    flag = not flag
    p[0] = flag
    p[1] |= (1 << (total & 15)) ^ 3
    return total + popcount(p[2]) + ctz(p[3] | 64) + gcd(12, 18) + (p[4] - 20) // 3 + (p[5] - 20) % 7 - (~n >> 1)
"""
BUILTINS = {"popcount": lambda x: (x & (1 << 64) - 1).bit_count(), "ctz": lambda x: (x & -x).bit_length() - 1}


@pytest.fixture(scope="module")
def machine():  # type: ignore[no-untyped-def]
    """The text above as machine code."""
    lowering = Lowering("lowered", {"LIMIT": 5})
    lowering.add(TEXT, exported=frozenset(["both"]), inlined=frozenset(["big"]))
    module = llvm.parse_assembly(lowering.text())
    module.verify()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine(opt=2))
    engine.finalize_object()
    address = engine.get_function_address("lowered.both")
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)
    return engine, function


@given(st.lists(st.integers(0, 12), min_size=20, max_size=20), st.binary(min_size=20, max_size=20), st.integers(0, 15))
@settings(max_examples=200)
def test_machine_code_and_python_agree(machine, cells, data, count) -> None:  # type: ignore[no-untyped-def]
    """Loops, jumps, short circuits, memory, floor division."""
    namespace: dict = {**BUILTINS, "LIMIT": 5}
    exec(TEXT, namespace)
    memory = (ctypes.c_int64 * 20)(*cells)
    expected = list(cells)
    result = machine[1](memory, data, count)
    assert namespace["both"](expected, data, count) == result
    assert list(memory) == [int(cell) for cell in expected]


MAIN = """
def main(p: "I64", d: "U8", a: "I64", b: "I64", c: "I64", e: "I64", what, index, low, high, nodes, snapshot):
    return what + snapshot
"""
UNKNOWN = """
declare i64 @"known.nowhere"(i64)
define i64 @"kernels.main"(i64 %what) {
  %found = call i64 @"known.nowhere"(i64 %what)
  ret i64 %found
}
"""


def test_bytes_that_are_no_module_of_ours_are_refused() -> None:
    """By an error, not by a signal: cut objects, one without our entry point, one that calls a missing function."""
    good = link.object_code(link.lowered(MAIN, {}))
    assert link.load(good)(*[0] * 6, 40, 0, 0, 0, 0, 2) == 42
    other = Lowering("other", {})
    other.add(MAIN, exported=frozenset(["main"]))
    wrong = [link.object_code(assembly) for assembly in (other.text(), UNKNOWN)]
    for code in (b"", b"no object", good[: len(good) // 2], *wrong):
        with pytest.raises(RuntimeError):
            link.load(code)


@pytest.mark.parametrize("text", ["x = [1]", "for i in y: pass", "x = 1.5", "x = lambda: 1", "return a @ b"])
def test_other_python_is_refused(text: str) -> None:
    """A fault of the generator does not turn into wrong code."""
    with pytest.raises((NotImplementedError, KeyError)):
        Lowering("refused", {}).add(f"def f(a, b, y):\n    {text}\n")


def test_generated_text_runs_as_python() -> None:
    """The whole of a generated module, in CPython over a list, gives the kernel's verdicts."""
    subject = two_phase()
    program = program_of(MODELS.parent.parent / "spec/two_phase/TwoPhase.tla", subject.spec.cfg)
    namespace: dict = {**BUILTINS, **program.names}
    exec(program.source, namespace)
    memory = [0] * program.names["SIZE"]
    memory[program.names["TABLES"] : program.names["TABLES"] + len(program.tables)] = program.tables
    memory[program.names["CONSTANTS"] : program.names["CONSTANTS"] + len(program.hoisted)] = [1] * len(program.hoisted)
    states = subject.random_states(60, seed=6)
    draw = random.Random(7)
    nexts = [subject.neighbour(state, draw) for state in states]
    rows, next_rows = subject.rows(states), subject.rows(nexts)
    width, count = subject.kernels.layout.cells, len(states)

    def batch(what: int, index: int, params: list[int]) -> list[bool]:
        out = [0] * count
        given = [cell for _ in states for cell in params]
        flat, flat_next = rows.ravel().tolist(), next_rows.ravel().tolist()
        namespace["check_batch"](memory, what, index, flat, flat_next, given, out, count)
        return [good > 0 for good in out]

    assert width * count == rows.size
    for index, name in enumerate(subject.kernels.invariants):
        assert batch(1, index, [0, 0]) == subject.kernels.invariants_batch(name, rows).tolist()
    for index, name in enumerate(subject.kernels.properties):
        assert batch(2, index, [0, 0]) == subject.kernels.properties_batch(name, rows, next_rows).tolist()
    for index, name in enumerate(subject.kernels.actions):
        params = [1] * len(subject.kernels.parameters[name].names)
        block = [params for _ in states]
        wanted = subject.kernels.actions_batch(name, block, rows, next_rows).tolist()  # type: ignore[arg-type]
        assert batch(3, index, [*params, 0, 0][:2]) == wanted
