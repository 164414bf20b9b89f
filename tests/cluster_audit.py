"""A driver for test_cluster.py: python cluster_audit.py MASTER PATH; prints finished tasks, then the audit's
document."""

from __future__ import annotations

import json
import sys

from tidemark_conformance.check.audit import audit
from tidemark_conformance.check.inputs import open_input
from tidemark_conformance.check.session import spark_session
from tidemark_conformance.check.specifications import load_for


class Printed:
    """Progress as lines."""

    def update(self, done: int, total: int) -> None:
        """One line per look."""
        print(json.dumps({"done": done, "total": total}), flush=True)


def main() -> None:
    """Audit on the cluster."""
    master, path = sys.argv[1:]
    with spark_session(master) as session:
        source = open_input(session, [path])
        specification, _ = load_for(source.header.spec, None, None)
        print(json.dumps(audit(session, source, specification, progress=Printed()).document()), flush=True)


if __name__ == "__main__":
    main()
