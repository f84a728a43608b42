import torch

try:
    import horovod.torch as hvd
except ImportError:
    hvd = None


def auto(model, device: torch.device):
    if hvd is not None:
        hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    elif torch.cuda.device_count() and "cuda" in device.type:
        model = torch.nn.parallel.DataParallel(model)
    return model
