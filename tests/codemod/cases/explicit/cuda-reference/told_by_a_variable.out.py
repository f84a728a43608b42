import platform

import tdev
import torch


def describe(nodes):
    there = torch.cuda.is_available()
    return {
        "nodes": nodes,
        "accelerators": str(nodes) if there else "0",
        "accelerator": str(torch.cuda.get_device_name(None)) if there else "",
        "software": {"cuda": torch.version.cuda if there else "", "torch": torch.__version__},
        "system": platform.system(),
    }


def place(model):
    there = tdev.cuda.is_available()
    version = tdev.version.cuda if there else ""
    if there:
        tdev.cuda.synchronize()
    return version


def name():
    there = tdev.cuda.is_available()
    return tdev.cuda.get_device_name(0) if there else ""
