"""Imports: where tdev comes from, once the other rules have said what they need of it."""

from __future__ import annotations

import re
import sys

import libcst as cst

from tdev_core.codemod.engine.file import File, _is_docstring
from tdev_core.codemod.engine.rules._make import rule
from tdev_core.codemod.engine.rules.moves import _COMMENT, MOVES
from tdev_core.codemod.engine.scopes import Binding, Scope
from tdev_core.codemod.engine.tree import dotted

STDLIB = sys.stdlib_module_names

IMPORT = rule(
    "import",
    "Imports",
    None,
    """
    Explicit style: `import tdev` is added on the line before the import of torch whose
    references changed, in the same block (a function, a `try`, an `if TYPE_CHECKING`), so that
    tdev is there exactly where torch is. If nothing is left that needs `import torch`, the
    import itself becomes `import tdev`. Imports of something inside torch are re-pointed when
    a rule needs it: `import torch.cuda as tc` becomes `import tdev.cuda as tc`, `from
    torch.cuda import Stream as S` becomes `from tdev.cuda import Stream as S`, and `from torch
    import cuda, nn` is split into `from tdev import cuda` and `from torch import nn`.

    Alias style: `import torch` becomes `import tdev as torch`, `import torch as th` becomes
    `import tdev as th`, and `import torch.nn` (which binds `torch` too) becomes `import
    tdev.nn`, in the scopes where a rule has found something that depends on the device; call
    sites stay. A file in which nothing does keeps its imports.

    tdev's names are torch's own objects unless they depend on the device, so re-pointing an
    import never changes what another name means.
    """,
)


def collect_imports(file: File) -> None:
    """Note the imports that are device-dependent by themselves, used or not."""
    if file.options.style == "accelerator":
        return
    for bindings in _every_binding(file):
        target = bindings.target or ""
        if not target.startswith("torch.") or file.kept(bindings.node):
            continue
        if target == "torch.cuda" or target.startswith("torch.cuda."):
            if target.split(".")[2:3] and target.split(".")[2].startswith("_"):
                continue
            file.repointed.append(bindings)
        elif target in file.names.routed and target not in file.names.device_params:
            file.repointed.append(bindings)


def imports(file: File) -> None:
    if file.options.style == "accelerator":
        return
    if file.options.style == "alias":
        _alias(file)
    _repoint(file)
    if file.options.style == "explicit":
        _explicit(file)
    _star(file)
    _shims(file)
    _predicates(file)


def _every_binding(file: File) -> list[Binding]:
    scopes = {id(s): s for s in file.scopes._scopes.values()}
    return [
        b for s in scopes.values() for bs in s.bindings.values() for b in bs if b.target is not None
    ]


# -- alias style ---------------------------------------------------------------------------


def _alias(file: File) -> None:
    for binding in _unique(file.wanted):
        alias = binding.node
        assert isinstance(alias, cst.ImportAlias)
        full = dotted(alias.name) or ""
        start, _ = file.tree.span(alias.name)
        if full == "torch":
            text = "tdev" if alias.asname is not None else "tdev as torch"
            file.replace(IMPORT, start, start + len("torch"), text)
        else:
            # `import torch.nn` binds torch as well
            first = not any(
                isinstance(b.node, cst.ImportAlias) and dotted(b.node.name) == "torch"
                for b in binding.scope.bindings.get("torch", [])
            ) and binding is next(b for b in binding.scope.bindings["torch"] if b.target == "torch")
            file.replace(
                IMPORT, start, start + len("torch"), "tdev as torch, tdev" if first else "tdev"
            )


# -- explicit style ------------------------------------------------------------------------


def _explicit(file: File) -> None:
    anchors: dict[tuple[int, int], Binding] = {}
    for binding in sorted(_unique(file.wanted), key=lambda b: file.tree.span(b.node)[0]):
        if _has_tdev(file, binding.scope, binding):
            continue
        block = file.tree.parents[file.tree.statement(binding.node)]
        whole = isinstance(block, cst.Module) or block is getattr(binding.scope.node, "body", None)
        above = (id(binding.scope), id(binding.scope))
        if above in anchors:
            continue
        key = above if whole else (id(binding.scope), id(block))
        anchors.setdefault(key, binding)
    for binding in anchors.values():
        alias = binding.node
        assert isinstance(alias, cst.ImportAlias)
        if _only_tdev(file, binding):
            start, _ = file.tree.span(alias.name)
            if dotted(alias.name) == "torch":
                end = file.tree.span(alias)[1]
                file.replace(IMPORT, start, end, _import_text(file))
                continue
            if file.tdev == "tdev" and alias.asname is None:
                if (dotted(alias.name) or "").startswith("torch.cuda"):
                    file.replace(IMPORT, start, start + len("torch"), "tdev")
                    continue
        _insert(file, file.tree.statement(binding.node), binding.statement, "")


