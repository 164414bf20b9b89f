"""What a generated cfg takes over from a model's (`tla.cfg` reads it)."""

from __future__ import annotations

from collections.abc import Collection

from tidemark_conformance.tla.cfg import Config
from tidemark_conformance.tlc.values import to_tla


def constants(config: Config, without: Collection[str] = ()) -> str:
    """The CONSTANTS of the cfg as text of a cfg, the names in `without` left out."""
    lines = [f"    {name} = {to_tla(value)}\n" for name, value in config.constants.items() if name not in without]
    lines += [f"    {name} <- {other}\n" for name, other in config.substitutions.items() if name not in without]
    return "CONSTANTS\n" + "".join(lines) if lines else ""
