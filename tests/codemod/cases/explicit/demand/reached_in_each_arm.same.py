import torch

try:
    from flash_attn.flash_attn_interface import flash_attn_varlen_qkvpacked_func

    has_flash_attn = True
except ImportError:
    has_flash_attn = False


class FlashAttention(torch.nn.Module):
    def forward(self, qkv, cu_seqlens=None, max_s=None):
        assert qkv.dtype in [torch.float16, torch.bfloat16]
        assert qkv.is_cuda
        if cu_seqlens is None:
            output = flash_attn_varlen_qkvpacked_func(qkv, qkv.shape[1], max_s)
        else:
            output = flash_attn_varlen_qkvpacked_func(qkv, cu_seqlens, max_s)
        return output
