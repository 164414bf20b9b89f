"""One run of TLC: modules and cfg in, verdict, counts, counterexample and coverage out.

A run passes only if TLC says so by message number *and* has no state left on its queue *and* exits with 0. All else is
a violation (with the property that fell), an evaluation error, or a run that stopped early; none of them passes.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tidemark_conformance import processes
from tidemark_conformance.errors import Unusable
from tidemark_conformance.java import modules, toolchain
from tidemark_conformance.tla import sany
from tidemark_conformance.tla.values import Value
from tidemark_conformance.tlc import messages
from tidemark_conformance.tlc.values import StateParser

if TYPE_CHECKING:
    from tidemark_conformance.tlc import shared

TEMPORAL_IMPLIED = 2212
LIVENESS_WITH_SYMMETRY = 2279
OUT_OF_MEMORY = frozenset({1001, 1002, 1005})
VIOLATIONS = {
    messages.INVARIANT: "invariant",
    messages.INVARIANT_INITIAL: "invariant",
    messages.ACTION_PROPERTY: "action-property",
    messages.ACTION_PROPERTY_INITIAL: "action-property",
    messages.TEMPORAL: "temporal",
    messages.DEADLOCK: "deadlock",
}
EXIT_CODES = {"invariant": {12}, "action-property": {12, 13}, "temporal": {13}, "deadlock": {11}}

_NAMED = re.compile(r"(?:Invariant|[Pp]roperty) (\S+) is violated")
_ACTION = re.compile(r"<(\w+)(\(.*\))? line (\d+), col \d+ to line \d+, col \d+ of module (\w+)[^>]*>", re.DOTALL)
_COUNT = re.compile(r"([\d,]+) (states generated|distinct states found|states left on queue)")


@dataclass(frozen=True, slots=True)
class Step:
    """One state of a counterexample and the action that led to it (None: initial, or TLC had no name for it).

    `parameters`: the action's, as TLC printed them ("(a, 1)"); "" where it has none or, before TLC 2.17, ever.
    """

    action: str | None
    state: dict[str, Value]
    parameters: str = ""


@dataclass(frozen=True, slots=True)
class TlcResult:
    """The result of one run of TLC.

    `verdict`: "holds", "violates", "error" (an expression could not be evaluated), "stopped" (budget, memory, a crash).
    `kind`: of a violation: "invariant", "action-property", "temporal", "deadlock". `property`: the name of the violated
    property. It is None for a deadlock, and for a temporal property where the cfg has several. `reason`: one line for
    "error" and "stopped".

    `depth`: states on the longest shortest path ("holds") or in `trace` ("violates", "error"); 0 if unknown.
    `generated`, `distinct`, `queue`: states; `seconds`: wall clock of the process. `loop`: index in `trace` to which a
    temporal counterexample returns; at the last index it stutters there.

    `places`: (module, line) of the nested expressions where an "error" struck, outermost first. `coverage`: action ->
    (distinct states it found first, times it was taken), only if asked for. `version`: TLC's name for itself.
    """

    verdict: str
    kind: str | None = None
    property: str | None = None
    reason: str | None = None
    distinct: int = 0
    generated: int = 0
    queue: int = 0
    depth: int = 0
    seconds: float = 0.0
    trace: tuple[Step, ...] = ()
    loop: int | None = None
    places: tuple[tuple[str, int], ...] = ()
    coverage: dict[str, tuple[int, int]] = field(default_factory=dict)
    version: str = ""


@dataclass(frozen=True, slots=True)
class Options:
    """How to run: everything here except `budget_s`, `heap_mib` and `brief` is part of a verdict's cache key.

    `deadlock`: whether a state without successors is a violation. `extra`: further switches of TLC. `brief`: no more
    than some seconds are expected (`toolchain.java_command`); it changes nothing but the time.
    """

    workers: int = 1
    deadlock: bool = False
    coverage: bool = False
    heap_mib: int = 1024
    budget_s: float | None = None
    extra: tuple[str, ...] = ()
    brief: bool = False


Progress = Callable[[int, int, int], None]
"""Called with (distinct, generated, queue) whenever TLC reports them."""


def run(
    module: Path,
    cfg: Path | str,
    options: Options | None = None,
    *,
    library: Iterable[Path] = (),
    jar: str | Path | None = None,
    given: Mapping[str, str] | None = None,
    on_progress: Progress | None = None,
    on_print: Callable[[str], None] | None = None,
    keep: Mapping[str, Path] | None = None,
    java: shared.Java | None = None,
) -> TlcResult:
    """Run TLC on the root module `module` with `cfg` (a file, or the text of one).

    `given`: texts of generated modules by name, the root's among them if it is no file. `on_print` gets each line that
    the specification itself prints. `keep`: files of the private folder to move out at the end (name -> where to).
    `java`: the Java to run in, whose heap is its own; None starts one for this run alone.
    Raises Unusable for a missing toolchain, a module or cfg that cannot be read, parsed or configured.
    """
    options = options or Options()
    text = cfg if isinstance(cfg, str) else _read_cfg(cfg)
    jar_file = toolchain.find_jar(jar)
    found = modules.closure(module, library, given, toolchain.modules_of(jar_file))
    with toolchain.room() as folder:
        for name, (_, source) in found.items():
            (folder / f"{name}.tla").write_text(source, encoding="utf-8")
        (folder / f"{module.stem}.cfg").write_text(text, encoding="utf-8")
        reading = _Reading(module.stem, options, on_progress, on_print)
        started = time.monotonic()
        if java is None:
            going = _process(_command(folder, module.stem, options, jar_file), folder, options.budget_s)
        else:
            going = java.run(folder, module.stem, _arguments(folder, module.stem, options), options.budget_s)
        with going as (lines, ended):
            for message in messages.read(lines):
                reading.take(message)
        result = reading.result(ended(), time.monotonic() - started)
        for name, target in (keep or {}).items():
            if (folder / name).is_file():
                shutil.move(folder / name, target)
    return result


def _read_cfg(cfg: Path) -> str:
    if not cfg.is_file():
        raise Unusable(f"{cfg} does not exist: give the path of TLC's configuration file (.cfg)")
    return cfg.read_text(encoding="utf-8")


def _arguments(folder: Path, root: str, options: Options) -> list[str]:
    """TLC's own, but for the root module."""
    arguments = ["-tool", "-fp", "1", "-seed", "1", "-checkpoint", "0", "-workers", str(options.workers)]
    arguments += ["-metadir", str(folder / "meta"), "-config", f"{root}.cfg"]
    if not options.deadlock:
        arguments.append("-deadlock")  # TLC's switch means: do not check for deadlock
    if options.coverage:
        arguments += ["-coverage", "10000"]  # minutes between reports: only the one at the end
    return [*arguments, *options.extra]


