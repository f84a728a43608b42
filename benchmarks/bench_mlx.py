"""Training steps on device ``mlx`` against the same model written by hand in MLX, in one run.

    python benchmarks/bench_mlx.py            # ratios, dispatch overhead, memory
    python benchmarks/bench_mlx.py --steps 30 --repeat 7

Prints the median over rounds of the time ratio tdev / MLX (the two take turns, so that a busy machine slows both), the
overhead of one operator in microseconds, and the growth of memory over 500 steps.  Numbers of two runs do not compare.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import tdev_core.mlx  # noqa: E402
from tdev_core.mlx import runtime  # noqa: E402

# Any: MLX's own packages do not export their names for a type checker.
mx: Any = importlib.import_module("mlx.core")
mnn: Any = importlib.import_module("mlx.nn")
mopt: Any = importlib.import_module("mlx.optimizers")

VOCABULARY, WIDTH, LAYERS, HEADS, LENGTH, BATCH = 512, 256, 4, 8, 32, 4


# --- by hand ------------------------------------------------------------------------------------------


class MlxBlock(mnn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = mnn.LayerNorm(WIDTH), mnn.LayerNorm(WIDTH)
        self.qkv, self.out = mnn.Linear(WIDTH, 3 * WIDTH), mnn.Linear(WIDTH, WIDTH)
        self.up, self.down = mnn.Linear(WIDTH, 4 * WIDTH), mnn.Linear(4 * WIDTH, WIDTH)

    def __call__(self, x: Any) -> Any:
        b, t, d = x.shape
        q, k, v = (
            self.qkv(self.norm1(x)).reshape(b, t, 3, HEADS, d // HEADS).transpose(2, 0, 3, 1, 4)
        )
        a = mx.fast.scaled_dot_product_attention(q, k, v, scale=(d // HEADS) ** -0.5, mask="causal")
        x = x + self.out(a.transpose(0, 2, 1, 3).reshape(b, t, d))
        return x + self.down(mnn.gelu(self.up(self.norm2(x))))


class MlxGPT(mnn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = mnn.Embedding(VOCABULARY, WIDTH), mnn.Embedding(LENGTH, WIDTH)
        self.blocks = [MlxBlock() for _ in range(LAYERS)]
        self.norm = mnn.LayerNorm(WIDTH)

    def __call__(self, i: Any) -> Any:
        x = self.tokens(i) + self.places(mx.arange(i.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.tokens.as_linear(self.norm(x))


class MlxResNet(mnn.Module):  # type: ignore[misc]
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.stem, self.norm0 = mnn.Conv2d(3, width, 3, 1, 1, bias=False), mnn.BatchNorm(width)
        self.convs = [mnn.Conv2d(width, width, 3, 1, 1, bias=False) for _ in range(4)]
        self.norms = [mnn.BatchNorm(width) for _ in range(4)]
        self.head = mnn.Linear(width, 10)

    def __call__(self, x: Any) -> Any:
        x = mnn.relu(self.norm0(self.stem(x)))
        x = mnn.MaxPool2d(2, 2)(x)
        for i in (0, 2):
            y = self.norms[i + 1](self.convs[i + 1](mnn.relu(self.norms[i](self.convs[i](x)))))
            x = mnn.relu(x + y)
        return self.head(x.mean(axis=(1, 2)))


def mlx_step(model: Any, x: Any, y: Any, compiled: bool) -> Callable[[], None]:
    """One AdamW step with MLX's own tools."""
    optimizer = mopt.AdamW(learning_rate=1e-3)

    def loss(m: Any, a: Any, b: Any) -> Any:
        out = m(a)
        return mnn.losses.cross_entropy(out.reshape(-1, out.shape[-1]), b.reshape(-1)).mean()

    grad = mnn.value_and_grad(model, loss)
    optimizer.init(model.trainable_parameters())
    state = [model.state, optimizer.state]

    def raw() -> Any:
        value, g = grad(model, x, y)
        optimizer.update(model, g)
        return value

    run = mx.compile(raw, inputs=state, outputs=state) if compiled else raw

    def step() -> None:
        value = run()
        mx.eval(value, *state)

    return step


# --- through torch --------------------------------------------------------------------------------------


class ResNet(torch.nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        n = torch.nn
        self.stem, self.norm0 = n.Conv2d(3, width, 3, 1, 1, bias=False), n.BatchNorm2d(width)
        self.convs = n.ModuleList([n.Conv2d(width, width, 3, 1, 1, bias=False) for _ in range(4)])
        self.norms = n.ModuleList([n.BatchNorm2d(width) for _ in range(4)])
        self.head = n.Linear(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.norm0(self.stem(x))), 2, 2)
        for i in (0, 2):
            y = self.norms[i + 1](self.convs[i + 1](F.relu(self.norms[i](self.convs[i](x)))))
            x = F.relu(x + y)
        out: torch.Tensor = self.head(x.mean((2, 3)))
        return out


