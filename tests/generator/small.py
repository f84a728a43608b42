"""A small torch: facts that exercise every kind of route, for tests of plan and templates."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.facts.model import Facts, Member, Method, Module, Parameter, Signature
from generator.facts.pin import PINNED, installed_version
from generator.plan.evidence import Evidence
from generator.plan.routes import Routes, read_routes

DEVICE = "torch.types.Device"
with_the_pinned = pytest.mark.skipif(
    installed_version() != PINNED, reason=f"all is written with torch {PINNED} alone"
)


def parameter(
    name: str, default: str | None = None, kind: str = "positional_or_keyword"
) -> Parameter:
    annotation = DEVICE if name == "device" else None
    return Parameter(name, kind, default, annotation, default)  # type: ignore[arg-type]


def function(
    name: str, *parameters: Parameter, returns: str | None = None, **extra: object
) -> Member:
    return Member(
        name,
        "function",
        (Signature(parameters, returns),),
        "live",
        f"What {name} does.",
        exports=(name,),
        defined_in=name.rpartition(".")[0],
        **extra,  # type: ignore[arg-type]
    )


def facts(*members: Member, methods: tuple[Method, ...] = ()) -> Facts:
    names: dict[str, list[str]] = {"torch": [], "torch.cuda": []}
    for member in members:
        for path in member.exports:
            home, _, name = path.rpartition(".")
            names[home].append(name)
    modules = (
        Module(
            "torch",
            "",
            True,
            tuple(sorted(names["torch"])),
            True,
            modules=(("cuda", "torch.cuda"),),
            visible=("cuda", *names["torch"]),
        ),
        Module(
            "torch.cuda",
            "",
            True,
            tuple(sorted(names["torch.cuda"])),
            True,
            visible=tuple(names["torch.cuda"]),
        ),
    )
    return Facts("2.13.0", modules, members, methods, ())


ROUTES = """
[synchronize]
spellings."torch.cuda.synchronize" = {}
cuda = { route = "native" }
mps = { route = "mapped", check = "devices.device_index(device)", call = "torch.mps.synchronize()" }
mlx = { route = "mapped", call = "mx.synchronize()", ignores = { device = "MLX waits for all" } }
sim = { route = "emulated", call = "devices.translate(device)" }
cpu = { route = "noop", note = "the CPU has finished when a call returns", ignores = { device = "all have finished" } }

[temperature]
spellings."torch.cuda.temperature" = {}
cuda = { route = "native" }
"mps,mlx,sim,cpu" = { route = "unsupported", why = "there is no sensor", instead = "ask the system" }

[Stream]
spellings."torch.cuda.Stream" = {}
cuda = { route = "native" }
"mps,mlx,sim,cpu" = { route = "emulated", object = "backend.Backend" }
"""

CATEGORIES = '[torch]\ncategory = "T"\npriority = "P1"\n'


def members() -> tuple[Member, ...]:
    return (
        function("torch.cuda.synchronize", parameter("device", "None"), returns="None"),
        function("torch.cuda.temperature", parameter("device", "None"), returns="int"),
        Member(
            "torch.cuda.Stream", "class", exports=("torch.cuda.Stream",), defined_in="torch.cuda"
        ),
        function("torch.full", parameter("size"), parameter("device", "None", "keyword_only")),
        function("torch.relu", parameter("input")),
    )


def routes(tmp_path: Path, text: str = ROUTES, **files: str) -> Routes:
    folder = tmp_path / "routes"
    folder.mkdir(exist_ok=True)
    for name, content in {"cuda": text, "categories": CATEGORIES, **files}.items():
        (folder / f"{name}.toml").write_text(content, encoding="utf-8")
    return read_routes(folder)


EVIDENCE = Evidence({("cpu", "torch.cuda.synchronize"): ("executed", "effect")})
