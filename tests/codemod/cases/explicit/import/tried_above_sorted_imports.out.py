"""Below a ``try`` that says that torch is missing, an import of tdev stands among those of other packages."""

import random

try:
    import torch
except ImportError as error:
    raise ImportError("install torch first") from error
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tdev
import yaml

from .config import rows


def read(path: Path, seeds: Sequence[int]):
    random.seed(seeds[0])
    read = yaml.safe_load(path.read_text())
    return tdev.as_tensor(np.asarray(rows(read)), device="cuda")
