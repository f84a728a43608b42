"""Changes imports: where tdev comes from, once the other rules have said what they need of it."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import PurePath

import libcst as cst

from tdev_core.codemod.engine.analysis.bindings import Binding, Scope
from tdev_core.codemod.engine.analysis.nodes import dotted, string_value
from tdev_core.codemod.engine.analysis.resolve import SAME
from tdev_core.codemod.engine.file import Change, File
from tdev_core.codemod.engine.python.lines import Span
from tdev_core.codemod.engine.rules.attention import SDPA_KERNEL, names_math_alone
from tdev_core.codemod.engine.rules.backend_questions import ASKED
from tdev_core.codemod.engine.rules.build_version import NAME as VERSION_NAME
from tdev_core.codemod.engine.rules.build_version import only_asks_for_the_build
from tdev_core.codemod.engine.rules.import_inside import repoint, repoint_stars
from tdev_core.codemod.engine.rules.import_order import STDLIB, planned, put, settle
from tdev_core.codemod.engine.rules.import_places import (
    IMPORT,
    at_module_level,
    every_binding,
    first_torch_import,
    has_tdev,
    import_text,
    insert,
    insert_at_top,
    insert_in_function,
    tried_around,
    tried_for_torch,
    unique,
)
from tdev_core.codemod.engine.rules.kept_questions import ANSWERED
from tdev_core.codemod.engine.rules.moves import MOVES, shim_note
from tdev_core.codemod.engine.rules.reference_rules import REFERENCE
from tdev_core.codemod.engine.rules.torch_names import every_reference
from tdev_core.codemod.engine.vocabulary import OF_AMP

_SCRIPT = re.compile(r"^if __name__ == ", re.MULTILINE)


def collect_imports(file: File) -> None:
    """Note the imports that are device-dependent by themselves, used or not."""
    if file.options.style == "accelerator":
        return
    for bindings in every_binding(file):
        target = bindings.target or ""
        if not target.startswith("torch.") or file.kept(bindings.node):
            continue
        if target == "torch.cuda" or target.startswith("torch.cuda."):
            if target in SAME or target.split(".")[2:3] and target.split(".")[2].startswith("_"):
                continue
            if file.for_checkers_only(bindings) and len(_targets(bindings)) > 1:
                continue  # of an older release; its sibling says nothing of CUDA, and stays
            if file.of_a_vendor(bindings.scope.bindings[bindings.name]):
                continue
            if _is_left_over(file, bindings) or _is_the_name_of_a_type(file, bindings):
                continue
            file.repointed.append(bindings)
        elif target in file.names.routed and target not in file.names.device_params:
            if target.startswith("torch.utils.cpp_extension."):
                continue  # where it is called: an extension may be of C++ alone, or stand where only CUDA comes
            if (
                target == VERSION_NAME
                and file.options.style == "explicit"
                and only_asks_for_the_build(file)
            ):
                continue
            if target == SDPA_KERNEL and names_math_alone(file, bindings.name):
                continue
            file.repointed.append(bindings)


def _is_left_over(file: File, binding: Binding) -> bool:
    """Tell whether nothing reads what an import takes of ``torch.cuda.amp``, here or in a module of the tree: it does nothing anywhere."""
    target, tree = binding.target or "", file.options.tree
    if target.rpartition(".")[2] not in OF_AMP or binding.statement is None or tree is None:
        return False
    if _may_be_taken_from(file) or file.pieces:
        return False
    low, high = file.tree.span(binding.statement)
    word = re.compile(rf"(?<![\w.]){re.escape(binding.name)}(?!\w)")
    return not any(not low <= found.start() < high for found in word.finditer(file.tree.source))


def _may_be_taken_from(file: File) -> bool:
    """Tell whether another module may take from this one what it imports of torch's."""
    tree, stem = file.options.tree, PurePath(file.filename).stem
    taken = {*tree.gives_torch, *tree.gives_amp} if tree is not None else set()
    return stem == "__init__" or stem in taken


