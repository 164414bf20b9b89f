"""Scenarios: a text that drives a cluster event by event, and the transcript of its events.

One event a line; `#` starts a comment. Brokers are A, B, C, ... in the order of their names in the trace; records are
called as the text calls them.

    leader A                          the first leader; must come first (A if it is missing)
    produce A r acks=all [later]      a produce attempt arrives at A (later: its handler adds it to the purgatory later)
    wait A r                          it does
    complete A r | fail A r           A's purgatory looks at r; it answers r with the error that is due
    fetch C from=A [max=1]            C asks, A answers, C takes the answer
    send C from=A                     the same in steps: C asks,
    answer C from=A [max=1] [late|uncounted]  A answers (late: it decides on the range and reads the bytes later;
                                        uncounted: it reads, and counts the fetch later),
    count C from=A                      A counts the fetch,
    read C from=A                       A reads the bytes,
    take C from=A                       C takes the answer
    adopt C from=A                    C would like to take a diverging answer's high watermark first
    check C from=A                    C checks a diverging answer, and truncates when it takes it
    lose C from=A                     the connection breaks
    stall C                           the thread dies with which C fetches
    consume A [max=1]                 a consumer asks A for the leader, and reads on from there
    apply A [upto=3] [looking]        A applies the metadata (up to the third partition change) as one delta (looking: a
                                      thread sees that A leads before, and goes on with the produces that wait after it)
    shrink A C | expand A C           A proposes the ISR without, or with C
    decide A | reply A | resend A     the controller decides A's proposal, A hears of it, A sends it again
    lose-proposal A                   the connection between A and the controller breaks
    elect A                           an operator's election
    fence A | unfence A               A's session expires; A's heartbeat arrives
    shutdown A | stop A               A asks to stop, and the controller hears of it; A stops
    crash A [keep=1]                  the machine fails, keeps one record (all of them)
    start A                           a new process registers
    flush A | checkpoint A            the log, the high watermark goes to disk
    expect ... | expect right: ...    the facts that must hold then (with the rules removed | with all rules in force):
                                      isr A={A,C}  hw A=1  log A=r,s  leader=A  acked r  lost r  position 1 (the
                                      consumer's; and each with `not`)

An event that is not possible is shown as such and changes nothing: with a rule in force a scenario may end differently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tidemark.replication.abstraction import CONTROLLER, NOWHERE, READS, TOUCHES, Abstraction, Table
from tidemark.replication.messages import BrokerId
from tidemark.replication.partition import ReplicationConfig
from tidemark.replication.rules import Rules
from tidemark.replication.sim.cluster import SESSION_TIMEOUT_MS, Cluster
from tidemark.replication.sim.network import CONSUMERS
from tidemark.replication.sim.readback import lost_payloads
from tidemark.simulator.script import Cells, ScenarioError, ScenarioResult, Script
from tidemark.trace.recorder import Plan, Recorder

FIRST_PAYLOAD_INSIDE = 1 << 20
"""Records of a text that drives somebody else's cluster are numbered from here."""


def plan_of(header: Mapping[str, Any], table: Table) -> Plan:
    """The plan that recorders of a trace header share. Raises ValueError for a header that is not replication's. It
    does so, too, for one with more consumers than simulated clusters have."""
    if len(table.consumers) != CONSUMERS:
        raise ValueError(f"the header has {len(table.consumers)} consumers, not {CONSUMERS}")
    return Plan(header, "replication", READS, TOUCHES, table.parties, "b", NOWHERE, CONTROLLER)


