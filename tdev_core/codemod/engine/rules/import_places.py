"""Finds where an import of tdev is put, and what the imports of a file bring in."""

from __future__ import annotations

import ast
import re
from pathlib import PurePath

import libcst as cst

from tdev_core.codemod.engine.analysis.bindings import Binding, Scope
from tdev_core.codemod.engine.analysis.nodes import dotted
from tdev_core.codemod.engine.file import File, is_docstring
from tdev_core.codemod.engine.rules._make import rule
from tdev_core.codemod.engine.rules.import_order import (
    STDLIB,
    among,
    ends_its_section,
    place,
    put,
    set_apart,
)
from tdev_core.codemod.engine.rules.moves import MOVES, NOTE_FOR_PYLINT

IMPORT = rule(
    "import",
    "Imports",
    None,
    """
    Explicit style: `import tdev` is added on the line before the import of torch whose
    references changed, in the same block (a function, a `try`, an `if TYPE_CHECKING`), so that
    tdev is there exactly where torch is, or below a `try` that ends by saying that torch is missing; in a run of sorted imports, it and those that become tdev's
    stand where isort or ruff has them; where the project's settings have torch in a section by name, in the
    section that they give to what they do not name. If the word `torch` stands nowhere else in the
    file, in no string either (an `eval`, a doctest) and in no magic or broken cell of a notebook, the
    import itself becomes `import tdev`. In a notebook the import goes beside each cell's own import
    of torch, since cells are run in any order. Imports of something inside torch are re-pointed when
    a rule needs it: `import torch.cuda as tc` becomes `import tdev.cuda as tc`, `from
    torch.cuda import Stream as S` becomes `from tdev.cuda import Stream as S`, and so does the whole
    of `from torch.nn.attention import SDPBackend, sdpa_kernel`; `from torch import cuda, nn` is split
    into `from tdev import cuda` and `from torch import nn`.

    Alias style: `import torch` becomes `import tdev as torch`, `import torch as th` becomes
    `import tdev as th`, and `import torch.nn` (which binds `torch` too) becomes `import
    tdev.nn`, in the scopes where a rule has found something that depends on the device; call
    sites stay. A file in which nothing does keeps its imports. Where a question has to stay CUDA's (it
    chooses beside arms for other accelerators, or opens a kernel), an alias would answer it for the
    device in use: such a file is written as in the explicit style, `import tdev` beside `import torch`.
    So is a file that puts a function of its own in torch's place (`torch.stft = stft`), which other
    modules call by torch's name.

    tdev's names are torch's own objects unless they depend on the device, so re-pointing an
    import never changes what another name means.

    `torch.device`, `Generator`, `Stream` and `Event` of tdev are classes of its own that count as
    torch's for `isinstance`, `==` and `in`, and are another object: where their import changes, `type(x) is
    torch.device` becomes `type(x) == torch.device`.
    """,
)


def every_binding(file: File) -> list[Binding]:
    scopes = {id(s): s for s in file.scopes._scopes.values()}
    return [
        b for s in scopes.values() for bs in s.bindings.values() for b in bs if b.target is not None
    ]


def import_text(file: File) -> str:
    return "tdev" if file.tdev == "tdev" else f"tdev as {file.tdev}"


def has_tdev(file: File, scope: Scope, node: cst.CSTNode) -> bool:
    """Tell whether ``tdev`` is imported already where this scope, and the node's piece, can see it."""
    found = file.resolver.imported(scope, file.tdev)
    if found is None or found[0] != "tdev":
        return False
    return not file.pieces or any(
        file.piece(binding.node) == file.piece(node) for binding in found[1]
    )


def insert(file: File, line: cst.CSTNode, statement: cst.CSTNode | None, comment: str) -> None:
    """``import tdev`` before a statement, on a line of its own where that is possible."""
    start = file.tree.span(line)[0]
    number = file.tree.position(start)[0]
    rule_ = MOVES if comment else IMPORT
    comment = marked_late(file, number, comment)
    if (tried := tried_for_torch(file, number)) is not None:
        _put_below(file, tried, f"import {import_text(file)}{comment}")
        return
    line_start = file.tree.line_start(number)
    indent = file.tree.source[line_start:start]
    text = f"import {import_text(file)}"
    if indent.strip() or not isinstance(line, cst.SimpleStatementLine):
        at = file.tree.span(statement)[0] if statement is not None else start
        file.replace(IMPORT, at, at, text + "; ")
        return
    if not indent and set_apart(file, line_start, text + comment + file.tree.newline, rule_.id):
        return
    if not indent or isinstance(file.scopes.of(line).node, cst.FunctionDef):
        line_start = place(file, line_start, file.tdev)
    if file.changes.get((line_start, line_start)) is None:
        apart = file.tree.newline * bool(indent and ends_its_section(file, line_start))
        put(file, line_start, indent + text + comment + file.tree.newline + apart, rule_.id)


