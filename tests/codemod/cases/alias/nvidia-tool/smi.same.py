import subprocess

import torch

out = subprocess.check_output(["nvidia-smi", "--query-gpu=name"])
note = "see nvidia-smi"
x = torch.ones(1)
cuda = None
