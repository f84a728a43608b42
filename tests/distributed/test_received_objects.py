"""``weights_only`` of the object lists, on two processes: what is received then runs no code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.forkserver import environment, ranks

PROGRAM = """
import sys
from pathlib import Path
import tdev as torch
from torch.distributed import get_rank

class Bomb:
    def __reduce__(self):
        return Path.touch, (Path(sys.argv[1]),)

dist = torch.distributed
dist.init_process_group("nccl")
objects = [Bomb() if get_rank() == 0 else None]
if get_rank() == 0:
    dist.broadcast_object_list(objects, src=0)
else:
    wanted = {"weights_only": True} if sys.argv[2] == "safe" else {}
    try:
        dist.broadcast_object_list(objects, src=0, **wanted)
    except TypeError as error:  # before torch 2.14
        print("no such parameter" if "weights_only" in str(error) else error)
    except Exception as error:
        print("refused" if "eights" in str(error) or "Unpickling" in type(error).__name__ else error)
    else:
        print("unpickled")
"""


@pytest.mark.parametrize("how", ["safe", "trusting"])
def test_what_is_received_runs_only_where_the_program_trusts_it(tmp_path: Path, how: str) -> None:
    bomb = tmp_path / "bomb"
    env = environment(TDEV_BACKEND="cpu")
    done = ranks("-c", PROGRAM, str(bomb), how, env=env)
    told = done[1].stdout.strip()
    if how == "trusting":
        assert told == "unpickled" and bomb.exists(), done[1].stderr
    else:
        assert told in ("refused", "no such parameter"), done[1].stderr
        assert not bomb.exists()
