"""A U-Net and a GAN, through torch and by hand in MLX, with one training step of each: for ``bench_mlx.py``.

Both have small images and few channels, where a convolution's derivative and a norm over groups of channels take most
of a step.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tdev_core.accelerators.mlx import runtime

__all__ = ["gan", "unet"]

# Any: MLX's own packages do not export their names for a type checker.
mx: Any = importlib.import_module("mlx.core")
mnn: Any = importlib.import_module("mlx.nn")
mopt: Any = importlib.import_module("mlx.optimizers")

WIDTH, GROUPS, SIDE = 32, 8, 32
NOISE = 32

Step = Callable[[], None]


# --- U-Net --------------------------------------------------------------------------------------------


class Block(nn.Module):
    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(inner, outer, 3, 1, 1), nn.GroupNorm(GROUPS, outer)
        self.conv2, self.norm2 = nn.Conv2d(outer, outer, 3, 1, 1), nn.GroupNorm(GROUPS, outer)

    def forward(self, x: Tensor) -> Tensor:
        x = F.silu(self.norm1(self.conv1(x)))
        return F.silu(self.norm2(self.conv2(x)))


class UNet(nn.Module):
    def __init__(self, width: int = WIDTH) -> None:
        super().__init__()
        self.down1, self.down2 = Block(3, width), Block(width, 2 * width)
        self.middle = Block(2 * width, 2 * width)
        self.up2, self.up1 = Block(4 * width, width), Block(2 * width, width)
        self.out = nn.Conv2d(width, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2, 2))
        c = self.middle(F.max_pool2d(b, 2, 2))
        c = self.up2(torch.cat([F.interpolate(c, scale_factor=2.0), b], 1))
        c = self.up1(torch.cat([F.interpolate(c, scale_factor=2.0), a], 1))
        out: Tensor = self.out(c)
        return out


class MlxBlock(mnn.Module):  # type: ignore[misc]
    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = (
            mnn.Conv2d(inner, outer, 3, 1, 1),
            mnn.Conv2d(outer, outer, 3, 1, 1),
        )
        self.norm1, self.norm2 = (
            mnn.GroupNorm(GROUPS, outer, pytorch_compatible=True) for _ in range(2)
        )

    def __call__(self, x: Any) -> Any:
        x = mnn.silu(self.norm1(self.conv1(x)))
        return mnn.silu(self.norm2(self.conv2(x)))


class MlxUNet(mnn.Module):  # type: ignore[misc]
    def __init__(self, width: int = WIDTH) -> None:
        super().__init__()
        self.down1, self.down2 = MlxBlock(3, width), MlxBlock(width, 2 * width)
        self.middle = MlxBlock(2 * width, 2 * width)
        self.up2, self.up1 = MlxBlock(4 * width, width), MlxBlock(2 * width, width)
        self.out = mnn.Conv2d(width, 3, 1)

    def __call__(self, x: Any) -> Any:
        pool, larger = mnn.MaxPool2d(2, 2), mnn.Upsample(2.0)
        a = self.down1(x)
        b = self.down2(pool(a))
        c = self.middle(pool(b))
        c = self.up2(mx.concatenate([larger(c), b], axis=-1))
        c = self.up1(mx.concatenate([larger(c), a], axis=-1))
        return self.out(c)


def unet(who: str, compiled: bool, batch: int) -> Step:
    """Return one AdamW step of a U-Net that predicts the noise in `batch` images of 32 × 32."""
    torch.manual_seed(0)
    images, noise = torch.randn(batch, 3, SIDE, SIDE), torch.randn(batch, 3, SIDE, SIDE)
    if who == "tdev":
        model, x, y = UNet().to("mlx"), images.to("mlx"), noise.to("mlx")
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

        def loss(a: Tensor, b: Tensor) -> Tensor:
            return F.mse_loss(model(a), b)

        run: Any = torch.compile(loss, backend="mlx") if compiled else loss

        def step() -> None:
            optimizer.zero_grad(set_to_none=True)
            run(x, y).backward()
            optimizer.step()
            runtime.synchronize()

        return step
    theirs = MlxUNet()
    adam = mopt.AdamW(learning_rate=1e-3, bias_correction=True)
    adam.init(theirs.trainable_parameters())
    a, b = _last(images), _last(noise)
    grad = mnn.value_and_grad(theirs, lambda m, i, o: mnn.losses.mse_loss(m(i), o))

    def raw() -> Any:
        value, g = grad(theirs, a, b)
        adam.update(theirs, g)
        return value

    return _evaluated(raw, [theirs.state, adam.state], compiled)


# --- GAN ----------------------------------------------------------------------------------------------


def _generator() -> nn.Module:
    w = WIDTH
    return nn.Sequential(
        nn.ConvTranspose2d(NOISE, 2 * w, 4, 1, 0, bias=False), nn.BatchNorm2d(2 * w), nn.ReLU(),
        nn.ConvTranspose2d(2 * w, w, 4, 2, 1, bias=False), nn.BatchNorm2d(w), nn.ReLU(),
        nn.ConvTranspose2d(w, w // 2, 4, 2, 1, bias=False), nn.BatchNorm2d(w // 2), nn.ReLU(),
        nn.ConvTranspose2d(w // 2, 3, 4, 2, 1), nn.Tanh(),
    )  # fmt: skip


def _critic() -> nn.Module:
    w = WIDTH
    return nn.Sequential(
        nn.Conv2d(3, w // 2, 4, 2, 1), nn.LeakyReLU(0.2),
        nn.Conv2d(w // 2, w, 4, 2, 1, bias=False), nn.BatchNorm2d(w), nn.LeakyReLU(0.2),
        nn.Conv2d(w, 2 * w, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * w), nn.LeakyReLU(0.2),
        nn.Conv2d(2 * w, 1, 4, 1, 0), nn.Flatten(),
    )  # fmt: skip


def _mlx_generator() -> Any:
    w = WIDTH
    return mnn.Sequential(
        mnn.ConvTranspose2d(NOISE, 2 * w, 4, 1, 0, bias=False), mnn.BatchNorm(2 * w), mnn.relu,
        mnn.ConvTranspose2d(2 * w, w, 4, 2, 1, bias=False), mnn.BatchNorm(w), mnn.relu,
        mnn.ConvTranspose2d(w, w // 2, 4, 2, 1, bias=False), mnn.BatchNorm(w // 2), mnn.relu,
        mnn.ConvTranspose2d(w // 2, 3, 4, 2, 1), mnn.tanh,
    )  # fmt: skip


def _mlx_critic() -> Any:
    w = WIDTH

    def slope(x: Any) -> Any:
        return mnn.leaky_relu(x, 0.2)

    return mnn.Sequential(
        mnn.Conv2d(3, w // 2, 4, 2, 1), slope,
        mnn.Conv2d(w // 2, w, 4, 2, 1, bias=False), mnn.BatchNorm(w), slope,
        mnn.Conv2d(w, 2 * w, 4, 2, 1, bias=False), mnn.BatchNorm(2 * w), slope,
        mnn.Conv2d(2 * w, 1, 4, 1, 0),
    )  # fmt: skip


def gan(who: str, compiled: bool, batch: int) -> Step:
    """Return one Adam step of a DCGAN's critic on real and made images, and one of its generator."""
    torch.manual_seed(0)
    images, noise = torch.randn(batch, 3, SIDE, SIDE), torch.randn(batch, NOISE, 1, 1)
    if who == "tdev":
        return _torch_gan(compiled, images.to("mlx"), noise.to("mlx"))
    made, judge = _mlx_generator(), _mlx_critic()
    adams = [mopt.Adam(learning_rate=2e-4, bias_correction=True) for _ in range(2)]
    for adam, model in zip(adams, (judge, made), strict=True):
        adam.init(model.trainable_parameters())
    x, z = _last(images), _last(noise)

    def loss(scores: Any, real: float) -> Any:
        return mnn.losses.binary_cross_entropy(scores, mx.full(scores.shape, real))

    critic = mnn.value_and_grad(judge, lambda m, r, f: loss(m(r), 1.0) + loss(m(f), 0.0))
    generator = mnn.value_and_grad(made, lambda m, i: loss(judge(m(i)), 1.0))

    def raw() -> Any:
        first, g = critic(judge, x, mx.stop_gradient(made(z)))
        adams[0].update(judge, g)
        second, g = generator(made, z)
        adams[1].update(made, g)
        return first + second

    return _evaluated(raw, [made.state, judge.state, *(adam.state for adam in adams)], compiled)


