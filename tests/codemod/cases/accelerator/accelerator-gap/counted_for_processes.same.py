import torch
import torch.multiprocessing as mp
from training import launch


def main():
    n_gpus = torch.cuda.device_count()
    world_size = n_gpus
    mp.spawn(launch, args=(world_size,), nprocs=world_size)
