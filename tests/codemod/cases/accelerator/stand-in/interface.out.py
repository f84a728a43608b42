import torch

if torch.accelerator.is_available():
    torch.accelerator.synchronize()


def f(qkv):
    q, k, v = qkv.unbind(dim=2)
    return torch.nn.functional.scaled_dot_product_attention(
        q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True
    ).transpose(1, 2).contiguous()
