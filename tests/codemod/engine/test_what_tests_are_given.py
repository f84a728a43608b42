"""What a test is given by fixtures is real where no test has a word; what it asks of CUDA's device, it means of CUDA."""

from __future__ import annotations

import pytest

from tests.codemod.small_trees import migrated

PACKAGE = "import torch\n\n\ndef seeded():\n    torch.cuda.manual_seed_all(0)\n"
SHARED = """import pytest
import torch

DEVICES = [torch.device("cpu")]
if torch.cuda.is_available():
    DEVICES.append(torch.device("cuda"))


@pytest.fixture(params=DEVICES)
def place(request):
    return request.param
"""
TEST = """import torch


def filled(value, place):
    return torch.full((3,), value, device=place)


def test_filled(place):
    assert filled(1.0, place).sum() == torch.ones(3, device=place).sum()
"""


def _tested(test: str = TEST, shared: str = SHARED) -> str:
    files = {"tests/conftest.py": shared, "made.py": PACKAGE, "tests/test_filled.py": test}
    return migrated(files, "tests/test_filled.py").code


def test_a_fixture_without_words_gives_devices() -> None:
    assert _tested() == TEST


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('torch.device("cuda")', '"cuda"'),
        ("request.param", 'request.config.getoption("--device")'),
        ("request.param", 'os.environ["TEST_DEVICE"]'),
    ],
)
def test_one_that_may_give_a_word_is_asked(old: str, new: str) -> None:
    assert "tdev.ones(3, device=place)" in _tested(shared=SHARED.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def test_filled", '@pytest.mark.parametrize("place", ["cpu", "cuda"])\ndef test_filled'),
        ("def test_filled(place)", "def test_filled(place: str)"),
    ],
)
def test_a_word_of_the_test_itself_is_one(old: str, new: str) -> None:
    assert "tdev.ones(3, device=place)" in _tested(TEST.replace(old, new))


def test_where_nobody_has_read_the_other_tests_it_may_be_a_word() -> None:
    helper = 'PLACES = ["cpu", "cuda"]\n'
    files = {"tests/places.py": helper, "made.py": PACKAGE, "tests/test_filled.py": TEST}
    assert "tdev.ones(3, device=place)" in migrated(files, "tests/test_filled.py").code


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


def test_shims_come_with_the_package_under_test() -> None:
    assert _tested(MOVES) == MOVES


@pytest.mark.parametrize(
    ("test", "package"),
    [
        (MOVES.replace("from pkg.made import seeded", "from other import seeded"), PACKAGE),
        (MOVES, PACKAGE.replace("torch.cuda.manual_seed_all", "torch.manual_seed")),
    ],
)
def test_they_are_imported_where_nothing_else_brings_them(test: str, package: str) -> None:
    files = {"made.py": package, "tests/test_moves.py": test}
    assert "import tdev  # noqa: F401" in migrated(files, "tests/test_moves.py").code
