import torch

cp, has_cp = optional_import("cupy")


def transform(image):
    use_cp = has_cp and image.device.type == "cuda"
    if use_cp:
        found = cp.asarray(image)
        torch.cuda.synchronize()
        return found
    return image.numpy()
