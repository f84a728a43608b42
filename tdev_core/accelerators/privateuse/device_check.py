"""Decides which tensors an operator may mix, as CUDA does.

CUDA's wrappers refuse tensors on different devices, except where ``native_functions.yaml`` says
``device_check: NoCheck``: there TensorIterator lets zero-dimensional *CPU* tensors through, or the
operator documents a CPU argument. torch's ``pointwise`` tag covers most of the first kind; the rest is
named here (torch 2.13).
"""

from __future__ import annotations

from collections.abc import Sequence

from tdev_core.accelerators.privateuse.schema import Facts

__all__ = ["any_device", "cpu_scalars", "mixed_devices"]

# Without a device check, but not tagged pointwise.
_SCALARS = frozenset(
    "binary_cross_entropy copysign_ eq_ fill fill_ floor_divide floor_divide_ ge_ gt_ heaviside_"
    " __iand__ __ior__ __ixor__ __ilshift__ __irshift__ index_fill index_fill_ index_put index_put_"
    " _index_put_impl_ le_ lt_ masked_fill masked_fill_ max min maximum minimum mse_loss ne_ rsub"
    " smooth_l1_loss where bernoulli_ normal binomial lerp_ _fused_adam_ _fused_adamw_ _fused_sgd_"
    " _fused_adagrad_ linspace logspace scalar_tensor div_ mul_ add_ sub_".split()
)

# Tagged pointwise, but CUDA's wrapper checks every argument.
_STRICT = frozenset(
    "clamp clamp_ clamp_min clamp_min_ clamp_max clamp_max_ gcd lcm logaddexp logaddexp2 igamma"
    " igamma_ igammac igammac_ nextafter nextafter_ native_dropout_backward gelu_backward"
    " silu_backward sigmoid_backward tanh_backward logit_backward threshold_backward".split()
)

# Arguments that may be on the CPU (or on any device, but for ``indices``) whatever their shape.
_ANY = {
    "copy_": {"self", "src"},
    "copy": {"self", "src"},
    "_to_copy": {"self"},
    "_copy_from": {"self", "dst"},
    "_copy_from_and_resize": {"self", "dst"},
    "index": {"indices"},
    "index_put": {"indices"},
    "index_put_": {"indices"},
    "_index_put_impl_": {"indices"},
    "_unsafe_index": {"indices"},
    "_unsafe_index_put": {"indices"},
    "_pack_padded_sequence": {"lengths"},
    "_pack_padded_sequence_backward": {"batch_sizes"},
    "_pad_packed_sequence": {"batch_sizes"},
    "lstm": {"batch_sizes"},
    "gru": {"batch_sizes"},
    "rnn_tanh": {"batch_sizes"},
    "rnn_relu": {"batch_sizes"},
    "_ctc_loss": {"input_lengths", "target_lengths", "targets"},
    "_ctc_loss_backward": {"input_lengths", "target_lengths", "targets"},
    "_nested_view_from_buffer": {"nested_size", "nested_strides", "offsets"},
    "_nested_view_from_buffer_copy": {"nested_size", "nested_strides", "offsets"},
    "_nested_from_padded": {"cpu_nested_shape_example"},
    "is_same_size": {"self", "other"},
    "_has_same_storage_numel": {"self", "other"},
    "is_set_to": {"self", "tensor"},
    "_has_compatible_shallow_copy_type": {"self", "from"},
    "resize_as_": {"self", "the_template"},
}


def _base(facts: Facts) -> str:
    return facts.name.partition("::")[2].partition(".")[0]


def cpu_scalars(facts: Facts) -> bool:
    """Tell whether zero-dimensional CPU tensors may be mixed in."""
    base = _base(facts)
    if base.startswith("_foreach_"):
        return True
    return base in _SCALARS or (facts.pointwise and base not in _STRICT)


def any_device(facts: Facts) -> frozenset[str]:
    """Return the names of the arguments that may be on another device than the rest."""
    return frozenset(_ANY.get(_base(facts), ()))


def mixed_devices(facts: Facts, devices: Sequence[object], argument: str) -> RuntimeError:
    """Word torch's error for tensors on ``devices`` (two of them), found at ``argument``."""
    first, second = devices
    if "indices" in any_device(facts):
        indexed = second if argument == "self" else first
        return RuntimeError(
            f"indices should be either on cpu or on the same device as the indexed tensor ({indexed})"
        )
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {first} and "
        f"{second}! (when checking argument for argument {argument} in method {facts.name})"
    )
