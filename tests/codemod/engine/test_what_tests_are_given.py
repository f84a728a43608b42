"""What a test is given by fixtures and lists is real where those are; what it asks of CUDA's device, it means of CUDA."""

from __future__ import annotations

import pytest

from tests.codemod.small_trees import migrated

PACKAGE = "import torch\n\n\ndef seeded():\n    torch.cuda.manual_seed_all(0)\n"
SHARED = """import torch

DEVICES = [torch.device("cpu")]
"""
MORE = """import torch
from tests import shared

if torch.cuda.is_available():
    shared.DEVICES.append(torch.device("cuda", index=0))
"""
TEST = """import pytest
import torch

from tests.shared import DEVICES


@pytest.mark.parametrize("place", DEVICES)
def test_filled(place):
    assert torch.ones(3, device=place).sum() == 3
"""


def _tested(test: str = TEST, shared: str = SHARED, more: str = MORE) -> str:
    files = {"shared.py": shared, "more.py": more, "test_filled.py": test}
    files = {f"tests/{name}": text for name, text in files.items()}
    return migrated({"made.py": PACKAGE, **files}, "tests/test_filled.py").code


def test_a_list_of_devices_gives_devices() -> None:
    # The tree's own package is `pkg`.
    test, more = (each.replace("from tests", "from pkg.tests") for each in (TEST, MORE))
    assert _tested(test, more=more) == test


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('torch.device("cuda", index=0)', '"cuda:0"'),
        ("shared.DEVICES.append", "shared.DEVICES.extend"),
        ('shared.DEVICES.append(torch.device("cuda", index=0))', 'shared.DEVICES = ["cuda"]'),
        ('shared.DEVICES.append(torch.device("cuda", index=0))', 'shared.DEVICES += ["cuda"]'),
        ('shared.DEVICES.append(torch.device("cuda", index=0))', 'shared.DEVICES[0] = "cuda"'),
    ],
)
def test_one_into_which_a_word_is_put_is_none(old: str, new: str) -> None:
    test, more = (each.replace("from tests", "from pkg.tests") for each in (TEST, MORE))
    assert "tdev.ones(3, device=place)" in _tested(test, more=more.replace(old, new))


def test_nor_is_one_of_a_longer_name_that_is_set_from_outside() -> None:
    test, more, shared = (
        each.replace("from tests", "from pkg.tests").replace("DEVICES", "TORCH_DEVICES")
        for each in (TEST, MORE, SHARED)
    )
    assert _tested(test, shared, more) == test
    appends = 'shared.TORCH_DEVICES.append(torch.device("cuda", index=0))'
    sets = more.replace(appends, 'shared.TORCH_DEVICES = ["cuda"]')
    assert "tdev.ones(3, device=place)" in _tested(test, shared, sets)


def test_nor_is_one_that_begins_with_a_word() -> None:
    test = TEST.replace("from tests", "from pkg.tests")
    shared = SHARED.replace('torch.device("cpu")', '"cpu", torch.device("cuda")')
    assert "tdev.ones(3, device=place)" in _tested(test, shared)


ASKS = """import torch


def test_grows(model):
    x = torch.rand(3)
    if x.is_cuda:
        x = x * 2
    if model(x).device.type == "cuda":
        return
    assert x.sum() > 0
"""


def test_a_branch_of_a_test_means_cuda() -> None:
    assert _tested(ASKS) == ASKS
    outside = migrated({"made.py": ASKS}).code
    assert "if tdev.is_accelerator(x):" in outside and "tdev.is_accelerator(model" in outside


def test_what_a_test_demands_is_still_answered() -> None:
    demands = ASKS.replace(
        "    if x.is_cuda:\n        x = x * 2\n", "    x = x.cuda()\n    assert x.is_cuda\n"
    )
    assert "assert tdev.answers_cuda(x)" in _tested(demands)


MOVES = """import torch

from pkg.made import seeded


def test_moves():
    seeded()
    assert torch.ones(3).cuda().sum() == 3
"""


# A question that stays: nothing of the module becomes tdev's.
ANSWERS = """import torch


def seeded():
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"
"""


def _moved(test: str = MOVES, package: str = PACKAGE, more: str = "") -> str:
    files = {"made.py": package, "more.py": more, "tests/test_moves.py": test}
    return migrated(files, "tests/test_moves.py").code


def test_shims_come_with_the_module_under_test() -> None:
    assert _moved() == MOVES


@pytest.mark.parametrize(
    ("test", "package", "more"),
    [
        (MOVES.replace("from pkg.made", "from other"), PACKAGE, ""),
        (MOVES, PACKAGE.replace("torch.cuda.manual_seed_all", "torch.manual_seed"), PACKAGE),
        (MOVES.replace("pkg.made", "elsewhere.made"), PACKAGE, ""),
        (MOVES, ANSWERS, ""),
    ],
)
def test_they_are_imported_where_nothing_else_brings_them(
    test: str, package: str, more: str
) -> None:
    assert "import tdev  # noqa: F401" in _moved(test, package, more)


LISTED = """import pytest
import torch

from package import placed


@pytest.mark.parametrize("device", ["cpu", "cuda:3", None])
def test_placed(device):
    expected = torch.device("cpu")
    if device is not None and device.startswith("cuda"):
        if int(device.split(":")[1]) >= torch.cuda.device_count():
            expected = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    assert placed(device) == expected
"""


def test_what_a_listed_word_opens_is_reached_wherever_the_test_runs() -> None:
    code = _tested(LISTED)
    assert 'device.startswith("cuda")' in code
    assert ">= tdev.cuda.device_count()" in code
    assert 'tdev.device("cuda" if tdev.cuda.is_available() else "cpu")' in code


def test_a_device_among_those_listed_is_no_word() -> None:
    code = _tested(LISTED.replace('"cuda:3"', 'torch.device("cuda:3")'))
    assert ">= torch.cuda.device_count()" in code


MOCKS = """from unittest.mock import PropertyMock, patch

import torch

from pkg.made import seeded, settings


def test_moves_where_it_is_told():
    seeded()
    x = torch.ones(3)
    with patch.object(type(x), "device", new_callable=PropertyMock, return_value=torch.device("cuda")):
        assert x.device == torch.device("cuda")


def test_keeps_the_word():
    assert settings(device="cuda")["device"] == "cuda"
"""


def test_what_a_mock_gives_and_what_a_test_asks_of_words_stays() -> None:
    assert _tested(MOCKS) == MOCKS


def test_a_type_is_still_answered() -> None:
    typed = MOCKS.replace('["device"] ==', '["x"].device.type ==')
    assert 'assert tdev.answers_cuda(settings(device="cuda")["x"].device.type)' in _tested(typed)
