"""What the codemod says of each package for CUDA, and what it leaves alone because of one."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from tdev_core.codemod.engine import Names, Options, Survey, may_concern, rewrite
from tdev_core.ecosystem.package_table import packages


@pytest.mark.parametrize("name", packages())
def test_an_import_says_what_it_runs_on_and_what_to_use(name: str) -> None:
    """In a function, so that the file as a whole goes on; the function does where it can do without."""
    known = packages()[name]
    calls = "torch.cuda.synchronize()"
    source = f"import torch\n\n\ndef f():\n    import {name}\n    {calls}\n\n\n{calls}\n"
    result = rewrite(source, Names.load(), Options())
    if known.answer == "stand-in":
        assert [f.rule for f in result.findings] == ["stand-in"]
        assert f"    from tdev.standins import {name}\n" in result.code
        assert result.code.count("tdev.cuda.synchronize()") == 2
        result = rewrite(source, Names.load(), Options(style="accelerator"))
    else:
        assert result.code.count("tdev.cuda.synchronize()") == 2 - known.needs_cuda
    [said] = [f.message for f in result.findings if f.rule == "cuda-only-import"]
    assert said == f"{name} ({known.what}) {known.runs_on}; use {known.instead}"
    assert may_concern(f"import {name}\n".encode()) and may_concern(
        f"from {name} import a\n".encode()
    )


@pytest.mark.parametrize("name", packages())
def test_a_file_stays_where_it_cannot_be_imported_without(name: str) -> None:
    source = f"import torch\nimport {name}\n\ntorch.cuda.synchronize()\n"
    answered = packages()[name].answer == "stand-in"
    result = rewrite(source, Names.load(), Options())
    assert bool(result.edits) == (answered or not packages()[name].needs_cuda)
    generic = rewrite(source, Names.load(), Options(style="accelerator"))
    assert not packages()[name].needs_cuda or not generic.edits
    assert bool(rewrite(source, Names.load(), Options(all=True)).edits)


@pytest.mark.parametrize("name", [known.name for known in packages().values() if known.guards])
def test_a_test_for_it_stays_one_for_cuda(name: str) -> None:
    source = (
        f"import torch\n\n\ndef f(x):\n    if torch.cuda.is_available():\n        import {name} as it\n\n"
        "        return it.run(x)\n    return x\n"
    )
    assert not rewrite(source, Names.load(), Options()).edits


@pytest.mark.parametrize(
    "test",
    [
        'sys.modules["apex"] = Mock()',
        'with patch.dict("sys.modules", {"apex": Mock()}):\n    pass',
        'monkeypatch.setitem(sys.modules, "apex", Mock())',
    ],
)
def test_an_import_stays_of_what_a_test_puts_in_the_place_of_a_package(test: str) -> None:
    source = "def closure():\n    from apex import amp\n\n    return amp.scale_loss\n"
    seen = Survey(staying=False)
    seen.see(PurePath("/src/tests/test_it.py"), f"import sys\n\n{test}\n".encode(), "tests")
    options = Options(tree=seen.tree())
    assert "tdev" not in rewrite(source, Names.load(), options).code
    assert "from tdev.standins.apex import amp" in rewrite(source, Names.load(), Options()).code
