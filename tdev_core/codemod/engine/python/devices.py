"""Tells whether an expression is a real device, and no word that a person may have typed.

A tensor's, one that was made, an attribute or a variable that holds nothing else, by what its function, its class
and the other files say.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tdev_core.codemod.engine.api import ProgramTree
from tdev_core.codemod.engine.python.statements import (
    COMPREHENSIONS,
    FUNCTIONS,
    always_gives,
    asks_for_type,
    at_the_place_of,
    bound_by,
    fixtures_call,
    is_before,
    is_own,
    is_self,
    last_name,
    listed_above,
    names_of,
    one_of,
    parameters,
    read_by,
    sets_by_name,
    stores,
    within,
)
from tdev_core.codemod.engine.python.tensors import DEEP, Tensors
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.vocabulary import (
    DEVICE_AND_DTYPE,
    DEVICE_NAME,
    SETTINGS,
    TENSOR_WORD,
    asked_as_device,
    holds_tensors,
    is_of_settings,
    used_as_tensor,
)


def _nothing(_: str) -> bool:
    return False


def _real(_: str, __: str) -> bool:
    return True


@dataclass(frozen=True)
class Known:
    """The devices that other files tell of."""

    told: Callable[[str], bool] = _nothing
    """Whether everybody gives a parameter, ``function.parameter`` or ``Class.parameter``, a real device.

    Or a function, ``function()``, gives nothing else, or a list of nothing else, ``function[]``; or a fixture,
    ``@fixture``; or what is called so keeps nothing else, ``*estimator.device``, or a module, ``#settings.device``; or
    everybody gives a parameter an object that has one, ``%function.parameter``.
    """
    inherits: Callable[[str, str], bool] = _real
    """Whether a base class in another file keeps a real device in an attribute; what comes from outside does."""
    words: frozenset[str] = frozenset()
    """``Class.attribute`` of each class whose base, in whatever file, holds a word in it."""
    promised: frozenset[str] = frozenset()
    """Functions that promise a ``torch.device``."""
    constants: frozenset[str] = frozenset()
    """Variables of modules that hold one wherever they are set."""
    modules: frozenset[str] = frozenset()
    """What an absolute import of the tree's own starts with."""

    @classmethod
    def of(cls, tree: ProgramTree) -> Known:
        """Return what is known of a tree that has been surveyed."""
        told = tree.told_devices.__contains__
        return cls(
            told,
            words=tree.word_devices,
            promised=tree.give_devices,
            constants=tree.device_constants,
            modules=tree.modules,
        )

    def is_constant(self, name: str, imported_from: str) -> bool:
        """Tell whether an imported name is a constant of the tree; ``.`` for a relative import."""
        top = imported_from.partition(".")[0]
        return name in self.constants and (not top or top in self.modules)


_NAMED_CLASS = re.compile(
    r"(?:Optional\[)?[\"']?(?:\w+\.)*([A-Z]\w+)(?:\[\w+\])?[\"']?\]?(?: \| None)?"
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
        # Other libraries' answers, which are words of the devices that torch itself has here.
        "mmengine.device.get_device",
        "sentence_transformers.util.get_device_name",
    }
)

# What a docstring says of what is given: `:rtype: torch.device`, or the first line below `Returns:`.
_PROMISED = re.compile(
    r":rtype:\s*(?::\w+:)?[`~]*torch\.device\b(?![^\n]*\bstr)"
    r"|\bReturns?:?[ \t]*\n(?:[ \t]*-+[ \t]*\n)?[ \t]*(?:\w+[ \t]*:[ \t]*)?[`~(:\w]*\btorch\.device\b(?![^\n]*\bstr)"
)

_SETTINGS = re.compile(rf"(?:\w+_)?(?:{SETTINGS})", re.IGNORECASE)

_OF_SETTINGS = re.compile(r"(?:Conf|Config|Configs|Settings|Args|Arguments|Options)\Z")


def _is_typed(node: ast.expr) -> bool:
    """Tell whether an expression plainly is what was typed: ``args.device``."""
    return isinstance(node, ast.Attribute) and is_of_settings(ast.unparse(node.value))


def _of_tensors(node: ast.expr) -> bool:
    """Tell whether something is called as tensors are: ``outputs["x"]``, ``self.get_weights()``."""
    while isinstance(node, ast.Subscript):
        node = node.value
    last = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return TENSOR_WORD.search(last) is not None


