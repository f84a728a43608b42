import torch
from tdev.nn.attention import SDPBackend, sdpa_kernel
from tdev.nn.attention.flex_attention import create_block_mask, flex_attention

q = torch.ones(1, 2, 16, 8, requires_grad=True)
with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]):
    out = torch.nn.functional.scaled_dot_product_attention(q, q, q)
out = out + flex_attention(q, q, q)
out.sum().backward()
print(out.sum().item(), q.grad.shape)
