r"""Every action and both sides of every rule, seen in the same run of TLC that checks a model.

A generated root module extends the model's. It prints a line when it sees something for the first time (per worker; a
register of TLCSet remembers it). Rules: the generated cfg replaces each rule's operator by a twin that calls the
original through INSTANCE and returns the original's value:

    tidemark_Rule(a) == IF "Rule" \in Without THEN tidemark_Owner!Rule(a)
                        ELSE IF tidemark_Owner!Rule(a) THEN tidemark_seen(1001) ELSE ~tidemark_seen(1002)

A rule out of force prints nothing. Actions: the generated Next is the model's, disjunct by disjunct, each followed by
its probe, which is evaluated once a successor is complete:

    tidemark_next == \/ \E tidemark_p1 \in D : Action(tidemark_p1) /\ tidemark_seen(1003)

Measured: no slower than without; TLC's own -coverage, which counts every expression, doubles the time of a small model.
Coverage remains for a model with an ACTION_CONSTRAINT. There only an action that found a state counts as taken, since
TLC counts successors that the constraint forbids, too. It remains also for a SPECIFICATION, whose fairness a NEXT would
drop.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tidemark_conformance import cache
from tidemark_conformance.errors import Unsupported, Unusable
from tidemark_conformance.java import modules, toolchain
from tidemark_conformance.tla import cfg as cfg_files
from tidemark_conformance.tla.elaborate import WITHOUT
from tidemark_conformance.tlc import definitions

PROBE = "TidemarkProbe"
FIRST_REGISTER = 1001
"""Of TLCSet; a specification's own registers are below."""
_RULE = re.compile(r'\b(?:Has|Guard|Case)\(\s*"(\w+)"\s*[,)]')
_NEXT = re.compile(r"^[ \t]*NEXT\s+\w+", re.MULTILINE)
_LINE = re.compile(r'<<"tidemark-seen", (\d+)>>')


@dataclass(frozen=True, slots=True)
class Probe:
    """A generated root: the path that `runner.run` takes, the generated module's text, the cfg's, the rules in it, and
    the actions. Without actions they are left to TLC's coverage.

    `registers`: the meaning of a printed number: "action A", "rule R true" or "rule R false".
    """

    module: Path
    given: dict[str, str]
    cfg: str
    rules: tuple[str, ...]
    actions: tuple[str, ...]
    registers: dict[int, str]

    def seen(self, line: str) -> str | None:
        """The thing that a printed line reports; None for any other line."""
        found = _LINE.match(line.strip())
        return self.registers.get(int(found[1])) if found else None


def rules_of(module: Path) -> dict[str, tuple[str, int]]:
    """The rules of `module` and what it extends: name -> (defining module, number of parameters). A rule is named by
    `Guard("Rule", ...)`, `Case("Rule", ...)` or `Has("Rule")`.

    Raises Unusable where a rule has no operator of its name, or one that takes operators.
    """
    texts = {name: text for name, (_, text) in modules.closure(module).items()}
    used = {rule for text in texts.values() for rule in _RULE.findall(modules.without_comments(text))}
    found: dict[str, tuple[str, int]] = {}
    for rule in sorted(used):
        head = re.compile(rf"^[ \t]*{rule}[ \t]*(?:\(([^=]*?)\))?[ \t]*==", re.MULTILINE)
        for name, text in texts.items():
            definition = head.search(modules.body(text))
            if definition:
                formals = [formal.strip() for formal in (definition[1] or "").split(",") if formal.strip()]
                if any(not re.fullmatch(r"\w+", formal) for formal in formals):
                    raise Unusable(f"rule {rule} in {name}.tla takes an operator: give it values only")
                found[rule] = (name, len(formals))
        if rule not in found:
            raise Unusable(f"{module.name} names the rule {rule} but no operator {rule} is defined: define the rule")
    return found


def probe(module: Path, cfg: str) -> Probe | None:
    """The generated root for a model, None if there is nothing in it to probe. It is kept in the cache folder."""
    texts = sorted((name, text) for name, (_, text) in modules.closure(module).items())
    asked = (module.stem, texts, cfg, toolchain.jar_digest(toolchain.find_jar()), cache.code(__name__))
    (found,) = cache.made("probes", module.stem, asked, tuple, lambda: (_probe(module, cfg),))
    return replace(found, module=module.with_name(f"{PROBE}.tla")) if found else None


