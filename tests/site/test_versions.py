"""From one torch to another: what came, what went, what changed."""

from __future__ import annotations

import json

import pytest

from tdev_core.site.catalog import Catalog
from tdev_core.site.reading import read
from tdev_core.site.sources import find
from tdev_core.site.versions import RECORDED, difference, pairs


def test_each_pair_is_there_once(catalog: Catalog) -> None:
    found = pairs(catalog.torches)
    count = len(catalog.torches)
    assert len(found) == len(set(found)) == count * (count - 1) // 2 >= 6
    assert found[0] == catalog.torches[-2:]
    assert all(catalog.torches.index(a) < catalog.torches.index(b) for a, b in found)


def test_each_torch_says_when_it_was_recorded(catalog: Catalog) -> None:
    assert set(RECORDED) == set(catalog.torches)


def test_a_long_way_is_its_steps(catalog: Catalog) -> None:
    """What came and stayed, what was there and went; a name that came and went again is neither."""
    whole = difference(catalog, catalog.torches[0], catalog.torches[-1])
    steps = [
        difference(catalog, *pair) for pair in pairs(catalog.torches)[: len(catalog.torches) - 1]
    ]
    came = {member.name for step in steps for member in step.added}
    went = {member.name for step in steps for member in step.removed}
    assert {member.name for member in whole.added} == came - went
    assert {member.name for member in whole.removed} == went - came


def test_what_a_torch_dropped_is_told_alone(catalog: Catalog) -> None:
    """torch 2.13 has no named tensors any more: six of eight parameters stayed what they were."""
    changed = {one.member.name: one for one in difference(catalog, "2.12.0", "2.13.0").changed}
    names = "names: collections.abc.Sequence[str | types.EllipsisType | None] | None"
    assert (changed["torch.randn"].lost, changed["torch.randn"].gained) == ((names,), ())
    later = {one.member.name for one in difference(catalog, "2.13.0", "2.14.0").changed}
    assert "torch.randn" not in later


def test_a_parameter_that_came_is_told_alone(catalog: Catalog) -> None:
    changed = {one.member.name: one for one in difference(catalog, "2.14.0", "2.15.0").changed}
    one = changed["torch.backends.python_native.get_dsl_operations"]
    assert (one.lost, one.gained) == ((), ("lib_symbol: str = 'aten'",))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """A catalog of one function whose signature changed twice."""
    data = json.loads((find().root / "catalog.json").read_text(encoding="utf-8"))
    row = data["members"]["torch.abs"]

    def signature(*names: str) -> list[dict[str, object]]:
        kind = {"kind": "positional_or_keyword", "default": None, "annotation": None}
        return [{"parameters": [{"name": name, **kind} for name in names], "returns": None}]

    row["signatures"] = signature("a", "b", "c")
    row["before"] = {
        "2.15": {"signatures": signature("a", "b")},
        "2.13": {"signatures": signature("a")},
    }
    data["members"] = {"torch.abs": row}
    path = tmp_path_factory.mktemp("small") / "catalog.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return read(path)


@pytest.mark.parametrize(
    ("old", "new", "gained"),
    [
        ("2.11.0", "2.12.0", None),
        ("2.12.0", "2.13.0", ("b",)),
        ("2.13.0", "2.14.0", None),
        ("2.14.0", "2.15.0", ("c",)),
        ("2.11.0", "2.15.0", ("b", "c")),
    ],
)
def test_each_step_is_judged_by_what_was_there(
    small: Catalog, old: str, new: str, gained: tuple[str, ...] | None
) -> None:
    changed = difference(small, old, new).changed
    assert [one.gained for one in changed] == ([] if gained is None else [gained])
