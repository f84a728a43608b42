"""Finds the parameters that everybody in a tree gives a real device, and no word that a person may have typed.

``_mask(n, device)`` is called as ``_mask(3, x.device)`` wherever it is called. Who calls whom is told by names
alone: a call of any ``_mask`` is one of each, and a name that is handed on instead of called counts as
called with anything. Only the statements at the margin of a file that speak of such a function are parsed.
"""

from __future__ import annotations

import ast
import bisect
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain

from tdev_core.codemod.engine.asked import DEVICE, EACH, OBJECT, TENSOR, Asked, Want, Way
from tdev_core.codemod.engine.python.collector import without_collector
from tdev_core.codemod.engine.python.devices import (
    KEPT_BY_OTHERS,
    Devices,
    classes_said,
    documents_device,
)
from tdev_core.codemod.engine.python.known import Known
from tdev_core.codemod.engine.python.lines import Lines
from tdev_core.codemod.engine.python.statements import (
    fixtures_call,
    is_self,
    last_name,
    parts_of,
    stores,
)
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.python.uses import Use, use_of
from tdev_core.codemod.engine.vocabulary import (
    SETTINGS_CLASS,
    TENSOR_WORD,
    imported_from,
    is_of_settings,
    renamed,
    snake,
)
from tdev_core.ecosystem.device_table import give_devices

_DEFINED = re.compile(rb"def(?<!\wdef)[ \t]+(\w+)[ \t]*\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_PARAMETER = re.compile(
    rb"(?<![\w.\"'\[])((?:\w+_)?device(?:_type)?|dev)[ \t]*((?::(?:\[[^]]*\]|[^,\[=])*)?(?:=[^,]*)?)(?=,|\s*\Z)"
)
_SHORT = re.compile(rb"(?<![\w.])dev\b")
# What says that a parameter takes a word: `device: str = "cuda"`; or that it is real, which needs no callers.
_WORDS_TAKEN = re.compile(
    rb":[^=]*\b(?:str|int|Any|DeviceLike\w*)\b|=[ \t]*[\"'](?!cpu|meta)|:[ \t]*torch\.device[ \t]*(?:=|\Z)"
)
_CLASS = re.compile(rb"^([ \t]*)class[ \t]+(\w+)[ \t]*(?:\(([^)]*)\))?", re.MULTILINE)
# Of a text, without looking at each line's start.
_HEAD = re.compile(rb"class(?<!\wclass)[ \t]+(\w+)[ \t]*(?:\(([^)]*)\))?[ \t]*:")
_WORD = re.compile(rb"\w+(?=[\s,)\[]|\Z)")
# What is given to something, `torch.zeros(n, device=device)`: by what is rare in it.
_GIVEN = re.compile(
    rb"(?:device(?:_type)?|map_location)[ \t]*=(?!=)\s*(?:[\w.]*device(?:_type)?|dev)\b"
    rb"|(?<=torch\.device\()(?:\w+_)?device\b"
)
_KEPT_FOR_TORCH = (b'"device": device', b"'device': device", b"dict(device=device")
_OF_OBJECT = tuple(
    re.compile(given + rb"\s*(?:\w+\.)*(?!self\.|cls\.)(\w{2,})\.((?:\w+_)?device)\b")
    for given in (rb"device[ \t]*=(?!=)", rb"map_location[ \t]*=(?!=)", rb"torch\.device\(")
)
# What a device is made of, or bound to, where more than its own text has to be followed: a call, an item, one of several.
# Two patterns, each with a word to start from, which `re` looks for many times faster than for a choice.
_FOLLOWED = tuple(
    re.compile(
        word + rb"(?![\w.\[])[ \t]*(?:,[^=\n(]*)?=(?!=)[ \t]*"
        rb"(?!device\b|self\.[\w.]*[\s,)]|None\b|torch\.|str\b|tdev\.|[\"'\d]|(?:\w+\.)*device[\s,)])"
        rb"(?=[\w.]*[(\[]|\w+[\s,)]|\w+\.device\.type|[^\n]*(?: or | if ))([^\n]{1,120})"
    )
    for word in (rb"device(?:_type)?", rb"map_location")
)
_CALLED = re.compile(rb"(\w+)\(")
_ALONE = re.compile(rb"(\w+)[ \t]*(?:[,)]|\Z)")
_OWNERS = re.compile(rb"(\w+)(?:\[[^\[\]]*\])*\.device\b")
# `device = trainer.device`, which is handed on by that name.
_BY_ITSELF = re.compile(rb"[ \t]*(?:\w+_)?\Z")
_KEPT_BY_NAME = re.compile(rb"device[ \t]*(?:=(?!=)|:)")
_KEPT = re.compile(rb"device[ \t]*(?:=(?!=)|:|\(self\))")
# What makes objects that have a device and no class which keeps one, by the sign without which there is none; with their name,
# where that is to be seen.
_MAKES_NAMELESS = {
    b"namedtuple(": re.compile(rb"namedtuple\(\s*[\"'](\w+)[\"'][^)]*\bdevice\b"),
    b"Namespace(": re.compile(rb"(\w*Namespace)\((?:[^()]|\([^()]*\))*?\bdevice[ \t]*=(?!=)"),
    b"__dict__.update(": re.compile(rb"self\.__dict__\.update\(()"),
}
_GIVES_ANOTHER = re.compile(rb"\.(?<!self\.)(?<!cls\.)((?:\w+_)?device)[ \t]*=(?!=)")
_KEEPS = re.compile(rb"(?:self\.|def[ \t]+)((?:\w+_)?)\Z")
_OF_ALL = re.compile(rb"\n[ \t]+((?:\w+_)?)\Z")
_REACH = 6000
_WORDS = (b"device", b"cuda", b"gpu")
# A device that is annotated as a word, `device: str`, `device: Literal["cuda", "cpu"]`, or is one, or was typed.
_SAYS_WORD = (
    *(b"device: str", b"device: Optional[str", b"device: Literal["),
    *(b'"cuda', b"'cuda", b"args.device", b"cfg.device", b"config.device"),
)
# A parameter that is annotated as a device goes on to what takes one.
_HANDS_ON = re.compile(rb"\w*device\w*[ \t]*:[ \t]*[^,)=\n]*\btorch\.device")
_TOLD = ("device", "device_type", "map_location")
_LIMIT = 64 << 20
"""The bytes of texts that are kept until it is known what is looked for in them."""
_FEW = 12
"""The functions of one name beyond which they are too many to be one thing."""
_MOST = 300
"""The uses of a name beyond which it says nothing of one function."""
# At the margin of a file, and no part of the statement before it.
# From the end of the line above, which `re` looks for many times faster than for a line's start.
_STARTS = re.compile(rb"\n(?![ \t\r\n#)\]}]|(?:elif|else|except|finally)\b)")
# What stands at the margin of a file's docstring starts no statement: `- make_mask`, an item of a list.
_DOCSTRING = re.compile(rb"\s*(?:#[^\n]*\n\s*)*[rRuU]?(\"\"\"|''')[\s\S]*?\1")
# Imports of torch, and of what gives a device that is there, in whatever block: `import torch_xla.core.xla_model as xm`.
_IMPORTS = re.compile(
    rb"\n[ \t]*((?:import|from)[ \t]+(?:torch|tdev|%s)\b[^\n(\\]*)(?=\n|\Z)"
    % "|".join(sorted({each.partition(".")[0] for each in give_devices()})).encode()
)
# What is called by everybody, by other names or by none.
_NEVER = frozenset({b"forward", b"__call__", b"main", b"run", b"__new__", b"to", b"cuda"})
_PRIVATE = re.compile(rb"_[^_]")
# A fixture of pytest's that tests know by another name than its function's.
_NAMED_FIXTURES = (
    re.compile(rb"fixture\((?:(?!\bdef\b)[\s\S]){0,400}?\bname[ \t]*=[ \t]*[\"'](\w+)"),
    re.compile(rb"\n(\w+)[ \t]*=[ \t]*(?:\w+\.)?fixture\("),
)
_LONE_CR = re.compile(rb"\r(?!\n)")
_TORCHS_OWN = frozenset({"torch", "tdev"})
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_NAMED = (*_DEFINITIONS, ast.ClassDef)
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_NAMING = frozenset({ast.Name, ast.Attribute, ast.Constant, ast.alias, *_DEFINITIONS, ast.ClassDef})
# Names that ask about a class or speak of it, and make none.
_ASK = frozenset({"isinstance", "issubclass", "super", "cast", "TypeVar", "hasattr"})


_DEVICES = Want("device", (EACH,))
# How a function that checks a device is given it.
_WAYS_IN = ("0", "device")
# Of which a text alone tells as much as is to be had.
_OF_ONE = frozenset({"heirs", "filled"})

_Place = tuple[int, int]
"""The number of a text, and an offset in it."""


