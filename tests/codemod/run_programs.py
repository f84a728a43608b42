"""Runs the `main.py` of each directory in this process and prints what each one printed, as JSON.

    python run_programs.py DIRECTORY …

A program of its own, because the backend is chosen once per process. Each program runs in a fork, so
that none finds tdev imported by another.
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import runpy
import sys
import traceback
import warnings
from pathlib import Path

import torch


def ran(directory: Path) -> str:
    sys.path.insert(0, str(directory))
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            runpy.run_path(str(directory / "main.py"), run_name="__main__")
    except Exception:
        out.write(traceback.format_exc())
    return out.getvalue()


if __name__ == "__main__":
    torch.set_num_threads(1)
    paths, sys.argv[1:] = sys.argv[1:], []
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        said = pool.map(ran, map(Path, paths), chunksize=1)
    print(json.dumps({Path(path).name: text for path, text in zip(paths, said, strict=True)}))
