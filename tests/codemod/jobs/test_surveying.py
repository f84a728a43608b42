"""What a rule learns of the other files of the tree, whichever of them are given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.codemod.conftest import Ran

REAL = "tdev_core.codemod.engine"
QUESTION = "    return torch.cuda.is_available()\n"
FILES = {
    "pkg/__init__.py": "",
    "pkg/asked.py": f"import torch\n\n\ndef is_cuda_available():\n{QUESTION}\n\n"
    f"def has_gpu():\n{QUESTION}\n\ndef gpu_for_others():\n{QUESTION}\n\n"
    f"class CUDAPlatform:\n    def is_available(self):\n    {QUESTION}",
    "pkg/chooses.py": "from .asked import is_cuda_available, is_mps\n\n\ndef device():\n"
    "    if is_cuda_available():\n        return 'cuda'\n    elif is_mps():\n        return 'mps'\n"
    "    return 'cpu'\n",
    "pkg/asks.py": "from .asked import has_gpu\n\nif has_gpu():\n    print('fast')\n",
    "pkg/gives.py": "import torch\n\ntorch.cuda.synchronize()\n",
    "pkg/takes.py": "from .gives import (\n    torch,\n)\n\nprint(torch.zeros(3))\n",
    "pkg/keeps_to_itself.py": "import torch\n\ntorch.cuda.synchronize()\n",
}


@pytest.fixture
def package(place: Path) -> Path:
    for name, text in FILES.items():
        path = place / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return place / "pkg"


def _answers(path: Path) -> list[str]:
    """Return whose answer each function of ``asked.py`` gives."""
    return [
        line.split()[1].split(".")[0]
        for line in path.read_text().splitlines()
        if "is_available()" in line
    ]


@pytest.mark.parametrize("given", ["pkg", "one file"])
@pytest.mark.parametrize("target", ["tdev", "accelerator"])
def test_functions_that_are_the_question(
    package: Path, given: str, target: str, codemod: Callable[..., Ran]
) -> None:
    """Rewriting one file gives what rewriting its tree gives."""
    path = package / "asked.py"
    before = path.read_text()
    where = "pkg" if given == "pkg" else "pkg/asked.py"
    ran = codemod("--target", target, where, engine=REAL)
    assert ran.status in (0, 1)  # with what is left for a person
    moved = "tdev" if target == "tdev" else "torch"
    assert _answers(path) == ["torch", moved, "torch", "torch"]
    if target == "accelerator":
        assert path.read_text() == before.replace(
            f"has_gpu():\n{QUESTION}", f"has_gpu():\n{QUESTION.replace('cuda', 'accelerator')}"
        )
    for said in (
        "is_cuda_available is asked beside other accelerators",
        "gpu_for_others is asked by nothing in the tree",
        "CUDAPlatform.is_available answers for CUDA",
        "has_gpu asks for CUDA",
    ):
        assert said in ran.out + ran.err


@pytest.mark.parametrize("given", ["pkg", "one file"])
def test_torch_stays_where_another_module_imports_it(
    package: Path, given: str, codemod: Callable[..., Ran]
) -> None:
    names = ["pkg"] if given == "pkg" else ["pkg/gives.py", "pkg/keeps_to_itself.py"]
    assert codemod(*names, engine=REAL).status == 0
    assert "import torch\n" in (package / "gives.py").read_text()
    assert "import torch\n" not in (package / "keeps_to_itself.py").read_text()
