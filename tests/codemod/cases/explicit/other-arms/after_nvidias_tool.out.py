import shutil
import subprocess

import tdev
import torch


def usage(use_cuda):
    if use_cuda:
        found = subprocess.run(
            [shutil.which("nvidia-smi") or "nvidia-smi", "--query-gpu=utilization.gpu"],
            stdout=subprocess.PIPE,
            check=True,
        )
        text = f"{found.stdout} {torch.cuda.memory_reserved()} {torch.cuda.memory_allocated()}"
    else:
        text = ""
    return text


def tried():
    found = subprocess.run(["nvidia-smi"], capture_output=True)
    return found.returncode, tdev.cuda.memory_allocated()
