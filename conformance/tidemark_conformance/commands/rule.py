"""`tidemark rule`: one safety rule side by side, or the list of all."""

from __future__ import annotations

import argparse
from dataclasses import replace

from tidemark_conformance.console.progress import progress, say
from tidemark_conformance.explain import card as cards
from tidemark_conformance.implementation import compiled
from tidemark_conformance.java import toolchain
from tidemark_conformance.report import document, rule_card

WIDTH = 100
"""Characters of a line where the output is no terminal."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="the rule, or a row that removes it (default: list all)",
    )
    parser.add_argument("--no-run", action="store_true", help="the texts only: no TLC, no golden trace")
    toolchain.add_jar_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the card of one rule (of each specification that has it), or one line per rule.

    The texts come before TLC is run, which may take minutes the first time.
    """
    compiled.avoid()
    console = document.console(width=WIDTH, soft_wrap=False)
    if arguments.name is None:
        rule_card.render_list(cards.listed(), console)
        return 0
    for number, found in enumerate(cards.of_rule(arguments.name)):
        if number:
            console.print()
        rule_card.render_texts(found, console)
        if not arguments.no_run:
            found = _with_runs(found, arguments.jar)
        rule_card.render_runs(found, console)
    return 0


def _with_runs(card: cards.Card, jar: str | None) -> cards.Card:
    """The card with what TLC and the simulator show."""
    with progress(f"TLC: the models without {card.name}", "models"):
        counterexamples = tuple(
            cards.counterexample(
                removal,
                card.home,
                jar,
                lambda model: say(f"running TLC on {model} (once; the texts are above)"),
            )
            for removal in card.removals
        )
    with progress("traces without it", "traces"):
        flagged = tuple(cards.flagged(row) for row in card.rows)
    return replace(card, counterexamples=counterexamples, flagged=flagged)
