"""A raft group of go.etcd.io/raft, and four copies of the library with a bug each: their traces are audited.

    python traces/examples/etcd-raft/run.py [--runs 1000] [--bug-runs 300] [--folder FOLDER]

Needs Go, and a module proxy or the library in Go's module cache. The bugs are planted in a copy in FOLDER.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LIBRARY = "go.etcd.io/raft/v3"
SPEC = ["--spec", str(HERE / "EtcdRaft.tla"), "--config", str(HERE / "EtcdRaft.cfg")]
TIDEMARK = [sys.executable, "-m", "tidemark_conformance.cli"]
BUGS = {
    "a second vote in a term": ("raft.go", "canVote := r.Vote == m.From ||", "canVote := true ||"),
    "an older term's entry committed by counting": (
        "log.go",
        "at.index > l.committed && l.matchTerm(at)",
        "at.index > l.committed",
    ),
    "a vote forgotten over a restart": ("raft.go", "r.Vote = state.Vote", "r.Vote = None"),
    "entries compared by index alone": ("log.go", "!l.matchTerm(id) {", "id.index > l.lastIndex() {"),
}
"""Per bug the file of the library, a text that stands in it once, and what is put in its place."""


def said(command: list[str], where: Path, may_fail: bool = False) -> str:
    """A command's standard output. Ends the program with what the command says when it fails."""
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    if done.returncode not in ((0, 1, 3) if may_fail else (0,)):
        sys.exit(f"etcd-raft: {' '.join(command[:4])} ended with {done.returncode}: {done.stderr.strip()[-600:]}")
    return done.stdout


def built(folder: Path, bug: str | None) -> Path:
    """The harness, built with the library as it is or with a bug in a copy of it."""
    program = folder / "harness"
    command = ["go", "build", "-tags", "with_tla", "-o", str(program)]
    if bug is not None:
        file, old, new = BUGS[bug]
        copy = folder / "raft"
        shutil.copytree(said(["go", "list", "-m", "-f", "{{.Dir}}", LIBRARY], HERE / "harness").strip(), copy)
        for path in (copy, *copy.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)  # the module cache is read-only
        text = (copy / file).read_text()
        if text.count(old) != 1:
            sys.exit(f"etcd-raft: {file} of {LIBRARY} has not once {old!r}; correct BUGS for this version")
        (copy / file).write_text(text.replace(old, new))
        module = folder / "go.mod"
        emitter = HERE.parent.parent / "emitters" / "go"
        mod = (HERE / "harness" / "go.mod").read_text().replace("../../../emitters/go", str(emitter))
        module.write_text(f"{mod}\nreplace {LIBRARY} => {copy}\n")
        shutil.copy(HERE / "harness" / "go.sum", folder / "go.sum")
        command += ["-modfile", str(module)]
    said([*command, "."], HERE / "harness")
    return program


def row(name: str, folder: Path, bug: str | None, runs: int, header: Path) -> dict[str, Any]:
    """Writes the traces of one library and audits them."""
    folder.mkdir(parents=True)
    traces, verdict = folder / "traces.ndjson", folder / "verdict.json"
    start = time.monotonic()
    panics = said([str(built(folder, bug)), "-header", str(header), "-out", str(traces), "-runs", str(runs)], folder)
    said([*TIDEMARK, "audit", str(traces), *SPEC, "--json", str(verdict)], folder, may_fail=True)
    if not verdict.is_file():
        sys.exit(f"etcd-raft: the audit of {traces} came to no verdict; run it by hand")
    found = json.loads(verdict.read_text())
    return {"name": name, "seconds": time.monotonic() - start, "panics": panics.split(", ")[1].split()[0], **found}


def main() -> int:
    """Prints the table; 1 when a right library is flagged or a bug is not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--bug-runs", type=int, default=300)
    parser.add_argument("--folder", type=Path, help="where the traces stay (default: nowhere)")
    args = parser.parse_args()
    if shutil.which("go") is None:
        print("etcd-raft: Go is not here, so its raft library is not run; everything else works without it")
        return 0
    with tempfile.TemporaryDirectory() as room:
        folder = (args.folder or Path(room)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            sys.exit(f"etcd-raft: {folder} is not empty; give another folder, or none")
        header = folder / "header.json"
        header.write_text(said([*TIDEMARK, "schema", *SPEC, "--nodes", "n1,n2,n3"], HERE))
        return table(folder, header, args.runs, args.bug_runs)


def table(folder: Path, header: Path, runs: int, bug_runs: int) -> int:
    """Runs and prints every row."""
    print(f"{'library':<44} {'runs':>5} {'steps':>8} {'PASS':>5} {'FAIL':>5} {'UNDECIDED':>9} {'panics':>6} {'s':>5}")
    wrong = 0
    for number, bug in enumerate([None, *BUGS]):
        count = bug_runs if bug else runs
        one = row(bug or "as released", folder / str(number), bug, count, header)
        verdicts = one["verdicts"]
        print(
            f"{one['name']:<44} {count:>5} {one['steps']:>8,} {verdicts['pass']:>5} {verdicts['fail']:>5} "
            f"{verdicts['undecided']:>9} {one['panics']:>6} {one['seconds']:>5.0f}",
            flush=True,
        )
        wrong += verdicts["fail"] == 0 if bug else verdicts["pass"] != count
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
