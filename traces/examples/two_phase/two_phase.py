"""A two-phase commit that knows nothing of Tidemark but its trace format.

    tidemark schema --spec TwoPhase.tla --config TwoPhase.cfg --nodes tm,r1,r2,r3 > header.json
    python two_phase.py header.json traces.ndjson [--transactions 20] [--seed 0] [--hasty]

With --hasty the manager commits as soon as anybody has prepared.
"""

import argparse
import json
import random

TABLE = list(range(256))  # of CRC-32C
for _ in range(8):
    TABLE = [c >> 1 ^ 0x82F63B78 if c & 1 else c >> 1 for c in TABLE]


class Transaction:
    """A manager and its resource managers, and the trace of what they do."""

    def __init__(self, name, rms, out, hasty):
        self.name, self.out, self.hasty, self.crc, self.step = name, out, hasty, 0xFFFFFFFF, 0
        self.disks = dict.fromkeys(rms, "working")  # one per resource manager
        self.decision, self.votes = None, set()  # the manager's disk, and its memory
        self.wire = []  # messages, never lost
        self.seen = self.observe()
        self.write({"step": 0, "state": self.seen})

    def observe(self):
        """This system's state as the specification's variables."""
        messages = [{"type": "prepared", "rm": value} for kind, value in self.wire if kind == "vote"]
        messages += [{"type": "decision", "outcome": value} for kind, value in self.wire if kind == "decision"]
        tm = {"tmState": self.decision or "init", "tmPrepared": sorted(self.votes)}
        return {"rmState": dict(self.disks), **tm, "messages": messages}

    def write(self, event):
        line = json.dumps({"trace": self.name, **event}).encode() + b"\n"
        for byte in line:
            self.crc = self.crc >> 8 ^ TABLE[(self.crc ^ byte) & 255]
        self.out.write(line)

    def emit(self, node, action, blocked=False, **params):
        """At a handler's end: what was done, and what is different now."""
        now, self.step = self.observe(), self.step + 1
        delta = {name: value for name, value in now.items() if value != self.seen[name]}
        if "rmState" in delta:  # of a function, only the cells that changed
            delta["rmState"] = {rm: state for rm, state in self.disks.items() if state != self.seen["rmState"][rm]}
        event = {"step": self.step, "node": node, "action": action, "params": params}
        self.write({**event, "blocked": True} if blocked else {**event, "delta": delta})
        self.seen = now

    def end(self):
        end = {"steps": self.step, "quiescent": True, "capacity": False}
        self.write({"end": end, "crc32c": format(self.crc ^ 0xFFFFFFFF, "08x")})

    def prepare(self, rm):
        if self.disks[rm] == "working":
            self.disks[rm] = "prepared"
            self.wire.append(("vote", rm))
            self.emit(rm, "RMPrepare", r=rm)

    def give_up(self, rm):
        if self.disks[rm] in ("working", "prepared"):
            promised = self.disks[rm] == "prepared"
            self.disks[rm] = "prepared" if promised else "aborted"
            self.emit(rm, "RMAbort", blocked=promised, r=rm)

    def vote_arrives(self, rm):
        if self.decision is None and ("vote", rm) in self.wire:
            self.votes.add(rm)
            self.emit("tm", "TMReceivePrepared", r=rm)

    def decide(self, outcome):
        if self.decision is None:
            enough = len(self.votes) >= (1 if self.hasty else len(self.disks))
            if outcome == "aborted" or enough:
                self.decision = outcome
                self.wire.append(("decision", outcome))
            self.emit("tm", "TMDecide", blocked=self.decision is None, outcome=outcome)

    def restart(self):
        self.votes = set()
        self.emit("tm", "TMRestart")

    def decision_arrives(self, rm):
        if self.decision and self.disks[rm] in ("working", "prepared"):
            self.disks[rm] = self.decision
            self.emit(rm, "RMReceiveDecision", r=rm, outcome=self.decision)


def run(transaction, rms, rng):
    """Things happen in any order; then the manager makes up its mind and everybody hears of it."""
    t = transaction
    likely = [t.prepare] * 6 + [t.vote_arrives] * 9 + [lambda rm: t.decide("committed")] * 4 + [t.decision_arrives] * 3
    rare = [t.give_up, lambda rm: t.restart()]
    for _ in range(rng.randrange(10, 40)):
        rng.choice(likely + rare)(rng.choice(rms))
    t.decide("aborted")
    if rng.randrange(4) == 0:
        t.restart()
    for rm in rms:
        t.decision_arrives(rm)
    t.end()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("header")
    parser.add_argument("out")
    parser.add_argument("--transactions", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hasty", action="store_true")
    args = parser.parse_args()
    with open(args.header) as source, open(args.out, "wb") as out:
        header = json.load(source)
        out.write(json.dumps(header).encode() + b"\n")
        for number in range(args.seed, args.seed + args.transactions):
            transaction = Transaction(f"tx-{number}", header["constants"]["RM"], out, args.hasty)
            run(transaction, header["constants"]["RM"], random.Random(number))
