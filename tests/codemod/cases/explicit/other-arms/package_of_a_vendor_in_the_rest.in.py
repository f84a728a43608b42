import torch


def get_device():
    if torch.cuda.is_available():
        return "cuda"
    else:
        try:
            import torch_npu  # noqa: F401

            return "npu"
        except ImportError:
            return "cpu"


def module():
    device = get_device()
    if device == "cuda":
        return torch.cuda
    elif device == "npu":
        return torch.npu
    raise NotImplementedError


def clear():
    torch.cuda.empty_cache()
