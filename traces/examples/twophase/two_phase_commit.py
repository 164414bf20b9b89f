"""A two-phase commit that knows nothing of Tidemark but its trace format: python two_phase_commit.py HEADER OUT [-n 20] [--hasty]

HEADER is what `tidemark schema --spec TwoPhase.tla --config TwoPhase.cfg --nodes tm,r1,r2,r3` prints.
"""

import argparse
import json
import random

TABLE = [0] * 256
for i in range(256):
    TABLE[i] = i
    for _ in range(8):
        TABLE[i] = TABLE[i] >> 1 ^ (0x82F63B78 if TABLE[i] & 1 else 0)


def crc32c(data, crc=0xFFFFFFFF):
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc


class Transaction:
    """One transaction of a manager and its resource managers, and its trace."""

    def __init__(self, name, rms, out, hasty):
        self.name, self.out, self.hasty, self.crc, self.step = name, out, hasty, 0xFFFFFFFF, 0
        self.rms = {rm: "working" for rm in rms}  # on each resource manager's disk
        self.decision, self.votes, self.wire = None, set(), []  # the manager's disk, its memory, what is under way
        self.seen = self.observe()
        self.write({"step": 0, "state": self.seen})

    def observe(self):
        """This system's state as the specification's variables."""
        messages = [{"type": "prepared", "rm": rm} for kind, rm in self.wire if kind == "prepared"]
        messages += [{"type": "decision", "outcome": outcome} for kind, outcome in self.wire if kind == "decision"]
        tm = {"tmState": self.decision or "init", "tmPrepared": sorted(self.votes)}
        return {"rmState": dict(self.rms), **tm, "messages": messages}

    def write(self, event):
        line = json.dumps({"trace": self.name, **event}).encode() + b"\n"
        self.crc = crc32c(line, self.crc)
        self.out.write(line)

    def emit(self, node, action, blocked=False, **params):
        now, self.step = self.observe(), self.step + 1
        delta = {key: value for key, value in now.items() if value != self.seen[key]}
        if "rmState" in delta:  # of a function, only the cells that changed
            delta["rmState"] = {rm: state for rm, state in self.rms.items() if state != self.seen["rmState"][rm]}
        event = {"step": self.step, "node": node, "action": action, "params": params, "delta": delta}
        self.write({**event, "blocked": True} if blocked else event)
        self.seen = now

    def end(self):
        end = {"steps": self.step, "quiescent": True, "capacity": False}
        crc = format(self.crc ^ 0xFFFFFFFF, "08x")
        self.out.write(json.dumps({"trace": self.name, "end": end, "crc32c": crc}).encode() + b"\n")

    def send(self, *message):
        if message not in self.wire:
            self.wire.append(message)

    def prepare(self, rm):
        if self.rms[rm] == "working":
            self.rms[rm] = "prepared"
            self.send("prepared", rm)
            self.emit(rm, "RMPrepare", r=rm)

    def give_up(self, rm):
        if self.rms[rm] in ("working", "prepared"):
            blocked = self.rms[rm] == "prepared"  # it has promised
            self.rms[rm] = "prepared" if blocked else "aborted"
            self.emit(rm, "RMAbort", blocked, r=rm)

    def vote_arrives(self, rm):
        if self.decision is None and ("prepared", rm) in self.wire:
            self.votes.add(rm)
            self.emit("tm", "TMReceivePrepared", r=rm)

    def decide(self, outcome):
        if self.decision is None:
            blocked = outcome == "committed" and len(self.votes) < (1 if self.hasty else len(self.rms))
            if not blocked:
                self.decision = outcome
                self.send("decision", outcome)
            self.emit("tm", "TMDecide", blocked, outcome=outcome)

    def restart(self):
        self.votes = set()
        self.emit("tm", "TMRestart")

    def decision_arrives(self, rm):
        if self.decision and self.rms[rm] in ("working", "prepared"):
            self.rms[rm] = self.decision
            self.emit(rm, "RMReceiveDecision", r=rm, outcome=self.decision)


def run(name, rms, out, hasty, rng):
    """Chaos, then the manager decides and everybody hears of it."""
    t = Transaction(name, rms, out, hasty)
    for _ in range(rng.randrange(8, 20)):
        rm, word = rng.choice(rms), rng.randrange(100)
        if word < 60:
            rng.choice((t.prepare, t.vote_arrives))(rm)
        elif word < 66:
            rng.choice((t.restart, lambda: t.decide("aborted")))()
        else:
            rng.choice((t.give_up if word < 72 else t.vote_arrives, lambda rm: t.decide("committed"), t.decision_arrives))(rm)
    t.decide("aborted")
    for rm in rms:
        t.decision_arrives(rm)
    t.end()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("header")
    parser.add_argument("out")
    parser.add_argument("-n", "--transactions", type=int, default=20)
    parser.add_argument("--hasty", action="store_true", help="commit as soon as anybody has prepared")
    args = parser.parse_args()
    with open(args.header) as file:
        head = json.load(file)
    with open(args.out, "wb") as file:
        file.write(json.dumps(head).encode() + b"\n")
        for number in range(args.transactions):
            run(f"tx-{number}", head["constants"]["RM"], file, args.hasty, random.Random(number))
