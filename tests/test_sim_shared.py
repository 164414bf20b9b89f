"""The parts that simulated runs of all protocols share."""

from __future__ import annotations

from copy import deepcopy

import pytest
from tidemark.simulator.shared import Prepared, Profile, weight_table
from tidemark.simulator.worlds import Mix


def test_equal_arguments_are_prepared_for_once_and_the_oldest_are_forgotten() -> None:
    made: list[tuple[object, ...]] = []
    prepared = Prepared(lambda *arguments, rules=None: made.append((*arguments, rules)) or len(made))
    header = {"constants": {"MaxLog": 3}}

    assert prepared(header, 50) == 1
    assert prepared(deepcopy(header), 50) == 1  # as every Spark task has it
    assert prepared(header, 51) == 2
    assert prepared(header, 50) == 1
    for steps in range(Prepared.MOST):
        prepared({}, steps)
    assert prepared(header, 51) == len(made) == 3 + Prepared.MOST
    assert prepared(header, rules="none") == prepared(deepcopy(header), rules="none") == len(made)
    assert made[-1] == (header, "none")
    assert prepared(header, rules="others") == len(made) == 5 + Prepared.MOST


def test_a_mix_takes_its_profiles_in_turns_and_refuses_unknown_names() -> None:
    calm, storm = Profile("calm", {"fetch": 3, "crash": 1}), Profile("storm", {"crash": 1})
    mix = Mix("both", {"calm": calm, "storm": storm}, {"both": ("calm", "storm")})

    assert [mix.for_seed(seed)[0] for seed in range(3)] == [calm, storm, calm]
    assert mix.for_seed(0)[1].count("fetch") == 192
    assert set(mix.for_seed(1)[1]) == {"crash"}
    with pytest.raises(ValueError, match="there is no profile quiet"):
        Mix("quiet", {"calm": calm}, {})


def test_what_is_named_is_tried() -> None:
    """A weight may be so small that of 256 words none is left for it."""
    weights = {"fetch": 140, "produce": 110, "crash": 2}
    assert set(weight_table(weights)) == set(weights)
    assert len(weight_table(weights)) == 256
    with pytest.raises(ValueError, match="crash has the weight 1 of 386, and would never be tried"):
        weight_table({"work": 344, "crash": 1, "strand": 41})