def _is_the_name_of_a_type(file: File, binding: Binding) -> bool:
    """Tell whether annotations alone read the scaler that an import takes: torch's class, whoever gives it."""
    names = getattr(binding.statement, "names", ())
    if not (binding.target or "").endswith(".GradScaler") or len(names) != 1:
        return False
    if file.python is None or file.pieces or _may_be_taken_from(file):
        return False
    said = {
        each
        for node in file.python.everything
        for whole in (getattr(node, "annotation", None), getattr(node, "returns", None))
        for each in (ast.walk(whole) if whole is not None else ())
    }
    read = [
        node
        for node in file.python.everything
        if isinstance(node, ast.Name) and node.id == binding.name
    ]
    return bool(read) and said.issuperset(read)


def _targets(binding: Binding) -> set[str]:
    """Return what the imports of a name import, of which only one is carried out."""
    return {b.target for b in binding.scope.bindings.get(binding.name, ()) if b.target}


def imports(file: File) -> None:
    if file.options.style == "accelerator":
        return
    _alias(file, file.wanted if file.options.style == "alias" else file.aliased)
    _stay_with_their_questions(file)
    _stay_with_what_stays(file)
    repoint(file)
    if file.options.style == "explicit":
        _explicit(file)
    repoint_stars(file)
    _shims(file)
    _predicates(file)
    settle(file)


def _stay_with_their_questions(file: File) -> None:
    """Leave ``from torch.cuda import is_available`` where a question by it stays CUDA's: it has one answer, by one name.

    What else the file asks by it is written as ``tdev.cuda.is_available``.
    """
    asked = [b for b in unique(file.repointed) if b.kind == "from" and b.target in ASKED]
    if not asked:
        return
    kept = {found.node for found, answered in file.asked.values() if answered == ANSWERED}
    used = set(file.used)
    references = every_reference(file)
    for binding in asked:
        mine = [each for each in references if binding in each.bindings]
        goes = [each for each in mine if each.node in used]
        if not mine or (goes and kept.isdisjoint(each.node for each in mine)):
            continue
        file.repointed = [each for each in file.repointed if each is not binding]
        file.left_imports.add(binding.node)
        for each in goes:
            spelled = f"{file.tdev}.{each.name.partition('.')[2]}"
            file.replace_node(REFERENCE, each.node, spelled)
            file.predicates.append(each.node)


def _stay_with_what_stays(file: File) -> None:
    """Leave ``from torch import device`` where nothing that uses it becomes tdev's, and some of that stays torch's on purpose."""
    told = {start for _, start, _ in file.findings}
    names = {b.name for b in file.repointed if b.kind == "from"}
    if not names or not (file.untouched or told):
        return
    used = set(file.used)
    mine: dict[str, list[cst.CSTNode]] = {name: [] for name in names}
    for each in every_reference(file):
        for binding in each.bindings:
            if binding.name in names:
                mine[binding.name].append(each.node)
    for name, nodes in mine.items():
        stays = any(file.stays(node) or file.tree.span(node)[0] in told for node in nodes)
        if stays and used.isdisjoint(nodes):
            bindings = [b for b in unique(file.repointed) if b.kind == "from" and b.name == name]
            file.repointed = [each for each in file.repointed if each not in bindings]
            file.left_imports.update(b.node for b in bindings)


# -- alias style ---------------------------------------------------------------------------


