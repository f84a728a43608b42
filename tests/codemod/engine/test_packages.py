"""The table of packages for CUDA: each entry says where its present state was read."""

from __future__ import annotations

import pytest

from tdev_core.codemod.engine import Names, Options, rewrite
from tdev_core.codemod.engine.rules.packages import CHECKED, PACKAGES


@pytest.mark.parametrize("name", PACKAGES)
def test_every_entry_has_a_source(name: str) -> None:
    assert PACKAGES[name].source and len(CHECKED) == len("2026-11-22")


@pytest.mark.parametrize("name", PACKAGES)
def test_an_import_says_what_it_runs_on(name: str) -> None:
    """In a function, so that the file as a whole goes on; the function does where it can do without."""
    calls = "torch.cuda.synchronize()"
    source = f"import torch\n\n\ndef f():\n    import {name}\n    {calls}\n\n\n{calls}\n"
    result = rewrite(source, Names.load(), Options())
    [said] = [f.message for f in result.findings if f.rule == "cuda-only-import"]
    assert (
        said.startswith(f"{name} (") and (PACKAGES[name].beside or "exists for CUDA only") in said
    )
    assert result.code.count("tdev.cuda.synchronize()") == 2 - PACKAGES[name].needs_cuda


@pytest.mark.parametrize("name", PACKAGES)
def test_a_file_stays_where_it_cannot_be_imported_without(name: str) -> None:
    source = f"import torch\nimport {name}\n\ntorch.cuda.synchronize()\n"
    result = rewrite(source, Names.load(), Options())
    assert bool(result.edits) != PACKAGES[name].needs_cuda
    assert bool(rewrite(source, Names.load(), Options(all=True)).edits)
