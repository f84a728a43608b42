"""Knows tensors: what torch's functions and a tensor's methods give, what is annotated or used as one."""

from __future__ import annotations

import ast
import re

from tdev_core.codemod.engine.asked import EACH, TENSOR, Want
from tdev_core.codemod.engine.python.statements import is_self
from tdev_core.codemod.engine.python.values import Values
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

_MODULES = re.compile(r"torch\.(?:nn\.functional|linalg|fft|special)\.[a-z]\w*\Z")

_CLASSES = re.compile(
    r"torch\.(?:\w+Tensor|Tensor|nn\.Parameter|nn\.parameter\.Parameter|nn\.Buffer)\Z"
)

# Torch's layers that give one.
_LAYERS = re.compile(
    r"torch\.nn\.(?:Linear|Bilinear|Embedding|Flatten|Conv\w*\dd|\w+Norm(?:\dd)?|\w*Dropout(?:\dd)?|\w*LU|Sigmoid|"
    r"Tanh|Softmax|Softplus|Upsample|AvgPool\dd|AdaptiveAvgPool\dd|PixelShuffle)\Z"
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


def _as_torchs(name: str) -> str:
    """Return what torch calls a name of tdev's, whose functions give what torch's do."""
    if not name.startswith("tdev.") or name in _TDEVS_OWN:
        return name
    return f"torch.{name[len('tdev.') :]}"


_TDEVS_OWN = frozenset(f"tdev.{name}" for name in ("answers_cuda", "device_type", "is_accelerator"))


class Tensors(Values):
    """Values of which some are tensors."""

    def is_tensor(self, node: ast.expr) -> bool:
        """Tell whether an expression is certainly a tensor."""
        return self.holds(node, TENSOR)

    def _is(self, node: ast.expr, want: Want, deep: int) -> bool:
        if want.kind == "device":
            return False
        if not want.path:
            return self._is_one(node, deep)
        if want.path == (EACH, 1) and isinstance(node, ast.Call):
            return getattr(node.func, "attr", "") in _EACH_NAMED
        if len(want.path) == 1 and isinstance(want.path[0], str) and isinstance(node, ast.Call):
            # Of whatever key: `next(iter(module.state_dict().values()))`.
            return getattr(node.func, "attr", "") == "state_dict" and not node.args
        if isinstance(want.path[0], str) or len(want.path) > 1:
            return False
        # A tensor is a row of tensors, a list of them has none of their methods.
        return self._has_several(node, deep) or (
            not isinstance(node, (ast.Tuple, ast.List, ast.Set, ast.ListComp, ast.GeneratorExp))
            and self.holds(node, TENSOR, deep - 1)
        )

    def _is_one(self, node: ast.expr, deep: int) -> bool:
        match node:
            case ast.Name():
                return self._called_tensor(node)
            case ast.Attribute(value=value, attr=attr) if not is_self(value):
                if attr in _LAYERS_OWN or attr in _ATTRIBUTES and self.holds(value, TENSOR, deep):
                    return True
                return _CALLED.match(attr) is not None or (
                    attr in ("values", "indices") and self._gives_several(value, deep)
                )
            case ast.Call():
                return self._is_made(node, deep - 1)
            case ast.Subscript(value=value):
                return self.holds(value, TENSOR, deep - 1)
            case ast.BinOp(left=ast.Constant(value=str())):
                return False
            case ast.BinOp(left=left, right=right):
                return self.holds(left, TENSOR, deep - 1) or self.holds(right, TENSOR, deep - 1)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                asks = isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn))
                return not asks and (
                    self.holds(left, TENSOR, deep - 1) or self.holds(right, TENSOR, deep - 1)
                )
            case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=value):
                return self.holds(value, TENSOR, deep - 1)
            case _:
                return False

    def _is_made(self, node: ast.Call, deep: int) -> bool:
        name = _as_torchs(self._name(node.func))
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
        if not isinstance(node.func, ast.Attribute):
            return False
        if is_self(node.func.value) and self._is_layer(node.func):
            return True
        method = node.func.attr
        if method in _TENSORS_OWN or method == "view" and _sizes(node.args):
            return True
        if method.startswith("forward"):
            return True  # of what is asked for its device: a tuple or a dictionary has none
        mine = method in _MORE_METHODS or method.endswith("_") and not method.startswith("_")
        if method in ("max", "min", "median") and not node.args and not node.keywords:
            mine = True
        return mine and self.holds(node.func.value, TENSOR, deep)

    def _is_layer(self, node: ast.Attribute) -> bool:
        """Tell whether a class keeps one of torch's own layers in an attribute, which gives a tensor: ``self.project(x)``."""
        owner = self._class_around(node)
        kept = self._kept_in(owner).get(node.attr) if owner is not None else None
        if kept is None or kept.said or kept.methods or not kept.given:
            return False
        return all(
            not steps and isinstance(value, ast.Call) and _LAYERS.match(self._name(value.func))
            for value, steps in kept.given
        )

    def _gives_several(self, node: ast.expr, deep: int) -> bool:
        """Tell whether a call gives several tensors: ``torch.chunk(x, 2)``, ``x.topk(3)``."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        if node.func.attr not in _SEVERAL:
            return False
        name = _as_torchs(self._name(node.func))
        return name.startswith("torch.") or self.holds(node.func.value, TENSOR, deep)

    def _has_several(self, node: ast.expr, deep: int) -> bool:
        """Tell whether the items of an expression are tensors."""
        match node:
            case ast.Call(func=ast.Attribute(attr=attr)) if attr in _EACH_MODULES:
                return True
            case ast.Subscript(slice=ast.Constant(value="params")):
                return True  # an optimizer's: `for p in group["params"]`
            case ast.Name():
                # `row, column = edge_index`
                return _CALLED.match(node.id) is not None or self._asked_as_tensor(node)
            case _:
                return self._gives_several(node, deep)

    def _called_tensor(self, node: ast.Name) -> bool:
        """Tell whether its function asks whether this is a tensor, ``isinstance(x, torch.Tensor)``, or computes with it."""
        home = self._home(node)
        text = self._tree.source(home) if home is not None else self._source
        if home is not None and computed_with(text, node.id):
            return True
        if not any(sign in text for sign in (f"isinstance({node.id}", "is_tensor(", ".forward(")):
            return False
        name = re.escape(node.id)
        asked = (
            rf"(?:isinstance\(\s*{name}\s*,\s*(?:\w+\.)*Tensor\s*\)|\bis_tensor\(\s*{name}\s*\))"
        )
        # A module's own `forward` is given tensors, too, and so is that of the class that it extends.
        given = rf"\b(?:self|super\([^()]*\))\.forward\(\s*{name}\s*[,)]"
        return re.search(rf"(?<!not ){asked}|{given}", text) is not None

    def _asked_as_tensor(self, node: ast.Name) -> bool:
        """Tell whether a function asks of a name what only a tensor answers: its own, or of ``item_seq`` any of the file."""
        home = self._home(node) if "_" not in node.id else None
        return used_as_tensor(self._source if home is None else self._tree.source(home), node.id)

    def promises(self, said: ast.expr | None, want: Want) -> bool:
        """Tell whether an annotation promises what is wanted; ``None`` aside."""
        match said:
            case ast.Constant(value=str() as text):
                try:
                    return self.promises(ast.parse(text, mode="eval").body, want)
                except SyntaxError:
                    return False
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return self._promise_all([left, right], want)
            case ast.Subscript(value=outer, slice=inner):
                name = ast.unparse(outer)
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                if _WRAPS.match(name):
                    return self.promises(parts[0], want)
                if name.rpartition(".")[2] == "Union":
                    return self._promise_all(parts, want)
                if not want.path:
                    return False
                keyed = _DICTS.match(name) is not None
                if keyed is not isinstance(want.path[0], str) or not (keyed or _LISTS.match(name)):
                    return False
                return self._promise_all(_items_said(name, parts, want), want.inner)
            case ast.Name() | ast.Attribute():
                return self._is_class(self._name(said), want)
            case _:
                return False

    def _promise_all(self, said: list[ast.expr], want: Want) -> bool:
        some = [each for each in said if ast.unparse(each) not in ("None", "...", "Ellipsis")]
        return bool(some) and all(self.promises(each, want) for each in some)

    def _is_class(self, name: str, want: Want) -> bool:
        """Tell whether what is of a class is what is wanted."""
        if want.kind == "device" or want.path not in ((), (EACH,)) and not _is_place(want):
            return False
        return _CLASSES.match(name) is not None


def _is_place(want: Want) -> bool:
    return len(want.path) == 1 and isinstance(want.path[0], int)


def _items_said(outer: str, parts: list[ast.expr], want: Want) -> list[ast.expr]:
    """Return what an annotation says of the items of a list, a tuple or a dictionary."""
    if _DICTS.match(outer):
        return parts[1:]
    at = want.path[0]
    of_tuple = outer.rpartition(".")[2] in ("tuple", "Tuple")
    more = any(ast.unparse(each) in ("...", "Ellipsis") for each in parts)
    if of_tuple and not more and isinstance(at, int):
        return [parts[at]] if -len(parts) <= at < len(parts) else []
    return parts
