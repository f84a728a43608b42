"""Tells whether an expression is a tensor, or the device of one, from what its function and its class say.

A layer's parameter, the result of a torch function or of a tensor's method, an item of a list of tensors,
an annotated name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from tdev_core.codemod.engine.api import ProgramTree
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.vocabulary import (
    DEVICE_AND_DTYPE,
    DEVICE_NAME,
    SETTINGS,
    TENSOR_WORD,
    asked_as_device,
    computed_with,
    holds_tensors,
    is_of_settings,
    used_as_tensor,
)

TENSOR_METHODS = frozenset(
    "to cuda cpu float half double bfloat16 long int bool clone detach contiguous view reshape "
    "permute transpose unsqueeze squeeze expand repeat flatten sum mean max_values abs exp log "
    "sqrt pow add mul div sub matmul softmax sigmoid tanh relu requires_grad_ type pin_memory "
    "new_zeros new_ones new_full new_empty new_tensor t flip gather index_select masked_fill "
    "zero_ fill_ normal_ uniform_ copy_ add_ mul_ div_ sub_ clamp argmax argsort".split()
)
# Lower-case functions of torch's own namespace that do not return a tensor.
NOT_TENSORS = re.compile(
    r"torch\.(is_\w+|get_\w+|set_\w+|use_\w+|compile|load|save|device|no_grad|enable_grad|"
    r"manual_seed|seed|initial_seed|inference_mode|autocast|typename|finfo|iinfo|dtype|split|"
    r"chunk|unbind|broadcast_tensors|meshgrid|where|topk|sort|max|min|svd|qr|eig|lu|unique|"
    r"numel|equal|allclose|result_type|can_cast|promote_types|vmap|cond|from_file|tensor_split|"
    r"[a-z0-9_]*_(available|enabled|size|shapes)|float\d*|int\d*|uint\d*|bfloat16|half|double|"
    r"long|short|bool|complex\d*|strided|layout|memory_format|Size|import_ir_module|fork|wait)$"
)
_DEEP = 10
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_MODULES = re.compile(r"torch\.(?:nn\.functional|linalg|fft|special)\.[a-z]\w*\Z")
_CLASSES = re.compile(
    r"torch\.(?:\w+Tensor|Tensor|nn\.Parameter|nn\.parameter\.Parameter|nn\.Buffer)\Z"
)
# Functions that give several tensors, or none.
_OTHERWISE = re.compile(
    r"\.(?:eigh?|lu\w*|qr|svd|slogdet|inv_ex|cholesky_ex|solve_ex|ldl_factor\w*|lstsq|split\w*|chunk|"
    r"unbind|topk|sort|max|min|mode|kthvalue|median|nanmedian|cummax|cummin|aminmax|unique\w*|hsplit|"
    r"vsplit|dsplit|tensor_split|meshgrid|broadcast_tensors|multi_head_attention_forward|where|"
    r"boolean_dispatch|handle_torch_function|has_torch_function|assert_int_or_pair)\Z"
)
_SEVERAL = frozenset(
    "chunk split tensor_split hsplit vsplit dsplit unbind topk sort max min mode kthvalue median cummax "
    "cummin meshgrid broadcast_tensors".split()
)
# What only tensors have, whatever they are asked of.
_TENSORS_OWN = frozenset(
    "unsqueeze unsqueeze_ contiguous detach permute masked_fill masked_fill_ view_as expand_as index_select "
    "new_zeros new_ones new_full new_empty new_tensor requires_grad_ masked_select scatter_add "
    "scatter_add_ index_add index_add_ bmm matmul log_softmax logsumexp".split()
)
_MORE_METHODS = TENSOR_METHODS | frozenset(
    "mm bmm mv dot addmm prod cumsum cumprod any all eq ne lt le gt ge neg pow square round floor ceil "
    "norm std var masked_select masked_fill scatter scatter_add index_add index_fill repeat_interleave "
    "roll diagonal diag tril triu movedim swapaxes unfold narrow select expand_as view_as logical_not "
    "logical_and logical_or sin cos rsqrt reciprocal sign nonzero to_dense to_sparse byte short char "
    "int half double float16 unflatten broadcast_to ravel amax amin log_softmax logsumexp".split()
)
_ATTRIBUTES = frozenset("data grad T mT H mH real imag".split())
# Of an unknown object: a layer's, an optimizer's parameter's.
_LAYERS_OWN = frozenset("weight bias grad data".split())
_EACH_MODULES = frozenset({"parameters", "buffers"})
_EACH_NAMED = frozenset({"named_parameters", "named_buffers"})
_LISTS = re.compile(r"(?:\w+\.)*(?:[Ll]ist|[Tt]uple|Sequence|Iterable|Iterator|MutableSequence)\Z")
_DICTS = re.compile(r"(?:\w+\.)*(?:[Dd]ict|Mapping|MutableMapping)\Z")
_WRAPS = re.compile(
    r"(?:\w+\.)*(?:Optional|Annotated|Float\d*|B?[Ff]loat|Int\d*|UInt\d*|Bool|Shaped)\Z"
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

    Or a function, ``function()``, gives nothing else, or what is called so keeps nothing else, ``*estimator.device``.
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
_DECLARED = tuple(re.compile(rf"{word}(?<!\w{word})\b([^\n]*)") for word in ("global", "nonlocal"))
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


class Tensors:
    """Answers for expressions of one tree; ``source`` is the text of its whole file, ``above`` what it imports."""

    def __init__(
        self,
        tree: PythonTree,
        source: str,
        known: Known | None = None,
        above: Sequence[ast.stmt] = (),
    ) -> None:
        self._tree = tree
        self._source = source
        self._known = known or Known()
        self._bound_parts: dict[ast.AST, dict[str, list[ast.AST]]] = {}
        self._imported: dict[str, str] = {}
        for node in (*above, *tree.imports):
            if not isinstance(node, (ast.Import, ast.ImportFrom)):
                continue
            if isinstance(node, ast.Import):
                for alias in node.names:
                    bound = alias.asname or alias.name.split(".")[0]
                    self._imported[bound] = alias.name if alias.asname else bound
            elif not node.level:
                for alias in node.names:
                    self._imported[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def _name(self, node: ast.expr) -> str:
        """Return the full name of an attribute chain that starts at an import, else what stands there."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        return ".".join([self._imported.get(node.id, node.id), *reversed(parts)])

    def is_variable(self, node: ast.Name) -> bool:
        """Tell whether a name is one of a function's own: a parameter, or what it assigns."""
        home = self._home(node)
        while home is not None:
            plain = (
                part
                for part in self._bound_in(home).get(node.id, ())
                if not isinstance(part, (ast.Import, ast.ImportFrom, *FUNCTIONS))
            )
            if node.id in _parameters(home) or next(plain, None) is not None:
                return True
            home = self._home(home)
        return False

    # -- expressions ----------------------------------------------------------------------

    def is_tensor(self, node: ast.expr) -> bool:
        """Tell whether an expression is certainly a tensor."""
        return self.one(node, _DEEP)

    def one(self, node: ast.expr | None, deep: int) -> bool:
        """Tell whether an expression is a tensor."""
        if node is None or deep < 0:
            return False
        match node:
            case ast.Name():
                return self._called_tensor(node) or self._bound(node, deep)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=attr):
                return self._of_class(node, attr, deep)
            case ast.Attribute(attr=attr, value=value):
                if attr in _LAYERS_OWN or attr in _ATTRIBUTES and self.one(value, deep - 1):
                    return True
                return attr in ("values", "indices") and self._several(value, deep - 1)
            case ast.Call():
                return self._call(node, deep - 1)
            case ast.Subscript(value=value):
                return self.one(value, deep - 1) or self.each(value, deep - 1)
            case ast.BinOp(left=ast.Constant(value=str())):
                return False
            case ast.BinOp(left=left, right=right):
                return self.one(left, deep - 1) or self.one(right, deep - 1)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                asks = isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn))
                return not asks and (self.one(left, deep - 1) or self.one(right, deep - 1))
            case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=value):
                return self.one(value, deep - 1)
            case ast.IfExp(body=left, orelse=right):
                return self.one(left, deep - 1) and self.one(right, deep - 1)
            case ast.NamedExpr(value=value):
                return self.one(value, deep - 1)
            case _:
                return False

    def _call(self, node: ast.Call, deep: int) -> bool:
        name = self._name(node.func)
        if name.startswith("torch."):
            if _CLASSES.match(name):
                return True
            short = name.rpartition(".")[2]
            if short in ("max", "min", "median") and name.count(".") == 1:
                return len(node.args) == 1 and not node.keywords
            if name == "torch.where":
                return len(node.args) == 3
            if _OTHERWISE.search(name):
                return False
            plain = name.count(".") == 1 and short[:1].islower() and not NOT_TENSORS.match(name)
            return plain or _MODULES.match(name) is not None
        if name == "next" and node.args:
            return self.each(node.args[0], deep)
        if isinstance(node.func, ast.Name):
            return self._promised(node.func, items=False)
        if not isinstance(node.func, ast.Attribute):
            return False
        method = node.func.attr
        if method in _TENSORS_OWN or method == "view" and _sizes(node.args):
            return True
        if method.startswith("forward"):
            return True  # of what is asked for its device: a tuple or a dictionary has none
        mine = method in _MORE_METHODS or method.endswith("_") and not method.startswith("_")
        if method in ("max", "min", "median") and not node.args and not node.keywords:
            mine = True
        return mine and self.one(node.func.value, deep)

    def _several(self, node: ast.expr, deep: int) -> bool:
        """Tell whether a call gives several tensors: ``torch.chunk(x, 2)``, ``x.topk(3)``."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        if node.func.attr not in _SEVERAL:
            return False
        name = self._name(node.func)
        return name.startswith("torch.") or self.one(node.func.value, deep)

    def each(self, node: ast.expr, deep: int) -> bool:
        """Tell whether the items of an expression are tensors."""
        if deep < 0:
            return False
        match node:
            case ast.Call(func=ast.Attribute(attr=attr)) if attr in _EACH_MODULES:
                return True
            case ast.Subscript(slice=ast.Constant(value="params")):
                return True  # an optimizer's: `for p in group["params"]`
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return bool(items) and all(self.one(item, deep - 1) for item in items)
            case ast.ListComp(elt=item) | ast.GeneratorExp(elt=item):
                return self.one(item, deep - 1)
            case ast.Name():
                # A tensor is a row of tensors, a list of them has none of their methods.
                return self._bound(node, deep, items=True) or self._asked_as_tensor(node)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=attr):
                return self._of_class(node, attr, deep, items=True)
            case ast.Call(func=ast.Name(id="list" | "tuple" | "reversed" | "sorted"), args=[inner]):
                return self.each(inner, deep - 1)
            case ast.Call(func=ast.Name() as function):
                return self._promised(function, items=True)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=attr)):
                return self._promised_by_class(node, attr) or self._several(node, deep - 1)
            case _:
                return self._several(node, deep - 1) or self.one(node, deep - 1)

    def _promised(self, function: ast.Name, *, items: bool) -> bool:
        """Tell whether a function of the file, bound once at its margin, is annotated as giving a tensor, or several."""
        found = [
            part
            for part in self._tree.module.body
            if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef))
            and part.name == function.id
        ]
        if len(found) != 1 or found[0].decorator_list or isinstance(found[0], ast.AsyncFunctionDef):
            return False
        if self._bindings(function, function.id) != [found[0]]:
            return False
        return self._annotated(found[0].returns, items)

    def _promised_by_class(self, node: ast.AST, method: str) -> bool:
        """Tell whether a method of the class around a call is annotated as giving several tensors."""
        owner = next((p for p in self._tree.ancestors(node) if isinstance(p, ast.ClassDef)), None)
        found = [
            part
            for part in (owner.body if owner is not None else ())
            if isinstance(part, ast.FunctionDef) and part.name == method
        ]
        return len(found) == 1 and self._annotated(found[0].returns, True)

    def _bindings(self, node: ast.AST, name: str) -> list[ast.AST]:
        """Return what may bind a name in the function around ``node``, or in the one around that, and so on."""
        home = self._home(node) or self._tree.module
        here: list[ast.AST] = []
        if not isinstance(home, ast.Module) and name in _parameters(home):
            here.append(home)
        here += [part for part in _within(home) if self._binding(part, name, 0, False)]
        return here if here or isinstance(home, ast.Module) else self._bindings(home, name)

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
            case ast.JoinedStr(values=[ast.FormattedValue(value=value), *_]):
                # `f"{x.device.type}:{rank}"`, which is the same device by its name.
                return self.is_own_device(value, deep) and "cuda" not in ast.unparse(node)
            case ast.Call(func=ast.Name(id="str"), args=[value]):
                return self.is_own_device(value, deep)
            case ast.Call(func=ast.Attribute(attr="get_device", value=value), args=[]):
                # The number of a tensor's accelerator, which torch takes for that one anywhere.
                return ast.unparse(value) not in self._imported and not _is_self(value)
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
        name = ast.unparse(node)
        if not isinstance(node.value, ast.Name) or _is_self(node.value):
            return None
        for statement in self._before(node):
            if isinstance(statement, ast.Assign) and name in map(ast.unparse, statement.targets):
                return statement.value
            if any(
                isinstance(part, ast.Attribute)
                and isinstance(part.ctx, ast.Store)
                and ast.unparse(part) == name
                for part in ast.walk(statement)
            ):
                return None
        return None

    def _before(self, node: ast.AST) -> Iterator[ast.stmt]:
        """Yield the statements of its function that are certainly carried out before something, the last one first."""
        below: ast.AST = node
        for parent in self._tree.ancestors(node):
            if isinstance(below, FUNCTIONS) and below is not node:
                return
            if isinstance(below, ast.stmt):
                block = self._tree.block(below)
                yield from reversed(block[: block.index(below)] if below in block else [])
            below = parent

    def _is_real_if_asked(self, call: ast.Call, owner: ast.expr, attr: str, deep: int) -> bool:
        """Answer for ``getattr(self, "_device", None)`` as for ``self._device``."""
        if isinstance(owner, ast.Name) and owner.id in ("self", "cls"):
            return self._is_real_of_self(call, attr, deep)
        return DEVICE_NAME.search(attr) is not None and self._has_real_device(owner, attr)

    def has_device(self, node: ast.expr) -> bool:
        """Tell whether something has a device, which is a real one: a tensor, a module or the like."""
        return self.one(node, _DEEP) or self._has_real_device(node, "device")

    def _has_real_device(self, owner: ast.expr, attr: str) -> bool:
        """Tell whether the ``device`` of an object is a real one: that of a tensor, a module or the like."""
        text = ast.unparse(owner)
        if isinstance(owner, (ast.Subscript, ast.Call)):
            inner = owner.value if isinstance(owner, ast.Subscript) else owner.func
            return not is_of_settings(text) and (self.one(owner, _DEEP) or _of_tensors(inner))
        if isinstance(owner, ast.Name) and self.one(owner, _DEEP):
            return True
        if any(_SETTINGS.fullmatch(part) for part in text.split(".")):
            return False
        last = text.rpartition(".")[2]
        if TENSOR_WORD.search(last) or self.one(owner, _DEEP):
            return True
        if isinstance(owner, ast.Name):
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

    def _is_given_one(self, node: ast.Name) -> bool:
        """Tell whether a parameter is given something with a real device by everybody who calls its function."""
        home = self._home(node)
        if home is None or isinstance(home, ast.Lambda) or node.id not in _parameters(home):
            return False
        owner = next((p for p in self._tree.ancestors(home) if isinstance(p, ast.ClassDef)), None)
        name = owner.name if home.name == "__init__" and owner is not None else home.name
        return self._bindings(node, node.id) == [home] and self._known.told(f"%{name}.{node.id}")

    def _class_of(self, node: ast.Name) -> str:
        """Return the class that a parameter is annotated with, ``sae: "SAE[Any]"``, or that a variable is made of."""
        bindings = self._bindings(node, node.id)
        home = bindings[0] if len(bindings) == 1 else None
        match home:
            case (
                ast.withitem(context_expr=ast.Call(func=called))
                | ast.Assign(targets=[ast.Name()], value=ast.Call(func=called))
            ):
                last = _last_name(called)
                return last if last[:1].isupper() else ""
            case _:
                pass
        if not isinstance(home, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return ""
        given = _parameters(home).get(node.id)
        said = given.annotation if given is not None else None
        text = ast.unparse(said).strip("'\"") if said is not None else ""
        found = _NAMED_CLASS.fullmatch(text)
        return found[1] if found is not None else ""

    def _around(self, node: ast.AST) -> str:
        home = self._home(node)
        return self._source if home is None else self._tree.source(home)

    def _is_real_name(self, node: ast.Name, name: str, deep: int) -> bool:
        """Answer for a variable by all that may give it its value."""
        if self._was_asked_for_its_type(node) or self._was_a_word(node, name, deep):
            return True
        for parent in self._tree.ancestors(node):
            if isinstance(parent, _COMPREHENSIONS):
                if any(name in _names_of(loop.target) for loop in parent.generators):
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
        bindings = self._bound_in(home).get(name, [])
        if (since := self._last_plain(node, name)) is not None:
            bindings = [part for part in bindings if part is since or not _before(part, since)]
        elif isinstance(home, FUNCTIONS) and name in _parameters(home):
            if not self._is_real_parameter(home, name):
                return False
        return all(self._gives_real(part, name, deep) for part in bindings)

    def _bound_in(self, home: ast.AST) -> dict[str, list[ast.AST]]:
        """Return what binds each name of a function, a class or a module, but its parameters."""
        found = self._bound_parts.get(home)
        if found is None:
            found = self._bound_parts[home] = {}
            for part in _within(home):
                for name in set(_bound_by(part)):
                    found.setdefault(name, []).append(part)
        return found

    def _binds(self, home: ast.AST, name: str) -> bool:
        given = _parameters(home) if isinstance(home, FUNCTIONS) else {}
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
        return all(
            each is not None and self.is_own_device(each, deep) for each in self._given(part, name)
        )

    def _was_a_word(self, node: ast.Name, name: str, deep: int) -> bool:
        """Tell whether a device was made of what a variable held, where that was a string: ``if isinstance(device, str):``."""
        for statement in self._before(node):
            match statement:
                case ast.If(test=ast.Call(func=ast.Name(id="isinstance"), args=[asked, kind])):
                    if ast.unparse(asked) == name and ast.unparse(kind) == "str":
                        given = [
                            each
                            for part in statement.body
                            if _always_gives(part, name)
                            for each in self._given(part, name)
                        ]
                        return bool(given) and all(
                            each is not None and self.is_own_device(each, deep) for each in given
                        )
                case _:
                    pass
            if _always_gives(statement, name):
                return False
        return False

    def _was_asked_for_its_type(self, node: ast.Name) -> bool:
        """Tell whether a statement that certainly runs before has asked a variable for ``.type``: no string has it."""
        below: ast.AST = node
        for parent in self._tree.ancestors(node):
            if isinstance(below, ast.stmt):
                block = self._tree.block(below)
                for before in reversed(block[: block.index(below)] if below in block else []):
                    if _asks_for_type(before, node.id):
                        return True
                    if any(
                        isinstance(part, ast.Name)
                        and part.id == node.id
                        and not isinstance(part.ctx, ast.Load)
                        for part in ast.walk(before)
                    ):
                        return False
            if isinstance(parent, FUNCTIONS):
                return False
            below = parent
        return False

    def _is_real_parameter(
        self, home: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str
    ) -> bool:
        if isinstance(home, ast.Lambda):
            return False
        said = _parameters(home)[name].annotation
        if said is not None and self.promises_a_device(said):
            return True
        if home.name.startswith("test") or fixtures_call(home) is not None:
            # Which pytest calls, with what is listed above it or what the fixture of that name gives.
            listed = list(_listed_above(home, name))
            if (
                any(self.are_devices(each) for each in listed)
                or not listed
                and self._known.told(f"@{name}")
            ):
                return True
        owner = next((p for p in self._tree.ancestors(home) if isinstance(p, ast.ClassDef)), None)
        if home.name == "forward" and owner is not None and said is None:
            # A layer is handed tensors, and the device of one; a word says so by its default.
            return _default_of(home, name) in _PLAIN
        made = home.name == "__init__" and owner is not None
        return self._known.told(f"{owner.name if made and owner is not None else home.name}.{name}")

    def are_devices(self, node: ast.expr | None, deep: int = 4) -> bool:
        """Tell whether the items of an expression are real devices, all of them."""
        if node is None or deep < 0:
            return False
        match node:
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                return bool(items) and all(self.is_own_device(each) for each in items)
            case ast.ListComp(elt=item) | ast.GeneratorExp(elt=item):
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
        yielded = [each.value for each in _within(fixture) if isinstance(each, ast.Yield)]
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
        returned = [each.value for each in _within(function) if isinstance(each, ast.Return)]
        return any(self.returned(function)) and all(
            value is None or self.is_own_device(value) for value in returned
        )

    def returned(self, function: ast.AST) -> list[ast.expr]:
        """Return what a function may return, constants and nothing aside."""
        found = (each.value for each in _within(function) if isinstance(each, ast.Return))
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
            if values and asked_as_device(self._tree.source(inherits), f"self.{attr}"):
                return True
            if values:
                return True in values or all(
                    isinstance(each, ast.expr) and self.is_own_device(each, deep) for each in values
                )
            inherits = self._base_here(inherits) or inherits
        if f"{owner.name}.{attr}" in self._known.words or _OF_SETTINGS.search(owner.name):
            return False
        return all(self._known.inherits(_last_name(base), attr) for base in owner.bases)

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
                        if _is_own(target, attr):
                            yield value
                        elif isinstance(target, (ast.Tuple, ast.List)):
                            yield from _at_the_place_of(target, value, attr)
                case ast.AnnAssign(target=target, annotation=said, value=value):
                    if _is_own(target, attr):
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
            yield _one_of(value, target, name)
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
            returned = [r for home in homes for r in _within(home) if isinstance(r, ast.Return)]
            for each in returned:
                yield (
                    _one_of(each.value, target, name) if isinstance(each.value, ast.Tuple) else None
                )
            if not returned:
                yield None
        else:
            yield None

    # -- what gives a name its meaning ----------------------------------------------------

    def _called_tensor(self, node: ast.Name) -> bool:
        """Tell whether its function asks whether this is a tensor, ``isinstance(x, torch.Tensor)``, or computes with it."""
        home = self._home(node)
        text = self._tree.source(home) if home is not None else self._source
        name = re.escape(node.id)
        asked = (
            rf"(?:isinstance\(\s*{name}\s*,\s*(?:\w+\.)*Tensor\s*\)|\bis_tensor\(\s*{name}\s*\))"
        )
        # A module's own `forward` is given tensors, too.
        if re.search(rf"(?<!not ){asked}|\bself\.forward\(\s*{name}\s*[,)]", text) is not None:
            return True
        return home is not None and computed_with(text, node.id)

    def _asked_as_tensor(self, node: ast.Name) -> bool:
        """Tell whether a function asks of a name what only a tensor answers: its own, or of ``item_seq`` any of the file."""
        home = self._home(node) if "_" not in node.id else None
        return used_as_tensor(self._source if home is None else self._tree.source(home), node.id)

    def _also_called(self, node: ast.Name) -> Iterator[str]:
        """Yield the names that a function gives to what it calls by this one: ``t, w = points, weights.clone()``."""
        for part in _within(self._home(node) or self._tree.module):
            if isinstance(part, ast.Assign) and node.id in _read_by(part.value):
                for name in _names_of(part.targets[0]):
                    given = list(self._given(part, name))
                    if all(isinstance(each, ast.Name) and each.id == node.id for each in given):
                        yield name

    def _home(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None:
        for parent in self._tree.ancestors(node):
            if isinstance(parent, FUNCTIONS):
                return parent
        return None

    def _bound(self, node: ast.Name, deep: int, items: bool = False) -> bool:
        """Tell whether all that may have given a name its value gave it a tensor (or a list of them)."""
        for parent in self._tree.ancestors(node):
            if isinstance(parent, _COMPREHENSIONS):
                for loop in parent.generators:
                    found = self._target(loop.target, node.id, loop.iter, deep, looped=True)
                    if found is not None:
                        return found and not items
            if isinstance(parent, FUNCTIONS):
                break
        return self._bound_around(node, node.id, deep, items)

    def _bound_around(self, node: ast.AST, name: str, deep: int, items: bool) -> bool:
        """Answer for a name that is read at ``node``, or by the function that starts there."""
        home = self._home(node) or self._tree.module
        since = self._last_plain(node, name)
        loops = [p for p in self._tree.ancestors(node) if isinstance(p, (ast.For, ast.While))]
        own = next((p for p in self._tree.ancestors(node) if isinstance(p, ast.stmt)), None)
        answers: list[bool] = []
        for part in _within(home):
            if since is not None and part is not since and _before(part, since):
                continue
            if part is own and not loops:
                continue  # `x = x.sum()`: the name on the right is the one before
            # What stands later runs before, in the round before of a loop around both.
            # A function may be called after all that is around it.
            runs_now = not isinstance(node, FUNCTIONS)
            if runs_now and _before(node, part) and not any(_holds(loop, part) for loop in loops):
                continue
            answers += self._binding(part, name, deep, items)
        if since is None and not isinstance(home, ast.Module):
            given = _parameters(home).get(name)
            if given is not None:
                several = items and given is home.args.vararg  # `*tensors: Tensor`
                alone = given in _plain(home) and self._annotated(given.annotation, items)
                answers.append(self._annotated(given.annotation, False) if several else alone)
            elif not answers and not self._bound_from_within(name):
                return self._bound_around(home, name, deep, items)
        return bool(answers) and all(answers)

    def _bound_from_within(self, name: str) -> bool:
        """Tell whether a function may give a new value to a name of what is around it."""
        return name in _declared(self._source)

    def _binding(self, part: ast.AST, name: str, deep: int, items: bool) -> list[bool]:
        """Answer for each way in which a statement or expression binds a name."""
        match part:
            case ast.Assign(targets=targets, value=value):
                found = [self._target(t, name, value, deep, items=items) for t in targets]
            case ast.AnnAssign(target=ast.Name(id=bound), annotation=said) if bound == name:
                found = [self._annotated(said, items)]
            case ast.AugAssign(target=ast.Name(id=bound)) if bound == name:
                found = []
            case ast.NamedExpr(target=ast.Name(id=bound), value=value) if bound == name:
                found = [self.one(value, deep - 1) and not items]
            case ast.For(target=target, iter=loop) | ast.AsyncFor(target=target, iter=loop):
                found = [self._target(target, name, loop, deep, looped=True)]
                found = [answer and not items for answer in found if answer is not None]
            case ast.withitem(optional_vars=ast.expr() as target):
                found = [False if name in _names_of(target) else None]
            case ast.Import() | ast.ImportFrom():
                bound_here = [(a.asname or a.name.split(".")[0]) for a in part.names]
                found = [False] if name in bound_here else []
            case ast.FunctionDef() | ast.ClassDef() | ast.ExceptHandler():
                found = [False] if part.name == name else []
            case _:
                found = []
        return [answer for answer in found if answer is not None]

    def _target(
        self,
        target: ast.expr,
        name: str,
        value: ast.expr,
        deep: int,
        *,
        looped: bool = False,
        items: bool = False,
    ) -> bool | None:
        """Tell whether a target gives ``name`` a tensor; None where it does not bind it."""
        if isinstance(target, ast.Name):
            if target.id != name:
                return None
            if looped or items:
                return self.each(value, deep - 1)
            return self.one(value, deep - 1)
        if name not in _names_of(target):
            return None
        if not isinstance(target, (ast.Tuple, ast.List)) or items:
            return False
        at = next(i for i, part in enumerate(target.elts) if name in _names_of(part))
        if looped:
            return self._unpacked(target.elts[at], at, name, value, deep)
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
            return self._target(target.elts[at], name, value.elts[at], deep)
        return isinstance(target.elts[at], ast.Name) and self.each(value, deep - 1)

    def _unpacked(self, part: ast.expr, at: int, name: str, loop: ast.expr, deep: int) -> bool:
        """Answer for ``for name, p in model.named_parameters()``, ``enumerate`` and ``zip``."""
        if not isinstance(loop, ast.Call):
            return False
        match loop.func, loop.args:
            case ast.Attribute(attr=attr), _ if attr in _EACH_NAMED:
                return at == 1
            case ast.Name(id="enumerate"), [inner, *_] if at == 1:
                return bool(self._target(part, name, inner, deep, looped=True))
            case ast.Name(id="zip"), args if at < len(args):
                return bool(self._target(part, name, args[at], deep, looped=True))
            case _:
                return False

    def _last_plain(self, node: ast.AST, name: str) -> ast.stmt | None:
        """Return the last statement that certainly gives a name its value before ``node``, whichever arm is taken."""
        return next((each for each in self._before(node) if _always_gives(each, name)), None)

    def _of_class(self, node: ast.AST, attr: str, deep: int, items: bool = False) -> bool:
        """Tell whether all that the class assigns to ``self.attr`` is a tensor, ``None`` aside."""
        owner = next((p for p in self._tree.ancestors(node) if isinstance(p, ast.ClassDef)), None)
        if owner is None:
            return False
        answers: list[bool] = []
        for part in ast.walk(owner):
            match part:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        if _is_own(target, attr):
                            if isinstance(value, ast.Constant) and value.value is None:
                                continue
                            known = self.each if items else self.one
                            answers.append(known(value, deep - 2))
                        elif isinstance(target, (ast.Tuple, ast.List)):
                            if any(_is_own(e, attr) for e in target.elts):
                                answers.append(False)
                case ast.AnnAssign(target=target, annotation=said):
                    if _is_own(target, attr) or isinstance(target, ast.Name) and target.id == attr:
                        answers.append(self._annotated(said, items))
                case ast.Call(func=ast.Attribute(attr="register_buffer" | "register_parameter")):
                    named = [k.value for k in part.keywords if k.arg == "name"]
                    match [*part.args, *named]:
                        case [ast.Constant(value=name), *_] if name == attr:
                            answers.append(not items)
                        case _:
                            pass
                case _:
                    pass
        return bool(answers) and all(answers)

    def _annotated(self, said: ast.expr | None, items: bool) -> bool:
        """Tell whether an annotation promises a tensor, or a list of them; ``None`` aside."""
        match said:
            case ast.Constant(value=str() as text):
                try:
                    return self._annotated(ast.parse(text, mode="eval").body, items)
                except SyntaxError:
                    return False
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                sides = [s for s in (left, right) if ast.unparse(s) != "None"]
                return bool(sides) and all(self._annotated(side, items) for side in sides)
            case ast.Subscript(value=outer, slice=inner):
                name = ast.unparse(outer)
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                if _WRAPS.match(name):
                    return self._annotated(parts[0], items)
                if name.rpartition(".")[2] == "Union":
                    rest = [p for p in parts if ast.unparse(p) != "None"]
                    return bool(rest) and all(self._annotated(p, items) for p in rest)
                if items and (_LISTS.match(name) or _DICTS.match(name)):
                    some = parts[1:] if _DICTS.match(name) else parts
                    some = [p for p in some if ast.unparse(p) not in ("...", "Ellipsis")]
                    return bool(some) and all(self._annotated(p, False) for p in some)
                return False
            case ast.Name() | ast.Attribute() if not items:
                return _CLASSES.match(self._name(said)) is not None
            case _:
                return False


# What a docstring says of what is given: `:rtype: torch.device`, or the first line below `Returns:`.
_PROMISED = re.compile(
    r":rtype:\s*(?::\w+:)?[`~]*torch\.device\b(?![^\n]*\bstr)"
    r"|\bReturns?:?[ \t]*\n(?:[ \t]*-+[ \t]*\n)?[ \t]*(?:\w+[ \t]*:[ \t]*)?[`~(:\w]*\btorch\.device\b(?![^\n]*\bstr)"
)


def _default_of(home: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> object:
    """Return the default of a parameter, None where it has none; ``...`` for one that is computed."""
    plain = [*home.args.posonlyargs, *home.args.args]
    defaults = dict(
        zip(reversed([arg.arg for arg in plain]), reversed(home.args.defaults), strict=False)
    )
    defaults |= {
        arg.arg: value
        for arg, value in zip(home.args.kwonlyargs, home.args.kw_defaults, strict=True)
        if value is not None
    }
    found = defaults.get(name)
    return None if found is None else found.value if isinstance(found, ast.Constant) else ...


def fixtures_call(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.expr | None:
    """Return the decorator that makes a function a fixture of pytest's."""
    for each in function.decorator_list:
        head = ast.unparse(each.func if isinstance(each, ast.Call) else each)
        if head.rpartition(".")[2] == "fixture":
            return each
    return None


