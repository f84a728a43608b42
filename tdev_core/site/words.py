"""Says routes, evidence, backends and categories in words, which pages, data, audits and badges share."""

from __future__ import annotations

__all__ = ["ABOUT", "DEVICES", "EVIDENCE", "ROUTES", "title_of"]

ROUTES = {
    "same": "torch's own object, whatever the device",
    "native": "torch's function for that very backend",
    "mapped": "another function of that backend means the same",
    "emulated": "tdev does it",
    "noop": "nothing is to be done there, and the note says why",
    "fallback": "it runs on the CPU and comes back, with one warning",
    "unsupported": "it raises tdev.UnsupportedError and says what to do instead",
}
EVIDENCE = {
    "executed": "a test asserts its {}",
    "executed-on-gpu": "run on CUDA hardware",
    "inherited": "torch's own object",
    "checked": "called against its API; not run",
}
# In the order in which every page has them.
DEVICES = {
    "cuda": "CUDA",
    "mps": "Apple MPS",
    "mlx": "Apple MLX",
    "cpu": "CPU",
    "sim": "Simulated",
}
ABOUT = {
    "cpu": "The CPU. Moves to “cuda” copy, as they do on a GPU.",
    "cuda": "CUDA and ROCm: torch's own functions, untouched.",
    "mps": "Apple silicon by torch's MPS device. What MPS lacks is emulated, or says so.",
    "mlx": "Apple silicon by MLX; on Linux its CPU build.",
    "sim": "An accelerator made of host memory, for testing device handling without a GPU.",
}
_ACRONYMS = ("CUDA", "JIT", "MPS", "MTIA", "ONNX", "XPU")


def title_of(category: str) -> str:
    """Return a category in words: ``CUDA_OPERATIONS`` is ``CUDA operations``."""
    words = [w if w in _ACRONYMS else w.lower() for w in category.split("_")]
    return " ".join([words[0] if words[0] in _ACRONYMS else words[0].capitalize(), *words[1:]])
