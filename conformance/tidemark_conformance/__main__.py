"""`python -m tidemark_conformance`: the `tidemark` command, where scripts are not on the path."""

from __future__ import annotations

import sys

from tidemark_conformance.cli import main

if __name__ == "__main__":
    sys.exit(main())
