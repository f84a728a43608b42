"""What the engine says of a value takes one look at each expression, however they call each other."""

from __future__ import annotations

import pytest

from tdev_core.codemod.engine import Names, Options, rewrite
from tdev_core.codemod.engine.analysis.flow import Flow


def test_functions_that_call_each_other_are_followed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    original = Flow._kinds

    def counted(self: Flow, node: object) -> object:
        nonlocal looks
        looks += 1
        return original(self, node)  # type: ignore[arg-type]

    monkeypatch.setattr(Flow, "_kinds", counted)
    functions = [
        f"def f{n}(c):\n    return f{n + 1}(c) if c else f{n + 1}(not c)\n" for n in range(12)
    ]
    last = 'def f12(c):\n    return "cuda" if c else f0(c)\n'
    source = (
        "import torch\n" + "\n".join([*functions, last]) + "\nx = torch.zeros(1, device=f0(1))\n"
    )
    assert "tdev.zeros" in rewrite(source, Names.load(), Options()).code
    assert looks < 2000
