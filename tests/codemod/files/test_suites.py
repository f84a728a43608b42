"""Tests are told from programs by what stands in them, for a program that evaluates a model is often called a test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tdev_core.codemod.files.suites import is_of_a_suite
from tests.codemod.conftest import Ran

REAL = "tdev_core.codemod.engine"
HARNESS = "import pytest\nimport torch\n\n\ndef test_it():\n    torch.cuda.synchronize()\n"
PLAIN = "import torch\n\n\ndef test_it():\n    torch.cuda.synchronize()\n"
PROGRAM = "import torch\n\n\ndef test_model(model):\n    return model.cuda()\n\n\nif __name__ == '__main__':\n    test_model(3)\n"
# Runs by itself what pytest would collect.
RUNS_ITSELF = "import torch\n\n\ndef test_it():\n    made = torch.device('cuda', 1)\n\n    assert made.index == 1\n\n\nif __name__ == '__main__':\n    test_it()\n"
AS_METHODS = "import torch\n\n\nclass TestOptions:\n    def test_it(self):\n        assert torch.cuda\n\n\nif __name__ == '__main__':\n    Options().test_it()\n"
OF_A_CASE = AS_METHODS.replace(
    "class TestOptions:", "class Options(\n    common.TestCase,\n):"
).replace("TestOptions", "Options")
# Evaluates a model, which it has already.
EVALUATES = (
    "import argparse\n\n\nclass Evaluator:\n    def load(self):\n        self.model = None\n\n    def test_epoch(self):\n"
    "        assert self.model is not None\n        return self.model.cuda()\n\n\nclass TestSet:\n    pass\n\n\n"
    "if __name__ == '__main__':\n    argparse.ArgumentParser().parse_args()\n    Evaluator().test_epoch()\n"
)
# The assertion is that of the function below.
ASSERTS_ELSEWHERE = "def test_all():\n    print(test(3))\n\n\ndef test(model):\n    assert model\n\n\nif __name__ == '__main__':\n    test_all()\n"
HELPER = "import torch\n\n\ndef make():\n    return torch.ones(3, device='cuda')\n"


def _made(place: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)


@pytest.mark.parametrize(
    ("name", "text", "others", "told"),
    [
        ("pkg/test_a.py", HARNESS, {}, True),
        ("pkg/a_test.py", HARNESS, {}, True),
        ("pkg/a.py", HARNESS, {}, False),
        ("pkg/conftest.py", HELPER, {}, True),
        ("test_a.py", PLAIN, {}, True),
        ("test_model.py", PROGRAM, {}, False),
        ("test.py", PLAIN, {}, False),
        ("tests.py", "import unittest\n", {}, True),
        ("test_model.py", "import torch\n\ntorch.cuda.synchronize()\n", {}, False),
        ("tests/helper.py", HELPER, {"tests/test_a.py": PLAIN}, True),
        ("tests/data/helper.py", HELPER, {"tests/unit/test_a.py": HARNESS}, True),
        ("tests/launched.py", PROGRAM, {"tests/test_a.py": PLAIN}, True),
        ("tests/helper.py", HELPER, {"test_a.py": HARNESS}, False),
        ("test/train.py", HELPER, {"test/test_model.py": PROGRAM}, False),
        ("pkg/tests/test_a.py", RUNS_ITSELF, {}, True),
        ("pkg/tests/test_a.py", AS_METHODS, {}, True),
        ("pkg/tests/test_a.py", OF_A_CASE, {}, True),
        ("pkg/tests/test_a.py", f"{EVALUATES}\n{AS_METHODS}", {}, True),
        ("pkg/tests/test_a.py", RUNS_ITSELF.replace("\n", "\r\n"), {}, True),
        ("pkg/tests/test_a.py", AS_METHODS.replace("\n", "\r\n"), {}, True),
        ("pkg/tests/test_seg.py", EVALUATES, {}, False),
        ("pkg/tests/train.py", HELPER, {"pkg/tests/test_seg.py": EVALUATES}, False),
        ("pkg/tests/utils.py", HELPER, {"pkg/tests/test_a.py": RUNS_ITSELF}, True),
        ("pkg/test_a.py", RUNS_ITSELF, {}, False),
        ("pkg/tests/test.py", RUNS_ITSELF, {}, False),
        ("pkg/tests/test_a.py", ASSERTS_ELSEWHERE, {}, False),
        ("pkg/tests/test_model.py", PROGRAM, {}, False),
        ("pkg/testing/close.py", HELPER, {}, False),
        ("pkg/test_utils/scripts/ops.py", PROGRAM, {"pkg/test_utils/cases.py": HARNESS}, True),
        # What another folder of tests holds speaks for that alone, and a project's root ends the search.
        ("test/proj/train.py", HELPER, {"test/proj/tests/test_a.py": HARNESS}, False),
        (
            "test/proj/train.py",
            HELPER,
            {"test/test_a.py": HARNESS, "test/proj/setup.py": ""},
            False,
        ),
        ("test/proj/train.py", HELPER, {"test/test_a.py": HARNESS}, True),
    ],
)
def test_which_files_are_tests(
    place: Path, name: str, text: str, others: dict[str, str], told: bool
) -> None:
    _made(place, {**others, name: text})
    assert is_of_a_suite(place / name, text.encode()) is told


FILES = {
    "setup.py": "",
    "pkg/__init__.py": "",
    "pkg/core.py": "import torch\n\n\ndef count():\n    return torch.cuda.device_count()\n",
    "tests/test_core.py": HARNESS,
    "tests/test_fake.py": "import torch\nfrom pkg.core import count\n\n\ndef test_count(monkeypatch):\n"
    "    monkeypatch.setattr(torch.cuda, 'device_count', lambda: 3)\n    assert count() == 3\n    torch.cuda.synchronize()\n",
}


@pytest.mark.parametrize("style", ["explicit", "alias"])
@pytest.mark.parametrize("asked", ["", "--tests", "tests = true"])
def test_a_projects_tests_stay_unless_asked_for(
    place: Path, codemod: Callable[..., Ran], style: str, asked: str
) -> None:
    _made(place, FILES)
    if asked.endswith("true"):
        (place / "pyproject.toml").write_text(f"[tool.tdev]\n{asked}\n")
    flags = [asked] if asked.startswith("-") else []
    ran = codemod("--force", "--style", style, *flags, ".", engine=REAL)
    core, test, fake = (
        (place / name).read_text()
        for name in ("pkg/core.py", "tests/test_core.py", "tests/test_fake.py")
    )
    assert "tdev" in core
    assert (test == HARNESS) is (asked == "")
    assert ("tests/test_core.py:6:5 test `torch.cuda.synchronize`" in ran.out) is (asked == "")
    assert (fake == FILES["tests/test_fake.py"]) is (asked == "")
    # The second run has nothing to do, and says the same.
    again = codemod("--check", "--style", style, *flags, ".", engine=REAL)
    assert again.status == 0
    assert again.out.splitlines() == [r for r in ran.out.splitlines() if " test `" in r]


def test_the_accelerator_target_rewrites_tests(place: Path, codemod: Callable[..., Ran]) -> None:
    _made(place, FILES)
    codemod("--force", "--target", "accelerator", ".", engine=REAL)
    assert "torch.accelerator.synchronize()" in (place / "tests/test_core.py").read_text()


@pytest.mark.parametrize(
    ("reaches", "kept"),
    [
        (
            "import pkg.core as c\n\n\ndef test_it(mp):\n    mp.setattr(c.torch.cuda, 'device_count', print)\n",
            True,
        ),
        (
            "from pkg import core\n\n\ndef test_it(mp):\n    mp.setattr('pkg.core.torch.cuda.device_count', print)\n",
            True,
        ),
        (
            "NAME = 'pkg.core'\n\n\ndef test_it(mp):\n    mp.setattr(NAME + '.torch.cuda.device_count', print)\n",
            True,
        ),
        (
            "import sys\n\n\ndef test_it(mp):\n    mp.setattr(sys.modules['pkg.core'].torch.cuda, 'device_count', print)\n",
            True,
        ),
        (
            "import torch\n\n\ndef test_it(mp):\n    mp.setattr(torch.cuda, 'device_count', print)\n",
            False,
        ),
        ("def path(name):\n    return f'{name}.torch', name + '.torch'\n", False),
        (
            "from pkg import other\n\n\ndef test_it(mp):\n    mp.setattr(other.torch.cuda, 'device_count', print)\n",
            False,
        ),
    ],
)
def test_a_module_through_which_a_test_reaches_torch_keeps_it(
    place: Path, codemod: Callable[..., Ran], reaches: str, kept: bool
) -> None:
    _made(place, {**FILES, "tests/test_fake.py": reaches})
    codemod("--force", ".", engine=REAL)
    assert ("import torch\n" in (place / "pkg/core.py").read_text()) is kept
    assert (place / "tests/test_fake.py").read_text() == reaches
