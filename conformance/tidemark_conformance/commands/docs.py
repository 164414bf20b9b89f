"""`tidemark docs`: rewrite the generated parts of the documents, and the pictures that they link."""

from __future__ import annotations

import argparse

from tidemark_conformance.errors import Unusable
from tidemark_conformance.implementation import compiled
from tidemark_conformance.paths import CHECKOUT
from tidemark_conformance.report import generated, picture


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark docs`."""
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a generated part is out of date")


def run(args: argparse.Namespace) -> int:
    """0: all is up to date (or was rewritten); 1: with --check, something is not."""
    compiled.avoid()
    root = CHECKOUT
    files = generated.documents(root)
    if not files[0].is_file():
        raise Unusable(f"{root} is no checkout of Tidemark (no README.md there); run this in one")
    generators = generated.cheap()
    stale = []
    rows: set[str] = set()
    for file in files:
        if not file.is_file():
            continue
        text = file.read_text(encoding="utf-8")
        rows.update(picture.wanted(text))
        name = str(file.relative_to(root))
        fresh = generated.rewrite(text, generators, name)
        if fresh != text:
            stale.append(name)
            if not args.check:
                file.write_text(fresh, encoding="utf-8")
    for row in sorted(rows):
        drawn, file = picture.picture(row), picture.folder(root) / f"{row}.svg"
        if not file.is_file() or file.read_text(encoding="utf-8") != drawn:
            stale.append(file.name)
            if not args.check:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(drawn, encoding="utf-8")
    for name in stale:
        print(f"{name}: {'out of date' if args.check else 'rewritten'}")
    return 1 if stale and args.check else 0