def _alias(file: File, bindings: list[Binding]) -> None:
    for binding in unique(bindings):
        alias = binding.node
        if binding.kind == "from":
            continue  # of another module: the file is written in the explicit style
        assert isinstance(alias, cst.ImportAlias)
        full = dotted(alias.name) or ""
        start, _ = file.tree.span(alias.name)
        if full == "torch":
            text = "tdev" if alias.asname is not None else "tdev as torch"
            _put(file, binding, start, start + len("torch"), text, file.why.get(alias, ""))
        else:
            # `import torch.nn` binds torch as well
            first = not any(
                isinstance(b.node, cst.ImportAlias) and dotted(b.node.name) == "torch"
                for b in binding.scope.bindings.get("torch", [])
            ) and binding is next(b for b in binding.scope.bindings["torch"] if b.target == "torch")
            if first and (full in file.names.modules or not _names_a_part(file, full)):
                # What `import torch` loads is there as soon as tdev is, and what is named nowhere need not be.
                file.replace(IMPORT, start, start + len(full), "tdev as torch")
                continue
            if not first and full in file.names.modules and (line := _own_line(file, binding)):
                file.replace(IMPORT, *line, "")
                continue
            text = "tdev"
            statement = binding.statement
            if not first and isinstance(statement, cst.Import) and len(statement.names) == 1:
                edit = Change(start, start + len("torch"), text, IMPORT.id)
                name = text + full[len("torch") :]
                planned(file, file.tree.span(statement), edit, name, plain=True)
                continue
            if first:
                row = file.tree.position(start)[0]
                said = file.tree.line_text(row)
                margin = said[: len(said) - len(said.lstrip())]
                alone = said.lstrip().startswith("import torch.") and "," not in said
                text = (
                    f"tdev as torch{file.tree.newline}{margin}import tdev"
                    if alone
                    else "tdev as torch, tdev"
                )
            file.replace(IMPORT, start, start + len("torch"), text)


def _names_a_part(file: File, module: str) -> bool:
    """Tell whether anything but its import may name a module by its last name: ``nn.utils.prune``, ``getattr(utils, "prune")``."""
    named = re.compile(rf"\b{re.escape(module.rpartition('.')[2])}\b")
    return file.pieces or len(named.findall(file.tree.source)) > 1


def _own_line(file: File, binding: Binding) -> Span | None:
    """Return the line of ``import torch.optim`` where it says no more than ``import tdev as torch`` beside it."""
    statement = binding.statement
    if not isinstance(statement, cst.Import) or len(statement.names) != 1 or file.pieces:
        return None
    mine = binding.scope.bindings["torch"]
    plain = [b for b in mine if isinstance(b.node, cst.ImportAlias) and b.target == "torch"]
    block = file.tree.parents[file.tree.statement(statement)]
    beside = any(
        b is not binding
        and b.statement is not None
        and dotted(b.node.name) == "torch"  # type: ignore[attr-defined]
        and file.tree.parents[file.tree.statement(b.node)] is block
        for b in plain
    )
    row = file.tree.position(file.tree.span(statement)[0])[0]
    text = file.tree.line_text(row)
    if not beside or text.strip() != file.tree.text(statement):
        return None
    begin = file.tree.line_start(row)
    return begin, begin + len(text)


# -- explicit style ------------------------------------------------------------------------


def _explicit(file: File) -> None:
    # Cells are run in any order: tdev comes beside each one's own import of torch.
    anchors: dict[tuple[int, int, int], Binding] = {}
    wanted = sorted(unique(file.wanted), key=lambda b: file.tree.span(b.node)[0])
    have = {file.piece(binding.node) for binding in wanted}
    need = {file.piece(root) for root in file.edited_roots}
    if need and have and not need <= have:
        need.add(min(have))
    for binding in wanted:
        if file.pieces and need and file.piece(binding.node) not in need:
            continue
        if has_tdev(file, binding.scope, binding.node):
            continue
        block = file.tree.parents[file.tree.statement(binding.node)]
        whole = isinstance(block, cst.Module) or block is getattr(binding.scope.node, "body", None)
        piece = file.piece(binding.node)
        above = (id(binding.scope), id(binding.scope), piece)
        if above in anchors:
            continue
        key = above if whole else (id(binding.scope), id(block), piece)
        anchors.setdefault(key, binding)
    for binding in anchors.values():
        alias = binding.node
        assert isinstance(alias, cst.ImportAlias)
        if isinstance(binding.scope.node, cst.FunctionDef) and _comes_too_late(file, binding):
            insert_in_function(file, binding.scope.node)
            continue
        row = file.tree.position(file.tree.span(alias)[0])[0]
        if tried_for_torch(file, row) is None and _only_tdev(file, binding):
            start, _ = file.tree.span(alias.name)
            if dotted(alias.name) == "torch":
                end = file.tree.span(alias)[1]
                _put(file, binding, start, end, import_text(file))
                continue
            if file.tdev == "tdev" and alias.asname is None:
                if (dotted(alias.name) or "").startswith("torch.cuda"):
                    file.replace(IMPORT, start, start + len("torch"), "tdev")
                    continue
        insert(file, file.tree.statement(binding.node), binding.statement, "")
    _without_torch_cuda(file)