_HAS_MODELS = re.compile(r"(?:transformers|diffusers|peft|optimum|sentence_transformers)\.")

# A class's parameters, a module's, a fixture by another name: what pytest gives a test then is not followed.
_LISTS_ELSEWHERE = re.compile(
    r"\bpytestmark\b|\bargnames\b|\binstantiate_\w+\(|\bfixture\([^)]*\bname\s*="
    r"|^@[^\n]*parametrize\((?:[^()]|\([^()]*\))*\)\s*\nclass\b",
    re.MULTILINE,
)


class Devices(Tensors):
    """Answers for expressions of one tree; ``known`` is what other files tell."""

    def __init__(
        self,
        tree: PythonTree,
        source: str,
        known: Known | None = None,
        above: Sequence[ast.stmt] = (),
    ) -> None:
        super().__init__(tree, source, above)
        self._known = known or Known()

    def is_own_device(self, node: ast.expr, deep: int = 4) -> bool:
        """Tell whether an expression is the device of a tensor, one that was made, or a variable that holds nothing else."""
        match node:
            case ast.Constant(value=value):
                return value in _PLAIN
            case ast.IfExp(body=left, orelse=right):
                return self.is_own_device(left, deep) and self.is_own_device(right, deep)
            case ast.BoolOp(op=ast.Or(), values=values):
                return all(self.is_own_device(each, deep) for each in values)
            case ast.Attribute(attr="type" | "index", value=value):
                return self.is_own_device(value, deep)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=attr) if deep:
                return self._is_real_of_self(node, attr, deep - 1)
            case ast.Attribute() if deep and (given := self._given_before(node)) is not None:
                return self.is_own_device(given, deep - 1)
            case ast.Attribute(attr=attr, value=value) if DEVICE_NAME.search(attr):
                return attr == "_execution_device" or self._has_real_device(value, attr)
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, asked, *otherwise]) if deep:
                return (
                    isinstance(asked, ast.Constant)
                    and isinstance(asked.value, str)
                    and self._is_real_if_asked(node, owner, asked.value, deep - 1)
                    and all(self.is_own_device(each, deep - 1) for each in otherwise)
                )
            case ast.JoinedStr(values=[ast.FormattedValue(value=value), *rest]):
                # `f"{x.device.type}:{rank}"`, which is the same device by its name.
                apart = not rest or isinstance(rest[0], ast.Constant) and rest[0].value == ":"
                return apart and self.is_own_device(value, deep)
            case ast.Call(func=ast.Name(id="str"), args=[value]):
                return self.is_own_device(value, deep)
            case ast.Call():
                if self._name(node.func) in _MAKERS:
                    return True
                called = node.func
                last = called.attr if isinstance(called, ast.Attribute) else ast.unparse(called)
                return last in self._known.promised or self._known.told(f"{last}()")
            case ast.Name(id=name) if deep:
                return self._is_real_name(node, name, deep - 1)
            case _:
                return False

    def _given_before(self, node: ast.Attribute) -> ast.expr | None:
        """Return what an attribute of a variable was given by the last plain statement of a block around."""
        owner = node.value
        if not isinstance(owner, ast.Name) or is_self(owner):
            return None
        name = f"{owner.id}.{node.attr}"
        if f"{name} =" not in self._source and f"{name}=" not in self._source:
            return None
        if self._is_bound_around(node, owner.id):
            return None
        for statement in self._statements_before(node):
            if isinstance(statement, ast.Assign) and name in map(ast.unparse, statement.targets):
                return statement.value
            if (
                stores(statement, name)
                or stores(statement, owner.id)
                or sets_by_name(statement, owner.id)
            ):
                return None
        return None

    def _is_real_if_asked(self, call: ast.Call, owner: ast.expr, attr: str, deep: int) -> bool:
        """Answer for ``getattr(self, "_device", None)`` as for ``self._device``."""
        if isinstance(owner, ast.Name) and owner.id in ("self", "cls"):
            return self._is_real_of_self(call, attr, deep)
        return DEVICE_NAME.search(attr) is not None and self._has_real_device(owner, attr)

    def has_device(self, node: ast.expr) -> bool:
        """Tell whether something has a device, which is a real one: a tensor, a module or the like."""
        return self.one(node, DEEP) or self._has_real_device(node, "device")

    def _has_real_device(self, owner: ast.expr, attr: str) -> bool:
        """Tell whether the ``device`` of an object is a real one: that of a tensor, a module or the like."""
        text = ast.unparse(owner)
        if isinstance(owner, (ast.Subscript, ast.Call)):
            inner = owner.value if isinstance(owner, ast.Subscript) else owner.func
            return not is_of_settings(text) and (self.one(owner, DEEP) or _of_tensors(inner))
        if any(_SETTINGS.fullmatch(part) for part in text.split(".")):
            return isinstance(owner, ast.Name) and self._is_annotated_tensor(owner)
        if isinstance(owner, ast.Name) and self.one(owner, DEEP):
            return True
        last = text.rpartition(".")[2]
        if TENSOR_WORD.search(last) or self.one(owner, DEEP) or self._is_pretrained(text):
            return True
        if isinstance(owner, ast.Name):
            if self._is_module(owner) and self._known.told(f"#{owner.id}.{attr}"):
                return True
            if (named := self._class_of(owner)) and self._known.told(f"*{named}.{attr}"):
                return True
            around = self._around(owner)
            if self._asked_as_tensor(owner) or holds_tensors(around, owner.id):
                return True
            if any(used_as_tensor(around, name) for name in self._also_called(owner)):
                return True
            # `acc = self.trainer.accelerator`: what it is called where it comes from.
            given = [
                each
                for part in self._bindings(owner, owner.id)
                for each in self._given(part, owner.id)
            ]
            if given and all(
                isinstance(each, ast.Attribute) and TENSOR_WORD.search(each.attr) for each in given
            ):
                return True
            if self._is_given_one(owner):
                return True
        elif not isinstance(owner, ast.Attribute):
            return False
        elif holds_tensors(self._source, text):
            return True
        return self._known.told(f"*{last}.{attr}")

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
        home = self._home(node)
        given = parameters(home).get(node.id) if home is not None else None
        return given is not None and self._annotated(given.annotation, False)

    def _is_given_one(self, node: ast.Name) -> bool:
        """Tell whether a parameter is given something with a real device by everybody who calls its function."""
        home = self._home(node)
        if home is None or isinstance(home, ast.Lambda) or node.id not in parameters(home):
            return False
        owner = next((p for p in self._tree.ancestors(home) if isinstance(p, ast.ClassDef)), None)
        name = owner.name if home.name == "__init__" and owner is not None else home.name
        return self._bindings(node, node.id) == [home] and self._known.told(f"%{name}.{node.id}")

    def _class_of(self, node: ast.Name) -> str:
        """Return the class that a parameter is annotated with, ``sae: "SAE[Any]"``, or that a variable is made of."""
        bindings = self._bindings(node, node.id)
        home = bindings[0] if len(bindings) == 1 else None
        made = None
        if isinstance(home, (ast.With, ast.AsyncWith)):
            made = next(
                i.context_expr
                for i in home.items
                if i.optional_vars is not None and node.id in names_of(i.optional_vars)
            )
        elif isinstance(home, ast.Assign) and isinstance(home.targets[0], ast.Name):
            made = home.value if len(home.targets) == 1 else None
        if isinstance(made, ast.Call):
            last = last_name(made.func)
            return last if last[:1].isupper() else ""
        if not isinstance(home, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return ""
        given = parameters(home).get(node.id)
        said = given.annotation if given is not None else None
        text = ast.unparse(said).strip("'\"") if said is not None else ""
        found = _NAMED_CLASS.fullmatch(text)
        return found[1] if found is not None else ""

    def _is_real_name(self, node: ast.Name, name: str, deep: int) -> bool:
        """Answer for a variable by all that may give it its value."""
        if self._was_asked_for_its_type(node) or self._was_a_word(node, name, deep):
            return True
        for parent in self._tree.ancestors(node):
            if isinstance(parent, COMPREHENSIONS):
                if any(name in names_of(loop.target) for loop in parent.generators):
                    return False  # an item of something
            elif isinstance(parent, FUNCTIONS):
                break
            elif isinstance(parent, ast.ClassDef) and self._bound_in(parent).get(name):
                return False
        if self._bound_from_within(name):
            return False
        home: ast.AST | None = self._home(node)
        while home is not None and not self._binds(home, name):
            home = self._home(home)
        if home is None:
            return self.is_real_at_the_margin(name, deep)
        bindings = [
            part for part in self._bound_in(home).get(name, []) if not self._is_in(node, part)
        ]
        if (since := self._last_plain(node, name)) is not None:
            bindings = [part for part in bindings if part is since or not is_before(part, since)]
        elif isinstance(home, FUNCTIONS) and name in parameters(home):
            if not self._is_real_parameter(home, name):
                return False
        return all(self._gives_real(part, name, deep) for part in bindings)

    def _is_in(self, node: ast.AST, part: ast.AST) -> bool:
        """Tell whether a name stands on the right of what binds it, where it is the one before: ``device = device or …``."""
        if not isinstance(part, (ast.Assign, ast.AnnAssign)):
            return False
        around = list(self._tree.ancestors(node))
        return part in around and not any(isinstance(each, (ast.For, ast.While)) for each in around)

    def _binds(self, home: ast.AST, name: str) -> bool:
        given = parameters(home) if isinstance(home, FUNCTIONS) else {}
        return name in given or name in self._bound_in(home)

    def is_bound_at_the_margin(self, name: str) -> bool:
        """Tell whether the module has a variable of this name."""
        return bool(self._bound_in(self._tree.module).get(name))

    def is_real_at_the_margin(self, name: str, deep: int = 4) -> bool:
        """Answer for a module's variable: of this file, of which not all need be here, or of another one."""
        bindings = self._bound_in(self._tree.module).get(name, [])
        imported = [part for part in bindings if isinstance(part, ast.ImportFrom)]
        if name in self._known.constants:
            if imported == bindings:
                several = rf"^(?=[^=\n]*,)[^=\n]*(?<![\w.]){name}(?!\w)[^=\n]*=(?!=)"
                here = rf"^{name}[ \t]*(?::[^=\n]*)?=(?!=)|^[ \t]*(?:from|import)\b[^\n]*\b{name}\b|^[ \t]+{name},?[ \t]*$"
                return re.search(several, self._source, re.MULTILINE) is None and (
                    re.search(here, self._source, re.MULTILINE) is not None
                    if not imported
                    else all(
                        self._known.is_constant(name, "." * part.level + (part.module or ""))
                        for part in imported
                    )
                )
        return bool(bindings) and all(self._gives_real(part, name, deep) for part in bindings)

    def _gives_real(self, part: ast.AST, name: str, deep: int) -> bool:
        """Tell whether a statement that binds a name gives it a real device."""
        if isinstance(part, ast.stmt) and DEVICE_AND_DTYPE.match(self._tree.source(part)):
            return True
        if isinstance(part, ast.NamedExpr):
            return self.is_own_device(part.value, deep)
        if isinstance(part, ast.AnnAssign):
            return self.promises_a_device(part.annotation) or (
                part.value is not None and self.is_own_device(part.value, deep)
            )
        if self._is_promised_among_others(part, name):
            return True
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], (ast.Tuple, ast.List)):
            # `(device,) = {x.device for x in samples}`
            if not isinstance(part.value, ast.Tuple) and self.are_devices(part.value):
                return True
        return all(
            each is not None and self.is_own_device(each, deep) for each in self._given(part, name)
        )

    def _is_promised_among_others(self, part: ast.AST, name: str) -> bool:
        """Tell whether a name is bound to one of several that a function promises: ``-> tuple[int, torch.device]``."""
        match part:
            case ast.Assign(targets=[ast.Tuple(elts=elts)], value=ast.Call(func=called)):
                names = [each.id if isinstance(each, ast.Name) else "" for each in elts]
                plain = names.count(name) == 1 and not any(isinstance(e, ast.Starred) for e in elts)
                return plain and f"{last_name(called)}[{names.index(name)}]" in self._known.promised
            case _:
                return False

    def _was_a_word(self, node: ast.Name, name: str, deep: int) -> bool:
        """Tell whether a device was made of what a variable held, where that was a string: ``if isinstance(device, str):``."""
        if f"isinstance({name}," not in self._source or self._is_bound_around(node, name):
            return False
        for statement in self._statements_before(node):
            match statement:
                case ast.If(
                    test=ast.Call(func=ast.Name(id="isinstance"), args=[asked, kind]), orelse=[]
                ):
                    if ast.unparse(asked) == name and ast.unparse(kind) == "str":
                        given = [
                            each
                            for part in statement.body
                            if always_gives(part, name)
                            for each in self._given(part, name)
                        ]
                        return bool(given) and all(
                            each is not None and self.is_own_device(each, deep) for each in given
                        )
                case _:
                    pass
            if stores(statement, name):
                return False
        return False

    def _is_bound_around(self, node: ast.AST, name: str) -> bool:
        """Tell whether a loop, a ``with`` or a comprehension around something binds a name for it."""
        for parent in self._tree.ancestors(node):
            if isinstance(parent, FUNCTIONS):
                return False
            if isinstance(parent, COMPREHENSIONS):
                if any(name in names_of(loop.target) for loop in parent.generators):
                    return True
            elif name in bound_by(parent):
                return True
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

    def _is_real_parameter(
        self, home: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str
    ) -> bool:
        if isinstance(home, ast.Lambda):
            return False
        said = parameters(home)[name].annotation
        if said is not None and self.promises_a_device(said):
            return True
        if home.name.startswith("test_") or fixtures_call(home) is not None:
            # Which pytest calls, with what is listed above it or what the fixture of that name gives.
            listed = list(listed_above(home, name))
            plain = not listed and not self._lists_elsewhere
            if any(self.are_devices(each) for each in listed) or (
                plain and self._known.told(f"@{name}")
            ):
                return True
        owner = next((p for p in self._tree.ancestors(home) if isinstance(p, ast.ClassDef)), None)
        made = home.name == "__init__" and owner is not None
        if home.name == "forward" and owner is not None:
            return self._known.told(f"{owner.name}().{name}")
        return self._known.told(f"{owner.name if made and owner is not None else home.name}.{name}")

    @cached_property
    def _lists_elsewhere(self) -> bool:
        return _LISTS_ELSEWHERE.search(self._source) is not None

    def are_devices(self, node: ast.expr | None, deep: int = 4) -> bool:
        """Tell whether the items of an expression are real devices, all of them."""
        if node is None or deep < 0:
            return False
        match node:
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                return bool(items) and all(self.is_own_device(each) for each in items)
            case ast.ListComp(elt=item) | ast.GeneratorExp(elt=item) | ast.SetComp(elt=item):
                return self.is_own_device(item)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self.are_devices(left, deep - 1) and self.are_devices(right, deep - 1)
            case ast.Call(func=ast.Name(id="list" | "tuple" | "set" | "sorted"), args=[inner, *_]):
                return self.are_devices(inner, deep - 1)
            case ast.Call(func=ast.Attribute(attr="fromkeys"), args=[inner]):
                return self.are_devices(inner, deep - 1)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                return self._known.told(f"{name}[]")
            case ast.Name(id=name):
                bindings = self._bindings(node, name)
                given = [each for part in bindings for each in self._given(part, name)]
                return bool(given) and all(self.are_devices(each, deep - 1) for each in given)
            case _:
                return False

    def gives_devices(self, function: ast.AST) -> bool:
        """Tell whether all that a function returns are lists of real devices."""
        returned = self.returned(function)
        return bool(returned) and all(map(self.are_devices, returned))

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

    def gives_device(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Tell whether a function gives a real device, by its annotation or by all that it returns."""
        if isinstance(function, ast.AsyncFunctionDef):
            return False
        if function.returns is not None:
            return self.promises_a_device(function.returns)
        if _PROMISED.search(ast.get_docstring(function, clean=False) or "") is not None:
            return True
        values = [each.value for each in within(function) if isinstance(each, ast.Return)]
        return any(self.returned(function)) and all(
            value is None or self.is_own_device(value) for value in values
        )

    def returned(self, function: ast.AST) -> list[ast.expr]:
        """Return what a function may return, constants and nothing aside."""
        found = (each.value for each in within(function) if isinstance(each, ast.Return))
        return [v for v in found if v is not None and not isinstance(v, ast.Constant)]

    def promises_a_device(self, said: ast.expr) -> bool:
        """Tell whether an annotation is ``torch.device``, ``None`` aside."""
        match said:
            case ast.Constant(value=str() as text):
                try:
                    return self.promises_a_device(ast.parse(text, mode="eval").body)
                except SyntaxError:
                    return False
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                sides = [s for s in (left, right) if ast.unparse(s) != "None"]
                return bool(sides) and all(map(self.promises_a_device, sides))
            case ast.Subscript(value=outer, slice=inner):
                return ast.unparse(outer).rpartition(".")[
                    2
                ] == "Optional" and self.promises_a_device(inner)
            case ast.Name() | ast.Attribute():
                return self._name(said) in ("torch.device", "tdev.device")
            case _:
                return False

    def _is_real_of_self(self, node: ast.AST, attr: str, deep: int) -> bool:
        """Answer for ``self.device`` by what the class around assigns to it, or by what its bases are known for."""
        owner = next((p for p in self._tree.ancestors(node) if isinstance(p, ast.ClassDef)), None)
        if owner is None or DEVICE_NAME.search(attr) is None:
            return False
        return self.keeps_device(owner, attr, deep)

    def keeps_device(self, owner: ast.ClassDef, attr: str, deep: int = 3) -> bool:
        """Tell whether an attribute of a class holds a real device and nothing else."""
        inherits, seen = owner, set[str]()
        while inherits.name not in seen:
            seen.add(inherits.name)
            values = list(self._values_of(inherits, attr))
            if any(isinstance(each, ast.expr) and _is_typed(each) for each in values):
                return False
            if len(values) == 1 and asked_as_device(self._tree.source(inherits), f"self.{attr}"):
                return True
            if values:
                return True in values or all(
                    isinstance(each, ast.expr) and self.is_own_device(each, deep) for each in values
                )
            inherits = self._base_here(inherits) or inherits
        if f"{owner.name}.{attr}" in self._known.words or _OF_SETTINGS.search(owner.name):
            return False
        return all(self._known.inherits(last_name(base), attr) for base in owner.bases)

    def _base_here(self, owner: ast.ClassDef) -> ast.ClassDef | None:
        """Return the first class of this tree that one inherits from."""
        named = [ast.unparse(base).rpartition(".")[2] for base in owner.bases]
        classes = (part for part in self._tree.module.body if isinstance(part, ast.ClassDef))
        return next((each for each in classes if each.name in named), None)

    def _values_of(
        self, owner: ast.ClassDef, attr: str
    ) -> Iterator[ast.expr | Literal[True] | None]:
        """Yield what a class assigns to an attribute, True for what it promises; None where that is not to be seen."""
        for part in ast.walk(owner):
            match part:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        if is_own(target, attr):
                            yield value
                        elif isinstance(target, (ast.Tuple, ast.List)):
                            yield from at_the_place_of(target, value, attr)
                case ast.AnnAssign(target=target, annotation=said, value=value):
                    if is_own(target, attr):
                        yield True if self.promises_a_device(said) else value
                    elif isinstance(target, ast.Name) and target.id == attr:
                        # A field, which whoever makes one may give something else.
                        yield True if self.promises_a_device(said) else None
                case ast.FunctionDef(name=name) if name == attr:
                    yield True if self.gives_device(part) else None
                case _:
                    pass

    def _given(self, part: ast.AST, name: str) -> Iterator[ast.expr | None]:
        """Yield what a statement gives a name, by itself or as one of several; None where that is not to be seen."""
        target = (
            part.targets[0] if isinstance(part, ast.Assign) and len(part.targets) == 1 else None
        )
        value = part.value if isinstance(part, ast.Assign) else None
        if isinstance(target, ast.Name):
            yield value
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            yield one_of(value, target, name)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.IfExp):
            # `device, dtype = (x.device, x.dtype) if known else (device, None)`
            for arm in (value.body, value.orelse):
                yield one_of(arm, target, name) if isinstance(arm, ast.Tuple) else None
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Call):
            # `device, steps = self._check(x)`: of each function of that name.
            called = (
                value.func.attr
                if isinstance(value.func, ast.Attribute)
                else ast.unparse(value.func)
            )
            own = isinstance(value.func, ast.Name) or ast.unparse(value.func) == f"self.{called}"
            homes = [
                each
                for each in self._tree.statements
                if own and isinstance(each, ast.FunctionDef) and each.name == called
            ]
            returned = [r for home in homes for r in within(home) if isinstance(r, ast.Return)]
            for each in returned:
                yield (
                    one_of(each.value, target, name) if isinstance(each.value, ast.Tuple) else None
                )
            if not returned:
                yield None
        else:
            yield None

    def _also_called(self, node: ast.Name) -> Iterator[str]:
        """Yield the names that a function gives to what it calls by this one: ``t, w = points, weights.clone()``."""
        for part in within(self._home(node) or self._tree.module):
            if isinstance(part, ast.Assign) and node.id in read_by(part.value):
                for name in names_of(part.targets[0]):
                    given = list(self._given(part, name))
                    if all(isinstance(each, ast.Name) and each.id == node.id for each in given):
                        yield name
