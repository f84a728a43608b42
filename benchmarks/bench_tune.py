"""What ``tdev.tune.search`` finds, against every combination of the same settings: how good, how quick, how often the same.

Three models (convolutions, a transformer, a recurrent network), each on ``cpu`` and on ``mlx``, in processor time on one thread: other programs on the
machine do not inflate that. Each combination is raced against the program's own way by the same rules as the search's own races;
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


def _stepping(torch: Any, model: Any, x: Any, y: Any) -> Callable[[], Any]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step() -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


MODELS = {"images": images, "words": words, "sequences": sequences}


def _ways(name: str) -> tuple[Any, dict[str, tuple[str, ...]]]:
    import tdev

    from tdev_core.measure.tuning import lanes
    from tdev_core.measure.tuning.applying import to_try

    ways = lanes.function(lambda: MODELS[name](tdev), "processor", {})
    return ways, to_try(ways.offers(), _SETTINGS, "processor", {})


def compare(name: str) -> dict[str, Any]:
    """Search, then race every combination against the program's own way."""
    from tdev_core.measure.tuning.racing import race
    from tdev_core.measure.tuning.searching import search

    ways, offers = _ways(name)
    begun = time.process_time()
    found = search(ways, offers)
    searched = time.process_time() - begun
    begun = time.process_time()
    raced: list[tuple[float, dict[str, str]]] = []
    for values in itertools.product(*([None, *each] for each in offers.values())):
        wanted = {n: v for n, v in zip(offers, values, strict=True) if v is not None}
        if wanted:
            one = race(partial(ways.steps, {}), partial(ways.steps, wanted))
            if not one.failure:
                raced.append((one.ratio, wanted))
    forced = time.process_time() - begun
    best = min(raced, key=lambda one: one[0])
    final = race(lambda n: ways.steps(best[1], n), lambda n: ways.steps(found.settings, n))
    ways.close()
    return {
        "combinations": len(raced) + 1, "searched": searched, "forced": forced,
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