def _listed_above(
    function: ast.FunctionDef | ast.AsyncFunctionDef, name: str
) -> Iterator[ast.expr]:
    """Yield what ``@pytest.mark.parametrize`` lists for a parameter; nothing is said of one among several."""
    for each in function.decorator_list:
        if isinstance(each, ast.Call) and ast.unparse(each.func).endswith("parametrize"):
            match each.args:
                case [ast.Constant(value=str(names)), values] if name in re.split(r"[\s,]+", names):
                    yield values if names.strip() == name else ast.Constant(value=names)
                case [ast.List() | ast.Tuple() as names, *_] if name in ast.unparse(names):
                    yield names
                case _:
                    pass


@lru_cache(maxsize=64)
def _declared(source: str) -> frozenset[str]:
    """Return the words that follow ``global`` or ``nonlocal`` on a line of a text."""
    return frozenset(
        word
        for pattern in _DECLARED
        for rest in pattern.findall(source)
        for word in re.findall(r"\w+", rest)
    )


def _plain(home: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.arg]:
    return [*home.args.posonlyargs, *home.args.args, *home.args.kwonlyargs]


def _parameters(home: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> dict[str, ast.arg]:
    """Return the parameters of a function by their names, those that collect others too."""
    collecting = [arg for arg in (home.args.vararg, home.args.kwarg) if arg is not None]
    return {arg.arg: arg for arg in (*_plain(home), *collecting)}


def _within(home: ast.AST) -> Iterator[ast.AST]:
    """Yield what stands in a function, but not what stands in functions inside it."""
    todo = list(getattr(home, "body", ())) if not isinstance(home, ast.Lambda) else [home.body]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef, *_COMPREHENSIONS)):
            todo.extend(ast.iter_child_nodes(node))