def _probe(module: Path, cfg: str) -> Probe | None:
    rules = rules_of(module)
    disjuncts = _disjuncts(module, cfg)
    if not rules and not disjuncts:
        return None
    owners = sorted({owner for owner, _ in rules.values()})
    # Locals of a definition must not clash with anything in scope, hence the long prefix.
    lines = [f"{'-' * 20} MODULE {PROBE} {'-' * 20}", f"EXTENDS {module.stem}, TLC"]
    lines += [f"tidemark_{owner} == INSTANCE {owner}" for owner in owners]
    actions = tuple(dict.fromkeys(one.action for one in disjuncts))
    things = [f"rule {rule} {side}" for rule in rules for side in ("true", "false")]
    registers = dict(enumerate([*things, *(f"action {action}" for action in actions)], FIRST_REGISTER))
    number = {thing: register for register, thing in registers.items()}
    lines.append("ASSUME " + " /\\ ".join(f"TLCSet({register}, 0)" for register in registers))
    lines.append(
        "tidemark_seen(tidemark_r) == IF TLCGet(tidemark_r) = 1 THEN TRUE "
        'ELSE TLCSet(tidemark_r, 1) /\\ PrintT(<<"tidemark-seen", tidemark_r>>)'
    )
    for at, (rule, (owner, arity)) in enumerate(rules.items()):
        formals = ", ".join(f"tidemark_a{at}" for at in range(arity))
        call = f"({formals})" if arity else ""
        true, false = (number[f"rule {rule} {side}"] for side in ("true", "false"))
        lines.append(
            f'tidemark_{rule}{call} == IF "{rule}" \\in {WITHOUT} THEN tidemark_{owner}!{rule}{call} '
            f"ELSE IF tidemark_{owner}!{rule}{call} "
            f"THEN tidemark_seen({true}) ELSE ~tidemark_seen({false})"
        )
    if disjuncts:
        named = [
            [f"tidemark_domain_{at}_{index}" for index in range(len(one.domains))] for at, one in enumerate(disjuncts)
        ]
        for one, domains in zip(disjuncts, named, strict=True):
            for name, text in zip(domains, one.domains, strict=True):
                lines += definitions.operator(name, text)
        lines.append("tidemark_next ==")
        lines += [
            f"    \\/ {_probed(one.action, domains, number[f'action {one.action}'])}"
            for one, domains in zip(disjuncts, named, strict=True)
        ]
    lines.append("=" * 60)
    overrides = "".join(f"    {rule} <- tidemark_{rule}\n" for rule in rules)
    text = _NEXT.sub("NEXT tidemark_next", cfg) if disjuncts else cfg
    return Probe(
        module=module.with_name(f"{PROBE}.tla"),
        given={PROBE: "\n".join(lines) + "\n"},
        cfg=f"{text.rstrip()}\n" + (f"CONSTANTS\n{overrides}" if rules else ""),
        rules=tuple(rules),
        actions=actions,
        registers=registers,
    )


def _disjuncts(module: Path, cfg: str) -> tuple[definitions.Disjunct, ...]:
    """The disjuncts of the model's next-state relation where probes can stand for TLC's coverage, else none."""
    parsed = cfg_files.parse(cfg)
    if parsed.next is None or parsed.action_constraints or len(_NEXT.findall(cfg)) != 1:
        return ()
    try:
        return definitions.Quoted(module, parsed).disjuncts
    except Unsupported:
        return ()


def _probed(action: str, domains: Sequence[str], register: int) -> str:
    """One disjunct of the generated Next."""
    formals = [f"tidemark_a{at}" for at in range(len(domains))]
    bound = ", ".join(f"{formal} \\in {domain}" for formal, domain in zip(formals, domains, strict=True))
    call = f"{action}({', '.join(formals)})" if formals else action
    return (f"\\E {bound} : " if bound else "") + f"{call} /\\ tidemark_seen({register})"


def taken(coverage: dict[str, tuple[int, int]], cfg: str) -> dict[str, bool]:
    """Whether each action was taken, by TLC's counts (distinct states found first, successors generated).

    TLC also counts successors that an ACTION_CONSTRAINT forbids; under one, only an action that found a state counts.
    """
    filtered = bool(cfg_files.parse(cfg).action_constraints)
    return {action: (first if filtered else generated) > 0 for action, (first, generated) in coverage.items()}
