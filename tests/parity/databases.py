"""The entries of torch's own databases, each called through torch and through tdev."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import tdev
import torch
from compare import UNINITIALISED, Outcome, difference, on_cuda, run
from resolve import through_mirror

__all__ = [
    "Verdict",
    "judge_module",
    "judge_operator",
    "judge_optimizer",
    "operators",
    "takes_device",
]

# One of each class that torch's operators tell apart.
DTYPES = (
    torch.float32,
    torch.float64,
    torch.bfloat16,
    torch.float16,
    torch.complex64,
    torch.int64,
    torch.int8,
    torch.bool,
)


@dataclass
class Verdict:
    """What came of one entry: how it was reached, how many calls, and which of them differ.

    ``unsteady`` are calls in which torch differs from torch: nothing can be equal to them.
    """

    name: str
    reached: str = ""
    samples: int = 0
    with_device: int = 0
    raised: int = 0
    different: list[str] = field(default_factory=list)
    unsteady: list[str] = field(default_factory=list)
    skipped: str = ""


def operators() -> list[Any]:
    """``op_db``, every entry with its variant, in torch's order."""
    from torch.testing._internal.common_methods_invocations import op_db

    return list(op_db)


def _name(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


def takes_device(op: Any) -> bool:
    """Whether the mirror defines ``op`` and translates a ``device`` argument of it."""
    _, reached = through_mirror(op.op, op.name)
    home, _, leaf = reached.removeprefix("tdev.").rpartition(".")
    routed = vars(tdev)["__tdev_mirror__"].routed
    return not home and leaf in routed and leaf != "normal"  # which has overloads without one


def judge_operator(op: Any, samples: int) -> Verdict:
    """Call ``op`` with up to ``samples`` of its sample inputs in every class of dtype."""
    function, reached = through_mirror(op.op, op.name)
    verdict = Verdict(_name(op), reached)
    supported = op.supported_dtypes("cpu")
    contents = op.name not in UNINITIALISED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for dtype in [dtype for dtype in DTYPES if dtype in supported] or [torch.float32]:
            for sample in _samples(op, dtype, samples):
                args = (sample.input, *sample.args)
                kwargs = dict(sample.kwargs)
                expected = run(op.op, args, kwargs)
                ours = (on_cuda(args), on_cuda(kwargs))
                if "device" not in kwargs and takes_device(op):
                    ours[1]["device"] = "cuda"
                found = run(function, *ours)
                verdict.samples += 1
                verdict.with_device += "device" in ours[1]
                verdict.raised += expected.error is not None
                told = difference(expected, found, contents=contents)
                if told and _unsteady(expected, op.op, args, kwargs):
                    verdict.unsteady.append(f"{dtype}: {told}")
                elif told:
                    verdict.different.append(f"{dtype}: {told}")
    if not verdict.samples:
        verdict.skipped = "torch has no sample inputs for it on the CPU"
    return verdict


def _unsteady(expected: Outcome, function: Any, args: Any, kwargs: Any) -> bool:
    """Whether torch itself gives something else at another time, from copies at other addresses."""
    between = [torch.empty(size) for size in range(1, 100, 7)]
    again = [run(function, args, kwargs) for _ in between]
    return any(difference(expected, outcome) for outcome in again)


def _samples(op: Any, dtype: torch.dtype, count: int) -> Iterator[Any]:
    torch.manual_seed(0)
    return itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), count)


def judge_module(info: Any, samples: int) -> Verdict:
    """Build each module with ``device="cuda"`` through tdev, and compare parameters, outputs, grads."""
    made, reached = through_mirror(info.module_cls, info.module_cls.__name__)
    verdict = Verdict(info.name, reached)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for dtype, training in itertools.product((torch.float32, torch.float64), (True, False)):
            if dtype not in info.dtypes:
                continue
            torch.manual_seed(0)
            inputs = info.module_inputs_func(info, "cpu", dtype, True, training)
            for given in itertools.islice(inputs, samples):
                given = _leaves(given)
                verdict.samples += 1
                verdict.with_device += 1
                expected = run(_trained, (info.module_cls, given, "cpu", dtype, training), {})
                found = run(_trained, (made, given, "cuda", dtype, training), {})
                verdict.raised += expected.error is not None
                told = difference(expected, found)
                if told:
                    verdict.different.append(f"{dtype}: {told}")
    return verdict


def _leaves(given: Any) -> Any:
    """The same inputs as leaves: some of torch's hang on a graph that can be walked once only."""

    def leaf(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.grad_fn is not None:
            return value.detach().requires_grad_(value.requires_grad)
        return value

    for call in (given.constructor_input, given.forward_input):
        if call is not None:
            call.args, call.kwargs = torch.utils._pytree.tree_map(leaf, (call.args, call.kwargs))
    return given


def _trained(cls: Any, given: Any, device: str, dtype: torch.dtype, training: bool) -> Any:
    arguments = given.constructor_input
    kwargs = {**arguments.kwargs, "dtype": dtype}
    try:
        module = cls(*arguments.args, **kwargs, device=device)
    except TypeError:  # layers without parameters take neither
        module = cls(*arguments.args, **arguments.kwargs)
    module.to(device, dtype).train(training)
    call = given.forward_input
    if call is None:
        return dict(module.state_dict())
    result = module(*call.args, **call.kwargs)
    tensors = [leaf for leaf in torch.utils._pytree.tree_leaves(result) if torch.is_tensor(leaf)]
    loss = sum(leaf.float().sum() for leaf in tensors if leaf.requires_grad)
    if isinstance(loss, torch.Tensor):
        loss.backward()
    grads = [parameter.grad for parameter in module.parameters()]
    return result, grads, dict(module.state_dict())


def judge_optimizer(info: Any, samples: int) -> Verdict:
    """Five steps of each optimizer on parameters that were moved to ``"cuda"``, and its state."""
    made, reached = through_mirror(info.optim_cls, f"optim.{info.optim_cls.__name__}")
    verdict = Verdict(info.optim_cls.__name__, reached)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given in itertools.islice(info.optim_inputs_func(device="cpu"), samples):
            verdict.samples += 1
            verdict.with_device += 1
            expected = run(_stepped, (torch, info.optim_cls, given, "cpu"), {})
            found = _stepped_through_mirror(made, given)
            verdict.raised += expected.error is not None
            told = difference(expected, found)
            if told:
                verdict.different.append(f"{given.desc}: {told}")
    return verdict


def _stepped_through_mirror(made: Any, given: Any) -> Outcome:
    return run(_stepped, (tdev, made, given, "cuda"), {})


def _stepped(api: Any, cls: Any, given: Any, device: str) -> Any:
    model = api.nn.Sequential(api.nn.Linear(4, 4, device=device), api.nn.Linear(4, 2).to(device))
    parameters = [p for p in model.parameters() if p.ndim == 2]
    kwargs = dict(given.kwargs)
    if cls.__name__ == "SparseAdam":
        parameters = [api.nn.Parameter(api.ones(3, 2, device=device))]
    optimizer = cls(parameters, **kwargs)
    data = api.ones(3, 4, device=device)

    def closure() -> Any:
        optimizer.zero_grad()
        if cls.__name__ == "SparseAdam":
            grad = api.sparse_coo_tensor([[0, 2]], api.ones(2, 2, device=device), (3, 2))
            parameters[0].grad = grad.to(device)
            return parameters[0].sum().detach()
        loss = model(data).pow(2).sum()
        loss.backward()
        return loss

    for _ in range(5):
        closure()
        optimizer.step(closure)
    return list(parameters), optimizer.state_dict()