def _comes_too_late(file: File, binding: Binding) -> bool:
    """Tell whether a function asks something of tdev where its own import of torch is not carried out yet."""
    statement = file.tree.statement(binding.node)
    block = file.tree.parents[statement]
    low = file.tree.span(statement)[0]
    high = file.tree.span(block)[1]
    tried = tried_around(file, file.tree.position(low)[0])
    if tried is not None and all(map(_leaves, tried.handlers)):
        high = file.tree.span(binding.scope.node)[1]
    return any(
        file.scopes.of(node) is binding.scope and not low <= file.tree.span(node)[0] < high
        for node in file.predicates
    )


def _leaves(handler: ast.ExceptHandler) -> bool:
    """Tell whether nothing below a ``try`` is reached by a handler of it."""
    return isinstance(handler.body[-1], (ast.Raise, ast.Return))


def _without_torch_cuda(file: File) -> None:
    """Take ``import torch.cuda`` out beside ``import torch``, where all that it was for is tdev's now."""
    if not file.edited_roots:
        return
    for binding in every_binding(file):
        alias = binding.node
        if not isinstance(alias, cst.ImportAlias) or dotted(alias.name) != "torch.cuda":
            continue
        if alias.asname is None and (line := _own_line(file, binding)) is not None:
            if not file.kept(alias) and not _stands_elsewhere(
                file, "torch.cuda", (0, len(file.tree.source))
            ):
                file.replace(IMPORT, *line, "")


def _put(file: File, binding: Binding, start: int, end: int, text: str, why: str = "") -> None:
    """Make ``import torch`` tdev's, in its place among sorted imports."""
    edit = Change(start, end, text, IMPORT.id, why=why)
    statement = binding.statement
    if isinstance(statement, cst.Import) and len(statement.names) == 1:
        planned(file, file.tree.span(statement), edit, "tdev", plain=True)
    else:
        file.changes.setdefault((start, end), edit)


def _only_tdev(file: File, binding: Binding) -> bool:
    """Tell whether every reference through this import now goes to tdev."""
    name = binding.name
    mine = binding.scope.bindings[name]
    home = binding.scope.node
    inside = isinstance(home, cst.FunctionDef)
    if len(mine) != 1 or not (inside or _takes_torch_for_itself(file)):
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
    if isinstance(home, cst.FunctionDef):  # in its body: what its signature says is the module's
        return not _stands_elsewhere(file, name, file.tree.span(home.body), _LOOKS_UP_ITS_OWN)
    if file.tree.left_out_uses(name):
        return False
    return not _stands_elsewhere(file, name, (0, len(file.tree.source)))


def _takes_torch_for_itself(file: File) -> bool:
    """Tell whether no other module of the tree takes torch from this one; from a package anybody may: ``package.torch``."""
    path, tree = PurePath(file.filename), file.options.tree
    if tree is not None and not tree.reached.isdisjoint({path.stem, "*"}):
        return False
    return path.stem != "__init__" and (tree is None or path.stem not in tree.gives_torch)


_IMPORTED = re.compile(
    r"(?:\bimport|\bfrom)[ \t]+\Z|\bimport[^\n]*,[ \t]*\Z|\bimport[ \t]+torch[ \t]+as[ \t]+\Z"
)
_COMMENT = re.compile(r"(?:[^\"'#]|\"[^\"]*\"|'[^']*')*(#(?!\s*type:).*)?")


