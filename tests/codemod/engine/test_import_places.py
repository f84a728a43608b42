"""Where ``import tdev`` goes in a file that imports no torch: apart from imports of the file's own package."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from tdev_core.codemod.engine import Names, Options, Survey, rewrite

MAIN = """

def main(args):
    build(device="cuda" if args.gpu else "cpu")


if __name__ == "__main__":
    main(parse())
"""


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (
            "import os\n\nfrom lab.models import build\n",
            "import os\n\nimport tdev{}\n\nfrom lab.models import build\n",
        ),
        # Nothing keeps them apart here, and another package has its place beside tdev.
        (
            "import os\nfrom lab.models import build\n",
            "import os\nimport tdev{}\nfrom lab.models import build\n",
        ),
        (
            "import os\n\nfrom other.models import build\n",
            "import os\n\nimport tdev{}\nfrom other.models import build\n",
        ),
    ],
)
def test_without_torch(head: str, expected: str) -> None:
    result = rewrite(head + MAIN, Names.load(), Options(), filename="/src/lab/bin/synthesize.py")
    note = '  # noqa: F401 (lets .cuda() and .to("cuda") run anywhere)'
    assert result.code == expected.format(note) + MAIN
    again = rewrite(result.code, Names.load(), Options(), filename="/src/lab/bin/synthesize.py")
    assert again.code == result.code


def test_before_relative_imports() -> None:
    source = 'from .models import build\n\n\ndef fast(device):\n    return device.type == "cuda"\n'
    code = rewrite(source, Names.load(), Options(), filename="/src/lab/choice.py").code
    assert code.startswith("import tdev\n\nfrom .models import build\n\n\ndef fast")


@pytest.mark.parametrize(
    ("other", "stays"),
    [
        ("from .base import *\n", True),
        ("from pkg.base import *\n", True),
        ("from .base import torch\n", True),
        ("from .base import free\n", False),
        ("from .names import *\n", False),
    ],
)
def test_torch_stays_where_another_module_takes_it_from_here(other: str, stays: bool) -> None:
    code = "import torch\n\n\ndef free():\n    torch.cuda.empty_cache()\n"
    seen = Survey()
    seen.see(PurePath("/src/pkg/base.py"), code.encode(), "pkg")
    seen.see(PurePath("/src/pkg/other.py"), other.encode(), "pkg")
    options = Options(tree=seen.tree())
    changed = rewrite(code, Names.load(), options, filename="/src/pkg/base.py").code
    assert "import tdev\n" in changed
    assert ("import torch\n" in changed) is stays


@pytest.mark.parametrize(
    ("use", "other", "stays"),
    [
        ("", "from .base import Base\n", True),
        ("    # with maybe_autocast()\n", "import base\n", True),
        ("    torch.autocast('cpu')\n", "from pkg.base import Base\n", True),
        ("    autocast()\n", "from .base import Base\n", False),
        # Where another module may take it from here, by its name or with all others.
        ("", "from .base import (\n    Base,\n    autocast,\n)\n", False),
        ("", "from pkg.base import *\n", False),
        ("", "from .others import autocast\n", True),
    ],
)
def test_an_import_of_amp_that_nothing_reads_stays(use: str, other: str, stays: bool) -> None:
    code = f"import torch\nfrom torch.cuda.amp import autocast as autocast\n\n\ndef f():\n{use}    return 1\n"
    seen = Survey()
    seen.see(PurePath("/src/pkg/base.py"), code.encode(), "pkg")
    seen.see(PurePath("/src/pkg/other.py"), other.encode(), "pkg")
    changed = rewrite(
        code, Names.load(), Options(tree=seen.tree()), filename="/src/pkg/base.py"
    ).code
    assert ("from torch.cuda.amp import" in changed) is stays
    assert ("tdev" not in changed) is stays


@pytest.mark.parametrize(
    ("other", "note"),
    [
        (
            "x = 1  # pylint: disable=invalid-name\n",
            "noqa: F401 (lets .cuda() run anywhere); pylint: disable=unused-import",
        ),
        (
            "x = 1  # pylint: disable=invalid-name\ny = 1  # noqa\n",
            'noqa: F401 (lets .cuda() and .to("cuda") run anywhere)',
        ),
        ("x = 1\n", 'noqa: F401 (lets .cuda() and .to("cuda") run anywhere)'),
    ],
)
def test_the_note_of_an_import_is_one_for_the_linter_in_use(other: str, note: str) -> None:
    seen = Survey()
    code = "import torch\n\n\ndef f(x):\n    return torch.relu(x.cuda())\n"
    for name, text in (("base", code), ("other", other)):
        seen.see(PurePath(f"/src/pkg/{name}.py"), text.encode(), "pkg")
    options = Options(tree=seen.tree())
    changed = rewrite(code, Names.load(), options, filename="/src/pkg/base.py").code
    assert changed == f"import tdev  # {note}\n{code}"
    assert rewrite(changed, Names.load(), options, filename="/src/pkg/base.py").code == changed


@pytest.mark.parametrize(
    ("mark", "note"),
    [
        ("", 'noqa: F401 (lets .cuda() and .to("cuda") run anywhere)'),
        ("noqa: E402", 'noqa: E402, F401 (lets .cuda() and .to("cuda") run anywhere)'),
        (
            "pylint: disable=wrong-import-position",
            "noqa: F401 (lets .cuda() run anywhere); pylint: disable=wrong-import-position,unused-import",
        ),
        (
            "noqa: E402  # pylint: disable=invalid-name,wrong-import-position",
            "noqa: E402, F401 (lets .cuda() run anywhere); pylint: disable=wrong-import-position,unused-import",
        ),
    ],
)
def test_the_note_of_an_import_below_code_is_one_comment(mark: str, note: str) -> None:
    """For each linter that reads the line beside it, whatever the rest of the tree speaks to."""
    above = "import sys\n\nsys.path.append('lib')\n"
    code = f"{above}import torch{f'  # {mark}' if mark else ''}\n\n\ndef f(x):\n    return torch.relu(x.cuda())\n"
    seen = Survey()
    for name, text in (("base", code), ("other", "y = 1  # noqa\n")):
        seen.see(PurePath(f"/src/pkg/{name}.py"), text.encode(), "pkg")
    changed = rewrite(
        code, Names.load(), Options(tree=seen.tree()), filename="/src/pkg/base.py"
    ).code
    assert changed == code.replace("import torch", f"import tdev  # {note}\nimport torch", 1)
