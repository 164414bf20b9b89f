"""Every command of the README and of the pages behind it is run on the tree as users have it. The implementation is
compiled where there is a C compiler, and runs as it is. Its output is the one that the page shows.

A command is a line of an indented block that begins with it (a synopsis, then its effect), or stands between
backquotes. Each has an entry here: how it is run, or why it is not.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tidemark_conformance.cli import COMMANDS
from tidemark_conformance.implementation import compiled

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/commands.md", "docs/explain.md", "docs/demonstration.md")
TEXT = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}
LISTED, EXPLAINED, DEMONSTRATION = (TEXT[page] for page in PAGES[1:])
WORLDS = ["compiled", "interpreted"]


@dataclass(frozen=True)
class Run:
    """A command of a page, as it is run: the values of its arguments, its exit code, and a pattern that it prints.
    `worlds`: those in which it is run; more than one only where the implementation runs."""

    command: str
    says: str
    code: int = 0
    worlds: tuple[str, ...] = ("compiled",)


ALL = tuple(WORLDS)
DEMONSTRATED = "test_the_demonstration_counts_what_its_page_shows"
CHAIN = "test_a_flaw_is_found_and_explained_as_its_page_shows"
EXPLAIN = (
    "tidemark explain PATH [--trace ID] [-o FILE.html] [--json FILE] [--spec F.tla --config F.cfg] [--without RULE,...]"
)
SHOWN: dict[str, Run | str] = {
    "make check": "minutes; it is the first thing that CI runs",
    "make test": "it is what runs this",
    "make test-deep": "it is what runs this where it takes long",
    "make check-fresh": "as make check, and longer",
    "make check-deep": "an hour; for whoever changes a rule",
    "make hunt": "hours; tests/test_hunt.py hunts",
    "make reproduce": "it needs a JDK and the network; tests/lab has tests of its own",
    "make examples": "it needs Go and the network; the example has tests of its own",
    "tidemark": "it is the name of the command",
    "tidemark check [MODEL...]": Run("check TwoPhase", r"1 of 1 models as expected"),
    "tidemark simulate replication --traces 1000 -o DIR [--flaw CAND-1 | --without RULE,...]": Run(
        "simulate replication --traces 1000 -o {new}", r"1,000 traces, [\d,]+ steps in ", worlds=ALL
    ),
    "tidemark simulate": "the head of a table of its arguments, which test_every_protocol_is_simulated takes",
    "tidemark hunt PROTOCOL|all": Run(
        "hunt replication --steps 500 --seed 1",
        r"replication, seed 1: nothing found in \d+ runs, [\d,]+ steps",
        worlds=ALL,
    ),
    "tidemark demo exactly-once": DEMONSTRATED,
    "tidemark lint PATH": Run("lint {traces}", r"1 file, 40 traces, [\d,]+ steps: clean"),
    "tidemark audit DIR": Run("audit {traces}", r"Replication: 40 traces.* PASS 40   FAIL 0   UNDECIDED 0"),
    "tidemark explain DIR": Run("explain {traces}", r"none of the 40 traces fails", worlds=ALL),
    EXPLAIN: Run("explain {traces} --json {new}", r"none of the 40 traces fails"),
    "tidemark zoo [ROW...]": "a minute on Spark for one row; tests/test_zoo_command.py runs one",
    "tidemark convert | schema": Run("convert {traces} -o {new}", r"40 traces of 1 file converted"),
    "tidemark agree": "minutes; tests/test_agree.py compares",
    "tidemark prove [NAME...]": Run("prove TwoPhaseInductive", r"TwoPhaseInductive: proved for runs of any length"),
    "tidemark reproduce [FIND]": Run("reproduce", r"CAND-2 +commitTransaction\(\) returns"),
    "tidemark rule": Run("rule", r"ReachedEpochStart +KAFKA-7128"),
    "tidemark logs dump PATH...": Run(
        f"logs dump --records {ROOT}/tests/real_logs/broker", r"ConsumerGroupMetadata v0.*modern-readers"
    ),
    "tidemark logs show TOPIC-PARTITION DIR... [-o FILE]": Run(
        f"logs show trimmed-0 {ROOT}/tests/real_logs/cluster", r"broker 2  e0 e0 e0 e0 e0 e0 e2"
    ),
    "tidemark logs audit PATH...": Run(
        f"logs audit {ROOT}/tests/real_logs/broker", r"PartitionLog: 8 partitions, 106 steps judged"
    ),
    "tidemark rule [NAME]": Run("rule", r"ReachedEpochStart +KAFKA-7128"),
    "tidemark rule NAME": Run("rule CommitOfMember --no-run", r"CommitOfMember  a rule of classic_group"),
    "tidemark rule ReachedEpochStart": Run(
        "rule ReachedEpochStart", r"(?s)specification.*Python.*reached_epoch_start.*row 9", worlds=ALL
    ),
    "tidemark verify": "minutes; it is what make check runs",
    "tidemark golden [ROW...]": Run("golden --check CAND-1", r"1 golden scenario, 0 not as they should be", worlds=ALL),
    "tidemark docs": "tests/test_docs.py asks for each generated part",
    "tidemark bench": "minutes",
    "tidemark bench idempotence --steps 20000": "minutes, the first time",
    "tidemark bench --steps 10000000": "minutes; `tidemark docs` writes what it has found",
    "tidemark compile": Run("compile", r"compiled"),
    "tidemark doctor": Run("doctor", r"everything needed is here"),
    "tidemark simulate replication --flaw CAND-1 --traces 1500 -o DIR": CHAIN,
    "tidemark explain DIR --trace seed-6": CHAIN,
    "tidemark demo exactly-once --partitions 6 --instances 3 --records 10000": DEMONSTRATED,
    "tidemark demo exactly-once --partitions 6 --instances 3 --records 10000 --without fencing": Run(
        "demo exactly-once --partitions 6 --instances 3 --records 10000 --without fencing",
        r"NOT exactly once: 0 missing, 86 repeated",
        code=1,
    ),
    "tidemark audit --baseline KafkaAsShipped": Run(
        "audit --baseline KafkaAsShipped {traces}", r"judged by the specification without .*\(KafkaAsShipped\)", code=1
    ),
}


def commands(text: str) -> Iterator[str]:
    """The commands that a document shows."""
    for line in text.splitlines():
        found = re.match(r"    ((?:tidemark|make [a-z-]+)\b.*?)(?:  .*)?$", line)
        if found and not found[1].startswith("make check found"):
            yield found[1]
    for span in re.findall(r"`([^`]+)`", text):
        one = re.sub(r"\s+", " ", span)
        if re.match(r"(tidemark|make)( |$)", one):
            yield one


def test_every_command_has_an_entry() -> None:
    assert set(SHOWN) == {one for text in TEXT.values() for one in commands(text)}
    for name in COMMANDS:
        assert re.search(rf"^    tidemark (\w+ \| )?{name}\b", LISTED, re.MULTILINE), name


@pytest.mark.parametrize("target", [name.partition(" ")[2] for name in SHOWN if name.startswith("make ")])
def test_every_target_of_make_is_there(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def tidemark(world: str, *arguments: str, where: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command in a new process, in a folder."""
    apart = (compiled.INTERPRETED, "COLUMNS")
    environment = {name: value for name, value in os.environ.items() if name not in apart}
    if world == "interpreted":
        environment[compiled.INTERPRETED] = "1"
    elif compiled.hindrance():
        pytest.skip(compiled.hindrance())
    else:
        compiled.build()
    command = [sys.executable, "-m", "tidemark_conformance", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment, cwd=where)
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """40 traces of replication."""
    folder = tmp_path_factory.mktemp("readme") / "traces"
    assert tidemark("interpreted", "simulate", "replication", "--traces", "40", "-o", str(folder)).returncode == 0
    return folder


