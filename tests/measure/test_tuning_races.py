"""Which of two ways is said to be faster, and what a search makes of many: on steps whose seconds are made up."""

from __future__ import annotations

import math
import random
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from tdev_core.measure.tuning.racing import Failed, Race, Sample, Way, races
from tdev_core.measure.tuning.searching import Outcome, search


class Made:
    """A program whose settings have the effects that are given, on a machine that is as noisy and as unsteady as asked."""

    def __init__(
        self,
        effects: Mapping[str, float],
        noise: float = 0.02,
        seed: int = 0,
        losses: Mapping[str, float] | None = None,
    ) -> None:
        self.effects, self.noise, self.losses = effects, noise, losses or {}
        self.random = random.Random(seed)
        self.same: dict[str, str] = {}
        self.taken = 0

    def steps(self, wanted: Mapping[str, str], count: int) -> list[Sample]:
        found = []
        for _ in range(count):
            self.taken += 1
            seconds = 0.02 * (
                2 + math.sin(self.taken / 200)
            )  # the machine grows slow, and quick again
            for name, value in wanted.items():
                effect = self.effects[f"{name}={value}"]
                if effect == 0:
                    raise Failed("it cannot")
                seconds *= effect
            found.append(Sample(seconds * self.random.lognormvariate(0, self.noise), 1.0))
        return found

    def made_of(self, wanted: Mapping[str, str]) -> str:
        return self.same.get(str(wanted), str(wanted).replace(" ", ""))

    def anew(self, wanted: Mapping[str, str], count: int) -> Sequence[float]:
        harm = sum(self.losses.get(f"{name}={value}", 0.0) for name, value in wanted.items())
        return [2.0 - step / 100 + harm for step in range(count)]


def raced(effect: float, noise: float = 0.02, seed: int = 0) -> Race:
    made = Made({"a=1": effect}, noise, seed)
    return race(lambda n: made.steps({}, n), lambda n: made.steps({"a": "1"}, n))


def race(first: Way, other: Way) -> Race:
    return races({"first": first, "other": other}, [("first", "other")]).race("first", "other")


@pytest.mark.parametrize(
    ("effect", "verdict"),
    [(0.5, "helps"), (0.93, "helps"), (1.0, "equal"), (1.2, "hurts"), (2.0, "hurts")],
)
def test_a_verdict_is_right_on_a_noisy_machine(effect: float, verdict: str) -> None:
    verdicts = [raced(effect, noise=0.04, seed=seed).verdict for seed in range(50)]
    wrong = {"helps": "hurts", "hurts": "helps", "equal": "helps"}[verdict]
    assert verdicts.count(verdict) >= 40 and verdicts.count(wrong) <= 1, verdicts


def test_what_makes_no_difference_is_seldom_said_to_help_however_noisy() -> None:
    for noise in (0.0, 0.02, 0.1, 0.3):
        verdicts = [raced(1.0, noise, seed).verdict for seed in range(100)]
        assert verdicts.count("helps") <= 4, (noise, verdicts.count("helps"))


def test_a_quiet_machine_is_believed_sooner_than_a_noisy_one() -> None:
    for effect in (0.9, 1.0):
        quiet = [len(raced(effect, noise=0.01, seed=seed).ratios) for seed in range(20)]
        noisy = [len(raced(effect, noise=0.08, seed=seed).ratios) for seed in range(20)]
        assert statistics.median(quiet) <= 5 < statistics.median(noisy), (effect, quiet, noisy)


def test_what_costs_a_little_is_never_said_to_help() -> None:
    assert "helps" not in {raced(1.07, noise=0.04, seed=seed).verdict for seed in range(50)}


def test_what_is_clear_takes_fewer_blocks() -> None:
    assert len(raced(0.5).ratios) < len(raced(0.97, noise=0.1).ratios)


def test_a_race_reads_no_more_from_its_ratios_than_they_hold() -> None:
    assert Race([0.9, 1.1]).verdict == "equal"
    assert math.isnan(Race().ratio) and Race().verdict == "equal"
    found = Race([1.0 + share / 100 for share in range(25)])
    low, high = found.interval
    assert low < found.ratio < high and low > min(found.ratios) and high < max(found.ratios)


def test_what_fails_is_a_failure_and_what_fails_as_it_is_an_error() -> None:
    assert raced(0.0).verdict == "fails" and raced(0.0).failure == "it cannot"
    made = Made({"a=1": 0.0})
    with pytest.raises(Failed):
        race(lambda n: made.steps({"a": "1"}, n), lambda n: made.steps({}, n))


