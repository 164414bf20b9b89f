"""The finds: the tables of docs/finds.md and README.md, and the head and the ticket of each find's page.

`docs/finds/finds.toml` has what is known of each find; rows, models, golden scenarios and schedules come from the zoo
and from `traces/golden`. A page `docs/finds/ID.md` asks for the blocks `find-ID` and `ticket-ID`, docs/finds.md for
`finds`, README.md for `finds-played`.
"""

from __future__ import annotations

import textwrap
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, partial
from pathlib import Path

from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain.golden import golden_file, golden_root
from tidemark_conformance.lab.schedule import read as read_schedule
from tidemark_conformance.registry import zoo
from tidemark_conformance.report.markdown import table

DATA = Path("docs") / "finds" / "finds.toml"
"""Where a checkout keeps what is known of its finds."""
HEADER = ("find", "row", "effect", "on Kafka 4.3.1", "also", "by one command")
PLAYED = ("find", "effect", "shown on Kafka")
NOT_RUN = "not run: a conjecture"
NO_BROKER = "the log's classes alone"
WIDTH = 100
"""Of a ticket's text."""


@dataclass(frozen=True, slots=True)
class Find:
    """A find, as the head of the data file explains its words."""

    id: str
    title: str
    rules: tuple[str, ...]
    runs: str
    also: str
    controls: str
    upstream: str
    configuration: str
    cause: str
    repair: str
    rests_on: str
    workaround: str

    @property
    def row(self) -> zoo.Row | None:
        """The zoo's row of the same id."""
        return _rows().get(self.id)

    @property
    def schedule(self) -> str | None:
        """The schedule that `tidemark reproduce` plays, in `traces/golden`."""
        found = sorted(golden_root().glob(f"*/{self.id}.toml"))
        return found[0].relative_to(golden_root()).as_posix() if found else None

    @property
    def on_cluster(self) -> bool:
        """Whether its schedule needs brokers, and not the classes of a log alone."""
        return self.schedule is not None and bool(read_schedule(golden_root() / self.schedule).cluster.brokers)


@cache
def _rows() -> dict[str, zoo.Row]:
    """The zoo by id: every page asks for its row several times."""
    return {row.id: row for row in zoo.rows()}


def read(root: Path) -> list[Find]:
    """The finds of a checkout, in the order of its data file. Unusable names the find, and the word that is wrong."""
    file = root / DATA
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))["find"]
    except (OSError, tomllib.TOMLDecodeError, KeyError) as problem:
        raise Unusable(f"{file} is no list of finds ({problem!r}); correct it") from problem
    known = {word.name for word in fields(Find)}
    for one in tables:
        if set(one) != known:
            wrong = ", ".join(sorted(set(one) ^ known))
            raise Unusable(f"{file}: find {one.get('id', '?')} lacks words, or has others: {wrong}; correct it")
    return [Find(**{**one, "rules": tuple(one["rules"])}) for one in tables]


def blocks(root: Path) -> dict[str, Callable[[], str]]:
    """The generators of the blocks, by name."""
    if not (root / DATA).is_file():
        return {}
    found = read(root)
    made: dict[str, Callable[[], str]] = {"finds": partial(index, found), "finds-played": partial(played, found)}
    for one in found:
        made[f"find-{one.id}"] = partial(head, one)
        made[f"ticket-{one.id}"] = partial(ticket, one)
    return made


def played(found: list[Find]) -> str:
    """The table of the finds that a command plays, for the README."""
    rows = [(f"[{one.id}](docs/finds/{one.id}.md)", one.title, _shown_on(one)) for one in found if one.schedule]
    return table(PLAYED, rows)


def _shown_on(one: Find) -> str:
    """The versions, and where no broker ran a word that says so."""
    versions = ", ".join(filter(None, ("4.3.1", one.also)))
    return versions if one.on_cluster else f"{versions}: {NO_BROKER}"


def index(found: list[Find]) -> str:
    """The table of all finds."""
    rows = [
        (
            f"[{one.id}](finds/{one.id}.md)",
            one.row.number if one.row else "",
            one.title,
            one.runs or NOT_RUN,
            one.also,
            f"`tidemark reproduce {one.id}`" if one.schedule else "",
        )
        for one in found
    ]
    return table(HEADER, rows)


def head(one: Find) -> str:
    """The table at the head of a find's page."""
    return f"**{one.title}.**\n\n" + table(("", ""), (fact for fact in _facts(one) if fact[1]))


def _facts(one: Find) -> list[tuple[str, str]]:
    row = one.row
    scenario = golden_file(row).relative_to(golden_root()).as_posix() if row else ""
    falls = f"[`{scenario}`](../../traces/golden/{scenario})" if row and golden_file(row).is_file() else ""
    return [
        ("runs on Kafka 4.3.1 that showed it", one.runs or NOT_RUN),
        ("also on", one.also),
        ("controls that do not show it", one.controls),
        ("by one command", f"[`tidemark reproduce {one.id}`](../reproduce.md)" if one.schedule else ""),
        ("its schedule there", f"[`{one.schedule}`](../../traces/golden/{one.schedule})" if one.schedule else ""),
        ("rule that prevents it", ", ".join(f"`{rule}`" for rule in one.rules) or "none yet"),
        ("row of the zoo", f"{row.number}: `{row.property}` falls (`{row.model}`)" if row else ""),
        ("golden scenario", falls),
        ("what speaks for the rule", one.rests_on),
        ("Kafka's tracker", one.upstream),
    ]


def ticket(one: Find) -> str:
    """A text for a ticket."""
    shown = "; ".join(filter(None, (f"4.3.1: {one.runs}" if one.runs else "", one.also and f"also {one.also}")))
    steps = (
        f"`tidemark reproduce {one.id}` plays it on a {'cluster' if one.on_cluster else 'log'} of its own; --control "
        "does not take the decisive step."
        if one.schedule
        else ("The schedule of this page." if shown else "Nobody has; the page has the steps.")
    )
    told = [
        ("Title", one.title),
        ("Shown on", shown or "no broker yet"),
        ("Configuration", one.configuration),
        ("Cause", one.cause),
        ("To reproduce", steps),
        ("A repair", one.repair),
        ("Why that repair", one.rests_on),
        ("Workaround", one.workaround),
        ("Related", one.upstream),
    ]
    lines = [textwrap.fill(f"{what}: {text.replace('`', '')}", WIDTH, subsequent_indent="  ") for what, text in told]
    return "\n".join(["```", *lines, "```"]) + "\n"
