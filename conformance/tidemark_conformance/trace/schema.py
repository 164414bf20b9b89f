"""The data that readers and writers of a specification's traces need: its layout, its actions' parameters, its
header."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidemark_conformance.tla.elaborate import WITHOUT
from tidemark_conformance.tla.kernels.stream import End, Record, StreamWriter, records
from tidemark_conformance.tla.layout import Layout, Parameters, action_parameters, layout_of
from tidemark_conformance.tla.limits import Ends, Tree, of_domain, trees
from tidemark_conformance.tla.observations import Observables, observables_of
from tidemark_conformance.tla.python import compile_python
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.trace.codec import type_json, value_json
from tidemark_conformance.trace.header import Header, Json, constant_json


@dataclass(frozen=True, slots=True)
class Schema:
    """The form of one specification's traces under its constants; it travels to Spark's workers by pickle.

    `header`: every file must start with it; its nodes are the file's own choice. `parameters` are in the order of Next.
    `observables`: the facts of a state that a trace may tell beside its variables (None: none). `limits` by variable
    and `domains` by action say which limits are capacities (empty: they are not known).
    """

    header: Header
    layout: Layout
    parameters: Mapping[str, Parameters]
    observables: Observables | None = None
    limits: Mapping[str, Tree] = field(default_factory=dict)
    domains: Mapping[str, Sequence[Ends]] = field(default_factory=dict)

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions' names in the order of Next: a record's action is an index here."""
        return tuple(self.parameters)

    @property
    def arities(self) -> list[int]:
        """How many parameters each action has."""
        return [len(parameters.names) for parameters in self.parameters.values()]

    def records(self, stream: bytes) -> Iterator[Record | End]:
        """The records of a delta stream; errors as of `kernels.stream.records`."""
        return records(stream, self.layout.base_cells, self.arities, self.observables is not None)

    def writer(self) -> StreamWriter:
        """An encoder of delta streams."""
        return StreamWriter(self.layout.base_cells, self.arities, self.observables is not None)

    def with_nodes(self, nodes: Sequence[str]) -> Header:
        """The header for traces whose steps happen at these nodes."""
        return replace(self.header, nodes=tuple(nodes))


def schema_of(specification: Specification) -> Schema:
    """The schema of a specification's traces. Raises Unsupported where TypeOK or a parameter's domain gives no
    layout."""
    constant = compile_python(specification).constant
    layout = layout_of(specification.module, constant)
    parameters = action_parameters(specification.module, constant)
    constants = {
        name: constant_json(value) for name, value in sorted(specification.constants.items()) if name != WITHOUT
    }
    variables = {
        variable.name: {
            "offset": variable.offset,
            "cells": variable.size,
            "units": variable.units,
            "type": type_json(variable.type),
        }
        for variable in layout.variables
        if variable.carried
    }
    observables = observables_of(specification.module, layout, constant, specification.constants)
    header = Header(
        specification.module.name,
        specification.hash,
        constants,
        (),
        variables,
        _actions(parameters),
        hidden=specification.module.hidden,
        observed=_observed(observables),
    )
    module, capacities = specification.module, specification.capacities
    domains = {
        action.name: tuple(of_domain(param.domain, constant, capacities) for param in action.params)
        for action in module.actions
    }
    return Schema(header, layout, parameters, observables, trees(module, constant, capacities), domains)


def _observed(observables: Observables | None) -> Json:
    if observables is None:
        return None
    fields = {name: type_json(kind) for name, kind in observables.fields}
    return {"observers": list(observables.keys), "fields": fields} if observables.keys else {"fields": fields}


def written_domains(parameters: Parameters) -> dict[str, list[Json]]:
    """The domains of an action's parameters as JSON. (Those of a schema that a header declares have no types and are
    JSON already.)"""
    if not parameters.types:
        return {name: list(domain) for name, domain in zip(parameters.names, parameters.domains, strict=True)}
    return {
        name: [value_json(kind, value) for value in domain]
        for name, domain, kind in zip(parameters.names, parameters.domains, parameters.types, strict=True)
    }


def _actions(parameters: Mapping[str, Parameters]) -> list[Json]:
    return [{"name": action, "params": written_domains(one)} for action, one in parameters.items()]
