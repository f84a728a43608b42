"""The table of packages for CUDA: what is in it, and what it refuses."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest

from tdev_core.ecosystem.package_table import ANSWERS, of_module, packages, parsed, stand_ins

GOOD: dict[str, Any] = {
    "what": "kernels",
    "install": "some",
    "answer": "none",
    "instead": "torch",
    "source": "PyPI: some 1.0",
    "checked": datetime.date(2026, 11, 23),
}


def test_each_entry_says_what_replaces_it_and_where_that_was_read() -> None:
    assert len(packages()) >= 25 and list(packages()) == sorted(packages())
    for known in packages().values():
        assert known.source and known.checked >= datetime.date(2026, 11, 22)
        assert not known.instead.startswith("use ") and not known.instead.endswith(".")
        assert known.answer != "own" or not known.needs_cuda
    assert set(stand_ins()) >= {"apex", "causal_conv1d", "flash_attn", "pynvml"}
    assert {known.answer for known in packages().values()} == set(ANSWERS)


@pytest.mark.parametrize(
    ("module", "package"),
    [
        ("flash_attn.layers.rotary", "flash_attn"),
        ("numba.cuda.random", "numba.cuda"),
        ("numba", None),
        ("nvidia.dali", "nvidia.dali"),
        ("flash_attn_3", None),
        ("", None),
    ],
)
def test_a_module_is_found_by_its_package(module: str, package: str | None) -> None:
    known = of_module(module)
    assert (known.name if known else None) == package


def test_what_is_whole_is_read() -> None:
    assert parsed({"some": GOOD})["some"].runs_on == "exists for CUDA only"
    beside = parsed({"some": {**GOOD, "beside": "ROCm"}})["some"]
    assert beside.runs_on == "runs beside CUDA on ROCm alone" and beside.needs_cuda


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({**GOOD, "wat": "x"}, "[some] has an unknown key, wat"),
        ({**GOOD, "name": "x"}, "[some] has an unknown key, name"),
        ({**GOOD, "guards": "yes"}, "[some] guards = 'yes' is not"),
        ({**GOOD, "checked": "today"}, "[some] checked = 'today' is not"),
        ({**GOOD, "source": ""}, "[some] source = '' is not"),
        ({k: v for k, v in GOOD.items() if k != "instead"}, "[some] lacks instead"),
        ({**GOOD, "answer": "maybe"}, "[some] answer = 'maybe'; one of stand-in, "),
        ({**GOOD, "answer": "stand-in", "like": "1", "has": "a"}, "[some] lacks lacks"),
        ({**GOOD, "like": "1"}, "[some] is no stand-in and has like"),
    ],
)
def test_what_is_not_is_refused_with_its_place(table: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"packages.toml: {said}")):
        parsed({"some": table})
