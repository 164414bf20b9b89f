"""Kernels of one specification: generate, compile, keep on disk, and run over streams or explicit states."""

from __future__ import annotations

import gc
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tidemark_conformance import cache
from tidemark_conformance.errors import Unusable
from tidemark_conformance.paths import cache_root
from tidemark_conformance.tla.elaborate import WITHOUT
from tidemark_conformance.tla.ir import NOT_A_STEP, Expr, HasRule, Lit
from tidemark_conformance.tla.kernels.driver import REASONS
from tidemark_conformance.tla.kernels.program import Generator, Program
from tidemark_conformance.tla.kernels.source import Source
from tidemark_conformance.tla.kernels.stream import StreamWriter
from tidemark_conformance.tla.layout import Layout, Parameters, action_parameters, layout_of
from tidemark_conformance.tla.observations import observables_of
from tidemark_conformance.tla.python import EvaluationError, compile_python
from tidemark_conformance.tla.types import Evaluate
from tidemark_conformance.tla.values import Value, show
from tidemark_conformance.tla.walk import map_children

if TYPE_CHECKING:
    from tidemark_conformance.tla.kernels.link import Run
    from tidemark_conformance.tla.spec import Specification

Cells = NDArray[np.int64]
__all__ = ["NOT_A_STEP", "REASONS", "BatchResult", "Kernels", "compile_kernels"]


@dataclass(frozen=True)
class BatchResult:
    """The findings of `Kernels.check`, one row per stream.

    - verdict uint8[n]: 0 pass, 1 fail, 2 undecided
    - reason uint8[n]: index into REASONS
    - steps int64[n]: records that name a taken action
    - first int32[n, checks]: first failing record per check, -1 none; record 0 is the initial state
    - actions int64[actions, 2]: taken, blocked
    - rules int64[rules, 2]: predicate true, false, while in force
    - told int64[fields + 2]: records that observe each field of Observed, all records (where there is one), and the
      streams that observe nothing of any state
    - news int64[n, 4]: how many pairs of actions in a row, changes and sides of rules a stream reached first, and the
      last record that did; then the same of shapes of states. No rows where no `Reach` was given.
    """

    verdict: NDArray[np.uint8]
    reason: NDArray[np.uint8]
    steps: Cells
    first: NDArray[np.int32]
    actions: Cells
    rules: Cells
    told: Cells
    news: Cells


class Reach:
    """The reach of streams, in bitmaps that `Kernels.check` fills. One is of pairs of actions in a row, changes and
    sides of rules (PLAIN words of 32 bits). One is of shapes of states (four times as many). A thing that falls on a
    set bit is not new, so the more has been reached, the fewer are."""

    PLAIN = 32_768

    def __init__(self, bits: bytes = b"") -> None:
        self.cells = np.zeros(5 * self.PLAIN, np.int64)
        if bits:
            self.cells[:] = np.frombuffer(bits, np.uint32)

    def bits(self) -> bytes:
        """The bitmaps, as the constructor takes them."""
        return self.cells.astype(np.uint32).tobytes()

    def merge(self, other: Reach) -> None:
        """Add what another one has reached."""
        self.cells |= other.cells

    def counts(self) -> tuple[int, int]:
        """How many bits of either kind are set."""
        bits = np.unpackbits(np.frombuffer(self.bits(), np.uint8))
        return int(bits[: 32 * self.PLAIN].sum()), int(bits[32 * self.PLAIN :].sum())


