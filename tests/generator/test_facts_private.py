"""Private modules are known by their text: which, what is in them, and that the short way to read it is right."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from generator.facts import Facts
from generator.facts.library import Library
from generator.facts.model import Private
from generator.facts.outlines import outline, read_outline
from generator.facts.private import chosen
from generator.facts.scopes import read_scope

NASTY = '''
"""def documented(): pass"""
import os, a.b.c as abc
from typing import TYPE_CHECKING  # class Commented: pass
from .near import (
    thing as thing,
)
if TYPE_CHECKING:
    from far import Ghost
    def checked(
        x: int,
    ) -> int:
        inside = 1
        return x
else:
    missing = 1
if os.sys.platform:
    pass
import sys
if sys.platform.startswith("java"):
    import java
text = """
class InText:
    pass
"""; after = 'it is # no comment'
TABLE: dict = {"class A": 1, 'def': """'"""}
TABLE["key"] = 2
vars()["made"] = 3
async def waits():
# a comment that stands further left
    hidden = """
def hidden_too(): pass
"""
    return hidden
@decorated(
    "def"
)
class Kept(
    object,
):
    attribute = 1

    class Inner: pass
joined = f"{waits}/\\
lines"
last = 1
'''


def test_an_outline_binds_what_the_whole_text_binds(tmp_path: Path) -> None:
    path = tmp_path / "nasty.py"
    path.write_text(NASTY, encoding="utf-8")
    found = read_outline("pkg.nasty", str(path), False)
    assert found == read_scope("pkg.nasty", ast.parse(NASTY).body, False, stub=False)
    assert found is not None
    assert found.names == {
        *("os", "abc", "TYPE_CHECKING", "thing", "Ghost", "checked", "sys", "text", "after"),
        *("TABLE", "waits", "Kept", "joined", "last"),
    }
    assert found.imports >= {"a", "a.b", "a.b.c", "pkg.near", "pkg.near.thing", "far"}
    assert "inside" not in outline(NASTY) and "attribute" not in outline(NASTY)


def test_a_text_that_has_no_outline_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "odd.py"
    text = "def f(x=\\\n1): return x\nvalue = 1\n"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SyntaxError):
        ast.parse(outline(text))
    found = read_outline("odd", str(path), False)
    assert found is not None and found.names == {"f", "value"}
    path.write_text("class\n", encoding="utf-8")
    assert read_outline("odd", str(path), False) is None
    assert read_outline("odd", str(tmp_path / "nowhere.py"), False) is None


def test_outlines_of_torchs_files_say_what_the_files_say() -> None:
    """Of every twentieth private module; none of them has to be read whole."""
    library = Library()
    for module in chosen(library)[::20]:
        path, is_package = library.file(module)
        text = Path(path).read_text(encoding="utf-8")
        ast.parse(outline(text))
        whole = read_scope(module, ast.parse(text).body, is_package, path.endswith(".pyi"))
        assert read_outline(module, path, is_package) == whole, module


@pytest.fixture(scope="module")
def private(facts: Facts) -> dict[str, Private]:
    return {module.name: module for module in facts.private}


def test_private_modules_are_those_near_a_public_package(private: dict[str, Private]) -> None:
    assert {
        *("torch._C", "torch._C._distributed_c10d", "torch._dynamo.config", "torch._ops"),
        *("torch._inductor.config", "torch.utils._pytree", "torch._subclasses.fake_tensor"),
        *("torch.testing._internal", "torch.testing._internal.common_utils"),
        "torch.distributed.algorithms._checkpoint.checkpoint_wrapper",
    } <= private.keys()
    assert not [name for name in private if name.count("._") == 0]
    # One name behind the first private one, and no more; none in a package that cannot be imported.
    assert "torch._inductor.codegen" in private and "torch._inductor.codegen.cpp" not in private
    assert "torch.utils.tensorboard._utils" not in private
    assert private["torch._inductor"].is_package and not private["torch._ops"].is_package


def test_what_is_in_private_modules_is_what_a_checker_finds(private: dict[str, Private]) -> None:
    assert {"tree_map", "TreeSpec", "_register_pytree_node"} <= set(
        private["torch.utils._pytree"].visible
    )
    assert "__all__" not in private["torch.utils._pytree"].visible
    assert "_get_tracing_state" in private["torch._C"].visible
    # `vars()[name] = …` binds no name that a checker knows, `vars` least of all.
    assert "vars" not in private["torch._numpy._dtypes"].visible


def test_a_private_module_is_reached_where_torch_itself_imports_it(
    private: dict[str, Private],
) -> None:
    assert private["torch.utils._pytree"].reached and private["torch._dynamo"].reached
    assert not private["torch.testing._internal.common_utils"].reached
    assert not private["torch.distributed._tensor"].reached
