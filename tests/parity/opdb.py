"""Judge the whole mirror by torch's own databases, and write REPORT.md beside this file.

    PYTHONPATH=generated:. python tests/parity/opdb.py [--samples N] [--every N] [--no-report]

Exit status: 0 nothing differs, 1 something does.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import torch  # noqa: E402
from databases import (  # noqa: E402
    DTYPES,
    Verdict,
    judge_module,
    judge_operator,
    judge_optimizer,
    operators,
)


def main(argv: list[str] | None = None) -> int:
    """Run everything; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=8, help="calls for each entry and dtype")
    parser.add_argument("--every", type=int, default=1, help="take every n-th entry only")
    parser.add_argument("--no-report", action="store_true", help="leave REPORT.md as it is")
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    from torch.testing._internal.common_modules import module_db
    from torch.testing._internal.common_optimizers import optim_db

    sections = {
        "op_db": (operators(), judge_operator),
        "module_db": (list(module_db), judge_module),
        "optim_db": (list(optim_db), judge_optimizer),
    }
    results: dict[str, list[Verdict]] = {}
    for title, (entries, judge) in sections.items():
        results[title] = []
        chosen = entries[:: options.every]
        for number, entry in enumerate(chosen, 1):
            verdict = judge(entry, options.samples)  # type: ignore[operator]
            results[title].append(verdict)
            _progress(title, number, len(chosen), verdict)
    different = sum(len(v.different) for verdicts in results.values() for v in verdicts)
    if options.every == 1 and not options.no_report:
        (HERE / "REPORT.md").write_text(_report(results, options.samples), encoding="utf-8")
    for title, verdicts in results.items():
        print(f"{title}: {_counts(verdicts)}")
    return 1 if different else 0


def _progress(title: str, number: int, total: int, verdict: Verdict) -> None:
    end = "\r" if sys.stderr.isatty() and not verdict.different else "\n"
    if verdict.different or sys.stderr.isatty() or number % 50 == 0 or number == total:
        bad = f": {verdict.different[0]}" if verdict.different else ""
        print(f"{title} {number}/{total} {verdict.name}{bad}", file=sys.stderr, end=end)


def _counts(verdicts: list[Verdict]) -> str:
    calls = sum(v.samples for v in verdicts)
    device = sum(v.with_device for v in verdicts)
    raised = sum(v.raised for v in verdicts)
    different = sum(bool(v.different) for v in verdicts)
    skipped = sum(bool(v.skipped) for v in verdicts)
    unsteady = sum(bool(v.unsteady) for v in verdicts)
    return (
        f'{len(verdicts)} entries, {calls} calls ({device} of them with device="cuda", {raised} where '
        f"torch raises and tdev raises the same), {different} entries different, {skipped} skipped, "
        f"{unsteady} where torch differs from itself"
    )


def _report(results: dict[str, list[Verdict]], samples: int) -> str:
    lines = [
        "# The mirror judged by torch's own databases",
        "",
        f"torch {torch.__version__.partition('+')[0]}, backend `cpu`; up to {samples} sample inputs for "
        f"each entry and each of {', '.join(str(dtype)[6:] for dtype in DTYPES)} that it supports. "
        "Equal means: the same values bit by bit (NaN equals NaN), dtype, strides, layout, device, or "
        "the same error. Written by `python tests/parity/opdb.py`.",
        "",
    ]
    for title, verdicts in results.items():
        lines += [f"## {title}", "", _counts(verdicts) + ".", ""]
        kinds = Counter(_kind(v.reached) for v in verdicts)
        lines += ["| reached as | entries |", "| --- | --- |"]
        lines += [f"| {kind} | {number} |" for kind, number in sorted(kinds.items())]
        lines += [""]
        for heading, chosen in (
            ("Different", [(v.name, v.different[0]) for v in verdicts if v.different]),
            (
                "Torch differs from itself",
                [(v.name, v.unsteady[0]) for v in verdicts if v.unsteady],
            ),
            ("Skipped", [(v.name, v.skipped) for v in verdicts if v.skipped]),
        ):
            if chosen:
                lines += [f"{heading}:", ""]
                lines += [f"- `{name}`: {why}" for name, why in chosen] + [""]
    return "\n".join(lines)


def _kind(reached: str) -> str:
    return {
        "source": "a function of the database itself, run again with `torch` meaning tdev",
        "object": "an object that no module names (an overload of `torch.ops`, a C method)",
    }.get(reached, "a name under `tdev`")


if __name__ == "__main__":
    sys.exit(main())