class Scenario(Script):
    """One run of a text."""

    def __init__(
        self, table: Table, plan: Plan, rules: Rules, right: bool, inside: tuple[Cluster, Recorder] | None = None
    ) -> None:
        """`inside`: a cluster with its recorder that the text drives on, in place of one of its own."""
        super().__init__(right)
        self._table = table
        self._plan = plan
        self._first_payload = 0 if inside is None else FIRST_PAYLOAD_INSIDE
        self._rules = rules
        self._count = table.count
        self._max_fetch = table.max_fetch
        self._config = ReplicationConfig(min_insync_replicas=table.min_isr)
        self._shown = inside is None
        self._names: list[str] = []
        if inside is None:
            self._begin(0)
        else:
            self.cluster, self._recorder = inside

    def _begin(self, leader: BrokerId) -> None:
        self.cluster = Cluster(self._count, leader, self._config, self._rules)
        self._recorder = Recorder(self._plan, Abstraction(self._table, self.cluster), leader)
        self.cluster.recorder = self._recorder
        self._recorder.begin()

    def event(self, number: int, said: str, verb: str, words: list[str]) -> None:
        """A line that is no expectation."""
        if verb == "leader":
            if self.shown:
                raise ScenarioError(f"line {number}: the first leader is chosen before the first event")
            self._begin(self._broker(words[0]))
        elif verb in VERBS:
            self._event(verb, said, words)
        else:
            raise ScenarioError(f"line {number}: there is no event {verb}; see the head of replication/sim/scenario.py")

    def _event(self, verb: str, said: str, words: list[str]) -> None:
        options = dict(word.split("=", 1) for word in words if "=" in word)
        idle = self._recorder.records - self._recorder.changing
        happened = VERBS[verb](self, [word for word in words if "=" not in word], options)
        note = said
        if not happened:
            self.impossible += 1
            note = f"{said}   (not possible)"
        elif self._recorder.records - self._recorder.changing > idle and verb != "answer":
            note = f"{said}   (a rule says no)"
        if self._shown:
            self.show(note, self._cells())

    # --- events that are more than one call -----------------------------------------------------------------------

    def _fetch(self, names: list[str], options: dict[str, str]) -> bool:
        connection = self._connection(names, options)
        limit = int(options.get("max", self._max_fetch))
        cluster = self.cluster
        return (
            (connection.request is not None or cluster.send_fetch(self._broker(names[0])))
            and cluster.receive_fetch(connection, limit)
            and cluster.receive_response(connection)
        )

    def _consume(self, names: list[str], options: dict[str, str]) -> bool:
        cluster = self.cluster
        cluster.learn_leader(0, self._broker(names[0]))
        limit = int(options.get("max", self._max_fetch))
        return cluster.send_read(0) and cluster.receive_read(0, limit) and cluster.take_read(0)

    def _apply(self, names: list[str], options: dict[str, str]) -> bool:
        end = None
        if "upto" in options:
            wanted = int(options["upto"])
            ends = self.cluster.metadata.ends
            end = next(one for one in reversed(ends) if self._changes(one) <= wanted)
        return self.cluster.apply_metadata(self._broker(names[0]), end, "looking" in names[1:])

    def _changes(self, end: int) -> int:
        state = self.cluster.metadata.delta(0, end)
        return 0 if state is None else state.partition_epoch

    def _fence(self, names: list[str], _: dict[str, str]) -> bool:
        broker = self._broker(names[0])
        host = self.cluster.hosts[broker]
        skew, host.skew_ms = host.skew_ms, -2 * SESSION_TIMEOUT_MS
        self.cluster.now += 2 * SESSION_TIMEOUT_MS
        try:
            return self.cluster.expire_session(broker)
        finally:
            host.skew_ms = skew

    def _fail(self, names: list[str], _: dict[str, str]) -> bool:
        self.cluster.now += self._config.request_timeout_ms
        return self.cluster.fail_produce(self._broker(names[0]), self._payload(names[1]))

    def _shutdown(self, names: list[str], _: dict[str, str]) -> bool:
        broker = self._broker(names[0])
        return self.cluster.ask_to_stop(broker) and self.cluster.heartbeat(broker)

    def _crash(self, names: list[str], options: dict[str, str]) -> bool:
        broker = self._broker(names[0])
        keep = int(options.get("keep", self.cluster.hosts[broker].storage.end_offset))
        return self.cluster.crash_broker(broker, keep)

    # --- names ----------------------------------------------------------------------------------------------------

    def _broker(self, name: str) -> BrokerId:
        index = ord(name) - ord("A") if len(name) == 1 else -1
        if not 0 <= index < self._count:
            raise KeyError(name)
        return index

    def _connection(self, names: list[str], options: dict[str, str]) -> Any:
        return self.cluster.network.fetches[self._broker(names[0])][self._broker(options["from"])]

    def _payload(self, name: str) -> int:
        if name not in self._names:
            self._names.append(name)
        return self._first_payload + self._names.index(name)

    def _name(self, payload: int) -> str:
        return self._names[payload - self._first_payload]

    # --- the transcript's columns -------------------------------------------------------------------------------------

    def holds(self, said: str) -> bool:
        """Whether an expectation holds."""
        word, _, rest = said.partition(" ")
        if word in ("acked", "lost"):
            payload = self._payload(rest.strip())
            return payload in (self.cluster.answers.acked if word == "acked" else lost_payloads(self.cluster))
        if word == "position":
            return self.cluster.network.reads[0].position == int(rest)
        if said.startswith("leader="):
            return self.cluster.control.partition.leader == self._broker(said.removeprefix("leader="))
        name, _, value = rest.partition("=")
        host = self.cluster.hosts[self._broker(name.strip())]
        if word == "isr":
            isr = frozenset(self._broker(one.strip()) for one in value.strip("{} ").split(",") if one.strip())
            return host.broker is not None and host.broker.partition.isr == isr
        if word == "hw":
            return host.broker is not None and host.broker.log.high_watermark == int(value)
        if word == "log":
            return [self._name(payload) for payload in self._payloads(host)] == [one for one in value.split(",") if one]
        raise KeyError(word)

    @staticmethod
    def _payloads(host: Any) -> list[int]:
        return [payload for batch in host.storage.batches for payload in batch.records]

    def _column(self, broker_id: BrokerId) -> str:
        """Role and epoch, then the log with a bar at the high watermark."""
        host = self.cluster.hosts[broker_id]
        records = [self._name(payload) for payload in self._payloads(host)]
        broker = host.up
        if broker is None:
            return f"{host.down}: {' '.join(records)}"
        partition = broker.partition
        role = "L" if partition.is_leader else "F" if partition.leader_id is not None else "-"
        mark = broker.log.high_watermark
        return f"{role}{partition.leader_epoch} {' '.join([*records[:mark], '|', *records[mark:]])}"

    def _cells(self) -> Cells:
        return {title: self._column(broker) for broker, title in enumerate(self.titles())}

    def titles(self) -> Sequence[str]:
        """The brokers."""
        return [chr(ord("A") + broker) for broker in range(self._count)]

    def end(self) -> bytes:
        """The trace ends; faults may go on."""
        return self._recorder.end(False, False)


