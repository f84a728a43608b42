"""What calls through ``_calls.c`` keep or give away: every path of that file, some thousand times each.

It needs the C module and no torch, so that a program can watch one that was compiled for it::

    python tests/shims/leaks.py PATH-OF-THE-MODULE      # prints what grows, and ends with 1 if anything does
"""

from __future__ import annotations

import gc
import importlib.util
import sys
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

CALLS = 10_000
FEW = 1_000
"""Blocks or references that may come and go: the interpreter caches names that are looked up."""


class Tensor:
    """What a method's wrapper asks of a tensor."""

    def __init__(self, requires_grad: object = False, is_leaf: object = True) -> None:
        self.requires_grad = requires_grad
        self.is_leaf = is_leaf


class Raises:
    """An object of which nothing can be asked."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def __bool__(self) -> bool:
        raise self.error

    def __hash__(self) -> int:
        raise self.error


class Brittle:
    """A key that can be put into a dictionary, and then no more be looked for."""

    def __init__(self) -> None:
        self.put = False

    def __hash__(self) -> int:
        if self.put:
            raise RuntimeError
        self.put = True
        return 0


class Asked:
    """A tensor whose attributes raise."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    @property
    def requires_grad(self) -> bool:
        raise self.error


class Paths:
    """Calls by what they are meant to reach; ``held`` is what they must neither keep nor give away."""

    def __init__(self, module: Any) -> None:
        def wrapper(*args: object, **kwargs: object) -> str:
            """The wrapper's own."""
            return "wrapper"

        def original(*args: object, **kwargs: object) -> str:
            return "original"

        def failing(*args: object, **kwargs: object) -> None:
            raise ValueError

        # Strings that no other code has, so that nobody else counts in their references.
        cuda, cuda0, cpu, host, dtype, called = (
            "".join((text, "!")) for text in ("cuda", "cuda:0", "cpu", "host", "t", "f")
        )
        targets = {cuda: cpu, cuda0: cpu, cpu: cpu, host: host}
        layouts = {cuda: host}
        names = {"device": targets, "layout": layouts, "seen": None, "dtype": True}
        open_names = {"device": targets, "seen": None}
        kinds = (str, Raises)
        namespace = {called: original}
        function = module.Function(wrapper, (namespace, called), open_names, kinds)
        gone = module.Function(wrapper, ({}, called), open_names, kinds)
        short = module.Function(wrapper, original, open_names, kinds, 2)
        broken = module.Function(failing, failing, open_names, kinds)
        where = targets, {cuda, cuda0}
        method = module.Method(wrapper, original, names, kinds, -1, *where, cuda)
        explicit = module.Method(wrapper, original, names, kinds, -1, *where)
        breaks = module.Method(failing, failing, names, kinds, -1, *where, cuda)
        plain, leaf, inner = Tensor(), Tensor(True, True), Tensor(True, False)
        unasked = Asked(AttributeError)
        interrupted, unknown = Asked(KeyboardInterrupt), Tensor(Raises(RuntimeError))
        uncertain = Tensor(Raises(TypeError))
        unhashable = Raises(RuntimeError)
        there = "".join(("there", "!"))
        stays, goes = Tensor(), Tensor()
        marks: dict[int, object] = {id(stays): weakref.ref(stays)}

        def copied(*args: object, **kwargs: object) -> Tensor:
            return Tensor()

        def told(tensor: object) -> object:
            return tensor is goes

        def asking(tensor: object) -> object:
            raise RuntimeError

        moving = module.Method(wrapper, copied, names, kinds, -1, *where, cuda, marks, there, told)
        handing = module.Method(
            wrapper, original, names, kinds, -1, *where, None, marks, there, None
        )
        explicitly = module.Method(
            wrapper, copied, names, kinds, -1, *where, None, marks, there, None
        )
        asked = module.Method(wrapper, copied, names, kinds, -1, *where, cuda, marks, there, asking)
        unsure = module.Method(
            wrapper,
            copied,
            names,
            kinds,
            -1,
            *where,
            cuda,
            marks,
            there,
            lambda tensor: Raises(AttributeError),
        )
        # More marks of tensors that have died than are left unswept, before and after a sweep that fails.
        dead = dict.fromkeys(range(2070), weakref.ref(Tensor()))
        rigid = dict.fromkeys((Brittle(), *range(1030)), weakref.ref(Tensor()))
        stuck = module.Method(wrapper, copied, names, kinds, -1, *where, cuda, rigid, there, None)

        # How many are left unswept is the library's, and what ran before has had a say in it.
        marks.update(dict.fromkeys(range(1 << 17), weakref.ref(Tensor())))
        moving(plain, cuda)

        def swept() -> object:
            marks.update(dead)
            return type(moving(plain, cuda))

        def swept_in_vain() -> None:
            swept()
            if len(rigid) > 1031:
                rigid.popitem()  # the mark of the call before
            stuck(plain, cuda)

        device = property(lambda tensor: cpu)
        getter = module.DeviceGetter(device, marks, there)
        failing_getter = module.DeviceGetter(property(asking), marks, there)
        many = (dtype,) * 18
        self.held = [wrapper, original, failing, cuda, cuda0, cpu, host, dtype, targets, names]
        self.held += [open_names, kinds, namespace, function, gone, short, broken, method, explicit]
        self.held += [breaks, plain, leaf, inner, unasked, interrupted, unknown, uncertain]
        self.held += [
            unknown.requires_grad,
            uncertain.requires_grad,
            unhashable,
            there,
            stays,
            goes,
            marks,
            copied,
            told,
            asking,
            moving,
            handing,
            explicitly,
            asked,
            unsure,
            device,
            getter,
            failing_getter,
            many,
            layouts,
            called,
            module.Function,
            module.Method,
            module.DeviceGetter,
            rigid,
            stuck,
            *where,
        ]

        def built(*arguments: Any) -> Callable[[], object]:
            return lambda: module.Method(*arguments)

        self.calls: dict[str, tuple[object, Callable[[], object]]] = {
            "as it is": ("original", lambda: function(dtype)),
            "as it is, by name": ("original", lambda: function(1, other=dtype)),
            "as it is, a known value": ("original", lambda: function(1, device=host)),
            "changed by name": ("original", lambda: function(1, device=cuda)),
            "changed among others": ("original", lambda: function(1, a=1, device=cuda, b=2)),
            "the wrapper's name": ("wrapper", lambda: function(1, device=cuda, seen=1)),
            "an unknown value": ("wrapper", lambda: function(1, device=dtype)),
            "a strange value": ("wrapper", lambda: function(1, device=1)),
            "too many positional": ("wrapper", lambda: short(1, 2, 3)),
            "too many to change": ("wrapper", lambda: function(*many, device=cuda)),
            "gone from its module": ("wrapper", lambda: gone(1, device=cuda)),
            "cannot be hashed": (RuntimeError, lambda: function(1, device=unhashable)),
            "cannot be hashed, after a change": (
                RuntimeError,
                lambda: method(plain, cuda, layout=unhashable),
            ),
            "torch's raises": (ValueError, lambda: broken(1)),
            "torch's raises on a change": (ValueError, lambda: broken(1, device=cuda)),
            "the wrapper raises": (ValueError, lambda: broken(1, seen=1)),
            "a copy": ("original", lambda: method(plain, cuda)),
            "a copy, with names": ("original", lambda: method(plain, cuda0, dtype=1)),
            "a copy, by name": ("original", lambda: explicit(plain, device=cuda)),
            "a copy, by name and names": (
                "original",
                lambda: explicit(plain, dtype=1, device=cuda),
            ),
            "a copy, and a name that is changed": (
                "original",
                lambda: method(plain, cuda, dtype=1, layout=cuda),
            ),
            "an implied copy": ("original", lambda: method(plain)),
            "an implied copy, with names": ("original", lambda: method(plain, dtype=1)),
            "nothing implied": ("original", lambda: explicit(plain)),
            "a copy that raises": (ValueError, lambda: breaks(plain, cuda, dtype=1)),
            "a leaf stays": ("original", lambda: method(leaf, cuda, dtype=1)),
            "no leaf": ("original", lambda: method(inner, cuda, dtype=1)),
            "given twice": ("wrapper", lambda: method(plain, cuda, device=cuda)),
            "no move": ("original", lambda: method(plain, host)),
            "a strict name": ("wrapper", lambda: method(plain, cuda, other=1)),
            "no tensor": ("wrapper", lambda: method(unasked, cuda)),
            "no truth": ("wrapper", lambda: method(uncertain, cuda)),
            "interrupted": (KeyboardInterrupt, lambda: method(interrupted, cuda)),
            "an error of the tensor's own": (RuntimeError, lambda: method(unknown, cuda, dtype=1)),
            "no arguments": ("original", lambda: method()),
            "an attribute of the wrapper": (wrapper.__qualname__, lambda: method.__qualname__),
            "its own attribute": (wrapper, lambda: method.__tdev_wrapper__),
            "no attribute": (AttributeError, lambda: method.no_such_name),
            "its documentation": (wrapper.__doc__, lambda: method.__doc__),
            "its module": (wrapper.__module__, lambda: method.__module__),
            "how it is pickled": (wrapper.__qualname__, lambda: method.__reduce__()),
            "its representation": (repr(wrapper), lambda: repr(method)),
            "an attribute that is set": (None, lambda: setattr(method, "mark", plain)),
            "bound": ("original", lambda: method.__get__(plain)(cuda)),
            "bound to nothing": (method, lambda: method.__get__(None, Tensor)),
            "a function is not bound": (function, lambda: function.__get__(plain)),
            "made": (
                "original",
                lambda: module.Method(wrapper, original, names, kinds, -1, *where, cuda)(plain),
            ),
            "made, by name": (
                "original",
                lambda: module.Function(wrapper, (namespace, called), names, kinds)(),
            ),
            "made, with marks": (
                Tensor,
                lambda: type(
                    module.Method(
                        wrapper, copied, names, kinds, -1, *where, cuda, marks, there, told
                    )(plain)
                ),
            ),
            "marks are swept": (Tensor, swept),
            "marks cannot be swept": (RuntimeError, swept_in_vain),
            "a marked copy": (Tensor, lambda: type(moving(plain, cuda))),
            "a marked copy, implied": (Tensor, lambda: type(moving(plain))),
            "a marked copy, by the object": (Tensor, lambda: type(moving(plain, there))),
            "a marked copy, by name": (Tensor, lambda: type(explicitly(plain, device=there))),
            "marked before": (Tensor, lambda: type(moving(stays, cuda))),
            "what cannot be marked": ("original", lambda: handing(plain, cuda)),
            "others are told": ("wrapper", lambda: moving(goes, cuda)),
            "others cannot be asked": (RuntimeError, lambda: asked(plain, cuda)),
            "others do not know": (AttributeError, lambda: unsure(plain, cuda)),
            "a device": (cpu, lambda: getter.__get__(plain)),
            "the device of what was marked": (there, lambda: getter.__get__(stays, Tensor)),
            "a device that raises": (RuntimeError, lambda: failing_getter.__get__(plain)),
            "the getter of a class": (getter, lambda: getter.__get__(None, Tensor)),
            "a device that is set": (AttributeError, lambda: getter.__set__(plain, 1)),
            "an attribute of the getter's": (device.fget, lambda: getter.fget),
            "no attribute of the getter's": (AttributeError, lambda: getter.no_such_name),
            "the getter's documentation": (device.__doc__, lambda: getter.__doc__),
            "a getter made": (
                cpu,
                lambda: module.DeviceGetter(device, marks, there).__get__(plain),
            ),
            "a getter refused: no marks": (
                TypeError,
                lambda: module.DeviceGetter(device, 1, there),
            ),
            "a getter refused: no property": (
                TypeError,
                lambda: module.DeviceGetter(wrapper, marks, there),
            ),
            "refused: no callable": (TypeError, built(1, original, names, kinds)),
            "refused: no name": (TypeError, built(wrapper, ({}, 1), names, kinds)),
            "refused: no table": (TypeError, built(wrapper, original, {"a": 3}, kinds)),
            "refused: no set": (TypeError, built(wrapper, original, names, kinds, -1, targets)),
            "refused: no tuple": (TypeError, built(wrapper, original, names, [])),
        }


