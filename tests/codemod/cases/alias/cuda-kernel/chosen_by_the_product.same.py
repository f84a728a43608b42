import torch
from packaging import version


class Attend:
    def __init__(self, flash):
        self.cuda_config = None
        if not torch.cuda.is_available() or not flash:
            return
        properties = torch.cuda.get_device_properties(torch.device("cuda"))
        if version.parse(f"{properties.major}.{properties.minor}") > version.parse("8.0"):
            print("A100 GPU detected, using flash attention if input tensor is on cuda")


def tree():
    import os

    from torch.utils.cpp_extension import load

    return load(name="tree", sources=[os.path.join(os.path.dirname(__file__), "tree.cpp")])
