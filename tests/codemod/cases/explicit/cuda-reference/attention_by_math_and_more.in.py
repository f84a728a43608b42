from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention


def attend(q, k, v):
    with sdpa_kernel([SDPBackend.MATH]):
        x = scaled_dot_product_attention(q, k, v)
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION]):
        return x + scaled_dot_product_attention(q, k, v)
