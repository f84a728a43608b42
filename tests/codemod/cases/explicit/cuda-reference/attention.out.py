import torch
from tdev.nn.attention import sdpa_kernel
from torch.nn.attention import SDPBackend
from tdev.nn.attention.flex_attention import flex_attention
from torch.nn.attention.flex_attention import create_block_mask

q = torch.ones(1, 2, 16, 8, requires_grad=True)
with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]):
    out = torch.nn.functional.scaled_dot_product_attention(q, q, q)
out = out + flex_attention(q, q, q)
out.sum().backward()
print(out.sum().item(), q.grad.shape)
