"""Puts an import of tdev where a sorted run of imports has it.

isort, usort and ruff sort a run by module, with ``import x`` before ``from x import y`` or among them. An
import that was torch's and becomes tdev's has another place there: before those of torch, and of what stands
between the two in the alphabet. Where the run is not sorted, it stays where it is.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePath

from tdev_core.codemod.engine.file import Change, File, Line, Move
from tdev_core.codemod.engine.python.lines import Span
from tdev_core.codemod.engine.python.tree import PythonTree

STDLIB = sys.stdlib_module_names

_Import = ast.Import | ast.ImportFrom
Key = tuple[bool, str]


def planned(file: File, statement: Span, edit: Change, module: str, plain: bool) -> None:
    """Note an edit that makes an import tdev's; :func:`settle` does it. ``plain`` for ``import x``."""
    if all(move.edit != edit for move in file.import_moves):
        file.import_moves.append(Move(statement, edit, (not plain, module.lower())))


def place(file: File, offset: int, module: str) -> int:
    """Return where ``import module`` belongs in the sorted run of imports of the line at ``offset``.

    Where nothing tells, that is this line.
    """
    run = _run(file, offset)
    moved = {file.tree.position(move.statement[0])[0] for move in file.import_moves}
    order = _order(run)
    if order is not None:
        for node in _after_the_library(run):
            if node.lineno not in moved and order(_key(node)) > order((False, module)):
                at = file.tree.line_start(node.lineno)
                # Where the sorted part begins amid a package's imports, it is no place to part those.
                amid = node is run[0] and _is_amid_a_package(file, node)
                return offset if amid else min(offset, at)
    return offset


def _is_amid_a_package(file: File, node: _Import) -> bool:
    """Tell whether the line above an import has one of the same package."""
    body = file.python.module.body if file.python is not None else []
    above = next((each for each in body if each.end_lineno == node.lineno - 1), None)
    if not isinstance(above, (ast.Import, ast.ImportFrom)):
        return False
    tops = {_module(each).partition(".")[0] for each in (above, node)}
    return len(tops) == 1


def _after_the_library(run: list[_Import]) -> list[_Import]:
    """Return the imports of a run without Python's own library, where those come first: nothing goes among them."""
    own = [(_key(node)[1].partition(".")[0] in STDLIB) for node in run]
    first = own.index(False) if False in own else len(own)
    return run if any(own[first:]) else run[first:]


def among(file: File, offset: int, module: str) -> int:
    """Return where ``import module`` belongs in the sorted run of imports that begins at ``offset``, its end included."""
    whole = _run(file, offset)
    run = [node for node in whole if file.tree.line_start(node.lineno) >= offset]
    # One alone is in order.
    order = _apart if len(whole) == 1 else _order(run)
    if order is None:
        return offset
    for node in run:
        if order(_key(node)) > order((False, module)):
            return file.tree.line_start(node.lineno)
    last = run[-1].end_lineno or run[-1].lineno
    return file.tree.line_start(last) + len(file.tree.line_text(last))


def set_apart(file: File, offset: int, text: str, rule: str) -> bool:
    """Note an import of tdev for the line at ``offset`` that goes to another section than torch's; :func:`settle` puts it.

    False where the project has none such, or does not keep to its sections there.
    """
    if file.options.sections is None or not _block_in_sections(file, offset):
        return False
    line = Line(offset, _line_key(text), text, rule)
    if all(each.text != text for each in file.set_apart):
        file.set_apart.append(line)
    return True


def ends_its_section(file: File, offset: int) -> bool:
    """Tell whether an import of tdev above the line at an offset, in a function, is the last of its section: torch's comes next."""
    sections = file.options.sections
    if sections is None or not _OF_TORCH.match(file.tree.source, offset):
        return False
    below = sections.of("torch")
    return _rank(file, "tdev") < _rank(file, "torch") and below not in sections.close


_OF_TORCH = re.compile(r"[ \t]*(?:import|from)[ \t]+torch\b")


def settle(file: File) -> None:
    """Do what is noted: in its line where the run of imports is sorted then, else in its place among the others."""
    if file.options.sections is not None:
        _part(file)
    moves = {file.tree.position(move.statement[0])[0]: move for move in file.import_moves}
    while moves:
        _, first = next(iter(moves.items()))
        run = _run(file, first.statement[0])
        mine = {row: moves.pop(row) for row in [n.lineno for n in run] if row in moves}
        if not mine:
            mine = {row: m for row, m in moves.items() if m is first}
            del moves[next(iter(mine))]
        order = _order(run)
        if order is None:
            _in_place(file, list(mine.values()))
        else:
            _sorted(file, run, mine, order)


Order = Callable[[Key], Key]


def _apart(key: Key) -> Key:
    return key


def _among(key: Key) -> Key:
    return False, key[1]


