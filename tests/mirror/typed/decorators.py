# ruff: noqa
import functools
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Concatenate, Optional, ParamSpec, TypeVar, Union, overload

import torch
from torch import Tensor as T, nn

P = ParamSpec("P")
R = TypeVar("R")


def timed(function: Callable[P, R]) -> Callable[P, tuple[R, float]]:
    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> tuple[R, float]:
        torch.cuda.synchronize()
        start = time.perf_counter()
        result = function(*args, **kwargs)
        torch.cuda.synchronize()
        return result, time.perf_counter() - start

    return run


def on_cuda(function: Callable[Concatenate[torch.device, P], R]) -> Callable[P, R]:
    return functools.partial(function, torch.device("cuda"))


@on_cuda
def fill(device: torch.device, size: int, value: float = 0.0) -> T:
    return torch.full((size,), value, device=device)


@contextmanager
def evaluating(model: nn.Module, autocast: bool = False) -> Iterator[nn.Module]:
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode())
        stack.enter_context(torch.autocast("cuda") if autocast else nullcontext())
        was = model.training
        yield model.eval()
        model.train(was)


@overload
def load(path: str, numpy: None = None) -> T: ...
@overload
def load(path: str, numpy: bool) -> list[float]: ...
def load(path: str, numpy: Optional[bool] = None) -> Union[T, list[float]]:
    found: T = torch.load(path, map_location="cuda")
    return found.tolist() if numpy else found


@torch.compile(fullgraph=True)
def fused(x: T, y: T) -> T:
    return torch.addcmul(x, x, y, value=2)


class Model(nn.Module):
    @torch.no_grad()
    def sample(self, n: int) -> T:
        return torch.randn(n, device="cuda")

    @torch.jit.export
    def size(self, x: T) -> int:
        return x.numel()

    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, x: T) -> T:
        return x @ x.mT


reveal_type(timed(torch.matmul))
reveal_type(timed(torch.cuda.synchronize)())
reveal_type(timed(torch.zeros))
reveal_type(fill)
reveal_type(fill(3, value="x"))
reveal_type(load("a"))
reveal_type(load("a", numpy=True) + 1)
reveal_type(fused)
reveal_type(Model().sample)
reveal_type(Model().size)
reveal_type(Model.forward)
with evaluating(Model()) as model, torch.cuda.device(0), torch.device("cuda"):
    reveal_type(model)
with torch.cuda.stream(torch.cuda.Stream()) as stream:
    reveal_type(stream)
