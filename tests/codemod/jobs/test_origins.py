"""Where a device comes from, and what a module is there for, by the other files of the tree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.codemod.conftest import Ran

REAL = "tdev_core.codemod.engine"
MADE = "    return torch.zeros(n, device=device)\n"
KERNEL = "import torch\nimport triton\n\n\n@triton.jit\ndef add(x):\n    pass\n"


def _rewritten(place: Path, codemod: Callable[..., Ran], files: dict[str, str]) -> set[str]:
    """Write a tree, run over it, and return the files that name tdev then."""
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    codemod("--force", ".", engine=REAL)
    return {name for name in files if "tdev" in (place / name).read_text()}


@pytest.mark.parametrize(
    ("call", "other", "told"),
    [
        ("make(3, x.device)", "", True),
        ("make(3, device=next(model.parameters()).device)", "x = 1", True),
        ("make(3, x.device)", "from .makes import make as made  # its device", False),
        ("make(3, x.device)", "made = {'device': 'make'}", False),
        ("make(3, args.device)", "", False),
        ("make(3, 'cuda')", "", False),
        ("make(3, exp.device)", "", False),
        ("make(3)", "", False),
        ("list(map(make, x))", "", False),
        ("make(*x)", "", False),
    ],
)
def test_a_function_that_every_caller_tells_a_tensors_device(
    place: Path, codemod: Callable[..., Ran], call: str, other: str, told: bool
) -> None:
    """As its own file shows, where no other one speaks of it; who may tell it what a person typed is enough."""
    files = {
        "pkg/__init__.py": "",
        "pkg/makes.py": f"import torch\n\n\ndef make(n, device):\n{MADE}\n\ndef f(x):\n    return make(3, x.device)\n"
        f"\n\ndef g(x, model, args, exp):\n    return {call}\n",
        "pkg/other.py": f"{other}\n",
    }
    assert ("pkg/makes.py" in _rewritten(place, codemod, files)) is not told


@pytest.mark.parametrize("kernels", [3, 1])
def test_a_package_of_kernels_is_left_whole(
    place: Path, codemod: Callable[..., Ran], kernels: int
) -> None:
    """What lies among kernels is there for them; a package with one kernel among others is no such package."""
    files = {"pkg/__init__.py": "", "pkg/fast/__init__.py": ""}
    for number in range(4):
        helper = f"import torch\n\n\ndef at{number}():\n    return torch.cuda.current_device()\n"
        files[f"pkg/fast/m{number}.py"] = KERNEL if number < kernels else helper
    files["pkg/plain.py"] = "import torch\n\ntorch.cuda.synchronize()\n"
    files["pkg/other.py"] = files["pkg/third.py"] = files["pkg/plain.py"]
    changed = _rewritten(place, codemod, files)
    assert "pkg/plain.py" in changed
    assert ("pkg/fast/m3.py" in changed) is (kernels == 1)


def test_a_constant_of_another_module_is_a_device(place: Path, codemod: Callable[..., Ran]) -> None:
    """Where each module that has such a name makes a device of it."""
    uses = "import torch\nfrom .settings import {0}\n\n\ndef f():\n    return torch.zeros(3, device={0})\n"
    files = {
        "pkg/__init__.py": "",
        "pkg/settings.py": 'import torch\n\nDEVICE = torch.device("cuda")\nDEVICE_NAME = "cuda"\n',
        "pkg/uses.py": uses.format("DEVICE"),
        "pkg/by_name.py": uses.format("DEVICE_NAME"),
    }
    assert _rewritten(place, codemod, files) == {"pkg/settings.py", "pkg/by_name.py"}


def test_a_base_class_says_that_its_device_is_a_string(
    place: Path, codemod: Callable[..., Ran]
) -> None:
    """However far away it is; of other classes nothing is said."""
    made = "    def f(self):\n        return torch.zeros(3, device=self._device)\n"
    files = {
        "pkg/__init__.py": "",
        "pkg/base.py": "class Base:\n    _device: str\n",
        "pkg/middle.py": "from .base import Base\n\n\nclass Middle(Base):\n    device_of = 1\n",
        "pkg/impl.py": f"import torch\nfrom .middle import Middle\n\n\nclass Impl(Middle):\n{made}",
        "pkg/other.py": f"import torch\n\n\nclass Other(torch.nn.Module):\n{made}",
    }
    assert _rewritten(place, codemod, files) == {"pkg/impl.py"}


def test_the_gpus_class_beside_that_of_mps(place: Path, codemod: Callable[..., Ran]) -> None:
    text = "import torch\n\n\ndef at():\n    return torch.cuda.current_device()\n"
    names = ("pkg/device_gpu.py", "pkg/device_mps.py", "pkg/loads_gpu.py")
    files = {"pkg/__init__.py": "", **dict.fromkeys(names, text)}
    assert _rewritten(place, codemod, files) == {"pkg/device_mps.py", "pkg/loads_gpu.py"}


def test_modules_of_no_package_are_those_beside(place: Path, codemod: Callable[..., Ran]) -> None:
    """A script that imports its neighbour needs what that needs; a package of the same name elsewhere does not."""
    asks = "import torch\n\ntorch.cuda.synchronize()\n"
    files = {
        "serve/model.py": f"from runs_trt import Runner\n{asks}",
        "serve/runs_trt.py": "import tensorrt\n",
        "other/runs_trt.py": "x = 1\n",
        "other/model.py": f"from runs_trt import x\n{asks}",
        "lib/model/__init__.py": "",
        "lib/model/utils.py": asks,
        "lib/model/uses.py": f"import model.utils\n{asks}",
    }
    assert _rewritten(place, codemod, files) == {
        "other/model.py",
        "lib/model/utils.py",
        "lib/model/uses.py",
    }
