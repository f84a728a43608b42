"""``TDEV_SIM_PROFILE``: the table and its sources, what ``sim`` then tells of itself, and what MPS would refuse."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from tdev_core.accelerators import host
from tdev_core.accelerators.sim import config, memory, metal, profiles
from tdev_core.cuda import properties
from tdev_core.errors import ConfigError
from tests.forkserver import environment, python


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is set around the tests (devices, in a run of the sim suite) is none of theirs."""
    for name in [name for name in os.environ if name.startswith("TDEV_SIM_")]:
        monkeypatch.delenv(name)


def run(code: str, **settings: str) -> str:
    done = python("-c", code, env=environment(TDEV_BACKEND="sim", **settings))
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("key", profiles.known())
def test_a_profile_is_whole_and_names_its_sources(key: str) -> None:
    table = profiles._loaded(profiles._TABLE)
    told = table["profile"][key]
    for group in (told, table["build"][told["build"]], table["family"][told["family"]]):
        assert group["source"]
    profile = profiles.read(key)
    assert profile.build in ("cuda", "hip", "mps", "privateuse1") and profile.properties["name"]
    if profile.build in ("cuda", "hip"):
        assert profile.memory is not None and profile.memory > 10 << 30
        assert profile.properties["multi_processor_count"] > 30
        assert profile.capability >= (7, 5) and profile.version and profile.arch_list
        assert profile.bf16 == profile.tf32 == (profile.capability >= (8, 0))
        assert profile.fp8 == (profile.capability >= (8, 9))


def own(folder: Path, text: str) -> str:
    path = folder / "ours.toml"
    path.write_text(text)
    return str(path)


def test_a_profile_of_ones_own(tmp_path: Path) -> None:
    text = '[profile]\nbase = "t4"\nname = "Ours"\nmemory = "2GiB"\n'
    profile = profiles.read(own(tmp_path, text))
    assert (profile.key, profile.properties["name"], profile.memory) == ("ours", "Ours", 2 << 30)
    assert profile.capability == (7, 5) and profile.properties["multi_processor_count"] == 40
    plain = profiles.read(own(tmp_path, "[profile]\nmajor = 8\n"))
    assert (plain.properties["name"], plain.capability, plain.memory) == ("ours", (8, 0), None)
    assert plain.properties["shared_memory_per_multiprocessor"] == 167936  # of its family


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds nothing. A profile of one's own is one table"),
        ("[profile]\nbase = 't5'", "base = 't5' is no known device. Known are a100-80g, "),
        ("[profile]\nmemorie = 1", "nothing is called 'memorie'. A profile has memory, "),
        ("[profile]\nmemory = 'much'", "memory = 'much' is not a size"),
        ("[profile]\nmajor = '8'", "major = '8'. It is of type int"),
        ("[profile]\nbuild = 'tpu'", "build = 'tpu'. It is one of cuda, hip, mps, privateuse1"),
        ("[profile", "is not TOML"),
    ],
)
def test_what_means_nothing_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as told:
        profiles.read(own(tmp_path, text))
    assert said in str(told.value)


def test_a_wrong_name_says_the_known_ones() -> None:
    with pytest.raises(
        ConfigError, match="'a100' is no known device. Known are a100-80g, .*, t4, and"
    ):
        profiles.read("a100")
    with pytest.raises(ConfigError, match="cannot be read"):
        profiles.read("/no/such.toml")


def test_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device tells the profile's memory and gives what the host has; TDEV_SIM_MEMORY sets both."""
    monkeypatch.setattr(profiles, "active", lambda: profiles.read("h200"))
    monkeypatch.setattr(host, "memory_total", lambda: 16 << 30)
    settings = config.read()
    assert settings.memory == int(139.8 * (1 << 30)) and settings.backing == 8 << 30
    monkeypatch.setenv("TDEV_SIM_MEMORY", "1GiB")
    settings = config.read()
    assert settings.memory == settings.backing == 1 << 30
    monkeypatch.setattr(profiles, "active", lambda: profiles.read("mps"))
    monkeypatch.setenv("TDEV_SIM_DEVICES", "2")
    with pytest.raises(ConfigError, match="a Mac has one device"):
        config.read()


def test_what_a_program_is_told() -> None:
    code = """
import tdev as torch
p = torch.cuda.get_device_properties("cuda:1")
print(p.name, torch.cuda.get_device_name(0), (p.major, p.minor), torch.cuda.get_device_capability())
print(p.multi_processor_count, p.warp_size, p.shared_memory_per_block_optin, p.is_integrated, p.has_fp64)
print(p.total_memory == torch.cuda.mem_get_info()[1] == torch.cuda.mem_get_info()[0] == int(23.65 * (1 << 30)))
print(torch.version.cuda, bool(torch.version.cuda), torch.version.hip, "sm_86" in torch.cuda.get_arch_list())
print(torch.cuda.get_gencode_flags().split()[1], torch.cuda.is_tf32_supported(), torch.cuda.is_bf16_supported(False))
print(torch.cuda.can_device_access_peer(0, 1))
"""
    assert run(code, TDEV_SIM_PROFILE="rtx-4090", TDEV_SIM_DEVICES="2").splitlines() == [
        "NVIDIA GeForce RTX 4090 NVIDIA GeForce RTX 4090 (8, 9) (8, 9)",
        "128 32 101376 0 True",
        "True",
        "12.8 True None True",
        "compute=compute_70,code=sm_70 True True",
        "False",
    ]


