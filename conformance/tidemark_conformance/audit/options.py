"""How to audit: a caller's wishes, refused at once where they cannot be met."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidemark_conformance.errors import Unusable

_ALLOWED = re.compile(r"(?P<number>[0-9]{1,18})|(?P<percent>100|[0-9]{1,2}(\.[0-9]{1,6})?)%", re.ASCII)


@dataclass(frozen=True, slots=True)
class Options:
    """How to audit. `baseline` names the specification's set of rules in the report. `oracle`: passing traces that TLC
    replays too, with one of each failing signature. `snapshot`: traces may start anywhere, without history.
    `max_undecided`: how many traces may be undecided, as a number or as a percentage of all ("": none). `located`: the
    failing traces that the result names keep their streams, for `check.located`.

    Raises Unusable for a request that cannot be met.
    """

    baseline: str = ""
    oracle: int = 0
    snapshot: bool = False
    max_undecided: str = ""
    located: bool = False

    def __post_init__(self) -> None:
        if self.oracle < 0:
            raise Unusable(f"--oracle {self.oracle} is no number of traces; give 0 or more")
        if self.oracle and self.snapshot:
            raise Unusable(
                "--oracle and --from-snapshot exclude each other: TLC replays a trace from Init only; leave one out"
            )
        allows(self.max_undecided, 0, 1)


def allows(allowed: str, undecided: int, traces: int) -> bool:
    """Whether so many undecided traces of all are no more than `allowed` (as `Options.max_undecided`).

    Raises Unusable for any other text than a number or a percentage.
    """
    found = _ALLOWED.fullmatch(allowed or "0")
    if found is None:
        raise Unusable(f"--max-undecided {allowed} is no number of traces; give one such as 5, or a share such as 0.1%")
    if found["number"]:
        return undecided <= int(found["number"])
    return undecided * 100 <= float(found["percent"]) * traces
