"""What the mirror puts in place of a torch callable looks like it to every tool that asks."""

from __future__ import annotations

import functools
import importlib
import inspect
import pickle
import pkgutil
import pydoc
import re
import types
import typing
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tdev
import torch

from tdev_core.backend import Backend, current
from tdev_core.release import torch_release
from tdev_core.shims import calls
from tests.catalog import catalog, mirrored
from tests.forkserver import python

pytestmark = pytest.mark.skipif(
    current() is Backend.CUDA, reason="on its native host the mirror hands out torch's own objects"
)


@functools.lru_cache(maxsize=1)
def wrapped() -> list[tuple[str, Any, Any]]:
    """Every path at which the mirror has a callable of its own, with torch's and the mirror's."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in sorted(catalog()["modules"]):
            try:
                original = importlib.import_module(name)
            except ImportError:
                continue  # needs an optional package that is not installed here
            mirror = importlib.import_module(mirrored(name))
            for attribute in catalog()["modules"][name]["names"]:
                theirs = getattr(original, attribute, None)
                ours = getattr(mirror, attribute, None)
                # Modules with computed attributes make a new bound method at every access.
                if ours != theirs and callable(theirs):
                    found.append((f"{name}.{attribute}", theirs, ours))
    return found


def functions() -> Iterator[tuple[str, Any, Any]]:
    kinds = (types.FunctionType, *calls.kinds())
    return (row for row in wrapped() if isinstance(row[2], kinds))


def classes() -> Iterator[tuple[str, Any, Any]]:
    return (row for row in wrapped() if isinstance(row[2], type))


def outcome(function: Callable[[Any], Any], value: Any) -> object:
    try:
        return function(value)
    except (TypeError, ValueError, NameError) as error:
        return type(error)


def worn_by_another(ours: Any, look: Callable[[Any], object]) -> bool:
    """Whether one class answers under several names of torch, and looks like another of them."""
    return any(other is ours and look(theirs) == look(ours) for _, theirs, other in classes())


def test_there_are_wrapped_callables() -> None:
    assert len(list(functions())) > 400
    assert len(list(classes())) > 50


def test_every_wrapped_callable_is_a_function_or_a_class() -> None:
    """A function of C, where that is what torch has there."""
    others = []
    for path, theirs, ours in wrapped():
        if isinstance(theirs, types.BuiltinFunctionType) and isinstance(ours, calls.kinds()):
            continue
        if not isinstance(ours, (types.FunctionType, type)):
            others.append(path)
    assert others == []


def test_signatures_agree() -> None:
    different = [
        path
        for path, theirs, ours in functions()
        if outcome(inspect.signature, theirs) != outcome(inspect.signature, ours)
    ]
    assert different == []


def test_signatures_of_classes_agree_where_torch_has_one() -> None:
    def look(value: Any) -> object:
        return outcome(inspect.signature, value)

    different = [
        path
        for path, theirs, ours in classes()
        if isinstance(look(theirs), inspect.Signature)
        and look(theirs) != look(ours)
        and not worn_by_another(ours, look)
    ]
    assert different == []


def _parameters(value: Any) -> list[tuple[str, Any, str]] | None:
    """Name, kind and default of each parameter; None where there is no signature to be had."""
    signature = outcome(inspect.signature, value)
    if not isinstance(signature, inspect.Signature):
        return None
    return [(p.name, p.kind, repr(p.default)) for p in signature.parameters.values()]


def _takes_what_torch_takes(theirs: Any, ours: Any) -> bool:
    """Whether ours has torch's parameters first, in order, and can do without any further one.

    What torch takes by position alone ours may take by name as well; what it takes by name alone has no order.
    """
    wanted, found = _parameters(theirs), _parameters(ours)
    if wanted is None or found is None:
        return True
    named = [one for one in wanted if one[1] == inspect.Parameter.KEYWORD_ONLY]
    if not {one[:2] for one in named} <= {one[:2] for one in found}:
        return False
    wanted = [one for one in wanted if one not in named]
    found = [one for one in found if one[:2] not in {known[:2] for known in named}]
    rest = found[len(wanted) :]
    by_position, by_name = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )
    return (
        len(found) >= len(wanted)
        and all(
            ours[:2] == theirs[:2]
            or (theirs[1], ours[1]) == (by_position, by_name)
            or (theirs[0], inspect.Parameter.KEYWORD_ONLY) in {one[:2] for one in rest}
            for theirs, ours in zip(wanted, found, strict=False)
        )
        and all(default != repr(inspect.Parameter.empty) for _, _, default in rest)
    )


def _tells_nothing(theirs: Any) -> bool:
    """Whether a class of torch is one that it makes where it was built without that device, and takes anything."""
    made = getattr(theirs, "__new__", None) if isinstance(theirs, type) else None
    return getattr(made, "__module__", None) == "torch._utils"


def there(dotted: str) -> bool:
    """Whether the installed torch has that name, and a signature of it."""
    try:
        return _parameters(pkgutil.resolve_name(dotted)) is not None
    except (AttributeError, ImportError):
        return False


ALWAYS = (99, 0)
# One class is `Event` (`MemPool`, `CUDAGraph`) of every accelerator: CUDA's, which takes more; until that release of torch.
TAKES_MORE = {
    "torch.accelerator.device_index": ALWAYS,  # torch.cuda.device, whose argument has a name
    "torch.cuda.CUDAGraph.debug_dump": (2, 14),  # `verbose`
    "torch.cuda.graphs.CUDAGraph.debug_dump": (2, 14),
    "torch.cuda.Event.from_ipc_handle": ALWAYS,  # `ipc_handle`, as torch.xpu and torch.Event name it
    "torch.cuda.streams.Event.from_ipc_handle": ALWAYS,
    "torch.mps.Event": ALWAYS,
    "torch.mps.Event.record": ALWAYS,
    "torch.mps.Event.wait": ALWAYS,
    "torch.mps.event.Event": ALWAYS,
    "torch.mps.event.Event.record": ALWAYS,
    "torch.mps.event.Event.wait": ALWAYS,
    "torch.mtia.MTIAGraph.capture_begin": ALWAYS,
    "torch.mtia.mtia_graph.MTIAGraph.capture_begin": ALWAYS,
    "torch.xpu.Event": ALWAYS,
    "torch.xpu.Event.from_ipc_handle": ALWAYS,  # since 2.15
    "torch.xpu.MemPool": (2, 14),  # since 2.13
    "torch.xpu.MemPool.snapshot": ALWAYS,
    "torch.xpu.XPUGraph.capture_begin": ALWAYS,
    "torch.xpu.XPUGraph.debug_dump": ALWAYS,
    "torch.xpu.graphs.XPUGraph.capture_begin": ALWAYS,
    "torch.xpu.graphs.XPUGraph.debug_dump": ALWAYS,
    "torch.xpu.memory.MemPool": (2, 14),
    "torch.xpu.memory.MemPool.snapshot": ALWAYS,
    "torch.xpu.streams.Event": ALWAYS,
    "torch.xpu.streams.Event.from_ipc_handle": ALWAYS,
}


def test_whatever_torch_takes_is_taken() -> None:
    """Every function, class and public method: the same parameters, and where one class has several names, more."""
    checked, differ, refused = 0, set(), []
    for path, theirs, ours in wrapped():
        pairs = [(path, theirs, ours)]
        if isinstance(theirs, type) and isinstance(ours, type):
            names = (name for name in dir(theirs) if name[0] != "_" and hasattr(ours, name))
            pairs += [(f"{path}.{n}", getattr(theirs, n), getattr(ours, n)) for n in names]
        for name, one, other in pairs:
            if not callable(one) or one is other or _tells_nothing(one):
                continue
            checked += 1
            if not _takes_what_torch_takes(one, other):
                refused.append(name)
            elif (
                None not in (mine := [_parameters(one), _parameters(other)]) and mine[0] != mine[1]
            ):
                differ.add(name)
    assert checked > 600
    assert refused == []
    expected = {n for n, until in TAKES_MORE.items() if torch_release < until and there(n)}
    if torch_release < (2, 15):
        expected -= {"torch.xpu.Event.from_ipc_handle", "torch.xpu.streams.Event.from_ipc_handle"}
    if torch_release < (2, 13):
        expected |= {
            "torch.cuda.CUDAGraph.capture_begin",
            "torch.cuda.graphs.CUDAGraph.capture_begin",
        }
    # As torch was built, or not, for xpu: its MemPool tells its own parameters.
    either = {"torch.xpu.MemPool", "torch.xpu.memory.MemPool"}
    assert differ - either == expected - either


def test_names_agree() -> None:
    different = [
        path
        for path, theirs, ours in wrapped()
        if getattr(theirs, "__name__", None) not in (None, ours.__name__)
        and not worn_by_another(ours, lambda value: value.__name__)
    ]
    assert different == []


def said_of_backends(theirs: Any, ours: Any) -> str | None:
    """What the mirror's documentation adds to torch's; None where it is another one."""
    text, docs = inspect.getdoc(ours) or "", (inspect.getdoc(theirs) or "").rstrip()
    return text[len(docs) :].strip() if text.startswith(docs) else None


def test_docstrings_are_torchs_and_end_with_what_each_backend_does() -> None:
    backends = {"cuda", "mps", "mlx", "sim", "cpu"}
    different = {}
    for path, theirs, ours in wrapped():
        if not theirs.__doc__:
            continue
        said = said_of_backends(theirs, ours)
        if said is None:
            others = [original for _, original, other in classes() if other is ours]
            if all(said_of_backends(original, ours) is None for original in others):
                different[path] = "another docstring"
        elif path in answered():
            lines = [line for line in said.splitlines() if re.match(r"    \w", line)]
            told = [name for line in lines for name in line.partition(":")[0].split(", ")]
            if not said.startswith("Backends:\n") or {*map(str.strip, told)} != backends:
                different[path] = said
    assert different == {}
    assert len(answered()) > 400


@functools.lru_cache(maxsize=1)
def answered() -> frozenset[str]:
    """The public names that a mirror answers with a definition of its own, by every path."""
    return frozenset(
        path
        for member in catalog()["members"].values()
        if member["mirror"] != "same" and member["kind"] in ("function", "builtin")
        for path in member["exports"]
    )


def test_documentation_says_what_a_backend_does() -> None:
    assert "    mps: raises tdev.UnsupportedError; macOS gives" in str(tdev.cuda.clock_rate.__doc__)
    assert "device arguments are translated" in str(tdev.zeros.__doc__)
    assert "cuda: torch's own" in str(tdev.cuda.Stream.__doc__)
    # As deep as the text above it, so that help() shows all of it at one margin.
    page = pydoc.plain(pydoc.render_doc(tdev.cuda.synchronize))
    assert "\n    Args:\n" in page and "\n    Backends:\n        cuda: torch's own\n" in page


def test_the_source_of_a_function_is_what_runs() -> None:
    """Where torch's own is written in Python; a builtin has no source in torch either."""
    others = []
    for path, theirs, ours in functions():
        if not isinstance(inspect.unwrap(theirs), types.FunctionType):
            continue
        file = Path(inspect.getsourcefile(inspect.unwrap(ours)) or "").as_posix()
        code = inspect.unwrap(ours).__code__
        if not re.search(r"/(generated/tdev|tdev_core)/", file) or (
            inspect.getsourcelines(ours)[1] != code.co_firstlineno
        ):
            others.append((path, file))
    assert others == []
    assert "match _instead_of_cuda():" in inspect.getsource(tdev.cuda.synchronize)