def _stands_elsewhere(
    file: File, name: str, within: Span, looks_up: re.Pattern[str] | None = None
) -> bool:
    """Tell whether a name stands anywhere in a span but in code that now names tdev: in a string, an ``eval``, a doctest.

    Or beside the file's code: in a notebook's magics, and in cells that are no Python.
    """
    if re.search(rf"\b{re.escape(name)}\b", file.options.beside):
        return True
    tree = file.tree
    word = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)")
    # Those of names, and what is written anew without it: `"Queue[torch.cuda.Event]"`.
    changed = sorted(
        {tree.span(root) for root in file.edited_roots}
        | {
            span
            for span, change in file.changes.items()
            if change.rule != IMPORT.id and change.inner is None and not word.search(change.text)
        }
    )
    for found in word.finditer(tree.source, *within):
        start, end = found.span()
        before = bisect_right(changed, (start, len(tree.source))) - 1  # the last; few overlap
        if before >= 0 and start < changed[before][1]:
            continue
        row = tree.position(start)[0]
        line = tree.line_text(row)
        column = start - tree.line_start(row)
        comment = _COMMENT.match(line)
        if comment is not None and comment[1] and comment.start(1) <= column:
            continue
        if _quoted(line, column) and not _IS_CODE.search(line, max(0, column - 8), column + 8):
            continue  # a word of a message
        alone = f"{line[column - 1 : column]}{line[column + len(name) :][:1]}" in ('""', "''")
        if alone and not (looks_up or _LOOKS_UP).search(file.code):
            continue  # a word that is told something: `available("torch")`
        if _is_prose(file, start):
            continue
        if _IMPORTED.search(line[:column]) or re.match(r"\s*=(?!=)", tree.source[end : end + 8]):
            continue  # a module's name in an import, or a keyword
        return True
    return False


def _is_prose(file: File, at: int) -> bool:
    """Tell whether a word stands in a docstring without examples, or in a text of several words that is no Python."""
    texts = [t for low, high, t in file.texts if low <= at < high and "torch" in t]
    return bool(texts) and all(map(_is_no_code, texts))


def _is_no_code(text: str) -> bool:
    if ">>>" in text or "import torch" in text:
        return False
    try:
        ast.parse(text.strip())
    except (SyntaxError, ValueError):
        return len(text.split()) > 3
    return False


_IS_CODE = re.compile(
    r"[\"']torch[\"']|\btorch\s*\.\s*\w|\bimport\s+torch\b|[(\[=,]\s*torch\b(?!-)|\btorch\s*[)\]]"
)


# What finds a variable by its name, or gives it to others.
_LOOKS_UP = re.compile(
    r"\b(?:globals|locals|vars|[gs]etattr|delattr|attrgetter|eval|exec)\(|\b__(?:all|dict|getattr|name)__\b"
    r"|\bpatch\b|\bsys\.modules\b|\bf_globals\b|(?::|->)\s*[\"']torch[\"']"
)
_LOOKS_UP_ITS_OWN = re.compile(r"\b(?:locals|vars|eval|exec)\(|\bf_locals\b")
"""What finds one of a function's, which nothing else sees."""


def _quoted(line: str, column: int) -> bool:
    """Tell whether a place of a line lies in a string that ends there, and is no text that is filled in by code."""
    before = line[:column]
    for quote in ('"', "'"):
        if before.count(quote) % 2 and quote in line[column:]:
            return re.search(rf"\b[fF][rR]?{quote}[^{quote}]*\Z", before) is None
    return False


# -- files that only need tdev to be there ---------------------------------------------------


def _shims(file: File) -> None:
    file.shims[:] = [
        node
        for node in file.shims
        if not file.stays(node) and not _is_chosen_by_what_stays(file, [a.value for a in node.args])
    ]
    file.given[:] = [
        node
        for node in file.given
        if not file.stays(node) and not _is_chosen_by_what_stays(file, [node.value], typed=True)
    ]
    if file.given and _does_nothing(file):
        file.given.clear()
    anchor = first_torch_import(file)
    if anchor is not None and _moves_before(file, anchor):
        insert_at_top(file, shim_note(file))
        return
    if anchor is None and file.shims and not _has_tdev_at_the_margin(file):
        if _imports_torch_lazily(file):
            _import_lazily(file)
            return
    if not (file.shims or file.given) or _imports_tdev(file):
        return
    if file.is_test and (module := _brought_by(file)):
        said = f"needs tdev's shims, which come with {module} once that imports tdev"
        file.find(MOVES, (file.shims or file.given)[0], said)
        return
    if anchor is None:
        if file.given and _SCRIPT.search(file.tree.source):
            if not _takes_it_from_the_tree(file) and not _is_of_the_library_alone(file):
                insert_at_top(file, shim_note(file))
        elif file.shims:
            node = file.shims[0]
            file.find(MOVES, node, "needs tdev's shims, but this file imports no torch")
        return
    torch = [
        b
        for b in file.scopes.top.bindings.get("torch", [])
        if b.target == "torch" and b.kind == "import"
    ]
    if file.options.style == "alias" and torch:
        file.wanted[:] = torch
        _alias(file, torch)
    else:
        insert(file, file.tree.statement(anchor), anchor, shim_note(file))