_LATE = re.compile(
    r"noqa:[ \t]*(?:\w+,[ \t]*)*(E402)\b|([iu]sort:[ \t]?skip)\b|(pylint:[ \t]*disable=)[\w,-]*(wrong-import-position)"
)


def marked_late(file: File, row: int, comment: str = "") -> str:
    """Return a comment of an import beside the one on a row, with that one's marks for linters: it may stand below code.

    ``comment`` is the note of one that is there for its shims, if it is.
    """
    line = file.tree.line_text(row)
    marks = list(_LATE.finditer(line[line.find("#") :] if "#" in line else ""))
    if comment and any(found[3] for found in marks):
        comment = NOTE_FOR_PYLINT  # which reads this file, too
    for found in marks:
        if found[3] and found[3] in comment:
            comment = comment.replace(found[3], f"{found[3]}{found[4]},", 1)
        elif found[1] is None:
            comment += f"  # {found[2] or found[3] + found[4]}"
        elif "# noqa: " in comment:
            comment = comment.replace("# noqa: ", f"# noqa: {found[1]}, ", 1)
        else:
            comment += f"  # noqa: {found[1]}"
    return comment


def tried_for_torch(file: File, row: int) -> ast.Try | None:
    """Return the ``try`` around the import on a row whose handlers say that torch is missing, and go no further.

    They are not to say it of tdev, which therefore comes below; not where the ``try`` needs it itself.
    """
    node = tried_around(file, row)
    if node is None or file.pieces:
        return None
    used = (file.tree.position(file.tree.span(n)[0])[0] for n in _ask_tdev(file))
    needed = any(node.lineno <= each <= (node.end_lineno or 0) for each in used)
    return node if not needed and all(map(_tells_of_torch, node.handlers)) else None


def tried_around(file: File, row: int) -> ast.Try | None:
    """Return the ``try`` with handlers alone in which the import on a row stands."""
    if not file.tree.line_text(row)[:1].isspace() or file.python is None:
        return None
    for node in file.python.statements:
        if not isinstance(node, ast.Try) or node.finalbody or not node.handlers:
            continue
        if any(isinstance(each, ast.Import) and each.lineno == row for each in node.body):
            return node
    return None


def _ask_tdev(file: File) -> list[cst.CSTNode]:
    return [*file.edited_roots, *file.predicates, *file.shims]


def _tells_of_torch(handler: ast.ExceptHandler) -> bool:
    """Tell whether a handler ends by saying that torch is missing: ``raise ImportError("torch is not installed")``."""
    last = handler.body[-1]
    ends = isinstance(last, ast.Raise) or (
        isinstance(last, ast.Expr)
        and isinstance(last.value, ast.Call)
        and ast.unparse(last.value.func) in ("exit", "sys.exit", "quit")
    )
    said = (node.value for node in ast.walk(handler) if isinstance(node, ast.Constant))
    return ends and any(isinstance(each, str) and "torch" in each.lower() for each in said)


def _put_below(file: File, node: ast.Try, text: str) -> None:
    """Put an import below a statement, as far in as that is, and apart from what is no import."""
    tree, row = file.tree, node.end_lineno or node.lineno
    first = tree.line_text(node.lineno)
    indent = first[: len(first) - len(first.lstrip())]
    if (other := _first_of_others_below(file, node)) is not None:
        at = among(file, tree.line_start(other.lineno), "tdev")
        put(file, at, f"{indent}{text}{tree.newline}", IMPORT.id)
        return
    at = tree.line_start(row) + len(tree.line_text(row))
    following = tree.source[at:].partition("\n")[0].strip()
    apart = bool(following) and not following.startswith(("import ", "from "))
    before = "" if tree.source[:at].endswith("\n") else tree.newline
    lines = f"{before}{indent}{text}{tree.newline}{tree.newline * apart}"
    put(file, at, lines, IMPORT.id)


def _first_of_others_below(file: File, node: ast.Try) -> ast.Import | ast.ImportFrom | None:
    """Return the first import of another package in what is imported right below a statement, the file's own packages aside."""
    if file.python is None:
        return None
    parent = next(file.python.ancestors(node))
    block = file.python.module.body if parent is file.python.module else file.python.block(node)
    for each in block[block.index(node) + 1 :] if node in block else ():
        if isinstance(each, ast.Import):
            top = each.names[0].name.partition(".")[0]
        elif isinstance(each, ast.ImportFrom) and not each.level:
            top = (each.module or "").partition(".")[0]
        else:
            return None
        if top not in STDLIB:
            return None if top in PurePath(file.filename).parts[:-1] else each
    return None


