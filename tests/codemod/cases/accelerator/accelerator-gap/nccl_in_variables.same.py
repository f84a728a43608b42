import os

import torch.distributed as dist

backend = "nccl"
chosen = "gloo" if os.name == "nt" else "nccl"


def start(parser, name="nccl"):
    parser.add_argument("--backend", default="nccl")
    dist.init_process_group(backend=name)
    return dist.get_backend() == "nccl", {"nccl": 1}