def _does_nothing(file: File) -> bool:
    """Tell whether a script's program stays CUDA's from its first line: what it asks a person for is of no use elsewhere."""
    return any(
        file.tree.text(choice.test).startswith("__name__") and file.stays(choice.body.body[0])
        for choice in file.tree.of(cst.If)
        if choice.body.body
    )


def _is_chosen_by_what_stays(
    file: File, given: list[cst.BaseExpression], *, typed: bool = False
) -> bool:
    """Tell whether CUDA's name comes from a choice alone that stays: where it is chosen there is CUDA.

    ``typed``: a parameter that the choice is kept in may be given any name by others, and counts for nothing.
    """
    for value in given:
        chosen: list[cst.BaseExpression] = [value]
        if isinstance(value, cst.Name):
            bound = file.scopes.of(value).lookup(value.value)
            if not typed and any(b.kind != "value" for b in bound):
                continue
            chosen = [b.value for b in bound if b.kind == "value" and b.value is not None]
        elif isinstance(value, cst.Attribute) and file.tree.text(value.value) == "self":
            chosen = file.flow.only_self_values(value, value.attr.value) or chosen
        # `device = "cpu"`, and below a question that stays `device = "cuda:0"`
        named = [c for c in chosen if not _is_another_word(c)]
        if named and all(file.stays(c.body if isinstance(c, cst.IfExp) else c) for c in named):
            return True
    return False


def _is_another_word(value: cst.BaseExpression) -> bool:
    """Tell whether a value is a word, and not CUDA's: ``"cpu"``."""
    word = string_value(value)
    return word is not None and not word.startswith("cuda")


def _has_tdev_at_the_margin(file: File) -> bool:
    """Tell whether the file itself imports tdev, or is about to, wherever it imports torch."""
    if any(_function_of(file.scopes.of(node)) is None for node in file.predicates):
        return True
    tops = (b.target or "" for bs in file.scopes.top.bindings.values() for b in bs)
    return any(top.split(".")[0] == "tdev" for top in tops)


def _import_lazily(file: File) -> None:
    """Put tdev beside the imports of torch in the functions that move something, and report those that have none.

    What a class imports as it is made is there for its other methods.
    """
    bindings = [b for b in every_binding(file) if b.scope.parent is not None]
    imports: dict[cst.CSTNode, cst.CSTNode] = {}
    for scope in {id(b.scope): b.scope for b in bindings}.values():
        if (found := first_torch_import(file, scope=scope)) is not None:
            imports[scope.node] = found
    brought = {b.scope.node for b in bindings if (b.target or "").split(".")[0] == "tdev"}
    brought |= {b.scope.node for b in file.wanted}
    for node in file.predicates:
        if (asks := _function_of(file.scopes.of(node))) is not None:
            brought.add(asks)
    makers: dict[cst.CSTNode, cst.CSTNode] = {
        file.tree.parents[home]: home
        for home in (*imports, *brought)
        if isinstance(home, cst.FunctionDef) and home.name.value == "__init__"
    }
    placed: set[cst.CSTNode] = set()
    above: list[cst.CSTNode] = []
    for node in file.shims:
        around = [home for home in file.tree.ancestors(node) if isinstance(home, cst.FunctionDef)]
        made = [makers[at] for home in around if (at := file.tree.parents[home]) in makers]
        homes = [*made, *(home for home in around if home in imports)]
        if any(_runs_before(file, line, node) for line in above):
            continue
        if homes and homes[0] in placed and homes[0] in around:
            above.append(_put_above(file, node))
            continue
        if not brought.isdisjoint({*homes, *around}) or _is_brought_by_name(file, node, around):
            continue
        alike = next((h for h in around if _imports_a_package(file, h)), None) if imports else None
        if not homes and alike is not None and isinstance(alike.body, cst.IndentedBlock):
            brought.add(alike)  # as beside torch in the other functions
            insert_in_function(file, alike, shim_note(file))
            continue
        if not homes:
            file.find(MOVES, node, "needs tdev's shims, but no torch is imported here")
            continue
        brought.add(homes[0])
        placed.add(homes[0])
        own = imports[homes[0]]
        line = file.tree.statement(own)
        if homes[0] not in around or _runs_before(file, line, node):
            insert(file, line, own, shim_note(file))
            above.append(line)
        else:
            above.append(_put_above(file, node))


