"""Servers that elect leaders, and log as little as servers do: their own term, role and vote.

    tidemark schema --spec Election.tla --config Election.cfg --nodes n1,n2,n3 > header.json
    python election.py header.json traces.ndjson [--runs 20] [--seed 0] [--forgetful]

With --forgetful a server's vote is not on its disk: it is gone when the server comes back.
"""

import argparse
import json
import random

TABLE = list(range(256))  # of CRC-32C
for _ in range(8):
    TABLE = [c >> 1 ^ 0x82F63B78 if c & 1 else c >> 1 for c in TABLE]


class Log:
    """One run's trace: what happened, and what a server saw of itself. The specification computes the rest."""

    def __init__(self, name, out):
        self.name, self.out, self.crc, self.step = name, out, 0xFFFFFFFF, -1

    def write(self, event):
        line = json.dumps({"trace": self.name, **event}).encode() + b"\n"
        for byte in line:
            self.crc = self.crc >> 8 ^ TABLE[(self.crc ^ byte) & 255]
        self.out.write(line)

    def event(self, server=None, action=None, **params):
        self.step += 1
        event = {"step": self.step}
        if action is not None:
            event |= {"node": server.name, "action": action, "params": params, "after": {server.name: server.seen()}}
        self.write(event)

    def end(self):
        end = {"steps": self.step, "quiescent": False, "capacity": False}
        self.write({"end": end, "crc32c": format(self.crc ^ 0xFFFFFFFF, "08x")})


class Server:
    def __init__(self, name, cluster):
        self.name, self.cluster = name, cluster
        self.term, self.vote = 0, None  # its disk
        self.role, self.backers = "follower", set()

    def seen(self):
        """What it logs of itself; the messages under way are nobody's to log."""
        vote = self.vote or "nobody"
        return {"term": self.term, "role": self.role, "vote": vote, "backers": len(self.backers)}

    def stand(self):
        self.term, self.role, self.vote, self.backers = self.term + 1, "candidate", self.name, {self.name}
        self.cluster.requests.append((self.term, self.name))
        self.cluster.log.event(self, "Stand", n=self.name)

    def read_request(self, term, candidate):
        if candidate == self.name or term < self.term or (term == self.term and self.vote not in (None, candidate)):
            return
        if term > self.term:
            self.role, self.backers = "follower", set()
        self.term, self.vote = term, candidate
        self.cluster.votes.append((term, self.name, candidate))
        self.cluster.log.event(self, "Grant", n=self.name, c=candidate, t=term)

    def read_vote(self, term, voter):
        if self.role == "candidate" and term == self.term:
            self.backers.add(voter)
            self.cluster.log.event(self, "Count", n=self.name, v=voter)
            if 2 * len(self.backers) > len(self.cluster.servers):
                self.role = "leader"
                self.cluster.log.event(self, "Lead", n=self.name)

    def restart(self):
        self.role, self.backers = "follower", set()
        if self.cluster.forgetful:
            self.vote = None
        self.cluster.log.event(self, "Restart", n=self.name)


class Cluster:
    def __init__(self, names, log, forgetful):
        self.log, self.forgetful = log, forgetful
        self.requests, self.votes = [], []  # all that were ever sent: any may be late, be lost, or come twice
        self.servers = {name: Server(name, self) for name in names}
        log.event()


def run(cluster, most, rng):
    servers = list(cluster.servers.values())
    for _ in range(rng.randrange(10, 60)):
        server, what = rng.choice(servers), rng.random()
        if what < 0.15 and server.role != "leader" and server.term < most:
            server.stand()
        elif what < 0.2:
            server.restart()
        elif what < 0.6 and cluster.requests:
            server.read_request(*rng.choice(cluster.requests))
        elif cluster.votes:
            term, voter, candidate = rng.choice(cluster.votes)
            cluster.servers[candidate].read_vote(term, voter)
    cluster.log.end()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("header")
    parser.add_argument("out")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--forgetful", action="store_true")
    args = parser.parse_args()
    with open(args.header) as source, open(args.out, "wb") as out:
        header = json.load(source)
        out.write(json.dumps(header).encode() + b"\n")
        constants = header["constants"]
        for number in range(args.seed, args.seed + args.runs):
            cluster = Cluster(constants["Server"], Log(f"run-{number}", out), args.forgetful)
            run(cluster, constants["MaxTerm"], random.Random(number))