def growth(module: Any, calls: int = CALLS) -> dict[str, list[str]]:
    """Return by path what there is more or less of after so many calls than before: blocks, and references."""
    paths = Paths(module)
    found: dict[str, list[str]] = {}
    gc.collect()
    gc.freeze()  # in a process that has torch each collection would look at a million objects
    try:
        return _growth(paths, calls, found)
    finally:
        gc.unfreeze()


def _growth(paths: Paths, calls: int, found: dict[str, list[str]]) -> dict[str, list[str]]:
    for name, (expected, call) in paths.calls.items():
        _many(call, expected, FEW)
        gc.collect()
        references = [sys.getrefcount(value) for value in paths.held]
        blocks = sys.getallocatedblocks()
        _many(call, expected, calls)
        gc.collect()
        more = [("blocks", sys.getallocatedblocks() - blocks)]
        for before, value in zip(references, paths.held, strict=True):
            more.append((f"references to {value!r:.60}", sys.getrefcount(value) - before))
        grown = [f"{number:+} {what}" for what, number in more if abs(number) > FEW]
        if grown:
            found[name] = grown
    return found


def _many(call: Callable[[], object], expected: object, calls: int) -> None:
    kind = expected if isinstance(expected, type) and issubclass(expected, BaseException) else ()
    for _ in range(calls):
        try:
            answer = call()
        except kind:
            continue
        assert not kind and answer == expected, f"{answer!r} instead of {expected!r}"


def load(path: str) -> ModuleType:
    """Import the module from a file, whatever else is called so."""
    spec = importlib.util.spec_from_file_location("tdev_core.shims._calls", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    grown = growth(load(sys.argv[1]))
    for name, what in grown.items():
        print(f"{name}: {', '.join(what)}")
    raise SystemExit(bool(grown))
