"""Importing tdev, in a process of its own: order, laziness, threads, forks, and who else is there."""

from __future__ import annotations

import pytest

from tests.programs import run


def test_import_order_does_not_matter() -> None:
    check = """
        assert tdev.Tensor is torch.Tensor and torch.ones(2).cuda().device == tdev.device("cuda", 0)
        assert torch.nn.Linear(1, 1, device="cuda").weight.device == tdev.zeros(1, device="cuda").device
    """
    run("import torch\nimport tdev\n" + check.replace("        ", ""))
    run("import tdev\nimport torch\n" + check.replace("        ", ""), fresh=True)
    run(
        "from torch import nn, load\nimport tdev\nimport torch\nassert torch.load is load\n"
        + check.replace("        ", "")
    )


def test_importing_tdev_imports_no_more_of_torch() -> None:
    """Submodules load on first use, in the mirror as in torch."""
    code = """
        import sys
        import torch
        before = {name for name in sys.modules if name.startswith("torch")}
        import tdev
        more = {name for name in sys.modules if name.startswith("torch")} - before
        assert not more, sorted(more)
        loaded = sorted(name for name, module in sys.modules.items()
                        if name.startswith("tdev.") and (getattr(module, "__file__", "") or "").find("generated") >= 0)
        assert len(loaded) < 12, loaded
        heavy = {"sympy", "mlx", "torch._inductor", "torch._dynamo", "libcst"} & set(sys.modules)
        assert not heavy, heavy
    """
    run(code)


def test_nothing_of_cuda_is_initialised_by_the_import() -> None:
    code = """
        import tdev, torch
        assert torch.cuda.is_initialized() is False
        assert torch.cuda._is_in_bad_fork() is False
        assert not hasattr(torch._C, "_cuda_getDevice") or not torch.cuda.is_initialized()
    """
    run(code)


def test_threads_import_and_use_it_at_once() -> None:
    code = """
        import threading
        results = []
        def work():
            import tdev as torch
            import tdev.cuda.memory, tdev.nn.functional
            x = torch.ones(2, device="cuda").cuda()
            results.append((torch.nn.functional.relu(x).sum().item(), torch.cuda.current_stream() is not None))
        threads = [threading.Thread(target=work) for _ in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert results == [(2.0, True)] * 8, results
    """
    run(code)


def test_fork_after_import() -> None:
    code = """
        import os
        import tdev as torch
        if torch.device_type() != "cuda":  # where no child can go on with what was begun, under torch either
            torch.zeros(2, device="cuda")
        torch.cuda.manual_seed(0)
        child = os.fork()
        if child == 0:
            ok = torch.ones(2).cuda().sum().item() == 2 and not torch.cuda._is_in_bad_fork()
            os._exit(0 if ok else 1)
        assert os.waitpid(child, 0)[1] == 0
    """
    run(code)


def test_other_libraries_see_torchs_truth() -> None:
    code = """
        import torch
        truth = torch.cuda.is_available(), torch.cuda.device_count(), torch.zeros, torch.device
        import tdev
        assert (torch.cuda.is_available(), torch.cuda.device_count(), torch.zeros, torch.device) == truth
        if not torch.cuda.is_available():
            for name in ("zeros", "ones", "randn"):
                try:
                    getattr(torch, name)(1, device="cuda")
                except (AssertionError, RuntimeError):
                    pass
                else:
                    raise SystemExit(name)
        assert torch.device("cuda").type == "cuda"
        assert torch.jit.script.__module__ == "torch.jit._script" and torch.load.__module__ == "torch.serialization"
    """
    run(code)


def test_numpy_interop() -> None:
    pytest.importorskip("numpy")
    code = """
        import numpy
        import tdev as torch
        array = numpy.ones(2, dtype=numpy.float32)
        x = torch.from_numpy(array)
        assert numpy.asarray(x) is not None and (x.cuda().cpu().numpy() == array).all()
        assert torch.as_tensor(array, device="cuda").tolist() == [1, 1]
        x.cuda().zero_()
        assert array.tolist() == [1, 1]
    """
    run(code)


def test_names_that_large_frameworks_reach_for() -> None:
    code = """
        import tdev as torch
        torch.cuda.init()  # before which CUDA has no generators
        assert len(torch.cuda.default_generators) == max(torch.cuda.device_count(), 0) or torch.cuda.default_generators
        torch.cuda.random.get_rng_state()
        ran = []
        torch.cuda._lazy_call(lambda: ran.append(1))
        assert torch.cuda._is_in_bad_fork() is False
        assert (int(torch.version.cuda.split(".")[0]) > 0) == (torch.device_type() == "cuda")
        torch._C, torch._dynamo.config, torch._foreach_add_, torch._inductor, torch.utils._pytree
    """
    run(code)


def test_an_exception_in_a_shim_or_a_wrapper_leaves_nothing_flipped() -> None:
    code = """
        import tdev as torch
        installed = torch.shims.installed()
        for bad in (lambda: torch.ones(2).to("cuda", nonsense=1), lambda: torch.nn.Linear(2, device="cuda"),
                    lambda: torch.zeros(-1, device="cuda"), lambda: torch.zeros(2, device="nonsense"),
                    lambda: torch.load("/nowhere/cuda.pt", map_location="cuda")):
            try:
                bad()
            except (TypeError, RuntimeError, OSError) as error:
                assert "tdev_core" not in str(error)
            else:
                raise SystemExit("did not raise")
        assert torch.shims.installed() == installed
        assert torch.get_default_device() == torch.device("cpu") and torch.is_grad_enabled()
        assert torch.ones(2).cuda().sum() == 2
    """
    run(code)
