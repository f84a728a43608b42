import sys
from pathlib import Path

import pandas as pd
import tdev

FILE = Path(__file__)


def run(device):
    if tdev.is_accelerator(device.type):
        return pd.Series([1])
    return sys.argv
