import os
import subprocess

import tdev
import torch


def memory_of(number):
    lines = os.popen("nvidia-smi --query-gpu=memory.total,memory.used --format=csv").read()
    total, used = lines.strip().split("\n")[number].split(",")
    return int(total), int(used)


def driver():
    return subprocess.check_output(["nvidia-smi", "--version"], text=True)


def printed():
    return os.popen("nvidia-smi -L").read().split("\n")


def reserve(number, share):
    total, used = memory_of(number)
    block = torch.cuda.FloatTensor(256, 1024, int(total * share) - used)
    del block


def report():
    text = driver()
    return f"{text} {torch.cuda.memory_reserved()}"


def listed():
    lines = printed()
    return len(lines), tdev.cuda.memory_allocated()


def share(number):
    line = os.popen(f"nvidia-smi -i {number} --query-gpu=memory.total,memory.used --format=csv").read()
    total, _ = line.split(",")
    return torch.cuda.memory_allocated(number) / int(total)
