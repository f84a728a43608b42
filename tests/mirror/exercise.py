"""Call what the catalog lists, for real, on the active backend, and look at what it answers.

Each name that is executed here comes with what was asserted of it: ``value`` (what it answered is what it has to be),
``effect`` (what it changed was looked at) or ``error`` (it refuses in the words that the catalog promises). A call that
only came back proves nothing, and counts as nothing.

Functions are called with the arguments listed here and held against ``exercise_calls.py``; classes, and functions that
need others, by the programs of ``exercise_programs.py``, operators by ``exercise_operators.py``, and
``torch.distributed`` by the two ranks of ``tests/distributed/test_distributed.py``. A function of the mirror counts as
executed only if the mirror's own counter saw the call come back.

As a program: prints, as JSON, what was asserted of which and which went wrong and how. With ``--write`` it runs everything
once for each backend that CI has, and writes ``generator/evidence/<backend>.json``: then run ``python -m generator``, which
takes the catalog's evidence from there. ``--write cuda``, on a machine that has it, does that for CUDA alone, where torch's
own objects answer and ``exercise_cuda.py`` says what is asserted otherwise.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from tests.catalog import ROOT, catalog, mirrored
from tests.mirror import exercise_cuda
from tests.mirror.exercise_calls import EFFECTS, VALUES
from tests.mirror.exercise_operators import exercise_operators
from tests.mirror.exercise_programs import PROGRAMS

sys.path.append(str(ROOT))
from tests.forkserver import COMPILER, environment, python  # noqa: E402

BACKENDS = ("cpu", "sim", "mlx")
EVIDENCE = ROOT / "generator" / "evidence"

# Arguments of the functions that need some; names that a line does not explain are built in _values().
ARGUMENTS: dict[str, str] = {
    # torch's database of operators has no call of it before 2.13.
    "torch.native_group_norm": "torch.arange(24.0, device='cuda').reshape(2, 4, 3), None, None, 2, 4, 3, 2, 1e-5",
    "torch.cuda.set_device": "0",
    "torch.accelerator.set_device_index": "0",
    "torch.accelerator.set_device_idx": "0",
    "torch.xpu.set_device": "0",
    "torch.mtia.set_device": "0",
    "torch.accelerator.set_stream": "torch.cuda.current_stream()",
    "torch.cuda.set_stream": "torch.cuda.current_stream()",
    "torch.xpu.set_stream": "torch.xpu.current_stream()",
    "torch.mtia.set_stream": "torch.mtia.current_stream()",
    "torch.cuda.stream": "torch.cuda.Stream()",
    "torch.xpu.stream": "torch.xpu.Stream()",
    "torch.mtia.stream": "torch.mtia.Stream()",
    "torch.cuda.random.manual_seed": "7",
    "torch.cuda.random.manual_seed_all": "7",
    "torch.xpu.random.manual_seed": "7",
    "torch.xpu.random.manual_seed_all": "7",
    "torch.mtia.manual_seed": "7",
    "torch.mtia.manual_seed_all": "7",
    "torch.mps.manual_seed": "7",
    "torch.cuda.random.set_rng_state": "torch.cuda.get_rng_state()",
    "torch.cuda.random.set_rng_state_all": "torch.cuda.get_rng_state_all()",
    "torch.xpu.random.set_rng_state": "torch.xpu.get_rng_state()",
    "torch.xpu.random.set_rng_state_all": "torch.xpu.get_rng_state_all()",
    "torch.mtia.set_rng_state": "torch.mtia.get_rng_state()",
    "torch.mps.set_rng_state": "torch.mps.get_rng_state()",
    "torch.cuda.can_device_access_peer": "0, 0",
    "torch.cuda.check_error": "0",
    "torch.cuda.memory.set_per_process_memory_fraction": "1.0",
    "torch.mps.set_per_process_memory_fraction": "1.0",
    "torch.xpu.memory.set_per_process_memory_fraction": "1.0",
    "torch.cuda.set_sync_debug_mode": "0",
    "torch.cuda.nvtx.mark": "'here'",
    "torch.cuda.nvtx.range": "'here'",
    "torch.cuda.nvtx.range_push": "'here'",
    "torch.cuda.nvtx.range_end": "torch.cuda.nvtx.range_start('here')",
    "torch.cuda.nvtx.range_start": "'here'",
    "torch.cuda.amp.autocast_mode.custom_fwd": "abs",
    "torch.cuda.amp.autocast_mode.custom_bwd": "abs",
    "torch.amp.autocast_mode.custom_fwd": "abs, device_type='cuda'",
    "torch.amp.autocast_mode.custom_bwd": "abs, device_type='cuda'",
    "torch.amp.autocast_mode.is_autocast_available": "'cuda'",
    "torch.set_autocast_gpu_dtype": "torch.get_autocast_gpu_dtype()",
    "torch.compile": "abs, backend='eager'",
    "torch.nn.attention.sdpa_kernel": "torch.nn.attention.SDPBackend.MATH",
    "torch.nn.parallel.comm.broadcast": "torch.ones(2, device='cuda'), ['cuda:0']",
    "torch.nn.parallel.comm.broadcast_coalesced": "[torch.ones(2, device='cuda')], ['cuda:0']",
    "torch.nn.parallel.comm.reduce_add": "[torch.ones(2, device='cuda')]",
    "torch.nn.parallel.comm.scatter": "torch.ones(2, device='cuda'), [0]",
    "torch.nn.parallel.comm.gather": "[torch.ones(2, device='cuda')], 0, 'cuda:0'",
    "torch.nn.parallel.replicate.replicate": "torch.nn.Linear(2, 2).to('cuda'), [0]",
    "torch.nn.parallel.parallel_apply.parallel_apply": "[abs], [torch.ones(2, device='cuda')]",
    "torch.nn.parallel.data_parallel.data_parallel": (
        "torch.nn.Linear(2, 2).to('cuda'), torch.ones(2, 2, device='cuda'), [0]"
    ),
    "torch.nn.parallel.scatter_gather.scatter": "torch.ones(2, device='cuda'), [0]",
    "torch.nn.parallel.scatter_gather.gather": "[torch.ones(2, device='cuda')], 'cuda:0'",
    "torch.zeros": "2, device='cuda'",
    "torch.ones": "2, device='cuda'",
    "torch.empty": "2, device='cuda'",
    "torch.full": "(2,), 1.0, device='cuda'",
    "torch.arange": "3, device='cuda'",
    "torch.linspace": "0, 1, 3, device='cuda'",
    "torch.logspace": "0, 1, 3, device='cuda'",
    "torch.eye": "2, device='cuda'",
    "torch.rand": "2, device='cuda'",
    "torch.randn": "2, device='cuda'",
    "torch.randint": "0, 3, (2,), device='cuda'",
    "torch.randperm": "3, device='cuda'",
    "torch.tensor": "[1.0], device='cuda'",
    "torch.as_tensor": "[1.0], device='cuda'",
    "torch.asarray": "[1.0], device='cuda'",
    "torch.zeros_like": "torch.ones(2), device='cuda'",
    "torch.ones_like": "torch.ones(2), device='cuda'",
    "torch.empty_like": "torch.ones(2), device='cuda'",
    "torch.full_like": "torch.ones(2), 2.0, device='cuda'",
    "torch.rand_like": "torch.ones(2), device='cuda'",
    "torch.randn_like": "torch.ones(2), device='cuda'",
    "torch.tril_indices": "2, 2, device='cuda'",
    "torch.triu_indices": "2, 2, device='cuda'",
    "torch.fft.fftfreq": "4, device='cuda'",
    "torch.fft.rfftfreq": "4, device='cuda'",
    "torch.hann_window": "4, device='cuda'",
    "torch.hamming_window": "4, device='cuda'",
    "torch.bartlett_window": "4, device='cuda'",
    "torch.blackman_window": "4, device='cuda'",
    "torch.kaiser_window": "4, device='cuda'",
    "torch.empty_permuted": "(2, 3), (1, 0), device='cuda'",
    "torch.empty_strided": "(2, 3), (1, 2), device='cuda'",
    "torch.normal": "0.0, 1.0, (2,), device='cuda'",
    "torch.randint_like": "torch.ones(2), 3, device='cuda'",
    "torch.range": "0, 2, device='cuda'",
    "torch.scalar_tensor": "2.0, device='cuda'",
    "torch.testing.make_tensor": "2, device='cuda', dtype=torch.float32",
    **{
        f"torch.signal.windows.windows.{name}": f"{arguments}, device='cuda'"
        for name, arguments in {
            "bartlett": "5", "blackman": "5", "cosine": "5", "exponential": "5", "gaussian": "5", "hamming": "5",
            "general_cosine": "5, a=[0.5, 0.3, 0.2]", "general_hamming": "5", "hann": "5", "kaiser": "5",
            "nuttall": "5",
        }.items()
    },
}  # fmt: skip

# Not called without arguments: they need a process group, read this machine's sensors, or start something.
_LEFT_OUT = ("torch.distributed.", "torch.jit.", "torch.mps.profiler.", "torch.cuda.tunable.")
_SENSORS = ("clock_rate", "memory_usage", "power_draw", "temperature", "utilization")
_STARTS = ("cudaStart", "profiler.start", "profiler.stop", "profile", "make_graphed_callables")
# Their values differ from call to call.
_UNTOLD = ("empty", "rand", "normal", "make_tensor")


def plan(backend: str = "cpu") -> dict[str, str]:
    """Canonical name to the source of its arguments, for every function that is called on a backend."""
    members = catalog()["members"]
    found = dict(ARGUMENTS)
    if backend == "cuda":
        found.update(exercise_cuda.ARGUMENTS)
    for mirror in catalog()["mirrors"].values():
        for row in mirror["definitions"]:
            name = row["torch_name"]
            if row["kind"] != "routed" or name in found or row["signature"].startswith("(*args"):
                continue
            if name.startswith(_LEFT_OUT) or name.endswith((*_SENSORS, *_STARTS)):
                continue
            node = ast.parse(f"def f{row['signature']}: ...").body[0]
            assert isinstance(node, ast.FunctionDef)
            required = len(node.args.posonlyargs) + len(node.args.args) - len(node.args.defaults)
            if required == 0 and None not in node.args.kw_defaults:
                found[name] = ""
    return {name: found[name] for name in sorted(found) if name in members}


def programs(backend: str) -> dict[str, str]:
    """The programs that are run on a backend, by the members that they stand for."""
    own = exercise_cuda.PROGRAMS if backend == "cuda" else {}
    chosen = {**PROGRAMS, **own}
    return {
        names: source
        for names, source in chosen.items()
        if source is not None and set(names.split()) <= catalog()["members"].keys()
    }


def assertions(name: str, backend: str) -> tuple[str | None, str | None]:
    """The effect, or else the expression of the value, that is asserted of a function on a backend."""
    keys = name, name.rpartition(".")[2]
    if backend == "cuda":
        if not exercise_cuda.UNSEEN.isdisjoint(keys):
            return None, None
        for key in keys:
            effect, value = exercise_cuda.EFFECTS.get(key), exercise_cuda.VALUES.get(key)
            if effect is not None or value is not None:
                return effect, value
    by_whole, by_leaf = keys
    return (
        EFFECTS.get(by_whole) or EFFECTS.get(by_leaf),
        VALUES.get(by_whole) or VALUES.get(by_leaf),
    )


def at_home(name: str) -> bool:
    """Whether the mirror hands out torch's own object here, whose calls it does not count."""
    home, _, leaf = name.rpartition(".")
    original = getattr(importlib.import_module(home), leaf, None)
    mirror = getattr(importlib.import_module(mirrored(home)), leaf, None)
    return mirror is not None and mirror is original


