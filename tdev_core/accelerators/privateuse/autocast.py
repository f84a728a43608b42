"""Cast rules in Python, with the operator lists that torch has for CUDA.

torch's C++ registers cast rules for its own devices only; a ``PrivateUse1`` device gets nothing, not
even a fallthrough. The lists are those of "Autocast Op Reference" in torch's documentation and of
``aten/src/ATen/autocast_mode.h``; each kernel casts its arguments, leaves autocast, and calls again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch._ops import OpOverload

from tdev_core.accelerators.privateuse import torch_api

__all__ = ["FP32", "LOWER", "Kernel", "Rules", "install"]

Kernel = Callable[..., Any]

_KEY = "AutocastPrivateUse1"

LOWER = (
    "_convolution conv1d conv2d conv3d conv1d.padding conv2d.padding conv3d.padding conv_tbc"
    " conv_transpose1d conv_transpose2d.input conv_transpose3d.input convolution prelu addmm addmv addr"
    " matmul einsum mm mv linalg_vecdot linear addbmm baddbmm bmm chain_matmul linalg_multi_dot"
    " lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell scaled_dot_product_attention"
    " lstm.input lstm.data gru.input gru.data rnn_tanh.input rnn_tanh.data rnn_relu.input rnn_relu.data"
).split()
"""Run in the autocast type: matrix products, convolutions and recurrent layers.

Whole recurrent layers are not in the header: CUDA casts them at ``_cudnn_rnn`` (``cudnn/AutocastRNN.cpp``),
an operator that other devices have not."""

FP32 = (
    "acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow.Tensor_Scalar"
    " pow.Tensor_Tensor pow.Scalar softplus layer_norm native_layer_norm group_norm"
    " rms_norm frobenius_norm.dim nuclear_norm nuclear_norm.dim cosine_similarity poisson_nll_loss"
    " cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss kl_div l1_loss"
    " smooth_l1_loss huber_loss mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss"
    " triplet_margin_loss multi_margin_loss binary_cross_entropy_with_logits dist pdist cdist renorm"
    " cross_entropy_loss logsumexp upsample_nearest1d _upsample_nearest_exact1d upsample_nearest2d"
    " _upsample_nearest_exact2d upsample_nearest3d _upsample_nearest_exact3d upsample_linear1d"
    " upsample_bilinear2d _upsample_bilinear2d_aa upsample_trilinear3d upsample_bicubic2d"
    " _upsample_bicubic2d_aa norm.Scalar norm.ScalarOpt_dim norm.names_ScalarOpt_dim"
).split()
"""Run in float32: what loses too much in a narrow type.

