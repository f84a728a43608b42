import paddle
import torch


def to_paddle(tensor: torch.Tensor, device=None):
    if device is None:
        if tensor.is_cuda:
            device = f"gpu:{tensor.device.index}"
        else:
            device = "cpu"
    return paddle.to_tensor(tensor.detach().cpu().numpy()).to(device)


def free(scores: torch.Tensor):
    if scores.device.type == "cuda":
        with torch.cuda.device():
            torch.cuda.empty_cache()
    if scores.device.type == "cuda":
        torch.cuda.empty_cache()
