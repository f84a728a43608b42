import torch


def loaded(path, profile):
    if profile:
        torch.cuda.nvtx.range_push("load")
    try:
        torch.cuda.memory._snapshot()
    except RuntimeError:
        pass
    print(torch.cuda.is_initialized())
    return torch.load(path, map_location=torch.device("cuda"))
