"""Stand ``tdev`` modules in for ``torch`` modules.

Two kinds of module live under ``tdev.``:

* *aliases*: a torch module in which nothing is routed is torch's own module object under a second
  name. :class:`AliasFinder` hands it out, so that it is never executed twice.
* *mirrors*: a generated module that defines the routed functions and hands every other name through
  to its torch module, for reading, writing and deleting. Flags set on it are therefore torch's.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType

from tdev_core import torchscript
from tdev_core.accelerators import mps
from tdev_core.backend import Backend, current
from tdev_core.mirror import newer, versions
from tdev_core.mirror.aliases import AliasFinder, finder_of, install_finder
from tdev_core.mirror.deprecation import deprecated_as
from tdev_core.mirror.metadata import with_metadata
from tdev_core.mirror.module import MISSING, MirrorModule, State, become, torchs_own
from tdev_core.mirror.namespace import own_names
from tdev_core.shims import calls

__all__ = ["AliasFinder", "MirrorModule", "adopt", "install_finder", "load"]


def adopt(
    name: str,
    source: str,
    *,
    routed: Sequence[str] = (),
    elsewhere: Mapping[str, str] | None = None,
    home: Backend | None = None,
    script: Mapping[str, str] | None = None,
    answers: Mapping[str, Sequence[str]] | None = None,
    extra: Sequence[str] = (),
    tools: Sequence[str] = (),
    partial: Mapping[str, str] | None = None,
    generated_from: str,
) -> None:
    """Turn the module ``name``, whose body has just run, into the mirror of ``source``.

    Args:
        name: the mirror's ``__name__``.
        source: name of the torch module it mirrors.
        routed: names the body defines in place of torch's.
        elsewhere: further routed names, and where each is defined, as ``module:attribute``.
        home: the backend on which torch's own objects answer; there the body's give way to them, so
            that ``tdev.cuda.synchronize is torch.cuda.synchronize`` and costs nothing.
        script: routed names that TorchScript knows as operators of the given names.
        answers: what each backend does, of routed names that are no functions of the body: those say it in
            their docstrings.
        extra: names that tdev adds to torch's; kept on every backend.
        tools: submodules that tdev adds to torch's; imported at their first use.
        partial: names that not every torch has, and which have them: ``"2.14 and newer"``.
        generated_from: the first and the last torch that the mirror was generated from: ``"2.11 to 2.15"``.
    """
    original_module = load(source, generated_from)
    module = sys.modules[name]
    namespace = own_names(module)
    at_home = home is not None and current() is home
    kept: list[str] = []
    lost: list[str] = []
    for key in routed:
        original = torchs_own(original_module, key)
        if original is MISSING:
            namespace.pop(key, None)
            lost.append(key)
        elif at_home:
            namespace.pop(key, None)
        else:
            if script and key in script and mps.lacks_wide_types():
                namespace[key] = mps.narrow_by_default(namespace[key])
            if versions.differs(generated_from):
                dotted = f"{source}.{key}"
                namespace[key] = newer.with_newer_parameters(
                    namespace[key], original, dotted, generated_from
                )
            said = () if answers is None else answers.get(key, ())
            value = with_metadata(namespace[key], name, key, original, said)
            value = deprecated_as(value, original)
            namespace[key] = calls.function(value, original, original_module, key)
            kept.append(key)
    if script and not at_home:
        # TorchScript knows builtins by object identity; a wrapper with **kwargs could not be compiled,
        # and need not be: inside a script the operator itself is meant.
        torchscript.know_functions(
            {namespace[key]: op for key, op in script.items() if key in namespace}
        )
    state = State(
        original_module,
        frozenset((*kept, *extra)),
        {} if at_home or elsewhere is None else dict(elsewhere),
        frozenset(lost),
        generated_from,
        frozenset(tools),
        partial or {},
    )
    become(module, state)
    if source == "torch" and versions.differs(generated_from):
        finder_of(name).look_for_lost(generated_from)


def load(name: str, generated_from: str) -> ModuleType:
    """Return the torch module ``name``, imported.

    Raises:
        ModuleNotFoundError: it is not there; where the installed torch is another one than the mirror
            was generated from, the message says so.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name or not versions.differs(generated_from):
            raise
        message = versions.lost_message(name, generated_from)
        raise ModuleNotFoundError(message, name=name) from None
