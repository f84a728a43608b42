import torch


def budget(limits):
    if is_npu_available():
        for i in range(torch.npu.device_count()):
            limits[i] = torch.npu.mem_get_info(i)[0]
    elif is_xpu_available():
        for i in range(torch.xpu.device_count()):
            limits[i] = torch.xpu.mem_get_info(i)[0]
    else:
        for i in range(torch.cuda.device_count()):
            limits[i] = torch.cuda.mem_get_info(i)[0]
    if is_mps_available():
        limits["mps"] = 1
    return limits


def states(kind):
    if kind == Kind.GPU:
        assert same(torch.cuda.get_rng_state())
    elif kind == Kind.XPU:
        assert same(torch.xpu.get_rng_state())


def index(kind, rank):
    module = getattr(torch, kind)
    device = torch.device(kind, rank % module.device_count())
    module.set_device(device)
    return device
