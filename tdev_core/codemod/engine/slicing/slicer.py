"""Takes the slice of a file that the rules can see, before libcst parses it.

libcst takes twenty times as long over a file as Python's own parser, and a thousand bytes of memory
for each byte of it, while a file that names CUDA does so in one statement of ten. So Python's parser
says where the statements are (:mod:`.layout`), those that may matter are marked (:mod:`.marking`), and
the rest is cut out (:mod:`.cutting`). The engine's tree puts every node at its place in the whole text,
so that rules, edits and findings know nothing of it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tdev_core.codemod.engine.api import Names, WholeTextNeeded
from tdev_core.codemod.engine.python.known import Known
from tdev_core.codemod.engine.python.tree import parse
from tdev_core.codemod.engine.slicing.cutting import Cut, Cutter
from tdev_core.codemod.engine.slicing.layout import Layout
from tdev_core.codemod.engine.slicing.marking import mark
from tdev_core.codemod.engine.slicing.seeds import Seeds
from tdev_core.codemod.engine.slicing.syntax import below
from tdev_core.codemod.engine.vocabulary import may_be_kept

# What a script calls is compiled with it, whether or not a rule starts from it.
# The pattern begins with a literal, which `re` looks for many times faster than for a boundary.
_SCRIPTS = re.compile(
    r"jit(?<!\wjit)(?:\s*\.\s*(?:script|export|is_scripting)|(?<=torch\.jit)\s+import\b)"
)
_COMPILE = ("script", "export", "is_scripting", "*")


@dataclass(frozen=True)
class Slice:
    """A shorter text, the spans of the whole one that are not in it, and what stands there."""

    text: str
    cuts: tuple[Cut, ...]
    left_out: tuple[ast.AST, ...]
    statements: tuple[int, ...]
    """The offsets at which an outermost statement starts a line of its own."""
    tree: ast.Module
    """Python's tree of the whole text."""

    def leaves_out_use(self, name: str) -> bool:
        """Tell whether a statement that was left out uses ``name``, which none of them binds.

        Raises :class:`WholeTextNeeded` where that cannot be said without the scopes of the whole
        text, or where only a string holds the name.
        """
        used = said = False
        prose: set[ast.AST] = set()
        for node in below(*self.left_out):
            if isinstance(node, ast.Name):
                if node.id == name:
                    if not isinstance(node.ctx, ast.Load):
                        raise WholeTextNeeded
                    used = True
            elif isinstance(node, ast.Constant):
                if isinstance(node.value, str) and name in node.value and node not in prose:
                    said = True
            elif isinstance(node, ast.Expr):
                prose.add(node.value)
            elif isinstance(node, ast.arg) and node.arg == name:
                raise WholeTextNeeded
        if said and not used:
            raise WholeTextNeeded
        return used


def take_slice(
    source: str, names: Names, marks: tuple[str, ...] = (), known: Known | None = None
) -> Slice | None:
    """Return the part of a text that the rules can see; None where nothing goes or Python cannot parse it.

    ``marks`` are what comments say on lines that stay, besides the engine's own; ``known`` what other files tell.
    ``source`` has no byte order mark and no line end but ``\\n`` and ``\\r\\n``.
    """
    if may_be_kept(source, marks):
        return None  # comments protect lines, and go with the statements around them
    scripts = "jit" in source and _SCRIPTS.search(source) is not None
    try:
        tree = parse(source)
        if scripts and any(map(_compiles, ast.walk(tree))):
            return None
        seeds, layout = Seeds.of(names), Layout(source, tree)
        cutter = Cutter(layout, seeds)
        cuts = cutter.cuts(tree.body, mark(layout, seeds, known or Known()))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    layout.forget()
    if not cuts:
        return None
    pieces, at = [], 0
    for start, end, text in cuts:
        pieces += [source[at:start], text]
        at = end
    text = "".join([*pieces, source[at:]])
    return Slice(text, cuts, tuple(cutter.left_out), tuple(_lines(tree, layout)), tree)


def _compiles(node: ast.AST) -> bool:
    """Tell whether a node names TorchScript's compiler; a docstring or an error may, too."""
    match node:
        case ast.Attribute(attr=name, value=ast.Name(id=owner) | ast.Attribute(attr=owner)):
            return owner == "jit" and name.startswith(_COMPILE)
        case ast.ImportFrom(module="torch.jit", names=names):
            # `Final` and its like say something of what is compiled elsewhere, if anywhere.
            return any(alias.name.startswith(_COMPILE) for alias in names)
        case _:
            return False


def _lines(tree: ast.Module, layout: Layout) -> Iterator[int]:
    """Yield the offsets at which an outermost statement starts a line, which goes on none above."""
    for node in tree.body:
        start = layout.unit_of[node].start
        if not start:
            yield start
        elif layout.source[start - 1] == "\n":
            if not layout.source[max(0, start - 3) : start].rstrip().endswith("\\"):
                yield start
