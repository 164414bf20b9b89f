"""The inputs from which the kernels of a specification are generated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidemark_conformance.tla.ir import Module, Named
from tidemark_conformance.tla.layout import Layout, Parameters
from tidemark_conformance.tla.observations import Observables
from tidemark_conformance.tla.types import Evaluate
from tidemark_conformance.tla.values import Value


@dataclass
class Source:
    """The inputs from which a program is generated."""

    module: Module
    constants: Mapping[str, Value]
    constant: Evaluate
    layout: Layout
    parameters: Mapping[str, Parameters]
    invariants: Sequence[Named]
    properties: Sequence[Named]
    quiescence: Sequence[Named]
    observables: Observables | None = None
    capacities: frozenset[str] | None = None