RUNS = [
    pytest.param(one, world, id=f"{name}-{world}")
    for name, one in SHOWN.items()
    if isinstance(one, Run)
    for world in one.worlds
]


@pytest.mark.deep
@pytest.mark.parametrize(("one", "world"), RUNS)
def test_a_command_does_what_its_page_says(one: Run, world: str, traces: Path, tmp_path: Path) -> None:
    given = [part.format(traces=traces, new=tmp_path / "new") for part in one.command.split()]
    done = tidemark(world, *given)
    assert done.returncode == one.code, (done.stdout, done.stderr)
    assert re.search(one.says, done.stdout), done.stdout


@pytest.mark.deep
def test_every_protocol_is_simulated(tmp_path: Path) -> None:
    """Those that docs/commands.md names, with the parts of compositions where it says that they are."""
    (listed,) = re.findall(r"also: (.+?)\n    tidemark demo", LISTED, re.DOTALL)
    named = re.sub(r"\s+", " ", listed)
    table = re.findall(r"^\| `([a-z-]+)`", LISTED, re.MULTILINE)
    assert set(re.findall(r"[a-z-]+", named.partition(";")[0])) == set(table) - {"replication"}
    for name in [*table, "composed", "composed-transactions"]:
        out = tmp_path / name
        done = tidemark(
            "compiled" if not compiled.hindrance() else "interpreted", "simulate", name, "--traces", "3", "-o", str(out)
        )
        assert done.returncode == 0, done.stderr
        assert "3 traces" in done.stdout
    for composed in ("composed", "composed-transactions"):
        assert composed in named
        for part in (tmp_path / composed).iterdir():
            assert part.name in named, part


