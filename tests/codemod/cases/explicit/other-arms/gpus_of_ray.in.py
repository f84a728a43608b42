import ray
import torch


def placement(workers, device):
    num_gpus_per_worker = 1 if device == "cuda" else 0
    bundle = {"CPU": workers}
    if device == "cuda":
        bundle["GPU"] = workers
    return ray.util.placement_group([bundle]), num_gpus_per_worker


def guess_num_gpus():
    return 1 if torch.cuda.is_available() else 0, "guessed"


def start(num_gpus=None):
    if num_gpus is None:
        num_gpus = torch.cuda.device_count()
    ray.init(num_gpus=num_gpus)


def precision(device):
    if device == "cuda":
        torch.cuda.empty_cache()


def devices(first):
    num_gpus = torch.cuda.device_count()
    second = torch.device("cuda:1") if num_gpus > 1 else first
    return first, second