def exercise(backend: str) -> tuple[dict[str, str], dict[str, str]]:
    """Call everything once; what was asserted of each name, and what went wrong with others."""
    torch: Any = importlib.import_module("tdev")
    executed: dict[str, str] = {}
    wrong: dict[str, str] = {}

    def note(name: str, asserted: str, problem: str) -> None:
        if problem:
            wrong[name] = problem
        else:
            executed[name] = asserted

    if backend == "cuda":
        # Convolutions are held against the CPU's; the 10 bits of TensorFloat-32 are not.
        importlib.import_module("torch").backends.cudnn.allow_tf32 = False
    for name, source in plan(backend).items():
        note(name, *_called(name, source, backend, torch))
    for names, source in programs(backend).items():
        for name, (asserted, problem) in _run(names.split(), source, backend, torch).items():
            note(name, asserted, problem)
    operators, other = exercise_operators(backend)
    return dict(sorted({**executed, **operators}.items())), wrong | other


def _called(name: str, source: str, backend: str, torch: Any) -> tuple[str, str]:
    """Call one function; what was asserted of it, and what was wrong, or nothing."""
    from tdev_core.errors import UnsupportedError

    member = catalog()["members"][name]
    home, _, leaf = mirrored(name).rpartition(".")
    factory = member["mirror"] == "translated" and "device='cuda'" in ARGUMENTS.get(name, "")
    effect, value = assertions(name, backend)
    known: dict[str, Any] = {"torch": torch, "backend": backend, "os": os}
    known["last"] = max(torch.cuda.device_count() - 1, 0)
    known["fill"] = lambda: _filled(torch)
    try:
        known["f"] = function = getattr(importlib.import_module(home), leaf)
        refused = member[backend]["route"] == "unsupported"
        if effect is not None and not refused:
            exec(effect, known)
            return "effect", ""
        arguments = eval(f"call({source})", {"torch": torch, "call": lambda *a, **k: (a, k)})
        answer = function(*arguments[0], **arguments[1])
    except UnsupportedError as error:
        return "error", "" if refused and name in str(error) else f"raises {error}"
    except Exception as error:
        return "", f"{type(error).__name__}: {error}"
    if refused:
        return "", "answers, although the catalog says unsupported"
    if factory:
        told = not any(word in leaf for word in _UNTOLD)
        return "value" if told else "effect", _other(answer, name, backend)
    if value is None:
        return "", "nothing is asserted of it"
    known["x"] = answer
    try:
        holds = eval(value, known)
    except Exception as error:
        return "", f"answers {answer!r}, of which {value} raises {type(error).__name__}: {error}"
    return "value", "" if holds else f"answers {answer!r}, of which {value} is false"


