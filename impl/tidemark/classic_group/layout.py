"""The cells of ClassicGroup's variables in a trace, by its header: from the keys that abstraction.py reads.

Cells come as the layout of ARCHITECTURE.md wants them: fields in name order, sets as masks, unused cells 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from tidemark.classic_group.rebalance import GroupConfig
from tidemark.groups.partitions import NO_GENERATION, TopicPartition
from tidemark.groups.subscription_state import SubscriptionState
from tidemark.trace.cells import CapacityExceeded, Cells

Key = Any
"""Numbers, and tuples of them."""

MODES = {
    ("range",): "eager",
    ("cooperative-sticky",): "cooperative",
    ("cooperative-sticky", "range"): "upgrading",
}
"""A consumer's assignors -> what the specification calls it."""


class Timeouts(NamedTuple):
    """A consumer's session.timeout.ms, and its max.poll.interval.ms, which bounds a rebalance."""

    session_ms: int
    rebalance_ms: int


HASTY, PATIENT, OTHER = Timeouts(6_000, 60_000), Timeouts(45_000, 600_000), Timeouts(10_000, 120_000)
"""Those of the consumers that the specification calls so, and of all others."""
CLIENTS_RANKS = {ms: rank for rank, ms in enumerate((HASTY[0], PATIENT[0], HASTY[1], PATIENT[1]), 1)}
OWN_RANK = 5


class _Masks(dict[Any, int]):
    """Bit masks of what is asked for again and again, each made once."""

    def __init__(self, make: Callable[[Any], int]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, what: Any) -> int:
        found = self[what] = self._make(what)
        return found


class Ranks(dict[int, int]):
    """Milliseconds -> the rank by which the specification knows that time-out: a consumer's, or the coordinator's own.
    0: any other. `own`: whether milliseconds are of the coordinator."""

    def __init__(self, ranks: Mapping[int, int], own: Callable[[int], bool]) -> None:
        super().__init__(ranks)
        self._own = own

    def __missing__(self, milliseconds: int) -> int:
        found = self[milliseconds] = OWN_RANK if self._own(milliseconds) else 0
        return found


class HeaderTable:
    """What abstractions of all groups need of a trace header: first cells, masks, capacities.

    Raises ValueError if the header is not for the specification of `protocol`.
    """

    protocol = "a group"

    def __init__(self, header: Mapping[str, Any]) -> None:
        self.variables: dict[str, Any] = header["variables"]
        constants = header["constants"]
        self.brokers: tuple[str, ...] = tuple(sorted(constants["Brokers"]))
        self.dynamic: tuple[str, ...] = tuple(sorted(constants["Dynamic"]))
        self.static: tuple[str, ...] = tuple(sorted(constants["Static"]))
        self.clients = tuple(sorted([*self.dynamic, *self.static]))
        hasty, patient = constants.get("Hasty", ()), constants.get("Patient", ())
        self.timed = bool(hasty or patient)
        """Whether the specification tells consumers' time-outs apart."""
        self.timeouts = [HASTY if one in hasty else PATIENT if one in patient else OTHER for one in self.clients]
        self.topics: tuple[str, ...] = tuple(sorted(constants["Partitions"]))
        self.partitions = tuple([TopicPartition(topic, 0) for topic in self.topics])
        self.max_member: int = constants["MaxMember"]
        self.max_epoch: int = constants["MaxEpoch"]
        self.max_offset: int = constants["MaxOffset"]
        self.max_appended: int = constants["MaxAppended"]
        self.cells = sum(variable["cells"] for variable in self.variables.values())
        self.nothing: Cells = (-1,) * len(self.topics)
        self.mask: Callable[[Iterable[TopicPartition]], int] = _Masks(
            lambda partitions: sum(1 << self.topics.index(one.topic) for one in partitions)
        ).__getitem__
        """Partitions as a bit mask over the sorted topics."""
        self.topic_mask: Callable[[frozenset[str]], int] = _Masks(
            lambda topics: sum(1 << self.topics.index(topic) for topic in topics)
        ).__getitem__
        """The partitions of topics, likewise."""

    def offset(self, variable: str) -> int:
        """The first cell of a variable."""
        return int(self.variables[variable]["offset"])

    def width(self, variable: str) -> int:
        """How many cells each unit of a variable has: all, if it is not a function of brokers or consumers."""
        entry = self.variables[variable]
        domain = entry["type"].get("domain", ()) if isinstance(entry["type"], dict) else ()
        split = len(domain) if tuple(domain) in (self.brokers, self.clients) else 1
        return int(entry["cells"]) // split

    def offsets(self, offsets: Mapping[TopicPartition, int]) -> Cells:
        """Offsets by topic, -1 none. Raises CapacityExceeded."""
        if not offsets:
            return self.nothing
        cells = tuple([offsets.get(partition, -1) for partition in self.partitions])
        if max(cells) > self.max_offset:
            raise CapacityExceeded("an offset")
        return cells

    def positions(self, subscriptions: SubscriptionState | None) -> Cells:
        """A consumer's positions by topic, -1 where it has none; None: no process runs."""
        if subscriptions is None or not subscriptions.owned:
            return self.nothing
        return tuple([subscriptions.position(partition) for partition in self.partitions])

    def _type(self, variable: str) -> Any:
        if variable not in self.variables:
            raise ValueError(f"the header has no variable {variable}: it is not that of {self.protocol}")
        return self.variables[variable]["type"]

    def _each(self, variable: str) -> Any:
        return self._type(variable)["function"]

    @staticmethod
    def _fields(record: Mapping[str, Any], names: str) -> None:
        if list(record) != names.split():
            raise ValueError(f"a record of the header has the fields {', '.join(record)}, not {names}")


