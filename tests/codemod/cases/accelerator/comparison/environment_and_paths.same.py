import os
import sys

import torch

a = "cuda" in os.environ
b = "cuda" in sys.argv
c = filename == "cuda"
d = "cuda" in log_text
x = torch.ones(1)
