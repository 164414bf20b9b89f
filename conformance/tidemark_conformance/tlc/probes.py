r"""Coverage of actions and of both sides of every rule, from the same run of TLC that checks a model.

Actions: TLC's own counts (message 2772). Rules: a generated root module extends the model's, and the generated cfg
replaces each rule's operator by a twin that calls the original through INSTANCE, prints a line when a side is seen for
the first time (per worker; a register of TLCSet remembers it), and returns the original's value:

    tidemark_Rule(a) == IF tidemark_Owner!Rule(a) THEN tidemark_seen(1001) ELSE ~tidemark_seen(1002)

A rule out of force is never evaluated (`Has(rule) => ...`), so it prints nothing. Measured: no slower than without.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla import cfg as cfg_files
from tidemark_conformance.tlc import modules

PROBE = "TidemarkProbe"
FIRST_REGISTER = 1001
"""Of TLCSet; a specification's own registers are below."""
_HAS = re.compile(r'\bHas\(\s*"(\w+)"\s*\)')
_LINE = re.compile(r'<<"tidemark-rule", (\d+)>>')


@dataclass(frozen=True, slots=True)
class Probe:
    """A generated root: the path that `runner.run` takes, the generated module's text, the cfg's, the rules in it.

    `registers`: what a printed number says: the rule and the side that was seen.
    """

    module: Path
    given: dict[str, str]
    cfg: str
    rules: tuple[str, ...]
    registers: dict[int, tuple[str, bool]]

    def side_of(self, line: str) -> tuple[str, bool] | None:
        """The rule and side that a printed line reports; None for any other line."""
        found = _LINE.match(line.strip())
        return self.registers.get(int(found[1])) if found else None


def rules_of(module: Path) -> dict[str, tuple[str, int]]:
    """The rules used as `Has("Rule")` by `module` or what it extends: name -> (defining module, number of parameters).

    Raises Unusable where a rule has no operator of its name, or one that takes operators.
    """
    texts = {name: text for name, (_, text) in modules.closure(module).items()}
    used = {rule for text in texts.values() for rule in _HAS.findall(modules.without_comments(text))}
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
            raise Unusable(f'{module.name} uses Has("{rule}") but no operator {rule} is defined: define the rule')
    return found


def probe(module: Path, cfg: str) -> Probe | None:
    """The generated root for a model, None if it uses no rules."""
    rules = rules_of(module)
    if not rules:
        return None
    owners = sorted({owner for owner, _ in rules.values()})
    # Locals of a definition must not clash with anything in scope, hence the long prefix.
    lines = [f"{'-' * 20} MODULE {PROBE} {'-' * 20}", f"EXTENDS {module.stem}, TLC"]
    lines += [f"tidemark_{owner} == INSTANCE {owner}" for owner in owners]
    registers = {FIRST_REGISTER + 2 * at + side: (rule, not side) for at, rule in enumerate(rules) for side in (0, 1)}
    lines.append("ASSUME " + " /\\ ".join(f"TLCSet({register}, 0)" for register in registers))
    lines.append(
        "tidemark_seen(tidemark_r) == IF TLCGet(tidemark_r) = 1 THEN TRUE "
        'ELSE TLCSet(tidemark_r, 1) /\\ PrintT(<<"tidemark-rule", tidemark_r>>)'
    )
    for at, (rule, (owner, arity)) in enumerate(rules.items()):
        formals = ", ".join(f"tidemark_a{at}" for at in range(arity))
        call = f"({formals})" if arity else ""
        register = FIRST_REGISTER + 2 * at
        lines.append(
            f"tidemark_{rule}{call} == IF tidemark_{owner}!{rule}{call} "
            f"THEN tidemark_seen({register}) ELSE ~tidemark_seen({register + 1})"
        )
    lines.append("=" * 60)
    overrides = "".join(f"    {rule} <- tidemark_{rule}\n" for rule in rules)
    return Probe(
        module=module.with_name(f"{PROBE}.tla"),
        given={PROBE: "\n".join(lines) + "\n"},
        cfg=f"{cfg.rstrip()}\nCONSTANTS\n{overrides}",
        rules=tuple(rules),
        registers=registers,
    )


def taken(coverage: dict[str, tuple[int, int]], cfg: str) -> dict[str, bool]:
    """Whether each action was taken, by TLC's counts (distinct states found first, successors generated).

    TLC also counts successors that an ACTION_CONSTRAINT forbids; under one, only an action that found a state counts.
    """
    filtered = bool(cfg_files.parse(cfg).action_constraints)
    return {action: (first if filtered else generated) > 0 for action, (first, generated) in coverage.items()}
