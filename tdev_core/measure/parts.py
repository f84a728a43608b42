"""Knows the loaders and optimizers of a program, the lines that made them, and what its compiler has compiled again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from torch.optim import optimizer as optim
from torch.utils.data import DataLoader, dataloader

from tdev_core.measure.places import of_program, site_of_program
from tdev_core.measure.wrapping import wrap

__all__ = ["Parts", "recompiled"]

_MOST = 200


class Parts:
    """Follows what is made from :meth:`start` on.

    Attributes:
        found: of each loader and optimizer, the line that made it, its class and how it was made, as JSON has it.
    """

    def __init__(self, spends: Callable[[str], Any]) -> None:
        """Follow nothing yet; ``spends(site)`` gives the block in which a loader makes a batch."""
        self.found: list[dict[str, Any]] = []
        self._spends = spends

    def start(self) -> list[Callable[[], None]]:
        """Follow from now on; returns what ends that."""
        batches: Any = dataloader._BaseDataLoaderIter
        return [
            wrap(DataLoader, "__init__", self._loader),
            wrap(optim.Optimizer, "__init__", self._optimizer),
            wrap(DataLoader, "__iter__", self._begins),
            wrap(batches, "__next__", self._batch),
        ]

    def _loader(self, plain: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
        plain(loader, *args, **kwargs)
        vars(loader)["_tdev_site"] = site = site_of_program()
        made = {"workers": loader.num_workers, "pinned": bool(loader.pin_memory)}
        self._add({"kind": "loader", "site": site, "name": type(loader).__name__, **made})

    def _optimizer(self, plain: Any, one: Any, *args: Any, **kwargs: Any) -> None:
        plain(one, *args, **kwargs)
        group = one.param_groups[0]
        way = next((name for name in ("fused", "foreach") if group.get(name)), "")
        # "If unspecified by the user, we will try to use foreach over the for-loop implementation on CUDA": torch.optim.
        chosen = group.get("fused") is not None or group.get("foreach") is not None
        made = {"way": way, "chosen": chosen, "can_fuse": "fused" in one.defaults}
        name = type(one).__name__
        self._add({"kind": "optimizer", "site": site_of_program(), "name": name, **made})

    def _begins(self, plain: Any, loader: Any) -> Any:
        batches = plain(loader)
        if isinstance(batches, dataloader._BaseDataLoaderIter):
            vars(batches)["_tdev_site"] = vars(loader).get("_tdev_site", "")
        return batches

    def _batch(self, plain: Any, batches: Any) -> Any:
        with self._spends(vars(batches).get("_tdev_site", "")):
            return plain(batches)

    def _add(self, one: dict[str, Any]) -> None:
        if one not in self.found and len(self.found) < _MOST:
            self.found.append(one)


def recompiled() -> list[dict[str, Any]]:
    """Return the functions that torch's compiler has compiled more than once: the line, the last reason, how often, seconds."""
    noted: list[Any] = getattr(
        sys.modules.get("torch._dynamo.utils"), "get_compilation_metrics", list
    )()
    found: dict[str, dict[str, Any]] = {}
    for one in noted:
        path = getattr(one, "co_filename", None) or ""
        again = _numbers(getattr(one, "compile_id", None) or "")
        if not path or not of_program(path) or again < 1:
            continue
        site = f"{path}:{one.co_firstlineno}"
        known = found.setdefault(site, {"site": site, "why": "", "count": 0, "seconds": 0.0})
        known["count"] += 1
        known["seconds"] += getattr(one, "entire_frame_compile_time_s", None) or 0.0
        reason = (getattr(one, "recompile_reason", None) or "").strip().splitlines()
        known["why"] = reason[-1].strip() if reason else known["why"]
    return sorted(found.values(), key=lambda one: -one["seconds"])


def _numbers(compile_id: str) -> int:
    """Return how often the frame of ``frame/compilation`` had been compiled before; -1 where a name says no such thing."""
    frame, slash, number = compile_id.partition("/")
    return int(number) if slash and frame.isdecimal() and number.isdecimal() else -1
