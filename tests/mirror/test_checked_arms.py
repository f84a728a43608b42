"""Every arm of every emitted function, also those for hardware that is not here.

The module's backend is forced, and what the arm calls is replaced by an autospec of it: a wrong name, a
wrong keyword or a wrong number of arguments fails, whatever the hardware. That is what ``checked`` in
the catalog means.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import pytest
import torch

from tdev_core.backend import Backend, current
from tdev_core.errors import UnsupportedError
from tdev_core.mirror.namespace import own_names
from tests.catalog import catalog
from tests.mirror.arms import Case, arguments, cases, core_calls, in_stub, targets

importlib.import_module("tdev")
pytestmark = pytest.mark.skipif(
    current() is Backend.CUDA, reason="there the mirror hands out torch's own functions"
)


@contextmanager
def forced(case: Case) -> Iterator[None]:
    """The emitted module believes that the backend of ``case`` is the active one."""
    names = own_names(case.mirror)
    asked = "_" + catalog()["mirrors"][case.module]["asked"]
    before = names.get(asked)  # None where nothing in it depends on the backend
    names[asked] = lambda: Backend[case.backend]
    try:
        yield
    finally:
        names[asked] = before


def emitted(case: Case) -> Any:
    """The function as the emitted module defines it."""
    found = own_names(case.mirror)[case.row["name"]]
    assert found.__module__ == case.mirror.__name__
    return found


def spied(stack: ExitStack, case: Case) -> dict[str, Any]:
    """Put an autospec in the place of everything the arm calls."""
    spies: dict[str, Any] = {}
    for target in targets(case):
        if target.text in spies:
            continue
        if hasattr(target.parent, target.leaf):
            spy = mock.create_autospec(getattr(target.parent, target.leaf))
            stack.enter_context(mock.patch.object(target.parent, target.leaf, spy))
        else:
            # A build of torch without CUDA lacks the C functions; torch's own stub has them all.
            assert target.parent is torch._C and in_stub(target.leaf), f"no {target.text}"
            spy = mock.MagicMock()
            stack.enter_context(mock.patch.object(torch._C, target.leaf, spy, create=True))
        spies[target.text] = spy
    return spies


NOTHING = {f"torch.{kind}.init" for kind in ("cuda", "mtia", "xpu")} | {
    f"torch.{kind}.profiler.{word}" for kind in ("cuda", "mps") for word in ("start", "stop")
}
"""Called for what they do; some backends hand back what torch's own does."""
NONE = {"torch.version.hip"}
"""Values that are None unless a profile says otherwise: no ROCm is compiled in."""


def answers(original: Any) -> bool:
    """Whether torch annotates that something comes back, and never None."""
    told = str(getattr(original, "__annotations__", {}).get("return", None))
    return told not in ("None", "<class 'NoneType'>") and not re.search(
        r"None|Any|Optional|~", told
    )


def unsupported(case: Case) -> bool:
    return bool(case.body[0].startswith("_unsupported("))


@pytest.mark.parametrize("everything", [False, True], ids=["required", "all"])
@pytest.mark.parametrize("case", cases("routed"), ids=str)
def test_the_arm_calls_what_is_there_as_it_wants_to_be_called(case: Case, everything: bool) -> None:
    if any("mlx.core" in line for line in case.body):
        pytest.importorskip("mlx.core")
    args, kwargs = arguments(case, everything=everything)
    function = emitted(case)
    with ExitStack() as stack:
        stack.enter_context(forced(case))
        if unsupported(case):
            with pytest.raises(UnsupportedError, match=re.escape(case.row["torch_name"])):
                function(*args, **kwargs)
            return
        spies = spied(stack, case)
        answer = function(*args, **kwargs)
    idle = [text for text, spy in spies.items() if not spy.called]
    assert not idle, f"the arm ran without calling {idle}"
    # What answers on one backend answers on all: a driver's number, an empty dictionary, False; not None.
    bodies = [arm["body"] for arm in case.row["arms"] if case.backend not in arm["backends"]]
    if answers(case.original) or any(line.startswith("return ") for b in bodies for line in b):
        assert answer is not None or case.row["torch_name"] in NOTHING, "only this arm answers None"
    if not spies:
        assert case.body[0].startswith("return"), case.body
        assert not isinstance(answer, mock.NonCallableMock)


@pytest.mark.parametrize("case", cases("bound"), ids=str)
def test_a_class_or_value_is_bound_to_one_that_is_there(case: Case) -> None:
    names = dict(own_names(case.mirror))
    exec("\n".join(case.body), names)  # noqa: S102  # statements of the catalog, one assignment each
    bound, original = names[case.row["name"]], case.original
    assert bound is not None or case.row["torch_name"] in NONE
    if isinstance(original, type):
        assert callable(bound), f"{case.row['torch_name']} is a class; {bound!r} cannot be called"


@pytest.mark.parametrize("case", cases("translated"), ids=str)
def test_a_translated_call_hands_on_what_torch_takes(case: Case) -> None:
    args, kwargs = arguments(case, everything=True)
    with ExitStack() as stack:
        spies = spied(stack, case)
        emitted(case)(*args, **kwargs)
    originals = [spy for text, spy in spies.items() if text.startswith(("torch.", "vars("))]
    assert originals and all(spy.called for spy in originals)


@pytest.mark.parametrize("call", core_calls(), ids=str)
def test_the_core_calls_torchs_device_modules_as_they_want_to_be_called(call: Any) -> None:
    """Calls of ``torch.cuda``, ``torch.mps``, ``torch.xpu``, … that only run on such hardware."""
    function = call.resolve()
    assert function is not None, f"{call}: torch has no {call.dotted}"
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # a C function: Python does not know how it is called
    signature.bind(*call.args, **call.kwargs)
