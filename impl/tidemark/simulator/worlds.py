"""The profiles of a simulator's runs by their names, swarm worlds among them.

A swarm world is a profile that is drawn from a number: its kinds of events, their weights, and every chance. So events
that no profile combines meet in some world, and an event that is rare everywhere is common in one. A world's name makes
it again, wherever a profile's name is taken:

    swarm:17                  the world number 17
    swarm:17.3                that world changed a little, by the draw 3
    swarm:17@5#40/23          a beginning: the run of seed 5 in world 17 up to record 40, or to its healing. World 23
                              goes on from there, with the seed of the run itself
    swarm:17@5#40/23@8#61/17  beginnings may follow each other
    swarm:17@5#40~9/23        that beginning changed near its end, by the draw 9: an event more, or some of a kind fewer
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from random import Random
from typing import Any, Generic, TypeVar

from tidemark.simulator.shared import ANY, PLACES, Profile, weight_table

SWARM = "swarm:"
ANY_WORLD = "swarm:0"
"""Some world: for a simulator that enters others later."""
SHARES: Mapping[str, Sequence[Any]] = {
    "length": (1, 1, 1, 2, 3),
    "pace": (1, 1, 1, 3, 10),
    "silent": (0, 0, 0, 1, 2),
    "turns": (0, 0, 0, 10, 20, 40),
    "alone": (False, False, True),
}
"""The values of a world's fields that are not drawn from those of profiles, in equal shares."""
LATER: Mapping[str, Sequence[Any]] = {
    "disconnects": (0, 0, 0, 8, 32, 128),
}
"""The values of fields that profiles got later, in equal shares. Each has dice of its own, and 0 leaves a run as it
was. So the worlds that earlier hunts named are the same but for this field."""
NOT_DRAWN = frozenset({"name", "weights", "leanings", "drawn", "prelude", *LATER})
"""Fields that are not drawn with a world's chances: weights, leanings and later fields have their own draws, and
nothing is scripted."""
PARTS = 256
"""The sum of a world's weights."""

RARE = 0.125
"""By so much a kind that all profiles have is rarer in one world of three."""

_WORLD = re.compile(r"\d{1,18}(\.\d{1,18})?")
_BEGINNING = re.compile(r"(\d{1,18}(?:\.\d{1,18})?)@(\d{1,18})#(\d{1,9})(?:~(\d{1,18}))?")

P = TypeVar("P", bound=Profile)


CHANGED = 40
"""A beginning is changed in its last so many records."""
EDITS = (1, 1, 2, 3)
"""The parts of a change, in equal shares."""
SPANS = (1, 3, 10, CHANGED)
"""For so many records events of a kind are left out, in equal shares."""
EVERYWHERE = 1, 0
WHERE = (EVERYWHERE, EVERYWHERE, (2, 0), (2, 1), (3, 0), (3, 1), (3, 2))
"""Where events are left out, in equal shares: everywhere, or at one place of two or of three."""
NEVER = (0, 0, EVERYWHERE)


@dataclass(frozen=True, slots=True)
class Beginning:
    """The beginning of a run: that of a seed in a world, up to a number of records. `change`: the draw that changes its
    end."""

    world: str
    seed: int
    records: int
    change: str | None = None


