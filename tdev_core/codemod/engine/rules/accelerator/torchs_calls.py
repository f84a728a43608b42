"""Writes calls of packages for CUDA as calls of torch that mean the same, or tells why one does not.

Sources: the signatures and documentation of flash-attn 2.8, and of apex/normalization and apex/optimizers in the repository
NVIDIA/apex; torch's own documentation for what is written instead.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.rules.accelerator.attention_shapes import shapes_at

__all__ = ["CALLS", "UNSEEN", "Call", "Replaced", "Torch", "Written", "literal"]


@dataclass
class Torch:
    """The names of torch and its modules in a file, by their full names."""

    names: Mapping[str, str]
    may_import: bool
    """Whether the name ``torch`` is free."""
    needed: bool = False
    """Whether something was spelled ``torch.…`` that no import binds."""

    def spelled(self, full: str) -> str:
        """Return the name of something of torch's; empty where there is none."""
        parts = full.split(".")
        for length in range(len(parts), 0, -1):
            bound = self.names.get(".".join(parts[:length]))
            if bound is not None:
                return ".".join([bound, *parts[length:]])
        self.needed = self.may_import
        return full if self.may_import else ""


@dataclass(frozen=True)
class Written:
    """A call of torch's: its text, its head, arguments and rest apart, and why it is no more than advice, if it is."""

    parts: tuple[str, list[str], str] = ("", [], "")
    why: str = ""
    note: str = ""
    beside: tuple[tuple[int, str], ...] = ()
    """What is said at other places where the call stays, by their offsets."""

    @property
    def text(self) -> str:
        head, arguments, rest = self.parts
        return f"{head}({', '.join(arguments)}){rest}" if head or arguments else ""


@dataclass(frozen=True)
class Call:
    """A call as it stands, with what torch is called around it."""

    python: PythonTree
    node: ast.Call
    torch: Torch
    source: str

    def arguments(self, names: tuple[str, ...], required: int) -> dict[str, ast.expr] | None:
        """Return the arguments by their parameters; None where they cannot be told, or a comment stands among them."""
        given = dict(zip(names, self.node.args, strict=False))
        if len(self.node.args) > len(names) or any(
            isinstance(a, ast.Starred) for a in self.node.args
        ):
            return None
        for keyword in self.node.keywords:
            if keyword.arg is None or keyword.arg not in names or keyword.arg in given:
                return None
            given[keyword.arg] = keyword.value
        start, end = self.python.span(self.node)
        if "#" in self.source[start:end] or not set(names[:required]) <= set(given):
            return None
        return given

    def text(self, node: ast.expr) -> str:
        """Return an argument as it stands; a value of several lines in brackets of its own."""
        text = self.python.source(node)
        return f"({text})" if isinstance(node, ast.GeneratorExp) and text[:1] != "(" else text

    def primary(self, node: ast.expr) -> str:
        """Return an argument as what a method can be called of."""
        text = self.python.source(node)
        return (
            text
            if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
            else f"({text})"
        )

    def used_whatever_strides(self) -> bool:
        """Tell whether what is done with the result asks nothing of its strides: ``f(…).reshape(…)``."""
        parent = next(self.python.ancestors(self.node))
        return isinstance(parent, ast.Attribute) and parent.attr in (
            "reshape",
            "flatten",
            "contiguous",
            "shape",
        )


UNSEEN = Written(why="arguments that are not seen here")


class Replaced:
    """One function or class, and what torch has for it."""

    def __init__(
        self, write: Callable[[Call], Written], alone: str = "", as_class: str = ""
    ) -> None:
        self.written = write
        self._alone, self._as_class = alone, as_class

    def reference(self, torch: Torch, asks_for_class: bool) -> str | None:
        """Return what the bare name becomes where it is not called; None where that would not be the same."""
        full = self._as_class if asks_for_class else self._alone
        return (torch.spelled(full) or None) if full else None


# -- attention ----------------------------------------------------------------------------------------

_OPTIONS = (
    "dropout_p", "softmax_scale", "causal", "window_size", "softcap", "alibi_slopes", "deterministic", "return_attn_probs",
)  # fmt: skip
_LACKING: dict[str, tuple[object, str]] = {
    "window_size": (
        (-1, -1),
        "flex_attention with a mask_mod over key - query + q.shape[1] - k.shape[1], or an attn_mask of that",
    ),
    "softcap": (0, "flex_attention with a score_mod of softcap * tanh(score / softcap)"),
    "alibi_slopes": (None, "an attn_mask of -slopes * abs(query - key + k.shape[1] - q.shape[1])"),
    "deterministic": (False, "torch.use_deterministic_algorithms(True)"),
    "return_attn_probs": (False, "the softmax, written out"),
}
"""Options that scaled_dot_product_attention lacks: the value that means nothing, and what torch has for another one."""


def _attention(tensors: tuple[str, ...]) -> Callable[[Call], Written]:
    def write(call: Call) -> Written:
        given = call.arguments((*tensors, *_OPTIONS), len(tensors))
        if given is None:
            return UNSEEN
        for name, (means_nothing, instead) in _LACKING.items():
            if name in given and literal(given[name], ...) != means_nothing:
                return Written(why=f"{name}, for which torch has {instead}")
        head = call.torch.spelled("torch.nn.functional.scaled_dot_product_attention")
        if not head:
            return Written(why="torch under another name")
        if tensors == ("qkv",):
            arguments = [f"*{call.primary(given['qkv'])}.transpose(1, 3).unbind(2)"]
            lengths = heads = True
        elif tensors == ("q", "kv"):
            arguments = [
                _heads_second(call, given["q"]),
                f"*{call.primary(given['kv'])}.transpose(1, 3).unbind(2)",
            ]
            lengths = heads = False
        else:
            q, k, v = (given[name] for name in tensors)
            arguments = [_heads_second(call, x) for x in (q, k, v)]
            of_q, of_k, _ = shapes_at(call.python, call.node, (q, k, v))
            lengths, heads = of_q.equals(of_k)
        return _options(call, given, head, arguments, lengths, heads)

    return write