def _command(folder: Path, root: str, options: Options, jar: Path) -> list[str]:
    command = toolchain.java_command(
        folder, "tlc2.TLC", jar=jar, heap_mib=options.heap_mib, gc_threads=options.workers, brief=options.brief
    )
    return [*command, *_arguments(folder, root, options), root]


_running: set[int] = set()
"""Process groups of this program's own TLC runs."""


def stop_all() -> None:
    """Ends every run of TLC that this process started and that still goes on; each then reports "stopped"."""
    for group in list(_running):
        _kill(group)


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


@contextlib.contextmanager
def process(command: list[str], folder: Path, stdin: int = subprocess.DEVNULL) -> Iterator[subprocess.Popen[str]]:
    """A Java at work in a group of its own, its output as text; it never outlives the block, and `stop_all` ends it."""
    with processes.started(
        command,
        cwd=folder,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    ) as started:
        _running.add(started.pid)
        try:
            yield started
        finally:
            if started.poll() is None:
                _kill(started.pid)
            started.wait()
            _running.discard(started.pid)


@contextlib.contextmanager
def within(budget_s: float | None, limited: subprocess.Popen[str]) -> Iterator[threading.Event]:
    """Ends a process once the budget is over, if the block is not done before; the event says so."""
    expired = threading.Event()

    def expire() -> None:
        expired.set()
        _kill(limited.pid)

    timer = threading.Timer(budget_s, expire) if budget_s is not None else None
    if timer:
        timer.daemon = True
        timer.start()
    try:
        yield expired
    finally:
        if timer:
            timer.cancel()