class Callers:
    """The texts of a tree; :meth:`told` is asked once all are seen."""

    def __init__(self) -> None:
        self._asked: set[Asked] = set()
        self.homes: dict[str, dict[str, list[_Place]]] = {"parameter": {}, "call": {}, "gives": {}}
        """The functions, and the classes that are made or called, by what is asked of them and their names."""
        self.promised: set[Asked] = set()
        """The parameters that are annotated as devices."""
        self.names: set[str] = set()
        """Functions that a device may come through: those of texts where one is followed, and what is called there."""
        self.followed: list[_Place] = []
        """Where a device comes from what only other functions, or files, can tell of."""
        self.texts: list[bytes] = []
        """Those that say anything of devices; none where they are too many to keep."""
        self._others: list[bytes] = []
        self.modules: dict[str, list[int]] = {}
        """Those texts that may keep a device in a variable of a module, by its name."""
        self.of_tests: set[int] = set()
        self.named_fixtures: set[str] = set()
        """The fixtures that are called otherwise than their functions."""
        self.called: set[str] = set()
        """What the tree calls its modules by, the last part of each."""
        self._size = 0

    def see(self, raw: bytes, module: str = "", *, of_tests: bool = False) -> None:
        """Take a file into account, called ``module``; ``of_tests``: what it calls, it only tries."""
        raw = raw.removeprefix(b"\xef\xbb\xbf")
        self._size += len(raw)
        self.called.add(module)
        if of_tests:
            self.of_tests.add(id(raw))  # which is kept
        if b"fixture(" in raw:
            for pattern in _NAMED_FIXTURES:
                self.named_fixtures.update(name.decode() for name in pattern.findall(raw))
        if self._size > _LIMIT:
            self.texts.clear()
            self.modules.clear()
            self._others.clear()
            self._asked.clear()
            self.promised.clear()
            self.names.clear()
            self.followed.clear()
            for each in self.homes.values():
                each.clear()
            return
        if not any(word in raw for word in _WORDS):
            self._others.append(raw)  # where a function may be given what is called by no such word
            return
        self.texts.append(raw)
        if b"device" not in raw:
            return
        if module and any(
            _BY_ITSELF.match(raw, *_line_to(raw, found.start()))
            for found in _KEPT_BY_NAME.finditer(raw)
        ):
            self.modules.setdefault(module, []).append(len(self.texts) - 1)
        objects: list[tuple[int, bytes]] = []
        named_by: dict[bytes, list[str]] = {}
        for found in chain.from_iterable(each.finditer(raw) for each in _OF_OBJECT):
            known = TENSOR_WORD.search(found[1].decode()) is not None
            if known or not (
                _BY_ITSELF.match(raw, *_line_to(raw, found.start()))
                or _is_torchs(raw, found.start(1))
            ):
                continue
            objects.append((found.start(), found[1]))
            attr = found[2].decode()
            self.followed.append((len(self.texts) - 1, found.start()))
            self._asked.add(Asked("variable", found[1].decode(), attr))
            if found[1] not in named_by:
                self.names.update(_given_by(raw, found[1]))
                named = (found[1], *_classes_of(raw, found[1]))
                named_by[found[1]] = [each.decode() for each in named]
            self._asked.update(Asked("named", each, attr) for each in named_by[found[1]])
        defined = list(_DEFINED.finditer(raw))
        starts = [found.start() for found in defined]
        for at, name in objects:
            around = bisect.bisect_right(starts, at) - 1
            if around >= 0 and re.search(rb"\b" + name + rb"\b", defined[around][2]) is not None:
                self._asks_of(raw, defined[around], name)
        self._follow(raw, defined, starts, of_tests)
        follows = bool(self.followed) and self.followed[-1][0] == len(self.texts) - 1
        for found in defined:
            if follows:
                self.names.add(found[1].decode())
            if b"device" in found[1] and found[1] not in _NEVER:
                place = len(self.texts) - 1, found.start()
                self.homes["gives"].setdefault(found[1].decode(), []).append(place)
                for want in (DEVICE, _DEVICES):
                    self._asked.add(Asked("gives", found[1].decode(), want=want))
                if b"raise" in raw:
                    for way_in in _WAYS_IN:
                        self._asked.add(Asked("refuses", found[1].decode(), way_in))
                if of_tests:
                    self._asked.add(Asked("fixture", found[1].decode()))
            if b"device" not in found[2] and _SHORT.search(found[2]) is None:
                continue
            way: Way = "parameter"
            owner = found[1]
            if owner in (b"__init__", b"forward"):
                # A module's objects call it when they are called.
                way = "call" if owner == b"forward" else way
                owner = _class_around(raw, found.start())
            if not owner or owner in _NEVER:
                continue
            place = len(self.texts) - 1, found.start()
            self.homes[way].setdefault(owner.decode(), []).append(place)
            if _gives_torch(raw, found.end()):
                own = _PRIVATE.match(found[1]) is not None
                for parameter, said in _PARAMETER.findall(found[2]):
                    if b"torch.device" in said and b"str" not in said and way == "parameter":
                        self.promised.add(Asked("word", owner.decode(), parameter.decode()))
                for parameter, said in _PARAMETER.findall(found[2]):
                    taken = _WORDS_TAKEN.search(said) is not None
                    if own or not taken or _is_nested(raw, found.start()):
                        self._asked.add(Asked(way, owner.decode(), parameter.decode()))

    def _follow(
        self, raw: bytes, defined: list[re.Match[bytes]], starts: list[int], of_tests: bool
    ) -> None:
        """Take down where a device comes from what only other functions, or files, can tell of."""
        for found in chain.from_iterable(each.finditer(raw) for each in _FOLLOWED):
            if of_tests or _says_enough(raw, found):
                continue
            # A name alone is followed where it is given to the function.
            if (name := _ALONE.match(found[1])) is not None:
                around = bisect.bisect_right(starts, found.start()) - 1
                if around < 0 or name[1] not in defined[around][2]:
                    continue
            self.followed.append((len(self.texts) - 1, found.start()))
            self.names.update(each.decode() for each in _CALLED.findall(found[1]))

    def _asks_of(self, raw: bytes, head: re.Match[bytes], parameter: bytes) -> None:
        """Ask whether everybody gives a function something that has a real device."""
        owner = _class_around(raw, head.start()) if head[1] == b"__init__" else head[1]
        if owner and owner not in _NEVER:
            place = len(self.texts) - 1, head.start()
            self.homes["parameter"].setdefault(owner.decode(), []).append(place)
            self._asked.add(Asked("parameter", owner.decode(), parameter.decode(), OBJECT))

    @cached_property
    def classes(self) -> dict[str, list[tuple[int, int, frozenset[str]]]]:
        """The definitions of each class, by the numbers of the texts, and the names of its bases; asked once all are seen."""
        found: dict[str, list[tuple[int, int, frozenset[str]]]] = {}
        for number, raw in enumerate(self.every):
            for head in _HEAD.finditer(raw):
                bases = frozenset(word.decode() for word in _WORD.findall(head[2] or b""))
                found.setdefault(head[1].decode(), []).append((number, head.start(1), bases))
        return found

    @property
    def every(self) -> list[bytes]:
        """All texts, those that say nothing of devices after the others."""
        return [*self.texts, *self._others]

    def told(self, known: Known) -> tuple[frozenset[Asked], frozenset[str]]:
        """Return the questions that the tree says yes to, and what holds a word for those that inherit it.

        The second are ``Class.attribute``.
        """
        if not self.texts:
            return frozenset(), frozenset()
        tree = _Tree(self, known)
        tree.real(self._asked, self.followed)
        words = tree.words()
        told = tree.real(set()) | tree.contradicted  # with what the classes were asked for
        tree.forget()
        return frozenset(key for key in told if key.way != "kept"), words

    def is_told_of_itself(self, key: Asked) -> bool:
        """Answer what speaks against a class in its own text."""
        with without_collector():
            tree = _Tree(self, Known())
            told = key in tree.real({key})
            tree.forget()
        return told

    def told_of_private(self) -> frozenset[Asked]:
        """Return the first of a text whose tree is not known: of functions that nothing else calls, or can."""
        with without_collector():
            tree = _Tree(self, Known())
            told = frozenset(key for key in tree.real(self._asked) if tree.is_private(key))
            tree.forget()
        return told


def told_alone(source: str) -> Callable[[Asked], bool]:
    """Return what answers for a text whose tree is not known, once it is asked.

    For private and nested functions alone: others may be called from anywhere.
    """

    @cache
    def told() -> tuple[frozenset[Asked], Callable[[Asked], bool]]:
        seen = Callers()
        seen.see(source.encode())
        return seen.told_of_private(), cache(seen.is_told_of_itself)

    return lambda key: told()[1](key) if key.way in _OF_ONE else key in told()[0]


def _says_enough(raw: bytes, found: re.Match[bytes]) -> bool:
    """Tell whether a device is taken from what is called as tensors are, without a call; or stands in an example."""
    owners = _OWNERS.findall(found[1]) if b"(" not in found[1].partition(b"#")[0] else []
    if owners and all(TENSOR_WORD.search(each.decode()) for each in owners):
        return True
    if b"dtype" in found[0].partition(b"=")[0] and b"device" in found[1].partition(b"(")[0]:
        return True  # `device, dtype = device_and_dtype(x)`
    return (
        raw[raw.rfind(b"\n", 0, found.start()) + 1 : found.start() + 1].lstrip(b" \t")[:3] == b">>>"
    )


_HEADS = (b"def ", b"async def ", b"class ")


def _is_nested(raw: bytes, at: int) -> bool:
    """Tell whether something stands in a function, by their indents."""
    line = raw.rfind(b"\n", 0, at) + 1
    indent = at - line
    while indent and line:
        start = raw.rfind(b"\n", 0, line - 1) + 1
        text = raw[start : line - 1]
        line = start
        plain = text.lstrip(b" \t")
        if plain and len(text) - len(plain) < indent and plain.startswith(_HEADS):
            return not plain.startswith(b"class ")
    return False


def _gives_torch(raw: bytes, start: int) -> bool:
    """Tell whether torch is given a device by name soon after an offset, or a dictionary is, for torch's ``**kwargs``."""
    return any(
        _is_torchs(raw, found.start()) for found in _GIVEN.finditer(raw, start, start + _REACH)
    ) or any(raw.find(each, start, start + _REACH) >= 0 for each in _KEPT_FOR_TORCH)


_GIVEN_BY = re.compile(rb"[ \t]*(?:=[ \t]*|,[\w, \t]*=[ \t]*(?:\w+\.)+)(\w+)\(")


def _given_by(raw: bytes, name: bytes) -> Iterator[str]:
    """Yield the functions that give a name its value, and the methods that do so beside others: ``engine, rest = pkg.make(x)``."""
    at = raw.find(name)
    while at >= 0:
        end = at + len(name)
        before = raw[at - 1 : at] if at else b""
        if not (before == b"." or before == b"_" or before.isalnum()):
            if (found := _GIVEN_BY.match(raw, end)) is not None:
                yield found[1].decode()
        at = raw.find(name, at + 1)


def _classes_of(raw: bytes, name: bytes) -> set[bytes]:
    """Return the classes that a text says a name is one of: by an annotation, or by making one."""
    said = []
    if name + b":" in raw or name + b" :" in raw:
        said.append(name + rb"(?<![\w.]" + name + rb")\s*:\s*[\"']?(?:\w+\.)*([A-Z]\w+)")
    if name + b" =" in raw or name + b"=" in raw:
        said.append(name + rb"(?<![\w.]" + name + rb")[ \t]*=[ \t]*(?:\w+\.)*([A-Z]\w+)\(")
    if b" as " + name in raw:
        said.append(rb"([A-Z]\w+)\((?:[^()]|\([^()]*\))*\)\s+as\s+" + name + rb"\b")
    return {found[1] for each in said for found in re.finditer(each, raw)}


# What steps with actions, and lives where it was made: `self._unwrapped` is what a wrapper was made around.
_ENVIRONMENT = re.compile(r"(?:\A|_)(?:envs?|environments?|unwrapped)\Z")
# Of torch, Lightning, accelerate, transformers and diffusers: what is moved, and tells where it is.
_KEEPS_A_DEVICE = re.compile(
    r"\w*Module|Accelerator|Fabric|Trainer|\w*PreTrainedModel|ModelMixin|\w*Pipeline|TrainingArguments|Metric"
)


def _line_to(raw: bytes, at: int) -> tuple[int, int]:
    return raw.rfind(b"\n", 0, at) + 1, at


def _is_torchs(raw: bytes, at: int) -> bool:
    """Tell whether the parenthesis that is open at an offset is that of a call of torch's."""
    depth = 0
    before = raw[max(0, at - 400) : at]
    for index in range(len(before) - 1, -1, -1):
        letter = before[index]
        depth += (letter == 41) - (letter == 40)  # `)` and `(`
        if depth < 0:
            return _TORCHS.search(before, 0, index) is not None
    return False


_TORCHS = re.compile(rb"\b(?:torch|th|tdev)(?:\.\w+)+\Z")


def _class_around(raw: bytes, at: int) -> bytes:
    """Return the name of the class that a method at an offset is of, by their indents."""
    indent = at - (raw.rfind(b"\n", 0, at) + 1)
    start = at
    while (start := raw.rfind(b"class ", 0, start)) >= 0:
        line = raw.rfind(b"\n", 0, start) + 1
        if start - line < indent and not raw[line:start].strip():
            found = _CLASS.match(raw, line)
            return found[2] if found is not None else b""
    return b""


