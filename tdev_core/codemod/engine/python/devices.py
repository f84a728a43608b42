"""Knows devices: which expressions are real ones, and no word that a person may have typed.

A tensor's, one that was made, an attribute or a variable that holds nothing else, by what its function, its class
and the other files say.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property, lru_cache

from tdev_core.codemod.engine.asked import DEVICE, EACH, OBJECT, TENSOR, Asked, Want, Way
from tdev_core.codemod.engine.python.statements import (
    BINDERS,
    FUNCTIONS,
    always_gives,
    asks_for_type,
    bound_by,
    fixtures_call,
    is_self,
    last_name,
    listed_above,
    names_of,
    parameters,
    parts_of,
    read_by,
    stores,
    within,
)
from tdev_core.codemod.engine.python.tensors import Tensors
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.python.values import DEEP, Kept
from tdev_core.codemod.engine.vocabulary import (
    DEVICE_AND_DTYPE,
    DEVICE_NAME,
    OTHERS,
    SETTINGS,
    SETTINGS_CLASS,
    TENSOR_WORD,
    asked_as_device,
    holds_tensors,
    imported_from,
    is_documented_device,
    is_of_settings,
    renamed,
    used_as_tensor,
)
from tdev_core.ecosystem.device_table import give_devices

_NAMED_CLASS = re.compile(
    r"(?:Optional\[)?[\"']?(?:\w+\.)*([A-Z]\w+)(?:\[\w+\])?[\"']?\]?(?: \| None)?"
)

# A variable, or an attribute, that keeps a class: `args.agent_class`.
_KEPT_CLASS = re.compile(r"(\w+)_(?:class|cls)")

_OF_A_DEVICE = re.compile(r"(?:cuda|mps|xpu|npu|hpu|mlu|musa|mtia|xla|sdaa|gcu|neuron)(?::0)?")

_NUMBER = re.compile(r":?\d*")
_ASKS_CUDA = re.compile(
    r"torch\.cuda\.is_available\(\)(?: and torch\.cuda\.device_count\(\)(?: > 0)?)?"
)
_ASKS_ANOTHER = re.compile(r"\b(?:mps|xpu|npu|hpu|mlu|musa)\.is_available\(")


def _gives_another(body: list[ast.stmt]) -> bool:
    """Tell whether statements return another accelerator's name: ``return "mps"``."""
    return any(
        isinstance(each, ast.Return)
        and each.value is not None
        and OTHERS.search(ast.unparse(each.value)) is not None
        for each in body
    )


# What is no word that anybody has to translate.
_PLAIN = (None, "cpu", "meta")

_MAKERS = frozenset(
    {
        "torch.device",
        "tdev.device",
        "torch.get_default_device",
        "torch.accelerator.current_accelerator",
        "torch._C._get_accelerator",
        # Other libraries' answers, the devices that torch itself has here.
        *give_devices(),
    }
)

# What objects of other packages' classes keep one in: `SamPredictor.device`.
KEPT_BY_OTHERS = frozenset(
    ".".join(parts[-2:])
    for parts in (name.split(".") for name in give_devices())
    if parts[-2][:1].isupper()
)

# What a docstring says of what is given: `:rtype: torch.device`, or the first line below `Returns:`.
_PROMISED = re.compile(
    r":rtype:\s*(?::\w+:)?[`~]*torch\.device\b(?![^\n]*\bstr)"
    r"|\bReturns?:?[ \t]*\n(?:[ \t]*-+[ \t]*\n)?[ \t]*(?:\w+[ \t]*:[ \t]*)?[`~(:\w]*\btorch\.device\b(?![^\n]*\bstr)"
)

_DEVICES = Want("device", (EACH,))
# What may refuse a device: a question for CUDA, a ``try``, or a function that is called for nothing else.
_REFUSE = ("torch.cuda.is_available()", "try:")
_TAKES_A_DEVICE = re.compile(r"device\w*\(")
_NAME_BEFORE = re.compile(r"[ \t]*(?:\w+\.)*\w*")
# What fails at once where the device that it is given is not there.
_TRIED = frozenset(
    f"torch.{name}" for name in "empty zeros ones full tensor rand randn arange eye".split()
)

_A_WORD = re.compile(r"(?:Optional\[)?(?:str|Literal\[[^\]]*'cuda[^\]]*\])\]?(?: \| None)?")

_SETTINGS = re.compile(rf"(?:\w+_)?(?:{SETTINGS})", re.IGNORECASE)


def _is_typed(node: ast.expr) -> bool:
    """Tell whether an expression plainly is what was typed: ``args.device``."""
    return isinstance(node, ast.Attribute) and is_of_settings(ast.unparse(node.value))


def _of_tensors(node: ast.expr) -> bool:
    """Tell whether something is called as tensors are: ``outputs["x"]``, ``self.get_weights()``."""
    while isinstance(node, ast.Subscript):
        node = node.value
    last = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return TENSOR_WORD.search(last) is not None


def _is_of_several_settings(node: ast.expr) -> bool:
    """Tell whether what is taken by a number is one of several settings: ``configs[0]``, and no argument, ``args[0]``."""
    while isinstance(node, ast.Subscript):
        node = node.value
    text = ast.unparse(node)
    return text != "args" and (is_of_settings(text) or is_of_settings(text.rstrip("s")))


# What has to be known of a property, and of those that heirs have in its place.
_PROPERTYS: tuple[Way, ...] = ("method", "heirs")

_HAS_MODELS = re.compile(r"(?:transformers|diffusers|peft|optimum|sentence_transformers)\.")

# A class's parameters, a module's, a fixture by another name: what pytest gives a test then is not followed.
# Each with a word to start from, which `re` looks for many times faster than for a choice.
_LISTS_ELSEWHERE = tuple(
    re.compile(pattern)
    for pattern in (
        r"pytestmark(?<!\wpytestmark)\b",
        r"argnames(?<!\wargnames)\b",
        r"instantiate_(?<!\winstantiate_)\w+\(",
        r"fixture\((?<!\wfixture\()[^)]*\bname\s*=",
        r"\n@[^\n]*parametrize\([^()]*(?:\([^()]*\)[^()]*)*\)\s*\nclass\b",
    )
)


def _is_for_another(statement: ast.stmt, name: str) -> bool:
    """Tell whether an ``if`` says of a variable that it is no name of CUDA's: ``if device is None or device == "cpu": return``."""
    if not isinstance(statement, ast.If) or statement.orelse:
        return False
    test = statement.test
    either = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or)
    for each in test.values if isinstance(test, ast.BoolOp) and either else [test]:
        match each:
            case ast.Compare(left=asked, ops=[ast.Eq() | ast.Is()], comparators=[said]):
                words = [said]
            case ast.Compare(left=asked, ops=[ast.In()], comparators=[ast.Tuple(elts=words)]):
                pass
            case _:
                return False
        if ast.unparse(asked) not in (name, f"{name}.type"):
            return False
        values = [each.value if isinstance(each, ast.Constant) else ... for each in words]
        if any(v is not None and (not isinstance(v, str) or v.startswith("cuda")) for v in values):
            return False
    return True


def refuses_without_cuda(statement: ast.stmt) -> bool:
    """Tell whether a statement raises where there is no CUDA."""
    return (
        isinstance(statement, ast.If)
        and ast.unparse(statement.test) == "not torch.cuda.is_available()"
        and isinstance(statement.body[-1], ast.Raise)
    )


