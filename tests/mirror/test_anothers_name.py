"""Whether another accelerator is there, asked by its own name: on CUDA torch says so, elsewhere tdev does."""

from __future__ import annotations

from tests.programs import run


def test_on_cuda_another_accelerator_is_there_if_it_is() -> None:
    """Who takes the first that is there, XPU before CUDA, takes CUDA's; the process is made to believe in that."""
    code = """
        import torch
        torch.cuda.is_available = lambda: True
        torch.cuda.device_count = lambda: 2
        import tdev
        assert tdev.device_type() == "cuda" and tdev.cuda.device_count() == 2
        for other in (tdev.xpu, tdev.mps, tdev.mtia):
            theirs = getattr(torch, other.__name__.rpartition(".")[2])
            assert other.is_available() is theirs.is_available()
            assert other.device_count() == theirs.device_count()
            assert not other.is_available(), other
        chosen = "xpu" if tdev.xpu.is_available() else "cuda" if tdev.cuda.is_available() else "cpu"
        assert tdev.device(chosen).type == "cuda"
    """
    run(code, fresh=True, TDEV_BACKEND="")


def test_elsewhere_it_is_what_cuda_is() -> None:
    code = """
        import tdev
        assert tdev.xpu.is_available() and tdev.mtia.device_count() == tdev.cuda.device_count() > 0
        assert tdev.zeros(2, device="xpu").device == tdev.zeros(2, device="cuda").device
    """
    run(code, fresh=True, TDEV_BACKEND="sim")