def torch_step(
    model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, compiled: bool
) -> Callable[[], None]:
    """One AdamW step through torch on the device."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def loss(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        out = model(a)
        return F.cross_entropy(out.reshape(-1, out.shape[-1]), b.reshape(-1))

    run: Any = torch.compile(loss, backend="mlx") if compiled else loss

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        value = run(x, y)
        value.backward()
        optimizer.step()
        runtime.synchronize()

    return step


def ratio(
    ours: Callable[[], None], theirs: Callable[[], None], steps: int, repeat: int
) -> tuple[float, float, float]:
    """Median of the time ratio over rounds, and the median milliseconds of each."""
    for f in (ours, theirs, ours, theirs):
        f()
    pairs = []
    for _ in range(repeat):
        spent = []
        for f in (ours, theirs):
            start = time.perf_counter()
            for _ in range(steps):
                f()
            spent.append((time.perf_counter() - start) / steps * 1e3)
        pairs.append(spent)
    return statistics.median(a / b for a, b in pairs), *(
        statistics.median(c) for c in zip(*pairs, strict=True)
    )


def overhead() -> float:
    """Median over operators of microseconds for one call through torch, beyond MLX's own call."""
    x, y = torch.ones(4, 4, device="mlx"), torch.ones(4, 4, device="mlx")
    a, b = mx.ones((4, 4)), mx.ones((4, 4))
    pairs: list[tuple[Callable[[], Any], Callable[[], Any]]] = [
        (lambda: x + y, lambda: a + b), (lambda: x * 2.0, lambda: a * 2.0), (lambda: x.exp(), lambda: mx.exp(a)),
        (lambda: torch.relu(x), lambda: mx.maximum(a, 0)), (lambda: torch.mm(x, y), lambda: a @ b),
        (lambda: x.sum(-1), lambda: mx.sum(a, axis=-1)), (lambda: F.linear(x, y), lambda: mx.matmul(a, mx.transpose(b))),
        (lambda: x.add_(y), lambda: a + b), (lambda: x.t(), lambda: mx.transpose(a)), (lambda: x.view(16), lambda: a.reshape(16)),
        (lambda: torch.softmax(x, -1), lambda: mx.softmax(a, axis=-1)), (lambda: torch.cat([x, y]), lambda: mx.concatenate([a, b])),
    ]  # fmt: skip

    def once(f: Callable[[], Any]) -> float:
        rounds = []
        for _ in range(15):
            start = time.perf_counter_ns()
            for _ in range(200):
                f()
            rounds.append((time.perf_counter_ns() - start) / 200e3)
            runtime.drain()
        return min(rounds)

    with torch.no_grad():
        return statistics.median(once(f) - once(g) for f, g in pairs)


def memory(step: Callable[[], None], steps: int = 500) -> tuple[int, int]:
    """Peak bytes over the first 50 steps and over the last 50."""
    peaks = []
    for i in range(steps):
        if i in (0, steps - 50):
            mx.reset_peak_memory()
        step()
        if i in (49, steps - 1):
            peaks.append(int(mx.get_peak_memory()))
    return peaks[0], peaks[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument(
        "--memory", action="store_true", help="also run 500 steps and report memory"
    )
    options = parser.parse_args()
    tdev_core.mlx.activate()
    from tests.mlx.models import GPT

    print(
        f"torch {torch.__version__}, mlx {importlib.metadata.version('mlx')}, {mx.default_device()}"
    )
    print(f"dispatch overhead: {overhead():.2f} us for one operator (median of 12)")
    torch.manual_seed(0)
    tokens = torch.randint(0, VOCABULARY, (BATCH, LENGTH))
    images, classes = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))
    for name in ("GPT", "ResNet"):
        for compiled in (False, True):
            if name == "GPT":
                ours = torch_step(
                    GPT(VOCABULARY, WIDTH, LAYERS, HEADS, LENGTH).to("mlx"),
                    tokens.to("mlx"),
                    tokens.to("mlx"),
                    compiled,
                )
                i = mx.array(tokens.numpy())
                theirs = mlx_step(MlxGPT(), i, i, compiled)
            else:
                ours = torch_step(ResNet().to("mlx"), images.to("mlx"), classes.to("mlx"), compiled)
                x = mx.array(images.permute(0, 2, 3, 1).contiguous().numpy())
                theirs = mlx_step(MlxResNet(), x, mx.array(classes.numpy()), compiled)
            r, a, b = ratio(ours, theirs, options.steps, options.repeat)
            kind = "compiled" if compiled else "eager"
            print(
                f"{name:<7} {kind:<9} {r:5.2f} x   (tdev {a:.1f} ms, MLX {b:.1f} ms for a step)",
                flush=True,
            )
            if options.memory and name == "GPT":
                for who, step in (("MLX", theirs), ("tdev", ours)):
                    first, last = memory(step)
                    print(
                        f"  memory {who:<5} peak {first / 2**20:.1f} MiB in steps 1-50, {last / 2**20:.1f} MiB in steps 451-500"
                    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
