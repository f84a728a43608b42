"""What programs for CUDA rely on besides the numbers: each line gives a program, and what it prints on CUDA.

The answers are those of torch's documentation (notes on autocast, CUDA semantics, randomness, numerical accuracy) and of
its sources where the documentation is silent; none was measured. Run as a program it prints a line for each: its name,
and what the program gives on the backend of this process, or the class of what it raises.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

if __name__ == "__main__":
    import tdev as torch


class Line(NamedTuple):
    on_cuda: str
    program: Callable[[], object]


def _seeded(between: Callable[[], object]) -> bool:
    """Tell whether the CPU's next number is the same with something done before it."""
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    between()
    return torch.equal(torch.rand(1), expected)


def _in(mode: Any, value: Callable[[], object]) -> object:
    with mode:
        return value()


def _square(**where: object) -> Any:
    return torch.ones(2, 2, **where)


def _written(copied: Callable[[Any], Any], x: Any) -> bool:
    """Tell whether a write to what ``copied`` gives is seen in its source."""
    copied(x).add_(1)
    return bool((x.cpu() != 0).any())


def _flags_change_a_product() -> bool:
    a = torch.linspace(-3, 3, 64, device="cuda").reshape(8, 8)
    with torch.backends.cudnn.flags(deterministic=True, benchmark=False, allow_tf32=False):
        one = a @ a
    return not torch.equal(one, a @ a)


def _pooled_backward() -> object:
    torch.use_deterministic_algorithms(True)
    try:
        x = torch.zeros(1, 1, 4, 4, device="cuda", requires_grad=True)
        torch.nn.functional.adaptive_avg_pool2d(x, 2).sum().backward()
        return "gradient"
    finally:
        torch.use_deterministic_algorithms(False)


def _module_stays() -> bool:
    module = torch.nn.Linear(2, 2)
    weight = module.weight
    return module.cuda() is module and module.weight is weight


LINES: dict[str, Line] = {
    # mixed precision
    "autocast: the product's type": Line(
        "torch.float16",
        lambda: _in(
            torch.autocast("cuda"), lambda: (_square(device="cuda") @ _square(device="cuda")).dtype
        ),
    ),
    "autocast: a sum of what it made": Line(
        "torch.float32",
        lambda: _in(
            torch.autocast("cuda"), lambda: torch.ones(2, device="cuda").half().sum().dtype
        ),
    ),
    "autocast: default type": Line("torch.float16", lambda: torch.get_autocast_dtype("cuda")),
    "autocast: it is on": Line(
        "True", lambda: _in(torch.autocast("cuda"), lambda: torch.is_autocast_enabled())
    ),
    "autocast: tensors of the CPU": Line(
        "torch.float32", lambda: _in(torch.autocast("cuda"), lambda: (_square() @ _square()).dtype)
    ),
    "autocast: the CPU's own is on": Line(
        "False", lambda: _in(torch.autocast("cuda"), lambda: torch.is_autocast_cpu_enabled())
    ),
    "scaler: scale and state": Line(
        "(65536.0, True)",
        lambda: (
            torch.amp.GradScaler("cuda").get_scale(),
            torch.cuda.amp.GradScaler().is_enabled(),
        ),
    ),
    # two memories
    "a move to the device copies": Line(
        "False", lambda: _written(lambda x: x.cuda(), torch.zeros(2))
    ),
    "a move to the CPU copies": Line(
        "False", lambda: _written(lambda x: x.cpu(), torch.zeros(2, device="cuda"))
    ),
    "a module moves in place": Line("True", _module_stays),
    "two devices in one operator": Line(
        "RuntimeError", lambda: (torch.zeros(2, device="cuda") + torch.zeros(2)).tolist()
    ),
    "a number of the CPU's in an operator": Line(
        "[2.0]", lambda: (torch.ones(1, device="cuda") * torch.tensor(2.0)).tolist()
    ),
    "numpy() of a tensor on the device": Line(
        "TypeError", lambda: torch.zeros(1, device="cuda").numpy().tolist()
    ),
    "pinned memory": Line("True", lambda: torch.zeros(2).pin_memory().is_pinned()),
    # places and their numbers
    "index of the device": Line("0", lambda: torch.zeros(1, device="cuda").device.index),
    "get_device()": Line("0", lambda: torch.zeros(1, device="cuda").get_device()),
    "current_device()": Line("0", lambda: torch.cuda.current_device()),
    "a type by its legacy name": Line(
        "True", lambda: isinstance(torch.zeros(1, device="cuda"), torch.cuda.FloatTensor)
    ),
    "an index beyond the end": Line(
        "error", lambda: torch.zeros(3, device="cuda")[torch.tensor([5], device="cuda")].tolist()
    ),
    # random numbers
    "seeding the device leaves the CPU's numbers": Line(
        "True", lambda: _seeded(lambda: torch.cuda.manual_seed(7))
    ),
    "drawing on the device leaves the CPU's numbers": Line(
        "True", lambda: _seeded(lambda: torch.rand(5, device="cuda"))
    ),
    "the device's seed": Line(
        "7", lambda: (torch.cuda.manual_seed(7), torch.cuda.initial_seed())[1]
    ),
    "manual_seed seeds the device": Line(
        "True",
        lambda: torch.equal(
            *((torch.manual_seed(3), torch.rand(4, device="cuda"))[1] for _ in range(2))
        ),
    ),
    # types
    "whole numbers divided": Line(
        "torch.float32", lambda: (torch.arange(2, device="cuda") / 2).dtype
    ),
    "a fraction added in place to whole numbers": Line(
        "RuntimeError", lambda: torch.arange(2, device="cuda").add_(1.5)
    ),
    "a wide number added to half precision": Line(
        "torch.float16",
        lambda: (
            (torch.ones(1, device="cuda").half() + torch.tensor(1.0, dtype=torch.float64)).dtype
        ),
    ),
    "a histogram of whole numbers": Line(
        "torch.int32",
        lambda: torch.histc(torch.ones(3, dtype=torch.int32, device="cuda"), 2, 0, 2).dtype,
    ),
    "absolute values of truth": Line(
        "[True]", lambda: torch.ones(1, dtype=torch.bool, device="cuda").abs().tolist()
    ),
    "a product of whole numbers": Line(
        "RuntimeError",
        lambda: (_square(device="cuda").long() @ _square(device="cuda").long()).tolist(),
    ),
    # kernels and their flags
    "tf32 by default": Line(
        "(True, False)",
        lambda: (torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32),
    ),
    "precision by default": Line("highest", lambda: torch.get_float32_matmul_precision()),
    "a flag changes no number here": Line("False", _flags_change_a_product),
    "a kernel that cannot repeat itself": Line("RuntimeError", _pooled_backward),
    "a singular matrix": Line(
        "LinAlgError", lambda: torch.linalg.inv(torch.zeros(2, 2, device="cuda"))
    ),
}


def answer(line: Line) -> str:
    """Give what a line's program gives here, or the class of what it raises."""
    try:
        return str(line.program())
    except Exception as error:
        if line.on_cuda == "error":
            return "error"  # a device-side assertion there, an IndexError at once elsewhere
        known = (torch.linalg.LinAlgError, TypeError, RuntimeError)
        kind = next((k for k in known if isinstance(error, k)), type(error))
        return kind.__name__.lstrip("_")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name, line in LINES.items():
        print(f"{name}\t{answer(line)}")
