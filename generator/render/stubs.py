"""Decide what each user-facing stub hands on: names and modules of torch, as a type checker finds them there.

A module is an attribute of its package once something has imported it. mypy keeps account of that by the
module's own name, so torch's module may stand for the mirror's. Other checkers note it at the name that a
program imported: what says ``import tdev.utils.benchmark`` binds ``tdev``, and tells them nothing of
``torch.utils``. For them a package that lacks the name of a submodule is therefore our own, which has it.

A private package says that its stub is partial: most of what is below it has none.

What the mirror defines in a function of its own is assigned in the stub, from torch's: its type is torch's, and an
editor that is asked for the definition finds the name in the source beside the stub, where the emitted function is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

__all__ = ["Stubs"]


class Stubs:
    """The views of the stubs of a catalog's modules, public and private."""

    def __init__(self, catalog: dict[str, Any]) -> None:
        self.torch: str = catalog["range"]
        self.modules: dict[str, Any] = catalog["modules"]
        self.private: dict[str, Any] = catalog["private"]
        self.mirrors: dict[str, Any] = catalog["mirrors"]
        self.below: dict[str, list[str]] = defaultdict(list)  # private modules by their package
        for name in self.private:
            self.below[name.rpartition(".")[0]].append(name)
        names = sorted([*self.modules, *self.private], key=len, reverse=True)  # submodules first
        self.ours: set[str] = set()  # stand for torch's, to every checker
        self.named: set[str] = set()  # and these to all but mypy
        for name in names:
            typed = self._typed(name)
            public, private = list(self._children(name)), self.below[name]
            if any(leaf not in typed or child in self.ours for leaf, child in public):
                self.ours.add(name)
            if name in self.ours or any(child in self.named for _, child in public):
                self.named.add(name)
            if self._emitted(name):
                self.named.add(name)
            if any(_leaf(child) not in typed or child in self.named for child in private):
                self.named.add(name)

    def _typed(self, name: str) -> list[str]:
        """Return the names that a checker finds in the text of torch's module."""
        row = self.modules.get(name)
        typed: list[str] = row["typed"] if row is not None else self.private[name]["names"]
        return typed

    def _loaded(self, name: str) -> list[str]:
        """Return the private submodules without a stub that a checker knows as attributes of the module."""
        row = self.modules.get(name)
        loaded: list[str] = (row if row is not None else self.private[name])["loaded"]
        return loaded

    def _partial(self, name: str) -> dict[str, str]:
        """Return the names that not every torch has."""
        row = self.modules.get(name)
        partial: dict[str, str] = (row if row is not None else self.private[name])["partial"]
        return partial

    def _children(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield the public submodules of a module, each with the name that it has there."""
        for leaf, target in self.modules.get(name, {"modules": []})["modules"]:
            if target == f"{name}.{leaf}":
                yield leaf, target

    def _emitted(self, name: str) -> list[str]:
        """Return the names of a module that its mirror defines in functions, as far as a checker finds them."""
        rows = self.mirrors.get(name, {"definitions": []})["definitions"]
        typed = frozenset(self._typed(name))
        return sorted(
            row["name"] for row in rows if row["kind"] != "bound" and row["name"] in typed
        )

    def _elsewhere(self, name: str) -> list[dict[str, str]]:
        """Return the names of a module whose functions another mirror defines, and where."""
        found = []
        typed = frozenset(self._typed(name))
        for local, home in self.mirrors.get(name, {"elsewhere": {}})["elsewhere"].items():
            module, _, attribute = home.partition(":")
            if local in typed and attribute in self._emitted("torch" + module[len("tdev") :]):
                found.append({"from": module, "name": attribute, "as": local})
        return sorted(found, key=lambda row: row["as"])

    def view(self, name: str) -> dict[str, Any]:
        """Return the view of one stub."""
        typed = self._typed(name)
        emitted, elsewhere = self._emitted(name), self._elsewhere(name)
        partial = self._partial(name)
        attributes = dict(self.modules[name]["modules"]) if name in self.modules else {}
        modules: list[dict[str, str]] = []
        unseen: list[dict[str, str]] = []
        apart: list[dict[str, str]] = []
        for attribute, target in sorted(attributes.items()):
            known = attribute in typed
            if "." not in target or not (known or target == f"{name}.{attribute}"):
                continue
            note = _NOTE if attribute in partial else ""
            if not known:
                unseen.append(_imported(target, attribute, ours=target in self.named, note=note))
            elif target in self.ours or target not in self.named:
                modules.append(_imported(target, attribute, ours=target in self.ours, note=note))
            else:
                apart.append(_twice(target, attribute, note))
        for child in self.below[name]:
            leaf = _leaf(child)
            known = leaf in typed or bool(self.private[child]["reached"])
            note = _NOTE if leaf in partial else ""
            if not known:
                unseen.append(_imported(child, leaf, ours=child in self.named, note=note))
            elif child in self.named:
                apart.append(_twice(child, leaf, note))
            elif leaf not in typed:
                modules.append(_imported(child, leaf, note=note))
        taken = {row["as"] for row in (*apart, *elsewhere)} | {*emitted}
        names = {item for item in typed if item not in attributes and item not in taken}
        names |= {*self._loaded(name)}
        ours = {*emitted, *(row["as"] for row in elsewhere)}
        row = self.modules.get(name)
        whole = (row if row is not None else self.private[name])["since"]
        return {
            "torch_version": self.torch,
            "torch_name": name,
            "summary": self.modules[name]["summary"] if name in self.modules else "",
            "names": sorted(names if whole else names - partial.keys()),
            "partial_names": [] if whole else sorted(names & partial.keys()),
            "absent": _ABSENT if whole else "",
            "note": _NOTE,
            "emitted": emitted,
            "mypys": sorted(ours if whole else ours - partial.keys()),
            "partial_mypys": [] if whole else sorted(ours & partial.keys()),
            "handed_on": elsewhere,
            "modules": modules,
            "apart": apart,  # torch's own for mypy, ours for the others
            "unseen": unseen,  # submodules that torch's own source does not import
            "partial": name in self.private and self.private[name]["package"],
        }


# The installed torch may lack the name, or the module: then it is of any type, and using it raises.
_NOTE = "  # type: ignore[attr-defined,unused-ignore]"
_ABSENT = "  # type: ignore[import-not-found,attr-defined,unused-ignore]"


def _imported(target: str, attribute: str, ours: bool = False, note: str = "") -> dict[str, str]:
    parent, _, leaf = target.rpartition(".")
    root = "tdev" + parent[len("torch") :] if ours else parent
    return {"from": root, "name": leaf, "as": attribute, "note": "" if ours else note}


def _twice(target: str, attribute: str, note: str = "") -> dict[str, str]:
    theirs, ours = (_imported(target, attribute, ours=ours) for ours in (False, True))
    return {**ours, "theirs": theirs["from"], "their_note": note}


def _leaf(module: str) -> str:
    return module.rpartition(".")[2]
