"""Runs every check and test of the project, on all cores.

    python3 tools/run_tests.py [--quick] [--list] [--jobs N] [NAME ...]

Sets up .venv first where that has not been done. Logs are in build/logs.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from tools import supported

supported.check()

from tools import sessions

sys.exit(sessions.main())
