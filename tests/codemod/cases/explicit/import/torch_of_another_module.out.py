from .compat import has_torch, torch


class Scaler:
    def __init__(self):
        if not has_torch:
            raise ValueError("torch is needed")

    def scale(self, tensor: "torch.Tensor"):
        import tdev

        if not tdev.is_accelerator(tensor):
            return tensor
        return tensor.unsqueeze(0).detach()
