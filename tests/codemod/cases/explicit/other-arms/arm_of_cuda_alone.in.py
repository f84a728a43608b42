import torch


def peak(state):
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        return torch.cuda.max_memory_allocated()
    elif is_mlu_available():
        return torch.mlu.max_memory_allocated()
    return 0


def index(process):
    if is_npu_available():
        device = torch.npu.current_device()
    elif is_cuda_available():
        device = torch.cuda.current_device()
    torch.cuda.synchronize()
    return device


def cleared():
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    if is_xpu_available():
        torch.xpu.empty_cache()


def placed(model, name):
    where = (
        model.cuda(torch.cuda.current_device())
        if name == "cuda"
        else model.to("xpu") if name == "xpu" else model
    )
    return where
