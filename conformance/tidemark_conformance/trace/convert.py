"""Conversion between the forms, without loss: every sum is checked and written anew, damage stays damage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tidemark_conformance.errors import Unusable
from tidemark_conformance.trace.files import (
    NDJSON,
    file_header,
    file_traces,
    form_of,
    local_files,
    one_form,
    open_writer,
    stem_of,
)
from tidemark_conformance.trace.ndjson import damage_of
from tidemark_conformance.trace.schema import Schema


@dataclass(slots=True)
class Converted:
    """The counts of a conversion: files and traces written, and damaged traces by kind of damage."""

    files: int = 0
    traces: int = 0
    damaged: Counter[str] = field(default_factory=Counter)


def convert(sources: Sequence[Path], target: Path, schema: Schema) -> Converted:
    """Convert trace files: one file to the file or the folder `target`, a folder or several files to a folder.

    The name of a file says its form. Files in a folder keep their names and get the form that the sources have not. A
    `target` whose name has no suffix is a folder. Raises Unusable for input that is no trace of `schema`, for output
    that would overwrite an input, and for a trace id that stands twice.
    """
    files = local_files(sources)
    form = one_form([str(file) for file in files], " ".join(map(str, sources)))
    many = len(files) > 1 or sources[0].is_dir()
    into_folder = form_of(target.name) is None
    if not many and into_folder and target.suffix and not target.is_dir():
        named = f"{target.stem}.parquet or {target.stem}.ndjson"
        raise Unusable(f"{target} says no form by its name; name a file, such as {named}, or a folder")
    if many and not into_folder:
        raise Unusable(f"{target} is one file and the input is a folder or several files; give the name of a folder")
    result = Converted()
    names: Counter[str] = Counter()
    for file in files:
        out = target
        if into_folder:
            stem = stem_of(file.name)
            names[stem] += 1
            stem += f"-{names[stem]}" if names[stem] > 1 else ""
            out = target / (stem + (".parquet" if form == NDJSON else ".ndjson"))
        if out.resolve() == file.resolve():
            raise Unusable(f"{out} is the input itself; give another output")
        _convert_file(file, out, schema, result)
    return result


def _convert_file(source: Path, target: Path, schema: Schema, result: Converted) -> None:
    header = file_header(source)
    header.require(schema.header, str(source))
    seen: set[str] = set()
    with open_writer(target, header, schema) as writer:
        for trace in file_traces(source, schema):
            if trace.id in seen:
                raise Unusable(f"trace {trace.id} stands twice in {source}; give every trace an id of its own")
            seen.add(trace.id)
            writer.add(trace.id, trace.steps, trace.stream)
            damage = damage_of(trace.stream, schema)
            if damage is not None:
                result.damaged[damage] += 1
            result.traces += 1
        if not seen:
            raise Unusable(f"{source} holds a header and no trace; there is nothing to convert")
    result.files += 1