@dataclass
class _Statement:
    """One statement at the margin of a file, with what its text needs to be understood."""

    tree: PythonTree
    devices: Devices
    source: str = ""
    """The text of its whole file."""
    of_tests: bool = False

    @cached_property
    def named(self) -> dict[str, list[ast.AST]]:
        """The nodes that use a name, or define what it is the name of."""
        found: dict[str, list[ast.AST]] = {}
        for node in self.tree.everything:
            kind = type(node)
            if kind not in _NAMING:
                continue
            if isinstance(node, ast.Name):
                if not isinstance(node.ctx, ast.Load):
                    continue
                name = node.id
            elif isinstance(node, ast.Attribute):
                name = node.attr
            elif isinstance(node, ast.Constant):
                if not isinstance(node.value, str):
                    continue
                # `"_target_": "pkg.ops.make"` is one, too.
                name = node.value.rpartition(".")[2]
                if not name.isidentifier() or not _is_kept(self.tree, node, name):
                    continue
            elif isinstance(node, ast.alias):
                name = node.name
                if node.asname in (None, name):
                    continue
            elif isinstance(node, _NAMED):
                name = node.name
            else:
                continue
            found.setdefault(name, []).append(node)
        return found

    def devices_on(self, lines: set[int]) -> Iterator[tuple[ast.expr, Want]]:
        """Yield what is told, or bound to, a device on these lines."""
        for node in self.tree.everything:
            if type(node) is ast.keyword:
                if node.arg in _TOLD and node.value.lineno in lines:
                    yield node.value, DEVICE
            elif type(node) is ast.Assign and node.lineno in lines:
                for target in node.targets:
                    for part, steps in parts_of(target):
                        if isinstance(part, (ast.Name, ast.Attribute)):
                            named = part.id if isinstance(part, ast.Name) else part.attr
                            if "device" in named:
                                yield node.value, DEVICE.under(*steps)

    def function_around(self, node: ast.AST) -> ast.AST | None:
        return next((p for p in self.tree.ancestors(node) if isinstance(p, _DEFINITIONS)), None)

    def class_of(self, function: ast.AST) -> ast.ClassDef | None:
        """Return the class that a function is a method of."""
        for parent in self.tree.ancestors(function):
            if not isinstance(parent, (ast.If, ast.Try, ast.With)):
                return parent if isinstance(parent, ast.ClassDef) else None
        return None

    def class_around(self, node: ast.AST) -> ast.ClassDef | None:
        return next((p for p in self.tree.ancestors(node) if isinstance(p, ast.ClassDef)), None)

    def given_to(self, dotted: str) -> list[ast.expr | None]:
        """Return what is assigned to ``name.attr``, None where it is one of several."""
        found: list[ast.expr | None] = []
        for node in self.tree.everything:
            targets = node.targets if isinstance(node, ast.Assign) else []
            if isinstance(node, (ast.AnnAssign, ast.AugAssign)):
                targets = [node.target]
            for target in targets:
                if ast.unparse(target).endswith(dotted):
                    match node:
                        case ast.Assign(value=value) | ast.AnnAssign(value=value):
                            found.append(value)
                        case _:
                            found.append(None)
                elif isinstance(target, (ast.Tuple, ast.List)) and dotted in ast.unparse(target):
                    found.append(None)
        return found


_Use = tuple[_Statement, ast.AST]
_Given = tuple[_Statement, set[str], str, ast.expr | None]


def _is_kept(tree: PythonTree, node: ast.Constant, name: str) -> bool:
    """Tell whether a function's name is kept for somebody who looks it up, and does not only stand in ``__all__``.

    Not in the function itself, which may tell what it is called.
    """
    for parent in tree.ancestors(node):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)) and parent.name == name:
            return False
        if isinstance(parent, (ast.Assign, ast.AugAssign)):
            target = parent.targets[0] if isinstance(parent, ast.Assign) else parent.target
            return ast.unparse(target) != "__all__"
    return not isinstance(next(tree.ancestors(node), None), ast.Expr)


def _is_of_word(letter: bytes) -> bool:
    return letter.isalnum() or letter == b"_" or letter > b"\x7f"


_ONLY_WORDS = bytes(byte if _is_of_word(bytes([byte])) else 32 for byte in range(256))
"""A table for :meth:`bytes.translate` that leaves the words of a text, and a space for each other byte."""


class _Text:
    """One file, of which statements are parsed when they are asked for."""

    def __init__(self, raw: bytes, known: Known, of_tests: bool = False) -> None:
        self.of_tests = of_tests
        self.raw = raw
        self._known = known
        self._parsed: dict[int, _Statement | None] = {}

    @cached_property
    def _starts(self) -> list[int]:
        found: list[int] = []
        decorated = False
        said = _DOCSTRING.match(self.raw)
        prose = range(said.start(1) + 1, said.end()) if said is not None else ()
        for start in (each.end() - 1 for each in _STARTS.finditer(b"\n" + self.raw)):
            if start in prose:
                continue
            if not decorated:
                found.append(start)
            decorated = self.raw.startswith(b"@", start)
        return found

    @cached_property
    def source(self) -> str:
        return self.raw.decode("utf-8", "replace")

    @cached_property
    def _above(self) -> list[ast.stmt]:
        """The imports of torch and its like, and of tdev, as of a second run, that stand on a line of their own."""
        lines = (line.decode("utf-8", "replace") for line in _IMPORTS.findall(b"\n" + self.raw))
        try:
            return ast.parse("\n".join(lines)).body
        except SyntaxError:
            return []

    def statements(self, name: bytes) -> Iterator[_Statement | None]:
        """Yield the statements whose text holds a word, None for what cannot be read; not plain imports of it."""
        raw, seen = self.raw, -2
        at = raw.find(name)
        while at >= 0:
            after = at + len(name)
            if not (_is_of_word(raw[at - 1 : at]) or _is_of_word(raw[after : after + 1])):
                number = bisect.bisect_right(self._starts, at) - 1
                if number != seen:  # they come in the order of the text
                    seen = number
                    if self._may_use(number, name):
                        yield self._statement(number)
            at = raw.find(name, after)

    def at(self, offset: int) -> _Statement | None:
        return self._statement(bisect.bisect_right(self._starts, offset) - 1)

    def line_in(self, statement: _Statement, offset: int) -> int:
        """Return on which line of a statement an offset of the text lies."""
        number = bisect.bisect_right(self._starts, offset) - 1
        whole = number < 0 or statement is self.__dict__.get("whole")
        return self.raw.count(b"\n", 0 if whole else self._starts[number], offset) + 1

    def _may_use(self, number: int, name: bytes) -> bool:
        """Tell whether a statement does more than to import a name under itself."""
        if number < 0 or not self.raw.startswith((b"from ", b"import "), self._starts[number]):
            return True
        if b";" in self._text_of(number) or _LONE_CR.search(self._text_of(number)):
            return True
        return re.search(rb"(?<!\w)" + name + rb"[\s\\]+as\b", self._text_of(number)) is not None

    def _text_of(self, number: int) -> bytes:
        start = self._starts[number] if number >= 0 else 0
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.raw)
        return self.raw[start:end]

    def _statement(self, number: int) -> _Statement | None:
        if number not in self._parsed:
            text = self._text_of(number).decode("utf-8", "replace")
            self._parsed[number] = self._read(text) or self.whole
        return self._parsed[number]

    @cached_property
    def whole(self) -> _Statement | None:
        """The whole text, where it is asked for or a part of it that starts at the margin is none: it lies in a string."""
        return self._read(self.source)

    def _read(self, text: str) -> _Statement | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                module = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        tree = PythonTree(Lines(text), module)
        return _Statement(
            tree, Devices(tree, self.source, self._known, self._above), self.source, self.of_tests
        )


_NOTHING = PythonTree(Lines(""))
_UNREAD: _Use = (_Statement(_NOTHING, Devices(_NOTHING, "")), ast.Name("", ast.Load()))


