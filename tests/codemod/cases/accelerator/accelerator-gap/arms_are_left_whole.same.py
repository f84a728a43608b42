import torch
import torch.distributed as dist


def place(model, device, args, x):
    if device == "cuda":
        model.cuda()
        torch.cuda.synchronize()
    if args.backend == "nccl":
        torch.cuda.set_device(args.rank)
        x = x.cuda()
    if args.device.startswith("cuda"):
        torch.cuda.synchronize()
    if dist.get_backend() == "nccl" and torch.cuda.current_device() == 0:
        x = x.cuda()
    if device != "cuda":
        return x
    torch.cuda.synchronize()
    return x.cuda()


def asked(batch):
    return batch.cuda() if batch.is_cuda else batch


def chooses(device):
    if device.type == "cuda":
        torch.cuda.synchronize()
    elif device.type == "mps":
        torch.mps.synchronize()