def _filled(torch: Any) -> Any:
    """16 MiB of tensor on the device, computed."""
    found = torch.rand(1 << 22, device="cuda")
    torch.cuda.synchronize()
    return found


def _run(names: list[str], source: str, backend: str, torch: Any) -> dict[str, tuple[str, str]]:
    """Run one program; for each member that it stands for, what was asserted, and what was wrong, or nothing.

    A function of the mirror counts only if it was entered and came back (or refused, where the catalog
    says so): the mirror counts its calls in this process. A program without an assertion shows nothing but a refusal.
    """
    from tdev_core.errors import UnsupportedError
    from tdev_core.metrics import counters

    members = catalog()["members"]
    counters.answered.clear()
    refused = ""
    with tempfile.TemporaryDirectory() as folder:
        try:
            exec(source, {"torch": torch, "folder": folder})
        except UnsupportedError as error:
            refused = str(error)
        except Exception as error:
            return {name: ("", f"{type(error).__name__}: {error}") for name in names}
    asserts = any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(source)))
    asserted = "error" if refused else "effect"
    found: dict[str, tuple[str, str]] = {}
    for name in names:
        member = members[name]
        route = member[backend]["route"]
        problem = "" if refused or asserts else "nothing is asserted of it"
        # Where the mirror only translates, it is the device that refuses, in words of its own.
        own = member["mirror"] == "translated" or any(path in refused for path in member["exports"])
        if refused and not (route == "unsupported" and own):
            problem = f"raises UnsupportedError: {refused}"
        elif route == "unsupported" and not refused:
            problem = "answers, although the catalog says unsupported"
        elif member["mirror"] in ("routed", "translated") and not refused:
            if name not in counters.answered and not (backend == "cuda" and at_home(name)):
                problem = "the program ended without a call of it"
        found[name] = asserted, problem
    return found