def _before(one: ast.AST, other: ast.AST) -> bool:
    at = (getattr(one, "lineno", 0), getattr(one, "col_offset", 0))
    return at < (getattr(other, "lineno", 0), getattr(other, "col_offset", 0))


def _always_gives(statement: ast.stmt, name: str) -> bool:
    """Tell whether a statement assigns to a name, or an ``if`` in each of its arms."""
    match statement:
        case ast.Assign(targets=targets):
            return any(name in _names_of(target) for target in targets)
        case ast.AnnAssign(target=target):
            return name in _names_of(target)
        case ast.If(body=body, orelse=rest):
            return all(any(_always_gives(each, name) for each in arm) for arm in (body, rest))
        case _:
            return False


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _holds(loop: ast.For | ast.While, later: ast.AST) -> bool:
    """Tell whether what stands later than something in a loop stands in the loop as well."""
    end = (loop.end_lineno or 0, loop.end_col_offset or 0)
    return (getattr(later, "lineno", 0), getattr(later, "col_offset", 0)) < end


def _names_of(target: ast.expr) -> set[str]:
    """Return the names that a target binds; of ``found[i], rest`` the second alone."""
    return set(_stored(target))


def _read_by(value: ast.expr) -> set[str]:
    """Return the names that are handed on as they are, alone or beside others."""
    several = value.elts if isinstance(value, ast.Tuple) else [value]
    return {each.id for each in several if isinstance(each, ast.Name)}


