"""Runs cases in this process, each three ways, and prints what each came to, as JSON.

    python run_cases.py [--stock] CASE.in.py …

A program of its own, because the backend is chosen once per process. The ways are the two styles of the
codemod and the source as it is under ``tdev run``; tdev is imported, as it is by some file of a program.
With ``--stock`` there is only torch, and a case has the ways that import tdev nowhere. What a case came to: what it printed, the exception
that ended it, and what its names hold (values whose content depends on the machine, such as times and
amounts of memory, by their type only).
"""

from __future__ import annotations

import contextlib
import io
import json
import linecache
import sys
import types
import warnings
from pathlib import Path
from types import CodeType

import torch

from tdev_core.codemod.engine import Names, Options, rewrite
from tdev_core.run.cache import CodeCache
from tdev_core.run.compiling import Compiler


def told(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"tensor {tuple(value.shape)} {value.dtype} on {value.device.type}"
    if isinstance(value, torch.nn.Module):
        return f"{type(value).__name__} on {sorted({p.device.type for p in value.parameters()})}"
    if value is None or isinstance(value, (str, bool, torch.device, torch.dtype)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__} [{', '.join(told(item) for item in value)}]"
    if isinstance(value, dict):
        return f"dict {{{', '.join(f'{key!r}: {told(item)}' for key, item in value.items())}}}"
    return "callable" if callable(value) else type(value).__name__


def ran(code: CodeType) -> dict[str, object]:
    module = types.ModuleType("case")
    sys.modules["case"] = module
    out, ended = io.StringIO(), ""
    torch.manual_seed(0)
    try:
        with contextlib.redirect_stdout(out), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(code, module.__dict__)
    except (Exception, SystemExit) as error:
        # TorchScript goes on with the place in the source, which each way has under another name.
        # What the mirror raises for a name that torch lacks is an AttributeError of its own.
        kind = next(
            c for c in type(error).__mro__ if not c.__module__.startswith("tdev_core.mirror")
        )
        ended = f"{kind.__name__}: {error}".partition(":\n  File")[0]
        if isinstance(error, ModuleNotFoundError):  # `tdev run` adds what to use instead
            ended = f"ModuleNotFoundError: No module named {error.name!r}"
    names = {
        name: told(value)
        for name, value in vars(module).items()
        if not name.startswith("__") and not isinstance(value, (types.ModuleType, type))
    }
    forget()
    return {"printed": out.getvalue(), "ended": ended, "names": names}


def forget() -> None:
    """Undo what a case has set for all of torch."""
    torch.set_default_device(None)
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def ways(path: Path, stock: bool) -> dict[str, dict[str, object]]:
    raw = path.read_bytes()
    source = raw.decode("utf-8")
    codes: dict[str, CodeType] = {}
    for style in ("explicit", "alias"):
        result = rewrite(source, Names.load(), Options(style=style)).code
        if stock and "tdev" in result:
            continue
        # Under a name of its own, by which TorchScript finds the source of what it compiles.
        name = f"<{style} {path}>"
        linecache.cache[name] = len(result), None, result.splitlines(True), name
        codes[style] = compile(result, name, "exec", dont_inherit=True)
    if not stock:
        codes["run"] = Compiler(CodeCache(None)).code(raw, str(path))
    return {way: ran(code) for way, code in codes.items()}


if __name__ == "__main__":
    paths, sys.argv[1:] = sys.argv[1:], []
    stock = paths[:1] == ["--stock"]
    if not stock:
        import tdev  # noqa: F401
    print(json.dumps({path: ways(Path(path), stock) for path in paths[stock:]}))