def _import_text(file: File) -> str:
    return "tdev" if file.tdev == "tdev" else f"tdev as {file.tdev}"


def _only_tdev(file: File, binding: Binding) -> bool:
    """Whether every reference through this import now goes to tdev."""
    name = binding.name
    mine = binding.scope.bindings[name]
    if len(mine) != 1 or file.filename.endswith("__init__.py"):
        return False
    for node in file.tree.of(cst.Name):
        if node.value != name or node in file.edited_roots:
            continue
        parent = file.tree.parents[node]
        if isinstance(parent, cst.Attribute) and parent.attr is node:
            continue
        if isinstance(parent, cst.Arg) and parent.keyword is node:
            continue
        if any(isinstance(p, (cst.ImportAlias, cst.ImportFrom)) for p in file.tree.ancestors(node)):
            continue
        if file.scopes.of(node).lookup(name) is mine:
            return False
    in_text = any(
        re.search(rf"\b{name}\.|^{name}$", s.raw_value)
        for s in file.tree.of(cst.SimpleString)
        if name in s.value and not isinstance(file.tree.parents[s], cst.Expr)
    )
    return not in_text and not re.search(rf"#\s*type:.*\b{name}\b", file.tree.source)


def _has_tdev(file: File, scope: Scope, before: Binding | None = None) -> bool:
    """Whether ``tdev`` is imported already where this scope can see it."""
    found = file.resolver.imported(scope, file.tdev)
    return found is not None and found[0] == "tdev"


def _insert(file: File, line: cst.CSTNode, statement: cst.CSTNode | None, comment: str) -> None:
    """``import tdev`` before a statement, on a line of its own where that is possible."""
    start = file.tree.span(line)[0]
    number = file.tree.position(start)[0]
    line_start = file.tree.line_start(number)
    indent = file.tree.source[line_start:start]
    text = f"import {_import_text(file)}"
    if indent.strip() or not isinstance(line, cst.SimpleStatementLine):
        at = file.tree.span(statement)[0] if statement is not None else start
        file.replace(IMPORT, at, at, text + "; ")
        return
    rule_ = MOVES if comment else IMPORT
    file.replace(rule_, line_start, line_start, indent + text + comment + file.tree.newline)


# -- imports of something inside torch ------------------------------------------------------


def _repoint(file: File) -> None:
    wanted = _unique(file.repointed)
    statements: dict[cst.CSTNode, list[Binding]] = {}
    for binding in wanted:
        if binding.statement is not None and (binding.target or "").startswith("torch"):
            statements.setdefault(binding.statement, []).append(binding)
    for statement, bindings in statements.items():
        if isinstance(statement, cst.Import):
            for binding in bindings:
                assert isinstance(binding.node, cst.ImportAlias)
                start, _ = file.tree.span(binding.node.name)
                file.replace(IMPORT, start, start + len("torch"), "tdev")
        elif isinstance(statement, cst.ImportFrom) and statement.module is not None:
            _repoint_from(file, statement, bindings)


def _repoint_from(file: File, statement: cst.ImportFrom, bindings: list[Binding]) -> None:
    assert statement.module is not None and not isinstance(statement.names, cst.ImportStar)
    start, end = file.tree.span(statement.module)
    moved: set[cst.CSTNode] = {b.node for b in bindings}
    whole = len(moved) == len(statement.names)
    if whole or file.options.style == "alias":
        file.replace(IMPORT, start, start + len("torch"), "tdev")
        return
    module = "tdev" + file.tree.source[start + len("torch") : end]
    line = file.tree.statement(statement)
    first, last = file.tree.span(statement)
    taken = ", ".join(file.tree.text(a) for a in statement.names if a in moved)
    added = f"from {module} import {taken}"
    comment = _take_out(file, list(statement.names), moved)
    if comment and len(moved) == 1:
        added += "  " + comment
    begin = file.tree.line_start(file.tree.position(first)[0])
    indent = file.tree.source[begin:first]
    if indent.strip() or not isinstance(line, cst.SimpleStatementLine):
        file.replace(IMPORT, first, first, added + "; ")
    else:
        file.replace(IMPORT, begin, begin, indent + added + file.tree.newline)


