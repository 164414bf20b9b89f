"""A protocol's demonstration, which its descriptor may have: one long run that a person can follow.

It is counted at its end by a client that knows nothing of the specification, and leaves a trace for the audit
(`tidemark demo`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from tidemark.common.structs import value

Sizes = Mapping[str, int]
"""The run's options by name."""
Told = Callable[[int, int], None]
"""Hears now and then how much of how much is done."""


class Option(NamedTuple):
    """A number that a person may choose. `least`: the smallest that means something, 1 or 0."""

    name: str
    default: int
    least: int
    help: str


@value
class Fit:
    """How the trace of a run fits the specification's cfg. `nodes`: the names of the nodes in it. `constants`: the
    constants of a cfg that is large enough, as texts of TLA+; empty if this one is."""

    nodes: tuple[str, ...]
    constants: Mapping[str, str]


@value
class Demonstrated:
    """The result of a run.

    `facts`: the counts, in the order in which they are shown. `bad`: names of counts that should be 0. `wrong`: one
    line for every error. `verdict`: the sentence below them. `stream`: the trace, `steps` records after the initial
    one.
    """

    facts: Mapping[str, int]
    bad: Collection[str]
    wrong: Sequence[str]
    verdict: str
    stream: bytes
    steps: int


@value
class Demonstration:
    """A protocol's demonstration.

    `summary`: its claim. `counted`: the things that its progress counts, as a plural. `spec`, `config`: the files by
    which its trace is judged, in the folder of the protocol's specification. `options`: its own (seed, rules and output
    are everybody's). `without`: the help of the option that takes rules out. `aliases`: a person's names for groups of
    rules that belong together. `fit`: of a run of these sizes, given the cfg's constants. `run`: the run, from its
    sizes, its seed, the rules in force and the header of its trace.
    """

    summary: str
    counted: str
    spec: str
    config: str
    options: tuple[Option, ...]
    without: str
    aliases: Mapping[str, tuple[str, ...]]
    fit: Callable[[Sizes, Mapping[str, Any]], Fit]
    run: Callable[[Sizes, int, Any, Mapping[str, Any], Told], Demonstrated]
