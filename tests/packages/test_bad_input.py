"""Every public function of a stand-in that computes, against its documented shapes: what fits has the value of the plain form, and what does not is an error that names the package."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tdev_core.packages import asking
from tdev_core.packages.lacking import LackingParameter

pytestmark = pytest.mark.filterwarnings("ignore::tdev_core.errors.DeviceWarning")

Made = dict[str, Any]


@dataclass(frozen=True)
class Function:
    """One function: shapes by argument, what it means in plain torch, what letters must do beside being the same.

    ``other`` tells of another documented form, which is not looked at; ``gradients`` whether the package has any.
    """

    module: str
    name: str
    shapes: dict[str, str]
    plain: Callable[..., Any]
    options: dict[str, Any]
    holds: Callable[[dict[str, int]], bool] = lambda sizes: True
    other: Callable[[Made], bool] = lambda made: False
    gradients: bool = True

    @property
    def package(self) -> str:
        return self.module.partition(".")[0]

    def __call__(self, made: Made) -> Any:
        function = asking.names(self.module, self.name)[0]
        if isinstance(function, type):
            return function(**self.options)(*made.values())
        return function(**made, **self.options)


def attention(q: Any, k: Any, v: Any, bias: Any = None) -> Any:
    k, v = (x.repeat_interleave(q.size(2) // x.size(2), 2) for x in (k, v))
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / q.size(-1) ** 0.5
    return torch.einsum(
        "bhqk,bkhd->bqhd", (scores if bias is None else scores + bias).softmax(-1), v
    )


def causal_attention(q: Any, k: Any, v: Any) -> Any:
    seen = torch.ones(q.size(1), k.size(1), dtype=torch.bool).tril(k.size(1) - q.size(1))
    out = attention(q, k, v, torch.zeros(seen.shape, dtype=q.dtype).masked_fill(~seen, -torch.inf))
    return out.nan_to_num(0.0)


def convolved(x: Any, weight: Any, bias: Any = None) -> Any:
    padded = F.pad(x, (weight.size(1) - 1, 0))
    return F.conv1d(padded, weight.unsqueeze(1), bias, groups=x.size(1))


def stepped(x: Any, conv_state: Any, weight: Any) -> Any:
    return (torch.cat((conv_state, x.unsqueeze(-1)), -1)[..., -weight.size(1) :] * weight).sum(-1)


def scanned(u: Any, delta: Any, A: Any, B: Any, C: Any, D: Any) -> Any:
    state, out = torch.zeros(u.size(0), *A.shape, dtype=u.dtype), []
    for t in range(u.size(-1)):
        step = delta[..., t, None]
        state = state * (step * A).exp() + step * B[:, None, :, t] * u[..., t, None]
        out.append((state * C[:, None, :, t]).sum(-1) + D * u[..., t])
    return torch.stack(out, -1) if out else torch.zeros_like(u)


def turned(x: Any, cos: Any, sin: Any) -> Any:
    half = cos.size(1)
    c, s = (t[: x.size(1), None] for t in (cos, sin))
    one, two, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    return torch.cat((one * c - two * s, one * s + two * c, rest), -1)


def added(x: Any, weight: Any, bias: Any, residual: Any, rowscale: Any) -> Any:
    return F.layer_norm(x * rowscale[..., None] + residual, x.shape[-1:], weight, bias, 1e-6)


def gated(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
    return F.linear(F.silu(F.linear(x, w1, b1)) * F.linear(x, w2, b2), w3, b3)


def more(input: Any, index: Any, source: Any, scaling: Any) -> Any:
    return input.index_add(0, index, source * scaling)


FUNCTIONS = [
    Function("flash_attn", "flash_attn_func", {"q": "B S H D", "k": "B T G D", "v": "B T G D"}, attention, {}, lambda n: n["H"] % n["G"] == 0),
    Function("flash_attn", "flash_attn_func", {"q": "B S H D", "k": "B T G D", "v": "B T G D"}, causal_attention, {"causal": True}, lambda n: n["H"] % n["G"] == 0),
    Function("flash_attn", "flash_attn_qkvpacked_func", {"qkv": "B S 3 H D"}, lambda qkv: attention(*qkv.unbind(2)), {}),
    Function("flash_attn", "flash_attn_kvpacked_func", {"q": "B S H D", "kv": "B T 2 G D"}, lambda q, kv: attention(q, *kv.unbind(2)), {}, lambda n: n["H"] % n["G"] == 0),
    Function("flash_attn.layers.rotary", "apply_rotary_emb", {"x": "B S H D", "cos": "P R", "sin": "P R"}, turned, {}, lambda n: n["S"] <= n["P"] and 2 * n["R"] <= n["D"]),
    Function("flash_attn.losses.cross_entropy", "CrossEntropyLoss", {"input": "N C", "target": "int N"}, lambda x, target: F.cross_entropy(x, target.long()), {}, lambda n: n["N"] <= n["C"]),
    Function("flash_attn.ops.triton.layer_norm", "layer_norm_fn", {"x": "… B C", "weight": "C", "bias": "C", "residual": "… B C", "rowscale": "… B"}, added, {}),
    Function("flash_attn.ops.rms_norm", "rms_norm", {"x": "… B C", "weight": "C"}, lambda x, weight: F.rms_norm(x, weight.shape, weight, 1e-5), {"epsilon": 1e-5}),
    Function("flash_attn.ops.layer_norm", "layer_norm", {"x": "… B C", "weight": "C", "bias": "C"}, lambda x, weight, bias: F.layer_norm(x, weight.shape, weight, bias, 1e-5), {"epsilon": 1e-5}),
    *(Function(f"{package}.ops.triton.layer_norm", "rms_norm_fn", {"x": "… B C", "weight": "C", "bias": "C"}, lambda x, weight, bias: F.rms_norm(x, weight.shape, weight, 1e-6) + bias, {}) for package in ("flash_attn", "mamba_ssm")),
    Function("causal_conv1d", "causal_conv1d_fn", {"x": "B C L", "weight": "C W", "bias": "C"}, convolved, {}),
    Function("causal_conv1d", "causal_conv1d_update", {"x": "B C", "conv_state": "B C N", "weight": "C W"}, stepped, {}, lambda n: n["N"] >= n["W"] - 1, lambda made: made["x"].dim() == 3),
    Function("mamba_ssm.ops.triton.layer_norm", "layer_norm_fn", {"x": "… B C", "weight": "C", "bias": "C", "residual": "… B C", "rowscale": "… B"}, added, {}),
    *(Function("mamba_ssm.ops.selective_scan_interface", name, {"u": "B D L", "delta": "B D L", "A": "D N", "B": "B N L", "C": "B N L", "D": "D"}, scanned, {}, other=lambda made: made["B"].dim() != 3 or made["C"].dim() != 3) for name in ("selective_scan_fn", "selective_scan_ref")),
    *(Function("xformers.ops", name, {"query": "B M H K", "key": "B N H K", "value": "B N H V", "attn_bias": "B H M N"}, attention, {}, gradients=not name.endswith("forward")) for name in ("memory_efficient_attention", "memory_efficient_attention_forward")),
    Function("xformers.ops", "swiglu", {"x": "… B I", "w1": "H I", "b1": "H", "w2": "H I", "b2": "H", "w3": "O H", "b3": "O"}, gated, {}),
    Function("xformers.ops", "scaled_index_add", {"input": "B M D", "index": "int N", "source": "N M D", "scaling": "D"}, more, {}, lambda n: n["N"] <= n["B"]),
    Function("apex.normalization.fused_layer_norm", "fused_layer_norm", {"input": "… 6"}, lambda input: F.layer_norm(input, (6,), eps=1e-6), {"normalized_shape": 6}),
    Function("apex.normalization.fused_layer_norm", "fused_rms_norm", {"input": "… 6"}, lambda input: F.rms_norm(input, (6,), eps=1e-6), {"normalized_shape": 6}),
    *(Function("apex.normalization.fused_layer_norm", name, {"input": "… 6", "weight": "6", "bias": "6"}, lambda input, weight, bias: F.layer_norm(input, (6,), weight, bias, 1e-6), {"normalized_shape": 6}) for name in ("fused_layer_norm_affine", "mixed_dtype_fused_layer_norm_affine")),
    *(Function("apex.normalization.fused_layer_norm", name, {"input": "… 6", "weight": "6"}, lambda input, weight: F.rms_norm(input, (6,), weight, 1e-6), {"normalized_shape": 6}) for name in ("fused_rms_norm_affine", "mixed_dtype_fused_rms_norm_affine")),
]  # fmt: skip


def fits(function: Function, made: Made) -> bool:
    """Tell whether tensors have the documented shapes, and real floats of one dtype."""
    sizes: dict[str, int] = {}
    front: tuple[int, ...] | None = None
    floats = set()
    for name, documented in function.shapes.items():
        letters, shape = documented.split(), tuple(made[name].shape)
        if letters[0] == "int":
            letters = letters[1:]
            if made[name].dtype not in (torch.int32, torch.int64):
                return False
        else:
            floats.add(made[name].dtype)
        if letters[0] == "…":
            letters = letters[1:]
            at = len(shape) - len(letters)
            front = shape[: max(at, 0)] if front is None else front
            if at < 0 or shape[:at] != front:
                return False
            shape = shape[at:]
        if len(shape) != len(letters):
            return False
        for letter, size in zip(letters, shape, strict=True):
            if (int(letter) if letter.isdigit() else sizes.setdefault(letter, size)) != size:
                return False
    return floats == {torch.float64} and function.holds(sizes)


@st.composite
def calls(draw: st.DrawFn, function: Function, right: bool = False) -> Made:
    """Draw tensors of the documented shapes; unless ``right``, one of them is in most draws of another shape or dtype."""
    letters = {
        x for text in function.shapes.values() for x in text.split() if x.isalpha() and x != "int"
    }
    sizes = {letter: draw(st.integers(1, 4), label=letter) for letter in sorted(letters)}
    leading = draw(st.sampled_from([(), (2,), (3, 2)]))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 9)))
    made: Made = {}
    for name, text in function.shapes.items():
        shape: list[int] = []
        for letter in text.removeprefix("int ").split():
            shape += (
                leading if letter == "…" else [int(letter) if letter.isdigit() else sizes[letter]]
            )
        if text.startswith("int "):
            made[name] = torch.arange(shape[0])
        else:
            made[name] = torch.randn(*shape, generator=generator, dtype=torch.float64)
    kinds = ["none"] if right else ["none", "smaller", "larger", "one", "fewer", "more", "dtype"]
    kind = draw(st.sampled_from(kinds))
    name = draw(st.sampled_from(sorted(made)))
    tensor = made[name]
    at = draw(st.integers(0, tensor.dim() - 1))
    if kind == "smaller" and tensor.size(at) > 1:
        made[name] = tensor.narrow(at, 0, tensor.size(at) - 1)
    elif kind == "larger":
        made[name] = torch.cat((tensor, tensor.narrow(at, 0, 1)), at)
    elif kind == "one":
        made[name] = tensor.narrow(at, 0, 1)
    elif kind == "fewer":
        made[name] = tensor.select(at, 0)
    elif kind == "more":
        made[name] = tensor.unsqueeze(at)
    elif kind == "dtype":
        made[name] = tensor.to(draw(st.sampled_from([torch.int32, torch.bool, torch.complex128])))
    return made


@pytest.mark.parametrize("function", FUNCTIONS, ids=[f"{f.module}.{f.name}{f.options or ''}" for f in FUNCTIONS])  # fmt: skip
def test_a_call_is_the_plain_form_or_an_error_that_names_the_package(function: Function) -> None:
    @settings(max_examples=120, deadline=None, derandomize=True, database=None)
    @given(calls(function))
    def check(made: Made) -> None:
        assume(not function.other(made))
        given = copy.deepcopy(made)
        if fits(function, made):
            torch.testing.assert_close(function(made), function.plain(*given.values()))
            return
        try:
            found = function(made)
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            told = str(error) + " ".join(getattr(error, "__notes__", ()))
            # torch's own words are named in a note, which Python 3.10 does not have.
            assert function.package in told or not hasattr(error, "add_note")
        else:
            meant = function.plain(
                *(x.double() if x.is_floating_point() else x for x in given.values())
            )
            raise AssertionError(
                f"was taken: { ({n: (t.shape, t.dtype) for n, t in given.items()}) }, {found}, {meant}"
            )

    check()


@pytest.mark.parametrize("function", FUNCTIONS, ids=[f"{f.module}.{f.name}{f.options or ''}" for f in FUNCTIONS])  # fmt: skip
def test_gradients_are_those_of_the_values(function: Function) -> None:
    @settings(
        max_examples=4,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.filter_too_much],
    )
    @given(calls(function, right=True))
    def check(made: Made) -> None:
        assume(fits(function, made) and not function.other(made))
        names = [name for name, tensor in made.items() if tensor.is_floating_point()]
        leaves = [made[name].requires_grad_() for name in names]

        def called(*tensors: Any) -> Any:
            # Some write into what they are given: a state that goes on.
            return function(made | {n: t.clone() for n, t in zip(names, tensors, strict=True)})

        if not function.gradients:
            assert not called(*leaves).requires_grad
            return
        assert torch.autograd.gradcheck(called, leaves, fast_mode=True)

    check()


@pytest.mark.parametrize(
    ("module", "name", "arguments", "said"),
    [
        ("flash_attn", "flash_attn_func", {"num_splits": 2}, "flash_attn_func has no parameter num_splits .*release 2.8.3"),
        ("flash_attn.ops.layer_norm", "dropout_add_layer_norm", {"sink": 1}, "has no parameter sink"),
        ("causal_conv1d", "causal_conv1d_fn", {"query_start_loc": None}, "no parameter query_start_loc"),
        ("xformers.ops", "SwiGLU", {"in_features": 2, "fused": 1}, "xformers.ops.swiglu_op.SwiGLU has no parameter fused"),
        ("apex.optimizers", "FusedAdam", {"params": [], "foreach": True}, "FusedAdam has no parameter foreach"),
        ("pynvml", "nvmlDeviceGetCount", {"version": 2}, "nvmlDeviceGetCount has no parameter version"),
    ],
)  # fmt: skip
def test_a_parameter_of_a_newer_release_is_told(
    module: str, name: str, arguments: dict[str, Any], said: str
) -> None:
    function = asking.names(module, name)[0]
    with pytest.raises(LackingParameter, match=said) as told:
        function(**arguments)
    assert isinstance(told.value, TypeError)


def test_masks_and_offsets_that_are_none() -> None:
    unpad, pad = asking.names("flash_attn.bert_padding", "unpad_input", "pad_input")
    x, mask = torch.ones(2, 3, 4), torch.tensor([[1, 1, 0], [1, 0, 0]])
    with pytest.raises(RuntimeError, match="attention_mask has shape"):
        unpad(x, mask[:, :2])
    with pytest.raises(RuntimeError, match="other numbers than 0 and 1"):
        unpad(x, (1 - mask) * -10000)
    rows, places, *_ = unpad(x, mask)
    with pytest.raises(RuntimeError, match="indices has shape"):
        pad(rows[:1], places, 2, 3)
    (rotary,) = asking.names("flash_attn.layers.rotary", "apply_rotary_emb")
    heads, angles = torch.ones(1, 3, 2, 4), torch.ones(9, 2)
    with pytest.raises(RuntimeError, match="seqlen_offsets has shape"):
        rotary(heads, angles, angles, seqlen_offsets=torch.tensor([0, 2]))
    (attend,) = asking.names("xformers.ops", "memory_efficient_attention")
    with pytest.raises(ValueError, match="the bias is torch.bool; it is added"):
        attend(heads, heads, heads, torch.ones(1, 2, 3, 3, dtype=torch.bool))
