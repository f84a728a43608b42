"""torch's databases of modules and of optimizers on ``sim``: the CPU's values, bit for bit.

A case of ``module_db`` is one class, one dtype, training or evaluating: outputs, gradients of inputs and
parameters, buffers. A case of ``optim_db`` is one class and one implementation (``forloop``, ``foreach``,
``fused``): parameters and state after four steps, for each set of options.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from tests.accelerators.sim import bits

DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.complex64)
MODES = ("forloop", "foreach", "fused")


def module_database() -> list[Any]:
    """torch's list of ``ModuleInfo``."""
    from torch.testing._internal.common_modules import module_db

    return list(module_db)


def optimizer_database() -> list[Any]:
    """torch's list of ``OptimizerInfo``."""
    from torch.testing._internal.common_optimizers import optim_db

    return list(optim_db)


def _tensors(value: Any) -> list[torch.Tensor]:
    return [x for x in tree_flatten(value)[0] if isinstance(x, torch.Tensor)]


def _used(module: torch.nn.Module, arguments: Any, training: bool) -> Any:
    args, kwargs = arguments
    torch.manual_seed(bits.SEED)
    result = module.train(training)(*args, **kwargs)
    outputs = [x for x in _tensors(result) if x.requires_grad]
    seeds = []
    for number, output in enumerate(outputs):
        torch.manual_seed(number)
        seeds.append(torch.randn(output.shape, dtype=output.dtype).to(output.device))
    if outputs:
        torch.autograd.backward(outputs, seeds)
    gradients = [x.grad for x in (*_tensors(arguments), *module.parameters())]
    return result, gradients, list(module.buffers())


def check_module(info: Any, dtype: torch.dtype, training: bool, limit: int = 16) -> list[str]:
    """All failures of one class."""
    failures = []
    torch.manual_seed(bits.SEED)
    inputs = info.module_inputs_func(
        info, device="cpu", dtype=dtype, requires_grad=True, training=training
    )
    for number, sample in enumerate(inputs[:limit]):
        if sample.forward_input is None:
            continue  # what it refuses, said of the constructor
        made, forward = sample.constructor_input, sample.forward_input
        torch.manual_seed(bits.SEED)
        kwargs = dict(made.kwargs)
        module = info.module_cls(*made.args, **kwargs)
        lazy = any(
            isinstance(x, (torch.nn.UninitializedParameter, torch.nn.UninitializedBuffer))
            for x in (*module.parameters(), *module.buffers())
        )
        if lazy:  # its parameters are drawn when it is first called
            module(*forward.args, **forward.kwargs)
        module = module.to(dtype)
        arguments = bits.copy((forward.args, forward.kwargs))
        theirs = bits.to_sim(bits.copy((forward.args, forward.kwargs)))
        found = bits.compare(
            lambda m=module, a=arguments: _used(copy.deepcopy(m), a, training),
            lambda m=module, a=theirs: _used(copy.deepcopy(m).to("sim"), a, training),
            f"{dtype} {number}",
        )
        failures += [found] if found else []
    return failures


def _trained(info: Any, options: dict[str, Any], device: str) -> Any:
    torch.manual_seed(bits.SEED)
    params = [torch.randn(size).to(device).requires_grad_() for size in ((4, 3), (3,), (2, 2))]
    optimizer = info.optim_cls(
        params[:1] if info.optim_cls is torch.optim.Muon else params, **options
    )

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss: torch.Tensor = sum(p.sin().square().mean() for p in params)  # type: ignore[assignment]
        loss.backward()
        if info.optim_cls is torch.optim.SparseAdam:
            for p in params:
                assert p.grad is not None
                p.grad = p.grad.to_sparse()
        return loss

    losses = [optimizer.step(closure).detach() for _ in range(4)]
    state = [value for p in params for value in optimizer.state.get(p, {}).values()]
    # Step counters live on the CPU, on CUDA as here.
    moments = [x for x in _tensors(state) if x.dim()]
    return losses, [p.detach() for p in params], moments


def implementations(info: Any) -> tuple[str, ...]:
    """Which of ``MODES`` torch has for the class."""
    return tuple(m for m in MODES if m == "forloop" or m in info.supported_impls)


def check_optimizer(info: Any, mode: str, limit: int = 100) -> list[str]:
    """All failures of one class in one implementation."""
    chosen: dict[str, Any] = {mode: True}
    if mode == "forloop":
        chosen = {"foreach": False} if "foreach" in info.supported_impls else {}
    failures = []
    for sample in info.optim_inputs_func(device="cpu")[:limit]:
        fixed = ("foreach", "fused", "capturable", "differentiable")
        options = {k: v for k, v in sample.kwargs.items() if k not in fixed} | chosen
        found = bits.compare(
            lambda o=options: _trained(info, o, "cpu"),
            lambda o=options: _trained(info, bits.to_sim(o), "sim"),
            sample.desc,
        )
        failures += [found] if found else []
    return failures


def report(into: Any) -> None:
    """Run everything; ``into`` is the ``Report`` of ``tests/accelerators/sim/opdb.py``."""
    for training in (True, False):
        for info in module_database():
            for dtype in DTYPES:
                if dtype in info.dtypes:
                    found = check_module(info, dtype, training)
                    column = (
                        f"{str(dtype).removeprefix('torch.')} {'train' if training else 'eval'}"
                    )
                    into.add("module_db", column, info.name, found, None)
    for info in optimizer_database():
        for mode in implementations(info):
            name = info.optim_cls.__name__
            into.add("optim_db", mode, name, check_optimizer(info, mode), None)
