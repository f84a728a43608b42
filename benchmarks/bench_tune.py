"""Compare what ``tdev.tune.search`` finds with every combination of the same settings: how good, how quick, how often the same.

Six models (convolutions, a transformer, a recurrent network, a table's, patches, an autoencoder), each on ``cpu`` and on ``mlx``, in
processor time on one thread: other programs on the machine do not inflate that. Each combination is raced against the program's own way by the same rules as the search's own races;
the best and the search's are then raced against each other. A program of its own: ``python -m benchmarks.bench_tune [MODEL …]``
takes minutes for each. ``--again N`` repeats the searches and counts the commonest winners.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks import children

_SETTINGS = (
    "optimizer",
    "channels_last",
    "set_to_none",
    "matmul_precision",
    "attention",
    "autocast",
)
"""And on ``mlx`` ``compile``: MLX's compiler takes a second, Inductor minutes for every combination."""


def images(torch: Any) -> Callable[[], Any]:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(3, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(),
        nn.Conv2d(24, 24, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(384, 10),
    ).cuda()  # fmt: skip
    x, y = torch.randn(8, 3, 16, 16).cuda(), torch.randint(0, 10, (8,)).cuda()
    return _stepping(torch, model, x, y)


def words(torch: Any) -> Callable[[], Any]:
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, batch_first=True, norm_first=True)
    blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    model = nn.Sequential(nn.Embedding(70, 64), blocks, nn.Linear(64, 70), nn.Flatten(0, 1)).cuda()
    x = torch.randint(0, 70, (4, 24)).cuda()
    return _stepping(torch, model, x, x.flatten())


def sequences(torch: Any) -> Callable[[], Any]:
    nn = torch.nn

    class Last(nn.Module):  # type: ignore[misc,name-defined]  # of the torch that the caller has chosen
        def __init__(self) -> None:
            super().__init__()
            self.cells, self.head = nn.GRU(32, 96, batch_first=True), nn.Linear(96, 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.cells(x)[0][:, -1])

    x, y = torch.randn(16, 12, 32).cuda(), torch.randint(0, 10, (16,)).cuda()
    return _stepping(torch, Last().cuda(), x, y)


def tables(torch: Any) -> Callable[[], Any]:
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(40, 256), nn.ReLU(), nn.Dropout(0.1), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 5),
    ).cuda()  # fmt: skip
    x, y = torch.randn(256, 40).cuda(), torch.randint(0, 5, (256,)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
    return _stepping(torch, model, x, y, optimizer)


def patches(torch: Any) -> Callable[[], Any]:
    nn = torch.nn

    class Patches(nn.Module):  # type: ignore[misc,name-defined]  # of the torch that the caller has chosen
        def __init__(self) -> None:
            super().__init__()
            self.cut, self.head = nn.Conv2d(3, 48, 4, 4), nn.Linear(48, 10)
            layer = nn.TransformerEncoderLayer(48, 3, 96, dropout=0.0, batch_first=True)
            self.blocks = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)

        def forward(self, x: Any) -> Any:
            return self.head(self.blocks(self.cut(x).flatten(2).transpose(1, 2)).mean(1))

    x, y = torch.randn(8, 3, 24, 24).cuda(), torch.randint(0, 10, (8,)).cuda()
    model = Patches().cuda()
    return _stepping(torch, model, x, y, torch.optim.Adam(model.parameters(), lr=1e-3))


def autoencoder(torch: Any) -> Callable[[], Any]:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.GroupNorm(4, 16), nn.SiLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.GroupNorm(4, 32), nn.SiLU(),
        nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1), nn.SiLU(),
        nn.ConvTranspose2d(16, 1, 4, stride=2, padding=1),
    ).cuda()  # fmt: skip
    x = torch.rand(8, 1, 28, 28).cuda()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    return _stepping(torch, model, x, x, optimizer, torch.nn.functional.mse_loss)