def _other(answer: Any, name: str, backend: str) -> str:
    """How a factory's tensor differs from the one that stock torch makes on the CPU."""
    import torch

    if answer.device.type != backend:
        return f"is on {answer.device}, not on {backend}"
    leaf = name.rpartition(".")[2]
    source = ARGUMENTS[name].replace("device='cuda'", "device='cpu'")
    expected = eval(f"{name.replace('windows.windows', 'windows')}({source})", {"torch": torch})
    if (answer.shape, answer.dtype, answer.stride()) != (
        expected.shape,
        expected.dtype,
        expected.stride(),
    ):
        return f"has other shape, type or strides than torch's: {answer!r}"
    if not any(word in leaf for word in _UNTOLD):
        if not torch.allclose(answer.cpu().double(), expected.double(), atol=1e-6):
            return f"holds {answer.tolist()}, torch's {expected.tolist()}"
    return ""


def run(backend: str) -> dict[str, Any]:
    """:func:`exercise` in a process of its own, where ``backend`` is the active one."""
    env = environment(
        TDEV_BACKEND=backend, TDEV_SIM_DEVICES="2", TDEV_REPORT="1", OMP_NUM_THREADS="1"
    )
    done = python(__file__, "--child", env=env, timeout=500, preload=COMPILER)
    if done.returncode != 0:
        raise RuntimeError(f"the process on {backend} ended with {done.returncode}: {done.stderr}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def distributed_names() -> dict[str, set[str]]:
    """By backend, what two ranks execute in ``tests/distributed/test_distributed.py``, by the catalog's names."""
    sys.path.insert(0, str(ROOT))
    from tests.distributed import test_distributed as ranks

    members = {path: name for name, row in catalog()["members"].items() for path in row["exports"]}
    found: dict[str, set[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for cases, names in (
            (ranks.distributed_cases, ranks.COLLECTIVES),
            (ranks.distributed_training, ranks.TRAINING),
        ):
            runs = ranks.all_runs(cases, Path(folder))
            for backend in ranks.BACKENDS:
                done = ranks.proved(runs, cases, names, backend)
                found.setdefault(backend, set()).update(members[path] for path in done)
    return found


def first_torches(backend: str) -> dict[str, str]:
    """What two ranks execute on newer torches alone, and the first of these, by the catalog's names."""
    from tests.distributed import test_distributed as ranks

    members = {path: name for name, row in catalog()["members"].items() for path in row["exports"]}
    return {
        members[names[case]]: first[backend]
        for cases, names in (
            (ranks.distributed_cases, ranks.COLLECTIVES),
            (ranks.distributed_training, ranks.TRAINING),
        )
        for case, first in sorted(cases.SINCE.items())
        if backend in first
    }


def main() -> None:
    """Write the evidence files, or (``--child``) exercise the active backend."""
    if "--child" in sys.argv:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            executed, wrong = exercise(os.environ["TDEV_BACKEND"])
        print()
        print(json.dumps({"executed": executed, "wrong": wrong}), flush=True)
        # All is said. MLX's own threads sometimes abort a process while it ends ("terminate called
        # without an active exception"), which is no answer of any function that was called.
        os._exit(0)
    elif "--write" in sys.argv:
        EVIDENCE.mkdir(exist_ok=True)
        on_gpu = "cuda" in sys.argv
        distributed = {} if on_gpu else distributed_names()  # NCCL joins no two ranks on one GPU
        for backend in ("cuda",) if on_gpu else BACKENDS:
            found = run(backend)
            # The ranks compare what they find with the plain program's results.
            names = {**dict.fromkeys(distributed.get(backend, ()), "value"), **found["executed"]}
            body: dict[str, Any] = {
                "kind": "executed-on-gpu" if on_gpu else "executed",
                "functions": dict(sorted(names.items())),
            }
            if late := {} if on_gpu else first_torches(backend):
                body["since"] = late
            text = json.dumps(body, indent=1) + "\n"
            (EVIDENCE / f"{backend}.json").write_text(text, encoding="utf-8")
            print(f"{backend}: {len(names)} executed, {len(found['wrong'])} not")
            for name, why in found["wrong"].items():
                print(f"  {name}: {why[:200]}")
    else:
        print(__doc__)


if __name__ == "__main__":
    main()
