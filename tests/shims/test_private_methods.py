"""Each private method that a shim replaces is called by torch: one that is not any more is dead, and nothing else says so.

A program calls what is public, and its own tests tell when that does nothing. A private method is a hook: torch renames it,
or stops calling it, and the mirror imports and works but for what stood there.
"""

from __future__ import annotations

import pytest

from tests.catalog import catalog
from tests.programs import run

# What reaches each, by the class that has it.
REACHES = {
    "torch.amp.grad_scaler.GradScaler": "tdev.amp.GradScaler('cuda').scale(x.sum())",
    "torch.nn.attention.bias.CausalBias": """
        from torch.nn.attention import bias
        for make in (bias.causal_lower_right, bias.causal_upper_left):
            make(2, 3)._materialize("cuda")
    """,
    "torch.nn.parallel.distributed.DistributedDataParallel": """
        tdev.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
        tdev.nn.parallel.DistributedDataParallel(tdev.nn.Linear(3, 1), static_graph=True)
    """,
}
ATTRIBUTES = {
    "torch.nn.parameter.UninitializedTensorMixin._allowed_methods": "a list, read by __torch_function__; "
    "tests/shims/test_devices_and_factories.py moves lazy modules",
}
_DYNAMO = "torch._dynamo."  # tests/compiler/test_hooks.py


def private_methods() -> list[str]:
    """What the shims replace that has a private name, but for the compiler's."""
    shims = [row for row in catalog()["shims"] if not row["owner"].startswith(_DYNAMO)]
    named = [(row["owner"], row["name"]) for row in shims]
    return [f"{o}.{n}" for o, n in named if n.startswith("_") and not n.endswith("__")]


def test_every_private_method_has_a_program() -> None:
    methods = set(private_methods()) - ATTRIBUTES.keys()
    assert {one.rpartition(".")[0] for one in methods} == REACHES.keys()
    assert set(private_methods()) >= ATTRIBUTES.keys()


@pytest.mark.parametrize("backend", ["cpu", "sim"])
@pytest.mark.parametrize("owner", REACHES)
def test_torch_calls_every_private_method(owner: str, backend: str) -> None:
    names = [one for one in private_methods() if one.rpartition(".")[0] == owner]
    program = "\n".join(line.removeprefix(" " * 8) for line in REACHES[owner].splitlines())
    code = f"""
import functools, importlib, tdev, torch
x = tdev.ones(3, device="cuda")
waiting = set({names!r})
def counted(dotted, original):
    @functools.wraps(original)
    def counting(*args, **kwargs):
        waiting.discard(dotted)
        return original(*args, **kwargs)
    return counting
for dotted in {names!r}:
    home, cls, name = dotted.rsplit(".", 2)
    owner = getattr(importlib.import_module(home), cls)
    setattr(owner, name, counted(dotted, getattr(owner, name)))
{program}
print(*sorted(waiting))
"""
    assert run(code, TDEV_BACKEND=backend).split() == []