def _key(node: _Import) -> Key:
    plain = isinstance(node, ast.Import)
    name = node.names[0].name if isinstance(node, ast.Import) else node.module or ""
    return not plain, name.lower()


def _order(run: list[_Import]) -> Order | None:
    """Tell how a run is sorted: ``import x`` before ``from x import y`` or among them; None where it is not."""
    keys = [_key(node) for node in run]
    for order in (_apart, _among):
        if len(run) > 1 and keys == sorted(keys, key=order):
            return order
    return None


def _sorted(file: File, run: list[_Import], mine: dict[int, Move], order: Order) -> None:
    kept = [node for node in run if node.lineno not in mine]
    # Where those of the library stand among the others, nothing goes after all of them.
    apart = len(_after_the_library(run)) < len(run) or len(mine) == len(run)
    library = len(kept) - len(_after_the_library(kept)) if apart else 0
    gaps: dict[int, list[tuple[int, Move]]] = {}
    for row, move in mine.items():
        after = max(library, sum(order(_key(node)) <= order(move.key) for node in kept))
        gaps.setdefault(after, []).append((row, move))
    for after, here in gaps.items():
        low = kept[after - 1].lineno if after else 0
        high = kept[after].lineno if after < len(kept) else 1 << 40
        there = [row for row in mine if low < row < high]
        if [row for row, _ in sorted(here, key=lambda each: order(each[1].key))] == there:
            _in_place(file, [move for _, move in here])
            continue
        for row, move in here:
            node = next(n for n in run if n.lineno == row)
            lines = _lines(file, node, move)
            if after == len(kept) or lines is None:
                _in_place(file, [move])
                continue
            start, end = lines
            edit, source = move.edit, file.tree.source
            text = source[start : edit.start] + edit.text + source[edit.end : end]
            file.changes[start, end] = Change(start, end, "", edit.rule, why=edit.why)
            put(file, file.tree.line_start(high), text, edit.rule)


def _block_in_sections(file: File, offset: int) -> list[_Import]:
    """Return the imports at the margin among which the one at an offset stands, empty lines between them; none if out of order."""
    sections, row = file.options.sections, file.tree.position(offset)[0]
    if sections is None or file.python is None or file.pieces:
        return []
    block: list[_Import] = []
    for node in [*file.python.module.body, None]:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            block.append(node)
            continue
        if any(each.lineno == row for each in block):
            break
        block = []
    ranks = [_rank(file, _module(node)) for node in block]
    return block if -1 not in ranks and ranks == sorted(ranks) else []


def _module(node: _Import) -> str:
    if isinstance(node, ast.Import):
        return node.names[0].name
    return "." * node.level + (node.module or "")


def _rank(file: File, module: str) -> int:
    """Return the place of a module's section among those of the project; -1 where it has none."""
    sections, tree = file.options.sections, file.options.tree
    assert sections is not None
    own = {*PurePath(file.filename).parts[:-1], *(tree.modules if tree is not None else ())}
    section = sections.of(module, own)
    return sections.order.index(section) if section in sections.order else -1


def _part(file: File) -> None:
    """Put imports of tdev into their own section, those that were torch's until now included."""
    taken: list[Span] = []
    for move in list(file.import_moves):
        block = _block_in_sections(file, move.statement[0])
        row = file.tree.position(move.statement[0])[0]
        node = next((each for each in block if each.lineno == row), None)
        lines = _lines(file, node, move) if node is not None else None
        if lines is None:
            continue
        edit, source = move.edit, file.tree.source
        text = source[lines[0] : edit.start] + edit.text + source[edit.end : lines[1]]
        if set_apart(file, lines[0], text, edit.rule):
            file.import_moves.remove(move)
            taken.append(lines)
    gone = {file.tree.position(low)[0] for low, _ in taken}
    gone_lines = dict(_joined(taken))
    places: dict[int, tuple[list[Line], bool, bool]] = {}
    for line in file.set_apart:
        block = [n for n in _block_in_sections(file, line.beside) if n.lineno not in gone]
        at, before, after = _place_in_sections(file, block, line)
        places.setdefault(at, ([], before, after))[0].append(line)
    for at, (lines_here, before, after) in places.items():
        text = "".join(each.text for each in sorted(lines_here, key=lambda each: each.key))
        newline = file.tree.newline
        text = newline * before + text + newline * after
        # What goes there, if anything does, makes room for it.
        end = gone_lines.pop(at, at)
        file.changes[at, end] = Change(at, end, text, lines_here[0].rule)
    for low, high in gone_lines.items():
        high = _with_one_empty_line(file, low, high)
        file.changes[low, high] = Change(low, high, "", "import")