class _Tree:
    """The uses of names over all texts, and what is taken for real until something speaks against it."""

    def __init__(self, tree: Callers, known: Known) -> None:
        self._tree = tree
        self._known = replace(known, told=self._is_real, inherits=self._inherits)
        self._texts = [_Text(raw, self._known, id(raw) in tree.of_tests) for raw in tree.every]
        self._defined: dict[tuple[str, str], list[_Use]] = {}
        self._used: dict[str, tuple[list[_Use], Iterator[_Use]]] = {}
        self._refuted: set[Asked] = set()
        self._give_words: dict[str, bool] = {}
        self._contradicts: dict[Asked, bool] = {}
        self._refusing: dict[Asked, bool] = {}
        self._asking: Asked | None = None
        self._rests_on: dict[Asked, set[Asked]] = {}
        self._waiting: list[Asked] = []
        self._seen: set[Asked] = set()
        self._leans_on: set[Asked] = set()
        self._grounds: dict[Asked, list[frozenset[Asked]]] = {}
        """What each answer leans on, by the uses that speak for it; on nothing where one shows a device by itself."""

    def real(self, asked: set[Asked], followed: Iterable[_Place] = ()) -> frozenset[Asked]:
        """Return the questions that nothing in the tree speaks against, and those met on the way to devices that are followed."""
        for key in sorted(asked, key=repr):
            self._is_real(key)
        devices = [
            (statement.devices, *each)
            for statement, places in self._by_statement(followed)
            for each in statement.devices_on(places)
        ]
        while devices:
            leans: list[frozenset[Asked]] = []
            for of, node, want in devices:
                self._leans_on.clear()
                with suppress(RecursionError):  # an expression that is nested too deeply
                    of.holds(node, want)
                leans.append(frozenset(self._leans_on))
            self._settle_all()
            # What was taken for real until it was looked at may have kept others from being asked.
            paired = zip(devices, leans, strict=True)
            devices = [each for each, on in paired if not on.isdisjoint(self._refuted)]
        self._settle_all()
        refusing = (key for key, refuses in self._refusing.items() if refuses)
        return frozenset(self._seen - self._refuted).union(refusing)

    def _settle_all(self) -> None:
        """Look at all that is asked, until nothing speaks against what is left."""
        while self._waiting:
            self._settle()
            # Of functions that give each other what they are given, somebody has to bring a device in.
            grounded = {key for key in self._seen if frozenset() in self._grounds.get(key, ())}
            while more := {
                key
                for key in self._seen - grounded
                if any(not leans.isdisjoint(grounded) for leans in self._grounds.get(key, ()))
            }:
                grounded |= more
            for key in self._seen - self._refuted - grounded:
                self._refuted.add(key)
                self._waiting += self._rests_on.pop(key, ())

    def _by_statement(self, places: Iterable[_Place]) -> Iterator[tuple[_Statement, set[int]]]:
        """Yield the statements in which these places lie, with their lines there."""
        found: dict[int, tuple[_Statement, set[int]]] = {}
        for number, at in places:
            text = self._texts[number]
            statement = text.at(at)
            if statement is not None:
                lines = found.setdefault(id(statement), (statement, set()))[1]
                lines.add(text.line_in(statement, at))
        yield from found.values()

    def forget(self) -> None:
        """Let go of all trees: what answers for them is asked by them, and no count of references would end."""
        self._texts.clear()
        self._defined.clear()
        self._used.clear()

    def is_private(self, key: Asked) -> bool:
        """Tell whether a function is called by its own file alone: by its name, or because it stands in another."""
        if key.way not in ("parameter", "call"):
            return False
        heads = self._heads(key.of, key.way)
        return (
            _PRIVATE.match(key.of.encode()) is not None
            or bool(heads)
            and all(
                any(isinstance(parent, _DEFINITIONS) for parent in statement.tree.ancestors(node))
                for statement, node in heads
            )
        )

    def _settle(self) -> None:
        while self._waiting:
            key = self._waiting.pop()
            if key in self._refuted:
                continue
            self._asking = key
            try:
                holds = self._holds(key)
            except RecursionError:  # an expression that is nested too deeply
                holds = False
            self._asking = None
            if not holds:
                self._refuted.add(key)
                # What took this one for real is looked at again.
                self._waiting += self._rests_on.pop(key, ())

    def _is_real(self, key: Asked) -> bool:
        """Answer for a parameter while another is looked at, which then rests on the answer."""
        if key.way == "word":
            return self._is_contradicted(key) if key.name else self._gives_a_word(key.of)
        if key.way == "refuses":
            return self._refuses(key)
        if key in self._refuted:
            return False
        if self._asking and self._asking != key:
            self._rests_on.setdefault(key, set()).add(self._asking)
        if key.way not in _OF_ONE:  # which speak against a device, and bring none
            self._leans_on.add(key)
        if key not in self._seen:
            self._seen.add(key)
            self._waiting.append(key)
        return True

    # -- one parameter ------------------------------------------------------------------------

    def _holds(self, key: Asked) -> bool:
        match key.way:
            case "parameter":
                return self._are_given(key)
            case "call":
                return self._all_call(key)
            case "gives":
                return self._gives(key)
            case "fixture":
                return self._provides(key)
            case "named":
                return self._keep(key.of, key.name)
            case "made":
                return self._make(key.of, key.name)
            case "variable":
                return self._keeps_in_module(key.of, key.name)
            case "kept":
                return self._keeps(key.of, key.name)
            case "method":
                return self._method_gives(key)
            case "heirs":
                return self._heirs_give(key)
            case "filled":
                return self._is_filled_by_itself(key)
            case "word" | "refuses":
                return False  # which is told before anything else

    def _are_given(self, key: Asked) -> bool:
        """Tell whether everybody who calls a function, or makes a class, gives what is wanted."""
        name, parameter = key.of, key.name
        heads = self._heads(name, "parameter")
        classes = [(s, node) for s, node in heads if isinstance(node, ast.ClassDef)]
        uses = self._uses_of(name)
        inits: list[tuple[_Statement, _Function | None, ast.ClassDef | None]]
        if classes:
            if len(classes) != len(heads):
                return False
            # A dataclass, whose fields are its parameters, or one that is registered somewhere.
            if any(
                _init(node) is None and node.decorator_list or _is_wrapped(node)
                for _, node in classes
            ):
                return False
            made = (c for s, node in classes for c in _makes_itself(s, node))
            uses = chain(made, self._makers(name, uses))
            inits = [(s, _init(node), node) for s, node in classes]
        else:
            inits = [
                (statement, node, statement.class_of(node))
                for statement, node in heads
                if isinstance(node, _DEFINITIONS)
            ]
            owners = [owner for _, _, owner in inits]
            uses = self._by_other_names(uses, {name})
            uses = self._with_kept(use for use in uses if _may_mean(use, owners))
        signatures = [_Signature(s, node, owner) for s, node, owner in inits if node is not None]
        signatures = [each for each in signatures if each.has(parameter)]
        if not signatures:
            return False
        if key.want != DEVICE:
            return self._all_give_objects(uses, signatures, key)
        return self._all_give(uses, signatures, name, parameter)

    def _by_other_names(self, uses: Iterable[_Use], names: set[str]) -> Iterator[_Use]:
        """Yield the uses of a function, those of the names by which it is imported too; not of what has its name for another one's."""
        for statement, node in uses:
            if isinstance(node, ast.alias) and node.asname is not None:
                if node.asname not in names:
                    names.add(node.asname)
                    yield from self._by_other_names(self._uses_of(node.asname), names)
                continue
            there = renamed(statement.source).get(node.id) if isinstance(node, ast.Name) else None
            if there is None or there in names:
                yield statement, node

    def _with_kept(self, uses: Iterable[_Use]) -> Iterator[_Use]:
        """Yield the uses of a function; where an attribute keeps it, the calls of that: ``self.mask = plain if on else causal``."""
        done: set[str] = set()
        for statement, node in uses:
            called = isinstance(node, ast.Name) and _call_of(statement, node) is not None
            kept = _kept_in(statement, node) if isinstance(node, ast.Name) and not called else ""
            if not kept:
                yield statement, node
                continue
            if kept in done:
                continue
            done.add(kept)
            for other, each in self._uses_of(kept):
                if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Load):
                    yield other, each
                elif isinstance(each, ast.Constant):
                    yield _UNREAD

    def _all_call(self, key: Asked) -> bool:
        """Tell whether everybody who calls the modules of a class gives them a real device: ``self.rotary(n, x.device)``.

        Each such module has to be kept in an attribute where it is made.
        """
        name, parameter = key.of, key.name
        heads = self._heads(name, "call")
        classes = [(s, node) for s, node in heads if isinstance(node, ast.ClassDef)]
        signatures = [
            _Signature(statement, part, node)
            for statement, node in classes
            for part in node.body
            if isinstance(part, ast.FunctionDef) and part.name == "forward"
        ]
        if len(signatures) != 1 or not signatures[0].has(parameter) or classes[0][1].decorator_list:
            return False
        if any(_calls_itself(node) for _, node in classes):
            return False
        kept: set[str] = set()
        for statement, node in self._uses_of(name):
            if _asks_about(statement, node):
                if _is_forward(statement, node) or _is_asked_for(statement, node):
                    return False
                continue
            attribute = _kept_in(statement, node)
            if not attribute:
                return False
            kept.add(attribute)
        calls: list[_Use] = []
        for attribute in sorted(kept):
            for statement, node in self._uses_of(attribute):
                if isinstance(node, ast.Constant):
                    return False  # `self.get_submodule("rotary")`
                if not isinstance(node, ast.Attribute):
                    continue  # of a variable of that name, or of a keyword
                if _call_of(statement, node) is not None:
                    calls.append((statement, node))
                elif not _only_looks(statement, node):
                    return False
        if not calls:
            return False
        if key.want != DEVICE:
            return self._all_give_objects(calls, signatures, key)
        return self._all_give(calls, signatures, name, parameter)

    def _provides(self, key: Asked) -> bool:
        """Tell whether each fixture of a name gives a real device, and is called after its function."""
        if key.of in self._tree.named_fixtures:
            return False
        heads = [
            (statement, node)
            for statement, node in self._heads(key.of, "gives")
            if isinstance(node, _DEFINITIONS) and _is_fixture(node)
        ]
        self._leans_on.clear()
        if not heads or not all(s.devices.provides_device(node) for s, node in heads):
            return False
        self._grounds[key] = [frozenset(self._leans_on)]
        return True

    def _gives(self, key: Asked) -> bool:
        """Tell whether every function of a name gives what is wanted, and nothing else has that name."""
        heads = self._heads(key.of, "gives")
        if not heads or any(
            not isinstance(node, _DEFINITIONS) or _is_wrapped(node) for _, node in heads
        ):
            return False
        self._leans_on.clear()
        for statement, node in heads:
            if not statement.devices.gives(node, key.want):
                return False
        leans = frozenset(self._leans_on - {key})
        if leans or key not in self._leans_on or self._gives_by_itself(key, heads):
            self._grounds[key] = [leans]
        return self._are_all(key.of, heads)

    def _are_all(self, name: str, heads: list[_Use]) -> bool:
        """Tell whether there is no other function of a name, of which the signature could not be read, or what is given it."""
        word = name.encode()
        given = re.compile(word + rb"(?<!\w" + word + rb")[ \t]*=(?!=)")
        head = re.compile(rb"def[ \t]+" + word + rb"(?!\w)")
        heads_seen = 0
        for text in (self._texts[number] for number in self._with_word(word)):
            heads_seen += len(head.findall(text.raw))
            if given.search(text.raw):
                return False
        return heads_seen == len(heads)

    def _refuses(self, key: Asked) -> bool:
        """Tell whether every function of a name raises if what it is given is not there; what it calls for that included."""
        if key not in self._refusing:
            self._refusing[key] = False  # while it is looked at: it may call itself
            heads = self._heads(key.of, "gives")
            self._refusing[key] = (
                bool(heads)
                and all(self._refuses_its(statement, node, key.name) for statement, node in heads)
                and self._are_all(key.of, heads)
                and not self._is_taken_from_others(key.of)
            )
        return self._refusing[key]

    def _is_taken_from_others(self, name: str) -> bool:
        """Tell whether a file has something from another package by a name, which others may take from there."""
        return any(
            not self._known.is_own(module)
            for number in self._with_word(name.encode())
            for module in imported_from(self._texts[number].source).get(name, ())
        )

    def _is_of_others(self, name: str) -> bool:
        """Tell whether a file may mean another package's, and not torch's, by a name: taken from there, by a star too, or out of it."""
        dotted = re.compile(rf"(\w+)(?:\.\w+)*\.{name}\b")
        for source in (self._texts[number].source for number in self._with_word(name.encode())):
            taken = imported_from(source)
            names = {name if name in taken else "*"}
            if f".{name}" in source:
                names.update(dotted.findall(source))
            modules = (module for each in names for module in taken.get(each, ()))
            if any(each not in _TORCHS_OWN and not self._known.is_own(each) for each in modules):
                return True
        return False

    @staticmethod
    def _refuses_its(statement: _Statement, node: ast.AST, place: str) -> bool:
        if not isinstance(node, ast.FunctionDef) or _is_wrapped(node):
            return False
        parameter = _Signature(statement, node, statement.class_of(node)).at(place)
        return bool(parameter) and statement.devices.refuses(node, parameter)

    def _method_gives(self, key: Asked) -> bool:
        """Tell whether the method of a class gives what is wanted, or that of the first class that it inherits from and has it."""
        name, seen = key.of, set[str]()
        while name not in seen:
            seen.add(name)
            places = self._tree.classes.get(name, ())
            if len(places) != 1:
                return False
            number, at, bases = places[0]
            statement = self._texts[number].at(at)
            for node in statement.named.get(name, ()) if statement is not None else ():
                if not isinstance(node, ast.ClassDef) or statement is None:
                    continue
                for part in node.body:
                    if isinstance(part, _DEFINITIONS) and part.name == key.name:
                        self._leans_on.clear()
                        gives = statement.devices.gives(part, key.want)
                        self._rest([frozenset(self._leans_on - {key})])
                        return gives
            name = next(iter(sorted(bases & self._tree.classes.keys())), name)
        return False

    def _heirs_of(self, name: str) -> set[str]:
        """Return the classes that inherit from one of this name, by the names of their bases."""
        found, todo = set[str](), [name]
        while todo:
            more = self._heirs.get(todo.pop(), set()) - found
            found |= more
            todo += more
        return found - {name}

    @cached_property
    def _heirs(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for name, places in self._tree.classes.items():
            for base in {base for _, _, bases in places for base in bases}:
                found.setdefault(base, set()).add(name)
        return found

    def _nodes_of(self, name: str) -> Iterator[tuple[_Statement, ast.ClassDef]]:
        for number, at, _ in self._tree.classes.get(name, ()):
            statement = self._texts[number].at(at)
            for node in statement.named.get(name, ()) if statement is not None else ():
                if isinstance(node, ast.ClassDef) and statement is not None:
                    yield statement, node

    def _heirs_give(self, key: Asked) -> bool:
        """Tell whether what the heirs of a class have of their own by a name gives what is wanted."""
        self._rest([frozenset()])
        word = key.name.encode()
        for heir in sorted(self._heirs_of(key.of)):
            if not any(word in self._texts[n].raw for n, _, _ in self._tree.classes[heir]):
                continue
            for statement, node in self._nodes_of(heir):
                for part in node.body:
                    if isinstance(part, _DEFINITIONS) and part.name == key.name:
                        if not _does_as_its_base(statement.devices, part, key.want):
                            return False
                    elif isinstance(part, (ast.Assign, ast.AnnAssign)) and stores(part, key.name):
                        if part.value is None or not statement.devices.holds(part.value, key.want):
                            return False
        return True

    def _is_filled_by_itself(self, key: Asked) -> bool:
        """Tell whether nobody but a class itself puts something into what it keeps, as all uses of that show."""
        self._rest([frozenset()])
        family = {key.of, *self._bases_of(key.of), *self._heirs_of(key.of)}
        word, deep = key.name.encode(), len(key.want.path)
        texts = [text for text in self._texts if word in text.raw]
        if len(texts) > _MOST:
            return False
        for text in texts:
            for statement in text.statements(word):
                if statement is None:
                    return False
                for node in statement.named.get(key.name, ()):
                    if isinstance(node, ast.Constant):
                        return False  # `setattr(self, "devices", …)`
                    if not isinstance(node, ast.Attribute):
                        continue
                    own = is_self(node.value)
                    around = statement.class_around(node)
                    if own and around is not None and around.name not in family:
                        continue
                    itself = own and around is not None and around.name == key.of
                    if not _leaves_as_it_is(statement, node, deep, itself):
                        return False
        return True

    def _gives_by_itself(self, key: Asked, heads: list[_Use]) -> bool:
        """Tell whether a function that calls itself brings in a device, too, and does not only hand on its own."""
        for statement, node in heads:
            for given in statement.devices.returned(node):
                self._leans_on.clear()
                if statement.devices.holds(given, key.want) and not self._leans_on:
                    return True
        return False

    @cached_property
    def contradicted(self) -> frozenset[Asked]:
        """The parameters that are annotated as devices, and to which somebody gives a word, or what is annotated as one."""
        if not self._that_say_words:
            return frozenset()
        return frozenset(key for key in sorted(self._tree.promised) if self._is_contradicted(key))

    @cached_property
    def _that_say_words(self) -> frozenset[int]:
        return frozenset(
            number
            for number, text in enumerate(self._texts)
            if not text.of_tests and any(word in text.raw for word in _SAYS_WORD)
        )

    def _is_contradicted(self, key: Asked) -> bool:
        """Tell whether a word comes to such a parameter, from who calls its function or from who calls that one's caller."""
        if key not in self._contradicts:
            self._contradicts[key] = False  # while it is looked at: a function may call itself
            word = key.of.encode()
            called = re.compile(
                rb"(?<!def )(?<![\w])" + word + rb"\([^)]{0,300}(?:device|[\"']cuda)"
            )
            texts = [
                number
                for number in sorted(self._with_word(word))
                if word + b"(" in self._texts[number].raw
                and not self._texts[number].of_tests
                and (number in self._that_say_words or _HANDS_ON.search(self._texts[number].raw))
                and called.search(self._texts[number].raw)
            ]
            with suppress(RecursionError):
                given = any(self._is_given_a_word(key, number) for number in texts)
                self._contradicts[key] = given or self._has_a_twin_of_words(key)
        return self._contradicts[key]

    def _has_a_twin_of_words(self, key: Asked) -> bool:
        """Tell whether a class is registered, and made by who looks it up, beside an heir of the same base that says that it takes a word."""
        for _, node in self._heads(key.of, "parameter"):
            registers = _registers(node) if isinstance(node, ast.ClassDef) else set()
            for base in map(last_name, node.bases) if isinstance(node, ast.ClassDef) else ():
                for name in sorted(self._heirs.get(base, set()) - {key.of} if registers else ()):
                    for statement, twin in self._nodes_of(name):
                        init = None if statement.of_tests else _init(twin)
                        if init is None or registers.isdisjoint(_registers(twin)):
                            continue
                        signature = _Signature(statement, init, twin)
                        if signature.has(key.name) and signature.takes_words(key.name, False):
                            return True
        return False

    def _is_given_a_word(self, key: Asked, number: int) -> bool:
        """Tell whether a file gives a word to a parameter that is annotated as a device."""
        signatures = [
            signature
            for statement, node in self._heads(key.of, "parameter")
            if (function := _init(node) if isinstance(node, ast.ClassDef) else node) is not None
            and isinstance(function, _DEFINITIONS)
            and (signature := _Signature(statement, function, statement.class_of(function)))
            and signature.has(key.name)
        ]
        for statement in self._texts[number].statements(key.of.encode()) if signatures else ():
            for node in statement.named.get(key.of, ()) if statement is not None else ():
                call = _call_of(statement, node) if statement is not None else None
                if call is None or statement is None:
                    continue
                for signature in _meant_by(statement, node, call, signatures):
                    given = signature.given(call, key.name)
                    if signature.is_promised(key.name) and given is not None:
                        if statement.devices.is_word(given):
                            return True
        return False

    def _gives_a_word(self, name: str) -> bool:
        """Tell whether a function of this name returns what is a word."""
        if name not in self._give_words:
            self._give_words[name] = False  # while it is looked at: it may call itself
            self._give_words[name] = any(
                isinstance(node, ast.FunctionDef) and statement.devices.gives_word(node)
                for statement, node in self._heads(name, "gives")
            )
        return self._give_words[name]

    def _rest(self, grounds: list[frozenset[Asked]]) -> None:
        """Take down what the answer that is looked for leans on."""
        assert self._asking is not None
        self._grounds[self._asking] = grounds

    def _inherits(self, name: str, attr: str) -> bool:
        """Tell whether a class of the tree, or one that it inherits from, keeps a real device; others are trusted."""
        return self._is_real(Asked("kept", name, attr))

    def _keep(self, name: str, attr: str) -> bool:
        """Tell whether each class of the tree that an object is called after keeps a real device.

        One that nobody gives it from outside, and no field of a dataclass, which is a parameter.
        """
        stands_for = self._stands_for(name)
        if stands_for and all(s.devices.promises(value, TENSOR) for s, value in stands_for):
            self._rest([frozenset()])
            return True
        said = [classes_said(value) for _, value in stands_for]
        aliased = {each for several in said for each in several} - {name} if all(said) else set()
        if aliased:
            return all([self._keep(each, attr) for each in sorted(aliased)])
        found = [
            (self._texts[number].at(at), owner)
            for owner, number, at in self._keepers.get(attr, ())
            if snake(owner).endswith(f"_{name.lower()}") or owner == name
        ]
        if not found and name in self._tree.classes:
            # What it inherits of the tree.
            above = {base for _, _, bases in self._tree.classes[name] for base in bases}
            if any([self._keep(base, attr) for base in sorted(above - {name})]):
                return True
        called = self._called_as(name) if not found else []
        if called:
            # Which keep none themselves, but inherit one, as accelerate's and Lightning's heirs do.
            self._rest([frozenset()])
            return all(self._inherits_one(each, attr) for each in called) and (
                self._is_given_real(name, attr, called)
            )
        if not found and _ENVIRONMENT.search(name) is not None and name not in self._tree.classes:
            found = self._environments(attr)
            if not found:  # nothing but another package's
                self._rest([frozenset()])
                return self._is_given_real(name, attr)
        self._leans_on.clear()
        if not found or not all(
            self._is_kept(statement, owner, attr) for statement, owner in found
        ):
            return False
        self._rest([frozenset(self._leans_on)])
        return self._is_given_real(name, attr, {owner for _, owner in found})

    def _environments(self, attr: str) -> list[tuple[_Statement | None, str]]:
        """Return what may be an environment of the tree and keeps a device: by its name, its bases, or what its file defines."""
        return [
            (self._texts[number].at(at), owner)
            for owner, number, at in sorted(self._keepers.get(attr, ()))
            if all(word in self._texts[number].raw for word in (b"def step(", b"def reset("))
            or any(_ENVIRONMENT.search(snake(n)) for n in (owner, *self._bases_of(owner)))
        ]

    def _bases_of(self, name: str) -> set[str]:
        """Return what a class inherits from, as far as the tree shows it."""
        found, todo = set[str](), [name]
        while todo:
            more = {
                base for _, _, bases in self._tree.classes.get(todo.pop(), ()) for base in bases
            }
            todo += more - found
            found |= more
        return found

    def _stands_for(self, name: str) -> list[tuple[_Statement, ast.expr | None]]:
        """Return what a name stands for in annotations: ``DETECTOR = Union[Yolo, FasterRCNN]``; None where that is not to be seen."""
        if not name[:1].isupper() or name in self._tree.classes:
            return []
        # By the name, which `re` looks for many times faster than for a line's start.
        given = re.compile(name.encode() + rb"[ \t]*(?::[^=\n]+)?=(?!=)")
        found: list[tuple[_Statement, ast.expr | None]] = []
        for text in self._texts:
            for place in given.finditer(text.raw):
                start = text.raw.rfind(b"\n", 0, place.start()) + 1
                if text.raw[start : place.start()].strip(b" \t"):
                    continue
                statement = text.at(place.end() - 1)
                if statement is None:
                    return []
                if any(isinstance(each, _NAMED) for each in statement.tree.module.body[:1]):
                    return []  # of one function, or class, alone
                found += [(statement, value) for value in statement.given_to(name) or [None]]
        return [] if found and self._is_of_others(name) else found

    def _make(self, made: str, attr: str) -> bool:
        """Tell whether each class of the tree that a word may mean, and that takes such keywords, keeps a real device."""
        word, _, keywords = made.partition(":")
        wanted = f"_{word.lower()}"
        self._rest([frozenset()])
        found = [
            name
            for name in self._tree.classes
            if (cased := snake(name)).endswith(wanted) or cased.startswith(f"{wanted}_")
            if self._takes(name, set(filter(None, keywords.split(","))))
        ]
        return (
            bool(found)
            and all(self._has_keeper(each, attr) and self._inherits(each, attr) for each in found)
            and self._is_given_real(word, attr)
        )

    def _chain(self, name: str) -> Iterator[str]:
        """Yield a class and those of the tree that it inherits from, the nearest first."""
        seen, todo = set[str](), [name]
        while todo:
            each = todo.pop(0)
            if each in seen or each not in self._tree.classes:
                continue
            seen.add(each)
            yield each
            todo += sorted({base for _, _, bases in self._tree.classes[each] for base in bases})

    def _has_keeper(self, name: str, attr: str) -> bool:
        owners = {owner for owner, _, _ in self._keepers.get(attr, ())}
        return not owners.isdisjoint(self._chain(name))

    def _takes(self, name: str, keywords: set[str]) -> bool:
        """Tell whether a class may be made with keywords, as the first ``__init__`` says that it or a base of it has."""
        for each in self._chain(name):
            inits = [init for _, node in self._nodes_of(each) if (init := _init(node)) is not None]
            if inits:
                return any(
                    init.args.kwarg is not None
                    or keywords <= {arg.arg for arg in (*init.args.args, *init.args.kwonlyargs)}
                    for init in inits
                )
        return True

    def _keeps_in_module(self, name: str, attr: str) -> bool:
        """Tell whether each module of a name keeps a real device in a variable, and so does who sets it from outside."""
        texts = [self._texts[number].whole for number in self._tree.modules.get(name, ())]
        modules = [t for t in texts if t is not None and t.devices.is_bound_at_the_margin(attr)]
        self._leans_on.clear()
        if not modules or not all(
            each.devices.is_set_to(attr, DEVICE) and "globals()" not in each.source
            for each in modules
        ):
            return False
        self._rest([frozenset(self._leans_on)])
        return self._is_given_real(name, attr)

    def _inherits_one(self, name: str, attr: str) -> bool:
        """Tell whether a class has a device from one of another package that is known to keep a real one."""
        seen, todo = set[str](), [name]
        while todo:
            each = todo.pop()
            if each in seen:
                continue
            seen.add(each)
            for number, at, bases in self._tree.classes.get(each, ()):
                statement = self._texts[number].at(at)
                nodes = statement.named.get(each, ()) if statement is not None else ()
                if any(isinstance(node, ast.ClassDef) and _has_field(node, attr) for node in nodes):
                    return False
                todo += bases
        return any(
            _KEEPS_A_DEVICE.fullmatch(each) or f"{each}.{attr}" in KEPT_BY_OTHERS
            for each in seen - self._tree.classes.keys()
        )

    def _called_as(self, name: str) -> list[str]:
        """Return the classes that an object of this name may be one of: ``engine`` of each ``…Engine``."""
        wanted = f"_{name.lower()}"
        return [
            each
            for cased, each in self._by_last_word.get(wanted.rpartition("_")[2], ())
            if cased.endswith(wanted)
        ]

    @cached_property
    def _by_last_word(self) -> dict[str, list[tuple[str, str]]]:
        found: dict[str, list[tuple[str, str]]] = {}
        for each in self._tree.classes:
            cased = snake(each)
            found.setdefault(cased.rpartition("_")[2], []).append((cased, each))
        return found

    def _is_given_real(self, name: str, attr: str, owners: Iterable[str] = ()) -> bool:
        """Tell whether what is given to ``name.attr``, or to an object of one of these classes, from outside is a real device."""
        if not self._is_given_real_by_others(set(owners), attr):
            return False
        dotted = f"{name}.{attr}".encode()
        given = re.compile(rb"(?<![a-zA-Z])" + re.escape(dotted) + rb"\b[^\n=(]{0,80}=(?!=)")
        for text in self._texts:
            for found in given.finditer(text.raw) if dotted in text.raw else ():
                statement = text.at(found.start())
                values = statement.given_to(dotted.decode()) if statement is not None else [None]
                if not all(
                    value is not None
                    and statement is not None
                    and statement.devices.is_own_device(value)
                    for value in values
                ):
                    return False
        return True

    def _is_kept(self, statement: _Statement | None, owner: str, attr: str) -> bool:
        return statement is not None and any(
            isinstance(node, ast.ClassDef)
            and not (node.decorator_list and _has_field(node, attr))
            and statement.devices.keeps_device(node, attr)
            for node in statement.named.get(owner, ())
        )

    def _keeps(self, name: str, attr: str) -> bool:
        """Tell whether what a class keeps in an attribute, or one that it inherits from, is a real device.

        Of no name, what all of them do, settings aside, where there is one and nothing else that has a device.
        """
        found = [
            (self._texts[number].at(at), owner)
            for owner, number, at in self._keepers.get(attr, ())
            if owner == name or not name and SETTINGS_CLASS.search(owner) is None
        ]
        self._leans_on.clear()
        if found or not name:
            seen = bool(name) or bool(found) and not self._nameless
            real = seen and all(self._is_kept(each, owner, attr) for each, owner in found)
        else:
            above = {base for _, _, bases in self._tree.classes.get(name, ()) for base in bases}
            real = all([self._inherits(base, attr) for base in above - {name}])
        real = real and self._is_given_real_by_others({name}, attr)
        leans = frozenset(key for key in self._leans_on if key.way != "kept")
        self._rest([leans])
        return real

    def _is_given_real_by_others(self, owners: set[str], attr: str) -> bool:
        """Tell whether others, too, give objects of classes a real device: what is called or annotated after one or an heir of it.

        Or has its name and takes whatever it is made with, as a dataclass does. Of no name, whatever the object is.
        """
        if any(
            _has_field(node, attr) and not statement.devices.keeps_device(node, attr)
            for owner in owners
            if len(self._tree.classes.get(owner, ())) > 1
            for statement, node in self._nodes_of(owner)
        ):
            return False
        family = owners.union(*map(self._heirs_of, owners))
        cased = [snake(each) for each in family]
        endings = {each[at:] for each in cased for at, sign in enumerate(each) if sign == "_"}
        return all(
            value is not None and statement.devices.is_own_device(value)
            for statement, kinds, called, value in self._given.get(attr, ())
            if "" in owners or called in endings or not kinds.isdisjoint(family)
        )

    @cached_property
    def _given(self) -> dict[str, list[_Given]]:
        """Values that the tree gives to the devices of other objects, ``model.device = word``, tests aside; None where it is one of several.

        With the class of the object, or those that the file says something by its name is of, and what it is called.
        """
        found: dict[str, list[_Given]] = {}
        places = (
            (number, each.start(1))
            for number, text in enumerate(self._texts)
            for each in _GIVES_ANOTHER.finditer(text.raw)
        )
        for statement, lines in self._by_statement(places):
            for node in statement.tree.everything if not statement.of_tests else ():
                if not isinstance(node, ast.Assign) or node.lineno not in lines:
                    continue
                for target in node.targets:
                    for part, steps in parts_of(target):
                        if isinstance(part, ast.Attribute) and not (
                            is_self(part.value) or is_of_settings(ast.unparse(part.value))
                        ):
                            if statement.devices.is_put_back(node.value, part):
                                continue
                            given = None if steps else node.value
                            name = last_name(part.value)
                            kinds = set(statement.devices.classes_of(part.value))
                            if not kinds and name:
                                said = _classes_of(statement.source.encode(), name.encode())
                                kinds = {each.decode() for each in said}
                            found.setdefault(part.attr, []).append(
                                (statement, kinds, snake(name), given)
                            )
        return found

    def words(self) -> frozenset[str]:
        """Return ``Class.attribute`` of each class that keeps what is not shown to be real.

        Of those that others inherit from, those that set it themselves and are the only one of their name, and those that
        are called as another package's is which keeps a real one.
        """
        bases = {
            base for each in self._tree.classes.values() for _, _, above in each for base in above
        }
        keys = {
            Asked("kept", owner, attr)
            for attr, kept in self._keepers.items()
            for owner, number, at in kept
            if owner in bases
            or f"{owner}.{attr}" in KEPT_BY_OTHERS
            or self._is_the_one_that_sets(owner, number, at)
        }
        nameless = {f"{name}.device" for name in self._nameless}
        return frozenset(f"{key.of}.{key.name}" for key in keys - self.real(keys)) | nameless

    @cached_property
    def _nameless(self) -> set[str]:
        """The callables that make objects with a device that no class of the tree is seen to keep, tests and settings aside."""
        found: set[str] = set()
        for text in self._texts:
            for sign, pattern in _MAKES_NAMELESS.items():
                if sign in text.raw and not text.of_tests:
                    for made in pattern.finditer(text.raw):
                        owner = made[1] or _class_around(text.raw, made.start())
                        if made[1] or owner and self._takes_any(owner):
                            found.add(owner.decode())
        return {name for name in found if SETTINGS_CLASS.search(name) is None}

    def _takes_any(self, owner: bytes) -> bool:
        """Tell whether a class that keeps whatever it is given is made with a device: ``Job(device="cuda:1")``."""
        made = re.compile(owner + rb"\((?:[^()]|\([^()]*\))*?\bdevice[ \t]*=(?!=)")
        texts = (self._texts[number].raw for number in self._with_word(owner))
        return not self._has_keeper(owner.decode(), "device") and any(map(made.search, texts))

    def _is_the_one_that_sets(self, owner: str, number: int, at: int) -> bool:
        """Tell whether a class of a name that no other has sets its device at a place in a text, and has no method for it."""
        of_method = self._texts[number].raw.startswith(b"(", at + len(b"device"))
        return not of_method and len(self._tree.classes.get(owner, ())) == 1

    @cached_property
    def _keepers(self) -> dict[str, set[tuple[str, int, int]]]:
        """The classes that keep a device, with one of the places where they do, by the attribute's name."""
        found: dict[str, set[tuple[str, int, int]]] = {}
        for number, text in enumerate(self._texts):
            for kept in _KEPT.finditer(text.raw):
                start = text.raw[max(0, kept.start() - 60) : kept.start()]
                before = _KEEPS.search(start)
                if before is None and kept[0][-1:] == b"=":
                    before = _OF_ALL.search(start)
                    if before is not None and _is_nested(text.raw, kept.start() - len(before[1])):
                        continue  # a variable of a method
                if before is not None and (owner := _class_around(text.raw, kept.start())):
                    attr = before[1].decode() + "device"
                    found.setdefault(attr, set()).add((owner.decode(), number, kept.start()))
        return found

    def _with_word(self, name: bytes) -> list[int]:
        """Return the numbers of the texts that hold a name as a word; of a rare one, in whatever way."""
        if (known := self._index.get(name)) is not None:
            return known
        return [number for number, text in enumerate(self._texts) if name in text.raw]

    @cached_property
    def _index(self) -> dict[bytes, list[int]]:
        """The texts that hold a name of a function that is told a device, or of a class.

        Made in one pass over the texts: to search all of them for each name takes many times as long.
        """
        homes = self._tree.homes.values()
        names = {n.encode() for n in chain(*homes, self._tree.classes, self._tree.names)}
        found: dict[bytes, list[int]] = {name: [] for name in names}
        for number, text in enumerate(self._texts):
            for name in names.intersection(text.raw.translate(_ONLY_WORDS).split()):
                found[name].append(number)
        return found

    def _makers(self, name: str, uses: Iterator[_Use]) -> Iterator[_Use]:
        """Yield the uses of a class that make one, or an heir that is made as it is."""
        todo, done = [uses], {name}
        while todo:
            for statement, node in todo.pop():
                heir = _based(statement, node)
                if heir is None:
                    if not (_asks_about(statement, node) or self._is_others(statement, node)):
                        by_another = _made_by_another_name(statement, node)
                        if by_another is None:
                            by_another = self._made_by_a_table(statement, node)
                        yield from [(statement, node)] if by_another is None else by_another
                    continue
                yield from _made_within(statement, heir)
                # Whose other bases come before it, as they are called.
                for base in map(ast.unparse, heir.bases if len(heir.bases) > 1 else ()):
                    yield from self._made_by(base.rpartition(".")[2], name)
                if _init(heir) is None and heir.name not in done:
                    done.add(heir.name)
                    todo.append(self._uses_of(heir.name))

    def _made_by_a_table(self, statement: _Statement, node: ast.AST) -> list[_Use] | None:
        """Return the calls by which a module's table makes one of its classes: ``KINDS = {"a": Linear}``, ``KINDS[kind](4)``; None where there is none.

        Or where more is done with it than to look up a class that is made right away, or asked something.
        """
        table, line, *_ = [*statement.tree.ancestors(node), None, None]
        if not isinstance(table, ast.Dict) or node not in table.values:
            return None
        if not isinstance(line, ast.Assign) or line not in statement.tree.module.body:
            return None
        name = ast.unparse(line.targets[0])
        if len(line.targets) > 1 or not name.isidentifier():
            return None
        found: list[_Use] = []
        for other, use in self._uses_of(name):
            if isinstance(use, ast.Name) and (
                other.devices.is_variable(use)
                or other.source is not statement.source
                and not _may_import(other.source, name)
            ):
                continue  # what has the same name elsewhere
            taken, made, *_ = [*other.tree.ancestors(use), None, None]
            match taken, made:
                case ast.Compare(), _:
                    pass
                case ast.Subscript(value=value), ast.Call(func=func) if (
                    value is use and func is taken
                ):
                    found.append((other, taken))
                case ast.Subscript(value=value), ast.Attribute(attr=attr) if (
                    value is use and attr != "__init__"
                ):
                    pass
                case _:
                    return None
        return found

    def _is_others(self, statement: _Statement, node: ast.AST) -> bool:
        """Tell whether a name is that of another package's: ``from transformers.models.falcon import Layer as Old``."""
        line = next(statement.tree.ancestors(node), None) if isinstance(node, ast.alias) else None
        if not isinstance(line, ast.ImportFrom) or line.level or not line.module:
            return False
        return line.module.rpartition(".")[2] not in self._tree.called

    def _made_by(self, base: str, name: str) -> Iterator[_Use]:
        """Yield the calls by which a class beside another hands on to it what it is made with."""
        for number, at, _ in self._tree.classes.get(base, ()) if base != name else ():
            statement = self._texts[number].at(at)
            for node in statement.named.get(base, ()) if statement is not None else ():
                if isinstance(node, ast.ClassDef) and statement is not None:
                    yield from _made_within(statement, node)

    def _all_give(
        self, uses: Iterable[_Use], signatures: list[_Signature], name: str, parameter: str
    ) -> bool:
        # Of a function that others may call, its callers have to show what it is for. What a private one
        # says that it takes, its callers know better.
        shown = private = _PRIVATE.match(name.encode()) is not None or all(
            each.is_nested for each in signatures
        )
        if any(each.takes_words(parameter, private) for each in signatures):
            return False
        # Or its default is a device that is made: `device=torch.device("cpu")`.
        shown = shown or all(isinstance(each.default(parameter), ast.Call) for each in signatures)
        # What one function of a name says of it, those that stand in its place are given, too.
        found = promised = _is_promised_to_all(signatures, parameter)
        grounds: list[frozenset[Asked]] = [frozenset()] if promised else []
        heads = [signature.node for signature in signatures]
        if any(map(_is_wrapped, heads)) or any("fire.Fire(" in each.source for each in signatures):
            return False
        for count, (statement, node) in enumerate(uses):
            if count > _MOST:
                return False
            if (call := _call_of(statement, node)) is None:
                if promised and _is_another(node):
                    continue
                if statement.of_tests and not any(each.of_tests for each in signatures):
                    continue  # which wraps it, or puts something in its place
                return False
            for signature in _meant_by(statement, node, call, signatures):
                given = signature.given(call, parameter)
                if given is _NONE_GIVEN and statement.source not in (s.source for s in signatures):
                    continue  # a call of another one of this name
                if given is None:
                    return False
                is_default = given is signature.default(parameter)
                self._leans_on.clear()
                by = (signature if is_default else statement).devices
                if not (by.is_own_device(given) or by.is_beside_its_type(given, call)):
                    if promised and _hands_on(statement, given):
                        continue  # who says nothing of what it is given breaks no promise
                    return False
                # What it is given by itself alone says nothing.
                # Nor does what a test gives it.
                plain = isinstance(given, ast.Constant) and not private
                tried = statement.of_tests and not signature.of_tests
                if not (plain or tried or statement.function_around(node) in heads):
                    found = True
                    shown = shown or not is_default
                    grounds.append(frozenset(self._leans_on))
        self._rest(grounds)
        return (shown or promised) and found

    def _all_give_objects(
        self, uses: Iterable[_Use], signatures: list[_Signature], key: Asked
    ) -> bool:
        """Tell whether every call gives what is wanted: something with a real device, as a tensor, or a list of such."""
        found = False
        grounds: list[frozenset[Asked]] = []
        if any(_is_wrapped(each.node) for each in signatures):
            return False
        for count, (statement, node) in enumerate(uses):
            call = _call_of(statement, node)
            if count > _MOST or call is None:
                return False
            if statement.of_tests and not signatures[0].of_tests:
                continue
            for signature in _meant_by(statement, node, call, signatures):
                given = signature.given(call, key.name)
                self._leans_on.clear()
                if given is None or given is _NONE_GIVEN:
                    return False
                is_default = given is signature.default(key.name)
                if not (signature if is_default else statement).devices.holds(given, key.want):
                    return False
                found = True
                grounds.append(frozenset(self._leans_on))
        self._rest(grounds)
        return found

    def _heads(self, name: str, way: str) -> list[_Use]:
        """Return the functions of a name that are told a device, or give one, or the classes that are made or called with one."""
        if (way, name) not in self._defined:
            found: list[_Use] = []
            for number, at in self._tree.homes[way].get(name) or self._places(name):
                statement = self._texts[number].at(at)
                named = statement.named if statement is not None else {}
                for node in named.get(name, ()):
                    if isinstance(node, (*_DEFINITIONS, ast.ClassDef)):
                        if all(node is not known for _, known in found) and statement is not None:
                            found.append((statement, node))
            self._defined[way, name] = found
        return self._defined[way, name]

    def _places(self, name: str) -> list[_Place]:
        """Return where functions of a name, or classes, are defined; none where there are too many to tell them apart."""
        if name not in self._tree.names and name not in self._tree.classes:
            return []
        if name.encode() in _NEVER:
            return []
        found: list[_Place] = []
        for number in self._with_word(name.encode()):
            raw = self._texts[number].raw
            for head in (f"def {name}".encode(), f"class {name}".encode()):
                at = raw.find(head)
                while at >= 0:
                    after = at + len(head)
                    if not (_is_of_word(raw[at - 1 : at]) or _is_of_word(raw[after : after + 1])):
                        found.append((number, at))
                    at = raw.find(head, after)
            if len(found) > _FEW:
                return []
        return found

    def _uses_of(self, name: str) -> Iterator[_Use]:
        """Yield the nodes that use a name, those where it is defined first; what has been found is kept."""
        if name not in self._used:
            self._used[name] = [], self._look_for(name)
        known, more = self._used[name]
        at = 0
        while True:
            while at < len(known):
                yield known[at]
                at += 1
            found = next(more, None)
            if found is None:
                return
            known.append(found)

    def _look_for(self, name: str) -> Iterator[_Use]:
        """Yield them as they are found; one that is no call for a text that cannot be read."""
        known = self._tree.homes["parameter"].get(name, ())
        homes = list(dict.fromkeys(number for number, _ in known))
        word = name.encode()
        for number in chain(homes, (n for n in self._with_word(word) if n not in homes)):
            for statement in self._texts[number].statements(word):
                if statement is None:
                    yield _UNREAD
                    continue
                for node in statement.named.get(name, ()):
                    if not isinstance(node, (*_DEFINITIONS, ast.ClassDef)):
                        yield statement, node


_NONE_GIVEN = ast.Constant(value=...)
"""What a call gives that lacks a parameter which has no default."""


class _Signature:
    """The parameters of one function, and what a call gives each."""

    def __init__(
        self,
        statement: _Statement,
        node: _Function,
        owner: ast.ClassDef | None,
    ) -> None:
        self.source = statement.source
        self.of_tests = statement.of_tests
        self.devices = statement.devices
        self.owner = owner
        self.node = node
        self.is_nested = statement.function_around(node) is not None
        of_class, given = owner is not None, node.args
        names = [arg.arg for arg in (*given.posonlyargs, *given.args)]
        static = any(
            isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list
        )
        self._names = names[1:] if of_class and not static else names
        self.bound = of_class and not static
        self._all = {arg.arg: arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
        defaults = dict(zip(reversed(names), reversed(given.defaults), strict=False))
        by_keyword = zip(given.kwonlyargs, given.kw_defaults, strict=True)
        self._defaults = defaults | {
            arg.arg: value for arg, value in by_keyword if value is not None
        }

    def has(self, parameter: str) -> bool:
        return parameter in self._all

    def at(self, place: str) -> str:
        """Return the parameter that is given by a place, ``"0"``, or by its name; nothing where there is none."""
        if place.isdigit():
            return self._names[int(place)] if int(place) < len(self._names) else ""
        return place if self.has(place) else ""

    def takes_words(self, parameter: str, private: bool) -> bool:
        """Tell whether it says that it is given a word: by its default, its annotation or its docstring."""
        if self.is_nested:
            return False  # all of its calls are seen: a default counts where one leaves it to that
        default = self.default(parameter)
        if isinstance(default, ast.Constant) and default.value not in (None, "cpu", "meta"):
            return True
        if private:
            return False
        said = self._all[parameter].annotation
        if said is not None and re.search(r"\bstr\b|\bint\b|\bAny\b|DeviceLike", ast.unparse(said)):
            return True
        prose = ast.get_docstring(self.node, clean=False) or ""
        told = rf"^[ \t]*(?::param\s+)?`*{parameter}`*\s*[:(][^\n]{{0,90}}(?:\bstr(?:ing)?\b|[`'\"]cuda)"
        return re.search(told, prose, re.MULTILINE) is not None

    def is_promised(self, parameter: str) -> bool:
        """Tell whether its annotation, its docstring or that of its class says that it is given a ``torch.device``."""
        said = self._all[parameter].annotation
        if said is not None:
            return self.devices.promises(said, DEVICE)
        return documents_device(self.node, self.owner, parameter)

    def given(self, call: ast.Call, parameter: str) -> ast.expr | None:
        """Return what a call gives, or the default, or that there is none; None where it is not to be seen."""
        for keyword in call.keywords:
            if keyword.arg == parameter:
                return keyword.value
        args = call.args
        # `Class.method(self, x, device)`: the first is the object.
        if (
            self.bound
            and isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name)
        ):
            if call.func.value.id[:1].isupper() and args and isinstance(args[0], ast.Name):
                args = args[1:] if args[0].id in ("self", "cls") else args
        if parameter in self._names:
            at = self._names.index(parameter)
            if any(isinstance(arg, ast.Starred) for arg in args[: at + 1]):
                return None
            if at < len(args):
                return args[at]
        if any(keyword.arg is None for keyword in call.keywords):
            return None
        return self.default(parameter) or _NONE_GIVEN

    def default(self, parameter: str) -> ast.expr | None:
        return self._defaults.get(parameter)


def _is_fixture(function: _Function) -> bool:
    """Tell whether a function is a fixture of pytest's by its own name."""
    call = fixtures_call(function)
    named = isinstance(call, ast.Call) and any(each.arg == "name" for each in call.keywords)
    return call is not None and not named


def _may_mean(use: _Use, owners: list[ast.ClassDef | None]) -> bool:
    """Tell whether a name may be that of a method of these classes, or of a function at a module's margin."""
    statement, node = use
    method, plain = any(owners), not all(owners)
    match node:
        case ast.Name():
            return plain and not statement.devices.is_variable(node)
        case ast.Attribute(value=ast.Name(id="self" | "cls")):
            return method
        case _:
            return True


def _is_forward(statement: _Statement, node: ast.AST) -> bool:
    """Tell whether a module's ``forward`` is named, which may be called by that."""
    parent = next(statement.tree.ancestors(node), None)
    return isinstance(parent, ast.Attribute) and parent.attr == "forward"


def _is_asked_for(statement: _Statement, node: ast.AST) -> bool:
    """Tell whether something is asked whether it is of a class, and then may be called as one: ``isinstance(m, Rotary)``."""
    call = next(statement.tree.ancestors(node), None)
    return isinstance(call, ast.Call) and last_name(call.func) == "isinstance"


def _calls_itself(owner: ast.ClassDef) -> bool:
    """Tell whether a module's own methods call it: ``self(n, device)``, ``self.forward(n, device)``."""
    return any(
        isinstance(each, ast.Call) and ast.unparse(each.func) in ("self", "self.forward")
        for each in ast.walk(owner)
    )


def _only_looks(statement: _Statement, node: ast.Attribute) -> bool:
    """Tell whether a use of a module does not call it, and hands it on to nobody who might."""
    parent, above, call, *_ = [*statement.tree.ancestors(node), None, None, None]
    match parent:
        case ast.Attribute(attr="forward"):
            return False
        case ast.Attribute():
            # `self.rotary.eval()(n, device)`
            made = isinstance(above, ast.Call) and above.func is parent
            return not (made and isinstance(call, ast.Call) and call.func is above)
        case ast.Call(func=func):
            return last_name(func) in ("exists", "isinstance", "hasattr")
        case _:
            return isinstance(node.ctx, ast.Store) or isinstance(parent, (ast.Compare, ast.BoolOp))


def _does_as_its_base(devices: Devices, function: _Function, want: Want) -> bool:
    """Tell whether a function gives what is wanted; what is called ``device`` does, unless it shows a word."""
    if function.name == "device" and want == DEVICE:
        return not any(devices.is_word(each) for each in devices.all_returned(function))
    return devices.gives(function, want)


def _leaves_as_it_is(statement: _Statement, node: ast.Attribute, deep: int, itself: bool) -> bool:
    """Tell whether what an attribute keeps is only read, or filled by its class itself in a way that is followed."""
    if not isinstance(node.ctx, ast.Load):
        if itself:
            above = statement.tree.ancestors(node)
            first = next(p for p in above if not isinstance(p, (ast.Tuple, ast.List)))
            return isinstance(first, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Delete))
        return isinstance(node.ctx, ast.Del)
    how, end = use_of(statement.tree, node, deep, kept=True)
    home = statement.function_around(node)
    if how is Use.NAMED and isinstance(end, ast.Name) and home is not None:
        return statement.devices.only_reads(home, end.id, deep)
    return how is Use.READ or how is Use.PUT and itself


