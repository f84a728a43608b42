"""Defines the rules beside the engine's; their pages are made as the engine's are."""

from __future__ import annotations

from inspect import cleandoc

from tdev_core.codemod.engine import Rule

NOTEBOOK_SYNTAX = Rule(
    "notebook-syntax",
    "Cells that are not Python 3",
    cleandoc("""
        A cell that Python 3 cannot parse by itself is left alone; the other cells are rewritten. It is a
        warning where the cell mentions CUDA, else a note. Mend the cell, and run the codemod again.
    """),
    "warning",
)

NOTEBOOK_MAGIC = Rule(
    "notebook-magic",
    "Magics and shell lines that mention CUDA",
    cleandoc("""
        `%timeit torch.cuda.synchronize()`, `!nvidia-smi` and `%env CUDA_VISIBLE_DEVICES=0` are lines for
        IPython or for a shell, and are never rewritten. What a line magic runs is Python that you can
        write as the codemod would (`%timeit tdev.cuda.synchronize()`); for `!nvidia-smi` there is
        `python -m tdev doctor`.
    """),
    "warning",
)

ANNOTATE = Rule(
    "annotate",
    "Comments that `--annotate` leaves",
    cleandoc("""
        With `--annotate`, a comment `# tdev: <rule>: <message>` stands above each statement with an error
        or a warning. A statement that has one for the rule already gets no other. Remove it with what it
        is about.
    """),
    None,
)

RULES = (NOTEBOOK_SYNTAX, NOTEBOOK_MAGIC, ANNOTATE)
