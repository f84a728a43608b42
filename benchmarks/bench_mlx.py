"""Training steps on device ``mlx`` against the same model written by hand in MLX, in one run.

    python benchmarks/bench_mlx.py            # ratios and dispatch overhead; with native kernels where they are built
    python benchmarks/bench_mlx.py --steps 30 --repeat 7 --model ResNet
    python benchmarks/bench_mlx.py --memory   # memory over 500 steps, nothing else

Prints the median over rounds of the time ratio tdev / MLX (the two take turns, so that a busy machine slows both) and the
overhead of one operator in microseconds.  Numbers of two runs do not compare.  For memory each side trains in a process of its
own: MLX counts for the whole process, so that a second model would be counted with the first.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import tdev_core.accelerators.mlx  # noqa: E402
from benchmarks import mlx_images  # noqa: E402
from tdev_core.accelerators.mlx import native, runtime  # noqa: E402

# Any: MLX's own packages do not export their names for a type checker.
mx: Any = importlib.import_module("mlx.core")
mnn: Any = importlib.import_module("mlx.nn")
mopt: Any = importlib.import_module("mlx.optimizers")

LAYERS, HEADS, VOCABULARY = 4, 8, 512
IMAGES = {"U-Net": mlx_images.unet, "GAN": mlx_images.gan}
MODELS = ("GPT", "ResNet", *IMAGES)


class Size(NamedTuple):
    """Of the GPT and its batch of tokens, and of the batch of images for the ResNet."""

    width: int
    length: int
    batch: int
    images: int


TIMED = Size(width=256, length=32, batch=4, images=16)
# 500 steps must end within minutes on two cores, and the activations must outweigh the parameters, which cannot differ.
REMEMBERED = Size(width=64, length=64, batch=4, images=8)


# --- by hand ------------------------------------------------------------------------------------------


class MlxBlock(mnn.Module):  # type: ignore[misc]
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = mnn.LayerNorm(width), mnn.LayerNorm(width)
        self.qkv, self.out = mnn.Linear(width, 3 * width), mnn.Linear(width, width)
        self.up, self.down = mnn.Linear(width, 4 * width), mnn.Linear(4 * width, width)

    def __call__(self, x: Any) -> Any:
        b, t, d = x.shape
        q, k, v = (
            self.qkv(self.norm1(x)).reshape(b, t, 3, HEADS, d // HEADS).transpose(2, 0, 3, 1, 4)
        )
        a = mx.fast.scaled_dot_product_attention(q, k, v, scale=(d // HEADS) ** -0.5, mask="causal")
        x = x + self.out(a.transpose(0, 2, 1, 3).reshape(b, t, d))
        return x + self.down(mnn.gelu(self.up(self.norm2(x))))


class MlxGPT(mnn.Module):  # type: ignore[misc]
    def __init__(self, size: Size) -> None:
        super().__init__()
        width = size.width
        self.tokens = mnn.Embedding(VOCABULARY, width)
        self.places = mnn.Embedding(size.length, width)
        self.blocks = [MlxBlock(width) for _ in range(LAYERS)]
        self.norm = mnn.LayerNorm(width)

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
    """Return one AdamW step with MLX's own tools."""
    optimizer = mopt.AdamW(learning_rate=1e-3, bias_correction=True)  # torch's are corrected

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
    """Return one AdamW step through torch on the device."""
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


def prepared(who: str, model: str, compiled: bool, size: Size) -> Callable[[], None]:
    """Return a training step of `model`, through torch (``tdev``) or by hand (``MLX``), on the same data."""
    from tests.accelerators.mlx.models import GPT

    torch.manual_seed(0)
    tokens = torch.randint(0, VOCABULARY, (size.batch, size.length))
    images, classes = torch.randn(size.images, 3, 32, 32), torch.randint(0, 10, (size.images,))
    if model in IMAGES:
        return IMAGES[model](who, compiled, size.images)
    if who == "tdev" and model == "GPT":
        i = tokens.to("mlx")
        net: torch.nn.Module = GPT(VOCABULARY, size.width, LAYERS, HEADS, size.length)
        return torch_step(net.to("mlx"), i, i, compiled)
    if who == "tdev":
        return torch_step(ResNet().to("mlx"), images.to("mlx"), classes.to("mlx"), compiled)
    if model == "GPT":
        i = mx.array(tokens.numpy())
        return mlx_step(MlxGPT(size), i, i, compiled)
    x = mx.array(images.permute(0, 2, 3, 1).contiguous().numpy())
    return mlx_step(MlxResNet(), x, mx.array(classes.numpy()), compiled)


