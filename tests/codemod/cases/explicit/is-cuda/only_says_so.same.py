import warnings

import torch


def pad(image: torch.Tensor, mode):
    if image.is_cuda:
        warnings.warn(f"moving {image.shape} from cuda to cpu for {mode}")
    if torch.cuda.is_available():
        print("CUDA is available")
    return image.cpu()
