"""Make the page of the packages for CUDA, of ``tdev_core/ecosystem/packages.toml``."""

from __future__ import annotations

from pathlib import Path

from tdev_core.ecosystem.package_table import Package, packages, stand_ins

__all__ = ["TARGET", "pages"]

TARGET = Path(__file__).resolve().parent.parent.parent / "docs" / "packages"

_ANSWERS = {
    "stand-in": "[a stand-in](#stand-ins)",
    "interpreter": "an interpreter",
    "own": "the package itself",
    "none": "nothing",
}


def pages(command: str) -> dict[str, str]:
    """Return the one page by its file name; it names the ``command`` that writes it."""
    lines = [
        "# Packages for CUDA, one by one",
        "",
        f"Written by `{command}` from `tdev_core/ecosystem/packages.toml`, which the codemod, `python -m tdev run` and `python -m tdev doctor`",
        "read, too. [How stand-ins and Triton's interpreter work](../packages.md) has its own page.",
        "",
        "| package | what it is for | runs beside CUDA on | off CUDA answers | use instead | read in |",
        "| --- | --- | --- | --- | --- | --- |",
        *map(_row, packages().values()),
        "",
        "## Stand-ins",
        "",
        "| package | like | what the stand-in has | what it lacks |",
        "| --- | --- | --- | --- |",
        *(
            f"| `{one.name}` | {one.like} | {one.has} | {one.lacks} |"
            for one in stand_ins().values()
        ),
        "",
    ]
    return {"index.md": "\n".join(lines)}


def _row(one: Package) -> str:
    cells = (
        f"`{one.name}`",
        one.what,
        one.beside or "nothing",
        _ANSWERS[one.answer],
        one.instead,
        f"{one.source} ({one.checked})",
    )
    return f"| {' | '.join(cells)} |"
