import torch
import torch.distributed as dist


def hostnames(hostname, world):
    device = "cpu"
    if torch.cuda.is_available():
        index = torch.cuda.current_device()
        device = f"cuda:{index}"
    name = torch.tensor(bytearray(hostname, "utf-8")).to(device)
    padded = torch.zeros(256, device=device, dtype=torch.long)
    dist.all_gather([torch.zeros_like(padded) for _ in range(world)], padded)
    return name


def synchronized(batches):
    if not torch.cuda.is_available() or not dist.is_initialized():
        return batches
    counted = torch.Tensor([len(batches)]).long().cuda()
    dist.all_reduce(counted)
    return batches[: counted.item()]


def another(model, metrics):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dist.all_reduce(metrics)
    return model.to(device)
