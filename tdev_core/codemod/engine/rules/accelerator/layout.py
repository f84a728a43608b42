"""Writes what is planned as a person would: one variable for the device of a function, no line too long.

The last pass of the target. Where a function or a script asks for the current accelerator more than once,
it is asked once, in front of the first statement that needs it, or taken from the variable that the code
keeps it in already. A line that would pass the project's length is broken; one that cannot be is left as it
is, with its file, and reported. Of two statements that become one, one stays.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from dataclasses import replace
from functools import cached_property

import libcst as cst

from tdev_core.codemod.engine.file import Change, File
from tdev_core.codemod.engine.rules.accelerator.rules import ACCELERATOR
from tdev_core.codemod.engine.rules.accelerator.whole import leave
from tdev_core.codemod.engine.rules.accelerator.wrapping import broken_before_an_operand, wrapped

_CURRENT = re.compile(r"(?<![\w.])\w+\.accelerator\.current_accelerator\(\)")
_NAMES = ("device", "accelerator", "current_device")
_TYPE_NAMES = ("accelerator", "device", "current_device")
_LOOPS = (cst.For, cst.While)
_FAR = 60
"""Lines after which nobody remembers what a variable is that is not used again."""
_SHORTEST = 79
"""Columns that a line may have where the project says nothing: PEP 8's."""
_WIDTHS = (79, 88, 100, 120)


def lay_out(file: File) -> None:
    """Bring what is planned into the form in which it is written."""
    if not file.changes:
        return
    limit = file.options.line_length or usual_length(file.tree.source)
    layout = _Layout(file, limit)
    while too_long := layout.write():
        line = file.tree.position(too_long[0].start)[0]
        why = f"line {line} would be longer than {limit} columns; break it by hand"
        planned = len(file.changes)
        leave(file, [too_long[0].start], why)
        if len(file.changes) == planned:
            file.changes.clear()
        layout = _Layout(file, limit)
    file.changes = {(c.start, c.end): c for c in layout.changes}


def fit_lines(file: File) -> None:
    """Break the lines that tdev's words made longer than the project's are: ``th.`` and its like are shorter."""
    if not any(
        any(longer in c.text for longer in _LONGER)
        or c.text == file.tdev
        and len(c.text) > c.end - c.start
        for c in file.changes.values()
    ):
        return
    layout = _Layout(file, file.options.line_length or usual_length(file.tree.source))
    layout.wrap(comments=True)
    file.changes = {(c.start, c.end): c for c in layout.changes}


def join_lines(file: File) -> None:
    """Write on one line what a formatter had broken for a letter, where ``tdev`` is shorter than ``torch``.

    Where no length is configured, it is that of the formatter that the file fits.
    """
    if not file.changes or file.pieces:
        return
    layout = _Layout(file, file.options.line_length)
    layout.join()
    file.changes = {(c.start, c.end): c for c in layout.changes}


_LONGER = ("is_accelerator(", "answers_cuda(", "tdev.standins.", "device(")


