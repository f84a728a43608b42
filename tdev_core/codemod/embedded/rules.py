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
        `python -m tdev doctor`. A line that uses torch's CUDA is a warning, any other a note; so are the
        lines of a cell that is no Python (`%%bash`).

        A notebook that installs what it needs (`%pip install …`), as one for a hosted service does, has to install tdev as well
        once it imports that: a warning at the last such line.
    """),
    "warning",
)

OTHER_FILE = Rule(
    "other-file",
    "Configuration, scripts and images that say CUDA",
    cleandoc("""
        YAML, JSON, TOML, INI, scripts for a shell or for Slurm, makefiles, Dockerfiles, `.env` files and Cython
        are listed where they say CUDA, and never rewritten.

        - `device: cuda` works as it is: tdev translates a device where it is used, also one that was
          read from a file.
        - `accelerator: gpu` is Lightning's; `auto` takes the accelerator that is there.
        - Images such as `nvidia/cuda:12.4.1-runtime`, `--gpus` and `nvidia.com/gpu` ask for NVIDIA's GPUs.
        - `download.pytorch.org/whl/cu121`, `pytorch-cuda` and `cupy-cuda12x` are packages built for CUDA.
        - `nvidia-smi`, `nvcc` and variables such as `CUDA_VISIBLE_DEVICES` mean something on CUDA alone.

        Files of more than 256 KiB and comments are not looked at.
    """),
    "note",
)

DOCTEST = Rule(
    "doctest",
    "Examples in docstrings that say CUDA",
    cleandoc("""
        With `--docs`, lines of `>>>` examples in docstrings are listed where they say CUDA. They are never
        rewritten, since what they print is part of them. Examples in Markdown and reStructuredText files
        are rewritten with the code around them.
    """),
    "note",
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

RULES = (NOTEBOOK_SYNTAX, NOTEBOOK_MAGIC, OTHER_FILE, DOCTEST, ANNOTATE)