class Kernels:
    """The compiled checks of one specification under its constants; safe to use from several threads.

    `checks`: names in the order of `BatchResult.first`'s columns; `history`: those that read a ghost variable.
    `layout`; `parameters` (by action). `actions`, `rules`, `invariants`, `properties`, `quiescence`: names in order.
    """

    def __init__(
        self,
        program: Program,
        run: Run,
        layout: Layout,
        parameters: dict[str, Parameters],
        constants: Sequence[int],
        place: Path,
    ) -> None:
        self.layout, self.parameters, self.place = layout, parameters, place
        self.checks, self.history = program.checks, program.history
        self.actions, self.rules = program.actions, program.rules
        self.invariants, self.properties, self.quiescence = program.invariants, program.properties, program.quiescence
        self._run, self._names = run, program.names
        names = program.names
        self._blank = np.zeros(names["SIZE"], np.int64)
        for kept in (constants, program.tables):
            if odd := next((one for one in kept if not -(1 << 63) <= one < 1 << 63), None):
                raise Unusable(
                    f"the constants lead to the number {str(odd)[:40]}, which needs more than 64 bits, and cells have "
                    "no more: choose smaller constants"
                )
        self._blank[names["CONSTANTS"] : names["CONSTANTS"] + len(constants)] = constants
        self._blank[names["TABLES"] : names["TABLES"] + len(program.tables)] = program.tables

    # --- streams --------------------------------------------------------------------------------------------------

    def writer(self) -> StreamWriter:
        """An encoder of streams of this specification."""
        arities = [len(self.parameters[name].names) for name in self.actions]
        return StreamWriter(self.layout.base_cells, arities, self._names["OBSERVABLES"] > 0)

    def check(
        self,
        data: NDArray[np.uint8],
        offsets: Cells,
        threads: int = 1,
        nodes: int = 1 << 30,
        snapshot: bool = False,
        reach: Reach | None = None,
    ) -> BatchResult:
        """Replay streams: stream i is data[offsets[i] : offsets[i + 1]]; all its checks, beyond failures too.

        `nodes`: how many nodes the header names. `snapshot`: the first state need not satisfy Init, and checks of
        `history` do not run. `reach`: the things reached before, and afterwards (with one thread only). The
        interpreter's lock is released while it runs. Raises Unusable for wrong arrays.
        """
        data = np.ascontiguousarray(data, np.uint8)
        offsets = np.ascontiguousarray(offsets, np.int64)
        count = len(offsets) - 1
        if count < 0 or (np.diff(offsets) < 0).any() or (count and (offsets[0] < 0 or offsets[-1] > len(data))):
            raise Unusable("the offsets of a batch of streams are not ascending within its data: check the reader.")
        out = np.zeros((count, 3), np.int64)
        first = np.full((count, len(self.checks)), -1, np.int64)
        bounds = np.linspace(0, count, max(1, min(threads, count)) + 1).astype(int).tolist()
        parts = list(pairwise(bounds))
        words = 0 if reach is None else reach.PLAIN
        reaching = first if reach is None else np.concatenate([reach.cells, np.zeros(4 * count, np.int64)])

        def work(part: tuple[int, int]) -> Cells:
            memory = self._blank.copy()
            self._call(memory, data, offsets, out, first, reaching, -1, words, *part, nodes, int(snapshot))
            return memory

        if len(parts) == 1:
            memories = [work(parts[0])]
        else:
            with ThreadPoolExecutor(len(parts)) as pool:
                memories = list(pool.map(work, parts))
        if reach is not None:
            reach.cells[:] = reaching[: 5 * words]
        total = np.sum(memories, axis=0)
        taken, rules, told = self._names["TAKEN"], self._names["COVERAGE"], self._names["TOLD"]
        return BatchResult(
            verdict=out[:, 0].astype(np.uint8),
            reason=out[:, 1].astype(np.uint8),
            steps=out[:, 2].copy(),
            first=first.astype(np.int32),
            actions=total[taken : taken + 2 * len(self.actions)].reshape(-1, 2),
            rules=total[rules : rules + 2 * len(self.rules)].reshape(-1, 2),
            told=total[told : told + self._names["FIELDS"] + 2].copy(),
            news=reaching[5 * words :].reshape(-1, 4) if reach is not None else np.zeros((0, 4), np.int64),
        )

    def claimed_actions(self, data: NDArray[np.uint8], offsets: Cells, rows: Cells, steps: Cells) -> Cells:
        """The action (index in `actions`) that record `steps[i]` of stream `rows[i]` claims to be; -1: it names none.

        Streams and errors are as of `check`; rows must be within them.
        """
        data = np.ascontiguousarray(data, np.uint8)
        ends = np.stack([offsets[rows], offsets[rows + 1]], axis=1).astype(np.int64)
        out = np.full(len(rows), -1, np.int64)
        steps = np.ascontiguousarray(steps, np.int64)
        self._call(self._blank.copy(), data, ends, steps, out, out, -2, 0, 0, len(rows), 0, 0)
        return out

    def _call(self, memory: Cells, data: Any, a: Cells, b: Cells, c: Cells, e: Cells, *numbers: int) -> None:
        addresses = [array.ctypes.data for array in (memory, data, a, b, c, e)]
        self._run(*addresses, *numbers)

    # --- explicit states ------------------------------------------------------------------------------------------

    def init_batch(self, states: Cells) -> NDArray[np.bool_]:
        """Whether each row satisfies Init (without its ghost conjuncts)."""
        return self._batch(0, 0, states, states) > 0

    def invariants_batch(self, name: str, states: Cells) -> NDArray[np.bool_]:
        """An invariant on every row of `states` (int64[n, cells], ghosts included)."""
        return self._batch(1, _index(self.invariants, name, "invariant"), states, states) > 0

    def invariants_after_batch(self, name: str, states: Cells, nexts: Cells) -> NDArray[np.bool_]:
        """An invariant on every row of `nexts`, by the changes from the rows of `states`, in which it held: `check`
        asks in the same way."""
        return self._batch(8, _index(self.invariants, name, "invariant"), states, nexts) > 0

    def properties_batch(self, name: str, states: Cells, nexts: Cells) -> NDArray[np.bool_]:
        """An action property on every pair of rows; a pair of equal rows has it."""
        return self._batch(2, _index(self.properties, name, "action property"), states, nexts) > 0

    def actions_batch(self, name: str, params: Cells, states: Cells, nexts: Cells) -> NDArray[np.bool_]:
        """Whether each pair of rows is a step of an action with `params` (int64[n, parameters], domain indices)."""
        return self._batch(3, _index(self.actions, name, "action"), states, nexts, params) > 0

    def enabling_batch(self, name: str, params: Cells, states: Cells) -> NDArray[np.bool_]:
        """Whether the conjuncts of an action before its first primed variable hold."""
        return self._batch(4, _index(self.actions, name, "action"), states, states, params) > 0

    def ghosts_batch(self, name: str, params: Cells, states: Cells, nexts: Cells) -> tuple[Cells, NDArray[np.bool_]]:
        """The next states with the ghosts' next values, and whether these could be evaluated within their types."""
        result = np.array(nexts, np.int64, order="C")
        good = self._batch(5, _index(self.actions, name, "action"), states, result, params)
        return result, good > 0

    def initial_ghosts_batch(self, states: Cells) -> tuple[Cells, NDArray[np.bool_]]:
        """The states with the ghosts' first values, and whether these could be evaluated within their types."""
        result = np.array(states, np.int64, order="C")
        return result, self._batch(6, 0, result, result) > 0

    def hidden_batch(self, name: str, params: Cells, states: Cells, nexts: Cells) -> tuple[Cells, NDArray[np.bool_]]:
        """The next states with the hidden variables' next values, and whether these have one within their types."""
        result = np.array(nexts, np.int64, order="C")
        good = self._batch(9, _index(self.actions, name, "action"), states, result, params)
        return result, good > 0

    def initial_hidden_batch(self, states: Cells) -> tuple[Cells, NDArray[np.bool_]]:
        """The states with the hidden variables' first values, and whether these have one within their types."""
        result = np.array(states, np.int64, order="C")
        return result, self._batch(10, 0, result, result) > 0

    def quiescence_batch(self, name: str, states: Cells) -> NDArray[np.bool_]:
        """A quiescence predicate on every row."""
        return self._batch(7, _index(self.quiescence, name, "quiescence predicate"), states, states) > 0

    def invariant(self, name: str, cells: Sequence[int]) -> bool:
        """An invariant of one state."""
        return bool(self.invariants_batch(name, _row(cells))[0])

    def property(self, name: str, cells: Sequence[int], nexts: Sequence[int]) -> bool:
        """An action property of one step."""
        return bool(self.properties_batch(name, _row(cells), _row(nexts))[0])

    def action(self, name: str, params: Sequence[int], cells: Sequence[int], nexts: Sequence[int]) -> bool:
        """Whether one step is a step of an action with parameter indices (ghosts play no part)."""
        return bool(self.actions_batch(name, _row(params), _row(cells), _row(nexts))[0])

    def _batch(self, what: int, index: int, states: Cells, nexts: Cells, params: Cells | None = None) -> Cells:
        width = self.layout.cells
        states = states if what in (6, 10) else np.ascontiguousarray(states, np.int64)
        nexts = nexts if what in (5, 6, 9, 10) else np.ascontiguousarray(nexts, np.int64)
        count = len(states)
        if states.shape != (count, width) or nexts.shape != (count, width):
            raise Unusable(f"states have {width} cells each, not the shape {states.shape}: use layout.encode.")
        row = self._names["PARAMETER_COUNT"]
        given = np.zeros((count, row), np.int64)
        if params is not None:
            domains = list(self.parameters.values())[index].domains
            block = np.asarray(params, np.int64).reshape(count, -1)[:, : len(domains)]
            if block.shape[1] != len(domains):
                raise Unusable(f"action {self.actions[index]} takes {len(domains)} parameters, not {block.shape[1]}.")
            for column, domain in enumerate(domains):
                if count and (block[:, column].min() < 0 or block[:, column].max() >= len(domain)):
                    raise Unusable(f"action {self.actions[index]}: a parameter index is outside its domain.")
            given[:, : len(domains)] = block
        out = np.zeros(count, np.int64)
        memory = self._blank.copy()
        self._call(memory, given, states, nexts, given, out, what, index, 0, count, 0, 0)
        return out


