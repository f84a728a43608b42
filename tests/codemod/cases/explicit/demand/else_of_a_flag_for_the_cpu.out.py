import os

import tdev

KEY = "CURRENT_DEVICE"


def assign(cpu, rank):
    if cpu:
        os.environ[KEY] = "cpu"
    else:
        assert tdev.cuda.is_available(), "cannot set cpu=false without CUDA"
        os.environ[KEY] = "cuda"
        tdev.cuda.set_device(rank)


def current():
    if "cuda" in os.environ[KEY]:
        assert tdev.cuda.is_available(), "cannot set cpu=false without CUDA"
        return f"cuda:{tdev.cuda.current_device()}"
    return "cpu"