@contextlib.contextmanager
def _process(
    command: list[str], folder: Path, budget_s: float | None
) -> Iterator[tuple[Iterable[str], Callable[[], tuple[int, bool]]]]:
    """A process's lines and a function for (exit code, whether the budget ended it); it never outlives the block."""
    with process(command, folder) as started, within(budget_s, started) as expired:
        yield started.stdout or (), lambda: (started.wait(), expired.is_set())


class _Reading:
    """Collects one run's messages and turns them into its result."""

    def __init__(
        self,
        root: str,
        options: Options,
        on_progress: Progress | None,
        on_print: Callable[[str], None] | None,
    ) -> None:
        self.root = root
        self.options = options
        self.on_progress = on_progress
        self.on_print = on_print
        self.parser = StateParser(lenient=True)
        self.codes: set[int] = set()
        self.violation: tuple[str, str | None] | None = None
        self.errors: list[tuple[int, str]] = []
        self.outside: list[str] = []
        self.counts = {"states generated": 0, "distinct states found": 0, "states left on queue": 0}
        self.depth = 0
        self.trace: list[Step] = []
        self.loop: int | None = None
        self.coverage: dict[str, tuple[int, int]] = {}
        self.parsed = False
        self.version = ""

    def take(self, message: messages.Message) -> None:
        code, text = message.code, message.text
        self.codes.add(code)
        if code == messages.OUTSIDE:
            self._outside(text)
        elif code in VIOLATIONS and self.violation is None:
            name = _NAMED.search(text)
            self.violation = (VIOLATIONS[code], name[1] if name else None)
            if code in (messages.INVARIANT_INITIAL, messages.ACTION_PROPERTY_INITIAL):
                self.trace.append(Step(None, self.parser.parse(text.split("\n", 1)[1])))
        elif code in (messages.STATISTICS, messages.PROGRESS):
            self._count(text)
        elif code == messages.DEPTH:
            self.depth = int(re.sub(r"\D", "", text) or 0)
        elif code == messages.STATE:
            self._state(text)
        elif code == messages.STUTTERING and self.trace:
            self.loop = len(self.trace) - 1
        elif code == messages.BACK_TO_STATE:
            place = re.search(r"(\d+)", text)
            self.loop = int(place[1]) - 1 if place else None
        elif code == messages.ACTION_COVERAGE:
            self._covered(text)
        elif code == messages.VERSION:
            self.version = _line(text)
        elif code == messages.SANY_END:
            self.parsed = True
        elif code not in VIOLATIONS and code not in messages.FRAMES and (message.severity in (1, 2) or message.inner):
            self.errors.append((code, text))

    def _outside(self, line: str) -> None:
        if not self.parsed:
            self.outside.append(line)
        elif self.on_print and line.strip():
            self.on_print(line)

    def _count(self, text: str) -> None:
        for number, what in _COUNT.findall(text):
            self.counts[what] = int(number.replace(",", ""))
        if self.on_progress:
            self.on_progress(*(self.counts[what] for what in _ORDER))

    def _state(self, text: str) -> None:
        head, _, body = text.partition("\n")
        if self.violation is None and not self.errors and not (messages.FRAMES & self.codes):
            return
        action = _ACTION.search(head)
        if body.strip():
            name, parameters = (action[1], action[2] or "") if action else (None, "")
            self.trace.append(Step(name, self.parser.parse(body), parameters))
        elif self.trace:
            self.loop = len(self.trace) - 1

    def _covered(self, text: str) -> None:
        action = _ACTION.search(text)
        counts = re.search(r"(\d+):(\d+)\s*$", text)
        if action and counts:
            before = self.coverage.get(action[1], (0, 0))
            self.coverage[action[1]] = (before[0] + int(counts[1]), before[1] + int(counts[2]))

    def result(self, ended: tuple[int, bool], seconds: float) -> TlcResult:
        exit_code, expired = ended
        self._refuse(exit_code, expired)
        verdict, kind, name, reason = self._verdict(exit_code, expired)
        generated, distinct, queue = (
            self.counts[what] for what in ("states generated", "distinct states found", "states left on queue")
        )
        return TlcResult(
            verdict=verdict,
            kind=kind,
            property=name,
            reason=reason,
            distinct=distinct,
            generated=generated,
            queue=queue,
            depth=self.depth if verdict == "holds" else len(self.trace),
            seconds=seconds,
            trace=tuple(self.trace) if verdict != "holds" else (),
            loop=self.loop if kind == "temporal" else None,
            places=self._places() if verdict == "error" else (),
            coverage=self.coverage,
            version=self.version,
        )

    def _refuse(self, exit_code: int, expired: bool) -> None:
        """Raises Unusable where the input, not the model, is at fault."""
        if TEMPORAL_IMPLIED in self.codes and self.options.workers > 1:
            raise Unusable(
                f"{self.root} has a temporal property, which TLC checks unsoundly with {self.options.workers} workers: "
                "set its workers to 1"
            )
        if LIVENESS_WITH_SYMMETRY in self.codes:
            raise Unusable(f"{self.root} has a temporal property and SYMMETRY, which is unsound: drop SYMMETRY")
        config = [text for code, text in self.errors if code in messages.CONFIG_ERRORS]
        if config:
            raise Unusable(f"TLC cannot read the cfg of {self.root}: {_line(config[0])}")
        if messages.PARSE_FAILED in self.codes:
            raise Unusable(f"TLC cannot parse {self.root}: {sany.complaint(self.root, chr(10).join(self.outside))}")
        configured = [text for code, text in self.errors if code in messages.CONFIGURATION]
        if configured:
            raise Unusable(f"TLC cannot configure {self.root}: {_line(configured[0])}")
        started = self.violation or expired or messages.COMPUTING_INITIAL in self.codes
        if not started:
            raise Unusable(f"TLC cannot start on {self.root} (exit {exit_code}): {self._reason() or 'it said nothing'}")

    def _reason(self) -> str:
        """The errors on one line: causes rather than their frames, and the innermost place."""
        causes = [text for code, text in self.errors if code not in (messages.GENERAL, messages.NESTED_EXPRESSIONS)]
        if not causes:
            causes = [text for code, text in self.errors if code == messages.GENERAL]
        said = _line("; ".join(dict.fromkeys(causes)) or " ".join(line for line in self.outside if line.strip())[-600:])
        places = self._places()
        return f"{said} (at {places[-1][0]}.tla:{places[-1][1]})" if places else said

    def _places(self) -> tuple[tuple[str, int], ...]:
        nested = "\n".join(text for code, text in self.errors if code == messages.NESTED_EXPRESSIONS)
        found = re.findall(r"Line (\d+), column \d+ to line \d+, column \d+ in (\w+)", nested)
        return tuple((module, int(line)) for line, module in found)

    def _verdict(self, exit_code: int, expired: bool) -> tuple[str, str | None, str | None, str | None]:
        if self.violation:
            kind, name = self.violation
            if exit_code in EXIT_CODES[kind] or "-continue" in self.options.extra:
                return "violates", kind, name, None
            return "stopped", kind, name, f"TLC reported a violation and exited with {exit_code}"
        if expired:
            return "stopped", None, None, f"the budget of {self.options.budget_s:g} s ran out"
        if any(code in OUT_OF_MEMORY for code, _ in self.errors):
            return "stopped", None, None, f"TLC ran out of memory ({self.options.heap_mib} MiB of heap)"
        if self.errors:
            return "error", None, None, self._reason()
        if messages.SUCCESS not in self.codes or exit_code != 0 or messages.FINISHED not in self.codes:
            return "stopped", None, None, f"TLC exited with {exit_code} before it was done"
        if self.counts["states left on queue"]:
            return "stopped", None, None, f"{self.counts['states left on queue']} states were left on the queue"
        return "holds", None, None, None


_ORDER = ("distinct states found", "states generated", "states left on queue")


def _line(text: str) -> str:
    """The text on one line, without TLC's ornaments."""
    return re.sub(r"\s+", " ", text).strip()[:600]