def insert_in_function(file: File, function: cst.FunctionDef, comment: str = "") -> None:
    body = list(function.body.body)
    if not isinstance(function.body, cst.IndentedBlock):
        start = file.tree.span(body[0])[0]
        file.replace(IMPORT, start, start, f"import {import_text(file)}; ")
        return
    first = body[0]
    if len(body) > 1 and is_docstring(first):
        first = body[1]
    start = file.tree.span(first)[0]
    decorators = getattr(first, "decorators", ())
    if decorators:
        start = file.tree.span(decorators[0])[0]
    at = file.tree.line_start(file.tree.position(start)[0])
    indent = file.tree.source[at:start]
    if isinstance(first, cst.FunctionDef) and not decorators:
        indent = indent[: len(indent) - len(indent.lstrip())]
    # One empty line keeps imports apart from what follows them, as formatters have it.
    follows = file.tree.source[at:].lstrip().startswith(("import ", "from "))
    newline = file.tree.newline * (1 if follows else 2)
    file.replace(IMPORT, at, at, f"{indent}import {import_text(file)}{comment}{newline}")


_DEFINES = re.compile(r"(?:(?:async[ \t]+)?def|class)\b|@")
_IS_ABOUT = re.compile(r"#(?!!|.*coding[:=])")


def insert_at_top(file: File, comment: str = "") -> None:
    """Among the file's first imports: before the first that is not of the standard library."""
    text = f"import {import_text(file)}{comment}"
    last: cst.CSTNode | None = None
    for index, statement in enumerate(file.tree.module.body):
        small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
        if index == 0 and is_docstring(statement):
            last = statement
            continue
        if not isinstance(small, (cst.Import, cst.ImportFrom)):
            break
        if _top_module(small) != "__future__" and _top_module(small) not in STDLIB:
            start = file.tree.span(statement)[0]
            at = file.tree.line_start(file.tree.position(start)[0])
            own = _is_own(file, small) and _blank_before(file, at)
            at = at if own else among(file, at, "tdev")
            file.replace(IMPORT, at, at, text + file.tree.newline * (2 if own else 1))
            return
        last = statement
    newline = file.tree.newline
    if last is None:
        first = file.tree.module.body[0]
        at = file.tree.span(first)[0]
        decorators = getattr(first, "decorators", ())
        if decorators:
            at = file.tree.span(decorators[0])[0]
        row = file.tree.position(at)[0]
        # By the text: what no rule sees of a file is not in the tree.
        defines = _DEFINES.match(file.tree.line_text(row)) is not None
        while defines and row > 1 and _IS_ABOUT.match(file.tree.line_text(row - 1)):
            row -= 1  # what is said of a function stays with it
        at = file.tree.line_start(row)
        file.replace(IMPORT, at, at, text + newline * (3 if defines else 2))
        return
    end = file.tree.span(last)[1]
    line = file.tree.position(end)[0]
    at = file.tree.line_start(line) + len(file.tree.line_text(line))
    gap = newline if _top_module(last) == "" or is_docstring(last) else ""
    file.replace(IMPORT, at, at, gap + text + newline)


def _is_own(file: File, node: cst.Import | cst.ImportFrom) -> bool:
    """Tell whether an import is of the package that the file lies in: those stand in a block of their own, the last."""
    top = _top_module(node)
    return top == "." or top in PurePath(file.filename).parts[:-1]


def _blank_before(file: File, at: int) -> bool:
    """Tell whether the line before an offset is empty, or there is none."""
    lines = file.tree.source[:at].splitlines()
    return not lines or not lines[-1].strip()


def _top_module(node: cst.CSTNode) -> str:
    if isinstance(node, cst.Import):
        return (dotted(node.names[0].name) or "").split(".")[0]
    if isinstance(node, cst.ImportFrom):
        name = dotted(node.module) if node.module is not None else None
        return "." if node.relative else (name or "").split(".")[0]
    return ""


def first_torch_import(
    file: File, piece: int | None = None, scope: Scope | None = None
) -> cst.CSTNode | None:
    """Return the first import of torch that is carried out: in the file, in one piece of it, or in one scope."""
    found = [
        node
        for node in file.tree.of(cst.Import, cst.ImportFrom)
        if (piece is None or file.piece(node) == piece)
        and any(
            (b.target or "").split(".")[0] == "torch"
            and b.statement is node
            and not (b.kind == "from" and b.target == "torch")  # another module's
            and not file.for_checkers_only(b)
            for bs in (scope or file.scopes.top).bindings.values()
            for b in bs
        )
    ]
    return min(found, key=lambda n: file.tree.span(n)[0]) if found else None


def at_module_level(file: File, statement: cst.CSTNode) -> bool:
    return isinstance(file.tree.parents[file.tree.statement(statement)], cst.Module)


def unique(bindings: list[Binding]) -> list[Binding]:
    return list({id(b): b for b in bindings}.values())
