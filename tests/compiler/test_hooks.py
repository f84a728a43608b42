"""Each hook into torch's compiler is called by torch: one that is not is dead, and what it mends is not mended.

torch moves what it does for a method from one place to another between releases, and keeps the old name for a while.
"""

from __future__ import annotations

import pytest

from tests.catalog import catalog
from tests.programs import COMPILER, run

# What reaches each hook, in terms of x, a tensor on the backend; each is compiled as the body of a function of its own.
REACHES = {
    "builder.VariableBuilder._wrap": "return x + 1",
    "builtin.BuiltinVariable.call_isinstance": "return x + isinstance(x, tdev.cuda.FloatTensor)",
    "streams.EventVariable.call_method": "e = tdev.cuda.Event(); e.record(); e.synchronize(); return x + 1",
    "streams.EventVariable.python_type": "e = tdev.cuda.Event(); return x + isinstance(e, tdev.cuda.Event)",
    "streams.EventVariable.reconstruct": "e = tdev.cuda.Event(); e.record(); return x + 1, e",
    "streams.StreamContextVariable.enter": "with tdev.cuda.stream(tdev.cuda.Stream()): return x + 1",
    "streams.StreamContextVariable.exit": "with tdev.cuda.stream(tdev.cuda.Stream()): y = x + 1\n    return y",
    "streams.StreamVariable.call_method": "s = tdev.cuda.Stream(); s.synchronize(); return x + 1",
    "streams.StreamVariable.python_type": "return x + (type(tdev.cuda.Stream()) is not int)",
    "streams.SymbolicStreamState.cur_stream": "s = tdev.cuda.current_stream(); s.wait_stream(s); return x + 1",
    "tensor.TensorVariable.call_method": "return x.new_tensor([1.0], device='cuda') + x",
    "user_defined.UserDefinedClassVariable.call_function": "tdev.cuda.Stream(); return x + 1",
}
_PLACE = "torch._dynamo.variables."


def test_every_hook_has_a_program() -> None:
    hooks = {f"{row['owner']}.{row['name']}" for row in catalog()["shims"]}
    assert {dotted for dotted in hooks if dotted.startswith(_PLACE)} == {
        _PLACE + k for k in REACHES
    }


@pytest.mark.parametrize("backend", ["cpu", "sim"])
def test_torch_calls_every_hook(backend: str) -> None:
    lines = [
        "import functools, importlib, tdev, torch",
        "x = tdev.ones(3, device='cuda')",
        "called = set()",
    ]
    for number, (place, body) in enumerate(REACHES.items()):
        module, owner, name = place.split(".")
        lines += [
            f"def f{number}(x):\n    {body}",
            f"cls = importlib.import_module({_PLACE + module!r}).{owner}",
            f"assert hasattr(cls.__dict__[{name!r}], '__wrapped__'), {place!r}",
            f"""
def counting(original, place={place!r}):
    def counted(*args, **kwargs):
        called.add(place)
        return original(*args, **kwargs)
    return counted
cls.{name} = counting(cls.{name})
torch._dynamo.reset()
tdev.compile(f{number}, backend='eager')(x)
if {place!r} not in called:
    print({place!r})
""",
        ]
    assert run("\n".join(lines), preload=COMPILER, TDEV_BACKEND=backend).split() == []
