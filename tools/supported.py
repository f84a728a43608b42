"""Refuses a Python that is too old, in words that it can run too, and tells of one that is newer than any tried."""

import os
import subprocess
import sys

OLDEST = (3, 10)
NEWEST = (3, 13)  # that everything has been run on: a classifier of pyproject.toml claims no more


def check() -> None:
    """Ends the program with status 2 under a Python older than OLDEST; goes on with a note after NEWEST.

    What decides there is whether torch and the other packages have wheels for it, which pip says.
    """
    version = sys.version.split()[0]
    if sys.version_info[:2] > NEWEST:
        sys.stderr.write(
            "Python %s is newer than what tdev has been run on, 3.%d to 3.%d; going on.\n"
            % (version, OLDEST[1], NEWEST[1])
        )
    if sys.version_info[:2] >= OLDEST:
        return
    names = ["python3.%d" % minor for minor in range(NEWEST[1], OLDEST[1] - 1, -1)]
    found = [name for name in names if _runs(name)]
    script = os.path.join(
        os.path.basename(os.path.dirname(sys.argv[0])), os.path.basename(sys.argv[0])
    )
    hint = "for example: %s %s" % (found[0], script) if found else "none of them is on the PATH"
    sys.stderr.write(
        "tdev needs Python 3.%d or newer, and %s is Python %s.\n"
        "Run this command with one of 3.%d to 3.%d; %s.\n"
        % (OLDEST[1], sys.executable, version, OLDEST[1], NEWEST[1], hint)
    )
    sys.exit(2)


def _runs(name: str) -> bool:
    """Tell whether a command of that name is there and works (a version manager's stand-in may not)."""
    try:
        return subprocess.call([name, "-c", ""], stderr=subprocess.DEVNULL) == 0
    except OSError:
        return False