def block(text: str, beginning: str) -> list[str]:
    """The lines of the indented block that begins so, without the block's indentation and without empty lines."""
    (found,) = re.findall(rf"^    {re.escape(beginning)}.*\n(?:(?:    .*)?\n)*", text, re.MULTILINE)
    return [line[4:].rstrip() for line in found.splitlines() if line.strip()]


def assert_shown(shown: list[str], printed: str) -> None:
    """The lines that are shown are printed, one behind the other; where `...` stands, others are between them."""
    lines = iter([line.rstrip() for line in printed.splitlines() if line.strip()])
    skipping = True
    for one in shown:
        if one.strip() == "...":
            skipping = True
        elif skipping:
            assert one in lines, f"the page shows this line, and the command does not print it:\n{one}\n\n{printed}"
            skipping = False
        else:
            assert one == next(lines, "")


@pytest.mark.deep
@pytest.mark.parametrize("world", WORLDS)
def test_a_flaw_is_found_and_explained_as_its_page_shows(world: str, tmp_path: Path) -> None:
    def does(command: str) -> subprocess.CompletedProcess[str]:
        assert command in SHOWN
        return tidemark(world, *command.split()[1:], where=tmp_path)

    assert does("tidemark simulate replication --flaw CAND-1 --traces 1500 -o DIR").returncode == 0
    audited = does("tidemark audit DIR")
    (flagged,) = re.findall(r"flags (\d+) of the traces", EXPLAINED)
    assert audited.returncode == 1
    assert re.search(rf"PASS [\d,]+   FAIL {flagged}   UNDECIDED 0", audited.stdout), audited.stdout
    explained = does("tidemark explain DIR --trace seed-6")
    assert explained.returncode == 1
    assert_shown(block(EXPLAINED, "trace seed-6 ("), explained.stdout)


RATES = re.compile(r"\([\d.]+ s\)|in [\d.]+ s \([\d,]+ steps/s\)")
"""The rates in the closing lines of a demonstration, which differ from run to run."""


@pytest.mark.deep
def test_the_demonstration_counts_what_its_page_shows() -> None:
    """The whole of it, a minute: everything but its rates. Compiled only: a seed's run is the same as it is."""
    command = "tidemark demo exactly-once --partitions 6 --instances 3 --records 10000"
    assert command in SHOWN
    done = tidemark("compiled", *command.split()[1:])
    assert done.returncode == 0, done.stderr
    shown = "\n".join(block(DEMONSTRATION, "records in the input"))
    printed = "\n".join(line.rstrip() for line in done.stdout.splitlines() if line.strip())
    assert RATES.sub("", shown) == RATES.sub("", printed)
