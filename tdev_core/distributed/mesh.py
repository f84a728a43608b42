"""Device meshes that a program wants on CUDA, on this host's devices.

Source: ``torch.distributed.device_mesh`` documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch.distributed import device_mesh
from torch.distributed.device_mesh import DeviceMesh

from tdev_core.accelerators import sharded_draws
from tdev_core.devices import ACCELERATORS, translate
from tdev_core.distributed import context_parallel
from tdev_core.distributed.backend_names import host_name
from tdev_core.distributed.group_backends import remember
from tdev_core.distributed.groups import own_options

__all__ = ["init_device_mesh", "mesh_device_type", "mesh_override", "remember_mesh"]


def mesh_device_type(device_type: str) -> str:
    """Return the device type of a mesh that the program wants on ``device_type``; no index is allowed."""
    if device_type in ACCELERATORS:
        kind: str = translate(device_type).type
        context_parallel.install()
        if kind == "cpu":
            sharded_draws.track_cpu()
        return kind
    return device_type


def init_device_mesh(
    device_type: str,
    mesh_shape: tuple[int, ...],
    *,
    mesh_dim_names: tuple[str, ...] | None = None,
    backend_override: Mapping[int | str, Any] | None = None,
) -> DeviceMesh:
    """Make a mesh of ``mesh_shape`` over all ranks, on this host's device of that kind.

    Raises:
        RuntimeError: names that do not match the shape, or a device type with an index.
    """
    override = None
    if backend_override is not None:
        override = {key: mesh_override(value) for key, value in backend_override.items()}
    mesh = device_mesh.init_device_mesh(
        mesh_device_type(device_type),
        mesh_shape,
        mesh_dim_names=mesh_dim_names,
        backend_override=override,
    )
    if backend_override is not None:
        remember_mesh(mesh, backend_override)
    return mesh


def remember_mesh(mesh: DeviceMesh, overrides: Mapping[int | str, Any]) -> None:
    """Note the backends that the program named for dimensions of ``mesh``, by index or name."""
    for dimension, value in overrides.items():
        name = value[0] if isinstance(value, tuple) else value
        if isinstance(name, str):
            remember(mesh.get_group(dimension), name)


def mesh_override(value: Any) -> Any:
    """Return one dimension's backend override: a name, options, or both, made fit for this host."""
    match value:
        case str():
            return host_name(value)
        case (str() as name, options):
            return (host_name(name), own_options(name, options))
        case _:
            return value