def _stepping(
    torch: Any, model: Any, x: Any, y: Any, optimizer: Any = None, criterion: Any = None
) -> Callable[[], Any]:
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-3)
    criterion = criterion or torch.nn.functional.cross_entropy

    def step() -> Any:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


MODELS = {one.__name__: one for one in (images, words, sequences, tables, patches, autoencoder)}


def _ways(name: str) -> tuple[Any, dict[str, tuple[str, ...]]]:
    import tdev

    from tdev_core.measure.tuning import lanes
    from tdev_core.measure.tuning.applying import to_try

    ways = lanes.function(lambda: MODELS[name](tdev), "processor", {})
    settings = (*_SETTINGS, "compile") if tdev.device_type() == "mlx" else _SETTINGS
    return ways, to_try(ways.offers(), settings, "processor", {})


def compare(name: str) -> dict[str, Any]:
    """Search, then race every combination against the program's own way."""
    import torch

    from tdev_core.measure.tuning.racing import races
    from tdev_core.measure.tuning.searching import search

    ways, offers = _ways(name)
    begun = time.process_time()
    found = search(ways, offers)
    searched = time.process_time() - begun
    begun = time.process_time()

    def race(first: Any, other: Any) -> Any:
        if "compile" in other:
            torch.compiler.reset()  # which compiles no more than eight versions of a function
        two = {"first": partial(ways.steps, first), "other": partial(ways.steps, other)}
        return races(two, [("first", "other")]).race("first", "other")

    raced: list[tuple[float, dict[str, str]]] = [(1.0, {})]  # its own way
    for values in itertools.product(*([None, *each] for each in offers.values())):
        wanted = {n: v for n, v in zip(offers, values, strict=True) if v is not None}
        if wanted:
            one = race({}, wanted)
            if not one.failure:
                raced.append((one.ratio, wanted))
    forced = time.process_time() - begun
    best = min(raced, key=lambda one: one[0])
    final = race(best[1], found.settings)
    ways.close()
    return {
        "combinations": len(raced), "searched": searched, "forced": forced,
        "found": found.settings, "gain": found.together.ratio if found.settings and found.together else 1.0,
        "best": best[1], "best_gain": best[0], "found_against_best": final.ratio, "interval": final.interval,
    }  # fmt: skip


def again(name: str, times: int) -> list[str]:
    """Return the winners of so many searches."""
    from tdev_core.measure.tuning.searching import search

    answers = []
    for _ in range(times):
        ways, offers = _ways(name)
        answers.append(json.dumps(search(ways, offers).settings, sort_keys=True))
        ways.close()
    return answers


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_tune", description=__doc__)
    parser.add_argument("models", nargs="*", default=list(MODELS), help=", ".join(MODELS))
    parser.add_argument("--on", default="cpu,mlx")
    parser.add_argument("--again", type=int, default=0)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.here:
        (name,) = asked.models
        print(json.dumps(again(name, asked.again) if asked.again else compare(name)))
        return 0
    for backend in asked.on.split(","):
        for name in asked.models:
            words = ["--here", "--again", str(asked.again), name]
            code = f"import sys; sys.argv[1:] = {words!r}; import runpy; runpy.run_module('benchmarks.bench_tune', run_name='__main__')"
            found = children.run(
                code, TDEV_BACKEND=backend, OMP_NUM_THREADS="1", TDEV_NATIVE_BUILD="0"
            )
            if asked.again:
                (most, count), *_ = Counter(found).most_common()
                print(
                    f"{backend} {name}: the same winners in {count} of {asked.again}: {most}",
                    flush=True,
                )
                print(f"    {dict(Counter(found))}", flush=True)
                continue
            print(
                f"{backend} {name}: {found['combinations']} combinations; found {found['found']} ({found['gain']:.3f} ×),"
                f" best {found['best']} ({found['best_gain']:.3f} ×), raced {found['found_against_best']:.3f} ×"
                f" ({found['interval'][0]:.3f} to {found['interval'][1]:.3f}); {found['searched']:.0f} s against {found['forced']:.0f} s"
                f" = {found['searched'] / found['forced']:.3f}", flush=True,
            )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
