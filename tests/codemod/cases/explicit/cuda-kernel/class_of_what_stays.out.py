import tdev
import torch


class _Writer:
    def __init__(self, device):
        self.stream = torch.cuda.Stream(device=device)

    def write(self, x):
        with torch.cuda.stream(self.stream):
            return x.to("cpu", non_blocking=True)


def predict(model, x):
    if not torch.cuda.is_available():
        raise RuntimeError(
            "attention is fused into a CUDA kernel here"
        )
    writer = _Writer(x.device)
    return writer.write(torch.ops.own_kernels.attend(model(x)))


def free():
    tdev.cuda.empty_cache()
