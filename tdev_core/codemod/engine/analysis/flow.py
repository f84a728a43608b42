"""Follows what an expression may be, as far as one file tells: a CUDA name, a real device, a tensor.

The answer is a set of :class:`Kind`. It is deliberately coarse: the rules only ask "may this
be the string ``"cuda"`` or an index when it reaches torch?" and "is this certainly a tensor?".
Unknown stays unknown, and an unknown device counts as one that may be CUDA.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import libcst as cst

from tdev_core.codemod.engine.analysis.bindings import Binding, Scope
from tdev_core.codemod.engine.analysis.kinds import (
    MAY_BE_CUDA,
    TENSOR_ATTRIBUTES,
    UNKNOWN,
    Kind,
    Kinds,
)
from tdev_core.codemod.engine.analysis.literals import (
    CUDA_STRING,
    is_typed_device,
    names_cuda,
    names_other_device,
)
from tdev_core.codemod.engine.analysis.nodes import dotted, string_value
from tdev_core.codemod.engine.analysis.resolve import Resolver
from tdev_core.codemod.engine.asked import Asked, Way
from tdev_core.codemod.engine.constants import SAYS_ITS_DEVICE
from tdev_core.codemod.engine.python.known import Known
from tdev_core.codemod.engine.python.tensors import NOT_TENSORS, TENSOR_METHODS
from tdev_core.codemod.engine.vocabulary import (
    DEVICE_AND_DTYPE,
    DEVICE_NAME,
    TENSOR_WORD,
    computed_with,
    give_devices,
    holds_tensors,
    is_of_settings,
    renamed,
    shown_device,
    used_as_tensor,
)

_CLASS_HEAD = re.compile(r"^[ \t]*class[ \t]+(\w+)[ \t]*\(([^()]*)\)", re.MULTILINE)
_ASKS_TORCH = re.compile(r"\btorch\.cuda\.is_available\(\)")
_OTHERS = re.compile(r"[\"'](?:mps|xpu|npu|hpu|mlu|xla)\b|\b(?:mps|xpu|npu)\.is_available\(")

# The methods that torch calls with tensors, and the classes that they are of.
_WAYS = {
    "forward": re.compile(r"Module|\bFunction\b"),
    "backward": re.compile(r"\bFunction\b"),
}


_OF_A_DEVICE = frozenset({Kind.DEVICE, Kind.NONE})
# What a module or a tensor is asked for by a function: `get_execution_device(module)`.
_ASKED_DEVICE = re.compile(r"get_\w*device\Z")
_WORD_TYPE = re.compile(r"\bstr\b")
# Decorators and bases of classes that make their own `__init__` of what is annotated: dataclasses', attrs' and pydantic's.
_HAS_FIELDS = re.compile(
    r"dataclass\b|\battrs?\b|\b(?:define|frozen|mutable)\b|\bBaseModel\b|\bNamedTuple\b"
)


class Flow:
    """Kinds of expressions, over one file's bindings."""

    def __init__(
        self,
        resolver: Resolver,
        known: Known | None = None,
    ) -> None:
        known = known or Known()
        self.resolver = resolver
        promised = known.promised | give_devices(resolver.tree.source)[0]
        self.known = replace(known, promised=promised)
        self.tree = resolver.tree
        self.scopes = resolver.scopes
        self._memo: dict[cst.CSTNode, Kinds] = {}
        self._partial: dict[cst.CSTNode, Kinds] = {}
        self._busy: set[object] = set()

    def kinds(self, node: cst.CSTNode) -> Kinds:
        """Return the kinds of thing that ``node`` may be; ``{UNKNOWN}`` where the file does not say."""
        found = self._memo.get(node)
        if found is None:
            if node in self._busy:
                return frozenset()
            found = self._partial.get(node)
            if found is not None:
                return found
            self._busy.add(node)
            try:
                found = self._kinds(node)
            finally:
                self._busy.discard(node)
            # Within one question each node is looked at once: functions that call each other would
            # otherwise be followed along every path.
            self._partial[node] = found
            if not self._busy:
                self._memo[node] = found
                self._partial.clear()
        return found

    def may_be_cuda(self, node: cst.CSTNode) -> bool:
        """Tell whether CUDA may come out of this expression; what comes from elsewhere may be."""
        return bool(self.kinds(node) & MAY_BE_CUDA)

    def is_tensor(self, node: cst.CSTNode) -> bool:
        return self.kinds(node) <= {Kind.TENSOR, Kind.NONE} and Kind.TENSOR in self.kinds(node)

    def names_cuda(self, node: cst.CSTNode) -> bool:
        """Tell whether the expression is, by its own text, a string naming CUDA."""
        return names_cuda(node)

    # -- expressions ----------------------------------------------------------------------

    def word(self, node: cst.CSTNode) -> str | None:
        """Return the string that an expression is: a literal, or what a class or a module calls a device by."""
        if (said := string_value(node)) is not None:
            return said
        if not isinstance(node, (cst.Name, cst.Attribute)):
            return None
        return self._spoken(node)

    def _spoken(self, node: cst.Name | cst.Attribute) -> str | None:
        """Return the word of a constant: ``CUDA_DEVICE``, ``constants.CPU``, ``DeviceType.CUDA``, ``DeviceType.CUDA.value``."""
        chain = dotted(node) or ""
        first, *steps = chain.split(".")
        if SAYS_ITS_DEVICE.search(chain) is None:
            return None
        root: cst.BaseExpression = node
        while isinstance(root, cst.Attribute):
            root = root.value
        bindings = self.scopes.of(root).lookup(first)
        if len(bindings) != 1:
            return None
        (binding,) = bindings
        if binding.kind == "value":
            # Of this module, and called after what it holds.
            own = not steps and binding.scope.parent is None
            return string_value(binding.value) if own and binding.value is not None else None
        if binding.kind in ("import", "from"):
            target = binding.target or ""
            if not self.known.is_own(target):
                return None
            owner, _, last = target.rpartition(".")
            steps = [owner.rpartition(".")[2], last, *steps]
        elif isinstance(binding.node, cst.ClassDef):
            steps = [first, *steps]
        else:
            return None
        size = 3 if steps[-1] == "value" else 2
        said = self.known.spoken.get(".".join(steps[-size:]))
        # A package hands on what its module holds.
        return (
            said if said is not None or len(steps) != 2 else self.known.spoken.get(f".{steps[1]}")
        )

    def _kinds(self, node: cst.CSTNode) -> Kinds:
        if isinstance(node, (cst.Name, cst.Attribute)) and (said := self._spoken(node)):
            return frozenset({Kind.CUDA if CUDA_STRING.match(said) else Kind.OTHER})
        if names_cuda(node):
            return frozenset({Kind.DEVICE if self._beside_others(node) else Kind.CUDA})
        if string_value(node) is not None or isinstance(
            node, (cst.Dict, cst.Float, cst.Lambda, cst.List, cst.Tuple, cst.Set)
        ):
            return frozenset({Kind.OTHER})
        if isinstance(node, cst.Integer):
            return frozenset({Kind.INDEX})
        if isinstance(node, cst.IfExp):
            return self.kinds(node.body) | self.kinds(node.orelse)
        if isinstance(node, cst.BooleanOperation) and isinstance(node.operator, cst.Or):
            return self.kinds(node.left) | self.kinds(node.right)
        if isinstance(node, cst.NamedExpr):
            return self.kinds(node.value)
        if names_other_device(node):
            return frozenset({Kind.OTHER})
        if isinstance(node, cst.Name):
            return self._name(node)
        if isinstance(node, cst.Attribute):
            return self._attribute(node)
        if isinstance(node, cst.Call):
            return self._call(node)
        return frozenset({Kind.TYPED}) if is_typed_device(node) else UNKNOWN

    def _beside_others(self, node: cst.CSTNode) -> bool:
        """Tell whether CUDA's name is chosen by torch's own question in a chain with one for another accelerator.

        That question stays torch's: where its answer is yes, the device is there.
        """
        if self._in_a_chain_of_others(node):
            return True
        below = node
        while isinstance(choice := self.tree.parents.get(below), cst.IfExp):
            if choice.body is below:
                if _ASKS_TORCH.fullmatch(self.tree.text(choice.test)) is None:
                    return False
                while isinstance(above := self.tree.parents.get(choice), cst.IfExp):
                    choice = above
                # What a device is made of at once is chosen by tdev's question.
                kept = isinstance(self.tree.parents[choice], (cst.Assign, cst.AnnAssign))
                return kept and _OTHERS.search(self.tree.text(choice)) is not None
            if choice.orelse is not below:
                return False
            below = choice
        return False

    def _in_a_chain_of_others(self, node: cst.CSTNode) -> bool:
        """Tell whether it is what ``if torch.cuda.is_available():`` gives, beside ``elif`` for another accelerator."""
        given = self.tree.parents.get(node)
        line = self.tree.parents.get(given) if isinstance(given, (cst.Assign, cst.Return)) else None
        arm = self.tree.parents.get(line) if isinstance(line, cst.SimpleStatementLine) else None
        choice = self.tree.parents.get(arm) if isinstance(arm, cst.IndentedBlock) else None
        if not isinstance(choice, cst.If) or choice.body is not arm:
            return False
        if _ASKS_TORCH.search(self.tree.text(choice.test)) is None:
            return False
        top = choice
        while isinstance(around := self.tree.parents.get(top), cst.If) and around.orelse is top:
            top = around
        return _OTHERS.search(self.tree.text(top)) is not None

    def _name(self, node: cst.Name) -> Kinds:
        if node.value == "None":
            return frozenset({Kind.NONE})
        if node.value in ("True", "False"):
            return frozenset({Kind.OTHER})
        scope = self.scopes.of(node)
        bindings = scope.lookup(node.value)
        if not bindings:
            return UNKNOWN
        kinds: set[Kind] = set()
        for binding in self._reaching(node, scope, bindings):
            kinds |= self._binding(binding)
        return frozenset(kinds) or UNKNOWN

    def bindings(self, node: cst.Name) -> list[Binding]:
        """Return what may have given a variable the value that it has at a node."""
        scope = self.scopes.of(node)
        found = scope.lookup(node.value)
        return self._reaching(node, scope, found) if found else []

    def _reaching(self, node: cst.Name, scope: Scope, bindings: list[Binding]) -> list[Binding]:
        """Drop what an unconditional assignment earlier in the same block has replaced."""
        if bindings[0].scope is not scope:
            return bindings
        at = self.tree.span(node)[0]
        body = getattr(scope.node, "body", None)
        block = body if isinstance(body, cst.IndentedBlock) else scope.node
        start = 0
        for index, binding in enumerate(bindings):
            statement = binding.statement
            if binding.kind != "value" or statement is None:
                continue
            line = self.tree.parents.get(statement)
            if (
                line is not None
                and self.tree.parents.get(line) is block
                and self.tree.span(line)[1] <= at
            ):
                start = index
        return bindings[start:]

    def _binding(self, binding: Binding) -> Kinds:
        if binding.kind == "value" and binding.value is not None:
            return self.kinds(binding.value)
        if binding.kind == "parameter" and isinstance(binding.node, cst.Param):
            return self._parameter(binding.node)
        if binding.kind == "from" and binding.target is not None:
            module, _, name = binding.target.rpartition(".")
            if self.known.is_constant(name, module):
                return frozenset({Kind.DEVICE})
        if binding.kind == "other" and DEVICE_NAME.search(binding.name):
            # `device, dtype = device_and_dtype(x)`: what comes with a dtype was asked of tensors.
            made = binding.statement
            if isinstance(made, cst.Assign) and DEVICE_AND_DTYPE.match(self.tree.text(made)):
                return frozenset({Kind.DEVICE})
        return UNKNOWN

    def _parameter(self, param: cst.Param) -> Kinds:
        default = self.kinds(param.default) if param.default is not None else frozenset()
        if param.annotation is None:
            name = param.name.value
            if "device" in name and shown_device(self._around(param), name):
                return default | {Kind.DEVICE}
            return default | (frozenset({Kind.DEVICE}) if self._is_told_devices(param) else UNKNOWN)
        said = self.annotation(param.annotation.annotation)
        if said is not None and Kind.DEVICE in said and self._is_told(param, "word"):
            return default | UNKNOWN  # by somebody in the tree
        return default | (said if said is not None else UNKNOWN)

    def _is_told_devices(self, param: cst.Param) -> bool:
        """Tell whether everybody who calls a function gives this parameter a real device."""
        return self._is_told(param, "parameter")

    def _is_told(self, param: cst.Param, way: Way) -> bool:
        homes = (
            p for p in self.tree.ancestors(param) if isinstance(p, (cst.FunctionDef, cst.Lambda))
        )
        home = next(homes, None)
        if not isinstance(home, cst.FunctionDef):
            return False
        name = home.name.value
        called = self._owner(home) if name == "__init__" else name
        return self.known.told(Asked(way, called, param.name.value))

    def annotation(self, node: cst.BaseExpression) -> Kinds | None:
        """Return the kinds that an annotation promises: a real device, a tensor, None; None if it says neither."""
        text = self.tree.text(node).strip("\"'")
        if "str" in text or "int" in text or "Union" in text and "device" not in text:
            return None
        names = set(re.findall(r"[\w.]+", text)) - {"Optional", "typing.Optional", "Union", "None"}
        names -= {"typing.Union"}
        resolved = {self.resolver.text_name(node, name) for name in names}
        maybe = {Kind.NONE} if "None" in text or "Optional" in text else set()
        if resolved and resolved <= {"torch.device"}:
            return frozenset({Kind.DEVICE, *maybe})
        if resolved and resolved <= {
            "torch.Tensor",
            "torch.nn.Parameter",
            "torch.FloatTensor",
            "torch.LongTensor",
            "torch.BoolTensor",
        }:
            return frozenset({Kind.TENSOR, *maybe})
        return None

    def _attribute(self, node: cst.Attribute) -> Kinds:
        attr = node.attr.value
        base = node.value
        if attr in TENSOR_ATTRIBUTES and Kind.TENSOR in self.kinds(base):
            return frozenset({Kind.TENSOR})
        if isinstance(base, cst.Name) and base.value in ("self", "cls"):
            values = self.self_values(node, attr)
            if values:
                kinds: set[Kind] = set()
                for value in values:
                    kinds |= self.kinds(value)
                said = self._said_of_self(node, attr)
                if said is not None:
                    kinds = kinds - {Kind.UNKNOWN, Kind.NONE} | said
                elif self._is_a_field_of_words(node, attr) or (
                    not kinds & MAY_BE_CUDA and f"{self._owner(node)}.{attr}" in self.known.words
                ):
                    # Who makes an object, or a base class in another file, may set another.
                    kinds.add(Kind.UNKNOWN)
                return frozenset(kinds) or UNKNOWN
            if self._is_a_field_of_words(node, attr):
                return UNKNOWN
            if self.known.words and f"{self._owner(node)}.{attr}" in self.known.words:
                return UNKNOWN  # a word, by a base class in another file
            # A property, or set by a base class: nn modules and trainers give real devices.
            return frozenset({Kind.DEVICE}) if DEVICE_NAME.search(attr) else UNKNOWN
        if DEVICE_NAME.search(attr):
            if is_typed_device(node):
                return frozenset({Kind.TYPED})
            if isinstance(base, cst.Name) and (made := self._of_own_class(base, attr)) is not None:
                return made
            if self._may_keep_a_word(base, attr):
                return UNKNOWN
            real = attr == "_execution_device" or self._holds_tensors(base)
            return frozenset({Kind.DEVICE}) if real else UNKNOWN
        if attr == "type" and Kind.DEVICE in (of := self.kinds(base)) and of <= _OF_A_DEVICE:
            return frozenset({Kind.DEVICE})
        return UNKNOWN

    def _owner(self, node: cst.CSTNode) -> str:
        """Return the name of the class around a node."""
        owners = (p for p in self.tree.ancestors(node) if isinstance(p, cst.ClassDef))
        return next((owner.name.value for owner in owners), "")

    def _of_own_class(self, base: cst.Name, attr: str) -> Kinds | None:
        """Return the kinds of an attribute of what a class of this file makes: ``env = Env(…)``, ``env.device``."""
        bindings = self.scopes.of(base).lookup(base.value)
        if len(bindings) != 1 or not isinstance(call := bindings[0].value, cst.Call):
            return None
        if not isinstance(call.func, cst.Name):
            return None
        made = self.scopes.of(call).lookup(call.func.value)
        if len(made) != 1 or not isinstance(made[0].node, cst.ClassDef):
            return None
        values = self._assigned.get((made[0].node, attr), [])
        # However else it may get one: by a class's field, from outside, in a tuple.
        given = re.findall(rf"\.{attr}\b[^=\n]{{0,80}}?(?<![=!<>])=(?!=)", self.tree.source)
        field = rf"^(?:[ ]{{4}}|\t){attr}[ \t]*(?::|=(?!=))"
        given += re.findall(field, self.tree.text(made[0].node), re.MULTILINE)
        if len(given) != len(values) or "setattr(" in self.tree.source:
            return None
        kinds = frozenset(kind for value in values for kind in self.kinds(value))
        return kinds if kinds == {Kind.DEVICE} else None

    def _may_keep_a_word(self, base: cst.BaseExpression, attr: str) -> bool:
        """Tell whether an object may be of a class of the tree that keeps what a person typed."""
        if not self.known.words:
            return False
        name = self.tree.text(base) if isinstance(base, cst.Subscript) else dotted(base)
        if name is None:
            return False
        homes = [p for p in self.tree.ancestors(base) if isinstance(p, cst.FunctionDef)]
        plain = isinstance(base, cst.Name) and bool(homes)
        text = self.tree.text(homes[-1]) if plain else self.tree.source
        return self.known.may_keep_a_word(name, attr, text, self.tree.source)

    def _holds_tensors(self, node: cst.BaseExpression) -> bool:
        """Tell whether the ``device`` of an object is a real one: that of a tensor, a module or the like.

        An object of unknown origin (``exp.device``) may hold what a person typed.
        """
        name = dotted(node)
        if name is None:  # batch["x"], next(model.parameters()), layers[0]
            return not is_of_settings(self.tree.text(node))
        if Kind.TENSOR in self.kinds(node) or self.resolver.torch_name(node) is not None:
            return True
        # What an attribute holds, any function of the file may show; so for a name of several words.
        several = "." in name or "_" in name.strip("_")
        return holds_tensors(self.tree.source if several else self._around(node), name)

    def _around(self, node: cst.CSTNode) -> str:
        """Return the text of the function that a node stands in, or of the file."""
        home = next((p for p in self.tree.ancestors(node) if isinstance(p, cst.FunctionDef)), None)
        return self.tree.source if home is None else self.tree.text(home)

    def used_as_tensor(self, node: cst.BaseExpression) -> bool:
        """Tell whether an expression is a tensor, or asked in its function what only a tensor answers.

        So is what the ``forward`` of a module is given.
        """
        name = self.tree.text(node) if isinstance(node, cst.Subscript) else dotted(node)
        if self.is_tensor(node):
            return True
        if name is None or self._of_other_type(node):
            return False
        # What an attribute holds in one function it holds in the next.
        asked = self.tree.source if "." in name and "[" not in name else self._around(node)
        if asked is self.tree.source and computed_with(asked, name):
            return True
        return used_as_tensor(asked, name) or self._given_to_forward(node)

    def _of_other_type(self, node: cst.BaseExpression) -> bool:
        """Tell whether a parameter is annotated as something that is not a tensor."""
        if not isinstance(node, cst.Name):
            return False
        for binding in self.scopes.of(node).lookup(node.value):
            if isinstance(binding.node, cst.Param) and binding.node.annotation is not None:
                said = self.annotation(binding.node.annotation.annotation)
                if said is None or Kind.TENSOR not in said:
                    return True
        return False

    def _given_to_forward(self, node: cst.BaseExpression) -> bool:
        """Tell whether it is given to the ``forward`` of a module, or to either way of an ``autograd.Function``."""
        if not isinstance(node, cst.Name):
            return False
        bindings = self.scopes.of(node).lookup(node.value)
        for binding in bindings:
            home = binding.scope.node
            if not isinstance(home, cst.FunctionDef) or home.name.value not in _WAYS:
                return False
            owner = next(
                (p for p in self.tree.ancestors(home) if isinstance(p, cst.ClassDef)), None
            )
            if owner is None or not any(
                _WAYS[home.name.value].search(self.tree.text(b.value)) for b in owner.bases
            ):
                return False
        return bool(bindings) and all(binding.kind == "parameter" for binding in bindings)

    def self_values(self, node: cst.CSTNode, attr: str) -> list[cst.BaseExpression]:
        """Return the values that the enclosing class assigns to ``self.<attr>``."""
        owner = next((p for p in self.tree.ancestors(node) if isinstance(p, cst.ClassDef)), None)
        seen: set[cst.ClassDef] = set()
        # Or what a class of the file does that it inherits from.
        while owner is not None and owner not in seen:
            if values := self._assigned.get((owner, attr)):
                return values
            seen.add(owner)
            owner = self._base(owner)
        return []

    def only_self_values(self, node: cst.CSTNode, attr: str) -> list[cst.BaseExpression]:
        """Return the same where one class alone sets the attribute: no heir, nor who has an object of it in the file."""
        owner = next((p for p in self.tree.ancestors(node) if isinstance(p, cst.ClassDef)), None)
        if owner is None or re.search(rf"(?<!\bself)\.{attr}\b[ \t]*=(?!=)", self.tree.source):
            return []
        setters = [c for c, name in self._assigned if name == attr and isinstance(c, cst.ClassDef)]
        above = self._with_bases(owner)
        heirs = any(each is not owner and owner in self._with_bases(each) for each in setters)
        heirs = heirs or any(f"{c.name.value}.{attr}" in self.known.of_families for c in above)
        if heirs or sum(each in above for each in setters) > 1:
            return []
        return self.self_values(node, attr)

    def all_values(self, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        """Return all that a variable may have been given at a node, or an attribute of the object itself; nothing where more may come."""
        match node:
            case cst.Name():
                bound = self.bindings(node)
                values = [b.value for b in bound if b.kind == "value" and b.value is not None]
                return values if len(values) == len(bound) else []
            case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=attr)):
                return self.only_self_values(node, attr)
            case _:
                return []

    def _with_bases(self, owner: cst.ClassDef) -> list[cst.ClassDef]:
        """Return a class and those that it inherits from, as far as the file has them."""
        found: list[cst.ClassDef] = []
        above: cst.ClassDef | None = owner
        while above is not None and above not in found:
            found.append(above)
            above = self._base(above)
        return found

    def _base(self, owner: cst.ClassDef) -> cst.ClassDef | None:
        """Return the first class of the file among those that a class inherits from: the text has them, a slice need not."""
        for base in re.findall(r"\w+", self._bases.get(owner.name.value, "")):
            if (found := self._classes.get(base)) is not None and found is not owner:
                return found
        return None

    @cached_property
    def _bases(self) -> dict[str, str]:
        """The bases of each class, as the text has them in parentheses: of the first of that name."""
        return dict(reversed(_CLASS_HEAD.findall(self.tree.source)))

    @cached_property
    def _classes(self) -> dict[str, cst.ClassDef]:
        return {node.name.value: node for node in self.tree.of(cst.ClassDef)}

    @cached_property
    def _assigned(self) -> dict[tuple[cst.CSTNode, str], list[cst.BaseExpression]]:
        """The values that each class assigns to its attributes."""
        found: dict[tuple[cst.CSTNode, str], list[cst.BaseExpression]] = {}
        for assign in self.tree.of(cst.Assign, cst.AnnAssign):
            targets = (
                [t.target for t in assign.targets]
                if isinstance(assign, cst.Assign)
                else [assign.target]
            )
            for target, value in self._paired(targets, assign.value):
                name = dotted(target)
                if value is None or name is None:
                    continue
                home = next(
                    (p for p in self.tree.ancestors(assign) if isinstance(p, cst.ClassDef)),
                    None,
                )
                if home is None:
                    continue
                head, _, last = name.rpartition(".")
                if head in ("self", "cls") or (not head and self.scopes.of(assign).node is home):
                    found.setdefault((home, last), []).append(value)
        return found

    @staticmethod
    def _paired(
        targets: Sequence[cst.BaseExpression], value: cst.BaseExpression | None
    ) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression | None]]:
        """Yield each target with what it is given: ``self.device, self.dtype = device, dtype`` are two."""
        for target in targets:
            if isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple):
                if len(target.elements) == len(value.elements):
                    for one, other in zip(target.elements, value.elements, strict=True):
                        yield one.value, other.value
            else:
                yield target, value

    def _said_of_self(self, node: cst.CSTNode, attr: str) -> Kinds | None:
        """Return what the class, or one of the file that it inherits from, promises of it: ``self.device: torch.device``."""
        owner = next((p for p in self.tree.ancestors(node) if isinstance(p, cst.ClassDef)), None)
        said = {
            next((p for p in self.tree.ancestors(each) if isinstance(p, cst.ClassDef)), None): each
            for each in reversed(self.tree.of(cst.AnnAssign))
            if dotted(each.target) in (f"self.{attr}", attr)
        }
        seen: set[cst.ClassDef] = set()
        while owner is not None and owner not in seen:
            if owner in said:
                return self.annotation(said[owner].annotation.annotation)
            seen.add(owner)
            owner = self._base(owner)
        return None

    def _is_a_field_of_words(self, node: cst.CSTNode, attr: str) -> bool:
        """Tell whether who makes an object of the class gives the attribute, as a string: ``device: str``, in a dataclass."""
        if DEVICE_NAME.search(attr) is None:
            return False
        fields = {
            self.scopes.of(each).node
            for each in self.tree.of(cst.AnnAssign)
            if isinstance(each.target, cst.Name)
            and each.target.value == attr
            and _WORD_TYPE.search(self.tree.text(each.annotation.annotation)) is not None
        }
        owner = next((p for p in self.tree.ancestors(node) if isinstance(p, cst.ClassDef)), None)
        seen: set[cst.ClassDef] = set()
        while fields and owner is not None and owner not in seen:
            said = (self.tree.text(each) for each in (*owner.decorators, *owner.bases))
            if owner in fields and any(map(_HAS_FIELDS.search, said)):
                return True
            seen.add(owner)
            owner = self._base(owner)
        return False

    def _call(self, node: cst.Call) -> Kinds:
        name = self.resolver.torch_name(node.func)
        if name is not None:
            return self._torch_call(name, node)
        func = node.func
        if isinstance(func, cst.Attribute):
            method = func.attr.value
            if method == "parameters":
                return UNKNOWN
            if method in TENSOR_METHODS and Kind.TENSOR in self.kinds(func.value):
                return frozenset({Kind.TENSOR})
            if method in self.known.promised or self.known.told(Asked("gives", method)):
                return frozenset({Kind.DEVICE})
            if method == "get_device":
                return frozenset({Kind.INDEX})
            return UNKNOWN
        if isinstance(func, cst.Name):
            if func.value == "str" and node.args:
                inner = self.kinds(node.args[0].value)
                return UNKNOWN if Kind.UNKNOWN in inner else inner
            if func.value == "int":
                return frozenset({Kind.INDEX})
            if func.value == "next" and node.args:
                inner_call = node.args[0].value
                if isinstance(inner_call, cst.Call) and isinstance(inner_call.func, cst.Attribute):
                    if inner_call.func.attr.value in ("parameters", "buffers"):
                        return frozenset({Kind.TENSOR})
                if isinstance(inner_call, cst.GeneratorExp):
                    return self.kinds(inner_call.elt)
                return UNKNOWN
            if _ASKED_DEVICE.match(func.value) and len(node.args) == 1:
                of = dotted(node.args[0].value) or ""
                if TENSOR_WORD.search(of.rpartition(".")[2]):
                    return frozenset({Kind.DEVICE})
            return self._local_call(func)
        return UNKNOWN

    def _torch_call(self, name: str, node: cst.Call) -> Kinds:
        if name in ("torch.device", "torch.get_default_device"):
            # A call that may be CUDA becomes tdev's; both give a device that is usable.
            return frozenset({Kind.DEVICE})
        if name == "torch.cuda.current_device":
            return frozenset({Kind.INDEX})
        if name.startswith("torch.distributed.") and name.endswith("_device"):
            return frozenset({Kind.DEVICE})
        if name == "torch.accelerator.current_accelerator":
            return frozenset({Kind.DEVICE, Kind.NONE})
        if name.count(".") == 1 and name[6:7].islower() and not NOT_TENSORS.match(name):
            return frozenset({Kind.TENSOR})
        return UNKNOWN

    @cached_property
    def _returns(self) -> dict[cst.CSTNode, list[cst.Return]]:
        """The return statements of each function."""
        found: dict[cst.CSTNode, list[cst.Return]] = {}
        for node in self.tree.of(cst.Return):
            around = (p for p in self.tree.ancestors(node) if isinstance(p, cst.FunctionDef))
            # A cell or a template may hold a `return` that no function is around.
            if home := next(around, None):
                found.setdefault(home, []).append(node)
        return found

    def _local_call(self, func: cst.Name) -> Kinds:
        """Return the union of what a function of this file returns."""
        called = renamed(self.tree.source).get(func.value, func.value)
        if called in self.known.promised or self.known.told(Asked("gives", called)):
            return frozenset({Kind.DEVICE})
        bindings = self.scopes.of(func).lookup(func.value)
        if len(bindings) != 1 or not isinstance(bindings[0].node, cst.FunctionDef):
            return UNKNOWN
        definition = bindings[0].node
        if definition in self._busy or definition.asynchronous is not None:
            return UNKNOWN
        self._busy.add(definition)
        try:
            kinds: set[Kind] = set()
            for node in self._returns.get(definition, ()):
                kinds |= self.kinds(node.value) if node.value is not None else {Kind.NONE}
            return frozenset(kinds) or UNKNOWN
        finally:
            self._busy.discard(definition)