_ASKS_WHETHER = re.compile(rf"(?:{OTHERS.pattern})[\w.]*\.is_available\(")
_CHOOSES_CUDA = re.compile(r"[\"']cuda(?::\d+)?[\"']")
_NAMES_ANOTHER = re.compile(rf"[\"'](?:{OTHERS.pattern})")


def is_what_others_leave(tree: PythonTree, node: ast.AST) -> bool:
    """Tell whether a device is chosen where none of another accelerator has been: ``else:`` after ``if mps.is_available():``."""
    below = node
    for parent in tree.ancestors(node):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return False
        if (
            isinstance(parent, ast.Call)
            and last_name(parent.func) == "device"
            and below in parent.args
        ):
            return False  # what gives devices, and no words, is tdev's beside others, too
        if isinstance(parent, ast.If) and below in parent.orelse:
            chosen = "\n".join(map(ast.unparse, parent.body))
            asked = _ASKS_WHETHER.search(f"{ast.unparse(parent.test)}\n{chosen}")
            if asked is not None and _NAMES_ANOTHER.search(chosen) is not None:
                return _CHOOSES_CUDA.search(ast.unparse(below)) is not None
        below = parent
    return False


def links_of(chain: ast.stmt) -> list[ast.If]:
    """Return an ``if`` with each ``elif`` of it."""
    links: list[ast.If] = []
    rest = [chain]
    while len(rest) == 1 and isinstance(rest[0], ast.If):
        links.append(rest[0])
        rest = rest[0].orelse
    return links


def documents_device(
    home: ast.FunctionDef | ast.AsyncFunctionDef, owner: ast.ClassDef | None, parameter: str
) -> bool:
    """Tell whether a function's docstring, or that of the class which it makes objects of, says that it is given a ``torch.device``.

    What a method says nothing of, those beside it say for it, where all that speak of it say the same.
    """
    if owner is not None and home.name != "__init__" and not _speaks_of(home, parameter):
        beside = (each for each in owner.body if isinstance(each, _FUNCTIONS))
        saying = [each for each in beside if _speaks_of(each, parameter)]
        return bool(saying) and all(documents_device(each, None, parameter) for each in saying)
    return any(
        is_documented_device(ast.get_docstring(each, clean=False) or "", parameter)
        for each in (home, owner if home.name == "__init__" else None)
        if each is not None
    )


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _speaks_of(home: ast.FunctionDef | ast.AsyncFunctionDef, parameter: str) -> bool:
    """Tell whether a function's docstring says what it is given for a parameter."""
    said = ast.get_docstring(home, clean=False) or ""
    name = re.escape(parameter)
    return re.search(rf"^[ \t]*(?::param\b.*\b)?`*{name}`*\s*[:(]", said, re.MULTILINE) is not None


@lru_cache(maxsize=16)  # a text is asked for each of its statements
def _lists_elsewhere(source: str) -> bool:
    """Tell whether a text may list what tests are given elsewhere than above them."""
    text = "\n" + source
    return any(each.search(text) is not None for each in _LISTS_ELSEWHERE)


def classes_said(said: ast.expr | None) -> list[str]:
    """Return the classes that an annotation names, each of which an object may be of; nothing where it says more than that."""
    match said:
        case ast.Constant(value=str() as text):
            try:
                return classes_said(ast.parse(text.strip(), mode="eval").body)
            except SyntaxError:
                return []
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            parts = [left, right]
        case ast.Subscript(value=outer, slice=ast.Tuple(elts=parts)):
            if last_name(outer) != "Union":
                # One that is made for others: `Trainer[Config, Model]`.
                return classes_said(outer)
        case ast.Subscript(value=outer, slice=part):
            return classes_said(part if last_name(outer) in ("Union", "Optional") else outer)
        case ast.Name() | ast.Attribute():
            return [last_name(said)]
        case _:
            return []
    found = [classes_said(each) for each in parts if ast.unparse(each) != "None"]
    return [name for names in found for name in names] if all(found) else []