def _kept_in(statement: _Statement, node: ast.AST) -> str:
    """Return the attribute in which an object is kept where a class makes one: ``self.rotary = Rotary(dim) if on else None``."""
    below = node
    for parent in statement.tree.ancestors(node):
        match parent:
            case ast.Call(func=func) if func is below:
                pass
            case ast.IfExp(test=test) if test is not below:
                pass
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=attr)]):
                return attr
            case _:
                return ""
        below = parent
    return ""


def _call_of(statement: _Statement, node: ast.AST) -> ast.Call | None:
    """Return the call that a use of a function is; None where it is handed on instead."""
    if isinstance(node, ast.Call):
        return node
    call, above, *_ = [*statement.tree.ancestors(node), None, None]
    if not isinstance(call, ast.Call):
        return None
    if call.func is node:
        return call
    part = _call_in_part(call, node)
    if isinstance(above, ast.keyword):
        above = next(statement.tree.ancestors(above), None)
    if part is None or not isinstance(above, ast.Call):
        return None
    return part if statement.devices.is_others(above.func) else None


def _call_in_part(call: ast.Call, node: ast.AST) -> ast.Call | None:
    """Return what ``partial(function, device=x.device)`` makes of a function: a call that gives the rest, too, and never the same again.

    For one that is handed to another package right away; who has a name for it may give that anew, and so may the tree's own.
    """
    match call:
        case ast.Call(args=[ast.Name() | ast.Attribute() as first, *args], keywords=keywords):
            if first is node and last_name(call.func) == "partial":
                rest = ast.keyword(None, ast.Constant(...))
                return ast.Call(first, [*args, ast.Starred(rest.value)], [*keywords, rest])
        case _:
            pass
    return None


