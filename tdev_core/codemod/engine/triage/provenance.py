"""Asks where a device comes from that a file gives to torch, by the file's text alone.

For files that never name CUDA (:mod:`.concern`). The provenance of a name is known only where
everything in the file that may bind it makes a real device of it (``device = x.device``, ``device:
torch.device``) or a constant other than CUDA; a file with anything else goes on to the rules.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Callable

from tdev_core.codemod.engine.asked import Asked, Way
from tdev_core.codemod.engine.python.devices import Devices
from tdev_core.codemod.engine.python.known import Known
from tdev_core.codemod.engine.python.lines import Lines
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.vocabulary import (
    DEVICE_AND_DTYPE,
    SETTINGS,
    TENSOR_WORD,
    used_as_tensor,
)

# A keyword argument or a key that is a device, and what it is given; `**name` may hold such a key.
_DEVICE_GIVEN = re.compile(
    r"""device(?<!\wdevice)(?:_type)?(?:[ \t]*=(?!=)|["'][ \t]*:)[ \t\r\n]*([^\s,)}](?:[^(),}\r\n]|\([^()\r\n]*\))*)"""
)
_PLAIN = re.compile(r"""(?:None|True|False|["'](?:cpu|meta|mps|xpu)["'])\Z""")
_CHOICE = re.compile(r"(.+?)[ \t]+if[ \t].*[ \t]else[ \t]+(.+)\Z")
_OF_OBJECT = re.compile(r"""[\w.\[\]:"'-]+\.(?:\w+_)?device\Z""")
_OF_SETTING = re.compile(rf"(?:^|[._])(?:{SETTINGS})\s*\.\s*\w*device", re.IGNORECASE)
_MADE = re.compile(r"torch\.(?:device|get_default_device)\(")
_NAME = re.compile(r"(?:self\.|cls\.)?[A-Za-z_]\w*\Z")
_OF_SELF = re.compile(r"(?:self|cls)\.(?:\w+_)?device\Z")
_DEVICE_TYPE = re.compile(r"(?:typing\.|Optional|Union|None|torch\.device|[\s\"'\[\]|])+\Z")

_ASSIGNED = re.compile(r"[ \t]*(?::([^=\r\n]*))?=(?!=)[ \t]*([^\r\n]*)")
_ANNOTATED = re.compile(r"[ \t]*:((?:\[[^]]*\]|[^=,)\[\r\n])*)")
# What stands before and after a name that a loop, an import, a tuple of targets and so on binds.
_BINDER = re.compile(
    r"(?:\b(?:as|import|lambda|global|nonlocal|case)\b[^:=]*|\bfor\b(?:(?!\bin\b)[^:=])*"
    r"|^[ \t(\[]*(?:[\w.*][\w.*\[\]\"']*,[ \t(\[]*)*)\Z"
)
_TARGETS = re.compile(
    r"(?:[ \t]*,[ \t]*[\w.*\[\]]+)*[ \t]*(?:[,)\]][ \t)\]]*)?(?:\bin\b|:|=(?!=)|[\r\n])"
)
_NAMED = re.compile(r"[ \t]*:=")
# Two patterns, each with a word at its start: that is looked for many times faster than either.
_FUNCTION = re.compile(r"def(?<!\wdef)[ \t]+\w+[ \t]*(?:\[[^][]*\])?\(")
# In a string, as the key `"lambda"`, it starts no signature.
_LAMBDA = re.compile(r"lambda(?<!\wlambda)\b(?=[ \t*][^\r\n:]{0,500}:)")
_HEAD = re.compile(r"def[ \t]+(\w+)")
_CLASS_HEAD = re.compile(r"^[ \t]*class[ \t]+(\w+)", re.MULTILINE)
_BODY = re.compile(r"\s*(?:->|:)")
_PASSES_ON = re.compile(r"\w*[kK]wargs\s*\.\s*update\Z")
_MAKES_DICT = re.compile(r"(?<![\w.])dict\Z")
_UNSEEN = "?"
"""What is called where the text does not show it, or torch's function may be an argument of it."""
# A dictionary that a call is given as its keywords; in a signature it only collects them.
_UNPACKED = re.compile(r"[(,]\s*\*\*(?=\s*[A-Za-z_{])")
_CLASS = re.compile(r"(?<!\w)[A-Z]\w*\Z")
# torch's classes whose device a rule reads; that of a layer matters where it is CUDA or typed, which is found by itself.
_CLASSES_WITH_DEVICES = frozenset({"Event", "Generator", "GradScaler", "Stream"})
_REACH = 2000
_BRACKET = re.compile(r"[()]")
_DOTTED = re.compile(r"[\w.\s]*")


class _Bindings:
    """Reads what binds a name, and where the signatures are, out of a file's text."""

    def __init__(self, text: str, known: Known) -> None:
        self.text = text
        self._known = known
        self._answers: dict[str, bool] = {}
        heads = [f.span() for pattern in (_FUNCTION, _LAMBDA) for f in pattern.finditer(text)]
        heads.sort()
        self._starts = [start for start, _ in heads]
        self._ends = [self._end(end) for _, end in heads]

    def _end(self, at: int) -> int:
        """Return the offset at which the signature ends that starts before ``at``; that, if it is none."""
        if self.text[at - 1] != "(":
            return at + max(0, self.text[at:].find(":"))
        depth = 1
        for bracket in _BRACKET.finditer(self.text, at):
            depth += 1 if bracket.group() == "(" else -1
            if not depth:
                return bracket.start() if _BODY.match(self.text, bracket.end()) else at
        return at

    def in_signature(self, at: int) -> bool:
        index = bisect_right(self._starts, at) - 1
        return index >= 0 and at < self._ends[index]

    def _owner(self, at: int) -> str:
        """Return the function whose signature is at an offset; of what makes an object, its class."""
        start = self._starts[bisect_right(self._starts, at) - 1]
        head = _HEAD.match(self.text, start)
        if head is None or head[1] != "__init__":
            return head[1] if head is not None else ""
        above = _CLASS_HEAD.findall(self.text, 0, start)
        return str(above[-1]) if above else ""

    def called(self, at: int) -> str:
        """Return the dotted name before the parenthesis that is open at ``at``, with one letter before it.

        :data:`_UNSEEN` where that is out of reach, in a comment, or that of ``partial(torch.zeros, …)``.
        """
        depth, start = 0, max(0, at - _REACH)
        for index in range(at - 1, start, -1):
            letter = self.text[index]
            depth += (letter == ")") - (letter == "(")
            if depth < 0:
                if "#" in self.text[self.text.rfind("\n", 0, index) + 1 : at]:
                    return _UNSEEN  # the parenthesis may be in a comment
                before = self.text[max(0, index - _REACH) : index].rstrip()
                if before.endswith("partial"):
                    return _UNSEEN
                # Patterns that end with a text would be tried at each letter of it.
                name = _DOTTED.match(before[::-1])
                return before[-1 - name.end() :] if name is not None else before
        return _UNSEEN

    def in_display(self, at: int) -> bool:
        """Tell whether the bracket that is open at ``at`` is that of a dictionary, ``{**given}``."""
        depth = 0
        for letter in reversed(self.text[max(0, at - _REACH) : at]):
            depth += (letter in ")}") - (letter in "({")
            if depth < 0:
                return letter == "{"
        return False

    def unpacks_into(self, takes_devices: Callable[[str], bool]) -> bool:
        """Tell whether a call takes a dictionary for its keywords, of something for which that is so."""
        return any(
            takes_devices(self.called(at))
            for at in (found.end() for found in _UNPACKED.finditer(self.text))
            if not self.in_signature(at) and not self.in_display(at)
        )

    def is_known(self, value: str, deep: int = 4) -> bool:
        """Tell whether an expression is a real device, or a constant other than CUDA."""
        if not deep or len(value) > _REACH:
            return False
        value = value.removesuffix(".type")
        if _PLAIN.match(value) or _MADE.match(value):
            return True
        choice = _CHOICE.match(value)
        if choice is not None:
            return all(self.is_known(arm.strip(), deep - 1) for arm in choice.groups())
        if _OF_OBJECT.match(value) and not _OF_SELF.match(value):
            owner, _, attr = value.rpartition(".")
            if _OF_SETTING.search(value) or self._known.may_keep_a_word(
                owner, attr, self.text, self.text
            ):
                return False
            if owner[-1:] in "])" or TENSOR_WORD.search(owner.rpartition(".")[2]):
                return True
            # By its use, wherever the file has it: the rules look at its function.
            return used_as_tensor(self.text, owner)
        if not _NAME.match(value):
            return False
        known = self._answers.get(value)
        if known is None:
            self._answers[value] = True  # while what it is bound to is looked at
            known = self._answers[value] = self._is_known_name(value, deep - 1)
        return known

    def _is_known_name(self, name: str, deep: int) -> bool:
        text = self.text
        bound = _OF_SELF.match(name) is not None
        if bound and self._is_a_field_of_words(name.rpartition(".")[2]):
            return False
        it = re.escape(name)
        for found in re.finditer(rf"{it}(?<![\w.]{it})(?!\w)", text):
            start, end = found.span()
            line = text.rfind("\n", 0, start) + 1
            before = text[max(line, start - _REACH) : start]
            if self.in_signature(start):
                if before.rstrip()[-1:] not in ("=", ":", "[", "|"):  # a parameter, not a default
                    kind = _ANNOTATED.match(text, end)
                    real = kind is not None and _DEVICE_TYPE.match(kind[1]) is not None
                    # Somebody in the tree may say otherwise, by what is given.
                    way: Way = "word" if real else "parameter"
                    if self._known.told(Asked(way, self._owner(start), name)) is real:
                        return False
                    bound = True
                continue
            given = _ASSIGNED.match(text, end)
            if given is not None and before.strip()[-1:] in ("", ":", ";"):
                value = given[2].split("  #")[0].strip().rstrip(",")
                if not self.is_known(value, deep):
                    return False
                bound = True
            elif DEVICE_AND_DTYPE.match(text[line : end + 200].lstrip()):
                bound = True
            elif _NAMED.match(text, end) or (_BINDER.search(before) and _TARGETS.match(text, end)):
                return False
        return bound

    def _is_a_field_of_words(self, attr: str) -> bool:
        """Tell whether a class may be made with a string for one of its attributes: ``device: str = "cpu"``, of a dataclass."""
        field = rf"^[ \t]+{attr}[ \t]*:[^=\r\n]*\bstr\b"
        return any(
            not self.in_signature(found.start())
            for found in re.finditer(field, self.text, re.MULTILINE)
        )


def gives_unknown_device(text: str, ours: re.Pattern[str], known: Known) -> bool:
    """Tell whether ``text`` (comments and docstrings left out) gives torch a device of unknown origin.

    ``ours`` matches text that ends in a name of torch.
    """
    bindings: _Bindings | None = None
    unpacks: bool | None = None
    for found in _DEVICE_GIVEN.finditer(text):
        value = found[1].strip()
        if _PLAIN.match(value):
            continue
        bindings = bindings or _Bindings(text, known)
        start = found.start()
        if bindings.in_signature(start) or bindings.is_known(value):
            continue
        called = "" if text[start - 1] in "\"'" else bindings.called(start)
        if not called or _MAKES_DICT.search(called):
            # A dictionary, which matters where it is unpacked: its keys are followed no further.
            if unpacks is None:
                unpacks = bindings.unpacks_into(lambda of: _takes_devices(of, text, ours))
            if unpacks:
                return True
        elif _takes_devices(called, text, ours):
            return True
    return False


def _takes_devices(called: str, text: str, ours: re.Pattern[str]) -> bool:
    """Tell whether what is called may be one of torch's functions with a device, or hand on what it is given."""
    if called == _UNSEEN or _PASSES_ON.search(called):
        return True
    if not ours.search(called):
        return False
    name = _CLASS.search(called)
    if name is None or name.group() in _CLASSES_WITH_DEVICES:
        return True
    # A function may be imported under the name of a class.
    return re.search(rf"\bas[ \t]+{name.group()}\b", text) is not None


_DEVICES = re.compile(r"(?:\w+_)?device(?:_type)?\Z")


def shows_real_devices(source: str, known: Known) -> bool:
    """Tell whether every device that a file gives by name is a real one, by Python's tree of it.

    Asked where the text alone does not say so: it takes a quarter of the time of the rules. What is given to a function
    of the program's own is followed no further, as in :func:`gives_unknown_device`.
    """
    try:
        tree = PythonTree(Lines(source.lstrip("\ufeff")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    devices = Devices(tree, source, known)
    for node in tree.everything:
        given: list[ast.expr | None] = []
        if isinstance(node, ast.Call):
            given = [k.value for k in node.keywords if k.arg and _DEVICES.match(k.arg)]
            if given and _is_of_the_program(node.func, tree):
                continue
        elif isinstance(node, ast.Dict):
            given = [
                value
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant) and _DEVICES.match(str(key.value))
            ]
        try:
            if not all(each is not None and devices.is_own_device(each) for each in given):
                return False
        except RecursionError:
            return False
    return True


def _is_of_the_program(func: ast.expr, tree: PythonTree) -> bool:
    """Tell whether what is called is a method of the object's own, or a function or a class that is certainly not torch's."""
    root = func
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Call):
        return isinstance(root.func, ast.Name) and root.func.id == "super"
    if not isinstance(root, ast.Name) or isinstance(func, ast.Attribute) and func.attr in _HAND_ON:
        return False
    imported, defined = tree.names
    if root.id == "torch":
        return False  # from whatever module it is taken
    if root.id in imported:
        parts = imported[root.id].split(".")
        return root.id not in _HAND_ON and {parts[0], parts[-1]}.isdisjoint(("torch", "tdev"))
    return root.id == "self" or root.id in defined


_HAND_ON = frozenset({"partial", "update"})
"""What gives to others the keywords that it is given itself."""
