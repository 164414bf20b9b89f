"""`tidemark schema`: the trace header that an emitter for a specification needs."""

from __future__ import annotations

import argparse

from tidemark_conformance.errors import Unusable
from tidemark_conformance.registry.specifications import add_specification_arguments, load_for
from tidemark_conformance.trace.schema import schema_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark schema`."""
    add_specification_arguments(parser, required=True)
    parser.add_argument("--nodes", default="", metavar="A,B", help="names of the nodes at which steps happen")


def run(args: argparse.Namespace) -> int:
    """Print the header as one line of JSON."""
    specification, _ = load_for(None, args.spec, args.config)
    nodes = [node for node in args.nodes.split(",") if node]
    if len(set(nodes)) != len(nodes):
        raise Unusable(f"--nodes {args.nodes} names a node twice; name each once")
    print(schema_of(specification).with_nodes(nodes).text())
    return 0