class Change:
    """A change near the end of a beginning, of one to three parts. Each is one event more, or leaves out the events of
    a kind from some record on, for some records, everywhere or at one place. The other events happen as before, as far
    as they can.

    `draw` decides it; `records`: where the beginning ends; `kinds`: the kinds of events that there are; `frequent`:
    those of the beginning's world, as often as they come; `width`: bits of an event's word.
    """

    def __init__(self, draw: str, records: int, kinds: Sequence[str], frequent: Sequence[str], width: int) -> None:
        dice = Random(f"change {draw}")
        self._added: list[tuple[int, str, int]] = []
        self._fewer: dict[str, tuple[int, int, tuple[int, int]]] = {}
        for _ in range(dice.choice(EDITS)):
            first = records - dice.randrange(CHANGED)
            if dice.randrange(2):
                self._added.append((first, dice.choice(dice.choice((kinds, frequent))), dice.getrandbits(width)))
            else:
                self._fewer[dice.choice(frequent)] = (first, first + dice.choice(SPANS), dice.choice(WHERE))
        self._added.sort(reverse=True)

    def more(self, records: int) -> tuple[str, int] | None:
        """The kind and the word of the event that now comes besides, once so many records are there."""
        if not self._added or records < self._added[-1][0]:
            return None
        _, kind, word = self._added.pop()
        return kind, word

    def leaves_out(self, kind: str, word: int, records: int) -> bool:
        """Whether an event of this kind and word is left out after so many records."""
        first, last, (count, place) = self._fewer.get(kind, NEVER)
        return first <= records < last and word % count == place


def is_world(name: str) -> bool:
    """Whether a profile's name is that of a swarm world."""
    return name.startswith(SWARM)


def parts_of(name: str) -> tuple[list[Beginning], str]:
    """The beginnings of a world's name, and the world that goes on. Raises ValueError for a name of another form."""
    *before, last = name.removeprefix(SWARM).split("/")
    found = [_BEGINNING.fullmatch(one) for one in before]
    if not is_world(name) or not _WORLD.fullmatch(last) or None in found:
        raise ValueError(f"{name} names no swarm world; one is named swarm:17, swarm:17.3 or swarm:17@5#40/23")
    return [Beginning(one[1], int(one[2]), int(one[3]), one[4]) for one in found if one is not None], last


def drawn(world: str, profiles: Mapping[str, P]) -> P:
    """The profile of a world, of the same class as these and with no other kinds of events."""
    number, _, change = world.partition(".")
    dice = Random(f"world {number}")
    known: list[P] = [one for one in profiles.values() if one.drawn]
    calm = set.intersection(*[set(one.weights) for one in known])
    seen = _weights(known)
    density = dice.choice((2, 4, 6, 8))
    weights: dict[str, float] = {}
    for kind, several in seen.items():
        there, often = dice.random(), dice.choice(several) * (2.0 ** dice.uniform(-1, 1))
        if kind not in calm:
            often *= _factor(dice)
        elif not dice.randrange(3):
            often *= RARE
        if there * 32 < (31 if kind in calm else 4 * density - 4):
            weights[kind] = often
    chances = {one: _chance(dice, one, known) for one in _chances(known[0])}
    later = {one: Random(f"{one} {number}").choice(several) for one, several in LATER.items() if hasattr(known[0], one)}
    weights.update(_later_kinds(number, seen, profiles.values()))
    if change:
        dice = Random(f"world {world}")
        for _ in range(dice.choice((1, 1, 2, 3))):
            if chances and not dice.randrange(4):
                one = dice.choice(sorted(chances))
                chances[one] = _chance(dice, one, known)
                continue
            kind = dice.choice(list(seen))
            if kind in weights and not dice.randrange(3):
                del weights[kind]
            else:
                weights[kind] = weights.get(kind, float(dice.choice(seen[kind]))) * _factor(dice)
    return type(known[0])(
        SWARM + world,
        _of_parts(weights or dict.fromkeys(seen, 1.0)),
        leanings=_leanings(number, list(seen)),
        **chances,
        **later,
    )


def _weights(profiles: Iterable[Profile]) -> dict[str, list[int]]:
    """The weights that these profiles have, by kind of event."""
    seen: dict[str, list[int]] = {}
    for profile in profiles:
        for kind, weight in profile.weights.items():
            seen.setdefault(kind, []).append(weight)
    return seen


