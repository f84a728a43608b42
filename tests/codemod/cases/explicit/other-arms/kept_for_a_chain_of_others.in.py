import torch


def described():
    with_cuda = torch.cuda.is_available()
    with_xpu = has_xpu()
    name = "none"
    if with_xpu:
        name = "XPU"
    elif with_cuda:
        name = "CUDA"
    facts = {"accelerator": name}
    if with_cuda:
        facts["GPU"] = torch.cuda.get_device_name()
    return facts


def cleared():
    with_cuda = torch.cuda.is_available()
    if with_cuda:
        torch.cuda.empty_cache()