_PACKAGE = re.compile(r"^[ \t]+(?:from|import)[ \t]+([A-Za-z_]\w*)", re.MULTILINE)


def _imports_a_package(file: File, home: cst.FunctionDef) -> bool:
    """Tell whether a function imports another package as it runs, which has torch then: ``from segment_anything import …``."""
    text = file.tree.source[slice(*file.tree.span(home))]
    own = file.options.tree.modules if file.options.tree is not None else frozenset()
    return not STDLIB | own >= set(_PACKAGE.findall(text))


def _runs_before(file: File, line: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Tell whether a statement has run, or its ``try`` has been left, wherever a node of its function is reached."""
    blocks = [p for p in file.tree.ancestors(node) if isinstance(p, cst.BaseSuite)]
    if file.tree.span(line)[0] > file.tree.span(node)[0]:
        return False
    block = file.tree.parents[line]
    while block not in blocks:
        around = file.tree.parents.get(block)
        if not isinstance(around, (cst.Try, cst.With)) or around.body is not block:
            return False
        block = file.tree.parents[around]
    return True


def _put_above(file: File, node: cst.CSTNode) -> cst.CSTNode:
    """Put an import of tdev above the statement of a node, and return that: torch is imported in an arm that need not be taken."""
    line = file.tree.statement(node)
    while isinstance(file.tree.parents[line], (cst.If, cst.Else)):
        line = file.tree.parents[line]
    decorated = isinstance(line, (cst.FunctionDef, cst.ClassDef)) and line.decorators
    start = file.tree.span(decorated[0] if decorated else line)[0]
    at = file.tree.line_start(file.tree.position(start)[0])
    indent = file.tree.source[at:start]
    put(
        file,
        at,
        f"{indent}import {import_text(file)}{shim_note(file)}{file.tree.newline}",
        MOVES.id,
    )
    return line


def _is_brought_by_name(file: File, node: cst.CSTNode, around: Sequence[cst.FunctionDef]) -> bool:
    """Tell whether a function imports something of tdev's above a move, which brings the shims: ``from tdev.cuda import …``."""
    start = file.tree.span(node)[0]
    return any(
        binding.scope.node is home
        and binding.statement is not None
        and file.tree.parents[file.tree.statement(binding.statement)] is home.body
        and (at := file.tree.span(binding.statement)[0]) < start
        and not any(low <= at < high for low, high in file.of_old_torch)
        for binding in file.repointed
        for home in around
    )


def _moves_before(file: File, anchor: cst.CSTNode) -> bool:
    """Tell whether a script moves something to CUDA above its first import of torch: the shims have to be there by then."""
    if file.pieces or file.resolver.imported(file.scopes.top, file.tdev) is not None:
        return False
    start = file.tree.span(anchor)[0]
    return any(
        file.tree.span(node)[0] < start
        and not any(isinstance(p, (cst.FunctionDef, cst.Lambda)) for p in file.tree.ancestors(node))
        for node in file.shims
    )


def _is_of_the_library_alone(file: File) -> bool:
    """Tell whether a script imports nothing but Python's own library: whoever it starts imports tdev by itself."""
    if file.python is None:
        return False
    tops = {
        top
        for node in file.python.imports
        for top in (
            [alias.name.partition(".")[0] for alias in node.names]
            if isinstance(node, ast.Import)
            else [(node.module or "").partition(".")[0] if not node.level else "."]
        )
    }
    return tops <= STDLIB


def _takes_it_from_the_tree(file: File) -> bool:
    """Tell whether a script imports a package of its own tree that brings tdev, to which it hands what was typed."""
    tree = file.options.tree
    if tree is None or file.python is None:
        return False
    # Of the whole text: an import of no concern is not in the tree.
    tops: set[str] = set()
    for node in file.python.module.body:
        if isinstance(node, ast.Import):
            tops |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level:
            tops |= {*PurePath(file.filename).parts[:-1]}  # of which it is a module
        elif isinstance(node, ast.ImportFrom):
            tops.add((node.module or "").partition(".")[0])
    return not tree.of_torch_cuda.isdisjoint(tops)


def _brought_by(file: File) -> str:
    """Return a module of the tree that a test imports first of all, and that imports tdev itself; the empty name if it has none."""
    tree = file.options.tree
    if tree is None or file.python is None:
        return ""
    for node in file.python.module.body:
        if isinstance(node, ast.Import):
            dotted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            dotted = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in dotted:
            parts = name.lstrip(".").split(".")
            if name.startswith(".") or parts[0] in tree.modules:
                if found := next((part for part in parts if part in tree.bring_tdev), ""):
                    return found
    return ""


def _imports_tdev(file: File) -> bool:
    if file.wanted or file.repointed or file.predicates:
        return True
    return any((b.target or "").split(".")[0] == "tdev" for b in every_binding(file))


def _predicates(file: File) -> None:
    """Uses of tdev in a scope where the file's torch imports do not bring it along."""
    done: set[int] = set()
    for node in file.predicates:
        scope = file.scopes.of(node)
        if has_tdev(file, scope, node) or _will_have_tdev(file, scope, node):
            continue
        own = first_torch_import(file, file.piece(node))
        if own is None and file.resolver.imported(scope, file.tdev) is not None:
            continue  # a cell that relies on another one for torch does so for tdev
        near = (own, first_torch_import(file))
        anchor = next((a for a in near if a is not None and at_module_level(file, a)), None)
        if anchor is not None:
            insert(file, file.tree.statement(anchor), anchor, "")
            continue
        around = _torchs_import_around(file, scope)
        if around is not None and around.statement is not None:
            insert(file, file.tree.statement(around.statement), around.statement, "")
            continue
        function = _function_of(scope)
        if function is not None and (_imports_torch_lazily(file) or _is_given_torch(file)):
            # The file keeps torch out of its own import, or runs without it; tdev must not bring it in.
            if id(function) not in done:
                done.add(id(function))
                insert_in_function(file, function)
            continue
        insert_at_top(file)
        return


def _will_have_tdev(file: File, scope: Scope, node: cst.CSTNode) -> bool:
    """Tell whether ``import tdev`` is being added beside a torch import that this scope sees."""
    if file.options.style != "explicit" or file.pieces:
        return False
    return any(
        binding in scope.lookup(binding.name) and not file.for_checkers_only(binding)
        for binding in file.wanted
    )


def _function_of(scope: Scope) -> cst.FunctionDef | None:
    here: Scope | None = scope
    while here is not None:
        if isinstance(here.node, cst.FunctionDef):
            return here.node
        here = here.parent
    return None


def _torchs_import_around(file: File, scope: Scope) -> Binding | None:
    """Return the import of torch in a function around the one of this scope, which runs before it is called."""
    outer = scope.parent
    while outer is not None:
        if isinstance(outer.node, cst.FunctionDef):
            for binding in every_binding(file):
                if binding.scope is outer and (binding.target, binding.kind) == ("torch", "import"):
                    return binding
        outer = outer.parent
    return None


def _is_given_torch(file: File) -> bool:
    """Tell whether a file has torch from another module, which may have none: ``from .compat import has_torch, torch``.

    What a module of the tree surely has is torch's own by now.
    """
    return any(
        b.name == "torch" and b.kind == "from" and b.target != "torch" for b in every_binding(file)
    )


def _imports_torch_lazily(file: File) -> bool:
    return any(
        (b.target or "").split(".")[0] == "torch" and b.scope.parent is not None
        for b in every_binding(file)
    )
