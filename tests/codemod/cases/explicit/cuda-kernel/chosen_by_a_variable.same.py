import numpy as np
import torch

cupy, has_cupy = optional_import("cupy")


def resample(image: torch.Tensor, coords):
    is_cuda = image.is_cuda
    image = (convert_to_cupy if is_cuda else convert_to_numpy)(image)
    return (cupy if is_cuda else np).stack(coords)


def skeleton(image: torch.Tensor):
    use_cp = has_cp and has_cucim and isinstance(image, torch.Tensor) and image.device.type == "cuda"
    return use_cp


def convert(data):
    there = torch.cuda.is_available()
    if has_cupy and there:
        return cupy.asarray(data)
    return data
