"""``make_graphed_callables``: a callable whose forward and backward passes are each one graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from tdev_core.cuda import amp
from tdev_core.cuda.graphs.contexts import graph
from tdev_core.cuda.graphs.cuda_graph import CUDAGraph, graph_pool_handle

__all__ = ["make_graphed_callables"]


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Any = None,
    capture_error_mode: str = "global",
) -> Any:
    """Make graphed versions of ``callables``, which run as one autograd node each.

    Args:
        callables: a module or function, or a tuple of these.
        sample_args: a tuple of tensors, or one for each callable; later arguments have their shapes.
        num_warmup_iters: runs before the capture.
        allow_unused_input: whether an input may have no part in the outputs.
        pool: token of a memory pool.
        capture_error_mode: see :meth:`CUDAGraph.capture_begin`.

    Raises:
        RuntimeError: autocast is on with its cache.
        ValueError: a module has hooks or a buffer that requires grad, or a sample is not a tensor.

    Source: ``torch.cuda.make_graphed_callables``.
    """
    if amp.is_enabled() and torch.is_autocast_cache_enabled():
        raise RuntimeError(
            "make_graphed_callables does not support autocast's cache; pass cache_enabled=False"
        )
    single = not isinstance(callables, tuple)
    functions = (callables,) if single else callables
    samples = (sample_args,) if single else sample_args
    if len(functions) != len(samples):
        raise ValueError(f"{len(functions)} callables need as many sample_args, got {len(samples)}")
    for function, sample in zip(functions, samples, strict=True):
        _check(function, sample)
    result = tuple(
        _graph(
            function, tuple(sample), num_warmup_iters, allow_unused_input, pool, capture_error_mode
        )
        for function, sample in zip(functions, samples, strict=True)
    )
    return result[0] if single else result


def _check(function: Any, sample: Any) -> None:
    if not all(isinstance(leaf, torch.Tensor) for leaf in pytree.tree_leaves(sample)):
        raise ValueError("sample_args must contain tensors only")
    if not isinstance(function, torch.nn.Module):
        return
    if function._backward_hooks or function._forward_hooks or function._forward_pre_hooks:
        raise ValueError("a module must not have hooks yet when it is graphed; register them later")
    if any(buffer.requires_grad for buffer in function.buffers()):
        raise ValueError(
            "only parameters of a graphed module may require grad, its buffers may not"
        )


class _Captured:
    """Forward and backward graphs of one callable, with the tensors that they read and write."""

    def __init__(
        self,
        function: Callable[..., Any],
        sample: tuple[Any, ...],
        unused: bool,
        pool: Any,
        mode: str,
    ) -> None:
        pool = graph_pool_handle() if pool is None else pool
        module = function if isinstance(function, torch.nn.Module) else None
        self.arguments = tuple(pytree.tree_leaves(sample))
        self.parameters = () if module is None else tuple(module.parameters())
        self.inputs = self.arguments + self.parameters
        self.forward = CUDAGraph()
        with graph(self.forward, pool=pool, capture_error_mode=mode):
            outputs = function(*sample)
        flat, self.spec = pytree.tree_flatten(outputs)
        self.outputs: tuple[torch.Tensor, ...] = tuple(flat)
        self.grad_outputs = tuple(
            torch.empty_like(value) if value.requires_grad else None for value in self.outputs
        )
        self.backward = CUDAGraph()
        self.grad_inputs: tuple[torch.Tensor | None, ...] = (None,) * len(self.inputs)
        wanted = tuple(value for value in self.outputs if value.requires_grad)
        if wanted:
            leaves = tuple(value for value in self.inputs if value.requires_grad)
            with graph(self.backward, pool=pool, capture_error_mode=mode):
                grads = torch.autograd.grad(
                    wanted,
                    leaves,
                    tuple(value for value in self.grad_outputs if value is not None),
                    allow_unused=unused,
                )
            found = iter(grads)
            self.grad_inputs = tuple(
                next(found) if value.requires_grad else None for value in self.inputs
            )


def _warm_up(
    function: Callable[..., Any], sample: tuple[Any, ...], times: int, unused: bool
) -> None:
    parameters = function.parameters() if isinstance(function, torch.nn.Module) else ()
    leaves = tuple(
        value for value in (*pytree.tree_leaves(sample), *parameters) if value.requires_grad
    )
    for _ in range(times):
        outputs = pytree.tree_leaves(function(*sample))
        wanted = tuple(value for value in outputs if value.requires_grad)
        if wanted:
            torch.autograd.grad(
                wanted,
                leaves,
                tuple(torch.ones_like(value) for value in wanted),
                allow_unused=unused,
            )


def _graph(
    function: Any, sample: tuple[Any, ...], times: int, unused: bool, pool: Any, mode: str
) -> Any:
    _warm_up(function, sample, times, unused)
    captured = _Captured(function, sample, unused, pool, mode)

    class Graphed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
            for static, given in zip(captured.arguments, inputs, strict=False):
                if static.data_ptr() != given.data_ptr():
                    static.data.copy_(given)
            captured.forward.replay()
            return tuple(value.detach() for value in captured.outputs)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
            for static, given in zip(captured.grad_outputs, grads, strict=True):
                if static is not None and static.data_ptr() != given.data_ptr():
                    static.copy_(given)
            captured.backward.replay()
            return tuple(
                None if value is None else value.detach() for value in captured.grad_inputs
            )

    def run(*arguments: Any) -> Any:
        given = tuple(pytree.tree_leaves(arguments))
        results = Graphed.apply(*given, *captured.parameters)  # type: ignore[no-untyped-call]
        return pytree.tree_unflatten(results, captured.spec)

    if not isinstance(function, torch.nn.Module):
        return run
    training, original = function.training, function.forward

    def forward(*arguments: Any, **keywords: Any) -> Any:
        # The graph is of the mode that the module was in; in the other one it runs as it always did.
        same = function.training == training
        return run(*arguments, **keywords) if same else original(*arguments, **keywords)

    function.forward = forward
    return function