def _row(cells: Sequence[int]) -> Cells:
    return np.asarray([list(cells)], np.int64)


def _index(names: list[str], name: str, kind: str) -> int:
    if name not in names:
        raise Unusable(f"there is no {kind} {name} among {', '.join(names) or 'none'}: check the cfg.")
    return names.index(name)


# --- compiling ------------------------------------------------------------------------------------------------------


def compile_kernels(
    spec: Specification,
    folder: Path | None = None,
    starting: Callable[[], None] = lambda: None,
    form: tuple[Layout, dict[str, Parameters]] | None = None,
) -> Kernels:
    """The kernels of a specification, from the cache on disk if it has them.

    `<cache>/kernels` holds the generated programs and their object code. It may be copied to another machine, which
    compiles the programs again if it has another processor. `folder` overrides it; `starting` is called before work
    that the cache does not spare. `form`: the layout and the actions' parameters, where they are at hand. Raises
    Unsupported for constructs outside the conventions, with module and line.
    """
    constant = evaluator(spec, compile_python(spec).constant)
    layout, parameters = form or (layout_of(spec.module, constant), action_parameters(spec.module, constant))
    root = folder or cache_root() / "kernels"
    told: list[bool] = []

    def tell() -> None:
        if not told:
            told.append(True)
            starting()

    with _uncollected():
        program = _program(spec, constant, layout, parameters, root, tell)
        place, run = _compiled(program, root, tell)
    return Kernels(program, run, layout, parameters, evaluate_hoisted(program.hoisted, constant), place)