def _place_in_sections(file: File, block: list[_Import], line: Line) -> tuple[int, bool, bool]:
    """Return where an import of tdev goes, and whether an empty line comes above and below it."""
    sections, tree = file.options.sections, file.tree
    assert sections is not None
    mine = _rank(file, "tdev")
    order = _among if sections.together else _apart
    places = [(_rank(file, _module(node)), order(_key(node))) for node in block]
    index = sum(each <= (mine, order(line.key)) for each in places)
    if index < len(block) and places[index][0] == mine:
        return tree.line_start(block[index].lineno), False, False
    close = sections.order[mine] in sections.close
    if not index:
        return tree.line_start(block[0].lineno) if block else line.beside, False, bool(block)
    last = block[index - 1].end_lineno or block[index - 1].lineno
    at = tree.line_start(last) + len(tree.line_text(last))
    return at, places[index - 1][0] != mine and not close, False


def _joined(spans: list[Span]) -> list[Span]:
    """Return spans with those that touch made one."""
    found: list[Span] = []
    for low, high in sorted(spans):
        if found and found[-1][1] == low:
            found[-1] = found[-1][0], high
        else:
            found.append((low, high))
    return found


def _with_one_empty_line(file: File, low: int, high: int) -> int:
    """Return the end of lines that go, with the empty line below where there is one above, too."""
    tree = file.tree
    row, last = tree.position(low)[0], tree.position(high)[0]
    above = row == 1 or not tree.line_text(row - 1).strip()
    below = tree.line_text(last) if last <= tree.line_count else "-"
    return high + len(below) if above and not below.strip() else high


def _in_place(file: File, moves: list[Move]) -> None:
    for move in moves:
        file.changes.setdefault((move.edit.start, move.edit.end), move.edit)


def _lines(file: File, node: _Import, move: Move) -> Span | None:
    """Return the lines of an import that can move: it has them to itself, and no other change in them."""
    tree = file.tree
    start, last = tree.line_start(node.lineno), node.end_lineno or node.lineno
    end = tree.line_start(last) + len(tree.line_text(last))
    behind = tree.source[move.statement[1] : end].strip()
    before = tree.source[start : move.statement[0]].strip()
    alone = not before and not (behind and not behind.startswith("#"))
    inside = any(start <= low < end and low != high for low, high in file.changes)
    return (start, end) if alone and not inside and tree.source[end - 1 : end] == "\n" else None


def _run(file: File, offset: int) -> list[_Import]:
    """Return the imports of a block, line upon line, among which one stands; none where it does not."""
    if file.python is None or file.pieces:
        return []
    row = file.tree.position(offset)[0]
    run: list[_Import] = []
    last = 0
    for node in [*_block(file.python, row), None]:
        imports = isinstance(node, (ast.Import, ast.ImportFrom))
        if node is None or not imports or node.lineno != last + 1:
            if any(each.lineno == row for each in run):
                return _sorted_around(run, row)
            run = []
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            run.append(node)
        last = 0 if node is None else node.end_lineno or node.lineno
    return []


def _block(python: PythonTree, row: int) -> list[ast.stmt]:
    """Return the statements among which the import of a row stands: those of the module, or of a function."""
    found = next((node for node in python.imports if node.lineno == row), None)
    if found is None or found in python.module.body:
        return python.module.body
    home = next(python.ancestors(found))
    inside = isinstance(home, (ast.FunctionDef, ast.AsyncFunctionDef))
    return python.block(found) if inside else []


_MANY = 4
"""Imports in order that are no accident."""


def _sorted_around(run: list[_Import], row: int) -> list[_Import]:
    """Return the run, or the part of it around a row that is sorted: imports of the package itself may follow."""
    if _order(run) is not None:
        return run
    at = next(i for i, node in enumerate(run) if node.lineno == row)
    longest = run
    for order in (_apart, _among):
        keys = [order(_key(node)) for node in run]
        low = high = at
        while low and keys[low - 1] <= keys[low]:
            low -= 1
        while high + 1 < len(run) and keys[high] <= keys[high + 1]:
            high += 1
        part = run[low : high + 1]
        if len(part) >= _MANY and (longest is run or len(part) > len(longest)):
            longest = part
    return longest


def put(file: File, at: int, text: str, rule: str) -> None:
    """Plan an insertion of lines, sorted among others at the same place."""
    other = file.changes.get((at, at))
    if other is None:
        file.changes[at, at] = Change(at, at, text, rule)
        return
    lines = sorted([*_statements(other.text), text], key=_line_key)
    file.changes[at, at] = replace(other, text="".join(lines))


def _statements(text: str) -> list[str]:
    """Split what is inserted at one place into its statements again."""
    found: list[str] = []
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith(("import ", "from ")) or not found:
            found.append(line)
        else:
            found[-1] += line
    return found


def _line_key(text: str) -> Key:
    return text.lstrip().startswith("from "), text.split()[1].lower()
