"""The `tidemark` command for `spark-submit`, which takes no program whose name does not end in `.py`:

    spark-submit --master spark://host:7077 "$(python -m tidemark_conformance.submit --where)" audit TRACES

Run as a program, `--where` alone prints the path of this file.
"""

from __future__ import annotations

import sys
from pathlib import Path


def program() -> int:
    """Run the command of the program's arguments; returns its exit code."""
    here = Path(__file__).resolve()
    # Python has put the program's folder first, where folders of ours would hide modules of its own, such as `trace`.
    sys.path[:] = [place for place in sys.path if Path(place or ".").resolve() != here.parent]
    if sys.argv[1:] == ["--where"]:
        print(here)
        return 0
    from tidemark_conformance.cli import main

    return main()


if __name__ == "__main__":
    sys.exit(program())
