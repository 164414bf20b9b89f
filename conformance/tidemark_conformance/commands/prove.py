"""`tidemark prove`: inductive proofs, from a specification's own text, for runs of any length."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from tidemark_conformance import extras
from tidemark_conformance.console.progress import say
from tidemark_conformance.errors import Unusable
from tidemark_conformance.report import document, proofs

WITNESSES = 3
"""Open conditions for which a counterexample to induction is looked for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark prove`."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="theorems: cfgs spec/*/*Inductive*.cfg (default: all)")
    parser.add_argument("--spec", type=Path, metavar="F.tla", help="a module with the operator Inductive instead")
    parser.add_argument("--config", type=Path, metavar="F.cfg", help="its configuration file")
    parser.add_argument("--without", metavar="RULE,...", help="with these rules not in force: does the proof fail")
    parser.add_argument("--mutants", action="store_true", help="the proof again without each rule: it must fail")
    parser.add_argument("--vacuity", action="store_true", help="which actions some state of the invariant enables")
    parser.add_argument("--record", action="store_true", help="try open conditions again, and keep the cores")
    parser.add_argument("--again", action="store_true", help="ask a second solver, cvc5, what Z3 has proved")
    parser.add_argument("--limit", type=int, metavar="N", help="the solver's resource limit of one question")
    parser.add_argument("--search", type=int, metavar="K", help="instead: a run of at most K steps to a violation")
    parser.add_argument("--property", metavar="P", help="with --search: this one of the cfg's (default: all)")
    parser.add_argument(
        "--from",
        dest="begin",
        metavar="TRACE:STEP",
        help="with --search: from the state of a trace, or of a row's golden scenario, instead of Init",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="with --search: write the run found as a trace"
    )
    parser.add_argument("--list", action="store_true", help="every lemma with the sentence that says why it holds")
    document.add_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """0: every condition is proved (with --mutants: and each rule is needed or said not to be); 3: some is open. With
    --search: 0 nothing within K steps, 1 a violation was found, 3 the solver did not decide."""
    extras.needs("z3", *(["cvc5"] if arguments.again else []))
    from tidemark_conformance.prove import inductive, solving

    if arguments.record and arguments.without:
        raise Unusable("--record keeps the cores of proofs with the cfg's rules: leave --without out")
    limit = solving.LIMIT if arguments.limit is None else arguments.limit
    if limit < 1:
        raise Unusable(f"--limit {limit} is no resource limit: give a positive number")
    chosen = _chosen(arguments, inductive.modules())
    if arguments.search is not None:
        from tidemark_conformance.symbolic import searching

        return searching.run(arguments)
    for option, given in (("--property", arguments.property), ("--from", arguments.begin), ("-o", arguments.output)):
        if given is not None:
            raise Unusable(f"{option} is of --search: give that, too, or leave it out")
    console = document.console(arguments.json)
    without = None if arguments.without is None else tuple(one for one in arguments.without.split(",") if one)
    found: list[proofs.Proof] = []
    judged: dict[str, bool] = {}
    for name, (module, cfg) in inductive.grounds_first(chosen).items():
        theorem = inductive.read(name, module, cfg)
        if without is not None:
            unknown = sorted(set(without) - set(theorem.spec.module.rules))
            if unknown:
                raise Unusable(f"--without names {unknown[0]}, which is no rule of {theorem.spec.module.name}")
        if arguments.list:
            proofs.lemmas(theorem, console)
            continue
        found.append(_prove(theorem, module, cfg, without, arguments, limit, console, judged))
        if without is None:
            judged[name] = found[-1].result.closed
    if arguments.list:
        return 0
    found.sort(key=lambda one: list(chosen).index(one.theorem.name))
    document.write(proofs.document(found), arguments.json)
    proofs.render(found, console)
    return 0 if all(one.closed for one in found) else 3


def _chosen(arguments: argparse.Namespace, known: dict[str, tuple[Path, Path]]) -> dict[str, tuple[Path, Path]]:
    if (arguments.spec is None) != (arguments.config is None):
        raise Unusable("--spec and --config belong together: give both, or names of spec/'s theorems")
    if arguments.spec is not None:
        for file in (arguments.spec, arguments.config):
            if not file.is_file():
                raise Unusable(f"{file} is no file: give a module and its cfg")
        return {arguments.config.stem: (arguments.spec, arguments.config)}
    unknown = [name for name in arguments.names if name not in known]
    if unknown:
        raise Unusable(f"there is no theorem {unknown[0]}: there are {', '.join(known)}")
    return {name: known[name] for name in arguments.names or known}


def _prove(
    theorem: Any,
    module: Path,
    cfg: Path,
    without: tuple[str, ...] | None,
    arguments: argparse.Namespace,
    limit: int,
    console: Console,
    judged: dict[str, bool],
) -> proofs.Proof:
    from tidemark_conformance.prove import cores, working

    job = working.Job(theorem.name, str(module), str(cfg), without, arguments.again)
    file = cores.file_of(module, theorem.name)
    kept = cores.read(file)
    if arguments.record or without is not None:
        kept = cores.Kept(kept.cores)
    began = time.monotonic()

    def told(action: str, conditions: Sequence[Any]) -> None:
        left = sum(not one.proved for one in conditions)
        if time.monotonic() - began > 5:
            say(f"{theorem.name}, {action}: {len(conditions)} conditions, {left} open")

    result, used = working.judge(job, limit, kept, told)
    if arguments.record:
        cores.write(file, used)
    witnesses = _witnesses(theorem, job, limit, result)
    own = working.prover(job, limit)
    rests = not own.given or working.grounded(module, theorem, limit, judged)
    proof = proofs.Proof(theorem, without, result, tuple(witnesses), grounded=rests, again=arguments.again)
    if arguments.vacuity:
        proof = replace(proof, enabled={action: own.enabled(action, limit // 4) for action in own.actions()})
    if arguments.mutants and result.closed:
        proof = _mutants(proof, job, limit, used)
    return proof


def _witnesses(theorem: Any, job: Any, limit: int, result: Any) -> list[Any]:
    from tidemark_conformance.prove import counterexample, working
    from tidemark_conformance.prove.proving import ALWAYS, UNTRIED

    prover = working.prover(job, limit)
    lemmas = {one.name: one for one in (*theorem.lemmas, *theorem.steps)}
    found = []
    for condition in [one for one in result.open if one.open != [UNTRIED]][:WITNESSES]:
        if condition.lemma in lemmas and condition.action != ALWAYS:
            one = counterexample.find(prover, lemmas[condition.lemma], condition.action, limit)
            if one is not None:
                found.append(one)
    return found


def _asks(body: Any, rule: str) -> bool:
    """Whether an expression asks for the rule."""
    from tidemark_conformance.tla import ir, walk

    return any(isinstance(one, ir.HasRule | ir.RuleGuard) and one.rule == rule for one in walk.walk(body))


def _mutants(proof: proofs.Proof, job: Any, limit: int, used: Any) -> proofs.Proof:
    """The proof once more without each rule in force: the first condition that is open then.

    An action that does not ask for the rule is as it was. A lemma or corollary that asks is a hypothesis of every one.
    """
    from tidemark_conformance.prove import working
    from tidemark_conformance.prove.proving import ALWAYS, INIT

    theorem = proof.theorem
    spec = theorem.spec
    predicates = (*theorem.lemmas, *theorem.corollaries, *theorem.implied, *theorem.steps)
    rejected: dict[str, str | None] = {}
    for rule in spec.module.rules:
        if rule in spec.without:
            continue
        everywhere = any(_asks(one.body, rule) for one in predicates)
        names = [one.name for one in spec.module.actions if everywhere or _asks(one.body, rule)]
        own = replace(job, without=tuple(sorted({*spec.without, rule})), again=False)
        rejected[rule] = None
        for name in [ALWAYS, INIT, *names] if everywhere else names:
            conditions, _ = working.one(own, limit // 8, name, used)
            first = next((one for one in conditions if not one.proved), None)
            if first is not None:
                rejected[rule] = f"{first.lemma}, {name}"
                break
    return replace(proof, mutants=rejected)
