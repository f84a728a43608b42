"""Tells whether an expression is a tensor, from what its function and its class say.

A layer's parameter, the result of a torch function or of a tensor's method, an item of a list of tensors,
an annotated name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from tdev_core.codemod.engine.python.statements import (
    BINDERS,
    COMPREHENSIONS,
    FUNCTIONS,
    always_gives,
    bound_by,
    declared_elsewhere,
    holds,
    is_before,
    is_own,
    is_self,
    names_of,
    parameters,
    plain_parameters,
    within,
)
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.vocabulary import (
    computed_with,
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

DEEP = 10

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

# What a data set or a tokenizer calls its tensors by, and nobody anything else.
_CALLED = re.compile(
    r"(?:\w+_)?(?:edge_index|edge_attr|edge_weight|input_ids|attention_mask|hidden_states|pixel_values)\Z"
)

_EACH_MODULES = frozenset({"parameters", "buffers"})

_EACH_NAMED = frozenset({"named_parameters", "named_buffers"})

_LISTS = re.compile(r"(?:\w+\.)*(?:[Ll]ist|[Tt]uple|Sequence|Iterable|Iterator|MutableSequence)\Z")

_DICTS = re.compile(r"(?:\w+\.)*(?:[Dd]ict|Mapping|MutableMapping)\Z")

_WRAPS = re.compile(
    r"(?:\w+\.)*(?:Optional|Annotated|Float\d*|B?[Ff]loat|Int\d*|UInt\d*|Bool|Shaped)\Z"
)


def _sizes(args: list[ast.expr]) -> bool:
    """Tell whether arguments are sizes, as ``x.view(-1, 3)`` is given: an array's ``view`` takes a type alone."""
    plain = [arg.operand if isinstance(arg, ast.UnaryOp) else arg for arg in args]
    return any(isinstance(arg, ast.Constant) and isinstance(arg.value, int) for arg in plain)


class Tensors:
    """Answers for expressions of one tree; ``source`` is the text of its whole file, ``above`` what it imports."""

    def __init__(self, tree: PythonTree, source: str, above: Sequence[ast.stmt] = ()) -> None:
        self._tree = tree
        self._source = source
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
            if node.id in parameters(home) or next(plain, None) is not None:
                return True
            home = self._home(home)
        return False

    def is_tensor(self, node: ast.expr) -> bool:
        """Tell whether an expression is certainly a tensor."""
        return self.one(node, DEEP)

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
                if _CALLED.match(attr):
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
        if is_self(node.func.value) and self._promised_by_class(node, method, items=False):
            return True
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
                if _CALLED.match(node.id):
                    return True  # `row, column = edge_index`
                # A tensor is a row of tensors, a list of them has none of their methods.
                return self._bound(node, deep, items=True) or self._asked_as_tensor(node)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=attr):
                return self._of_class(node, attr, deep, items=True)
            case ast.Call(func=ast.Name(id="list" | "tuple" | "reversed" | "sorted"), args=[inner]):
                return self.each(inner, deep - 1)
            case ast.Call(func=ast.Name() as function):
                return self._promised(function, items=True)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=attr)):
                return self._promised_by_class(node, attr, items=True) or self._several(
                    node, deep - 1
                )
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

    def _promised_by_class(self, node: ast.AST, method: str, *, items: bool) -> bool:
        """Tell whether a method of the class around a call is annotated as giving a tensor, or several."""
        owner = next((p for p in self._tree.ancestors(node) if isinstance(p, ast.ClassDef)), None)
        found = [
            part
            for part in (owner.body if owner is not None else ())
            if isinstance(part, ast.FunctionDef) and part.name == method
        ]
        return len(found) == 1 and self._annotated(found[0].returns, items)

    def _bindings(self, node: ast.AST, name: str) -> list[ast.AST]:
        """Return what may bind a name in the function around ``node``, or in the one around that, and so on."""
        home = self._home(node) or self._tree.module
        here: list[ast.AST] = []
        if not isinstance(home, ast.Module) and name in parameters(home):
            here.append(home)
        bound = self._bound_in(home).get(name, ())
        here += [part for part in bound if self._binding(part, name, 0, False)]
        return here if here or isinstance(home, ast.Module) else self._bindings(home, name)

    def _statements_before(self, node: ast.AST) -> Iterator[ast.stmt]:
        """Yield the statements of its function that are certainly carried out before something, the last one first."""
        below: ast.AST = node
        for parent in self._tree.ancestors(node):
            if isinstance(below, FUNCTIONS) and below is not node:
                return
            if isinstance(below, ast.stmt):
                block = self._tree.block(below)
                yield from reversed(block[: block.index(below)] if below in block else [])
            below = parent

    def _around(self, node: ast.AST) -> str:
        home = self._home(node)
        return self._source if home is None else self._tree.source(home)

    def _bound_in(self, home: ast.AST) -> dict[str, list[ast.AST]]:
        """Return what binds each name of a function, a class or a module, but its parameters."""
        found = self._bound_parts.get(home)
        if found is None:
            found = self._bound_parts[home] = {}
            for part in within(home):
                if type(part) in BINDERS:
                    for name in set(bound_by(part)):
                        found.setdefault(name, []).append(part)
        return found

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

    def _home(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None:
        for parent in self._tree.ancestors(node):
            if isinstance(parent, FUNCTIONS):
                return parent
        return None

    def _bound(self, node: ast.Name, deep: int, items: bool = False) -> bool:
        """Tell whether all that may have given a name its value gave it a tensor (or a list of them)."""
        for parent in self._tree.ancestors(node):
            if isinstance(parent, COMPREHENSIONS):
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
        for part in self._bound_in(home).get(name, ()):
            if since is not None and part is not since and is_before(part, since):
                continue
            if part is own and not loops:
                continue  # `x = x.sum()`: the name on the right is the one before
            # What stands later runs before, in the round before of a loop around both.
            # A function may be called after all that is around it.
            runs_now = not isinstance(node, FUNCTIONS)
            if runs_now and is_before(node, part) and not any(holds(loop, part) for loop in loops):
                continue
            answers += self._binding(part, name, deep, items)
        if since is None and not isinstance(home, ast.Module):
            given = parameters(home).get(name)
            if given is not None:
                several = items and given is home.args.vararg  # `*tensors: Tensor`
                alone = given in plain_parameters(home) and self._annotated(given.annotation, items)
                answers.append(self._annotated(given.annotation, False) if several else alone)
            elif not answers and not self._bound_from_within(name):
                return self._bound_around(home, name, deep, items)
        return bool(answers) and all(answers)

    def _bound_from_within(self, name: str) -> bool:
        """Tell whether a function may give a new value to a name of what is around it."""
        return name in declared_elsewhere(self._source)

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
            case ast.With() | ast.AsyncWith():
                found = [False] if name in bound_by(part) else []
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
        if name not in names_of(target):
            return None
        if not isinstance(target, (ast.Tuple, ast.List)) or items:
            return False
        at = next(i for i, part in enumerate(target.elts) if name in names_of(part))
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
        return next(
            (each for each in self._statements_before(node) if always_gives(each, name)), None
        )

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
                        if is_own(target, attr):
                            if isinstance(value, ast.Constant) and value.value is None:
                                continue
                            known = self.each if items else self.one
                            answers.append(known(value, deep - 2))
                        elif isinstance(target, (ast.Tuple, ast.List)):
                            if any(is_own(e, attr) for e in target.elts):
                                answers.append(False)
                case ast.AnnAssign(target=target, annotation=said):
                    if is_own(target, attr) or isinstance(target, ast.Name) and target.id == attr:
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