@contextmanager
def _uncollected() -> Iterator[None]:
    """The collector of cycles rests. It would walk again and again over millions of nodes that all are in use, for half
    of the time of generating and lowering."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def evaluator(spec: Specification, constant: Evaluate) -> Evaluate:
    """Evaluates constant-level expressions, those that ask for rules in force included, and equal ones once."""
    known: dict[Expr, Value | EvaluationError] = {}

    def force(expr: Expr) -> Expr:
        if isinstance(expr, HasRule):
            return Lit(expr.rule not in spec.without, "bool")
        return map_children(expr, force)

    def value(expr: Expr) -> Value:
        found = known.get(expr)
        if found is None:
            try:
                found = constant(force(expr))
            except EvaluationError as error:
                found = error
            known[expr] = found
        if isinstance(found, EvaluationError):
            raise found
        return found

    return value


def evaluate_hoisted(hoisted: Sequence[Expr], constant: Evaluate) -> list[int]:
    """The cells of the run-time constants under a cfg's constants."""
    return [int(constant(expr)) for expr in hoisted]


def _program(
    spec: Specification,
    constant: Evaluate,
    layout: Layout,
    parameters: dict[str, Parameters],
    root: Path,
    tell: Callable[[], None],
) -> Program:
    fixed = {name: value for name, value in spec.constants.items() if name != WITHOUT}
    file = root / "programs" / f"{_program_key(spec, fixed)}.pickle"
    kept = cache.recall(file, Program)
    if kept is not None:
        return kept
    tell()
    observables = observables_of(spec.module, layout, constant, fixed)
    families = (spec.invariants, spec.properties, spec.quiescence)
    source = Source(spec.module, fixed, constant, layout, parameters, *families, observables, spec.capacities)
    program = Generator(source).program()
    cache.keep(file, program)
    return program


def _program_key(spec: Specification, fixed: Mapping[str, Value]) -> str:
    """The key under which a program is kept, the same in every process: IR holds no sets, those of constants are
    sorted.

    Definitions that were asked for beside it (`load`'s `also`) are no part of a program.
    """
    constants = [(name, show(value)) for name, value in sorted(fixed.items())]
    capacities = None if spec.capacities is None else sorted(spec.capacities)
    checks = (spec.invariants, spec.properties, spec.quiescence)
    asked = (replace(spec.module, definitions={}), constants, capacities, *checks)
    return hashlib.sha256(repr((asked, _generator_digest())).encode()).hexdigest()[:24]


def _generator_digest() -> str:
    """A digest of the code that generates a program, evaluates the constants folded into it, and compiles it."""
    return cache.code(__name__, "tidemark_conformance.tla.kernels.link", "tidemark_conformance.tla.python")


_loaded: dict[Path, Run] = {}


def _compiled(program: Program, root: Path, tell: Callable[[], None]) -> tuple[Path, Run]:
    """The file of a program's object code, and its entry point. If it is not there whole, it is compiled now, after a
    `tell`. A file that was changed, or was written for another processor, is not loaded.
    """
    from tidemark_conformance.tla.kernels import link

    names = json.dumps(program.names, sort_keys=True)
    key = "\0".join([program.source, names, _generator_digest(), link.processor()])
    place = root / f"{hashlib.sha256(key.encode()).hexdigest()[:20]}.object"
    if place not in _loaded:
        code = cache.get(place)
        if code is None:
            tell()
            code = link.object_code(link.lowered(program.source, program.names))
            cache.put(place, code)
        _loaded[place] = link.load(code)
    return place, _loaded[place]