class Table(HeaderTable):
    """What the classic group's abstraction needs beside that: tags and atoms as numbers."""

    protocol = "the classic group"

    def __init__(self, header: Mapping[str, Any]) -> None:
        super().__init__(header)
        constants = header["constants"]
        self.block = next(size for size in (4, 3, 2, 1) if self.max_member % size == 0)
        """So many member ids are looked at together where most of them are nobody's."""
        self.max_generation: int = constants["MaxGeneration"]
        self.epoch_generations: int = constants["EpochGenerations"]
        config, timed = GroupConfig(), self.timed
        own = {config.new_member_join_timeout_ms, *range(1, config.initial_rebalance_delay_ms + 1)}
        self.ranks = Ranks(CLIENTS_RANKS if timed else {}, lambda milliseconds: timed and milliseconds in own)
        """How long a timer was set to, in milliseconds -> by rank."""
        group = self._each("group")["record"]
        self._fields(
            group, "generation initial joinTimer leader members pending pendingSync protocol state syncTimer timers"
        )
        member = group["members"]["function"]["record"]
        self._fields(
            member,
            "assignment awaiting isNew mode owned ownedGeneration present rebalance session static subscription",
        )
        self.states = atoms(group["state"])
        self.protocols: dict[str | None, int] = dict(atoms(group["protocol"]).items())
        self.protocols[None] = self.protocols["none"]
        self.awaiting = atoms(member["awaiting"])
        self.modes = atoms(member["mode"])
        self.no_member: Cells = (0, self.awaiting["nothing"], 0, self.modes["eager"], 0, NO_GENERATION, 0, 0, 0, 0, 0)
        stored = self._type("storedGroup")["record"]
        self._fields(stored, "generation leader members protocol")
        self._fields(
            stored["members"]["function"]["record"],
            "assignment owned ownedGeneration present rebalance session static subscription",
        )
        self.no_stored: Cells = (0, 0, NO_GENERATION, 0, 0, 0, 0, 0)
        consumer = self._each("consumer")["record"]
        self._fields(
            consumer,
            "assigned generation joined leads member missed mode owned ownedGeneration protocol rejoin running "
            "snapshot state subscription",
        )
        self.member_states = atoms(consumer["state"])
        self.entry = Union(self._each("appended")["sequence"])
        self.causes = atoms(self.entry.field("group", "cause"))
        self.slots = {name: Union(self._each(name)) for name in ("memberRpc", "heartbeatRpc", "offsetRpc", "stray")}
        joined = self.slots["memberRpc"]
        self._fields(
            joined.field("joined", "roster")["function"]["record"],
            "owned ownedGeneration present static subscription",
        )
        self.no_metadata: Cells = (0, NO_GENERATION, 0, 0, 0)
        self.roster: int = joined.places["joined", "roster"]
        self.roles = atoms(joined.field("joined", "role"))
        self.errors = atoms(joined.field("failed", "error"))


