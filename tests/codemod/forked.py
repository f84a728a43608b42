"""Runs Python programs in forks of one process that has imported torch; prints what each came to, as JSON.

A list of jobs comes in on standard input, each an object with the arguments of a ``python`` command
(``["main.py", "x"]``, ``["-m", "tdev", "run", "main.py"]``), the working directory and variables. A job
finds torch imported, and nothing of tdev: the backend is its own choice.
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import runpy
import subprocess
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def outcomes(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What each job printed (``out``, ``err``), and its exit status, from one process for all."""
    paths = [str(ROOT), str(ROOT / "generated"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__],
        input=json.dumps(jobs),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    told: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return told


def ran(job: dict[str, Any]) -> dict[str, Any]:
    assert "tdev" not in sys.modules
    os.environ.update(job["variables"])
    os.chdir(job["cwd"])
    module = job["arguments"][1] if job["arguments"][0] == "-m" else None
    sys.argv[:] = job["arguments"][1:] if module else job["arguments"]
    sys.path[0] = job["cwd"] if module else os.path.dirname(os.path.abspath(sys.argv[0]))
    out, err, status = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            warnings.simplefilter("ignore")
            if module:
                runpy.run_module(module, run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(sys.argv[0], run_name="__main__")
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
            status = 1
    return {"out": out.getvalue(), "err": err.getvalue()[-4000:], "status": status}


if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)
    todo = json.load(sys.stdin)
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        told = pool.map(ran, todo, chunksize=1)
    print(json.dumps(told))
