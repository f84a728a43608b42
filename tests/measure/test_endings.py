"""Why a program has failed is said by the exception's first line, not by the last one of its message."""

from __future__ import annotations

import pytest

from tdev_core.measure.endings import ending, reason

FRAMES = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    run()\n'
MESSAGE = 'torch.exc.InductorError: RuntimeError: no stride\n\nWhile executing %x\n  File "b.py"\n\nUse tlparse'


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("", ""),
        ("step 1\nno such data\n", "no such data"),
        (f"step 1\n{FRAMES}KeyError: 'label'\n", "KeyError: 'label'"),
        (f"{FRAMES}KeyError\n", "KeyError"),
        (f"{FRAMES}{MESSAGE}\n", "torch.exc.InductorError: RuntimeError: no stride"),
        (
            f"{FRAMES}KeyError: 1\n\nDuring handling of the above exception:\n\n{FRAMES}OSError: 2",
            "OSError: 2",
        ),
        (f"{FRAMES}only frames", "only frames"),
    ],
)
def test_the_line_with_the_exceptions_name_says_why(said: str, why: str) -> None:
    assert reason(said) == why


def test_an_ending_has_the_exceptions_name_however_long_the_message_is() -> None:
    long = "RuntimeError: why\n" + "\n".join(f"more {number}" for number in range(100))
    assert ending(FRAMES + long)[0] == "RuntimeError: why" and len(ending(FRAMES + long)) == 40
    short = [f"line {number}" for number in range(30)]
    assert ending("\n".join(short)) == short[-20:]
    assert ending(FRAMES + "KeyError: 1") == [*FRAMES.splitlines(), "KeyError: 1"]
    assert ending("") == []
