import sys
from pathlib import Path

import pandas as pd

FILE = Path(__file__)


def run(device):
    if "cuda" in device.type:
        return pd.Series([1])
    return sys.argv
