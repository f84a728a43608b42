"""Migrates a copy of the example, shows the diff, trains it, and prints how its calls were routed.

    python3 tools/try_it.py [--steps N]

Sets up .venv first where that has not been done. What it makes is in .demo; nothing else is touched.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from tools import supported

supported.check()

from tools import migration_demo

sys.exit(migration_demo.main())