def test_annotations_agree() -> None:
    def hints(value: Any) -> object:
        return outcome(typing.get_type_hints, value)

    different = [path for path, theirs, ours in functions() if hints(theirs) != hints(ours)]
    assert different == []


def test_help_agrees() -> None:
    def page(value: Any) -> str:
        # The first line names the module, which is the mirror's.
        text = pydoc.plain(pydoc.render_doc(value)).partition("\n")[2]
        return re.sub(r"\s*^    Backends:\n        cuda.*", "", text, flags=re.M | re.S).rstrip()

    different = [
        path
        for path, theirs, ours in functions()
        # What pybind makes is shown as a method of a pybind object.
        if theirs.__doc__
        and not type(getattr(theirs, "__self__", None)).__module__.startswith("pybind11")
        and page(theirs) != page(ours)
    ]
    assert different == []


def test_wrapped_names_the_original_of_a_builtin() -> None:
    """For it, inspect then finds what it finds of torch's: mostly nothing."""
    originals = [torch.zeros, torch.linspace]
    functions: list[Callable[..., Any]] = [tdev.zeros, tdev.linspace]
    assert [inspect.unwrap(f, stop=lambda step: step in originals) for f in functions] == originals


def test_functions_pickle_by_the_name_of_their_module() -> None:
    broken = [path for path, _, ours in functions() if pickle.loads(pickle.dumps(ours)) is not ours]
    assert broken == []