def resident() -> int:
    """Return bytes of this process in memory, whoever allocated them."""
    import psutil

    return int(psutil.Process().memory_info().rss)


def memory(step: Callable[[], None], steps: int) -> dict[str, int]:
    """Trains; MLX's peak bytes over the first and the last 50 steps, and the bytes resident after each.

    Not counted as resident is what the process held before the first step: torch and its libraries.
    """
    before, found = resident(), dict[str, int]()
    for i in range(1, steps + 1):
        if i in (1, steps - 49):
            mx.reset_peak_memory()
        step()
        if i in (50, steps):
            which = "first" if i == 50 else "last"
            found |= {
                f"peak_{which}": int(mx.get_peak_memory()),
                f"resident_{which}": resident() - before,
            }
    return found


def report_memory(steps: int) -> None:
    """Print a line for each side, in a process of its own: what MLX allocated, and the growth of the process."""
    print(f"memory over {steps} steps, MiB, in the first and the last 50 of them; {REMEMBERED}")
    for model in ("GPT", "ResNet"):
        for compiled in (False, True):
            kind, sides = "compiled" if compiled else "eager", dict[str, dict[str, float]]()
            for who in ("MLX", "tdev"):
                command = [sys.executable, __file__, "--trained-steps", str(steps)]
                answer = subprocess.run(
                    [*command, "--side", f"{who}/{model}/{kind}"], capture_output=True, text=True
                )
                if answer.returncode:
                    raise SystemExit(f"{who} {model} {kind} failed:\n{answer.stderr}")
                found = json.loads(answer.stdout.splitlines()[-1])
                sides[who] = f = {k: v / 2**20 for k, v in found.items()}
                print(
                    f"{model:<7} {kind:<9} {who:<5} MLX's peak {f['peak_first']:7.1f} then {f['peak_last']:7.1f}"
                    f"   process {f['resident_first']:+7.1f} then {f['resident_last']:+7.1f}",
                    flush=True,
                )
            r = sides["tdev"]["peak_last"] / sides["MLX"]["peak_last"]
            print(f"{model:<7} {kind:<9} tdev / MLX {r:.2f} x", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument(
        "--model", action="append", choices=MODELS, help="only this one; repeatable"
    )
    parser.add_argument("--memory", action="store_true", help="measure memory instead of time")
    parser.add_argument("--trained-steps", type=int, default=500, help="steps for --memory")
    parser.add_argument("--side", help=argparse.SUPPRESS)  # one process of --memory
    options = parser.parse_args()
    if options.memory:
        report_memory(options.trained_steps)
        return 0
    tdev_core.accelerators.mlx.activate()
    if options.side:
        who, model, kind = options.side.split("/")
        step = prepared(who, model, kind == "compiled", REMEMBERED)
        print(json.dumps(memory(step, options.trained_steps)))
        return 0
    print(
        f"torch {torch.__version__}, mlx {importlib.metadata.version('mlx')}, {mx.default_device()}"
    )
    for on in (True, False) if native.start() else (False,):
        with native.using(on):
            kind = "native" if on else "Python"
            print(
                f"dispatch overhead, {kind} kernels: {overhead():.2f} us for one operator (median of 12)"
            )
    for name in options.model or MODELS:
        for compiled in (False, True):
            ours, theirs = (prepared(who, name, compiled, TIMED) for who in ("tdev", "MLX"))
            r, a, b = ratio(ours, theirs, options.steps, options.repeat)
            kind = "compiled" if compiled else "eager"
            print(
                f"{name:<7} {kind:<9} {r:5.2f} x   (tdev {a:.1f} ms, MLX {b:.1f} ms for a step)",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
