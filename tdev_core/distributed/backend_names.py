"""Choose the process-group backend that answers for the one that a program asked for.

Communication libraries belong to devices: NCCL moves CUDA tensors, XCCL those of an XPU. Where the
active backend's tensors are something else, their part is played by gloo: directly for CPU tensors,
and through host copies for devices that gloo does not know (``mps``, ``sim``, ``mlx``).

Source: ``torch.distributed`` documentation, "Backends"; gloo accepts CPU and CUDA tensors only
(pytorch/pytorch#184010).
"""

from __future__ import annotations

import os
import socket

import torch.distributed as dist

from tdev_core.backend import Backend, current
from tdev_core.devices import ACCELERATORS, translate
from tdev_core.errors import DeviceWarning, warn_once

__all__ = ["DEVICE_LIBRARIES", "adopt_interface", "available", "host_name", "is_device_library"]

DEVICE_LIBRARIES = frozenset({"nccl", "xccl"})
"""Backends that exist for an accelerator's sake and are answered for wherever it is absent."""


def is_device_library(name: str) -> bool:
    """Tell whether ``name`` (``"nccl"``, ``"NCCL"``, …) is a backend of one kind of accelerator."""
    return name.lower() in DEVICE_LIBRARIES


def host_name(asked: str) -> str:
    """Return the backend string to give torch for ``asked``, on a host whose accelerator is not CUDA.

    ``asked`` is a name (``"nccl"``) or pairs (``"cpu:gloo,cuda:nccl"``). What this host has itself
    (``"gloo"``, ``"mpi"``, ``"fake"``, a registered plugin) and what is not a backend at all come back
    as they are, for torch to accept or to refuse.
    """
    if ":" in asked:
        return _host_pairs(asked)
    if is_device_library(asked) or asked.lower() == "gloo":
        return _gloo()
    return asked


def _host_pairs(asked: str) -> str:
    """Translate each ``device:backend`` pair; a pair that names the CPU itself wins over one that is
    translated to it."""
    own: dict[str, str] = {}
    translated: dict[str, str] = {}
    for pair in asked.lower().split(","):
        device, _, library = pair.strip().partition(":")
        if not device or not library or ":" in library or device in own:
            return asked  # malformed or duplicate: torch says so in its own words
        if device not in ACCELERATORS:
            own[device] = library
            continue
        if is_device_library(library) or library == "gloo":
            library = _gloo()
        translated.setdefault(translate(device).type, library)
    pairs = {**translated, **own}
    return ",".join(f"{device}:{library}" for device, library in pairs.items())


def _gloo() -> str:
    """gloo, told of the active accelerator's tensors.

    ``sim`` and ``mlx`` say so themselves when they are activated.
    """
    if current() is Backend.MPS:
        from tdev_core.distributed import host_copies

        return host_copies.serve("mps", "MPS")
    return "gloo"


def adopt_interface() -> None:
    """Let gloo use the network interface that ``NCCL_SOCKET_IFNAME`` names.

    The variable is a comma-separated list of prefixes; ``=`` in front asks for exact names, ``^``
    excludes. It is written to ``GLOO_SOCKET_IFNAME``, unless that is set; an interface that this
    host lacks is not adopted, with one warning. Other ``NCCL_*`` and ``TORCH_NCCL_*`` variables tune
    NCCL itself and have no counterpart.

    Source: NCCL user guide, "Environment Variables"; ``torch.distributed`` documentation, "Choosing
    the network interface to use".
    """
    wish = os.environ.get("NCCL_SOCKET_IFNAME", "")
    if not wish or os.environ.get("GLOO_SOCKET_IFNAME"):
        return
    chosen = [name for name in _interfaces() if _wanted(name, wish)]
    if chosen:
        os.environ["GLOO_SOCKET_IFNAME"] = ",".join(chosen)
        return
    warn_once(
        f"NCCL_SOCKET_IFNAME={wish!r} matches no network interface of this host; gloo picks one. "
        "Set GLOO_SOCKET_IFNAME to choose.",
        DeviceWarning,
        code="TDEV308",
        key=("NCCL_SOCKET_IFNAME", wish),
        stacklevel=4,
    )


def _interfaces() -> list[str]:
    return [name for _, name in socket.if_nameindex()]


def _wanted(interface: str, wish: str) -> bool:
    exclude = wish.startswith("^")
    wish = wish.removeprefix("^")
    exact = wish.startswith("=")
    names = [name for name in wish.removeprefix("=").split(",") if name]
    if exact:
        found = interface in names
    else:
        found = any(interface.startswith(name) for name in names)
    if exclude:
        # NCCL leaves loopback and docker out of its own choice, and "anything but" means that choice.
        return not found and not interface.startswith(("lo", "docker"))
    return found


def available(name: str) -> bool:
    """Tell whether a process group can be made for the single backend ``name`` on this host."""
    if is_device_library(name):
        return dist.is_gloo_available()
    return dist.is_backend_available(name)