def _later_kinds(number: str, earlier: Container[str], profiles: Iterable[Profile]) -> dict[str, float]:
    """Weights of the kinds that came with later profiles, in one world of three. Each has dice of its own, so that the
    other worlds are as they were before it came."""
    found: dict[str, float] = {}
    for kind, several in _weights(one for one in profiles if not one.drawn).items():
        if kind in earlier:
            continue
        dice = Random(f"{kind} {number}")
        if not dice.randrange(3):
            found[kind] = dice.choice(several) * float(2.0 ** dice.uniform(-1, 1))
    return found


def _leanings(number: str, kinds: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The leanings of a world: in every second none; else of every second kind, or of every fourth. Such events happen
    at one place, or at two, or half of them at one."""
    dice = Random(f"leanings {number}")
    of = dice.choice((0, 0, 1, 2))
    return {kind: _places(dice) for kind in kinds if dice.randrange(4) < of}


def _places(dice: Random) -> tuple[int, ...]:
    """The places of events that lean."""
    first = dice.randrange(PLACES)
    return dice.choice(((first,), (first, dice.randrange(PLACES)), (first, ANY)))


def _factor(dice: Random) -> float:
    """Of the weight of a kind that not all profiles have: from a half to two times; of one in eight eight times that,
    so that rare kinds prevail in some world."""
    return float(2.0 ** dice.uniform(-1, 1)) * (1 if dice.randrange(8) else 8)


def _chances(profile: Profile) -> list[str]:
    """The fields of a profile that a world draws."""
    return [one.name for one in fields(profile) if one.name not in NOT_DRAWN]


def _chance(dice: Random, name: str, known: Sequence[Profile]) -> Any:
    """A field's value: that of some profile, or for a number of 256 any, small ones more often; of choices in equal
    shares some."""
    if name in SHARES:
        return dice.choice(SHARES[name])
    value = getattr(dice.choice(known), name)
    if isinstance(value, int) and not isinstance(value, bool) and dice.randrange(2):
        return int(2.0 ** dice.uniform(0, 8)) - 1
    if isinstance(value, tuple) and dice.randrange(2):
        return tuple([dice.choice(value) for _ in value])
    return value


def _of_parts(weights: Mapping[str, float]) -> dict[str, int]:
    """Whole weights whose sum is near PARTS: each is tried now and then."""
    total = sum(weights.values())
    return {kind: max(2, round(weight * PARTS / total)) for kind, weight in weights.items()}


class Mix(Generic[P]):
    """The profiles that a simulator's runs take in turns. Raises ValueError for a name that is in neither table, and
    that names no world.

    `profiles`: by name; `mixes`: names of several profiles under one. `beginnings`: those of a world's name, each with
    its profile and its 256 kinds of events. `every_kind`: the kinds of events of these profiles, later ones
    aside.
    """

    def __init__(self, name: str, profiles: Mapping[str, P], mixes: Mapping[str, Sequence[str]]) -> None:
        self.beginnings: list[tuple[Beginning, P, list[str]]] = []
        self._known, self._mixes = profiles, mixes
        if is_world(name):
            before, last = parts_of(name)
            for one in before:
                profile = drawn(one.world, profiles)
                self.beginnings.append((one, profile, weight_table(profile.weights)))
            self.profiles = [drawn(last, profiles)]
        elif name in profiles or name in mixes:
            self.profiles = [profiles[one] for one in mixes.get(name, (name,))]
        else:
            raise ValueError(f"there is no profile {name}; the profiles are {', '.join([*profiles, *mixes])}")
        self.kinds = {profile.name: weight_table(profile.weights) for profile in self.profiles}
        self.every_kind = sorted({kind for one in profiles.values() if one.drawn for kind in one.weights})

    def named(self, name: str) -> Mix[P]:
        """The mix of another name, of the same profiles."""
        return Mix(name, self._known, self._mixes)

    def for_seed(self, seed: int) -> tuple[P, list[str]]:
        """The profile of a seed, and its 256 kinds of events."""
        profile = self.profiles[seed % len(self.profiles)]
        return profile, self.kinds[profile.name]
