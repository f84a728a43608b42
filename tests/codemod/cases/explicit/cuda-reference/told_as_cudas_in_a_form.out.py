import tdev
import torch

FORM = """
|version|{}|
|**cuda**|{}|
|rest|{}|
"""


def report(version):
    return FORM.format(version, torch.cuda.is_available(), 3)


def other(version):
    return FORM.format(tdev.cuda.is_available(), version, 3)


def facts():
    return {"CUDA_Available": bool(torch.cuda.is_available())}
