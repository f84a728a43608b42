"""Where an import of tdev goes in a project whose settings part torch's imports from those they do not name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdev_core.codemod.cli import main
from tdev_core.codemod.engine import Names, Options, Sections, rewrite
from tdev_core.codemod.files.import_sections import import_sections

ISORT = (
    "sections = FUTURE,STDLIB,THIRDPARTY,deep_learning,mine,FIRSTPARTY,LOCALFOLDER\n"
    "known_deep_learning = torch,torchvision\nknown_mine = lab\ndefault_section = FIRSTPARTY\n"
    "no_lines_before = STDLIB,THIRDPARTY\n"
)
RUFF = (
    '[tool.ruff.lint.isort]\nsection-order = ["future", "standard-library", "deep", "third-party"]\n'
    'sections = { deep = ["torch*"] }\n'
)


@pytest.mark.parametrize(
    ("name", "text", "torch", "tdev"),
    [
        ("setup.cfg", f"[isort]\n{ISORT}", "deeplearning", "firstparty"),
        (".isort.cfg", f"[settings]\n{ISORT}", "deeplearning", "firstparty"),
        ("tox.ini", f"[tool:isort]\n{ISORT}", "deeplearning", "firstparty"),
        ("pyproject.toml", RUFF, "deep", "thirdparty"),
        ("ruff.toml", RUFF.replace("tool.ruff.", ""), "deep", "thirdparty"),
        (
            "pyproject.toml",
            '[tool.isort]\nknown_third_party = ["torch"]\ndefault_section = "FIRSTPARTY"\n',
            "thirdparty",
            "firstparty",
        ),
        # Both in one.
        ("pyproject.toml", '[tool.isort]\nprofile = "black"\n', "", ""),
        ("setup.cfg", "[isort]\nknown_third_party = torch\n", "", ""),
        ("setup.cfg", f"[settings]\n{ISORT}", "", ""),
        (
            "setup.cfg",
            f"[isort]\n{ISORT}known_own = tdev\n".replace("mine,", "own,"),
            "deeplearning",
            "own",
        ),
        ("setup.cfg", f"[isort]\n{ISORT}".replace("deep_learning,", ""), "", ""),
    ],
)
def test_sections_of_a_project(tmp_path: Path, name: str, text: str, torch: str, tdev: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_text(text)
    (tmp_path / "lab").mkdir()
    found = import_sections(tmp_path / "lab")
    assert (found is not None) is bool(torch)
    if found is not None:
        assert (found.of("torch.nn"), found.of("tdev.cuda")) == (torch, tdev)
        assert (found.of("os.path"), found.of(".base"), found.of("__future__")) == (
            "stdlib",
            "localfolder",
            "future",
        )


DEEP = Sections(
    ("future", "stdlib", "thirdparty", "deep", "mine", "firstparty", "localfolder"),
    (("torch", "deep"), ("numpy", "thirdparty"), ("lab", "mine")),
    "firstparty",
    frozenset({"thirdparty"}),
)


@pytest.mark.parametrize(
    ("head", "explicit", "alias"),
    [
        (
            "import os\n\nimport torch\nfrom torch import nn\n\nfrom lab.base import Base\n\nfrom .near import near\n",
            "import os\n\nfrom torch import nn\n\nfrom lab.base import Base\n\nimport tdev\n\nfrom .near import near\n",
            "import os\n\nfrom torch import nn\n\nfrom lab.base import Base\n\nimport tdev as torch\n\nfrom .near import near\n",
        ),
        # The section's own imports are there.
        (
            "import torch\nfrom torch import nn\n\n# of ours\nimport abacus\nimport zebra\n",
            "from torch import nn\n\n# of ours\nimport abacus\nimport tdev\nimport zebra\n",
            "from torch import nn\n\n# of ours\nimport abacus\nimport tdev as torch\nimport zebra\n",
        ),
        (
            "import torch\nfrom torch import nn\n\nimport zebra\n",
            "from torch import nn\n\nimport tdev\nimport zebra\n",
            "from torch import nn\n\nimport tdev as torch\nimport zebra\n",
        ),
        # What a section leaves empty is closed.
        (
            "import os\n\nimport torch\n\nfrom lab import nn\n",
            "import os\n\nfrom lab import nn\n\nimport tdev\n",
            "import os\n\nfrom lab import nn\n\nimport tdev as torch\n",
        ),
        # Where it stood.
        ("import torch\n", "import tdev\n", "import tdev as torch\n"),
        (
            "# of ours\nimport torch\n",
            "# of ours\nimport tdev\n",
            "# of ours\nimport tdev as torch\n",
        ),
        (
            "import os\n\nfrom torch import nn\nfrom torch.cuda import Stream\n",
            "import os\n\nfrom torch import nn\n\nfrom tdev.cuda import Stream\n",
            "import os\n\nfrom torch import nn\n\nfrom tdev.cuda import Stream\n",
        ),
        # Not kept to: beside torch's.
        (
            "from lab import nn\nimport torch\n",
            "from lab import nn\nimport tdev\n",
            "from lab import nn\nimport tdev as torch\n",
        ),
        # In a part of its own.
        (
            "import torch\nfrom torch.cuda import Stream, nvtx\nfrom torch import cuda, nn\n\nimport lab\n",
            "from torch import nn\n\nimport lab\n\nimport tdev\nfrom tdev import cuda\nfrom tdev.cuda import Stream, nvtx\n",
            "import lab\n\nimport tdev as torch\nfrom tdev import cuda, nn\nfrom tdev.cuda import Stream, nvtx\n",
        ),
    ],
)
def test_into_its_own_section(head: str, explicit: str, alias: str) -> None:
    body = "\n\ndef f():\n    torch.cuda.empty_cache()\n    return cuda, nn, Stream\n"
    for style, expected in (("explicit", explicit), ("alias", alias)):
        options = Options(style=style, sections=DEEP)
        result = rewrite(head + body, Names.load(), options, filename="/src/lab/x.py").code
        assert result.partition("\n\ndef")[0] == expected
        assert rewrite(result, Names.load(), options, filename="/src/lab/x.py").code == result


def test_told_of_a_tree(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "setup.cfg").write_text(f"[isort]\n{ISORT}")
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "__init__.py").write_text("")
    path = tmp_path / "lab" / "free.py"
    path.write_text(
        "import torch\nfrom torch import nn\n\nfrom lab import base\n\n\ndef free(x: nn.Module):\n"
        "    torch.cuda.empty_cache()\n    return torch.relu\n"
    )
    main(["--force", str(tmp_path)])
    assert (
        "from torch import nn\n\nfrom lab import base\n\nimport tdev\n\n\ndef" in path.read_text()
    )


def test_beside_what_is_rewritten_on_the_next_line(tmp_path: Path) -> None:
    """What is put in front of a change is no part of that: the import was lost."""
    (tmp_path / ".git").mkdir()
    sections = "FUTURE,STDLIB,TORCH,THIRDPARTY,FIRSTPARTY,LOCALFOLDER"
    (tmp_path / "setup.cfg").write_text(f"[isort]\nknown_torch = torch\nsections = {sections}\n")
    path = tmp_path / "starts.py"
    path.write_text("import torch\ntorch.cuda.synchronize()\nx = torch.zeros(3)\n")
    main(["--force", str(tmp_path)])
    assert path.read_text() == (
        "import torch\n\nimport tdev\ntdev.cuda.synchronize()\nx = torch.zeros(3)\n"
    )


@pytest.mark.parametrize(
    ("order", "parted"),
    [
        (("stdlib", "thirdparty", "deep"), "        import tdev\n\n        import torch\n"),
        (("stdlib", "deep", "thirdparty"), "        import tdev\n        import torch\n"),
    ],
)
def test_imports_inside_a_function(order: tuple[str, ...], parted: str) -> None:
    source = (
        "def seed(number):\n    try:\n        import torch\n\n        torch.randn(number)\n"
        "        torch.cuda.manual_seed(number)\n    except ImportError:\n        pass\n"
    )
    sections = Sections(order, (("torch", "deep"),), "thirdparty", frozenset())
    made = rewrite(source, Names.load(), Options(sections=sections)).code
    assert parted in made
    assert rewrite(made, Names.load(), Options(sections=sections)).code == made
