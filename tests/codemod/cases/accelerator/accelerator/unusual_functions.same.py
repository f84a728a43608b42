import torch
import torch.distributed as dist
import torch.nn.attention.flex_attention as flex
from torch.library import custom_op


def wait(rank):
    dist.barrier(device_ids=[rank])


noise = torch.normal(0.0, 1.0, (2, 3), device="cuda")
one = torch.scalar_tensor(1.0, device="cuda")
same = torch.normal(0.0, 1.0, (2, 3), device="cpu")
mask = flex.create_block_mask(lambda b, h, q, k: q >= k, None, None, 16, 16, "cuda")
available = torch.amp.is_autocast_available("cuda")
torch.set_autocast_dtype("cuda", torch.bfloat16)


@custom_op("codemod_cases::twice", mutates_args=(), device_types="cuda")
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


print(noise.shape, twice(one).item(), mask.shape, available)