def _is_another(node: ast.AST) -> bool:
    """Tell whether a name stands for something else: a string, torch's or NumPy's module, or what a class calls by it, ``draw = draw_near``."""
    match node:
        case ast.Attribute(value=ast.Name(id=module)):
            return module in ("torch", "np", "numpy")
        case _:
            return isinstance(node, ast.Constant) or isinstance(
                getattr(node, "ctx", None), ast.Store
            )


def _hands_on(statement: _Statement, given: ast.expr) -> bool:
    """Tell whether a function hands on what it is given itself, and nothing says that this is a word."""
    home = statement.function_around(given) if isinstance(given, ast.Name) else None
    if not isinstance(given, ast.Name) or not isinstance(home, _DEFINITIONS):
        return False
    signature = _Signature(statement, home, statement.class_of(home))
    return signature.has(given.id) and not signature.takes_words(given.id, private=False)


def _is_promised_to_all(signatures: list[_Signature], parameter: str) -> bool:
    """Tell whether functions of one name are told a ``torch.device``, as one says whose class the others' inherit from."""
    said = [each for each in signatures if each.is_promised(parameter)]
    owners = {each.owner.name for each in said if each.owner is not None}
    return bool(said) and all(
        each in said
        or each.owner is not None
        and any(last_name(base) in owners for base in each.owner.bases)
        for each in signatures
    )


