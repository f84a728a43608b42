"""Questions for CUDA that are asked by a name alone, whose value the tree does not show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

import pytest

from tdev_core.codemod.engine import Names, Options, Survey, rewrite
from tests.codemod.small_trees import migrated

SKIPS = """import torch
from torch import device
from torch.cuda import current_device
from unittest import SkipTest, skipIf

from .helpers import SKIP_CUDA_TESTS


def test_move():
    if SKIP_CUDA_TESTS:
        raise SkipTest("not compiled with CUDA support")
    layer = torch.nn.Linear(3, 4).cuda()
    assert layer.weight.device == device("cuda", current_device())


@skipIf(SKIP_CUDA_TESTS, "not compiled with CUDA support")
def test_run():
    assert torch.ones(3, device="cuda").sum() == 3


def test_of_the_cpu():
    assert torch.ones(3).device == device("cpu")
"""


def test_a_flag_of_a_helper_that_the_tree_lacks() -> None:
    result = migrated({"test_move.py": SKIPS}, "test_move.py")
    assert result.code == SKIPS
    assert {each.message for each in result.findings} >= {
        "only CUDA gets past SKIP_CUDA_TESTS; left as it is"
    }


def test_the_values_that_such_a_test_is_given() -> None:
    code = """import torch
from pytest import mark, skip
from torch import device

from .helpers import SKIP_CUDA_TESTS


@mark.parametrize("place", [device("cpu"), device("cuda")])
def test_run(place):
    if SKIP_CUDA_TESTS:
        skip("no CUDA")
    assert torch.ones(3, device=place).sum() == 3
"""
    assert migrated({"test_run.py": code}, "test_run.py").code == code


@pytest.mark.parametrize("defines", [True, False])
def test_a_decorator_that_the_tree_lacks(defines: bool) -> None:
    code = """import torch

from .helpers import requires_cuda


@requires_cuda
def test_run():
    assert torch.ones(3, device="cuda").sum() == 3


def test_all(run, device: str):
    assert run(torch.ones(3, device=device)) == 3
"""
    helper = 'import torch\nfrom unittest import skipIf\nrequires_cuda = skipIf(not torch.cuda.is_available(), "")\n'
    files = {"test_run.py": code} | ({"helpers.py": helper} if defines else {})
    changed = migrated(files, "test_run.py").code
    assert ('torch.ones(3, device="cuda")' in changed) is not defines
    assert "tdev.ones(3, device=device)" in changed


@pytest.mark.parametrize(
    "helper",
    [
        "import torch\nSKIP_CUDA_TESTS = not torch.cuda.is_available()\n",
        "import torch\nSLOW, SKIP_CUDA_TESTS = False, not torch.cuda.is_available()\n",
        "from torch.cuda import is_available as SKIP_CUDA_TESTS\n",
        'import os\nSKIP_CUDA_TESTS = os.getenv("SKIP_CUDA_TESTS")\n',
    ],
)
def test_a_flag_of_a_module_of_the_tree(helper: str) -> None:
    """However it gets its value: that may be made of what tdev answers."""
    code = migrated({"helpers.py": helper, "test_move.py": SKIPS}, "test_move.py").code
    assert 'tdev.ones(3, device="cuda")' in code


@pytest.mark.parametrize(
    ("value", "stays"),
    [
        ('os.getenv("TEST_CUDA")', True),
        ('os.environ.get("TEST_CUDA", "0") == "1"', True),
        ('os.getenv("TEST_CUDA", torch.cuda.is_available())', False),
        ('os.getenv("TEST_CUDA", has_one())', False),
    ],
)
def test_a_flag_that_the_environment_sets(value: str, stays: bool) -> None:
    code = f"""import os

import pytest
import torch

TEST_CUDA = {value}


def test_run():
    if not TEST_CUDA:
        pytest.skip("asked for")
    assert torch.ones(3, device="cuda").sum() == 3
"""
    changed = migrated({"tests/test_run.py": code}, "tests/test_run.py").code
    assert ('torch.ones(3, device="cuda")' in changed) is stays


@pytest.mark.parametrize(
    "other",
    [
        "from torch.cuda import is_available as has_cuda",
        "has_cuda = probe()",
        "has_cuda, n = probe(), 3",
        "def has_cuda(): return probe()",
    ],
)
def test_a_name_that_the_file_binds_too(other: str) -> None:
    code = f"""import torch

try:
    from foreign import has_cuda