def usual_length(source: str) -> int:
    """Return how long the lines of a file are, but for a few: a link, a table.

    Texts and comments do not count: no formatter breaks them.
    """
    code = _TEXTS.sub(_without_lines, source)
    lengths = sorted(map(len, code.splitlines()))
    usual = lengths[-1 - len(lengths) // 200] if lengths else 0
    longest = lengths[-1] if lengths else 0
    fits = next((width for width in _WIDTHS if usual <= width), longest)
    return max(_SHORTEST, min(fits, longest))


def _formatters(source: str) -> int:
    """Return the least of these lengths that all of a file's code keeps; 0 where it keeps none."""
    # Without its texts a line is no longer than with them, and most files need not be taken apart to see it.
    if max(map(len, source.splitlines()), default=0) <= _WIDTHS[0]:
        return _WIDTHS[0]
    code = _TEXTS.sub(_without_lines, source)
    longest = max(map(len, code.splitlines()), default=0)
    return next((width for width in _WIDTHS if longest <= width), 0)


_TEXTS = re.compile(
    r"""("{3}|'{3})(?:\\.|.)*?\1|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[ \t]*\#[^\n]*""",
    re.DOTALL,
)
_LONG = 20


def _without_lines(text: re.Match[str]) -> str:
    """Return a text that does not count as its ends of lines alone, and a short one as it is."""
    short = len(text[0]) < _LONG and text[1] is None and "#" not in text[0]
    return text[0] if short else "\n" * text[0].count("\n")


_LINE_END = re.compile(r"\r\n|\r|\n")


class _Layout:
    """One attempt to write all that is planned; ``changes`` is how."""

    def __init__(self, file: File, limit: int | None) -> None:
        self.file = file
        self._limit = limit
        self.changes = file.flattened()
        kinds = (cst.SimpleStatementLine, cst.BaseCompoundStatement)
        found = [n for n in _statements(file.tree.module, file) if isinstance(n, kinds)]
        self._statements = sorted(((_start(file, n), n) for n in found), key=lambda pair: pair[0])

    @cached_property
    def limit(self) -> int:
        """The longest that a line may be: where nobody says so, what the formatter allows that the file fits; 0 where it fits none."""
        # Looked for where it is asked: for that, all texts of a file are taken apart.
        return self._limit or _formatters(self.file.tree.source)

    def write(self) -> list[Change]:
        """Write it, and return the changes whose lines stay too long."""
        self._drop_duplicates()
        groups = self._groups()
        for (home, _), uses in groups.items():
            if sum(len(_CURRENT.findall(c.text)) for c in uses) > 1:
                self._share(home, uses)
        long = self._clumsy()
        for (home, _), uses in groups.items():
            again = [c for c in long if any(c.start == use.start for use in uses)]
            # A module's names are read by others: one for a shorter line is not worth it. Nor is one
            # for a single type, which may be None where it is asked by itself.
            shared = len(again) > 1 or any(".type" not in change.text for change in again)
            if shared and home is not self.file.tree.module:
                self._share(home, again)
        self.wrap()
        return self._too_long()

    # -- one variable ---------------------------------------------------------------------

    def _groups(self) -> dict[tuple[cst.CSTNode, int], list[Change]]:
        """Return the changes that ask for the current accelerator, by the function, or the cell, they are in."""
        groups: dict[tuple[cst.CSTNode, int], list[Change]] = {}
        for change in self.changes:
            if _CURRENT.search(change.text):
                home = self._home(change)
                if home is not None:
                    # Cells of a notebook are run in any order: each asks for itself.
                    piece = self.file.piece(self._chain(change)[0])
                    groups.setdefault((home, piece), []).append(change)
        return groups

    def _chain(self, change: Change) -> list[cst.CSTNode]:
        """Return the innermost statement around a change, and what is around that."""
        tree = self.file.tree
        for start, node in reversed(self._statements):
            if start <= change.start and change.end <= tree.span(node)[1]:
                return [node, *tree.ancestors(node)]
        return [tree.module]

    def _home(self, change: Change) -> cst.CSTNode | None:
        """Return the innermost function around a change, or the module; None in a class or a header."""
        for node in self._chain(change):
            if isinstance(node, cst.FunctionDef):
                low, high = self.file.tree.span(node.body)
                return node if low <= change.start < high else None
            if isinstance(node, cst.ClassDef):
                return None
        return self.file.tree.module

    def _share(self, home: cst.CSTNode, uses: list[Change]) -> None:
        """Have ``uses`` share one variable."""
        found = _CURRENT.search(uses[0].text)
        if found is None:
            return
        current = found.group()
        uses = [c for c in uses if all(m == current for m in _CURRENT.findall(c.text))]
        kept = self._kept_in(home, uses, current)
        if kept is not None:
            name, after = kept
            self._rename([c for c in uses if c.start > after], current, name)
            return
        place = self._place(home, uses)
        name = self._free_name(home, uses, current)
        if place is None or not name:
            return
        at, indent = place
        self._rename(uses, current, name)
        line = f"{indent}{name} = {current}{self.file.tree.newline}"
        if len(line.rstrip()) > self.limit:
            return
        first = next((c for c in self.changes if c.start == at), None)
        if first is not None:  # at the start of its line
            self._put(first, replace(first, text=line + first.text))
        else:
            self.changes.append(Change(at, at, line, ACCELERATOR.id))
            self.changes.sort(key=lambda c: (c.start, c.end))

    def _rename(self, uses: list[Change], current: str, name: str) -> None:
        for use in uses:
            self._put(use, replace(use, text=use.text.replace(current, name)))

    def _put(self, old: Change, new: Change) -> None:
        self.changes[self.changes.index(old)] = new

    def _kept_in(
        self, home: cst.CSTNode, uses: list[Change], current: str
    ) -> tuple[str, int] | None:
        """Return the variable in which the code keeps the device already, for all uses after that."""
        tree = self.file.tree
        for use in uses:
            if use.text != current:
                continue
            line, *above = self._chain(use)
            if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
                continue
            assign = line.body[0]
            if not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
                continue
            target = assign.targets[0].target
            if not isinstance(target, cst.Name) or tree.span(assign.value) != (use.start, use.end):
                continue
            text = tree.text(home) if home is not tree.module else tree.source
            bound = rf"(?m)^\s*{target.value}\s*(?:=(?!=)|:|,|\+=)|\b(?:for|as|def|global|nonlocal)\s+{target.value}\b"
            if len(re.findall(bound, text)) != 1:
                continue
            after = [c for c in uses if c.start > use.start]
            if after and all(above[0] in self._chain(c) for c in after):
                return target.value, use.start
        return None

    def _place(self, home: cst.CSTNode, uses: list[Change]) -> tuple[int, str] | None:
        """Return where a variable is set for all uses: an offset at the start of a line, and its indent."""
        tree = self.file.tree
        chains = [list(reversed(self._chain(c))) for c in uses]
        block: cst.CSTNode | None = None
        looped = False
        for node in chains[0]:
            if not all(node in chain for chain in chains):
                break
            looped = looped or isinstance(node, _LOOPS)
            if isinstance(node, (cst.IndentedBlock, cst.Module)) and not looped:
                block = node
        inside = home.body if isinstance(home, cst.FunctionDef) else home
        if (
            block is None
            or inside not in chains[0]
            or chains[0].index(block) < chains[0].index(inside)
        ):
            return None
        first = chains[0][chains[0].index(block) + 1]
        start = _start(self.file, first)
        row, column = tree.position(start)
        indent = tree.line_text(row)[: column - 1]
        if indent.strip() or not self._has_torch(uses[0], start):
            return None
        if tree.position(uses[-1].start)[0] - row > _FAR * (len(uses) - 1):
            return None
        # Above the comment that is about the statement.
        while row > 1 and re.match(rf"{indent}#(?!.*\btdev-cut)", tree.line_text(row - 1)):
            row -= 1
        return tree.line_start(row), indent

    def _has_torch(self, use: Change, at: int) -> bool:
        """Tell whether torch is certainly there at an offset."""
        found = _CURRENT.search(use.text)
        assert found is not None
        name = found.group().partition(".")[0]
        scope = self.file.scopes.of(self._chain(use)[0])
        bindings = scope.lookup(name)
        return bool(bindings) and all(
            b.target is not None
            and (b.scope.parent is None or b.scope.node is self._chain(use)[-1])
            and self.file.tree.span(b.node)[1] <= at
            for b in bindings
        )

    def _free_name(self, home: cst.CSTNode, uses: list[Change], current: str) -> str:
        """Return a name for the device that is used for nothing else there; empty if all are."""
        tree = self.file.tree
        source = tree.source if isinstance(home, cst.Module) else tree.text(home)
        typed = all(use.text.count(current) == use.text.count(f"{current}.type") for use in uses)
        for name in _TYPE_NAMES if typed else _NAMES:
            # Not as an attribute, nor as the name of an argument.
            if re.search(rf"(?<![\w.\"'-]){name}(?![\w\"'])(?!=[^=])", source):
                continue
            if re.search(rf"def\s+\w+\([^)]*\b{name}\b|lambda[^:\n]*\b{name}\b", source):
                continue
            return name
        return ""

    # -- statements that become one ------------------------------------------------------------

    def _drop_duplicates(self) -> None:
        """Take out a statement that has become the same as the one before it, and was another."""
        tree = self.file.tree
        lines = [n for _, n in self._statements if isinstance(n, cst.SimpleStatementLine)]
        texts: dict[cst.CSTNode, str] = {}
        for one, two in zip(lines, lines[1:], strict=False):
            low, high = tree.span(one), tree.span(two)
            row, column = tree.position(high[0])
            if tree.position(low[1])[0] + 1 != row or tree.position(low[0])[1] != column:
                continue
            if tree.parents[one] is not tree.parents[two] or not _is_call(one):
                continue
            inside = [c for c in self.changes if high[0] <= c.start and c.end <= high[1]]
            if not inside or tree.text(_called(one)) == tree.text(_called(two)):
                continue
            texts[one], texts[two] = (
                texts.get(n) or self._written(tree.span(n)) for n in (one, two)
            )
            if texts[one] == texts[two]:
                self.changes = [c for c in self.changes if c not in inside]
                start = tree.line_start(row)
                end = tree.line_start(row + 1) if row < tree.line_count else len(tree.source)
                self.changes.append(Change(start, end, "", ACCELERATOR.id))
                self.changes.sort(key=lambda c: (c.start, c.end))

    def _written(self, span: tuple[int, int]) -> str:
        source, at = self.file.tree.source, span[0]
        pieces = []
        for index in range(bisect_left(self.changes, span[0], key=_begins), len(self.changes)):
            change = self.changes[index]
            if change.start > span[1]:
                break
            if change.end <= span[1]:
                pieces += [source[at : change.start], change.text]
                at = change.end
        return "".join([*pieces, source[at : span[1]]])

    # -- lines ----------------------------------------------------------------------------

    def _regions(self) -> list[tuple[tuple[int, int], list[Change]]]:
        """Return the lines that changes touch, with those changes."""
        tree = self.file.tree
        regions: list[tuple[tuple[int, int], list[Change]]] = []
        for change in self.changes:
            first, last = tree.position(change.start)[0], tree.position(change.end)[0]
            if change.start == change.end or change.text == "":
                continue
            low, high = tree.line_start(first), tree.line_start(last) + len(tree.line_text(last))
            if regions and low < regions[-1][0][1]:
                span, inside = regions[-1]
                regions[-1] = (span[0], max(span[1], high)), [*inside, change]
            else:
                regions.append(((low, high), [change]))
        return regions

    def _allowed(self, span: tuple[int, int]) -> int:
        """Return how long lines may be: where one was too long before, as long as the longest of the file."""
        before = max(map(len, _LINE_END.split(self.file.tree.source[slice(*span)])))
        return self.limit if before <= self.limit else self._longest

    @cached_property
    def _longest(self) -> int:
        lines = _LINE_END.split(self.file.tree.source)
        return max(len(line) for line in lines if "# tdev:" not in line)

    def _too_long(self) -> list[Change]:
        long = []
        for span, inside in self._regions():
            if max(map(len, _LINE_END.split(self._written(span)))) > self._allowed(span):
                long += inside
        return long

    def _clumsy(self) -> list[Change]:
        """Return the changes of lines that could not be broken, or only into many."""
        clumsy = []
        for span, inside in self._regions():
            for line in _LINE_END.split(self._written(span)):
                if len(line) > self._allowed(span):
                    if len(wrapped(line, self.limit, self._goes_on(inside)) or [""] * 9) > 1:
                        clumsy += [c for c in inside if _CURRENT.search(c.text)]
                        break
        return clumsy

    def _goes_on(self, inside: list[Change]) -> bool:
        """Tell whether the line of changes is in brackets that an earlier line opened."""
        row = self.file.tree.position(inside[0].start)[0]
        statement = self._chain(inside[0])[0]
        return self.file.tree.position(_start(self.file, statement))[0] < row

    def join(self) -> None:
        """Join a line with those around it that hold its brackets alone, where the three fit now and did not.

        It is the one inside, or the one that opens them: ``state = tdev.load(``.
        """
        tree = self.file.tree
        for span, inside in self._regions():
            text = self._written(span).rstrip("\r\n")
            row, last = (tree.position(at)[0] for at in (inside[0].start, inside[-1].end))
            if row != last or _LINE_END.search(text):
                continue
            for first in (row - 1, row):
                if first < 1 or first + 2 > tree.line_count:
                    continue
                now = [tree.line_text(first + at).rstrip("\r\n") for at in range(3)]
                low, high = tree.line_start(first), tree.line_start(first + 2) + len(now[2])
                around = [c for c in self.changes if low <= c.start and c.end <= high]
                then = [*now]
                then[row - first] = text
                if around != inside or then[1].rstrip().endswith(",") or "#" in "".join(then):
                    continue
                after = _joined(*then)
                fits = len(after) <= self.limit < len(_joined(*now))
                if fits and self._ends_of_texts.isdisjoint((first, first + 1)):
                    self.changes = [c for c in self.changes if c not in inside]
                    self.changes.append(Change(low, high, after, inside[0].rule))
                    self.changes.sort(key=_begins)
                    break
            else:
                self._join_block(row)

    def _join_block(self, row: int) -> None:
        """Join the parts in a bracket that have a line each, where they fit on one now and did not: ``a``, ``if b``, ``else c``."""
        tree = self.file.tree
        indent = _indent(tree.line_text(row))
        top, bottom = row - 1, row + 1
        while top >= 1 and row - top < _TALL and _indent(tree.line_text(top)) >= indent:
            top -= 1
        while bottom < tree.line_count and bottom - row < _TALL:
            if _indent(tree.line_text(bottom)) < indent:
                break
            bottom += 1
        if top < 1 or bottom - top < 3 or bottom > tree.line_count:
            return
        low = tree.line_start(top)
        high = tree.line_start(bottom) + len(tree.line_text(bottom).rstrip("\r\n"))
        now = _LINE_END.split(tree.source[low:high])
        then = _LINE_END.split(self._written((low, high)))
        inner = then[1:-1]
        if len(then) != len(now) or "#" in "".join(then) or inner[-1].rstrip().endswith(","):
            return
        if "\r" in tree.source[low:high] or any(_indent(line) != indent for line in inner):
            return
        inside = [c for c in self.changes if low <= c.start and c.end <= high]
        if not inside or inside[0].start < tree.line_start(top + 1):
            return
        before, after = (" ".join(map(str.strip, lines[1:-1])) for lines in (now, then))
        if _OPENS.match(then[0]) is None or then[-1].strip()[:1] not in tuple(")]}"):
            return
        if indent + len(after) <= self.limit < indent + len(before):
            if self._ends_of_texts.isdisjoint(range(top, bottom)):
                low, high = tree.line_start(top + 1), tree.line_start(bottom)
                self.changes = [c for c in self.changes if c not in inside]
                text = " " * indent + after + tree.source[high - 1 : high]
                self.changes.append(Change(low, high, text, inside[0].rule))
                self.changes.sort(key=_begins)

    @cached_property
    def _ends_of_texts(self) -> frozenset[int]:
        """The rows whose end a string may hold, which is no layout."""
        python = self.file.python
        return frozenset(
            row
            for node in (python.everything if python is not None else ())
            if isinstance(node, (ast.Constant, ast.JoinedStr))
            for row in range(node.lineno, node.end_lineno or node.lineno)
        )

    @cached_property
    def _hangs(self) -> bool:
        """Whether the file has what YAPF and people make of a long call, and nowhere a line with a closing bracket alone."""
        source = self.file.tree.source
        return _CLOSES_ALONE.search(source) is None and _GOES_ON.search(source) is not None

    def wrap(self, *, comments: bool = False) -> None:
        """Break the lines that are too long, where that can be done; ``comments`` at their ends go above."""
        for span, inside in self._regions():
            text = self._written(span)
            ends = _LINE_END.findall(text)  # a file may have several kinds
            newline = ends[0] if ends else self.file.tree.newline
            lines = _LINE_END.split(text)
            broken: list[str] = []
            for line in lines:
                if len(line) > self._allowed(span):
                    above, line = _comment_apart(line) if comments else ([], line)
                    better = wrapped(line, self.limit, self._goes_on(inside))
                    if better is None and comments:
                        after = text.partition(line)[2] + self.file.tree.source[span[1] :]
                        after = after.lstrip("\r\n").partition("\n")[0]
                        better = broken_before_an_operand(line, after, self.limit)
                    if better is None:
                        break
                    if comments and self._hangs:
                        better = _hung(better, self.limit)
                    broken += [*above, *better]
                else:
                    broken.append(line)
            else:
                if broken != lines:
                    low, high = span[0], span[1]
                    self.changes = [c for c in self.changes if c not in inside]
                    made = Change(low, high, newline.join(broken), inside[0].rule)
                    self.changes.append(made)
                    self.changes.sort(key=lambda c: (c.start, c.end))


_TALL = 6
"""Lines that a bracket may have to be joined."""


def _indent(line: str) -> int:
    """Return how far a line is indented; an empty one further than any."""
    return len(line) - len(line.lstrip()) if line.strip() else _LONGEST


_LONGEST = 1 << 20
_CLOSES_ALONE = re.compile(r"^[ \t]*[)\]}]+[:,]?[ \t]*$", re.MULTILINE)
# A call whose arguments start in its line, and go on in the next.
_GOES_ON = re.compile(r"\w\([^\s()#\"'][^()#\"'\n]*,[ \t]*\n[ \t]+[^\n]*\)", re.MULTILINE)
_CONDITION = re.compile(r"([ \t]*)(?:if|elif|while) \(\Z")


def _hung(lines: list[str], limit: int) -> list[str]:
    """Return a broken condition as YAPF has it, without lines for its brackets: ``if (not a`` and ``and b):``."""
    head = _CONDITION.match(lines[0])
    if head is None or lines[-1].strip() != "):" or len(lines) < 4:
        return lines
    first, *rest = (line.strip() for line in lines[1:-1])
    rest[-1] += "):"
    hung = [lines[0] + first, *(f"{head[1]}{' ' * 8}{line}" for line in rest)]
    return hung if max(map(len, hung)) <= limit else lines


_OPENS = re.compile(r"(?P<head>.*\S[ \t]*)(?P<bracket>[(\[{])\Z")
# Brackets that a formatter put there for the break alone.
_FOR_THE_BREAK = re.compile(
    r".*[^=!<>:]=[ \t]*\Z|[ \t]*(?:return|assert|if|elif|while|for\b.*\bin)[ \t]*\Z"
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def _joined(above: str, text: str, below: str) -> str:
    """Return three lines as one; nothing where the outer two are not the brackets of the one inside."""
    opened = _OPENS.match(above)
    if opened is None or not below.lstrip().startswith(_CLOSING[opened["bracket"]]):
        return ""
    inner, rest = text.strip(), below.strip()[1:]
    whole, bare = f"{above}{inner}{below.strip()}", f"{opened['head']}{inner}{rest}"
    if opened["bracket"] == "(" and rest in ("", ":") and _FOR_THE_BREAK.match(opened["head"]):
        return bare if _say_the_same(whole, bare) else whole
    return whole


def _say_the_same(one: str, other: str) -> bool:
    """Tell whether two lines are one statement, of which the brackets are no tuple's."""
    try:
        parsed = [
            ast.parse(
                re.sub(r"\Aelif\b", "if", line.strip()) + (" pass" if line.endswith(":") else "")
            )
            for line in (one, other)
        ]
    except SyntaxError:
        return False
    if any(isinstance(part, ast.Tuple) for part in ast.walk(parsed[0])):
        return False
    return ast.dump(parsed[0]) == ast.dump(parsed[1])


def _comment_apart(line: str) -> tuple[list[str], str]:
    """Return a line's comment as a line of its own, and the line without it."""
    code, mark, said = line.rpartition("  #")
    if (
        not mark
        or "'" in said
        or '"' in said
        or re.match(r"\s*(?:noqa|type:|pragma|pylint|tdev)", said)
    ):
        return [], line
    indent = line[: len(line) - len(line.lstrip())]
    return [f"{indent}#{said}"], code.rstrip()


def _begins(change: Change) -> int:
    return change.start


def _statements(module: cst.Module, file: File) -> list[cst.CSTNode]:
    return file.tree.of(
        cst.SimpleStatementLine,
        cst.If,
        cst.For,
        cst.While,
        cst.With,
        cst.Try,
        cst.FunctionDef,
        cst.ClassDef,
    )


def _start(file: File, node: cst.CSTNode) -> int:
    """Return where a statement starts, with its decorators."""
    starts = [file.tree.span(d)[0] for d in getattr(node, "decorators", ())]
    return min([file.tree.span(node)[0], *starts])


def _called(line: cst.SimpleStatementLine) -> cst.CSTNode:
    """Return the function of a statement that is a call; the statement itself if it is none."""
    value = line.body[0].value if isinstance(line.body[0], cst.Expr) else None
    return value.func if isinstance(value, cst.Call) else line


def _is_call(line: cst.SimpleStatementLine) -> bool:
    return (
        len(line.body) == 1
        and isinstance(line.body[0], cst.Expr)
        and isinstance(line.body[0].value, cst.Call)
    )