``cross_entropy_loss`` is in torch's documented list and in that for the CPU, but not in the header's
for CUDA, where its ``log_softmax`` stays narrow; here it is as documented, and equal to the CPU."""

FP32_RESULT = (
    "prod prod.dim_int softmax.int log_softmax.int cumprod cumsum linalg_vector_norm"
    " linalg_matrix_norm linalg_matrix_norm.str_ord sum sum.dim_IntList"
).split()
"""Reductions that get ``dtype=torch.float32`` unless the caller gives one."""

PROMOTE = (
    "addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add"
).split()
"""Run in the widest type among the arguments."""

_REFUSED = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
    "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
    "safe to autocast."
)


class Rules:
    """The kernels that cast, for tensors of device type ``name``, registered at dispatch key ``key``.

    A kernel runs its operator without ``key`` and without the keys ``below`` it, so that nothing is cast twice.
    """

    def __init__(self, name: str, key: str, below: tuple[str, ...] = ()) -> None:
        self.name = name
        self.key = key
        self._skipped = (key, *below)

    def kernels(self) -> Iterator[tuple[str, Kernel]]:
        """Give each listed operator that this torch has, as ``"add.Tensor"``, with its kernel."""
        yield "binary_cross_entropy", _refuse
        for operators, rule in (
            (LOWER, lambda op: self._cast_to(op, None)),
            (FP32, lambda op: self._cast_to(op, torch.float32)),
            (FP32_RESULT, self._result_type),
            (PROMOTE, self._promote),
        ):
            for operator in operators:
                if (op := overload(operator)) is not None:
                    yield operator, rule(op)

    def unchanged(self, op: OpOverload) -> Kernel:
        """Make the kernel of an operator that CUDA does not list: it runs in the types that it is given."""

        def kernel(*args: Any, **kwargs: Any) -> Any:
            with torch_api.without_keys(*self._skipped):
                return op(*args, **kwargs)

        return kernel

    def widened(self, op: OpOverload) -> Kernel:
        """Like :meth:`unchanged`, for an operator of which the device has no narrow kernel."""

        def kernel(value: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            with torch_api.without_keys(*self._skipped):
                return op(self._cast(value, torch.float32), *args, **kwargs).to(value.dtype)

        return kernel

    def computed_in(
        self, op: OpOverload, dtype: torch.dtype, wide: torch.dtype, args: Any, kwargs: Any
    ) -> Any:
        """Call an operator on what is rounded to ``dtype``, compute in ``wide``, and return what it gives in ``dtype``."""
        args = self._cast(args, dtype)
        kwargs = {key: self._cast(value, dtype) for key, value in kwargs.items()}
        return self._narrowed(self._run(op, wide, args, kwargs), wide, dtype)

    def _narrowed(self, value: Any, wide: torch.dtype, dtype: torch.dtype) -> Any:
        if isinstance(value, torch.Tensor):
            return value.to(dtype) if value.dtype is wide else value
        if isinstance(value, (list, tuple)):
            return type(value)(self._narrowed(item, wide, dtype) for item in value)
        return value

    def _eligible(self, value: Any) -> bool:
        return (
            isinstance(value, torch.Tensor)
            and value.device.type == self.name
            and value.is_floating_point()
            and value.dtype is not torch.float64
        )

    def _cast(self, value: Any, dtype: torch.dtype) -> Any:
        if self._eligible(value):
            return value.to(dtype)
        if isinstance(value, (list, tuple)):
            return [self._cast(item, dtype) for item in value]
        return value

    def _run(self, op: OpOverload, dtype: torch.dtype, args: Any, kwargs: Any) -> Any:
        with torch_api.without_keys(*self._skipped):
            return op(
                *(self._cast(value, dtype) for value in args),
                **{key: self._cast(value, dtype) for key, value in kwargs.items()},
            )

    def _cast_to(self, op: OpOverload, dtype: torch.dtype | None) -> Kernel:
        def kernel(*args: Any, **kwargs: Any) -> Any:
            wanted = torch.get_autocast_dtype(self.name) if dtype is None else dtype
            return self._run(op, wanted, args, kwargs)

        return kernel

    def _result_type(self, op: OpOverload) -> Kernel:
        position = next(i for i, a in enumerate(op._schema.arguments) if a.name == "dtype")
        keyword = op._schema.arguments[position].kwarg_only

        def kernel(*args: Any, **kwargs: Any) -> Any:
            given = kwargs.get("dtype", args[position] if len(args) > position else None)
            if given is None and self._eligible(args[0]):
                if keyword or len(args) <= position:
                    kwargs["dtype"] = torch.float32
                else:
                    args = (*args[:position], torch.float32, *args[position + 1 :])
            with torch_api.without_keys(*self._skipped):
                return op(*args, **kwargs)

        return kernel

    def _promote(self, op: OpOverload) -> Kernel:
        def kernel(*args: Any, **kwargs: Any) -> Any:
            wanted = torch.get_autocast_dtype(self.name)
            for value in _tensors((*args, *kwargs.values())):
                if self._eligible(value):
                    wanted = torch.promote_types(wanted, value.dtype)
            return self._run(op, wanted, args, kwargs)

        return kernel


def install(name: str) -> None:
    """Register the rules for the ``PrivateUse1`` device that is called ``name``."""
    torch_api.set_fallthrough(_KEY)
    for operator, kernel in Rules(name, _KEY).kernels():
        torch_api.implement(f"aten::{operator}", kernel, _KEY)


def overload(operator: str) -> OpOverload | None:
    """Return the operator that is written ``"add.Tensor"`` or ``"relu"``; None where this torch lacks it."""
    base, _, name = operator.partition(".")
    return getattr(getattr(torch.ops.aten, base, None), name or "default", None)


def _tensors(values: Iterable[Any]) -> Iterable[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError(_REFUSED)
