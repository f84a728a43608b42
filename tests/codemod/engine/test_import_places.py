"""Where ``import tdev`` goes in a file that imports no torch: apart from imports of the file's own package."""

from __future__ import annotations

import pytest

from tdev_core.codemod.engine import Names, Options, rewrite

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
