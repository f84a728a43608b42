import os

import torch
import torch.distributed as dist


class Bank:
    def gather(self, features, prefix):
        rank, world_size = dist.get_rank(), dist.get_world_size()
        path = os.path.join(prefix, f"bank_{rank}.pt")
        torch.save(features.to("cuda"), path)
        dist.barrier()
        bank = {}
        for each in range(world_size):
            path = os.path.join(prefix, f"bank_{each}.pt")
            bank.update(torch.load(path))
        return bank

    def all_epochs(self, features, prefix, epoch, epochs):
        path = os.path.join(prefix, f"bank_{epoch}.pt")
        torch.save(features.to("cuda"), path)
        for each in range(epochs):
            path = os.path.join(prefix, f"bank_{each}.pt")
            yield torch.load(path)
