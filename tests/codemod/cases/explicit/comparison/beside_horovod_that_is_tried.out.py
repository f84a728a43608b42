import tdev
import torch

try:
    import horovod.torch as hvd
except ImportError:
    hvd = None


def auto(model, device: torch.device):
    if hvd is not None:
        hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    elif tdev.cuda.device_count() and tdev.is_accelerator(device.type):
        model = torch.nn.parallel.DataParallel(model)
    return model
