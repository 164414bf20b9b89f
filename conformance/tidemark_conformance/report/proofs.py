"""Proofs for people and machines: one table, the open conditions, counterexamples to induction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidemark_conformance.explain.text import changes, label, shorten, value_text
from tidemark_conformance.prove.second import Counts

if TYPE_CHECKING:
    from tidemark_conformance.prove.counterexample import Counterexample
    from tidemark_conformance.prove.inductive import Theorem
    from tidemark_conformance.prove.proving import Condition, Result

MOST_OPEN = 40
"""The most open conditions that are listed."""
MOST_CHANGES = 24
"""The most changes that are shown of a step."""


@dataclass(frozen=True)
class Proof:
    """A theorem, the rules that were taken away (None: the cfg's), the findings, and counterexamples to induction.

    `mutants`: rule -> the first condition that is open without it ("lemma, action"), None where the proof does not need
    the rule.
    """

    theorem: Theorem
    without: tuple[str, ...] | None
    result: Result
    witnesses: tuple[Counterexample, ...] = ()
    mutants: Mapping[str, str | None] | None = None
    enabled: Mapping[str, str] | None = None
    """Action -> "sat" where a state of the invariant enables it, "unsat" where none does, "unknown"."""
    grounded: bool = True
    """Whether the theorem that it rests on is closed."""
    again: bool = False
    """Whether a second solver was asked what the first has proved."""

    @property
    def closed(self) -> bool:
        """Whether it is a proof."""
        return self.result.closed and self.grounded

    @property
    def said(self) -> Counts:
        """The second solver's answers."""
        return sum((one.again for one in self.result.conditions), Counts())

    @property
    def unsure(self) -> list[Condition]:
        """The conditions that the first solver has proved, and for which the second one has no proof."""
        return [one for one in self.result.conditions if one.proved and one.unsure]

    @property
    def properties(self) -> list[str]:
        """The properties that the theorem claims."""
        return [one.name for one in (*self.theorem.implied, *self.theorem.steps)]


def document(found: Sequence[Proof]) -> dict[str, Any]:
    """The document `tidemark.prove/1`."""
    return {
        "schema": "tidemark.prove/1",
        "ok": all(one.closed for one in found),
        "proofs": [
            {
                "name": one.theorem.name,
                "spec": one.theorem.spec.module.name,
                "without": list(one.without if one.without is not None else sorted(one.theorem.spec.without)),
                "properties": one.properties,
                "closed": one.closed,
                "lemmas": len(one.theorem.lemmas),
                "conditions": len(one.result.conditions),
                "proved": len(one.result.conditions) - len(one.result.open),
                "open": [{"lemma": each.lemma, "action": each.action} for each in one.result.open],
                "rests_on": one.theorem.rests_on,
                "bounded": list(one.theorem.bounded),
                "any": dict(one.theorem.free),
                "mutants": len(one.mutants or ()),
                "mutants_rejected": sum(each is not None for each in (one.mutants or {}).values()),
                "enabled": dict(one.enabled or {}),
                "rejected": dict(one.mutants or {}),
                "again": _again(one) if one.again else None,
                "seconds": round(one.result.seconds, 3),
            }
            for one in found
        ],
    }


def _again(one: Proof) -> dict[str, Any]:
    second = one.said
    unsure = [{"lemma": each.lemma, "action": each.action} for each in one.unsure]
    return {"solver": "cvc5", "asked": second.asked, "agreed": second.agreed, "denied": second.denied, "unsure": unsure}


def render(found: Sequence[Proof], console: Console) -> None:
    """Prints the table, the proved and the open claims, and the counterexamples to induction."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("theorem", "lemmas", "conditions", "proved", "open", "seconds"):
        table.add_column(title, justify="left" if title == "theorem" else "right")
    for one in found:
        total, left = len(one.result.conditions), len(one.result.open)
        style = "green" if one.closed else "bold red"
        table.add_row(
            one.theorem.name,
            str(len(one.theorem.lemmas)),
            f"{total:,}",
            f"{total - left:,}",
            Text(f"{left:,}", style=style),
            f"{one.result.seconds:.1f}",
        )
    console.print(table)
    for one in found:
        _conclusion(one, console)


def _conclusion(one: Proof, console: Console) -> None:
    bounded = "; ".join(one.theorem.bounded) or "nothing is bounded"
    rules = f" without {', '.join(one.without)}" if one.without else ""
    if one.closed:
        console.print(
            f"{one.theorem.name}{rules}: proved for runs of any length: {', '.join(one.properties)}.", style="green"
        )
        console.print(f"  Finite in it: {bounded}.")
        if one.theorem.free:
            listed = ", ".join(f"{name} from {least}" for name, least in sorted(one.theorem.free.items()))
            console.print(f"  Any number: {listed}.")
        if one.theorem.rests_on and not one.without:
            console.print(f"  It rests on {one.theorem.rests_on}, which shows {len(one.theorem.given)} of the lemmas.")
    else:
        console.print(f"{one.theorem.name}{rules}: no proof, as conditions are open.", style="bold red")
        if not one.grounded:
            console.print(f"  {one.theorem.rests_on}, on which it rests, is open.")
        for each in one.result.open[:MOST_OPEN]:
            console.print(f"  {each.lemma}, {each.action}: {shorten(each.open[0], 110)}")
        if len(one.result.open) > MOST_OPEN:
            console.print(f"  and {len(one.result.open) - MOST_OPEN} more")
    if one.again:
        second = one.said
        console.print(
            f"  cvc5 was asked {second.asked:,} questions that Z3 has proved: {second.agreed:,} proved, "
            f"{second.denied:,} denied, {second.given_up:,} without an answer in {len(one.unsure):,} conditions."
        )
        for condition in one.unsure[:MOST_OPEN]:
            console.print(f"    {condition.lemma}, {condition.action}")
    for rule, where in (one.mutants or {}).items():
        console.print(f"  without {rule}: " + (f"open in {where}" if where else "the proof does not need it"))
    if one.enabled is not None:
        for verdict, said in (("sat", "are enabled in some state"), ("unsat", "in none"), ("unknown", "undecided")):
            named = [action for action, found in one.enabled.items() if found == verdict]
            console.print(f"  of the invariant's states, actions that {said}: {', '.join(named) or 'none'}")
    for witness in one.witnesses:
        counterexample(witness, one, console)


def counterexample(found: Counterexample, proof: Proof, console: Console) -> None:
    """Prints a counterexample to induction, and that it is no run."""
    about = f" for {', '.join(found.path)}" if found.path else ""
    console.print()
    console.print(f"{found.lemma} is not kept{about} by {label(found.action, found.params)}", style="bold")
    console.print(
        "  This is no run: every lemma holds in the first state, which may not be reachable."
        if found.complete
        else "  This is no run, and a guess: the solver gave up on a quantifier, and a lemma may be false there."
    )
    ghosts = proof.theorem.spec.module.ghosts
    for one in changes(found.before, found.after, ghosts)[:MOST_CHANGES]:
        arrow = f"{one.old} -> {one.new}" if one.how == "set" else f"{one.how} {one.new or one.old}"
        console.print(f"  {one.unit}: {shorten(arrow, 150)}")
    console.print("  in the first state")
    for name, value in found.before.items():
        console.print(f"    {name} = {shorten(value_text(value), 170)}")


def lemmas(theorem: Theorem, console: Console) -> None:
    """Prints every lemma and corollary with its reason."""
    console.print(f"{theorem.name}: {len(theorem.lemmas)} lemmas", style="bold")
    for one in (*theorem.lemmas, *theorem.corollaries):
        console.print(f"  {one.name} ({one.loc}): {one.reason or 'see there'}")