def test_classes_pickle() -> None:
    broken = [path for path, _, ours in classes() if pickle.loads(pickle.dumps(ours)) != ours]
    assert broken == []


@pytest.mark.parametrize("name", ["device", "Generator", "Stream", "Event"])
def test_the_stand_ins_pickle_as_what_they_stand_for(name: str) -> None:
    """A program that only has torch reads them."""
    data = pickle.dumps(getattr(tdev, name))
    code = f"import pickle, sys; print(pickle.loads(bytes.fromhex({data.hex()!r})), 'tdev' in sys.modules)"
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [*str(getattr(torch, name)).split(), "False"]


def test_a_subclass_has_the_signature_of_its_own_constructor() -> None:
    class Mine(tdev.cuda.Stream):
        def __new__(cls, number: int) -> Mine:
            return super().__new__(cls)

        def __init__(self, number: int) -> None:
            self.number = number

    assert list(inspect.signature(Mine).parameters) == ["number"]


def test_functools_wraps_takes_torchs_looks_over() -> None:
    @functools.wraps(tdev.zeros)
    def mine(*args: Any) -> Any:
        return tdev.zeros(*args)

    assert mine.__name__ == "zeros"
    assert mine.__doc__ == tdev.zeros.__doc__
    assert str(mine.__doc__).startswith(str(torch.zeros.__doc__).rstrip())