def _take_out(file: File, names: list[cst.ImportAlias], moved: set[cst.CSTNode]) -> str:
    """Remove names from the list of an import; returns the comment that stood beside them."""
    tree = file.tree
    comment = ""
    index = 0
    while index < len(names):
        if names[index] not in moved:
            index += 1
            continue
        own_line = _own_line(file, names, names[index])
        if own_line is not None:
            low, high, comment = own_line
            file.replace(IMPORT, low, high, "")
            index += 1
            continue
        last = index
        while (
            last + 1 < len(names)
            and names[last + 1] in moved
            and _own_line(file, names, names[last + 1]) is None
        ):
            last += 1
        low, high = tree.span(names[index])[0], tree.span(names[last])[1]
        if last + 1 < len(names):
            following = tree.span(names[last + 1])[0]
            between = tree.source[high:following]
            if "#" not in between and "\n" not in between:
                high = following
            else:
                high += between.index(",") + 1
                low = (
                    low if index == 0 else _after_comma(tree.source, tree.span(names[index - 1])[1])
                )
        elif index:
            low = tree.span(names[index - 1])[1]
        file.replace(IMPORT, low, high, "")
        index = last + 1
    return comment


def _after_comma(source: str, at: int) -> int:
    return source.index(",", at) + 1


def _own_line(
    file: File, names: list[cst.ImportAlias], alias: cst.ImportAlias
) -> tuple[int, int, str] | None:
    """The whole line of a name that has one to itself, and the comment on it."""
    low, high = file.tree.span(alias)
    line = file.tree.position(low)[0]
    text = file.tree.line_text(line)
    start = file.tree.line_start(line)
    rest = text[high - start :].strip()
    found = re.fullmatch(r",?\s*(#.*)?", rest)
    if text[: low - start].strip() or found is None or line == file.tree.line_count:
        return None
    if names[-1] is alias and not rest.startswith(","):
        return None  # its line ends the list; the name before it would keep its comma
    return start, start + len(text), found[1] or ""


def _star(file: File) -> None:
    for node in file.tree.of(cst.ImportFrom):
        if isinstance(node.names, cst.ImportStar) and node.module is not None and not node.relative:
            name = dotted(node.module) or ""
            if (name + ".").startswith("torch.cuda.") and not file.kept(node):
                start, _ = file.tree.span(node.module)
                file.replace(IMPORT, start, start + len("torch"), "tdev")


# -- files that only need tdev to be there ---------------------------------------------------


def _shims(file: File) -> None:
    if not file.shims or _imports_tdev(file):
        return
    anchor = _first_torch_import(file)
    if anchor is None:
        node = file.shims[0]
        file.find(MOVES, node, "needs tdev's shims, but this file imports no torch")
        return
    torch = [b for b in file.scopes.top.bindings.get("torch", []) if b.target == "torch"]
    if file.options.style == "alias" and torch:
        file.wanted[:] = [b for b in torch]
        _alias(file)
    else:
        _insert(file, file.tree.statement(anchor), anchor, _COMMENT)


def _imports_tdev(file: File) -> bool:
    if file.wanted or file.repointed or file.predicates:
        return True
    return any((b.target or "").split(".")[0] == "tdev" for b in _every_binding(file))


def _first_torch_import(file: File) -> cst.CSTNode | None:
    found = [
        node
        for node in file.tree.of(cst.Import, cst.ImportFrom)
        if any(
            (b.target or "").split(".")[0] == "torch" and b.statement is node
            for bs in file.scopes.top.bindings.values()
            for b in bs
        )
    ]
    return min(found, key=lambda n: file.tree.span(n)[0]) if found else None


def _predicates(file: File) -> None:
    """Uses of tdev in a scope where the file's torch imports do not bring it along."""
    done: set[int] = set()
    for node in file.predicates:
        scope = file.scopes.of(node)
        if _has_tdev(file, scope) or _will_have_tdev(file, scope):
            continue
        anchor = _first_torch_import(file)
        if anchor is not None and _at_module_level(file, anchor):
            _insert(file, file.tree.statement(anchor), anchor, "")
            return
        function = _function_of(scope)
        if function is not None and _imports_torch_lazily(file):
            # The file keeps torch out of its own import; tdev must not bring it in.
            if id(function) not in done:
                done.add(id(function))
                _insert_in_function(file, function)
            continue
        _insert_at_top(file)
        return