def _sizes(args: list[ast.expr]) -> bool:
    """Tell whether arguments are sizes, as ``x.view(-1, 3)`` is given: an array's ``view`` takes a type alone."""
    plain = [arg.operand if isinstance(arg, ast.UnaryOp) else arg for arg in args]
    return any(isinstance(arg, ast.Constant) and isinstance(arg.value, int) for arg in plain)


_SETTINGS = re.compile(rf"(?:\w+_)?(?:{SETTINGS})", re.IGNORECASE)
_OF_SETTINGS = re.compile(r"(?:Conf|Config|Configs|Settings|Args|Arguments|Options)\Z")


def _is_typed(node: ast.expr) -> bool:
    """Tell whether an expression plainly is what was typed: ``args.device``."""
    return isinstance(node, ast.Attribute) and is_of_settings(ast.unparse(node.value))


def _last_name(node: ast.expr) -> str:
    return ast.unparse(node).partition("[")[0].rpartition(".")[2]


def _of_tensors(node: ast.expr) -> bool:
    """Tell whether something is called as tensors are: ``outputs["x"]``, ``self.get_weights()``."""
    while isinstance(node, ast.Subscript):
        node = node.value
    last = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return TENSOR_WORD.search(last) is not None


def _bound_by(part: ast.AST) -> Iterator[str]:
    """Yield the names that a statement, a pattern or an expression binds in the function that it stands in."""
    match part:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            for target in targets:
                yield from _stored(target)
        case (
            ast.AnnAssign(target=target)
            | ast.AugAssign(target=target)
            | ast.NamedExpr(target=target)
        ):
            yield from _stored(target)
        case ast.For(target=target) | ast.AsyncFor(target=target):
            yield from _stored(target)
        case ast.With(items=items) | ast.AsyncWith(items=items):
            for item in items:
                if item.optional_vars is not None:
                    yield from _stored(item.optional_vars)
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            yield name
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name
        case _ if isinstance(part, _COMPREHENSIONS):
            # What is named inside is named around it.
            for each in ast.walk(part):
                if isinstance(each, ast.NamedExpr):
                    yield from _stored(each.target)
        case _:
            pass


