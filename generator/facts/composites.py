"""Write ``generator/facts/composites.json``: the operators that torch's composite functions come down to.

An implicit composite has no kernel of its own: ``conv2d`` runs ``convolution``, and is answered on a backend as
that is. Which operators they are no table of torch tells, so the samples of torch's own operator database are
run under a dispatch mode, on the ``meta`` device where that is enough, since a function may choose another way for
one device; else on the CPU.

    python -m generator.facts.composites            # write
    python -m generator.facts.composites --check    # exit 1 if it is stale

Source: ``torch.testing._internal.common_methods_invocations.op_db``; ``torch.utils._python_dispatch``.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

__all__ = ["main", "read", "traced"]

TARGET = Path(__file__).resolve().parent / "composites.json"
_SAMPLES = 40


def read(torch_version: str, path: Path = TARGET) -> dict[str, tuple[str, ...]]:
    """Public function to the operators it was seen to run; empty where they were another torch's."""
    data = json.loads(path.read_text(encoding="utf-8"))
    if data["torch"] != torch_version:
        return {}
    return {name: tuple(parts) for name, parts in data["parts"].items()}


def traced(entries: Iterable[Any]) -> dict[str, list[str]]:
    """Public function to the base names of the operators that its samples run, by the installed torch.

    Args:
        entries: the ``OpInfo`` objects of torch's database whose functions are meant.
    """
    found: dict[str, set[str]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for entry in entries:
            samples = _samples(entry)
            for name, function in _functions(entry):
                seen = _run(function, samples)
                if seen - {name.rpartition(".")[2]}:
                    found.setdefault(name, set()).update(seen)
    return {name: sorted(found[name]) for name in sorted(found)}


def _functions(entry: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public functions that the samples of ``entry`` fit: its own, its aliases', and those that write in place."""
    import torch

    for variant in (entry, *entry.aliases):
        yield f"torch.{variant.name}", variant.op
        written: Any = torch
        for part in f"{variant.name}_".split("."):
            written = getattr(written, part, None)
        if callable(written):
            yield f"torch.{variant.name}_", written


def _samples(entry: Any) -> list[Any]:
    import torch

    kinds = entry.dtypes or {torch.float32}
    kind = torch.float32 if torch.float32 in kinds else min(kinds, key=str)
    samples: list[Any] = []
    try:
        for sample in entry.sample_inputs("cpu", kind):
            samples.append(sample)
            if len(samples) == _SAMPLES:
                break
    except Exception:  # a database that asks for packages or devices which are not here
        return samples
    return samples


def _run(function: Callable[..., Any], samples: list[Any]) -> set[str]:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()  # type: ignore[no-untyped-call]
            self.seen: set[str] = set()

        def __torch_dispatch__(
            self, operator: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            result = operator(*args, **(kwargs or {}))
            if operator.namespace == "aten":
                self.seen.add(operator._schema.name.removeprefix("aten::"))
            return result

    seen: set[str] = set()
    for sample in samples:
        for device in ("meta", "cpu"):
            watch = Watch()
            here = _placed(sample, device)
            try:
                with torch.no_grad(), watch:
                    function(here.input, *here.args, **here.kwargs)
            except Exception:  # meta has no values to look at; in place not every sample fits
                continue
            seen |= watch.seen
            break
    return seen


def _placed(sample: Any, device: str) -> Any:
    """Return a copy of the sample on ``device``: functions that write in place spoil it."""
    import torch

    return sample.transform(
        lambda value: (
            value.detach().clone().to(device) if isinstance(value, torch.Tensor) else value
        )
    )


def _text() -> str:
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    release = json.dumps(torch.__version__.partition("+")[0])
    lines = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(parts)}" for name, parts in traced(op_db).items()
    )
    return f'{{"torch": {release}, "parts": {{\n{lines}\n}}}}\n'


def main(argv: list[str] | None = None) -> int:
    """Return the command line; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m generator.facts.composites", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; status 1 if the file is stale"
    )
    check = parser.parse_args(argv).check
    text = _text()
    if TARGET.is_file() and TARGET.read_text(encoding="utf-8") == text:
        return 0
    if check:
        print(f"{TARGET.name} is stale; run: python -m generator.facts.composites", file=sys.stderr)
        return 1
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
