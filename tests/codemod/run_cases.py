"""Runs results of cases in this process and prints what each came to, as JSON.

    python run_cases.py CASE.out.py …

A program of its own, because the backend is chosen once per process. What a case came to: what it
printed, the exception that ended it, and what its names hold (values whose content depends on the
machine, such as times and amounts of memory, by their type only).
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import types
import warnings
from pathlib import Path

import torch


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


def ran(path: Path) -> dict[str, object]:
    module = types.ModuleType("case")
    sys.modules["case"] = module
    out, ended = io.StringIO(), ""
    torch.manual_seed(0)
    try:
        with contextlib.redirect_stdout(out), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Under its own name, by which TorchScript finds the source of what it compiles.
            source = path.read_text(encoding="utf-8")
            exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
    except (Exception, SystemExit) as error:
        ended = f"{type(error).__name__}: {error}"
    names = {
        name: told(value)
        for name, value in vars(module).items()
        if not name.startswith("__") and not isinstance(value, (types.ModuleType, type))
    }
    return {"printed": out.getvalue(), "ended": ended, "names": names}


if __name__ == "__main__":
    paths, sys.argv[1:] = sys.argv[1:], []
    print(json.dumps({path: ran(Path(path)) for path in paths}))
