"""Chooses the specification and the baseline that judge traces: those given by hand, or those named in the header."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tidemark_conformance.errors import Unusable
from tidemark_conformance.java import modules
from tidemark_conformance.paths import spec_root
from tidemark_conformance.tla import cfg
from tidemark_conformance.tla.elaborate import WITHOUT
from tidemark_conformance.tla.python import EvaluationError, evaluate_constant
from tidemark_conformance.tla.spec import Specification, load
from tidemark_conformance.trace.header import Header, Json, constant_json, same, shortened

REPAIRED = "repaired"
"""The baseline with every rule in force, regardless of the cfg."""
SHIPPED = "KafkaAsShipped"
"""The baseline of Kafka 4.x: a baseline of another version names the rules that are missing beside these."""
_RULES = re.compile(r"^(\w+)\s*==\s*\{((?:\s*\"\w+\"\s*,?)*)\s*\}", re.MULTILINE)


def add_specification_arguments(parser: argparse.ArgumentParser, required: bool = False) -> None:
    """Adds `--spec` and `--config`."""
    parser.add_argument("--spec", type=Path, required=required, metavar="F.tla", help="the specification's root module")
    parser.add_argument("--config", type=Path, required=required, metavar="F.cfg", help="its TLC configuration file")


def add_baseline_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds `--baseline` and `--without`, of which one may be given."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--baseline",
        metavar="OPERATOR",
        help=f"judge without the rules in this operator of the specification ({REPAIRED!r}: with all rules)",
    )
    group.add_argument("--without", metavar="RULE[,RULE]", help="judge without these rules")


def find(name: str, constants: Mapping[str, Json] | None = None) -> tuple[Path, Path]:
    """The files of a specification of this installation: a module `<name>`, or `<name>Properties` that extends it, in
    `spec/*/`. The cfg of its name stands beside it. That cfg may have other constants than `constants` (of a trace's
    header). Then another cfg of the folder with these constants and the same checks is taken."""
    # The name is the trace's, so it is compared with those that are here, and never becomes a part of a path.
    known = sorted(spec_root().glob("*/*.tla"))
    found = [path for stem in (name, f"{name}Properties") for path in known if path.stem == stem]
    if not found:
        raise Unusable(
            f"the traces are of a specification {name[:60]}, which is not in {spec_root()}; "
            "pass it with --spec and --config"
        )
    for path in found:
        if path.with_suffix(".cfg").is_file():
            return path, _of_size(path.with_suffix(".cfg"), constants)
    raise Unusable(f"{found[0]} has no {found[0].stem}.cfg beside it; pass a configuration with --config")


def _of_size(config: Path, constants: Mapping[str, Json] | None) -> Path:
    """A cfg, or the one beside it that has these constants and asks for the same. Then the same rules are in force, the
    same invariants and properties are checked, and nothing is bounded. The cfg itself if there is none."""
    if constants is None:
        return config
    own = cfg.read(config)
    for other in (config, *sorted(config.parent.glob("*.cfg"))):
        found = cfg.read(other)
        sizes = {name: constant_json(value) for name, value in found.constants.items() if name != WITHOUT}
        if same(sizes, dict(constants)) and _asked(found) == _asked(own):
            return other
    return config


def _asked(config: cfg.Config) -> cfg.Config:
    """A cfg without its name and its sizes."""
    without = {name: value for name, value in config.constants.items() if name == WITHOUT}
    return replace(
        config,
        path="",
        constants=without,
        invariants=tuple(sorted(config.invariants)),
        properties=tuple(sorted(config.properties)),
    )


def load_for(
    name: str | None,
    spec: Path | None,
    config: Path | None,
    *,
    baseline: str | None = None,
    without: str | None = None,
    constants: Mapping[str, Json] | None = None,
) -> tuple[Specification, str]:
    """The specification to judge by, and the name of its baseline ("" when it is the cfg's own).

    `name`, `constants`: of the traces' header, used when `spec` is None, the constants only without `config`. A `spec`
    without `config` takes the cfg of its name.
    Raises Unusable for files that are not there, and for a baseline or rule that the specification has not.
    """
    if spec is not None and not spec.is_file():
        raise Unusable(f"{spec} does not exist; give a file")
    if spec is None:
        if name is None:
            raise Unusable("no specification is given; pass --spec and --config")
        spec, found = find(name, constants if config is None else None)
        config = config or found
    elif config is None:
        config = spec.with_suffix(".cfg")
        if not config.is_file():
            raise Unusable(f"{spec} is given without a configuration; pass its cfg with --config")
    for path in (spec, config):
        if not path.is_file():
            raise Unusable(f"{path} does not exist; give a file")
    if without is not None:
        return with_rules_off(load(spec, config), frozenset(rule for rule in without.split(",") if rule)), "--without"
    if baseline is None:
        return load(spec, config), ""
    if baseline == REPAIRED:
        return with_rules_off(load(spec, config), frozenset()), baseline
    plain = load(spec, config)
    try:
        specification = load(spec, config, also=(baseline,))
        rules = evaluate_constant(specification.module.definitions[baseline].body, specification.constants)
    except (Unusable, EvaluationError):
        rules = None
    if not isinstance(rules, frozenset) or not rules <= frozenset(plain.module.rules):
        there = ", ".join([REPAIRED, *sorted(baselines(plain))])
        raise Unusable(f"{plain.module.name} has no baseline {baseline}; choose from {there}")
    return with_rules_off(specification, rules), baseline


def baselines(specification: Specification) -> dict[str, frozenset[str]]:
    """The sets of rules that a specification names, but for that of all its rules. The one of Kafka 4.x may be
    empty."""
    rules = frozenset(specification.module.rules)
    found = {}
    for file in specification.sources.values():
        for name, body in _RULES.findall(file.read_text(encoding="utf-8")):
            names = frozenset(re.findall(r"\w+", body))
            if (names or name == SHIPPED) and names < rules:
                found[name] = names
    return found


def load_asked(args: argparse.Namespace, header: Header) -> tuple[Specification, str]:
    """`load_for` by the arguments of `add_specification_arguments` and `add_baseline_arguments`, and by the header of
    the traces."""
    _require_plain(header, args.spec, args.config)
    return load_for(
        header.spec,
        args.spec,
        args.config,
        baseline=args.baseline,
        without=args.without,
        constants=header.constants,
    )


def _require_plain(header: Header, spec: Path | None, config: Path | None) -> None:
    """Refuse contradictions of the texts alone, before a parser starts. They are traces of a module that the
    specification does not reach, and other constants than the cfg's."""
    if spec is None or not spec.is_file():
        return
    if header.spec not in modules.closure(spec):
        raise Unusable(
            f"the traces are of {header.spec[:60]}, and {spec} neither is nor extends that module; "
            "pass its own with --spec and --config"
        )
    config = config or spec.with_suffix(".cfg")
    if not config.is_file():
        return
    for name, value in cfg.read(config).constants.items():
        if name in header.constants and not same(header.constants[name], constant_json(value)):
            raise Unusable(
                f"the traces have constant {name} = {shortened(header.constants[name], 80)}, and {config} has "
                f"{shortened(constant_json(value), 80)}; audit them with the cfg that they were written for (--config)"
            )


def with_rules_off(specification: Specification, rules: frozenset[str]) -> Specification:
    """The same specification without these rules. Raises Unusable for a name that is no rule of it."""
    unknown = sorted(rules - set(specification.module.rules))
    if unknown:
        known = ", ".join(specification.module.rules) or "none"
        raise Unusable(f"{unknown[0]} is no rule of {specification.module.name} (its rules: {known})")
    return replace(specification, constants={**specification.constants, WITHOUT: rules})