def _meant_by(
    statement: _Statement, node: ast.AST, call: ast.Call, signatures: list[_Signature]
) -> list[_Signature]:
    """Return which functions of one name a call at ``node`` may mean: a plain name no method, ``self.function`` the class's own."""
    match call.func:
        case ast.Name():
            found = [each for each in signatures if each.owner is None]
        case ast.Attribute(value=ast.Name(id="self" | "cls")):
            around = statement.class_around(node)
            found = [each for each in signatures if each.owner is around is not None]
        case _:
            found = []
    return found or signatures


# What leaves a function's arguments as they are.
_PLAIN = re.compile(
    r"(?:\w+\.)*(?:staticmethod|classmethod|property|cached_property|abstractmethod|override|overload|final|cache|"
    r"lru_cache|wraps|contextmanager|no_grad|inference_mode|enable_grad|set_grad_enabled|compile|ignore|unused|export|"
    r"script|script_if_tracing|script_method|disable|autocast|custom_fwd|custom_bwd|deprecated?\w*|profile|record_function|"
    r"typechecked|beartype|jaxtyped|rank_zero_only|\w*docstrings?\w*|\w+\.(?:setter|getter|deleter))\Z"
)


def _is_wrapped(node: ast.AST) -> bool:
    """Tell whether a decorator may call a function with what no caller shows: a command line's, a registry's."""
    return any(
        _PLAIN.match(ast.unparse(each.func if isinstance(each, ast.Call) else each)) is None
        for each in getattr(node, "decorator_list", ())
    )