VERBS: dict[str, Callable[[Scenario, list[str], dict[str, str]], bool]] = {
    "produce": lambda s, a, o: s.cluster.append_record(s._broker(a[0]), s._payload(a[1]), o["acks"], "later" in a[2:]),
    "wait": lambda s, a, o: s.cluster.add_delayed_produce(s._broker(a[0]), s._payload(a[1])),
    "complete": lambda s, a, o: s.cluster.complete_produce(s._broker(a[0]), s._payload(a[1])),
    "fail": Scenario._fail,
    "fetch": Scenario._fetch,
    "send": lambda s, a, o: s.cluster.send_fetch(s._broker(a[0])),
    "answer": lambda s, a, o: s.cluster.receive_fetch(
        s._connection(a, o), int(o.get("max", s._max_fetch)), "late" in a[1:], "uncounted" in a[1:]
    ),
    "count": lambda s, a, o: s.cluster.count_fetch(s._connection(a, o)),
    "read": lambda s, a, o: s.cluster.read_fetch(s._connection(a, o)),
    "take": lambda s, a, o: s.cluster.receive_response(s._connection(a, o)),
    "adopt": lambda s, a, o: s.cluster.receive_response(s._connection(a, o), adopt_first=True),
    "check": lambda s, a, o: s.cluster.receive_response(s._connection(a, o), check_first=True),
    "lose": lambda s, a, o: s.cluster.lose_fetch(s._connection(a, o)),
    "stall": lambda s, a, o: s.cluster.stall_fetcher(s._broker(a[0])),
    "consume": Scenario._consume,
    "apply": Scenario._apply,
    "shrink": lambda s, a, o: s.cluster.shrink_isr(s._broker(a[0]), s._broker(a[1])),
    "expand": lambda s, a, o: s.cluster.expand_isr(s._broker(a[0]), s._broker(a[1])),
    "decide": lambda s, a, o: s.cluster.receive_alter_partition(s._broker(a[0])),
    "reply": lambda s, a, o: s.cluster.receive_alter_reply(s._broker(a[0])),
    "resend": lambda s, a, o: s.cluster.resend_alter_partition(s._broker(a[0])),
    "lose-proposal": lambda s, a, o: s.cluster.lose_alter_partition(s._broker(a[0])),
    "elect": lambda s, a, o: s.cluster.elect_leader(s._broker(a[0])),
    "fence": Scenario._fence,
    "unfence": lambda s, a, o: s.cluster.heartbeat(s._broker(a[0])),
    "shutdown": Scenario._shutdown,
    "stop": lambda s, a, o: s.cluster.stop_broker(s._broker(a[0])),
    "crash": Scenario._crash,
    "start": lambda s, a, o: s.cluster.start_broker(s._broker(a[0])),
    "flush": lambda s, a, o: s.cluster.flush_log(s._broker(a[0])),
    "checkpoint": lambda s, a, o: s.cluster.checkpoint_high_watermark(s._broker(a[0])),
}
"""The events: each gets the names and the options of its line, and says whether it happened."""


def run_scenario(header: Mapping[str, Any], text: str, rules: Rules | None = None) -> ScenarioResult:
    """Run a scenario's text with these rules (None: all in force). Raises ScenarioError as `Scenario.run` does."""
    table = Table(dict(header))
    plan = plan_of(header, table)
    return Scenario(table, plan, Rules() if rules is None else rules, rules is None).run(text)