class Devices(Tensors):
    """Values of which some are devices; ``known`` is what other files tell."""

    def is_own_device(self, node: ast.expr) -> bool:
        """Tell whether an expression is the device of a tensor, one that was made, or a variable that holds nothing else."""
        return self.holds(node, DEVICE)

    def _nothing_counts(self, want: Want) -> bool:
        return want.kind == "device"  # `device=None` is no word that anybody has to translate

    def _is_never(self, node: ast.expr, want: Want) -> bool:
        if want != OBJECT or not isinstance(
            node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)
        ):
            return False
        text = node.id if isinstance(node, ast.Name) else ast.unparse(node)
        if isinstance(node, (ast.Subscript, ast.Call)):
            return is_of_settings(text)
        return any(_SETTINGS.fullmatch(part) for part in text.split(".")) and not (
            isinstance(node, ast.Name) and self._is_annotated_tensor(node)
        )

    def _is(self, node: ast.expr, want: Want, deep: int) -> bool:
        if want == DEVICE:
            return self._is_device(node, deep - 1)
        if want.kind == "device":
            return self._has_devices(node, want)
        if want == OBJECT and self._is_object(node) and not self._may_keep_a_word(node, "device"):
            return True
        if want == OBJECT and (self._is_of_another_package(node) or self._is_of_a_keeper(node)):
            return True
        if want == OBJECT and isinstance(node, ast.BinOp):
            # What is counted with tensors is one: `(1.0 - alphas) / alphas`.
            return any(self.holds(each, OBJECT, deep - 1) for each in (node.left, node.right))
        return super()._is(node, want, deep)

    def _is_device(self, node: ast.expr, deep: int) -> bool:
        match node:
            case ast.Constant(value=value):
                return value in _PLAIN or self._is_chosen_beside_others(node)
            case ast.Attribute(attr="type" | "index", value=value):
                return self.holds(value, DEVICE, deep)
            case ast.Attribute(attr="device_type", value=value) if self._is_mesh(value):
                return True
            # `f"{accelerator.type}:{index}"`: the type that torch itself says it has
            case ast.JoinedStr(
                values=[ast.FormattedValue(value=value), ast.Constant(value=str() as rest), *_]
            ):
                return rest.startswith(":") and self.holds(value, DEVICE, deep)
            case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=str() as rest)):
                return rest.startswith(":") and self.holds(left, DEVICE, deep)
            case ast.Attribute(value=ast.Name() as module, attr=attr) if (
                attr in self._known.constants and attr.isupper()
            ):
                origin = self._tree.names[0].get(module.id, "")
                return self._is_module(module) and bool(origin) and self._known.is_own(origin)
            case ast.Attribute(value=value, attr=attr) if DEVICE_NAME.search(attr):
                return not is_self(value) and (
                    attr == "_execution_device" or self._has_real_device(value, attr, deep)
                )
            case ast.Call(
                func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=attr), *rest]
            ):
                return (
                    DEVICE_NAME.search(str(attr)) is not None
                    and not is_self(owner)
                    and self._has_real_device(owner, str(attr), deep)
                    and all(self.holds(each, DEVICE, deep) for each in rest)
                )
            case ast.JoinedStr(values=[ast.FormattedValue(value=value), *rest]):
                # `f"{x.device.type}:{rank}"`, which is the same device by its name.
                apart = not rest or isinstance(rest[0], ast.Constant) and rest[0].value == ":"
                return apart and self.holds(value, DEVICE, deep)
            case ast.Call(func=ast.Name(id="str"), args=[value]):
                return self.holds(value, DEVICE, deep)
            case ast.Call(
                func=ast.Attribute(value=value, attr="replace"),
                args=[ast.Constant(), ast.Constant(value=str() as rest)],
            ) if _NUMBER.fullmatch(rest) is not None:
                return self.holds(value, DEVICE, deep)  # the same by another number
            case ast.Call():
                if self._name(node.func) in _MAKERS:
                    return True
                return self._called_by(node) in self._known.promised
            case ast.Name(id=name):
                return (
                    self._was_asked_for_its_type(node)
                    or self._was_a_word(node, name)
                    or self._was_refused(node, name)
                )
            case _:
                return False

    def _says_nothing(self, node: ast.expr, want: Want) -> bool:
        if not isinstance(node, ast.Constant):
            return False
        return want != DEVICE or not self._is_chosen_beside_others(node)

    def _is_chosen_beside_others(self, node: ast.Constant) -> bool:
        """Tell whether a word is that of a device which is there: ``"cuda"``, where CUDA is asked for in a chain that asks for others.

        Such a question stays CUDA's.
        """
        if not self._known.choices_stay or not isinstance(node.value, str):
            return False
        if _OF_A_DEVICE.fullmatch(node.value) is None:
            return False
        around = self._tree.ancestors(node)
        link, inside = next(around, None), False
        if isinstance(link, ast.Tuple):  # `return "cuda", torch.cuda.device_count()`
            link = next(around, None)
        if isinstance(link, (ast.Return, ast.Assign)):
            statement, link = link, next(around, None)
            inside = isinstance(link, ast.If) and statement in link.body
        elif isinstance(link, ast.IfExp):
            inside = node is link.body
        if not isinstance(link, (ast.If, ast.IfExp)):
            return False
        if node.value.startswith("cuda") and not (inside and self._asks_cuda(link.test)):
            return False
        root = link
        for parent in self._tree.ancestors(link):
            if not isinstance(parent, type(root)) or parent.orelse not in (root, [root]):
                break
            root = parent
        tests = self._asked_beside(root) if root is link else []
        more: object = root
        while isinstance(more, (ast.If, ast.IfExp)):
            tests.append(more.test)
            if isinstance(more, ast.If) and more is not link and len(more.body) == 1:
                tests += [each.test for each in more.body if isinstance(each, ast.If)]
            more = more.orelse[0] if isinstance(more.orelse, list) and more.orelse else more.orelse
        if any(OTHERS.search(ast.unparse(test)) is not None for test in tests):
            return True
        return isinstance(link, ast.IfExp) and is_what_others_leave(self._tree, link)

    def _asks_cuda(self, test: ast.expr) -> bool:
        """Tell whether a test is the question for CUDA, or a variable of the module that keeps its answer by such a name."""
        if isinstance(test, ast.Name) and re.search(r"cuda|gpu", test.id, re.IGNORECASE):
            kept = rf"^{test.id}[ \t]*=[ \t]*torch\.cuda\.is_available\(\)[ \t]*$"
            return re.search(kept, self._source, re.MULTILINE) is not None
        if isinstance(test, ast.Call) and not test.args:
            if last_name(test.func) in self._known.questions:
                return True
        return _ASKS_CUDA.fullmatch(ast.unparse(test)) is not None

    def _asked_beside(self, choice: ast.If | ast.IfExp) -> list[ast.expr]:
        """Return what the ``if`` before or after one asks another accelerator, or the first of those in the one after it."""
        block = self._tree.block(choice) if isinstance(choice, ast.If) else []
        if choice not in block:
            return []
        at = block.index(choice)
        near = [each for each in (*block[max(0, at - 1) : at], *block[at + 1 : at + 2])]
        asked = [each.test for each in near if isinstance(each, ast.If)]
        for after in block[at + 1 : at + 2]:
            for inner in after.body if isinstance(after, ast.If) else ():
                if isinstance(inner, ast.If) and _gives_another(inner.body):
                    asked.append(inner.test)
        return [each for each in asked if _ASKS_ANOTHER.search(ast.unparse(each)) is not None]

    def is_placed(self, node: ast.expr) -> bool:
        """Tell whether an expression is a real device where it could have been ``None`` before: ``if device is None: device = x.device``."""
        return self.is_own_device(node) and self._is_there(node)

    def _is_there(self, node: ast.expr) -> bool:
        """Tell whether what is a device, or ``None``, is not ``None``."""
        match node:
            case ast.Name(id=name):
                return self._takes_nothings_place(node, name)
            case ast.Attribute(value=owner, attr=attr) if is_self(owner):
                around = self._class_around(node)
                kept = self._kept_in(around).get(attr) if around is not None else None
                if kept is None or kept.said or kept.methods or not kept.given:
                    return False
                return all(not steps and self._is_there(value) for value, steps in kept.given)
            case ast.Constant(value=value):
                return value is not None
            case ast.Call(func=func):
                if self._name(func).endswith((".device", ".get_default_device")):
                    return True
                given = [r for home in self._functions_of(func) for r in self.all_returned(home)]
                return bool(given) and all(map(self._is_there, given))
            case ast.IfExp(test=ast.Compare(left=left, ops=[ast.IsNot()]), body=body, orelse=other):
                return self._is_there(other) and (
                    ast.unparse(left) == ast.unparse(body) or self._is_there(body)
                )
            case ast.IfExp(body=body, orelse=other):
                return self._is_there(body) and self._is_there(other)
            case ast.BoolOp(op=ast.Or(), values=values):
                return self._is_there(values[-1])
            case _:
                return False

    def _takes_nothings_place(self, node: ast.Name, name: str) -> bool:
        for statement in self._statements_before(node):
            if isinstance(statement, ast.If) and not any(
                stores(each, name) for each in statement.orelse
            ):
                test = statement.test
                either = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or)
                asked = test.values if isinstance(test, ast.BoolOp) and either else [test]
                if f"{name} is None" in map(ast.unparse, asked) and any(
                    always_gives(each, name) for each in statement.body
                ):
                    parts = (part for part in ast.walk(statement) if type(part) in BINDERS)
                    bound = [part for part in parts if name in bound_by(part)]
                    values = (getattr(part, "value", None) for part in bound)
                    return not any(isinstance(v, ast.Constant) and v.value is None for v in values)
            if isinstance(statement, ast.If) and always_gives(statement, name):
                given = [each for each in ast.walk(statement) if name in bound_by(each)]
                values = (getattr(each, "value", None) for each in given)
                return all(isinstance(v, ast.expr) and self._is_there(v) for v in values)
            if stores(statement, name):
                return isinstance(statement, ast.Assign) and (
                    [name] == [ast.unparse(target) for target in statement.targets]
                    and self._is_there(statement.value)
                )
        return False

    def _has_devices(self, node: ast.expr, want: Want) -> bool:
        """Tell whether a function promises a device among others: ``-> tuple[int, torch.device]``."""
        if len(want.path) != 1 or not isinstance(node, ast.Call):
            return False
        return f"{self._called_by(node)}[{want.path[0]}]" in self._known.promised

    def _called_by(self, call: ast.Call) -> str:
        """Return the name of the function that a call means, where it is defined."""
        func = call.func
        return (
            renamed(self._source).get(func.id, func.id)
            if isinstance(func, ast.Name)
            else last_name(func)
        )

    def _has_real_device(self, owner: ast.expr, attr: str, deep: int) -> bool:
        """Tell whether a device that an object keeps is a real one: that of a tensor, a module or the like."""
        kind = self.class_of(owner)
        if kind and all([self._known.told(Asked(way, kind, attr)) for way in _PROPERTYS]):
            return True  # which a property makes, whatever settings it is made of
        if self._is_never(owner, OBJECT):
            return False
        if self._may_keep_a_word(owner, attr):
            return False  # whatever else its object is asked for
        if attr == "device" and self.holds(owner, OBJECT, deep):
            return True
        if attr != "device" and (self.holds(owner, TENSOR, deep) or self._is_object(owner)):
            return True
        if isinstance(owner, ast.Name):
            if self._is_module(owner) and self._known.told(Asked("variable", owner.id, attr)):
                return True
            named = self.classes_of(owner)
            if named and all([self._known.told(Asked("named", each, attr)) for each in named]):
                return True
            if (made := self._made_of(owner)) and self._known.told(Asked("made", made, attr)):
                return True
        if not isinstance(owner, (ast.Name, ast.Attribute)):
            return False
        last = owner.id if isinstance(owner, ast.Name) else owner.attr
        if self._known.told(Asked("named", last, attr)):
            return True
        classes = self._handed_to_its_base(owner) if isinstance(owner, ast.Attribute) else []
        return bool(classes) and all(
            self._known.told(Asked("named", each, attr)) for each in classes
        )

    def is_beside_its_type(self, node: ast.expr, call: ast.Call) -> bool:
        """Tell whether a call is given the type of the same object beside its device: ``fill(alpha.dtype, alpha.device)``.

        As a tensor has both; what holds settings may as well.
        """
        match node:
            case ast.Attribute(attr="device", value=ast.Name() | ast.Call() as owner):
                kind = f"{ast.unparse(owner)}.dtype"
                return (
                    kind in map(ast.unparse, (*call.args, *(each.value for each in call.keywords)))
                    and not is_self(owner)
                    and not is_of_settings(kind)
                    and not self._may_keep_a_word(owner, "device")
                )
            case _:
                return False

    def _may_keep_a_word(self, owner: ast.expr, attr: str) -> bool:
        """Tell whether an object is, or may be, of a class of the tree that keeps a word in an attribute."""
        if any(
            f"{each}.{attr}" in self._known.words or not self._known.inherits(each, attr)
            for each in self.classes_of(owner)
        ):
            return True
        if not self._known.words or not isinstance(owner, (ast.Name, ast.Attribute)):
            return False
        text = self._source
        if isinstance(owner, ast.Name):
            homes = [p for p in self._tree.ancestors(owner) if isinstance(p, FUNCTIONS)]
            text = self._tree.source(homes[-1]) if homes else text
        return self._known.may_keep_a_word(ast.unparse(owner), attr, text, self._source)

    def _is_of_another_package(self, node: ast.expr) -> bool:
        """Tell whether an object is of a class that is known to keep a real device, and of none of the tree's by that name."""
        known = f"{self.class_of(node)}.device" in KEPT_BY_OTHERS
        return known and not self._may_keep_a_word(node, "device")

    def _is_of_a_keeper(self, node: ast.expr) -> bool:
        """Tell whether an object is of a class of the tree that keeps a real device."""
        kept_by = self.class_of(node)
        return bool(kept_by) and self._known.told(Asked("named", kept_by, "device"))

    def _handed_to_its_base(self, node: ast.Attribute) -> list[str]:
        """Return the classes of what a base keeps that a class has handed on to it by that name: ``super().__init__(estimator=classifier)``.

        As the constructor says of its parameter: ``classifier: "PyTorchClassifier"``.
        """
        around = self._class_around(node) if is_self(node.value) else None
        if around is None or node.attr in self._kept_in(around):
            return []
        for init in around.body:
            if not isinstance(init, ast.FunctionDef) or init.name != "__init__":
                continue
            for call in (each for each in ast.walk(init) if isinstance(each, ast.Call)):
                if ast.unparse(call.func) != "super().__init__":
                    continue
                for keyword in call.keywords:
                    if keyword.arg == node.attr and isinstance(keyword.value, ast.Name):
                        given = parameters(init).get(keyword.value.id)
                        return classes_said(given.annotation) if given is not None else []
        return []

    def _is_object(self, node: ast.expr) -> bool:
        """Tell whether something is called, or used, as what has a device of its own is: a tensor, a module."""
        text = node.id if isinstance(node, ast.Name) else self._tree.source(node)
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in self._classes or len(name) == 1:
                return False
            case ast.Subscript(value=inner) | ast.Call(func=inner):
                if _of_tensors(inner):
                    return True
                at = node.slice if isinstance(node, ast.Subscript) else None
                at = at.operand if isinstance(at, ast.UnaryOp) else at
                key = at.value if isinstance(at, ast.Constant) else None
                if isinstance(key, int):
                    # Of whatever class; each that the tree is seen to have keeps a real device.
                    return not _is_of_several_settings(inner) and (
                        used_as_tensor(self._source, text)
                        or self._known.inherits("", "device")
                        and not self._known.keeps_words("device")
                    )
                if isinstance(node, ast.Call):
                    return self._is_made_by_its_class(inner)
                if not isinstance(key, str):
                    # `kept[name].shape`
                    return not _is_of_several_settings(inner) and (
                        used_as_tensor(self._around(node), text)
                    )
                # `batch["image"]`, and of no settings
                called = TENSOR_WORD.search(key) is not None and not is_of_settings(
                    ast.unparse(inner)
                )
                return called or used_as_tensor(self._source, text)
            case ast.Name(id=name):
                if TENSOR_WORD.search(name) or self._is_pretrained(text):
                    return True
                around = self._around(node)
                if self._asked_as_tensor(node) or holds_tensors(around, name):
                    return True
                if self._is_masked(node) and not self._known.keeps_words("device"):
                    return True
                return any(used_as_tensor(around, other) for other in self._also_called(node))
            case ast.Attribute(attr=attr):
                return (
                    TENSOR_WORD.search(attr) is not None
                    or self._is_pretrained(text)
                    or holds_tensors(self._source, text)
                )
            case _:
                return False

    def _is_made_by_its_class(self, func: ast.expr) -> bool:
        """Tell whether a function of a class makes one of its objects, which keep a real device: ``Shares.stack(parts)``."""
        match func:
            case ast.Attribute(value=ast.Name(id=name)) if name[:1].isupper():
                return self._known.told(Asked("named", name, "device"))
            case _:
                return False

    def _is_masked(self, node: ast.Name) -> bool:
        """Tell whether the items of a variable are chosen by a comparison, as those of a tensor: ``found[ids == each]``.

        So may those of a class of the tree, which says nothing where one keeps a word for its device.
        """
        home = self._scope(node, node.id)
        for use in self._uses_in(home, node.id):
            parent = next(self._tree.ancestors(use), None)
            if isinstance(parent, ast.Subscript) and parent.value is use:
                at = parent.slice
                given = [at]
                if isinstance(at, ast.Name):
                    bound = self._bindings(at, at.id)
                    given = [each.value for each in bound if isinstance(each, ast.Assign)]
                    given = given if len(given) == len(bound) else []
                if given and all(isinstance(each, ast.Compare) for each in given):
                    return True
        return False

    def _is_mesh(self, node: ast.expr) -> bool:
        """Tell whether something is a mesh of ranks, which knows the type of the device that it was made for."""
        if self.class_of(node) == "DeviceMesh":
            return True
        match node:
            case ast.Name(id=name):
                made = [p.value for p in self._bindings(node, name) if isinstance(p, ast.Assign)]
            case ast.Attribute(attr=attr, value=owner) if is_self(owner):
                around = self._class_around(node)
                kept = self._kept_in(around).get(attr) if around is not None else None
                made = [value for value, _ in kept.given] if kept is not None else []
            case _:
                made = []
        return bool(made) and all(
            isinstance(each, ast.Call) and last_name(each.func) == "init_device_mesh"
            for each in made
        )

    def _is_pretrained(self, text: str) -> bool:
        """Tell whether all that the file makes an object of are other libraries' models: ``self.llm = AutoModel.from_pretrained(…)``."""
        given = self._loaded.get(text, [])
        made = [each for each in given if not ast.unparse(each).startswith(f"{text}.")]
        return bool(made) and all(
            isinstance(each, ast.Call)
            and isinstance(each.func, ast.Attribute)
            and each.func.attr == "from_pretrained"
            and _HAS_MODELS.match(self._name(each.func)) is not None
            for each in made
        )

    @cached_property
    def _loaded(self) -> dict[str, list[ast.expr]]:
        """The values given to each variable and attribute of a file that loads such models."""
        found: dict[str, list[ast.expr]] = {}
        if "from_pretrained" in self._source:
            for each in self._tree.statements:
                if isinstance(each, ast.Assign):
                    for target in each.targets:
                        found.setdefault(ast.unparse(target), []).append(each.value)
        return found

    def _is_module(self, node: ast.Name) -> bool:
        """Tell whether a name is that of an imported module: nothing else binds it where it is read."""
        if self._bindings(node, node.id):
            return all(
                isinstance(part, (ast.Import, ast.ImportFrom))
                for part in self._bindings(node, node.id)
            )
        imported = (
            rf"^[ \t]*(?:import[ \t]+{node.id}\b|from[ \t]+[\w.]+[ \t]+import\b[^\n]*\b{node.id}\b)"
        )
        return re.search(imported, self._source, re.MULTILINE) is not None

    def _is_annotated_tensor(self, node: ast.Name) -> bool:
        """Tell whether a parameter says that it is a tensor: ``conf: Tensor`` holds no settings."""
        home = next((h for h in self._bindings(node, node.id) if isinstance(h, FUNCTIONS)), None)
        given = parameters(home).get(node.id) if home is not None else None
        return given is not None and self.promises(given.annotation, TENSOR)

    def _made_of(self, node: ast.Name) -> str:
        """Return by which word, and which keywords, a variable is made of a class that something keeps: ``args.agent_class(gpu_id=0)``."""
        match self._bindings(node, node.id):
            case [ast.Assign(targets=[ast.Name()], value=ast.Call(func=func, keywords=keywords))]:
                kept = _KEPT_CLASS.fullmatch(last_name(func))
                names = [each.arg for each in keywords]
                if kept is None or None in names:
                    return ""
                return f"{kept[1]}:{','.join(sorted(map(str, names)))}"
            case _:
                return ""

    def _said_of(self, node: ast.expr) -> list[str]:
        """Return the classes of which a parameter says that it is one: ``sae: SAE[A] | TrainingSAE[B]``."""
        if not isinstance(node, ast.Name):
            return []
        match self._bindings(node, node.id):
            case [(ast.FunctionDef() | ast.AsyncFunctionDef()) as home]:
                given = parameters(home).get(node.id)
                return classes_said(given.annotation) if given is not None else []
            case _:
                return []

    def is_put_back(self, value: ast.expr, target: ast.Attribute) -> bool:
        """Tell whether an attribute is given what was taken from it: ``kept = engine.device``, ``engine.device = kept``."""
        if not isinstance(value, ast.Name):
            return False
        bound, of = self._bindings(value, value.id), ast.unparse(target)
        given = [part.value for part in bound if isinstance(part, ast.Assign)]
        return 0 < len(bound) == len(given) and all(ast.unparse(each) == of for each in given)

    def classes_of(self, node: ast.expr) -> list[str]:
        """Return the class that an object is of, or those of which its parameter says that it is one."""
        kind = self.class_of(node)
        return [kind] if kind else self._said_of(node)

    def class_of(self, node: ast.expr) -> str:
        """Return the class that a parameter is annotated with, ``sae: "SAE[Any]"``, or that a variable is made of."""
        if isinstance(node, ast.Call):
            last = last_name(node.func)
            return last if last[:1].isupper() else ""
        if isinstance(node, ast.Attribute) and is_self(node.value):
            owner = self._class_around(node)
            kept = self._kept_in(owner).get(node.attr) if owner is not None else None
            made = {self.class_of(v) if not s else "" for v, s in kept.given} if kept else set()
            return made.pop() if len(made) == 1 else ""
        if not isinstance(node, ast.Name):
            return ""
        bound = [p for p in self._bindings(node, node.id) if not isinstance(p, ast.Delete)]
        made = {self._class_by(part, node.id) for part in bound}
        return made.pop() if len(made) == 1 else ""

    def _class_by(self, part: ast.AST, name: str) -> str:
        """Return the class of which a statement, or a function by what it says of its parameter, gives a name an object."""
        match part:
            case ast.With(items=items) | ast.AsyncWith(items=items):
                for item in items:
                    if item.optional_vars is not None and name in names_of(item.optional_vars):
                        entered = item.context_expr
                        return self.class_of(entered) if isinstance(entered, ast.Call) else ""
                return ""
            case ast.Assign(targets=[ast.Name()], value=ast.Call() as made):
                return self.class_of(made)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                given = parameters(part).get(name)
                said = given.annotation if given is not None else None
                found = _NAMED_CLASS.fullmatch(ast.unparse(said).strip("'\"")) if said else None
                return found[1] if found is not None else ""
            case _:
                return ""

    # -- names ----------------------------------------------------------------------------------

    def _binding(self, part: ast.AST, name: str, want: Want, deep: int) -> list[bool]:
        if want == DEVICE and isinstance(part, ast.Assign):
            if DEVICE_AND_DTYPE.match(self._tree.source(part)):
                return [True]
        return super()._binding(part, name, want, deep)

    def is_bound_at_the_margin(self, name: str) -> bool:
        """Tell whether the module has a variable of this name."""
        return bool(self._bound_in(self._tree.module).get(name))

    def _of_module(self, name: str, want: Want) -> bool | None:
        """Answer for a variable that is one of the tree's constants: of this file, of which not all need be here, or another."""
        if want != DEVICE or name not in self._known.constants:
            return None
        bindings = self._bound_in(self._tree.module).get(name, [])
        imported = [part for part in bindings if isinstance(part, ast.ImportFrom)]
        if imported != bindings:
            return None
        several = rf"^(?=[^=\n]*,)[^=\n]*(?<![\w.]){name}(?!\w)[^=\n]*=(?!=)"
        if re.search(several, self._source, re.MULTILINE) is not None:
            return False
        here = rf"^{name}[ \t]*(?::[^=\n]*)?=(?!=)|^[ \t]*(?:from|import)\b[^\n]*\b{name}\b|^[ \t]+{name},?[ \t]*$"
        if not imported:
            return re.search(here, self._source, re.MULTILINE) is not None
        return all(self._is_imported(part, name, want) for part in imported)

    def _is_imported(self, part: ast.Import | ast.ImportFrom, name: str, want: Want) -> bool:
        if not isinstance(part, ast.ImportFrom):
            return False
        module = "." * part.level + (part.module or "")
        if want == _DEVICES:
            return name in self._known.lists and self._known.is_own(module)
        return want == DEVICE and self._known.is_constant(name, module)

    def _was_a_word(self, node: ast.Name, name: str) -> bool:
        """Tell whether a device was made of what a variable held, where that was a string, or was no device yet.

        ``if isinstance(device, str):``, ``if not isinstance(device, torch.device):``, and what an arm of the latter knows.
        """
        if f"isinstance({name}," not in self._source:
            return False
        if self._is_in_devices_arm(node, name):
            return True
        if self._is_bound_around(node, name):
            return False
        for statement in self._statements_before(node):
            if self._is_set_again(node, statement, name):
                return False
            match statement:
                case ast.Assert(test=test) if self._is_devices(test, name) is True:
                    return True
                case ast.If(test=test, body=body, orelse=rest) if (
                    is_device := self._is_devices(test, name)
                ) is not None:
                    other = rest if is_device else body
                    if any(stores(each, name) for each in (body if is_device else rest)):
                        return False
                    leaves = bool(other) and isinstance(other[-1], (ast.Raise, ast.Return))
                    return leaves or self._makes_device(other, name)
                case ast.If(
                    test=ast.Call(func=ast.Name(id="isinstance"), args=[asked, kind]), orelse=[]
                ):
                    if ast.unparse(asked) == name and ast.unparse(kind) == "str":
                        return self._makes_device(statement.body, name)
                case _:
                    pass
            if stores(statement, name):
                return False
        return False

    def _was_refused(self, node: ast.Name, name: str) -> bool:
        """Tell whether what a variable holds was refused if it is not there, by a question that stays CUDA's or by torch itself."""
        if not self._known.choices_stay or not self._may_refuse:
            return False
        if self._is_bound_around(node, name):
            return False
        for statement in self._statements_before(node):
            if self._is_set_again(node, statement, name):
                return False
            if self._refuses(statement, name):
                return True
            if stores(statement, name):
                return False
        return False

    @cached_property
    def _may_refuse(self) -> bool:
        source = self._source
        # Each begins with a word, which is found many times faster than what stands before it.
        return any(each in source for each in _REFUSE) or any(
            _NAME_BEFORE.fullmatch(source, source.rfind("\n", 0, found.start()) + 1, found.start())
            for found in _TAKES_A_DEVICE.finditer(source)
        )

    def _refuses(self, statement: ast.stmt, name: str) -> bool:
        """Tell whether a variable holds a device which is there, once a statement has let it by, or nothing that names one."""
        match statement:
            case ast.Expr(value=ast.Call() as call):
                return self._is_tried(statement, call, name) or self._is_refused_by(call, name)
            case ast.Try(body=body, handlers=handlers, orelse=more, finalbody=end):
                return (
                    not any(stores(each, name) for each in (*body, *more, *end))
                    and any(self._refuses(each, name) for each in body)
                    and all(
                        isinstance(each.body[-1], (ast.Raise, ast.Return))
                        or self._makes_device(each.body, name)
                        for each in handlers
                    )
                )
            case ast.If(body=body, orelse=rest) if stores(statement, name):
                return all(self._is_checked(arm, name) for arm in (body, rest))
            case _:
                return self._refuses_cuda(statement, name)

    def _is_checked(self, arm: list[ast.stmt], name: str) -> bool:
        """Tell whether a block refuses a device that is not there, or gives a variable one that is."""
        if any(stores(each, name) for each in arm):
            return self._makes_device(arm, name)
        return any(self._refuses(each, name) for each in arm)

    def _is_tried(self, statement: ast.Expr, call: ast.Call, name: str) -> bool:
        """Tell whether torch makes a tensor on a device, in a ``try``, and nobody takes it: such a call stays torch's."""
        around = next(self._tree.ancestors(statement), None)
        return (
            isinstance(around, ast.Try)
            and statement in around.body
            and self._name(call.func) in _TRIED
            and any(
                each.arg == "device" and isinstance(each.value, ast.Name) and each.value.id == name
                for each in call.keywords
            )
        )

    def _is_refused_by(self, call: ast.Call, name: str) -> bool:
        """Tell whether a function of the tree's is called that raises where what a variable holds is not there: ``check_device(device)``."""
        called = self._function_by_name(call.func, DEVICE) if self._is_trees(call.func) else ""
        if not called or any(isinstance(each, ast.Starred) for each in call.args):
            return False
        given = [(str(at), each) for at, each in enumerate(call.args)]
        given += [(each.arg, each.value) for each in call.keywords if each.arg is not None]
        return any(
            isinstance(value, ast.Name)
            and value.id == name
            and self._known.told(Asked("refuses", called, place))
            for place, value in given
        )

    def _is_trees(self, func: ast.expr) -> bool:
        """Tell whether a call certainly means a function of the tree: one of this file or class, or that is imported from there."""
        match func:
            case ast.Attribute(value=owner, attr=attr) if is_self(owner):
                around = self._class_around(func)
                return around is not None and bool(self._kept_in(around).get(attr, Kept()).methods)
            case ast.Attribute(value=ast.Name(id=name) as owner):
                known = False
            case ast.Name(id=name) as owner:
                known = re.search(rf"^def[ \t]+{name}\b", self._source, re.MULTILINE) is not None
            case _:
                return False
        bound = self._bindings(owner, name)
        if not all(isinstance(p, (ast.Import, ast.ImportFrom, ast.FunctionDef)) for p in bound):
            return False
        modules = imported_from(self._source).get(name, frozenset())
        return (known or bool(modules)) and all(self._known.is_own(each) for each in modules)

    def is_others(self, func: ast.expr) -> bool:
        """Tell whether a call means what another package has, and Python itself: neither the file's nor the tree's, nor an object's."""
        while isinstance(func, ast.Attribute):
            func = func.value
        if not isinstance(func, ast.Name) or is_self(func) or self.is_variable(func):
            return False
        defined = rf"^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+{func.id}\b|^{func.id}[ \t]*[:=]"
        if re.search(defined, self._source, re.MULTILINE) is not None:
            return False
        imported = imported_from(self._source)
        modules = imported.get(func.id, imported.get("*", frozenset()))
        return not any(self._known.is_own(each) for each in modules)

    def refuses(self, function: ast.AST, parameter: str) -> bool:
        """Tell whether a function comes to its end only if what it is given is there, and names CUDA's no other way."""
        if not self._known.choices_stay or not isinstance(function, ast.FunctionDef):
            return False
        if any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in within(function)):
            return False  # whose call runs nothing
        for statement in function.body:
            if stores(statement, parameter):
                return False
            if _is_for_another(statement, parameter):
                continue
            if any(isinstance(each, ast.Return) for each in ast.walk(statement)):
                return False
            if self._refuses(statement, parameter):
                return True
        return False

    def _refuses_cuda(self, chain: ast.stmt, name: str) -> bool:
        """Tell whether an ``if`` refuses CUDA's name where there is no CUDA, and whatever else may name it.

        Each of its tests asks for words alone: under a condition more, ``and strict``, CUDA's comes by.
        """
        links = links_of(chain)
        rest = links[-1].orelse if links else []
        if not any(OTHERS.search(ast.unparse(link.test)) for link in links):
            return False
        for link in links:
            words = list(self._words_asked(link.test, name, chain))
            if None in words:
                return False
            if not any("cuda" in str(word) or str(word) in "cuda" for word in words):
                continue
            # Asked otherwise, `kind in ("cuda", "gpu")`, its arm is not known for CUDA's, and the question in it becomes tdev's.
            if not any(refuses_without_cuda(each) for each in link.body):
                return False
            match link.test:
                case ast.Call(args=[ast.Constant(value="cuda")]):
                    return True
                case ast.Call(args=[ast.Constant()]) | ast.Compare(ops=[ast.Eq()]):
                    pass
                case _:
                    return False
        return bool(rest) and isinstance(rest[-1], ast.Raise)

    def _words_asked(self, test: ast.expr, name: str, chain: ast.stmt) -> Iterator[str | None]:
        """Yield the words for which a test asks a variable, or with which it may start; None where it asks for more."""
        match test:
            case ast.BoolOp(op=ast.Or(), values=values):
                for each in values:
                    yield from self._words_asked(each, name, chain)
                return
            case ast.Compare(left=asked, ops=[ast.Eq()], comparators=[said]):
                words = [said]
            case ast.Compare(
                left=asked,
                ops=[ast.In()],
                comparators=[ast.Tuple(elts=words) | ast.List(elts=words)],
            ):
                pass
            case ast.Call(func=ast.Attribute(value=asked, attr="startswith"), args=[said]):
                words = said.elts if isinstance(said, ast.Tuple) else [said]
            case _:
                yield None
                return
        known = self._tells_which(asked, name, chain)
        for each in words:
            word = each.value if isinstance(each, ast.Constant) else None
            yield word if known and isinstance(word, str) else None

    def _tells_which(self, asked: ast.expr, name: str, chain: ast.stmt) -> bool:
        """Tell whether what is asked is a variable, its type, or what has been made of it alone: ``kind = str(device)``."""
        match asked:
            case ast.Name(id=each) if each == name:
                return True
            case ast.Name(id=made):
                for before in self._statements_before(chain):
                    match before:
                        case ast.Assign(targets=[ast.Name(id=given)], value=value) if given == made:
                            return self._tells_which(value, name, before)
                        case _:
                            if stores(before, made) or stores(before, name):
                                return False
                return False
            case ast.Attribute(value=value, attr="type"):
                return self._tells_which(value, name, chain)
            case ast.Call(func=ast.Name(id="str"), args=[value], keywords=[]):
                return self._tells_which(value, name, chain)
            case ast.Call(func=ast.Attribute(value=value, attr="lower" | "strip"), args=[]):
                return self._tells_which(value, name, chain)
            case ast.Call(func=func, args=[value], keywords=[]) if self._name(func) in _MAKERS:
                return self._tells_which(value, name, chain)
            case ast.Subscript(
                value=ast.Call(
                    func=ast.Attribute(value=value, attr="split" | "partition"),
                    args=[ast.Constant(value=":"), *_],
                ),
                slice=ast.Constant(value=0),
            ):
                return self._tells_which(value, name, chain)
            case ast.IfExp(body=left, orelse=right):
                return all(self._tells_which(each, name, chain) for each in (left, right))
            case _:
                return False

    def _is_set_again(self, node: ast.Name, statement: ast.stmt, name: str) -> bool:
        """Tell whether a loop that a statement stands before gives a variable another value, which its next turn reads."""
        around = set(self._tree.ancestors(statement))
        loops = (
            p
            for p in self._tree.ancestors(node)
            if isinstance(p, (ast.For, ast.AsyncFor, ast.While))
        )
        return any(each not in around and stores(each, name) for each in loops)

    def _makes_device(self, body: list[ast.stmt], name: str) -> bool:
        """Tell whether each statement of a block that certainly gives a variable its value gives it a real device."""
        givers = [part for part in body if always_gives(part, name)]
        if not givers or any(stores(part, name) for part in body[body.index(givers[-1]) + 1 :]):
            return False
        given = [a for part in givers for a in self._binding(part, name, DEVICE, DEEP)]
        return bool(given) and all(given)

    def _is_devices(self, test: ast.expr, name: str) -> bool | None:
        """Tell whether a test that holds says of a variable that it is a ``torch.device``, or that it is none; else None."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                found = self._is_devices(inner, name)
                return None if found is None else not found
            case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=asked), kind]):
                kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
                real = all(self._is_class(self._name(each), DEVICE) for each in kinds)
                return True if asked == name and real else None
            case _:
                return None

    def _is_in_devices_arm(self, node: ast.Name, name: str) -> bool:
        """Tell whether a variable is read in the arm of what is a device: ``d if isinstance(d, torch.device) else …``."""
        below: ast.AST = node
        for parent in self._tree.ancestors(node):
            if isinstance(parent, FUNCTIONS):
                return False
            if isinstance(parent, ast.IfExp) and below is not parent.test:
                if self._is_devices(parent.test, name) is (below is parent.body):
                    return True
            elif isinstance(parent, ast.If) and below is not parent.test:
                said = self._is_devices(parent.test, name)
                arm = parent.body if below in parent.body else parent.orelse
                if said is (arm is parent.body) and isinstance(below, ast.stmt):
                    # A loop comes by what it binds later, too.
                    whole = 0 if isinstance(below, (ast.Assign, ast.AnnAssign)) else 1
                    return not any(stores(each, name) for each in arm[: arm.index(below) + whole])
            below = parent
        return False

    def _was_asked_for_its_type(self, node: ast.Name) -> bool:
        """Tell whether a statement that certainly runs before has asked a variable for ``.type``: no string has it."""
        if f"{node.id}.type" not in self._source:
            return False
        for before in self._statements_before(node):
            if asks_for_type(before, node.id):
                return True
            if stores(before, node.id):
                return False
        return False

    def _made_by(self, home: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
        """Return what is called for a function: its class, of the one that makes an object."""
        owner = self._class_around(home) if home.name == "__init__" else None
        return home.name if owner is None else owner.name

    def _is_given_words(self, home: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
        """Tell whether somebody gives a word to a parameter that is annotated as a device."""
        return self._known.told(Asked("word", self._made_by(home), name))

    def _is_given(
        self, home: ast.FunctionDef | ast.AsyncFunctionDef, name: str, want: Want
    ) -> bool:
        owner = self._class_around(home)
        called = self._made_by(home)
        said = parameters(home)[name].annotation
        if self.promises(said, want):
            return want != DEVICE or not self._is_given_words(home, name)
        if want == DEVICE and said is None and documents_device(home, owner, name):
            return True
        if want == DEVICE and (home.name.startswith("test_") or fixtures_call(home) is not None):
            # Which pytest calls, with what is listed above it or what the fixture of that name gives.
            listed = list(listed_above(home, name))
            plain = not listed and not self._lists_elsewhere
            if any(self.are_devices(each) for each in listed) or (
                plain and self._known.told(Asked("fixture", name))
            ):
                return True
        if home.name == "forward" and owner is not None:
            return want == DEVICE and self._known.told(Asked("call", owner.name, name))
        return self._known.told(Asked("parameter", called, name, want))

    @cached_property
    def _lists_elsewhere(self) -> bool:
        return _lists_elsewhere(self._source)

    def are_devices(self, node: ast.expr | None) -> bool:
        """Tell whether the items of an expression are real devices, all of them."""
        return self.holds(node, _DEVICES)

    def provides_device(self, fixture: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Tell whether a fixture of pytest's gives tests a real device, and nothing else."""
        call = fixtures_call(fixture)
        keywords = call.keywords if isinstance(call, ast.Call) else []
        params = next((each.value for each in keywords if each.arg == "params"), None)
        yielded = [each.value for each in within(fixture) if isinstance(each, ast.Yield)]
        given = [*self.returned(fixture), *(each for each in yielded if each is not None)]
        return bool(given) and all(
            self.are_devices(params)
            if ast.unparse(each) == "request.param"
            else self.is_own_device(each)
            for each in given
        )

    def gives(self, function: ast.AST, want: Want, deep: int = DEEP) -> bool:
        """Tell whether a function promises what is wanted, by its docstring too, or returns nothing else."""
        if want == DEVICE and isinstance(function, ast.FunctionDef):
            if _PROMISED.search(ast.get_docstring(function, clean=False) or "") is not None:
                return True
        return super().gives(function, want, deep)

    def all_returned(self, function: ast.AST) -> list[ast.expr]:
        """Return what a function may return, constants too."""
        found = (each.value for each in within(function) if isinstance(each, ast.Return))
        return [value for value in found if value is not None]

    def returned(self, function: ast.AST) -> list[ast.expr]:
        """Return what a function may return, constants and nothing aside."""
        return [v for v in self.all_returned(function) if not isinstance(v, ast.Constant)]

    def _is_class(self, name: str, want: Want) -> bool:
        if want == DEVICE:
            return name in ("torch.device", "tdev.device")
        return super()._is_class(name, want)

    # -- words ----------------------------------------------------------------------------------

    def is_word(self, node: ast.expr, deep: int = 6) -> bool:
        """Tell whether an expression may be CUDA's name, as what it comes from says: a word, or typed, or annotated as one."""
        if deep < 0:
            return False
        if isinstance(node, ast.Attribute) and DEVICE_NAME.search(node.attr) and _is_typed(node):
            return True
        match node:
            case ast.Constant(value=str() as word):
                return word.startswith("cuda") and not self._is_chosen_beside_others(node)
            case ast.JoinedStr(values=[ast.Constant(value=str() as word), *_]):
                return word.startswith("cuda")
            case ast.IfExp(body=left, orelse=right):
                return self.is_word(left, deep - 1) or self.is_word(right, deep - 1)
            case ast.BoolOp(values=values):
                return any(self.is_word(each, deep - 1) for each in values)
            case ast.Name(id=name):
                return self._is_named_word(node, name, deep)
            case ast.Attribute(value=value, attr=attr) if is_self(value):
                owner = self._class_around(node)
                kept = self._kept_in(owner).get(attr) if owner is not None else None
                return kept is not None and any(
                    self.is_word(each, deep - 1) for each, steps in kept.given if not steps
                )
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                return "device" in name and self._known.told(Asked("word", name))
            case _:
                return False

    def _is_named_word(self, node: ast.Name, name: str, deep: int) -> bool:
        home = self._home(node)
        if home is None or isinstance(home, ast.Lambda):
            return False
        bound = list(self._reaching(node, home, name))
        if name in parameters(home) and self._last_plain(node, name) is None:
            said = parameters(home)[name].annotation
            if bound or said is None or self._was_a_word(node, name):
                return False
            if _A_WORD.fullmatch(ast.unparse(said)) is not None:
                return True
            return self.promises(said, DEVICE) and self._is_given_words(home, name)
        values = [part.value for part in bound if isinstance(part, ast.Assign)]
        return any(self.is_word(each, deep - 1) for each in values)

    def gives_word(self, function: ast.FunctionDef) -> bool:
        """Tell whether a function may return CUDA's name, as it says or as its annotation does."""
        if function.returns is not None and ast.unparse(function.returns) in ("str", "'str'"):
            return not self.gives(function, DEVICE)
        return any(self.is_word(each) for each in self.returned(function))

    # -- classes --------------------------------------------------------------------------------

    def keeps_device(self, owner: ast.ClassDef, attr: str) -> bool:
        """Tell whether an attribute of a class holds a real device and nothing else."""
        return self._is_kept(owner, attr, DEVICE, DEEP)

    def _keeps(self, owner: ast.ClassDef, attr: str, kept: Kept, want: Want, deep: int) -> bool:
        if want != DEVICE:
            return super()._keeps(owner, attr, kept, want, deep)
        values = [value for value, steps in kept.given if not steps]
        if any(_is_typed(each) for each in values):
            return False
        several = len(kept.given) + len(kept.said) + len(kept.methods)
        if several == 1 and asked_as_device(self._tree.source(owner), f"self.{attr}"):
            return True
        if any(self.promises(said, DEVICE) for said, _, _ in kept.said):
            return True
        if any(self.gives(method, DEVICE, deep) for method in kept.methods):
            return self._do_heirs_give(owner, attr, kept.methods, want)
        # A field may be given something else by whoever makes one.
        if kept.methods or any(is_field for _, _, is_field in kept.said):
            return False
        given = [*kept.given, *((value, ()) for _, value, _ in kept.said if value is not None)]
        return all(self.holds(value, want.under(*steps), deep) for value, steps in given)

    def _has_another_from(self, owner: ast.ClassDef, attr: str, want: Want) -> bool:
        words = self._known.words
        return want == DEVICE and any(f"{last_name(b)}.{attr}" in words for b in owner.bases)

    def _inherits(self, owner: ast.ClassDef, attr: str, want: Want) -> bool:
        if want != DEVICE or DEVICE_NAME.search(attr) is None:
            return False
        if f"{owner.name}.{attr}" in self._known.words or SETTINGS_CLASS.search(owner.name):
            return False
        return all(self._known.inherits(last_name(base), attr) for base in owner.bases)

    def _also_called(self, node: ast.Name) -> Iterator[str]:
        """Yield the names that a function gives to what it calls by this one: ``t, w = points, weights.clone()``."""
        for part in within(self._home(node) or self._tree.module):
            if not isinstance(part, ast.Assign) or node.id not in read_by(part.value):
                continue
            several = part.value.elts if isinstance(part.value, ast.Tuple) else None
            for target, steps in parts_of(part.targets[0]):
                if not isinstance(target, ast.Name):
                    continue
                at = steps[0] if steps else None
                given = (
                    several[at] if several and isinstance(at, int) and at < len(several) else None
                )
                given = part.value if not steps else given
                if isinstance(given, ast.Name) and given.id == node.id:
                    yield target.id