def _torch_gan(compiled: bool, x: Tensor, z: Tensor) -> Step:
    made, judge = _generator().to("mlx"), _critic().to("mlx")
    adams = [torch.optim.Adam(m.parameters(), lr=2e-4, fused=True) for m in (judge, made)]
    loss = F.binary_cross_entropy_with_logits
    ones, zeros = torch.ones(len(x), 1, device="mlx"), torch.zeros(len(x), 1, device="mlx")

    def judged(r: Tensor, i: Tensor) -> Tensor:
        return loss(judge(r), ones) + loss(judge(made(i).detach()), zeros)

    def generated(i: Tensor) -> Tensor:
        return loss(judge(made(i)), ones)

    critic: Any = torch.compile(judged, backend="mlx") if compiled else judged
    generator: Any = torch.compile(generated, backend="mlx") if compiled else generated

    def step() -> None:
        adams[0].zero_grad(set_to_none=True)
        critic(x, z).backward()
        adams[0].step()
        adams[1].zero_grad(set_to_none=True)
        judge.requires_grad_(False)  # as MLX derives by the generator alone
        generator(z).backward()
        judge.requires_grad_(True)
        adams[1].step()
        runtime.synchronize()

    return step


def _last(x: Tensor) -> Any:
    return mx.array(x.permute(0, 2, 3, 1).contiguous().numpy())


def _evaluated(raw: Callable[[], Any], state: list[Any], compiled: bool) -> Step:
    run = mx.compile(raw, inputs=state, outputs=state) if compiled else raw

    def step() -> None:
        value = run()
        mx.eval(value, *state)

    return step
