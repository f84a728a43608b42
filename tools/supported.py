"""Refuses a Python that the project does not support, in words that an old Python can run too."""

import os
import subprocess
import sys

OLDEST = (3, 10)
NEWEST = (3, 13)


def check() -> None:
    """Ends the program with status 2 unless this is a supported Python."""
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return
    names = ["python3.%d" % minor for minor in range(NEWEST[1], OLDEST[1] - 1, -1)]
    found = [name for name in names if _runs(name)]
    script = os.path.join(
        os.path.basename(os.path.dirname(sys.argv[0])), os.path.basename(sys.argv[0])
    )
    hint = "for example: %s %s" % (found[0], script) if found else "none of them is on the PATH"
    sys.stderr.write(
        "tdev needs Python 3.%d to 3.%d, and %s is Python %s.\n"
        "Run this command with one of those; %s.\n"
        % (OLDEST[1], NEWEST[1], sys.executable, sys.version.split()[0], hint)
    )
    sys.exit(2)


def _runs(name: str) -> bool:
    """Tell whether a command of that name is there and works (a version manager's stand-in may not)."""
    try:
        return subprocess.call([name, "-c", ""], stderr=subprocess.DEVNULL) == 0
    except OSError:
        return False