def _stored(target: ast.expr) -> Iterator[str]:
    for part in ast.walk(target):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            yield part.id


def _asks_for_type(statement: ast.stmt, name: str) -> bool:
    """Tell whether a plain statement, or the test of an ``if``, asks a variable for its type whatever comes."""
    asked: ast.AST = statement.test if isinstance(statement, ast.If) else statement
    if isinstance(asked, ast.stmt) and not isinstance(asked, (ast.Assign, ast.Expr)):
        return False
    parts = list(ast.walk(asked))
    if any(isinstance(part, _MAY_NOT_RUN) for part in parts):
        return False
    return any(
        isinstance(part, ast.Attribute)
        and part.attr == "type"
        and isinstance(part.value, ast.Name)
        and part.value.id == name
        for part in parts
    )


_MAY_NOT_RUN = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.comprehension)


def _is_own(target: ast.expr, attr: str) -> bool:
    return (
        isinstance(target, ast.Attribute)
        and target.attr == attr
        and isinstance(target.value, ast.Name)
        and target.value.id in ("self", "cls")
    )


def _at_the_place_of(
    target: ast.Tuple | ast.List, value: ast.expr, attr: str
) -> Iterator[ast.expr | None]:
    """Yield what ``self.attr`` gets as one of several: ``self.device, self.dtype = x.device, x.dtype``."""
    several = value.elts if isinstance(value, ast.Tuple) else []
    plain = len(several) == len(target.elts) and not any(
        isinstance(each, ast.Starred) for each in (*several, *target.elts)
    )
    for at, each in enumerate(target.elts):
        if _is_own(each, attr):
            yield several[at] if plain else None


def _one_of(several: ast.Tuple, target: ast.Tuple, name: str) -> ast.expr | None:
    """Return what a target's name gets of several values, counted from the end: `b, n, device = *x.shape, x.device`."""
    names = [each.id if isinstance(each, ast.Name) else "" for each in target.elts]
    if name not in names:
        return None
    back = len(names) - names.index(name)
    after = several.elts[-back:] if back <= len(several.elts) else []
    if not after or any(isinstance(each, ast.Starred) for each in (*after, *target.elts)):
        return None
    starred = any(isinstance(each, ast.Starred) for each in several.elts)
    return after[0] if starred or len(several.elts) == len(names) else None