def _registers(node: ast.ClassDef) -> set[str]:
    """Return the decorators that keep a class for who looks it up: ``@env_register``, ``@MODELS.register("a")``."""
    called = (each.func if isinstance(each, ast.Call) else each for each in node.decorator_list)
    return {name for name in map(ast.unparse, called) if "register" in name.lower()}


def _has_field(node: ast.ClassDef, attr: str) -> bool:
    """Tell whether a class has a variable of this name: a field, or one that all of its objects share."""
    return any(
        isinstance(part, (ast.Assign, ast.AnnAssign)) and stores(part, attr) for part in node.body
    )


def _init(node: ast.ClassDef) -> ast.FunctionDef | None:
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            return part
    return None


def _based(statement: _Statement, node: ast.AST) -> ast.ClassDef | None:
    """Return the class that a name is a base of."""
    parent = next(statement.tree.ancestors(node), None)
    return parent if isinstance(parent, ast.ClassDef) and node in parent.bases else None


def _asks_about(statement: _Statement, node: ast.AST) -> bool:
    """Tell whether a class is asked about, annotated with or taken something from, and none is made of it."""
    below = node
    if isinstance(node, ast.Constant):
        # A class is spoken of by its name, and is not made by it but from a table of names.
        in_table = isinstance(next(statement.tree.ancestors(node), None), ast.Dict)
        looked_up = "getattr(" in statement.source or "." in str(node.value)
        return not (in_table and looked_up)
    for parent in statement.tree.ancestors(node):
        match parent:
            case ast.Attribute():
                return parent.attr != "__init__"
            case ast.Call(func=ast.Name(id=name)) if name in _ASK:
                return True
            case ast.arg() | ast.AnnAssign() if parent.annotation is below:
                return True
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return parent.returns is below
            case ast.ExceptHandler(type=caught):
                return caught is below
            case ast.Subscript() | ast.BinOp(op=ast.BitOr()) | ast.Tuple() | ast.Compare():
                below = parent
            case _:
                return False
    return False


def _made_by_another_name(statement: _Statement, node: ast.AST) -> list[_Use] | None:
    """Return the calls by which a variable makes one that holds the class: ``kind = Linear``, ``kind(4)``; None where it holds none.

    What is taken from the class, ``kind.from_weights(…)``, makes it by ``cls``.
    """
    name = _variable_of(statement, node)
    home = next((p for p in statement.tree.ancestors(node) if isinstance(p, _DEFINITIONS)), None)
    if not name or not isinstance(home, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    found: list[_Use] = []
    for use in ast.walk(home):
        match use:
            case ast.Name(id=each, ctx=ast.Load()) if each == name:
                if _call_of(statement, use) is not None:
                    found.append((statement, use))
                elif not _asks_about(statement, use):
                    return None
            case ast.Global(names=names) | ast.Nonlocal(names=names) if name in names:
                return None
            case _:
                pass
    return found


def _variable_of(statement: _Statement, node: ast.AST) -> str:
    """Return the variable that a class is given to, itself or as one of two."""
    below = node
    for parent in statement.tree.ancestors(node):
        match parent:
            case ast.IfExp(test=test) if test is not below:
                below = parent
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is below:
                return name
            case _:
                return ""
    return ""


def _may_import(text: str, name: str) -> bool:
    """Tell whether a text may import something by its name."""
    return not imported_from(text).keys().isdisjoint((name, "*"))


def _made_within(statement: _Statement, heir: ast.ClassDef) -> list[_Use]:
    """Return the calls by which a class that inherits from another makes what it is: ``super().__init__(…)``."""
    found = _makes_itself(statement, heir) if _init(heir) is None else []
    for node in ast.walk(heir):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="__init__", value=ast.Call(func=ast.Name(id="super")))
            ):
                found.append((statement, node))
            case _:
                pass
    return found


def _makes_itself(statement: _Statement, owner: ast.ClassDef) -> list[_Use]:
    """Return the calls of ``cls(…)`` and the like in a class."""
    found: list[_Use] = []
    for node in ast.walk(owner):
        match node:
            case ast.Call(
                func=ast.Name(id="cls")
                | ast.Attribute(attr="__class__")
                | ast.Call(func=ast.Name(id="type"))
            ):
                found.append((statement, node))
            case _:
                pass
    return found