except ImportError:
    {other}


def run():
    if has_cuda:
        return torch.ones(3, device="cuda")
    return torch.ones(3)
"""
    assert 'tdev.ones(3, device="cuda")' in migrated({"made.py": code}).code


def test_a_test_whose_helper_is_not_read() -> None:
    """Of a run over one file: what lies beside it is no less of the tree."""
    seen = Survey(staying=False)
    seen.see(PurePath("/src/test_move.py"), SKIPS.encode(), "test_move")
    options = Options(tree=replace(seen.tree(), near=frozenset({"helpers", "test_move"})))
    code = rewrite(SKIPS, Names.load(), options, filename="/src/test_move.py").code
    assert 'tdev.ones(3, device="cuda")' in code


def test_what_an_extension_of_the_project_answers() -> None:
    code = """import torch
from pkg.compiled import cuda


class Tile:
    def cuda(self, device=None):
        if not cuda.is_compiled():
            raise RuntimeError("not compiled with CUDA support")
        device = torch.device("cuda", torch.cuda.current_device())
        self.weight = self.weight.to(device)
        return self


def place(tile, name: str):
    return tile.to(torch.device(name))
"""
    changed = migrated({"made.py": code}).code
    assert '        device = torch.device("cuda", torch.cuda.current_device())' in changed
    assert "tdev.device(name)" in changed


GIVEN = """import torch

from .helpers import Case, over_devices


@over_devices
class TestLayer(Case):
    def test_run(self):
        layer = torch.nn.Linear(3, 4)
        x = torch.ones(3, device="cuda" if self.use_cuda else "cpu")
        if self.use_cuda:
            layer = layer.cuda()
        assert layer(x).shape == (4,)
"""


@pytest.mark.parametrize(
    ("helper", "sets"),
    [
        ("x = 1\n", False),
        ('CASES = [{"use_cuda": False, "name": "CPU"}, {"use_cuda": True}]\n', False),
        (
            "class Case:\n    def setUp(self):\n        self.use_cuda = torch.cuda.is_available()\n",
            True,
        ),
        (
            "class Case:\n    def setUp(self):\n        self.use_cuda, self.n = torch.cuda.is_available(), 3\n",
            True,
        ),
        (
            "class Case:\n    def setUp(self):\n        for kind, value in dict(use_cuda=torch.cuda.is_available()).items():\n"
            "            setattr(self, kind, value)\n",
            True,
        ),
        ('GIVEN = ["use_cuda"], [[torch.cuda.is_available()]]\n', True),
    ],
)
def test_a_parameter_of_tests(helper: str, sets: bool) -> None:
    """Whoever skips the rows of CUDA where it is not, asks torch or an extension for that."""
    files = {"tests/test_layer.py": GIVEN, "tests/helpers.py": f"import torch\n\n\n{helper}"}
    code = migrated(files, "tests/test_layer.py").code
    assert (code == GIVEN) is not sets


@pytest.mark.parametrize("has_own", [True, False])
def test_an_object_of_a_class_that_has_the_property(has_own: bool) -> None:
    """``x.backward(d).cpu()`` is called of a tensor, and of a class that wraps some."""
    asks = """def run(tile, d):
    if tile.is_cuda:
        d = d.cuda()
    return tile.backward(d).cpu()


def put(x, d):
    if x.is_cuda:
        d = d.cuda()
    return x.view(-1) + d
"""
    wraps = """class Tile:
    @property
    def is_cuda(self):
        return self.weight.is_cuda
"""
    code = migrated({"made.py": asks, "tile.py": wraps if has_own else "x = 1\n"}).code
    assert ("if tile.is_cuda:" in code) is has_own
    assert "if tdev.is_accelerator(x):" in code


@pytest.mark.parametrize(("word", "stays"), [("GPU", True), ("CPU", False)])
def test_what_a_function_calls_cudas_type(word: str, stays: bool) -> None:
    """MPS has a word of its own there, so that what the other opens is CUDA's."""
    source = (
        "import torch\n\n\nclass Backend:\n    def kind(self, x):\n"
        '        return x.device.type.replace("cuda", "gpu").upper()\n\n'
        f'    def time(self, run, x):\n        if self.kind(x) == "{word}":\n'
        "            torch.cuda.synchronize()\n        return run(x)\n"
    )
    code = migrated({"made.py": source}, "made.py").code
    assert ("tdev.cuda.synchronize()" not in code) is stays