def test_out_of_what_the_host_gives_is_said() -> None:
    pool = memory.Pool(0, 64 << 30, 1 << 30)
    pool.change(0, 1 << 29)
    with pytest.raises(torch.OutOfMemoryError) as told:
        pool.change(0, (1 << 29) + 1)
    assert "total capacity of 64.00 GiB of which 63.50 GiB is free" in str(told.value)
    assert "this host gives 1024.00 MiB of it" in str(told.value)
    pool.change(1 << 29, 0)


def test_an_amd_gpu_has_the_other_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(properties, "_profile", lambda: profiles.read("mi300x"))
    assert properties._version("hip") == "7.1" and properties._version("cuda") is None
    assert properties.get(0).gcnArchName == "gfx942:sramecc+:xnack-"
    assert properties.gencode_flags() == "" and "gfx942" in properties.arch_list()


def test_what_mps_refuses() -> None:
    code = """
import os, warnings
import tdev as torch
from tdev_core.metrics import counters
device = torch.device("mps")
def tried(function):
    try: return str(function().dtype)
    except (TypeError, NotImplementedError) as error: return f"{type(error).__name__}: {error}"[:75]
x = torch.rand(3, 3, device=device)
print(tried(lambda: torch.nn.Linear(3, 3).to(device)(x)))
print(tried(lambda: torch.zeros(2, dtype=torch.float64, device=device)))
print(tried(lambda: torch.rand(2, dtype=torch.float64).to(device)))
print(tried(lambda: x.to(torch.complex128)))
print(tried(lambda: x.to(torch.complex64)))
print(tried(lambda: torch.linalg.eigvals(x)))
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    os.environ["PYTORCH_ENABLE_MPS_FALLBACK"] = "1"
    print(tried(lambda: torch.linalg.eigvals(x)), tried(lambda: torch.linalg.eigvals(x)))
    print(len(told), str(told[0].message)[:64], counters.fallbacks)
print(torch.cuda.get_device_name(), torch.cuda.device_count(), torch.cuda.get_device_properties(0).has_fp64)
print(torch.tensor([1.0, 2.5], device=device), torch.ones(1, dtype=torch.complex64, device=device))
"""
    assert run(code, TDEV_SIM_PROFILE="mps-m3").splitlines() == [
        "torch.float32",
        "TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS framewor",
        "TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS framewor",
        "TypeError: Cannot convert a MPS Tensor to complex128 dtype as the MPS frame",
        "torch.complex64",
        "NotImplementedError: The operator 'aten::_linalg_eigvals' is not currently ",
        "torch.complex64 torch.complex64",
        "1 The operator 'aten::_linalg_eigvals' is not currently supported  Counter({'aten::_linalg_eigvals': 2})",
        "Apple M3 1 False",
        "tensor([1.0000, 2.5000], device='sim:0') tensor([1.+0.j], device='sim:0')",
    ]


def test_a_device_that_stands_for_no_gpu_refuses_nothing_that_cuda_refuses() -> None:
    code = """
import torch, tdev
torch.use_deterministic_algorithms(True)
x = torch.rand(1, 2, 4, 4, device=tdev.device("cuda"), requires_grad=True)
try:
    torch.nn.functional.adaptive_avg_pool2d(x, 2).sum().backward()
    print(x.grad.shape, tdev.version.cuda or None, tdev.version.hip, tdev.cuda.device_count())
    print(x.storage_type() is torch.FloatStorage)
except RuntimeError as error:
    print(str(error)[:33])
"""
    alone = run(code, TDEV_SIM_PROFILE="privateuse1", TDEV_SIM_DEVICES="2")
    assert alone == "torch.Size([1, 2, 4, 4]) None None 2\nTrue\n"
    assert run(code) == run(code, TDEV_SIM_PROFILE="t4") == "adaptive_avg_pool2d_backward_cuda\n"


@pytest.mark.deep  # the other reader parses all of the table as YAML
def test_the_table_of_kernels_is_read_as_yaml_reads_it() -> None:
    import torchgen  # type: ignore[import-untyped]

    from generator.facts.operators import read_operators

    ours = metal.kernels()
    path = Path(torchgen.__file__).parent / "packaged/ATen/native/native_functions.yaml"
    for operator in read_operators(path):
        name = f"{operator.name}.{operator.overload}" if operator.overload else operator.name
        generated = {"CPU", "CUDA"}  # what the build makes of loops is not written there
        assert ours[name] - generated == operator.dispatch.keys() - generated, name
    assert "MPS" in ours["add.out"] and "MPS" not in ours["_linalg_eigvals"]


def test_a_profile_of_ones_own_may_leave_out_its_capability(tmp_path: Path) -> None:
    path = tmp_path / "größe.toml"
    path.write_text("[profile]\nname = 'Größe'\nmemory = '1GiB'\n", encoding="utf-8")
    profile = profiles.read(str(path))
    assert (profile.capability, profile.properties["name"]) == ((0, 0), "Größe")


def test_an_operator_without_a_table_is_a_composite_and_one_with_one_is_not() -> None:
    found = metal._parsed(
        "- func: plain(Tensor self) -> Tensor\n"
        "  variants: function\n"
        "- func: own(Tensor self) -> Tensor\n"
        "  dispatch:\n"
        "    CPU, MPS: own_kernel\n"
        "- func: last(Tensor self) -> Tensor\n"
    )
    assert found == {
        "plain": {"CompositeImplicitAutograd"},
        "own": {"CPU", "MPS"},
        "last": {"CompositeImplicitAutograd"},
    }
