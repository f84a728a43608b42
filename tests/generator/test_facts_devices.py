"""Which parameters are devices: decided by annotation, name and default, or left open."""

from __future__ import annotations

import pytest

from generator.facts import Member, Parameter, is_device_parameter
from generator.facts.model import ParameterKind

MEMBER = Member("torch.f", "function")

YES = [
    ("device", "torch.types.Device", "None"),
    ("device", "torch._prims_common.DeviceLikeType | None", "None"),
    ("device", None, "None"),
    ("device", None, None),
    ("device", "int | str | torch.device", None),
    ("device", "typing.Any", None),
    ("device_type", "str", '"cuda"'),
    ("device_type", None, '"cuda"'),
    ("map_location", "torch.serialization.MAP_LOCATION", "None"),
    ("device_ids", "collections.abc.Sequence[int | torch.device] | None", "None"),
    ("device_ids", None, "None"),
    ("devices", "list[int]", None),
    ("peer", "torch.types.Device", "None"),
    ("target_gpus", "collections.abc.Sequence[int | torch.device]", None),
    ("location", "tuple[torch.device, ...]", None),
]
NO = [
    ("input", "torch.Tensor", None),
    ("dtype", "torch.dtype | None", "None"),
    ("check_device", "bool", "True"),
    ("use_cuda", None, "False"),
    ("cuda", "bool | None", "None"),
    ("device_mesh", "torch.distributed.device_mesh.DeviceMesh | None", "None"),
    ("dl_device", "tuple[enum.IntEnum, int] | None", "None"),
    ("path", "str", None),  # a path may contain "cuda" and is no device
    ("devicemap", "str", None),
]
OPEN = [
    ("use_device", None, "None"),
    ("device_type", None, "None"),
    ("device_types", "torch._library.custom_ops.device_types_t", "None"),
    ("location", "torch.device | str | dict[str, str]", None),
    ("callback", "collections.abc.Callable[[torch.device], None]", None),
    ("device_hook", "collections.abc.Callable[[torch.device], None]", None),
    ("storage_device", None, None),
]


@pytest.mark.parametrize(
    ("case", "expected"),
    [*((c, True) for c in YES), *((c, False) for c in NO), *((c, None) for c in OPEN)],
    ids=str,
)
def test_a_parameter_is_a_device_or_not_or_open(
    case: tuple[str, str | None, str | None], expected: bool | None
) -> None:
    name, annotation, default = case
    parameter = Parameter(name, "positional_or_keyword", default, annotation)
    assert is_device_parameter(MEMBER, parameter) is expected


@pytest.mark.parametrize("kind", ["var_positional", "var_keyword"])
def test_collected_arguments_are_never_devices_by_name(kind: ParameterKind) -> None:
    assert is_device_parameter(MEMBER, Parameter("device", kind)) is False
    annotated = Parameter("args", kind, None, "torch.device | int")
    assert is_device_parameter(MEMBER, annotated) is None