def _options(
    call: Call,
    given: Mapping[str, ast.expr],
    head: str,
    arguments: list[str],
    lengths: bool,
    heads: bool,
) -> Written:
    why = ""
    if "dropout_p" in given and literal(given["dropout_p"], ...) != 0:
        arguments.append(f"dropout_p={call.text(given['dropout_p'])}")
    causal = given.get("causal")
    if causal is not None and literal(causal, ...) is not False:
        arguments.append(f"is_causal={call.text(causal)}")
        if not lengths:
            why = (
                "where queries and keys are as many; elsewhere causal_lower_right(q.shape[1], k.shape[1]) of "
                "torch.nn.attention.bias is the mask, since flash_attn aligns it to the last key"
            )
    if "softmax_scale" in given and literal(given["softmax_scale"], ...) is not None:
        arguments.append(f"scale={call.text(given['softmax_scale'])}")
    if not heads:
        arguments.append("enable_gqa=True")
    # With dropout, and where no fused kernel is, the result has its heads outermost in memory; flash_attn's has not.
    rest = ".transpose(1, 2)" + ("" if call.used_whatever_strides() else ".contiguous()")
    return Written((head, arguments, rest), why)


def _heads_second(call: Call, node: ast.expr) -> str:
    """Return a tensor of (batch, sequence, heads, channels) with its heads second."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=inner, attr="transpose"),
            args=[ast.Constant(value=1), ast.Constant(value=2)]
            | [ast.Constant(value=2), ast.Constant(value=1)],
            keywords=[],
        ):
            return call.primary(inner)
        case _:
            return f"{call.primary(node)}.transpose(1, 2)"


# -- optimizers and norms ------------------------------------------------------------------------------

_ADAM = (
    "params", "lr", "bias_correction", "betas", "eps", "adam_w_mode", "weight_decay", "amsgrad", "set_grad_none", "capturable",
    "master_weights",
)  # fmt: skip
_ADAMS_OWN = {
    "bias_correction": True,
    "amsgrad": False,
    "set_grad_none": True,
    "capturable": False,
    "master_weights": False,
}


def _adam(call: Call) -> Written:
    given = call.arguments(_ADAM, 1)
    if given is None:
        return UNSEEN
    for name, usual in _ADAMS_OWN.items():
        if name in given and literal(given[name], ...) is not usual:
            return Written(why=name)
    decoupled = literal(given["adam_w_mode"], ...) if "adam_w_mode" in given else True
    if decoupled not in (True, False):
        return Written(why="an adam_w_mode that is not seen here")
    head = call.torch.spelled("torch.optim.AdamW" if decoupled else "torch.optim.Adam")
    if not head:
        return Written(why="torch under another name")
    arguments = [call.text(given["params"])]
    arguments += [f"{n}={call.text(given[n])}" for n in ("lr", "betas", "eps") if n in given]
    if "weight_decay" in given:
        arguments.append(f"weight_decay={call.text(given['weight_decay'])}")
    elif decoupled:
        arguments.append("weight_decay=0.0")
    note = "a state that FusedAdam has saved does not load into it, and of parameters in half precision it has its moments in that"
    return Written((head, [*arguments, "fused=True"], ""), note=note)


_NORM = ("normalized_shape", "eps", "elementwise_affine", "memory_efficient")


def _norm(full: str) -> Callable[[Call], Written]:
    def write(call: Call) -> Written:
        given = call.arguments(_NORM, 1)
        if given is None:
            return UNSEEN
        if not isinstance(literal(given.get("memory_efficient", ast.Constant(False)), ...), bool):
            return Written(why="a memory_efficient that is not seen here")
        head = call.torch.spelled(full)
        if not head:
            return Written(why="torch under another name")
        arguments = [call.text(given["normalized_shape"])]
        if "eps" in given:
            arguments.append(f"eps={call.text(given['eps'])}")
        elif full.endswith("RMSNorm"):
            arguments.append("eps=1e-5")
        if "elementwise_affine" in given:
            arguments.append(f"elementwise_affine={call.text(given['elementwise_affine'])}")
        return Written((head, arguments, ""))

    return write


def literal(node: ast.expr, otherwise: object) -> object:
    """Return the value of a literal."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return otherwise


_LAYER, _RMS = "torch.nn.LayerNorm", "torch.nn.RMSNorm"
CALLS: dict[str, Replaced] = {
    "flash_attn.flash_attn_func": Replaced(_attention(("q", "k", "v"))),
    "flash_attn.flash_attn_kvpacked_func": Replaced(_attention(("q", "kv"))),
    "flash_attn.flash_attn_qkvpacked_func": Replaced(_attention(("qkv",))),
    "apex.optimizers.FusedAdam": Replaced(_adam),
    "apex.normalization.FusedLayerNorm": Replaced(_norm(_LAYER), _LAYER, _LAYER),
    "apex.normalization.FusedRMSNorm": Replaced(_norm(_RMS), "", _RMS),
    "apex.normalization.fused_layer_norm.FusedLayerNorm": Replaced(_norm(_LAYER), _LAYER, _LAYER),
    "apex.normalization.fused_layer_norm.FusedRMSNorm": Replaced(_norm(_RMS), "", _RMS),
}
"""What torch has for a function or class, by its dotted name."""
