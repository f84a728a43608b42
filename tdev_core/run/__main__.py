"""``python -m tdev_core.run``: the same as ``python -m tdev run``, without importing the mirror first."""

from __future__ import annotations

import sys

from tdev_core.run import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
