"""Facts about the installed torch, compared with torch itself in processes of their own."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from generator.facts import Facts, Member, Method, Operators
from generator.facts.library import Library
from generator.facts.pin import PINNED, installed_version
from generator.facts.walk import is_public, requirements
from tdev_core.release import torch_release
from tests.generator.small import with_the_pinned

ROOT = Path(__file__).parents[2]


def run(*arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def by_path(facts: Facts) -> dict[str, Member]:
    return {path: member for member in facts.members for path in member.exports}


FRESH = """
import hashlib, importlib, json
from dataclasses import asdict
from generator.facts import introspect
importlib.import_module("generator.facts.installed").available = lambda: 0
print(hashlib.sha256(json.dumps(asdict(introspect(cache=False))).encode()).hexdigest())
"""


@pytest.mark.deep
def test_a_fresh_read_by_one_process_is_what_the_cache_says(facts: Facts, tmp_path: Path) -> None:
    """Several have read what is in the cache, where there is more than one processor."""
    # An optional package that torch would import must change nothing either.
    (tmp_path / "tensorboard").mkdir()
    (tmp_path / "tensorboard/__init__.py").write_text("__version__ = '9'\n")
    expected = hashlib.sha256(json.dumps(asdict(facts)).encode()).hexdigest()
    path = os.pathsep.join([str(ROOT), str(tmp_path)])
    found = run("-c", FRESH, PYTHONHASHSEED="4242", PYTHONPATH=path)
    assert found.strip() == expected


@pytest.mark.deep  # every function there is
def test_parameters_and_defaults_are_those_of_the_live_functions() -> None:
    found: dict[str, Any] = json.loads(run("tests/generator/check_facts_live.py"))
    assert found["signatures"] > 2500 and found["defaults"] > 2000
    assert found["parameters"] == [] and found["presence"] == []
    assert found["unevaluated"] == [] and found["values"] == []
    assert found["unreadable"] == []


def test_nothing_names_this_machine(facts: Facts) -> None:
    # Docstrings may quote an address as an example; values and signatures may not.
    text = json.dumps(
        [asdict(facts)["methods"], facts.differences, facts.skipped]
        + [[asdict(item)["signatures"], item.value] for item in facts.members]
    )
    assert not re.search(r"0x[0-9a-f]{6,}", text)
    for part in (sys.prefix, str(Path.home()) + os.sep, "site-packages", "+cpu"):
        assert part not in text
    assert facts.torch == installed_version()


def test_the_notation_holds_throughout(facts: Facts) -> None:
    for member in facts.members:
        for signature in member.signatures:
            annotations = [signature.returns, *(p.annotation for p in signature.parameters)]
            for text in filter(None, annotations):
                assert not re.search(r"\b(Optional|Union|List|Dict)\[", text), (member.name, text)


def test_every_path_has_one_member_and_every_name_is_among_its_exports(facts: Facts) -> None:
    paths = Counter(path for member in facts.members for path in member.exports)
    assert [path for path, count in paths.items() if count > 1] == []
    for member in facts.members:
        assert member.name in member.exports
        assert list(member.exports) == sorted(member.exports)
        assert all(is_public(path) for path in member.exports)
    offered = {f"{module.name}.{name}" for module in facts.modules for name in module.names}
    assert offered == set(paths)


@with_the_pinned
def test_the_size_is_that_of_torch_2_13(facts: Facts) -> None:
    assert len(facts.modules) > 835 and len(facts.members) > 6400
    assert {name for name, _ in facts.skipped} == {
        "torch.distributed.elastic.rendezvous.etcd_rendezvous_backend",
        "torch.utils.tensorboard",
    }
    assert len(facts.operators) == 2584


@pytest.mark.parametrize(
    ("path", "name", "kind", "source"),
    [
        ("torch.add", "torch.add", "builtin", "stub"),
        ("torch.cuda.empty_cache", "torch.cuda.memory.empty_cache", "function", "live"),
        ("torch.fft.fftfreq", "torch.fft.fftfreq", "builtin", "schema"),
        ("torch.nn.Linear", "torch.nn.modules.linear.Linear", "class", "live"),
        ("torch.Generator", "torch.Generator", "class", "stub"),
        ("torch.cuda.lru_cache", None, "function", "none"),
        ("torch.float32", "torch.float32", "constant", "none"),
        ("torch.types.Device", "torch.types.Device", "type_alias", "none"),
        ("torch.backends.cudnn.benchmark", "torch.backends.cudnn.benchmark", "flag", "none"),
        ("torch.backends.cuda.matmul", "torch.backends.cuda.matmul", "instance", "none"),
        pytest.param(
            *("torch.backends.python_native.disable_operations", None, "function", "live"),
            marks=pytest.mark.skipif(
                torch_release < (2, 12), reason="torch 2.12 is the first that has it"
            ),
        ),
    ],
)
def test_members_are_what_they_are(
    by_path: dict[str, Member], path: str, name: str | None, kind: str, source: str
) -> None:
    member = by_path[path]
    assert (member.kind, member.source) == (kind, source)
    assert name is None or member.name == name


def parameters(member: Member | Method, index: int = 0) -> list[tuple[str, str | None, str | None]]:
    return [(p.name, p.default, p.annotation) for p in member.signatures[index].parameters]


def test_signatures_of_builtins_keep_all_overloads(by_path: dict[str, Member]) -> None:
    zeros = by_path["torch.zeros"]
    # zeros(size, …) and zeros(*size, …); torch 2.11 has both again, with the names of dimensions
    assert [item.parameters[0].kind for item in zeros.signatures][:2] == [
        "positional_or_keyword",
        "var_positional",
    ]
    assert ("device", "None", "torch._prims_common.DeviceLikeType | None") in parameters(zeros)
    assert [item.name for item in by_path["torch.linalg.svd"].signatures[0].parameters] == [
        "A",
        "full_matrices",
        "out",
        "driver",
    ]


def test_all_of_the_stub_is_read(by_path: dict[str, Member]) -> None:
    stub = Library().checked("torch._C._VariableFunctions")
    assert stub is not None
    assert len(stub.functions) > 950
    assert sum(len(items) for items in stub.functions.values()) > 1250
    for function in ("add", "arange", "full", "tensor", "where"):
        assert len(by_path[f"torch.{function}"].signatures) == len(stub.functions[function])


def test_defaults_are_source_text(by_path: dict[str, Member]) -> None:
    assert ("eps", "1e-8", "float") in parameters(by_path["torch.optim.Adam"])
    assert ("group_name", '""', "str") in parameters(
        by_path["torch.distributed.init_process_group"]
    )


def test_values_are_those_that_every_machine_has(by_path: dict[str, Member]) -> None:
    assert by_path["torch.types.Device"].value == "torch.device | str | int | None"
    assert by_path["torch.inf"].value == "math.inf"
    assert by_path["torch.version.cuda"].value is None
    assert by_path["torch.version.git_version"].value is None
    assert by_path["torch.serialization.DEFAULT_PROTOCOL"].value == "2"


def test_helpers_are_marked_and_say_where_they_come_from(by_path: dict[str, Member]) -> None:
    for path, origin in (
        ("torch.cuda.lru_cache", "functools"),
        ("torch.cuda.cast", "typing"),
        ("torch.multiprocessing.Queue", "multiprocessing"),
    ):
        assert by_path[path].helper and by_path[path].defined_in == origin
    assert not by_path["torch.load"].helper and not by_path["torch.add"].helper


def test_every_function_and_builtin_of_torch_has_a_signature(facts: Facts) -> None:
    bare = {
        member.name
        for member in facts.members
        if member.kind in ("function", "builtin") and not member.helper and not member.signatures
    }
    # Bound in C++ without a stub, a schema or a docstring that Python could read; older torches have five more.
    known = {
        "torch.distributed.rpc.api.method",
        "torch.get_autocast_ipu_dtype",
        "torch.get_autocast_xla_dtype",
        "torch.is_autocast_ipu_enabled",
        "torch.is_autocast_xla_enabled",
        "torch.set_autocast_ipu_dtype",
        "torch.set_autocast_ipu_enabled",
        "torch.set_autocast_xla_dtype",
        "torch.set_autocast_xla_enabled",
    }
    assert known <= bare
    assert installed_version() != PINNED or bare == known
    assert len(bare) < 20


def test_methods_that_take_devices_are_there(facts: Facts) -> None:
    found = {(item.owner, item.name): item for item in facts.methods}
    for owner, name in (
        ("torch._C.TensorBase", "to"),
        ("torch._C.TensorBase", "cuda"),
        ("torch._C.TensorBase", "new_zeros"),
        ("torch._C.TensorBase", "pin_memory"),
        ("torch._C.Generator", "__new__"),
        ("torch.nn.modules.module.Module", "to"),
        ("torch.nn.modules.module.Module", "to_empty"),
        ("torch.nn.modules.linear.Linear", "__init__"),
        ("torch.nn.utils.rnn.PackedSequence", "cuda"),
        ("torch.storage.TypedStorage", "cuda"),
        ("torch.cuda.streams.Stream", "__new__"),
        ("torch.amp.grad_scaler.GradScaler", "__init__"),
        ("torch.utils.data.dataloader.DataLoader", "__init__"),
    ):
        assert (owner, name) in found, (owner, name)
    to = found["torch._C.TensorBase", "to"]
    assert len(to.signatures) == 3 and "torch.Tensor" in to.classes
    assert len(found["torch.nn.modules.module.Module", "to"].signatures) >= 4  # 2.15 has one more


LAYERS = """
import inspect, json, torch
names = [
    f"{c.__module__}.{c.__qualname__}"
    for name in dir(torch.nn)
    for c in [getattr(torch.nn, name)]
    if isinstance(c, type) and issubclass(c, torch.nn.Module)
    and "device" in inspect.signature(c).parameters
]
print(json.dumps(sorted(set(names))))
"""


def test_every_layer_with_a_device_is_among_the_methods(facts: Facts) -> None:
    layers = json.loads(run("-c", LAYERS))
    assert len(layers) > 40
    covered = {
        name
        for item in facts.methods
        if item.kind == "constructor" and "device" in item.devices
        for name in item.classes
    }
    assert [name for name in layers if name not in covered] == []


def test_public_functions_lead_to_their_operators(facts: Facts, by_path: dict[str, Member]) -> None:
    operators = Operators(facts.operators)
    for path, names in (
        ("torch.add", ("add",)),
        ("torch.linalg.svd", ("linalg_svd",)),
        ("torch.sparse.mm", ("_sparse_mm",)),
        ("torch.nn.functional.max_pool2d", ("max_pool2d", "max_pool2d_with_indices")),
        ("torch.nn.functional.tanh", ("tanh",)),
    ):
        assert by_path[path].operators == names
    assert operators.support(by_path["torch.add"]) == {"cpu": "CPU", "cuda": "CUDA", "mps": "MPS"}
    eig = operators.support(by_path["torch.linalg.eig"])
    assert eig == {"cpu": "CPU", "cuda": "CUDA", "mps": None}


def test_a_module_that_attributes_do_not_lead_to_is_marked(facts: Facts) -> None:
    reachable = {module.name: module.reachable for module in facts.modules}
    assert reachable["torch.optim.adam"] is False  # torch.optim deletes the name
    assert reachable["torch.nn.functional"] is True


def test_torch_requires_no_optional_package() -> None:
    allowed = requirements()
    assert {"torch", "sympy", "networkx", "jinja2", "filelock"} <= allowed
    assert not {"tensorboard", "pytest", "libcst"} & allowed
    declared = "triton" in " ".join(importlib.metadata.requires("torch") or [])  # a build for CUDA
    assert ("triton" in allowed) is declared


def test_no_python_and_no_build_says_more_than_another(by_path: dict[str, Member]) -> None:
    """Each of these was seen to differ between Python 3.11 and 3.13, or a CPU build and a CUDA build."""
    # @deprecated puts a constructor around object's own that tells nothing of the parameters.
    for path in ("torch.nn.NLLLoss2d", "torch.cuda.amp.autocast", "torch.cpu.amp.autocast"):
        (signature,) = by_path[path].signatures
        assert {"weight", "enabled"} & {item.name for item in signature.parameters}, path
    # Builtins without a text get made-up parameters from Python 3.13.
    assert by_path["torch.set_autocast_ipu_dtype"].signatures == ()
    # What a CUDA build derives its streams from, a CPU build does not have.
    assert by_path["torch.cuda.Stream"].bases == by_path["torch.cuda.Event"].bases == ()
    assert by_path["torch.cuda.ExternalStream"].bases == ("torch.cuda.streams.Stream",)
    assert by_path["torch.distributed.optim.optimizer.Lock"].kind == "builtin"
    # From Python 3.12 these can be imported only by way of setuptools, which torch requires.
    assert {"torch.utils.cpp_extension.load", "torch.utils.benchmark.Timer"} <= by_path.keys()