def test_several_ways_share_the_blocks_of_the_first() -> None:
    effects = {"a=1": 0.5, "a=2": 0.96, "a=3": 1.1, "a=4": 0.0}
    made = Made(effects, noise=0.04)
    taken: Counter[str] = Counter()

    def way(value: str) -> Way:
        def steps(count: int) -> list[Sample]:
            taken[value] += count
            return made.steps({"a": value} if value else {}, count)

        return steps

    values = ("1", "2", "3", "4")
    heat = races({value: way(value) for value in ("", *values)}, [("", value) for value in values])
    found = {value: heat.race("", value) for value in values}
    verdicts = [one.verdict for one in found.values()]
    assert (
        verdicts[0] == "helps"
        and verdicts[2:] == ["hurts", "fails"]
        and found["4"].failure == "it cannot"
    )
    assert len(found["1"].ratios) < len(found["2"].ratios), "what is decided waits for nobody"
    assert heat.race("2", "1").verdict == "helps", "ways that took turns can be compared"
    assert taken[""] < taken["1"] + taken["2"]


def test_what_has_not_helped_so_far_is_given_up() -> None:
    hopeless = [len(raced(1.02, noise=0.05, seed=seed).ratios) for seed in range(30)]
    promising = [len(raced(0.97, noise=0.05, seed=seed).ratios) for seed in range(30)]
    assert 2 * statistics.median(hopeless) <= statistics.median(promising)


def test_what_saves_four_in_a_hundred_is_seldom_given_up() -> None:
    verdicts = [raced(0.96, noise=0.03, seed=seed).verdict for seed in range(100)]
    assert verdicts.count("helps") >= 90, verdicts.count("helps")


def test_what_plainly_loses_is_given_up_at_once_where_others_tell_how_far_ratios_scatter() -> None:
    blocks: Counter[int] = Counter()
    for seed in range(20):
        made = Made({"a=1": 1.6, "a=2": 1.0, "a=3": 1.02, "a=4": 0.7}, noise=0.02, seed=seed)
        values = ("1", "2", "3", "4")
        ways: dict[str, Way] = {"": lambda n, made=made: made.steps({}, n)}
        ways |= {
            value: lambda n, made=made, value=value: made.steps({"a": value}, n) for value in values
        }
        heat = races(ways, [("", value) for value in values])
        found = heat.race("", "1")
        assert found.verdict == "hurts" and heat.race("", "4").verdict == "helps"
        blocks[len(found.ratios)] += 1
        assert len(heat.race("", "4").ratios) >= 4, "what helps has to show it longer"
    assert blocks[2] >= 15, blocks


def test_two_outliers_do_not_give_up_what_helps() -> None:
    found = Race([1.5, 0.8], spread=0.02, weighed=8)
    assert not found.decided
    assert Race([1.5, 1.6], spread=0.02, weighed=8).decided
    assert not Race([1.5, 1.6], spread=0.02, weighed=2).decided, (
        "two tell little of how far they scatter"
    )


def test_a_loss_that_is_none_is_a_failure() -> None:
    made = Made({})
    found = race(
        lambda n: made.steps({}, n),
        lambda n: [Sample(one.seconds / 2, math.inf) for one in made.steps({}, n)],
    )
    assert found.verdict == "fails" and "not a number" in found.failure


OFFERS = {
    "optimizer": ("fused", "foreach"),
    "threads": ("4", "2"),
    "autocast": ("bfloat16",),
    "compile": ("inductor",),
}
EFFECTS = {
    "optimizer=fused": 0.7, "optimizer=foreach": 0.8, "threads=4": 1.3, "threads=2": 1.0,
    "autocast=bfloat16": 0.6, "compile=inductor": 0.0,
}  # fmt: skip


def found_in(made: Made, **more: float) -> Outcome:
    return search(made, OFFERS, **more)


def test_what_helps_is_joined_and_all_is_told() -> None:
    found = found_in(Made(EFFECTS))
    assert found.settings == {"autocast": "bfloat16", "optimizer": "fused"}
    assert found.together is not None and found.together.ratio == pytest.approx(0.42, rel=0.05)
    verdicts = {
        f"{one.name}={one.value}": one.race.verdict for one in found.trials if not one.beside
    }
    assert verdicts == {
        "optimizer=fused": "helps", "optimizer=foreach": "helps", "threads=4": "hurts",
        "threads=2": "equal", "autocast=bfloat16": "helps", "compile=inductor": "fails",
    }  # fmt: skip


