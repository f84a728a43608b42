"""``torch.compile`` with the names that a CUDA program gives it.

TorchInductor has a code generator for the CPU, CUDA and MPS; ``cudagraphs`` and the TensorRT and ONNX
Runtime backends are CUDA's or packages of their own. Where the one asked for cannot run, a compiler
that can is used, with one warning: the program's results are the same, its speed is the host's.

Source: ``torch.compile`` documentation; ``torch._dynamo.list_backends()``.
"""

from __future__ import annotations

import functools
import inspect
import os
import shutil
import sys
from collections.abc import Callable
from typing import Any

import torch

from tdev_core.backend import Backend, current
from tdev_core.errors import DeviceWarning, warn_once

__all__ = ["cpp_compiler", "compile", "default_backend", "for_host", "module_compile"]

_FOR_CUDA = frozenset(
    {
        "aot_cudagraphs",
        "aot_ts_nvfuser",
        "cudagraphs",
        "nvfuser",
        "nvprims_nvfuser",
        "onnxrt",
        "tensorrt",
        "torch_tensorrt",
    }
)
"""Backends that torch has, or had, for CUDA, and those that packages for CUDA register."""

_FOR_INDUCTOR = ("mode", "options")
"""What is said to Inductor and means nothing to other backends."""


def compile(
    model: Callable[..., Any] | None = None,
    *,
    backend: str | Callable[..., Any] | None = None,
    **options: Any,
) -> Any:
    """``torch.compile``, with ``backend`` and what belongs to it made fit for this host.

    Raises:
        RuntimeError: ``mode`` and ``options`` together, or an unknown mode, as in torch; an unknown
            backend is torch's error when the compiled function is called.
    """
    given = {"backend": backend, **options}
    # The mirror passes every parameter of the torch it was made from. An older torch lacks some, which
    # matters only if the program uses them, and may have another default where None stands for that.
    given = {
        key: value
        for key, value in given.items()
        if value is not None and (value or key in _parameters())
    }
    return torch.compile(model, **for_host(given))


@functools.lru_cache(maxsize=1)
def _parameters() -> frozenset[str]:
    return frozenset(inspect.signature(torch.compile).parameters)


def module_compile(original: Callable[..., None]) -> Callable[..., None]:
    """Shim of ``torch.nn.Module.compile``, which takes what ``torch.compile`` takes."""

    @functools.wraps(original)
    def compile(self: torch.nn.Module, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **for_host(kwargs))

    return compile


def default_backend(backend: Any) -> Any:
    """Return what to give ``torch.compiler.set_default_backend`` for ``backend`` on this host."""
    return for_host({"backend": backend})["backend"]


def for_host(options: dict[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of ``torch.compile`` as this host can honour them; a new dictionary."""
    options = dict(options)
    named = options.get("backend")
    if options.get("disable") or (named is not None and not isinstance(named, str)):
        return options
    if os.environ.get("TORCHDYNAMO_DISABLE") == "1":
        return options  # torch hands the function back as it is, whatever the backend
    name = named if named is not None else _default()
    replacement, why = _instead_of(name)
    if replacement is None:
        return options
    warn_once(
        f"torch.compile(backend={name!r}) {why}; {replacement!r} is used",
        DeviceWarning,
        code="TDEV304",
        key=("compile", name),
        stacklevel=4,
    )
    options["backend"] = replacement
    # Options were chosen for the backend that is not here; a mode is Inductor's and goes with it.
    foreign = _FOR_INDUCTOR if replacement != "inductor" else ("options",)
    for key in foreign:
        if key in options:
            options[key] = None
    return options


def _default() -> str:
    chosen = getattr(torch.compiler, "get_default_backend", lambda: "inductor")()
    return chosen if isinstance(chosen, str) else ""


def _instead_of(name: str) -> tuple[str | None, str]:
    """Return the backend that stands in for ``name`` here, or None where it can run, and why."""
    if name == "inductor":
        why = _why_no_inductor()
        return (None, "") if why is None else (_without_inductor(), why)
    if name not in _FOR_CUDA or current() is Backend.CUDA:
        return None, ""
    if name in ("cudagraphs", "aot_cudagraphs"):
        return "aot_eager", "needs CUDA graphs, and compiles nothing besides"
    from torch._dynamo import list_backends

    if name in list_backends(exclude_tags=()):
        return None, ""  # a package has registered it in this process
    if _why_no_inductor() is None:
        return "inductor", "is a backend for CUDA"
    return _without_inductor(), "is a backend for CUDA"


def _why_no_inductor() -> str | None:
    match current():
        case Backend.SIM | Backend.MLX:
            return f"has no code generator for '{current().value}'"
        case Backend.CPU:
            if cpp_compiler() is None:
                return "needs a C++ compiler for the CPU and finds none (install one, or set CXX)"
            return None
        case Backend.CUDA | Backend.MPS:
            return None


def _without_inductor() -> str:
    return "mlx" if current() is Backend.MLX else "aot_eager"


def cpp_compiler() -> str | None:
    """Return the compiler that Inductor would run: ``CXX``, which it takes for one word, else the system's usual one.

    Source: ``torch/_inductor/config.py``, ``cpp.cxx``, and ``cpp_compiler_search`` beside it.
    """
    usual = "clang++" if sys.platform == "darwin" else "g++"
    command = os.environ.get("CXX") or ("cl" if sys.platform == "win32" else usual)
    return shutil.which(command)
