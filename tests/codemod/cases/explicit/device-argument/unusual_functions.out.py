import tdev
import tdev.distributed as dist
import tdev.nn.attention.flex_attention as flex
import torch
from tdev.library import custom_op


def wait(rank):
    dist.barrier(device_ids=[rank])


noise = tdev.normal(0.0, 1.0, (2, 3), device="cuda")
one = tdev.scalar_tensor(1.0, device="cuda")
same = torch.normal(0.0, 1.0, (2, 3), device="cpu")
mask = flex.create_block_mask(lambda b, h, q, k: q >= k, None, None, 16, 16, "cuda")
available = tdev.amp.is_autocast_available("cuda")
tdev.set_autocast_dtype("cuda", torch.bfloat16)


@custom_op("codemod_cases::twice", mutates_args=(), device_types="cuda")
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


print(noise.shape, twice(one).item(), mask.shape, available)
