from flash_attn import flash_attn_qkvpacked_func as attention


def f(qkv):
    return attention(qkv, causal=True)
