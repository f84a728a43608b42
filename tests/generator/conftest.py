"""Facts about the installed torch, for the tests that compare them with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from generator.facts import Facts
from generator.facts.cache import load

ROOT = Path(__file__).parents[2]
READ = """
import sys
from pathlib import Path
from generator.facts import introspect
from generator.facts.cache import store
store(Path(sys.argv[1]), introspect(allow_version=True))
"""


@pytest.fixture(scope="session")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    """As a process of its own reads them: in this one, other tests have imported what changes torch."""
    path = tmp_path_factory.mktemp("facts") / "facts.json"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", READ, str(path)], env=env, check=True, timeout=500)
    read = load(path)
    assert read is not None
    return read
