"""Names of torch objects in strings: mock targets, ``getattr``, quoted annotations."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules._make import rule
from tdev_core.codemod.engine.tree import dotted, string_value

STRINGS = rule(
    "string-reference",
    "Names in strings",
    "note",
    """
    Strings are touched in three places only, where a string is a reference:

    - the target of a patch: `mock.patch("torch.cuda.is_available")` becomes
      `mock.patch("tdev.cuda.is_available")` (also `patch`, `mocker.patch`, `patch.dict`,
      `monkeypatch.setattr` and `monkeypatch.delattr`), since that is what the migrated code
      calls; a target in another module (`"pkg.mod.torch.cuda.is_available"`) is reported;
    - `getattr(torch, "cuda")`, `hasattr` and `setattr`: the object changes, not the string;
    - quoted annotations: `def f(s: "torch.cuda.Stream")`.

    Every other string is prose, a path or a payload and is left alone.
    """,
)

_PATCHERS = re.compile(
    r"((unittest\.)?mock\.|mocker\.|self\.mocker\.)?patch(\.dict|\.multiple)?\Z"
    r"|monkeypatch\.(setattr|delattr)\Z|mock_patch\Z"
)
_TARGET = re.compile(r"torch\.cuda(\.\w+)*\Z")


def strings(file: File) -> None:
    for node in file.tree.of(cst.Call):
        name = dotted(node.func)
        if name is None or not node.args or file.kept(node):
            continue
        if _PATCHERS.match(name):
            _patch(file, node.args[0].value)
        elif name in ("getattr", "hasattr", "setattr") and len(node.args) >= 2:
            _getattr(file, node)
    for annotation in file.tree.of(cst.Annotation):
        for literal in _literals(annotation.annotation):
            if not file.kept(literal):
                _annotation(file, literal)


def _patch(file: File, target: cst.BaseExpression) -> None:
    text = string_value(target)
    if text is None or not isinstance(target, cst.SimpleString):
        return
    if _TARGET.match(text):
        start = file.tree.span(target)[0] + len(target.prefix) + len(target.quote)
        if file.options.style == "accelerator":
            generic = file.names.accelerator.get(text)
            if generic is None:
                file.find(STRINGS, target, f"{text} is patched; it has no generic name")
            else:
                file.replace(STRINGS, start, start + len(text), generic.name)
        else:
            file.replace(STRINGS, start, start + len("torch"), "tdev")
    elif ".torch.cuda." in text:
        file.find(STRINGS, target, f"patches {text} in another module; check what it imports")


def _getattr(file: File, node: cst.Call) -> None:
    found = file.resolver.reference(node.args[0].value)
    text = string_value(node.args[1].value)
    if found is None or text is None or found.name != "torch" or found.package != "torch":
        return
    if f"torch.{text}" in file.names.routed or text == "cuda":
        if file.options.style == "accelerator":
            file.find(STRINGS, node, f"torch.{text} by name; it has no generic spelling")
        else:
            file.use(STRINGS, found)


def _literals(node: cst.CSTNode) -> list[cst.SimpleString]:
    from tdev_core.codemod.engine.tree import children

    if isinstance(node, cst.SimpleString):
        return [node]
    if isinstance(node, cst.Subscript):
        name = dotted(node.value) or ""
        if name.split(".")[-1] in ("Literal", "Annotated"):
            return []
    return [s for child in children(node) for s in _literals(child)]


def _annotation(file: File, literal: cst.SimpleString) -> None:
    if file.options.style != "explicit" or "cuda" not in literal.value:
        return
    for found in re.finditer(r"(?<![\w.])(\w+)((?:\.\w+)+)", literal.raw_value):
        imported = file.resolver.imported(file.scopes.of(literal), found[1])
        if imported is None or imported[0] != "torch" or not found[2].startswith(".cuda."):
            continue
        start = file.tree.span(literal)[0] + len(literal.prefix) + len(literal.quote)
        start += found.start(1)
        file._want(imported[1])
        file.replace(STRINGS, start, start + len(found[1]), file.tdev)
