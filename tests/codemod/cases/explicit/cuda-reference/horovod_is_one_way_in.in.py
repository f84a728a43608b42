import torch

try:
    import horovod.torch as hvd
except ImportError:
    hvd = None


def init_device(args):
    if args.horovod:
        hvd.init()
        if torch.cuda.is_available():
            torch.cuda.set_device(hvd.local_rank())
    if torch.cuda.is_available():
        device = "cuda:%d" % args.local_rank
        torch.cuda.set_device(device)
    else:
        device = "cpu"
    args.device = device
    return torch.device(device)
