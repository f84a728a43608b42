"""Trees of a few files, as texts, that the codemod's engine migrates in memory."""

from __future__ import annotations

from pathlib import PurePath

from tdev_core.codemod.engine import Names, Options, Result, Survey, rewrite


def migrated(files: dict[str, str], name: str = "made.py") -> Result:
    """Migrate the files of a package, see that a second run changes none of them, and return what became of one.

    What the first run wrote is what the second one reads in the *other* files: an answer of theirs has to be
    the same whether it says ``torch`` or ``tdev``.
    """
    first = _run(files)
    second = _run({path: result.code for path, result in first.items()})
    for path, result in second.items():
        assert result.code == first[path].code, f"{path}: changed by a second run"
    return first[name]


def _run(files: dict[str, str]) -> dict[str, Result]:
    seen = Survey(staying=False)
    for path, text in files.items():
        seen.see(PurePath("/src/pkg", path), text.encode(), "pkg")
    options = Options(tree=seen.tree())
    return {
        path: rewrite(text, Names.load(), options, filename=f"/src/pkg/{path}")
        for path, text in files.items()
    }
