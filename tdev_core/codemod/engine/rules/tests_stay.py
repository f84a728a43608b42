"""Leaves a project's tests as they are, and lists where they say CUDA; patches of what tdev has of its own follow the code.

A test says what its author means CUDA to be: that a kernel gives what the CPU gives, that a value lies on a device.
Rewritten, it asks something else; run by tdev's plugin for pytest it runs as it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from tdev_core.codemod.engine.api import (
    IMPORT_RULES,
    Finding,
    Result,
    SyntaxError_,
)
from tdev_core.codemod.engine.python.tree import parse
from tdev_core.codemod.engine.rules._make import rule
from tdev_core.codemod.engine.vocabulary import PROSE

TEST = rule(
    "test",
    "Tests, which are left as they are",
    "note",
    """
    What pytest or unittest runs, and what lies in a folder of such files (`tests/`, `pkg/testing/`), is the
    project's word on what CUDA means there: it is left as it is, and each place that names CUDA is listed. The
    tests run on any machine all the same:

        python -m pytest -p tdev.pytest_plugin tests/

    What a test puts into `torch.cuda` or `torch.version` (`monkeypatch.setattr(torch.cuda, "is_available", …)`,
    `mock.patch("pkg.core.torch.cuda.is_available")`) stands in tdev's as well, so that the code under test gets it.
    The one thing that changes are patches of names that tdev has of its own elsewhere, `mock.patch("torch.load")` and
    `"torch.distributed.init_process_group"`: they are tdev's then (see the rule `string-reference`).

    A test that expects CUDA's name to be refused where there is no CUDA (`with raises(RuntimeError): f("cuda")`) has
    to change, since tdev refuses it nowhere: that is a warning of the rule `other-arms`.

    `--tests` (or `tests = true` in `[tool.tdev]`) rewrites tests as all other code, and `--target accelerator`
    always does. A file is a test by what it holds: `test.py` and `test_model.py` without a harness are
    programs, and rewritten; a `test_*.py` in a folder `tests` is one if a test in it takes nothing and asserts, though it runs itself.
    """,
)
_LEFT = "in a test; left as it is (--tests rewrites it)"
_WORD = re.compile(r"cuda:?\d*\Z")
_OF_TORCH = r"(?:torch|th|cuda|amp|dist)\b"
_PATCHES = re.compile(
    # `patch.object(torch.cuda, "load")`, `setattr("pkg.torch.load", …)`, `setitem(sys.modules, "torch.cuda", None)`
    rf"(?:patch(?:\.\w+)?|(?:set|del)(?:attr|item))\([^()]{{0,200}}?\b{_OF_TORCH}"
    rf"|^[ \t]*{_OF_TORCH}(?:\.\w+)+[ \t]*=[^=]",
    re.MULTILINE,
)
_TDEV = re.compile(r"^[ \t]*import[ \t]+tdev(?:[ \t]+as[ \t]+(\w+))?", re.MULTILINE)


def has_to_follow(source: str) -> bool:
    """Tell whether a test may put something in the place of a function of torch's, or expect that CUDA's name is refused."""
    expects = "cuda" in source and ("raises(" in source or "assertRaises" in source)
    return expects or _PATCHES.search(source) is not None


def listed(source: str, result: Result) -> tuple[Finding, ...]:
    """Return a finding for each line of a test that names CUDA, and that ``result`` says nothing of yet.

    Raises :class:`.SyntaxError_` for text that Python does not parse.
    """
    if "cuda" not in PROSE.sub(lambda found: found[0] if found[1] else "", source):
        return ()
    try:
        tree = parse(source.lstrip("\ufeff"))
    except SyntaxError as error:
        raise SyntaxError_(error.msg, error.lineno or 1, error.offset or 1) from None
    rows = source.splitlines()
    tdevs = {found[1] or "tdev" for found in _TDEV.finditer(result.code)}
    said = {f.line for f in result.findings}
    done = {(e.line, e.column) for e in result.edits if e.rule not in IMPORT_RULES}
    found: dict[int, Finding] = {}
    for node in _named(tree, tdevs):
        if node.lineno not in said:
            # Python counts bytes.
            before = rows[node.lineno - 1].encode()[: node.col_offset]
            at = len(before.decode("utf-8", "ignore")) + 1
            if (node.lineno, at) in done:
                continue
            found.setdefault(node.lineno, Finding(TEST.id, node.lineno, at, _LEFT, "note"))
    return tuple(found.values())


def _named(tree: ast.Module, tdevs: Collection[str]) -> Iterator[ast.expr | ast.stmt]:
    """Yield what names CUDA: imports, names of ``torch.cuda``, words for devices, moves and questions; nothing of ``tdevs``."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        match node:
            case ast.Import(names=names) if any(n.name.startswith("torch.cuda") for n in names):
                yield node
            case ast.ImportFrom(module=str(module), names=names):
                if any(f"{module}.{n.name}".startswith("torch.cuda") for n in names):
                    yield node
            case ast.Expr(value=ast.Constant()):
                continue  # a docstring
            case ast.Attribute(attr="cuda" | "is_cuda", value=ast.Name(id=name)) if name in tdevs:
                pass
            case ast.Attribute(attr="cuda" | "is_cuda"):
                yield node
            case ast.Constant(value=str(text)) if _WORD.match(text):
                yield node
        stack.extend(reversed(list(ast.iter_child_nodes(node))))
