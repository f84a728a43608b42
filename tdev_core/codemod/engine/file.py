"""Holds one file under work: its analysis, and the edits and findings that the rules hand in."""

from __future__ import annotations

import ast
import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import PurePath

import libcst as cst

from tdev_core.codemod.engine.analysis.bindings import Binding
from tdev_core.codemod.engine.analysis.cudas import Cudas
from tdev_core.codemod.engine.analysis.flow import Flow
from tdev_core.codemod.engine.analysis.resolve import Reference, Resolver
from tdev_core.codemod.engine.analysis.scopes import Scopes
from tdev_core.codemod.engine.analysis.scripted import Scripted
from tdev_core.codemod.engine.analysis.tree import Tree
from tdev_core.codemod.engine.api import (
    IMPORT_RULES,
    Edit,
    Finding,
    Names,
    Options,
    Result,
    Rule,
    Severity,
)
from tdev_core.codemod.engine.constants import words_of
from tdev_core.codemod.engine.python.callers import told_alone
from tdev_core.codemod.engine.python.devices import Devices
from tdev_core.codemod.engine.python.known import Known
from tdev_core.codemod.engine.python.lines import Span
from tdev_core.codemod.engine.python.takers import Takers
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.survey import KERNELS, is_test
from tdev_core.codemod.engine.vocabulary import (
    CUTS,
    NOTE,
    kept_by,
    may_be_kept,
    places,
    takes_torch_elsewhere,
    without_prose,
)

_CUDA_C = re.compile(r"__global__[ \t]+(?:__launch_bounds__\([^)\n]*\)[ \t]+)?void\b")
_PATCHED = re.compile(
    r"^[ \t]*(?:>>>|\.\.\.)[^\n]*\bpatch\(\s*[\"'](torch\.cuda\.\w+)", re.MULTILINE
)
_KERNELS = tuple(map(re.compile, KERNELS))


@dataclass(frozen=True)
class Change:
    """A planned replacement of ``[start, end)``; ``inner`` is a span whose own edits survive."""

    start: int
    end: int
    text: str
    rule: str
    inner: Span | None = None
    tail: str = ""
    why: str = ""


@dataclass(frozen=True)
class Question:
    """A question whether something is CUDA's, which only ``--target accelerator`` decides later.

    ``yes`` is false for ``!=``; ``operand`` is what is asked, and ``rule`` and ``said`` what is reported
    where the question stays: nothing where that is done, and it certainly stays.
    """

    node: cst.BaseExpression
    yes: bool
    operand: cst.BaseExpression
    rule: Rule
    said: str = ""


@dataclass(frozen=True)
class Move:
    """An import that becomes tdev's: where it stands, the edit that makes it so, and what it is sorted by then."""

    statement: Span
    edit: Change
    key: tuple[bool, str]


@dataclass(frozen=True)
class Line:
    """An import of tdev on lines of its own, beside the import of torch at ``beside`` for which it is there."""

    beside: int
    key: tuple[bool, str]
    text: str
    rule: str


