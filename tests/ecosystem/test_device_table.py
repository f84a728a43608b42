"""The table of packages that do not know every device: what is in it, and what it refuses."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest

from tdev_core.ecosystem.device_table import TAKES, give_devices, holders, named, parsed

GOOD: dict[str, Any] = {
    "takes": "tensors",
    "devices": ["cuda", "cpu"],
    "source": "PyPI: some 1.0",
    "checked": datetime.date(2026, 11, 26),
}


def test_each_entry_says_what_comes_to_it_and_where_that_was_read() -> None:
    assert len(holders()) >= 40 and list(holders()) == sorted(holders())
    for known in holders().values():
        assert known.source and known.checked >= datetime.date(2026, 11, 26)
        assert set(known.devices) <= {"cuda", "cpu", "mps", "xpu", "npu", "hpu", "xla"}
    assert {known.takes for known in holders().values()} == set(TAKES)


def test_a_package_is_found_by_what_comes_to_it() -> None:
    assert {"dgl", "warp", "nvalchemiops", "torch_sparse"} <= set(named("tensors"))
    assert {"ctranslate2", "xgboost"} <= set(named("name")) and "vllm" in named("program", "name")


def test_only_tensors_of_cuda_and_the_cpu_are_torn_between_these() -> None:
    assert holders()["dgl"].only_cuda_or_cpu and holders()["dgl"].called == "DGL"
    assert not any(holders()[name].only_cuda_or_cpu for name in ("gsplat", "vllm", "xgboost"))
    assert parsed({"some": GOOD})["some"].called == "some"


def test_what_gives_a_device_is_called_by_its_package() -> None:
    gives = {each: known.name for known in holders().values() for each in known.gives}
    assert gives.keys() == give_devices() and "thinc.api.get_torch_default_device" in gives
    assert all(each.partition(".")[0] == name for each, name in gives.items())
    every = [known for known in holders().values() if known.doubles]
    assert all(each.startswith(f"{known.name}.") for known in every for each in known.doubles)
    # Such a package knows what torch has, and is no reason for anything to stay.
    assert {known.takes for known in holders().values() if known.gives} == {"any"}


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({**GOOD, "wat": "x"}, "[some] has an unknown key, wat"),
        ({**GOOD, "devices": []}, "[some] devices = [] is not"),
        ({**GOOD, "devices": "cuda"}, "[some] devices = 'cuda' is not"),
        ({**GOOD, "gives": "some.device"}, "[some] gives = 'some.device' is not"),
        ({**GOOD, "named": "yes"}, "[some] named = 'yes' is not"),
        ({k: v for k, v in GOOD.items() if k != "source"}, "[some] lacks source"),
        ({**GOOD, "takes": "all"}, "[some] takes = 'all'; one of tensors, "),
    ],
)
def test_what_is_not_is_refused_with_its_place(table: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"devices.toml: {said}")):
        parsed({"some": table})