def test_of_values_that_are_equally_fast_the_first_is_taken() -> None:
    same = {**EFFECTS, "optimizer=foreach": 0.7}
    answers = {found_in(Made(same, seed=seed)).settings["optimizer"] for seed in range(10)}
    assert answers == {"fused"}


def test_what_leaves_a_step_the_same_is_not_raced_and_said_to_be() -> None:
    made = Made(EFFECTS)
    made.same = {
        "{'optimizer': 'fused'}": "{}",
        "{'autocast': 'bfloat16'}": "{'optimizer':'foreach'}",
    }
    found = found_in(made)
    assert found.same == {
        "optimizer = fused": "", "autocast = bfloat16": "optimizer = foreach",
    }  # fmt: skip
    assert {(one.name, one.value) for one in found.trials}.isdisjoint(
        {("optimizer", "fused"), ("autocast", "bfloat16")}
    )
    assert found.settings == {"optimizer": "foreach"}


def test_what_only_adds_to_a_step_is_not_raced_and_said_to() -> None:
    made = Made(EFFECTS)
    made.same = {
        "{}": "own a*2 b*1", "{'optimizer': 'fused'}": "fused a*2 b*1 c*1", "{'autocast': 'bfloat16'}": "cast a*1 b*1 c*9",
    }  # fmt: skip
    found = found_in(made)
    assert found.more == ["optimizer = fused"] and found.same == {}
    assert found.settings == {"autocast": "bfloat16", "optimizer": "foreach"}


def test_threads_are_raced_whatever_a_step_is_made_of() -> None:
    made = Made(EFFECTS)
    made.same = {"{'threads': '4'}": "{}", "{'threads': '2'}": "{}"}
    assert found_in(made).same == {}


def test_a_value_that_is_behind_another_one_is_raced_no_further() -> None:
    effects = {**EFFECTS, "optimizer=fused": 0.7, "optimizer=foreach": 0.96}
    found = [found_in(Made(effects, noise=0.05, seed=seed)) for seed in range(10)]
    assert all(one.settings["optimizer"] == "fused" for one in found)
    behind = [one for one in found if one.behind == {"optimizer = foreach": "optimizer = fused"}]
    assert len(behind) >= 5
    alone = [len(raced(0.96, 0.05, seed).ratios) for seed in range(10)]
    together = [
        len(each.race.ratios) for one in behind for each in one.trials if each.value == "foreach"
    ]
    assert statistics.median(together) < statistics.median(alone)


def test_a_single_winner_is_not_raced_twice() -> None:
    found = found_in(Made({**dict.fromkeys(EFFECTS, 1.0), "optimizer=fused": 0.8}))
    (trial,) = (one for one in found.trials if one.race.verdict == "helps")
    assert found.settings == {"optimizer": "fused"} and found.together is trial.race


class Quarrels(Made):
    """Two settings of which each helps alone, and none beside the other."""

    def steps(self, wanted: Mapping[str, str], count: int) -> list[Sample]:
        found = super().steps(wanted, count)
        both = {"autocast", "optimizer"} <= set(wanted)
        return [Sample(one.seconds * 2, one.loss) for one in found] if both else found


def test_what_helps_alone_and_not_beside_the_others_is_left() -> None:
    assert found_in(Quarrels(EFFECTS)).settings == {"autocast": "bfloat16"}


def test_where_nothing_helps_nothing_is_found() -> None:
    found = found_in(Made(dict.fromkeys(EFFECTS, 1.0)))
    assert found.settings == {} and found.together is None and found.losses == []


def test_what_harms_the_loss_is_given_up() -> None:
    found = found_in(Made(EFFECTS, losses={"autocast=bfloat16": 0.5}))
    assert found.settings == {"optimizer": "fused"} and found.dropped == ["autocast = bfloat16"]
    assert [one.agree for one in found.losses] == [False, True]


def test_a_loss_that_becomes_infinite_is_harm() -> None:
    found = found_in(Made(EFFECTS, losses={"autocast=bfloat16": math.inf}))
    assert found.settings == {"optimizer": "fused"}


def test_what_there_is_no_time_for_is_said() -> None:
    times = iter(range(1000))
    made = Made({**EFFECTS, "workers=1": 0.5, "workers=2": 0.5})
    offers = {**OFFERS, "workers": ("1", "2")}
    found = search(made, offers, seconds=8, now=lambda: next(times))
    assert found.skipped and not {one.name for one in found.trials} >= set(offers)