class File:
    """The file that a rule works on.

    ``uses`` holds the imports that rules need to come from tdev; ``shims`` the nodes that only
    need tdev to be imported somewhere (methods that its shims answer). Unless ``whole``, statements
    that no rule can see are left out of the tree (:mod:`.slicing`).
    """

    def __init__(
        self, source: str, names: Names, options: Options, filename: str, whole: bool = True
    ) -> None:
        self.names = names
        self.options = options
        self.filename = filename
        if options.tree is not None:
            known = Known.of(options.tree)
        else:
            known = Known(told_alone(source), spoken=words_of(source))
        self.tree = Tree(source, None if whole or options.lines else names, options.keep, known)
        torchs = options.tree.torch_of if options.tree is not None else frozenset()
        elsewhere = torchs if takes_torch_elsewhere(source) else frozenset()
        # Whole, for the names by which modules are imported start above the folder that somebody is in.
        folder = PurePath(os.path.abspath(filename)).parent if elsewhere else None
        self.scopes = Scopes(self.tree, elsewhere, folder)
        self.resolver = Resolver(
            self.tree, self.scopes, names, either=options.style != "accelerator"
        )
        self.is_test = is_test(PurePath(filename))
        self.flow = Flow(self.resolver, known)
        self.changes: dict[tuple[int, int], Change] = {}
        self.findings: dict[tuple[str, int, str], Finding] = {}
        self.kernels = 0
        """Those that the file itself writes, and Triton or the like compiles."""
        self.edited_roots: set[cst.CSTNode] = set()
        self.wanted: list[Binding] = []
        """Imports of the module torch itself beside which (or instead of which) tdev is needed."""
        self.aliased: list[Binding] = []
        """Imports of torch, in the explicit style, of a name that another import has made tdev's."""
        self.repointed: list[Binding] = []
        self.left_imports: set[cst.CSTNode] = set()
        """Names in the imports of torch's that stay, whatever else is imported beside them."""
        """Imports of something inside torch that have to come from tdev."""
        self.of_old_torch: list[Span] = []
        """Where only a torch older than tdev's comes: no import there changes either."""
        self.predicates: list[cst.CSTNode] = []
        """Nodes that need a name for tdev although they refer to no torch import."""
        self.shims: list[cst.Call] = []
        self.used: list[cst.CSTNode] = []
        """References that have become tdev's, now or in an earlier run."""
        self._besides: list[
            tuple[Callable[[], None], tuple[cst.CSTNode, tuple[Rule, str]] | None]
        ] = []
        self._used_besides: Counter[Binding] = Counter()
        self._rests: list[cst.CSTNode] = []
        """Those that are torch's in the text: an edit of theirs, or of an import, makes them tdev's."""
        self.given: list[cst.Arg] = []
        """CUDA's names that go to other modules, which may need tdev's shims to take them."""
        self.questions: list[Question] = []
        """Questions about CUDA that have a generic spelling at best."""
        self.why: dict[cst.CSTNode, str] = {}
        """The imports that become tdev's, and why, where the name does not say it."""
        self.asked: dict[tuple[str, int, str], tuple[Reference, str]] = {}
        """The findings about a name that stays, and what is said of it where it is tdev's all the same."""
        self.saves_scripts = False
        """Whether what TorchScript compiles here is saved, with the devices of its source."""
        self.requested: dict[cst.CSTNode, set[str]] = {}
        """The devices that functions make of what was asked for, and ask whether they are there."""
        self.untouched: list[Span] = []
        """What only CUDA reaches, by the tests around it or by the kernels it starts: no edits there."""
        self.gates: list[tuple[Span, bool]] = []
        """The questions that stay and open what only CUDA reaches, and whether each asks for another device instead."""
        self.behind: dict[Span, str] = {}
        """What has changed and is reached on CUDA alone, as is found at the end, and what is said of it."""
        self.reached: list[Span] = []
        """Arms for CUDA beside those of other accelerators which a word that was typed opens on any machine."""
        self.parallel: list[Span] = []
        """Those of them which do what the arms beside them do for other accelerators."""
        self.settings: list[Span] = []
        """Statements about CUDA that do nothing where there is none, and may stay beside generic ones."""
        self._in_code: dict[tuple[re.Pattern[str], tuple[str, ...]], re.Match[str] | None] = {}
        self.replaced: set[Span] = set()
        """Imports of packages all of whose uses become torch's own."""
        self.pointed: list[Span] = []
        """Imports that become a stand-in's, whatever becomes of others of the same package."""
        self.tried: list[Span] = []
        """Those of them which are tried, and another accelerator if that fails; nothing is said of them yet."""
        self.import_moves: list[Move] = []
        """Imports that become tdev's, with their places among sorted ones ."""
        self.set_apart: list[Line] = []
        """Imports of tdev that go to another section than torch's."""
        self.keep_all, self._kept = self._read_keeps()
        self.tdev = self._free_name()

    @cached_property
    def holds_kernels(self) -> bool:
        """Whether the code has kernels for CUDA, or imports a package for it at the start of a line."""
        if _CUDA_C.search(self.tree.source):
            return True  # which stands in a text, in three quotes as a rule
        said = "\n" + self.unanswered(self._unpointed(self.tree.source))
        if not any(pattern.search(said) for pattern in _KERNELS):
            return False
        text = "\n" + self.unanswered(self._unpointed(self.code))
        return any(pattern.search(text) for pattern in _KERNELS)

    def _unpointed(self, text: str) -> str:
        """Return the source, or its code, without the imports that become a stand-in's."""
        for low, high in self.pointed:
            text = text[:low] + " " * (high - low) + text[high:]
        return text

    @cached_property
    def patched(self) -> frozenset[str]:
        """The names of torch's that the doctests of this file put something in the place of."""
        return (
            frozenset(_PATCHED.findall(self.tree.source))
            if "patch(" in self.tree.source
            else frozenset()
        )

    @cached_property
    def mocked(self) -> frozenset[str]:
        """The names of torch's that a test of the tree answers for by a mock in the place of this module's torch."""
        known = self.options.tree.mocked if self.options.tree is not None else {}
        if not known or self.options.style == "alias":  # whose torch is replaced with that
            return frozenset()
        path = PurePath(self.filename).with_suffix("").parts
        return frozenset().union(
            *(
                names
                for module, names in known.items()
                if all(map(str.__eq__, reversed(module.split(".")), reversed(path)))
            )
        )

    @cached_property
    def code(self) -> str:
        """The source with spaces for comments and for what is in three quotes: what it does, not what it says."""
        return without_prose(self.tree.source)

    def in_code(self, pattern: re.Pattern[str], *words: str) -> re.Match[str] | None:
        """Return the first match of a pattern in the code; most are nowhere in the source.

        ``words``, one of which each match holds, are looked for first: many times faster than a pattern.
        """
        key = pattern, words
        if key not in self._in_code:
            source = self.tree.source
            said = not words or any(word in source for word in words)
            found = said and pattern.search(source) is not None
            self._in_code[key] = pattern.search(self.code) if found else None
        return self._in_code[key]

    def on_a_line(self, pattern: re.Pattern[str], *words: str) -> re.Match[str] | None:
        """Return the same of a pattern that matches from the start of a line alone, with one of these words on that line.

        Lines are looked for by their words: a pattern that begins with ``^`` would be tried at each letter.
        """
        key = pattern, words
        if key not in self._in_code:
            source = self.tree.source
            found = any(
                pattern.match(source, source.rfind("\n", 0, at) + 1) is not None
                for word in words
                for at in places(source, word)
            )
            self._in_code[key] = pattern.search(self.code) if found else None
        return self._in_code[key]

    def unanswered(self, text: str, chosen: bool = False) -> str:
        """Return a part of the source without what it imports, or calls, of packages that something answers for.

        Nor are the notes there that an earlier run has left: they say what the code says. With ``chosen`` it is one of two ways to the same end: Triton's, which is interpreted, is then not the one to take.
        """
        answered = self.options.answered - {"triton"} if chosen else self.options.answered
        text = NOTE.sub("#", text)
        if not answered:
            return text
        names = "|".join(sorted(map(re.escape, answered)))
        return re.sub(rf"(?<![\w.])(?:{names})\w*(?:\.\w+)*", "", text)

    @cached_property
    def devices(self) -> Devices | None:
        """The answers of the whole text about tensors and devices; None where Python's parser does not take it."""
        tree = self.python
        return Devices(tree, self.tree.source, self.flow.known) if tree is not None else None

    @cached_property
    def takers(self) -> Takers | None:
        """The ways of values through the whole text; None where Python's parser does not take it."""
        if self.python is None or self.devices is None:
            return None
        tree = self.options.tree
        own = tree.modules | tree.near if tree is not None else frozenset[str]()
        path = PurePath(self.filename)
        alone = path.suffix == ".ipynb" or (
            path.name.startswith("test_")
            and tree is not None
            and path.stem not in tree.imported_tests
        )
        return Takers(self.python, self.tree.source, self.devices, own, alone)

    @cached_property
    def texts(self) -> list[tuple[int, int, str]]:
        """The place of each string of the source, with what it says."""
        tree = self.python
        if tree is None:
            return []
        return [
            (*tree.span(node), node.value)
            for node in tree.everything
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]

    @cached_property
    def scripted(self) -> Scripted:
        """The part of this file that TorchScript compiles."""
        elsewhere = self.options.tree.scripted if self.options.tree is not None else frozenset()
        return Scripted(self.resolver, self.flow, elsewhere)

    @cached_property
    def python(self) -> PythonTree | None:
        """Python's tree of the whole text; None where its parser does not take it."""
        try:
            return PythonTree(self.tree, self.tree.python)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    @cached_property
    def cudas(self) -> Cudas | None:
        """The uses of what only CUDA has; None where Python's parser does not take the text."""
        if self.python is None:
            return None
        tree = self.options.tree
        known = frozenset[str]()
        if tree is not None:
            known = tree.kernel_modules | tree.tried_kernels | tree.only_on_cuda
        # Triton's way, which is interpreted, is not the one to take where there is another.
        answered = self.options.answered - {"triton"}
        pointed = frozenset(low for low, _ in self.pointed)
        return Cudas(self.python, self.tree.source, self.filename, known, answered, pointed)

    @cached_property
    def _cuts(self) -> list[int]:
        return [found.start() for found in CUTS.finditer(self.tree.source)]

    @property
    def pieces(self) -> bool:
        """Whether the text is several pieces, which may be run in any order."""
        return bool(self._cuts)

    def piece(self, node: cst.CSTNode) -> int:
        """Return the number of the cell or fence that a node stands in; 0 where the text is one piece."""
        return bisect_right(self._cuts, self.tree.span(node)[0])

    # -- `# tdev: keep` and its like -------------------------------------------------------------------

    def _read_keeps(self) -> tuple[bool, set[int]]:
        source, marks = self.tree.source, self.options.keep
        lines = set(self.options.lines)
        if not may_be_kept(source, marks):
            return False, lines
        strings = [self.tree.span(n) for n in self.tree.of(cst.SimpleString, cst.FormattedString)]
        first = len(source)
        for statement in self.tree.module.body:
            if not is_docstring(statement):
                first = self.tree.span(statement)[0]
                break
        everything = False
        for found in kept_by(marks).finditer(source):
            at = found.start()
            if any(a <= at < b for a, b in strings):
                continue
            line = self.tree.position(at)[0]
            alone = not source[self.tree.line_start(line) : at].strip()
            if alone and at < first:
                everything = True
            lines.add(line)
        return everything, lines

    def stays(self, node: cst.CSTNode) -> bool:
        """Tell whether a node stands where only CUDA comes, and nothing is edited."""
        if not self.untouched:
            return False
        start = self.tree.span(node)[0]
        return any(low <= start < high for low, high in self.untouched)

    def kept(self, node: cst.CSTNode) -> bool:
        """Tell whether ``# tdev: keep`` protects this node: on its lines, or those of its line."""
        if self.keep_all:
            return True
        if not self._kept:
            return False
        statement = self.tree.statement(node)
        spans = [self.tree.span(node)]
        if isinstance(statement, cst.SimpleStatementLine):
            spans.append(self.tree.span(statement))
        for start, end in spans:
            first, last = self.tree.position(start)[0], self.tree.position(end)[0]
            if any(first <= line <= last for line in self._kept):
                return True
        return False

    def kept_lines(self, first: int, last: int) -> bool:
        """Tell whether ``# tdev: keep`` protects one of these lines."""
        return self.keep_all or any(first <= line <= last for line in self._kept)

    # -- names ----------------------------------------------------------------------------

    def _free_name(self) -> str:
        """``tdev``, or another name where the file uses that one for something else."""
        taken = {"tdev": False, "_tdev": False}
        for node in self.tree.of(cst.Name):
            if node.value in taken:
                parent = self.tree.parents.get(node)
                if isinstance(parent, cst.Attribute) and parent.attr is node:
                    continue
                if isinstance(parent, (cst.Arg, cst.ImportAlias, cst.Attribute)) and not (
                    isinstance(parent, cst.Attribute)
                ):
                    continue
                bindings = self.scopes.of(node).lookup(node.value)
                if any(b.target is None or b.target.split(".")[0] != "tdev" for b in bindings):
                    taken[node.value] = True
        for name in taken:
            if not taken[name]:
                return name
        return "tdev__"

    def here(self, node: cst.CSTNode) -> str:
        """Spell tdev as at ``node`` in this style, noting that it is needed there."""
        if self.stays(node):
            return self.tdev
        scope = self.scopes.of(node)
        for name in (self.tdev, "torch", "th"):
            found = self.resolver.imported(scope, name)
            if found is not None and found[0] == "tdev" and self._is_carried_out(found[1], node):
                return name
        if self.options.style == "alias":
            for name in ("torch", *self.torch_names):
                found = self.resolver.imported(scope, name)
                if found is None or found[0] != "torch":
                    continue
                if not self._is_carried_out(found[1], node):
                    continue
                if not all(self.for_checkers_only(binding) for binding in found[1]):
                    self.want(found[1])
                    return name
        self.predicates.append(node)
        return self.tdev

    def _is_carried_out(self, bindings: tuple[Binding, ...], node: cst.CSTNode) -> bool:
        """Tell whether one of a name's imports comes before a node, where they are of the function that it stands in."""
        scope = self.scopes.of(node)
        at = self.tree.span(node)[0]
        for binding in bindings:
            if binding.scope is not scope or not isinstance(scope.node, cst.FunctionDef):
                return True
            statement = self.tree.statement(binding.node)
            end = self.tree.span(self.tree.parents[statement])[1]
            if self.tree.span(statement)[0] <= at < end:
                return True
        return False

    def for_checkers_only(self, binding: Binding) -> bool:
        """Tell whether an import is inside ``if TYPE_CHECKING``: nothing is there at run time."""
        return any(
            isinstance(p, cst.If) and "TYPE_CHECKING" in self.tree.text(p.test)
            for p in self.tree.ancestors(binding.node)
        )

    @cached_property
    def torch_names(self) -> list[str]:
        """The names that torch is imported by at the top."""
        return [
            name
            for name, bindings in self.scopes.top.bindings.items()
            if any(b.target == "torch" for b in bindings)
        ]

    # -- what rules hand in ---------------------------------------------------------------

    def replace(self, rule: Rule, start: int, end: int, text: str, why: str = "") -> None:
        # An import changes for what uses it elsewhere.
        if rule.id != "import" and any(low <= start < high for low, high in self.untouched):
            return
        self.changes.setdefault((start, end), Change(start, end, text, rule.id, why=why))

    def replace_node(self, rule: Rule, node: cst.CSTNode, text: str, why: str = "") -> None:
        self.replace(rule, *self.tree.span(node), text, why)

    def wrap(self, rule: Rule, span: Span, before: str, inner: Span, after: str) -> None:
        """Replace ``span`` by ``before`` + what becomes of ``inner`` + ``after``."""
        if any(low <= span[0] < high for low, high in self.untouched):
            return
        self.changes.setdefault(span, Change(*span, before, rule.id, inner, after))

    def use(self, rule: Rule, reference: Reference, why: str = "") -> None:
        """Make a reference to torch one to tdev, as this style does it; ``why``, where its name does not say it."""
        if self.stays(reference.node) or self.of_a_vendor(reference.bindings):
            return
        if reference.package != "tdev" and self._is_an_annotation(reference.node):
            self.do_besides(partial(self._use, rule, reference, why))
            return
        self._use(rule, reference, why)

    def use_besides(
        self,
        rule: Rule,
        reference: Reference,
        why: str = "",
        left: tuple[Rule, str] | None = None,
    ) -> None:
        """Make a reference one to tdev where its file takes anything else from there: by itself it changes nothing.

        ``left`` is what is said of it where that is all, and under which rule.
        """
        if not self.stays(reference.node) and not self.of_a_vendor(reference.bindings):
            for binding in reference.bindings if left is not None else ():
                self._used_besides[binding] += 1
            said = None if left is None else (left[0], f"{reference.name} {left[1]}")
            self.do_besides(
                partial(self._use, rule, reference, why), said and (reference.node, said)
            )

    def do_besides(
        self, change: Callable[[], None], left: tuple[cst.CSTNode, tuple[Rule, str]] | None = None
    ) -> None:
        """Have something done where the file takes anything else from tdev; ``left``: what is said where it takes nothing."""
        self._besides.append((change, left))

    def use_what_goes_besides(self) -> None:
        """Take from tdev as well what does nothing by itself, such as what annotations name, in a file that takes anything else from there."""
        besides, self._besides = self._besides, []
        taken = (*self.used, *self.shims, *self.predicates)
        repointed = not all(map(self._is_used_besides_alone, self.repointed))
        if self.changes or repointed or not all(map(self.stays, taken)):
            for change, _ in besides:
                change()
            return
        for _, left in besides:
            if left is not None:
                node, (rule, message) = left
                self.find(rule, node, message)

    def _is_used_besides_alone(self, binding: Binding) -> bool:
        """Tell whether all that a file does with a name that it imports does nothing by itself."""
        count = self._used_besides[binding]
        said = rf"(?<![\w.]){re.escape(binding.name)}(?!\w)"
        return count > 0 and len(re.findall(said, self.code)) == count + 1  # with the import

    def _is_an_annotation(self, node: cst.CSTNode) -> bool:
        for each in self.tree.ancestors(node):
            if isinstance(each, cst.Annotation):
                return True
            if isinstance(each, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
                return False
        return False

    def _use(self, rule: Rule, reference: Reference, why: str) -> None:
        self.used.append(reference.node)
        if reference.package == "tdev":
            return
        self._rests.append(reference.node)
        for binding in reference.bindings if why else ():
            self.why.setdefault(binding.node, f"{reference.name}: {why}")
        if reference.target == "torch":
            near = self._at_hand(reference)
            explicit = self.options.style == "explicit"
            if explicit and not all(map(_is_torch, reference.bindings)):
                # Another import has made this name tdev's: the file is written in the alias style.
                self.aliased.extend(b for b in near if _is_torch(b))
                return
            if explicit or self.options.test:
                self.replace_node(rule, reference.root, self.tdev, why)
                self.edited_roots.add(reference.root)
                if near[0].kind == "from" or not explicit:
                    # Another module gives it, here or there: what needs tdev is no concern of that import's.
                    # Nor is it in a test, the rest of which stays torch's.
                    self.predicates.append(reference.node)
                    return
            self.want(near)
        else:
            self.repointed.extend(b for b in reference.bindings if _is_torch(b))

    def _at_hand(self, reference: Reference) -> tuple[Binding, ...]:
        """Return the imports in the innermost block around a reference that has one; all of them if none has."""
        if len(reference.bindings) < 2:
            return reference.bindings
        around = list(self.tree.ancestors(reference.node))
        for block in around:
            here = tuple(
                binding
                for binding in reference.bindings
                if binding.statement is not None
                and self.tree.parents.get(self.tree.statement(binding.statement)) is block
            )
            if here:
                return here
        return reference.bindings

    def of_a_vendor(self, bindings: tuple[Binding, ...] | list[Binding]) -> bool:
        """Tell whether one of a name's imports is of a module that a vendor adds to torch: ``torch.npu.amp``."""
        inside = [parts for b in bindings if (parts := (b.target or "").split("."))[0] == "torch"]
        return any(
            len(parts) > 2 and ".".join(parts[:2]) not in self.names.modules for parts in inside
        )

    def want(self, bindings: tuple[Binding, ...]) -> None:
        self.wanted.extend(b for b in bindings if _is_torch(b))

    def find(
        self,
        rule: Rule,
        node: cst.CSTNode,
        message: str,
        severity: Severity | None = None,
        *,
        unknown: bool = False,
    ) -> tuple[str, int, str] | None:
        """Report a node; ``severity`` where it is another than the rule's. Returns the finding's key, if it is one."""
        if self.kept(node):
            return None
        return self._find(rule, self.tree.span(node)[0], message, severity, unknown=unknown)

    def find_at(
        self, rule: Rule, start: int, message: str, severity: Severity | None = None
    ) -> tuple[str, int, str]:
        """Report what starts at an offset, or the whole file at 0; return the finding's key."""
        return self._find(rule, start, message, severity, whole=start == 0)

    def _find(
        self,
        rule: Rule,
        start: int,
        message: str,
        severity: Severity | None,
        *,
        unknown: bool = False,
        whole: bool = False,
    ) -> tuple[str, int, str]:
        line, column = self.tree.position(start)
        level = severity or rule.severity or "note"
        key = rule.id, start, message
        found = Finding(rule.id, line, column, message, level, unknown, whole)
        self.findings.setdefault(key, found)
        return key

    # -- the result -----------------------------------------------------------------------

    def result(self) -> Result:
        source = self.tree.source
        flat = self.flattened()
        pieces: list[str] = []
        at = 0
        for change in flat:
            pieces += [source[at : change.start], change.text]
            at = change.end
        pieces.append(source[at:])
        edits = []
        for change in flat:
            line, column = self.tree.position(change.start)
            end_line, end_column = self.tree.position(change.end)
            before = source[change.start : change.end]
            edits.append(
                Edit(
                    change.rule, line, column, end_line, end_column, before, change.text, change.why
                )
            )
        findings = sorted(
            self.findings.values(), key=lambda f: (f.line, f.column, f.rule, f.message)
        )
        code = ("\ufeff" if self.tree.bom else "") + "".join(pieces)
        statements = self.tree.statements if not self.tree.bom else ()
        return Result(code, tuple(edits), tuple(findings), statements, self._resting(edits))

    def _resting(self, edits: list[Edit]) -> tuple[tuple[int, int], ...]:
        """Return the places that stay as they are and are tdev's through the edited imports."""
        if not any(edit.rule in IMPORT_RULES for edit in edits):
            return ()
        edited = {edit.line for edit in edits if edit.rule not in IMPORT_RULES}
        places = {
            self.tree.position(self.tree.span(node)[0])
            for node in (*self._rests, *self.shims, *self.given)
        }
        return tuple(sorted(place for place in places if place[0] not in edited))

    def flattened(self) -> list[Change]:
        """Return the changes in order, with edits inside a wrapped span folded into the wrap."""
        source = self.tree.source
        todo = sorted(self.changes.values(), key=_place)
        done: list[Change] = []
        index = 0
        while index < len(todo):
            change = todo[index]
            index += 1
            if change.inner is None:
                if done and change.start < done[-1].end:
                    continue  # inside a span that a wider edit replaces whole
                done.append(change)
                continue
            low, high = change.inner
            inside: list[Change] = []
            while (
                index < len(todo) and todo[index].start < change.end and change.end > change.start
            ):
                if low <= todo[index].start and todo[index].end <= high:
                    inside.append(todo[index])
                index += 1
            text, at = change.text, low
            for part in inside:
                if part.start < at or part.inner is not None:
                    continue
                text += source[at : part.start] + part.text
                at = part.end
            text += source[at:high] + change.tail
            done.append(Change(change.start, change.end, text, change.rule))
        return done


def _place(change: Change) -> tuple[int, bool, int, str]:
    # An import that is put in front of another change is no part of that; what layout puts there is.
    before = change.end == change.start and change.rule == "import"
    return change.start, not before, -change.end, change.text


def _is_torch(binding: Binding) -> bool:
    """Return an import may be of tdev already where another one of the same name is of torch."""
    return (binding.target or "").split(".")[0] == "torch"


def is_docstring(statement: cst.CSTNode) -> bool:
    return (
        isinstance(statement, cst.SimpleStatementLine)
        and isinstance(statement.body[0], cst.Expr)
        and isinstance(statement.body[0].value, (cst.SimpleString, cst.ConcatenatedString))
    )