class Union:
    """A union of records: tags as numbers, and where each field of a tag stands."""

    def __init__(self, kind: Any) -> None:
        self._variants = kind["union"]
        tags = sorted(tag for variant in self._variants for tag in variant["tags"])
        self.tags = {tag: number for number, tag in enumerate(tags)}
        self.places = {(tag, name): place for name, place, having in kind["slots"] for tag in having}

    def field(self, tag: str, name: str) -> Any:
        """The type of a field."""
        return next(variant["fields"][name] for variant in self._variants if tag in variant["tags"])

    def cells(self, width: int, tag: str, **fields: int | Cells) -> Cells:
        """The cells of a record: the tag, and the fields (a number, or several cells) at their places."""
        cells = [0] * width
        cells[0] = self.tags[tag]
        for name, field in fields.items():
            place = self.places[tag, name]
            if isinstance(field, tuple):
                cells[place : place + len(field)] = field
            else:
                cells[place] = field
        return tuple(cells)


def atoms(kind: Any) -> dict[str, int]:
    """A set of names as numbers."""
    return {name: number for number, name in enumerate(kind["atom"])}


class Layout:
    """From keys to cells, for one table."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def group_head(self, key: Key) -> Cells:
        """What stands before the members of a coordinator's group."""
        generation, initial, join_timer, leader = key
        return self._generation(generation), initial, join_timer, leader

    def member(self, key: Key) -> Cells:
        """One member of a coordinator's group; None: it is not there."""
        table = self.table
        if key is None:
            return table.no_member
        assignment, awaiting, is_new, names, owned, owned_generation, rebalance, session, static, subscription = key
        return (
            assignment, table.awaiting[awaiting.value], is_new, table.modes[MODES[names]], owned, owned_generation, 1,
            rebalance, session, static, subscription,
        )  # fmt: skip

    def group_tail(self, key: Key) -> Cells:
        """What stands behind the members."""
        pending, pending_sync, protocol, state, sync_timer, timers = key
        table = self.table
        return pending, pending_sync, table.protocols[protocol], table.states[state.value], sync_timer, *timers

    def epoch(self, key: Key) -> Cells:
        """The epoch in which a coordinator serves."""
        if key > self.table.max_epoch:
            raise CapacityExceeded("epochs")
        return (key,)

    def issued(self, key: Key) -> Cells:
        """How many member ids were issued."""
        if key > self.table.max_member:
            raise CapacityExceeded("member ids")
        return (key,)

    def stored_head(self, key: Key) -> Cells:
        """What stands before the members of a group record; None: no record."""
        return (0, 0) if key is None else (self._generation(key[0]), key[1])

    def stored_member(self, key: Key) -> Cells:
        """One member of a group record; (): it is not there, None: there is no record."""
        if key is None:
            return (0,) * len(self.table.no_stored)
        cells: Cells = key or self.table.no_stored
        return cells

    def stored_tail(self, key: Key) -> Cells:
        """What stands behind the members: the protocol as (name,); None: no record."""
        return (0 if key is None else self.table.protocols[key[0]],)

    def entry_head(self, key: Key) -> Cells:
        """Of what type an entry is, and for a group record the cause; None: no entry."""
        if key is None:
            return 0, 0
        tag, cause = key
        return self.table.entry.tags[tag], 0 if cause is None else self.table.causes[cause.value]

    def entry_tail(self, key: Key) -> Cells:
        """The member, or the offsets, of an entry; None: no entry."""
        none = (0,) * len(self.table.topics)
        if key is None:
            return 0, *none
        member, offsets = key
        return member, *(none if offsets is None else offsets)

    def consumer(self, key: Key) -> Cells:
        """The first part of a consumer."""
        assigned, generation, joined, leads = key
        return assigned, self._generation(generation), joined, leads

    def consumer_member(self, key: Key) -> Cells:
        """The second part."""
        member, missed, names, owned = key
        return member, missed, self.table.modes[MODES[names]], owned

    def consumer_tail(self, key: Key) -> Cells:
        """The third part."""
        owned_generation, protocol, rejoin, running, snapshot, state, subscription = key
        table = self.table
        return (
            owned_generation, table.protocols[protocol], rejoin, running, snapshot, table.member_states[state.value],
            subscription,
        )  # fmt: skip

    def position(self, key: Key) -> Cells:
        """Positions."""
        if max(key) > self.table.max_offset:
            raise CapacityExceeded("a position")
        cells: Cells = key
        return cells

    def member_rpc(self, key: Key) -> Cells:
        """A JoinGroup or SyncGroup, as far as it stands before the roster."""
        return self._member_rpc(key)[: self.table.roster]

    def _member_rpc(self, key: Key) -> Cells:
        table = self.table
        make, width = table.slots["memberRpc"].cells, table.width("memberRpc")
        if key is None:
            return make(width, "idle")
        tag = key[0]
        if tag == "failed":
            return make(width, tag, member=key[1], error=table.errors[key[2]])
        if tag == "joined":
            _, broker, member, generation, protocol, role = key
            return make(
                width, tag, broker=broker, member=member, generation=generation, protocol=table.protocols[protocol],
                role=table.roles[role],
            )  # fmt: skip
        if tag == "synced":
            return make(width, tag, assignment=key[1])
        if tag in ("joining", "syncing"):
            return make(width, tag, broker=key[1], member=key[2])
        return self._request("memberRpc", (*key, 0) if tag == "join" else key)

    def metadata(self, key: Key) -> Cells:
        """One member of a roster; (): it is not there, None: there is no roster."""
        if key is None:
            return (0,) * len(self.table.no_metadata)
        if not key:
            return self.table.no_metadata
        static, owned, owned_generation, subscription = key
        return owned, owned_generation, 1, static, subscription

    def heartbeat_rpc(self, key: Key) -> Cells:
        """A heartbeat."""
        table = self.table
        make, width = table.slots["heartbeatRpc"].cells, table.width("heartbeatRpc")
        if key is None:
            return make(width, "idle")
        broker, told, generation, member = key
        if told is None:
            return make(width, "heartbeat", broker=broker, member=member, generation=generation)
        return make(width, "answered", member=member, generation=generation, error=table.errors[told])

    def offset_rpc(self, key: Key) -> Cells:
        """A commit or a fetch of offsets."""
        table = self.table
        make, width = table.slots["offsetRpc"].cells, table.width("offsetRpc")
        if key is None:
            return make(width, "idle")
        tag = key[0]
        if tag == "fetch":
            return make(width, tag, broker=key[1], current=key[2])
        if tag == "fetched":
            return make(width, tag, error=table.errors[key[1]], offsets=key[2], current=key[3])
        if tag == "committed":
            return make(width, tag, member=key[1], generation=key[2], error=table.errors[key[3]])
        if tag == "committing":
            if key[4] > table.max_appended:
                raise CapacityExceeded("records that wait to commit")
            return make(width, tag, broker=key[1], member=key[2], generation=key[3], remaining=key[4])
        return self._request("offsetRpc", key)

    def stray(self, key: Key) -> Cells:
        """A request for whose reply nobody waits."""
        if key is None:
            return self.table.slots["stray"].cells(self.table.width("stray"), "idle")
        return self._request("stray", key)

    def _request(self, variable: str, key: Key) -> Cells:
        table = self.table
        make, width = table.slots[variable].cells, table.width(variable)
        tag, broker, member = key[:3]
        if tag == "join":
            mode, owned, generation, topics = key[3:]
            return make(
                width, tag, broker=broker, member=member, mode=table.modes[MODES[mode]], owned=owned,
                ownedGeneration=generation, subscription=topics,
            )  # fmt: skip
        if tag == "sync":
            cells = [0] * table.max_member
            for number, given in key[4]:
                cells[self._place(number)] = given
            return make(width, tag, broker=broker, member=member, generation=key[3], assignments=tuple(cells))
        if tag == "commit":
            return make(width, tag, broker=broker, member=member, generation=key[3], offsets=key[4])
        return make(width, tag, broker=broker, member=member)

    def _place(self, number: int) -> int:
        if number > self.table.max_member:
            raise CapacityExceeded("member ids")
        return number - 1

    def _generation(self, generation: int) -> int:
        if generation > self.table.max_generation:
            raise CapacityExceeded("generations")
        return generation