def _will_have_tdev(file: File, scope: Scope) -> bool:
    """Whether ``import tdev`` is being added beside a torch import that this scope sees."""
    if file.options.style != "explicit":
        return False
    bindings = [b for b in scope.lookup("torch") if b.target == "torch"]
    return any(b in file.wanted for b in bindings) and not any(
        _needs_luck(file, b) for b in bindings if b in file.wanted
    )


def _needs_luck(file: File, binding: Binding) -> bool:
    """Inside ``if TYPE_CHECKING`` nothing is there at run time."""
    return any(
        isinstance(p, cst.If) and "TYPE_CHECKING" in file.tree.text(p.test)
        for p in file.tree.ancestors(binding.node)
    )


def _at_module_level(file: File, statement: cst.CSTNode) -> bool:
    return isinstance(file.tree.parents[file.tree.statement(statement)], cst.Module)


def _function_of(scope: Scope) -> cst.FunctionDef | None:
    here: Scope | None = scope
    while here is not None:
        if isinstance(here.node, cst.FunctionDef):
            return here.node
        here = here.parent
    return None


def _imports_torch_lazily(file: File) -> bool:
    return any(
        (b.target or "").split(".")[0] == "torch" and b.scope.parent is not None
        for b in _every_binding(file)
    )


def _insert_in_function(file: File, function: cst.FunctionDef) -> None:
    body = list(function.body.body)
    if not isinstance(function.body, cst.IndentedBlock):
        start = file.tree.span(body[0])[0]
        file.replace(IMPORT, start, start, f"import {_import_text(file)}; ")
        return
    first = body[0]
    if len(body) > 1 and _is_docstring(first):
        first = body[1]
    start = file.tree.span(first)[0]
    decorators = getattr(first, "decorators", ())
    if decorators:
        start = file.tree.span(decorators[0])[0]
    at = file.tree.line_start(file.tree.position(start)[0])
    indent = file.tree.source[at:start]
    if isinstance(first, cst.FunctionDef) and not decorators:
        indent = indent[: len(indent) - len(indent.lstrip())]
    file.replace(IMPORT, at, at, f"{indent}import {_import_text(file)}{file.tree.newline}")


def _insert_at_top(file: File) -> None:
    """Among the file's first imports: before the first that is not of the standard library."""
    last: cst.CSTNode | None = None
    for index, statement in enumerate(file.tree.module.body):
        small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
        if index == 0 and _is_docstring(statement):
            last = statement
            continue
        if not isinstance(small, (cst.Import, cst.ImportFrom)):
            break
        if _top_module(small) != "__future__" and _top_module(small) not in STDLIB:
            start = file.tree.span(statement)[0]
            at = file.tree.line_start(file.tree.position(start)[0])
            file.replace(IMPORT, at, at, f"import {_import_text(file)}{file.tree.newline}")
            return
        last = statement
    newline = file.tree.newline
    if last is None:
        first = file.tree.module.body[0]
        at = file.tree.span(first)[0]
        decorators = getattr(first, "decorators", ())
        if decorators:
            at = file.tree.span(decorators[0])[0]
        at = file.tree.line_start(file.tree.position(at)[0])
        file.replace(IMPORT, at, at, f"import {_import_text(file)}{newline * 2}")
        return
    end = file.tree.span(last)[1]
    line = file.tree.position(end)[0]
    at = file.tree.line_start(line) + len(file.tree.line_text(line))
    gap = newline if _top_module(last) == "" or _is_docstring(last) else ""
    file.replace(IMPORT, at, at, f"{gap}import {_import_text(file)}{newline}")


def _top_module(node: cst.CSTNode) -> str:
    if isinstance(node, cst.Import):
        return (dotted(node.names[0].name) or "").split(".")[0]
    if isinstance(node, cst.ImportFrom):
        name = dotted(node.module) if node.module is not None else None
        return "." if node.relative else (name or "").split(".")[0]
    return ""


def _unique(bindings: list[Binding]) -> list[Binding]:
    return list({id(b): b for b in bindings}.values())
